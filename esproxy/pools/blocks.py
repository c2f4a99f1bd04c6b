"""``_block``: blocks put on indices in pools, and taken off them. They are settings of the index, which the proxy applies; what
has an index of its own in a mixture is left to the node."""

from __future__ import annotations

from typing import Any

import orjson

from esproxy.catalogue.store import Steps
from esproxy.errors import Refusal
from esproxy.exchange import Large, Reply
from esproxy.pools import wide
from esproxy.pools.declared import answer, known_parameters
from esproxy.pools.pooled import Pooled
from esproxy.pools.reply import reply as node_reply
from esproxy.pools.settings import keep
from esproxy.pools.targets import some
from esproxy.rewriting.query import physical_query
from esproxy.tenancy.blocks import BLOCKS, INTERNAL, SETTING


def add_block(request: Pooled) -> Steps[Reply | Large]:
    return (yield from _change(request, "PUT", "blocked", "true"))


def remove_block(request: Pooled) -> Steps[Reply | Large]:
    return (yield from _change(request, "DELETE", "unblocked", None))


def _change(request: Pooled, method: str, done: str, value: str | None) -> Steps[Reply | Large]:
    known_parameters(request)
    block = request.parts["block"]
    if block not in BLOCKS:
        raise Refusal(f"No block found with name {block}")
    if block == INTERNAL:
        reason = f"Validation Failed: 1: {INTERNAL} block is for internal use only;"
        raise Refusal(reason, type="action_request_validation_exception")
    targets = yield from some(request, request.parts["index"])
    told: list[Any] = []
    own = [target for target in targets if target.dedicated]
    if own:
        query, physical = physical_query(request.plan, [], None), [target.physical for target in own]
        outcome = yield from wide.ask(request, method, [wide.INDEX, "_block", block], physical, query)
        if outcome.status != 200:
            return node_reply(request, outcome)
        back = {target.physical: target.name for target in own}
        told = [{**one, "name": back[one["name"]]} for one in orjson.loads(outcome.body)["indices"]]
    for target in targets:
        if not target.dedicated:
            yield from keep(request, target, {SETTING + block: value})
            told.append({"name": target.name, done: True})
    request.sight.used.clear()  # what this rests on is what it has changed
    shards = {"shards_acknowledged": bool(told)} if done == "blocked" else {}
    return answer(request, {"acknowledged": True, **shards, "indices": told})
