"""Scrolls and points in time over indices in pools.

A client has a sealed token (``esproxy.tenancy.cursors``), which holds the node's cursor and the numbers of the logical indices it
was opened over. Whoever sends one gets hits of these numbers alone, restored and verified like those of any search. A number
that is gone meanwhile makes the cursor unknown, though the node's snapshot may still have its documents.

A token that is not a pool's may be one by prefix: then the exchange goes on there, where what is none is refused. Nothing that
a client made up goes upstream.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from esproxy.api.kinds import Kind
from esproxy.catalogue.documents import OPEN
from esproxy.catalogue.store import Steps
from esproxy.errors import Refusal
from esproxy.exchange import Large, Reply
from esproxy.pools import wide
from esproxy.pools.bodies import parameters, search_body
from esproxy.pools.pooled import Apart, Pooled
from esproxy.pools.reply import JSON, path, reply, template
from esproxy.pools.targets import some
from esproxy.rewriting.decoded import Decoded
from esproxy.rewriting.query import physical_query
from esproxy.rewriting.rewrite import PoolResolver, walk
from esproxy.rewriting.undo import Undo
from esproxy.tenancy.cursors import PoolCursor
from esproxy.tenancy.dedicated import OUTSIDE
from esproxy.tenancy.target import UNFILTERED, Target


class Lost(Refusal):
    """A cursor that no node knows."""

    def __init__(self) -> None:
        super().__init__("No search context found for id [0]", status=404, type="search_context_missing_exception")

    def payload(self) -> dict[str, Any]:
        cause = self.cause()
        error = {
            "root_cause": [cause],
            "type": "search_phase_execution_exception",
            "reason": "all shards failed",
            "phase": "query",
            "grouped": True,
            "failed_shards": [{"shard": -1, "index": None, "reason": cause}],
            "caused_by": cause,
        }
        return {"error": error, "status": self.status}


def opened(request: Pooled, token: str, kind: str) -> PoolCursor:
    """What a token holds. Raises Apart for one by prefix, Refusal for one that is none."""
    plan = request.plan
    found = PoolCursor.open(plan.sealer, token, tenant=request.tenant, kind=kind, cluster=plan.cluster.name)
    if found is None:
        plan.open_cursor(token)
        raise Apart
    request.cursors[found.cursor] = token
    return found


def targets_of(request: Pooled, cursor: PoolCursor) -> Steps[list[Target]]:
    """The indices that a cursor is over. Raises Refusal where one of them is there no more."""
    directory = yield from request.directory([], pattern=True)
    if OUTSIDE in cursor.numbers:
        directory = yield from request.look_beside(directory, ["*"])
    names = {entry.n: name for name, entry in directory.indices.items() if entry.state == OPEN}
    if not all(number in names for number in cursor.numbers):
        raise Lost()
    request.sight.use(names[number] for number in cursor.numbers if number != OUTSIDE)
    targets = []
    for name, entry in directory.indices.items():
        if entry.state == OPEN and entry.n in cursor.numbers:
            targets.append((yield from request.target(name, directory)))
    request.over(targets)
    return targets


class CursorResolver(PoolResolver):
    """For bodies whose only names are cursors."""

    def __init__(self, request: Pooled) -> None:
        super().__init__(request.plan, [])
        self.request = request
        self.found: list[PoolCursor] = []

    def __call__(self, kind: Kind, raw: bytes) -> bytes | None:
        value = orjson.loads(raw)
        if kind is not Kind.CURSOR or not isinstance(value, str):
            return raw
        return orjson.dumps(self.open(value))

    def open(self, token: str) -> str:
        self.found.append(opened(self.request, token, self.plan.route.row.cursor))
        return self.found[-1].cursor


def point_in_time(body: bytes) -> str | None:
    """The token of the point in time that a search body names."""
    if b'"pit"' not in body and b"\\" not in body:
        return None
    tree = orjson.loads(body)
    pit = tree.get("pit") if isinstance(tree, dict) else None
    token = pit.get("id") if isinstance(pit, dict) else None
    return token if isinstance(token, str) else None


def _cursors(request: Pooled, key: str) -> tuple[CursorResolver, dict[str, Any]]:
    """The body as it is sent; a cursor of the URL goes into it, where there is none."""
    plan = request.plan
    resolver = CursorResolver(request)
    tree: dict[str, Any] = {}
    if request.body:
        assert plan.endpoint.request is not None
        out, _ = walk(plan, plan.endpoint.request, request.body, resolver, UNFILTERED, request.pools.max_depth)
        read = orjson.loads(out)
        tree = read if isinstance(read, dict) else {}
    token = request.parts.get(key) or plan.query.get(key)
    if token is not None and key not in tree:
        tokens = token.split(",")
        tree[key] = resolver.open(token) if len(tokens) == 1 else [resolver.open(one) for one in tokens]
    return resolver, tree


def open_point_in_time(request: Pooled) -> Steps[Reply | Large]:
    """``open_point_in_time``, ``create_pit``."""
    plan = request.plan
    targets = yield from some(request, request.parts["index"])
    request.over(targets)
    body = b""
    if request.body and plan.endpoint.request is not None:
        body = yield from search_body(request, targets, plan.endpoint.request, request.body)
    query = yield from parameters(request, targets)
    if wide.fits(template(request), targets, query):
        answer = yield request.send("POST", path(request, targets), query, body, request.media or JSON)
    else:
        answer = yield from wide.by_alias(request, template(request), targets, query, body)
    return reply(request, answer, filtered=True)


def scroll(request: Pooled) -> Steps[Reply | Large]:
    """The next page."""
    resolver, tree = _cursors(request, "scroll_id")
    for cursor in resolver.found:
        yield from targets_of(request, cursor)
        sorts = [None if kind is None else Decoded(kind) for kind in cursor.sorts]
        request.undo.append(Undo(bare=cursor.bare, sorts=sorts))
        request.plan.meta = request.undo[-1] or None
    query = physical_query(request.plan, [], None)
    answer = yield request.send("POST", ["_search", "scroll"], query, orjson.dumps(tree), JSON, large=True)
    return reply(request, answer)


def close(request: Pooled) -> Steps[Reply | Large]:
    """``clear_scroll``, ``close_point_in_time``, ``delete_pit``."""
    resolver, tree = _cursors(request, "scroll_id")
    path = [part for part in request.plan.route.template if part[0] != "{"]
    query = physical_query(request.plan, [], None)
    request.plan.meta = yield from _freed(request, resolver.found)
    answer = yield request.send("DELETE", path, query, orjson.dumps(tree), JSON, large=True)
    return reply(request, answer)


@dataclass(slots=True)
class Freed:
    """How many shards a closed cursor was over: a node counts those of the physical indices."""

    physical: int
    logical: int

    def restore(self, tree: Any, name: Callable[[str], str]) -> Any:
        if isinstance(tree, dict) and tree.get("num_freed") == self.physical:
            tree["num_freed"] = self.logical
        return tree


def _freed(request: Pooled, cursors: list[PoolCursor]) -> Steps[Freed | None]:
    """None where the node's count is the client's: one index in each physical one, or one of them is not in a pool or gone."""
    physical = logical = 0
    for cursor in cursors:
        if OUTSIDE in cursor.numbers:
            return None
        try:
            targets = yield from targets_of(request, cursor)
        except Lost:
            return None
        logical += sum(target.shards.count for target in targets)
        physical += sum({target.physical: target.shards.count for target in targets}.values())
    return Freed(physical, logical) if physical < logical else None
