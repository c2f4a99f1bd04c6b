"""``_open`` and ``_close`` of indices in pools: a state of their entries, by which every request is judged. Nothing is done to
the physical index, where others' lie; those of a mixture that have one of their own are left to the node."""

from __future__ import annotations

from typing import Any

import orjson

from esproxy.catalogue.documents import OPEN
from esproxy.catalogue.store import Steps
from esproxy.errors import Refusal
from esproxy.exchange import Answer, Large, Reply
from esproxy.pools import wide
from esproxy.pools.declared import answer, check_active_shards, known_parameters
from esproxy.pools.pooled import Pooled
from esproxy.pools.reply import reply as node_reply
from esproxy.procedures.state import close, reopen
from esproxy.rewriting.query import physical_query
from esproxy.tenancy.placement import DEDICATED


def close_indices(request: Pooled) -> Steps[Reply | Large]:
    """What was closed before is not told of."""
    own, pooled = yield from _named(request)
    still = [name for name in pooled if request.seen.indices[name].state == OPEN]
    closed: dict[str, Any] = {name: {"closed": True} for name in still}
    if own:
        told = yield from _node(request, "_close", own)
        if told.status != 200:
            return node_reply(request, told)
        back = {physical: name for name, physical in own.items()}
        closed |= {back[physical]: outcome for physical, outcome in orjson.loads(told.body)["indices"].items()}
    if still:
        yield from close(request.cat, request.tenant, still)
    request.sight.used.clear()  # what this rests on is what it has changed
    return answer(request, {"acknowledged": True, "shards_acknowledged": bool(closed), "indices": closed})


def open_indices(request: Pooled) -> Steps[Reply | Large]:
    own, pooled = yield from _named(request)
    if own:
        told = yield from _node(request, "_open", own)
        if told.status != 200:
            return node_reply(request, told)
    if pooled:
        yield from reopen(request.cat, request.tenant, pooled)
    request.sight.used.clear()
    return answer(request, {"acknowledged": True, "shards_acknowledged": True})


def _named(request: Pooled) -> Steps[tuple[dict[str, str], list[str]]]:
    """The indices of the expression: the physical names of those that have one of their own, and those in pools."""
    known_parameters(request)
    check_active_shards(request)
    if "index" not in request.parts:
        raise Refusal("Validation Failed: 1: index is missing;", type="action_request_validation_exception")
    found, directory = yield from request.resolved(request.parts["index"], request.options())
    entries = {name: directory.indices[name] for name in found.found}
    own = {name: entry.physical for name, entry in entries.items() if entry.layout == DEDICATED}
    return own, [name for name in entries if name not in own]


def _node(request: Pooled, what: str, own: dict[str, str]) -> Steps[Answer]:
    query = physical_query(request.plan, [], None)
    return (yield from wide.ask(request, "POST", [wide.INDEX, what], own.values(), query | {"ignore_unavailable": "true"}))
