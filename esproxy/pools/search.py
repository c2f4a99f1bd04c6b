"""Searches over indices in pools, and what else takes a query: count, validate, by-query calls.

One call over the physical indices of all targets, routed to their scopes, with one filter at every query root. An expression
that comes to nothing is asked under the tenant's own prefix, as one that matches nothing there, so that the node itself makes
the empty answer.
"""

from __future__ import annotations

import orjson

from esproxy.catalogue.store import Steps
from esproxy.errors import Refusal
from esproxy.exchange import Answer, Large, Reply
from esproxy.pools import wide
from esproxy.pools.alike import one_name
from esproxy.pools.bodies import parameters, search_body
from esproxy.pools.cursors import opened, point_in_time, targets_of
from esproxy.pools.fan_out import can_merge, fan_out
from esproxy.pools.ingest import check_not_piped
from esproxy.pools.merge import whole
from esproxy.pools.pooled import Pooled
from esproxy.pools.reply import JSON, path, reply, template
from esproxy.pools.targets import some
from esproxy.pools.together import together
from esproxy.rewriting.query import body_with_query, physical_query
from esproxy.rewriting.rewrite import check_object
from esproxy.tenancy.fieldnames import Divided
from esproxy.tenancy.target import Target

NO_SIZE = frozenset(("0", "-1"))
BY_QUERY = ("delete_by_query", "update_by_query")


def search(request: Pooled) -> Steps[Reply | Large]:
    """``search`` and ``count``."""
    return (yield from _query(request))


def validate(request: Pooled) -> Steps[Reply | Large]:
    """No document is read, so no filter is needed; but with ``rewrite`` terms of the whole pool would show."""
    targets = yield from some(request, request.parts.get("index", "_all"))
    if request.plan.query.get("rewrite", "false") != "false" and not all(target.naming.own_terms for target in targets):
        raise Refusal("the parameter [rewrite] is not available for indices in a pool")
    return (yield from _query(request, filtered=False))


def by_query(request: Pooled) -> Steps[Reply | Large]:
    """``delete_by_query`` and ``update_by_query``."""
    return (yield from _query(request, needs_query=request.plan.route.row.name == "delete_by_query"))


def _check_synthetic(request: Pooled, targets: list[Target]) -> None:
    """Elasticsearch 8 fails at a search for synthetic sources wherever the physical index has a keyword with ``ignore_above``
    (measured: a NullPointerException), so what it says to one would depend on the other indices in it."""
    plan = request.plan
    asked = plan.route.row.name == "search" and plan.query.get("force_synthetic_source", "false") != "false"
    if asked and plan.cluster.before_9 and any(target.index.reason is None for target in targets):
        raise Refusal("the parameter [force_synthetic_source] is not available for indices in a pool on this version")


def _query(request: Pooled, *, filtered: bool = True, needs_query: bool = False) -> Steps[Reply | Large]:
    plan = request.plan
    if plan.query.get("pre_filter_shard_size", "1") in NO_SIZE:  # nodes look at it before they look for the index
        raise Refusal("preFilterShardSize must be >= 1")
    given = body_with_query(plan, request.body)
    assert plan.endpoint.request is not None
    if given and filtered:
        check_object(plan, plan.endpoint.request, given, request.pools.max_depth)
    token = point_in_time(given)
    pit = opened(request, token, "pit") if token is not None else None
    if pit is not None and "index" not in request.parts:
        targets = yield from targets_of(request, pit)
    else:  # a point in time beside a name: the node says what it thinks of that
        targets = yield from some(request, request.parts.get("index", "_all"))
    _check_synthetic(request, targets)
    if plan.route.row.name == "update_by_query":
        check_not_piped(plan, targets)
    if needs_query and "query" not in orjson.loads(given or b"{}"):
        raise Refusal("Validation Failed: 1: query is missing;", type="action_request_validation_exception")
    body = b""
    while True:
        try:
            if plan.route.row.name in BY_QUERY and request.product and "slice" in orjson.loads(given or b"{}"):
                _same_slices(targets)
            if given or filtered:
                body = yield from search_body(request, targets, plan.endpoint.request, given or b"{}", filtered=filtered)
            query = (yield from parameters(request, targets)) if plan.query else physical_query(plan, targets, None)
            break
        except Divided as why:
            as_one = plan.route.row.name == "search" and whole(plan.query, orjson.loads(given or b"{}"))
            if as_one and (yield from one_name(request, targets, given, why)):
                request.undo.clear()
                continue
            if "scroll" in plan.query and plan.route.row.name == "search":
                return (yield from together(request, targets, given, why))
            by_pit = pit is not None and "index" not in request.parts
            return (yield from fan_out(request, targets, given, why, filtered=filtered, pit=by_pit))
    plan.meta = request.undo[-1] or None if request.undo else None
    if plan.typed:
        query["typed_keys"] = "true"
    if pit is not None:
        query.pop("routing", None)  # the point in time has it
    else:
        request.over(targets)
    if pit is not None and "index" not in request.parts:
        answer = yield request.send("POST", list(plan.route.template), query, body, request.media or JSON, large=True)
    else:
        answer = yield from _sent(request, targets, query, body)
    shares = len({target.physical for target in targets}) < len(targets)
    if shares and answer.status >= 400 and not answer.more and pit is None and can_merge(request, given):
        told = Divided("what fails is told index by index")
        return (yield from fan_out(request, targets, given, told, filtered=filtered))
    return reply(request, answer, filtered=filtered)


def _sent(request: Pooled, targets: list[Target], query: dict[str, str], body: bytes) -> Steps[Answer]:
    where, name = template(request), request.plan.route.row.name
    if wide.fits(where, targets, query):
        call = request.send("POST", path(request, targets), query, body, request.media or JSON, large=True)
        return (yield call)
    if name in BY_QUERY:
        return (yield from wide.by_alias(request, where, targets, query, body))
    if name == "search":
        return (yield from wide.search(request, where, targets, query, body))
    physical = [target.physical for target in targets]
    return (yield from wide.ask(request, "POST", where, physical, query, body, request.media or JSON))


def _same_slices(targets: list[Target]) -> None:
    """Elasticsearch deals shards out to slices in the order of their indices' names. Raises Divided where the names that it knows
    stand in another."""
    physical = [target.physical for target in sorted(targets, key=lambda target: target.name)]
    if physical != sorted(set(physical)):
        raise Divided("the slices of these indices are others in their pools: name them one by one")
