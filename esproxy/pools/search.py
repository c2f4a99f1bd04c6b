"""Searches over indices in ``shared``, and what else takes a query: count, validate, by-query calls, msearch.

One call over the physical indices of all targets, routed to their scopes, with one filter at every query root. An expression
that comes to nothing is asked under the tenant's own prefix, as one that matches nothing there, so that the node itself makes
the empty answer.
"""

from __future__ import annotations

from typing import Any

import orjson

from esproxy import core
from esproxy.catalogue.store import Steps
from esproxy.errors import Refusal
from esproxy.exchange import Large, Reply
from esproxy.pools.bodies import search_body
from esproxy.pools.cursors import Lost, opened, point_in_time, targets_of
from esproxy.pools.fan_out import can_merge, fan_out
from esproxy.pools.pooled import Pooled
from esproxy.pools.reply import JSON, NDJSON, nothing, path, reply
from esproxy.pools.targets import some
from esproxy.rewriting.places import text_of
from esproxy.rewriting.query import body_with_query, physical_query
from esproxy.rewriting.rewrite import PoolResolver
from esproxy.rewriting.undo import Undo
from esproxy.tenancy.expressions import Options
from esproxy.tenancy.fieldnames import Divided
from esproxy.tenancy.metafields import Several
from esproxy.tenancy.target import UNFILTERED, physical_expression, search_routing


def search(request: Pooled) -> Steps[Reply | Large]:
    """``search`` and ``count``."""
    return (yield from _query(request, "POST"))


def validate(request: Pooled) -> Steps[Reply | Large]:
    """No document is read, so no filter is needed; but with ``rewrite`` terms of the whole pool would show."""
    if request.plan.query.get("rewrite", "false") != "false":
        raise Refusal("the parameter [rewrite] is not available for indices in a pool")
    return (yield from _query(request, "POST", filtered=False))


def by_query(request: Pooled) -> Steps[Reply | Large]:
    """``delete_by_query`` and ``update_by_query``."""
    return (yield from _query(request, "POST", needs_query=request.plan.route.row.name == "delete_by_query"))


def _query(request: Pooled, method: str, *, filtered: bool = True, needs_query: bool = False) -> Steps[Reply | Large]:
    plan = request.plan
    given = body_with_query(plan, request.body)
    token = point_in_time(given)
    pit = opened(request, token, "pit") if token is not None else None
    if pit is not None and "index" not in request.parts:
        targets = yield from targets_of(request, pit)
    else:  # a point in time beside a name: the node says what it thinks of that
        targets = yield from some(request, request.parts.get("index", "_all"))
    if needs_query and "query" not in orjson.loads(given or b"{}"):
        raise Refusal("Validation Failed: 1: query is missing;", type="action_request_validation_exception")
    assert plan.endpoint.request is not None
    body = b""
    try:
        if given or filtered:
            body = yield from search_body(request, targets, plan.endpoint.request, given or b"{}", filtered=filtered)
        query = physical_query(plan, targets, PoolResolver(plan, targets))
    except Divided as why:
        by_pit = pit is not None and "index" not in request.parts
        return (yield from fan_out(request, targets, given, why, filtered=filtered, pit=by_pit))
    plan.meta = request.undo[-1] or None if request.undo else None
    if plan.typed:
        query["typed_keys"] = "true"
    if pit is not None:
        query.pop("routing", None)  # the point in time has it
    else:
        request.over(targets)
    where = path(request, targets) if pit is None or "index" in request.parts else list(plan.route.template)
    answer = yield request.send(method, where, query, body, request.media or JSON, large=True)
    together = len({target.physical for target in targets}) < len(targets)
    if together and answer.status >= 400 and not answer.more and pit is None and can_merge(request, given):
        told = Divided("what fails is told index by index")
        return (yield from fan_out(request, targets, given, told, filtered=filtered))
    return reply(request, answer, filtered=filtered)


# --- msearch -----------------------------------------------------------------------------------------


def msearch(request: Pooled) -> Steps[Reply | Large]:
    plan = request.plan
    query = physical_query(plan, [], PoolResolver(plan, []))
    if not request.body:
        return reply(request, (yield request.send("POST", ["_msearch"], query, b"", NDJSON)))  # refused, in the node's words
    if not request.body.endswith(b"\n"):
        raise Refusal("The msearch request must be terminated by a newline [\n]")
    lines = request.body[:-1].split(b"\n")
    if len(lines) == 1:
        raise Refusal("Validation Failed: 1: no requests added;", type="action_request_validation_exception")
    out: list[bytes] = []
    for header, search_line in zip(lines[::2], lines[1::2], strict=False):  # nodes leave out a last header without a body
        out += yield from _one_search(request, header, search_line)
    plan.meta = Several(request.undo) if any(request.undo) else None
    if plan.typed:
        query["typed_keys"] = "true"
    answer = yield request.send("POST", ["_msearch"], query, b"\n".join(out) + b"\n", NDJSON, large=True)
    return reply(request, answer, filtered=True)


def _one_search(request: Pooled, line: bytes, body: bytes) -> Steps[list[bytes]]:
    plan = request.plan
    roots = plan.cluster.engine.tables.roots
    header: dict[str, Any] = {}
    if line.strip():
        _check(request, roots["msearch.header"], line)
        header = orjson.loads(line)
    named = header.pop("index", None)
    named = header.pop("indices", None) if named is None else named
    expression = ",".join(map(str, named)) if isinstance(named, list) else named or request.parts.get("index", "_all")
    routing = header.pop("routing", plan.query.get("routing"))
    options = Options.of(plan.query | {key: str(header.pop(key)).lower() for key in _OPTIONS if key in header})
    token = point_in_time(body)
    try:
        if token is not None and named is None:
            targets = yield from targets_of(request, opened(request, token, "pit"))
        else:
            targets = yield from some(request, expression, options, stay=True)
    except Refusal as error:
        if isinstance(error, Lost):
            raise
        request.undo.append(Undo(error=error))  # this search's own, in its place
        return [orjson.dumps({"index": nothing(request).split(",")}), b'{"size":0}']
    searched = yield from search_body(request, targets, roots["msearch.body"], body)
    if token is not None and named is None:
        pass  # the point in time says where
    elif targets:
        header |= {"index": physical_expression(targets).split(",")}
        header |= search_routing(targets, None if routing is None else text_of(routing))
    else:
        header["index"] = nothing(request).split(",")
    return [orjson.dumps(header), searched]


_OPTIONS = ("ignore_unavailable", "allow_no_indices", "expand_wildcards", "ignore_throttled")


def _check(request: Pooled, state: int, line: bytes) -> None:
    """Strictness alone; the names are read from the parsed line."""
    from esproxy.bodies import refusal

    resolver = PoolResolver(request.plan, [])
    run = core.Pass(request.plan.cluster.engine.grammar, state, UNFILTERED, resolver, max_depth=request.pools.max_depth)
    run.feed(line, True)
    if run.status is not core.Status.OK:
        raise refusal(request.plan, run, line)
