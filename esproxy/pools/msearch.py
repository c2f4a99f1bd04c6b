"""Several searches in one request over indices in pools.

Each is rewritten by itself and keeps its place. One that means something else in each of its indices becomes a search for each
of them, in the same request; their answers are merged into the one that the client asked for (``pools.merge``). One that cannot
be made at all is an error in its place, and the others are answered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from esproxy import core
from esproxy.bodyerrors import refusal
from esproxy.catalogue.store import Steps
from esproxy.errors import Refusal
from esproxy.exchange import Large, Reply
from esproxy.pools.alike import one_name
from esproxy.pools.bodies import search_body
from esproxy.pools.cursors import Lost, opened, point_in_time, targets_of
from esproxy.pools.merge import Page, merge_searches, whole
from esproxy.pools.pooled import Pooled
from esproxy.pools.reply import NDJSON, nothing, reply
from esproxy.pools.targets import some
from esproxy.rewriting.places import text_of
from esproxy.rewriting.query import physical_query
from esproxy.rewriting.rewrite import PoolResolver
from esproxy.rewriting.undo import Undo
from esproxy.tenancy.expressions import Options
from esproxy.tenancy.fieldnames import Divided
from esproxy.tenancy.target import UNFILTERED, Target, physical_expression, search_routing

OPTIONS = ("ignore_unavailable", "allow_no_indices", "expand_wildcards", "ignore_throttled")


@dataclass(slots=True)
class Search:
    """One search of the client's: the lines that are sent for it, with what the answer to each owes. ``page``: how several are
    merged."""

    lines: list[bytes]
    undo: list[Undo]
    page: Page | None = None


@dataclass(slots=True)
class Merged:
    """The answers as those to the client's own searches."""

    searches: list[Search]

    def restore(self, tree: Any, name: Callable[[str], str]) -> Any:
        answers = iter(tree.get("responses", []))
        out = []
        for search in self.searches:
            restored = [undo.restore(next(answers), name) for undo in search.undo]
            if search.page is None:
                out += restored
            else:
                out.append(merge_searches([(one["status"], one) for one in restored], search.page)[1])
        return {**tree, "responses": out}


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
    searches = []
    for header, body in zip(lines[::2], lines[1::2], strict=False):  # nodes leave out a last header without a body
        searches.append((yield from _search(request, header, body)))
    merged = any(search.page is not None or any(search.undo) for search in searches)
    plan.meta = Merged(searches) if merged else None
    if plan.typed:
        query["typed_keys"] = "true"
    out = b"".join(line + b"\n" for search in searches for line in search.lines)
    answer = yield request.send("POST", ["_msearch"], query, out, NDJSON, large=True)
    return reply(request, answer, filtered=True)


def _search(request: Pooled, line: bytes, body: bytes) -> Steps[Search]:
    plan = request.plan
    request.alike.clear()  # which is of the indices of one search
    header: dict[str, Any] = {}
    if line.strip():
        _check(request, plan.cluster.engine.tables.roots["msearch.header"], line)
        header = orjson.loads(line)
    named = header.pop("index", None)
    named = header.pop("indices", None) if named is None else named
    expression = ",".join(map(str, named)) if isinstance(named, list) else named or request.parts.get("index", "_all")
    routing = header.pop("routing", plan.query.get("routing"))
    routing = None if routing is None else text_of(routing)
    options = Options.of(plan.query | {key: str(header.pop(key)).lower() for key in OPTIONS if key in header})
    token = point_in_time(body)
    pit = token is not None and named is None  # which says where
    try:
        if token is not None and pit:
            targets = yield from targets_of(request, opened(request, token, "pit"))
        else:
            targets = yield from some(request, expression, options, stay=True)
    except Refusal as error:
        if isinstance(error, Lost):
            raise
        return _refused(request, error)
    while True:
        try:
            return (yield from _lines(request, targets, header, body, routing, pit))
        except Divided as why:
            divided = why
        tree = orjson.loads(body)
        if not whole({}, tree) or not (yield from one_name(request, targets, body, divided)):
            break
    try:
        page = Page.of({}, tree, divided)
    except Refusal as error:
        return _refused(request, error)
    merged = Search([], [], page)
    for target in sorted(targets, key=lambda target: target.name):
        one = yield from _lines(request, [target], header, page.body(tree), routing, pit)
        merged.lines += one.lines
        merged.undo += one.undo
    return merged


def _lines(
    request: Pooled, targets: list[Target], header: dict[str, Any], body: bytes, routing: str | None, pit: bool
) -> Steps[Search]:
    """A search over these targets as it is sent. Raises Divided."""
    searched = yield from search_body(request, targets, request.plan.cluster.engine.tables.roots["msearch.body"], body)
    if not pit:
        index = (physical_expression(targets) or nothing(request)).split(",")
        header = {**header, "index": index} | (search_routing(targets, routing) if targets else {})
    return Search([orjson.dumps(header), searched], request.undo[-1:])


def _refused(request: Pooled, error: Refusal) -> Search:
    """A search for nothing in the place of one that cannot be made, whose answer will be the error."""
    return Search([orjson.dumps({"index": nothing(request).split(",")}), b'{"size":0}'], [Undo(error=error)])


def _check(request: Pooled, state: int, line: bytes) -> None:
    """Strictness alone; the names are read from the parsed line."""
    resolver = PoolResolver(request.plan, [])
    run = core.Pass(request.plan.cluster.engine.grammar, state, UNFILTERED, resolver, max_depth=request.pools.max_depth)
    run.feed(line, True)
    if run.status is not core.Status.OK:
        raise refusal(request.plan, run, line)
