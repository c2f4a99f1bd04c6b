"""Indices, mappings, settings and aliases of a tenant in pools: answered from the catalogue, with what only the node knows
asked of it.

A mapping is the physical one, cut down to the index's own fields and with their logical names: so it reads as the node writes
mappings. Settings are the physical ones without what the pool needs for itself.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import orjson

from esproxy.answer import encode, is_error
from esproxy.catalogue.documents import Entry
from esproxy.catalogue.store import Steps
from esproxy.errors import Failed, Refusal, invalid_index_name
from esproxy.exchange import Answer, Large, Reply
from esproxy.pools import wide
from esproxy.pools.aliases import aliases_of
from esproxy.pools.creation import Creation
from esproxy.pools.declared import (
    acknowledged,
    active_shards,
    answer,
    check_active_shards,
    declaration,
    known_parameters,
    node_answer,
)
from esproxy.pools.pooled import Apart, Pooled
from esproxy.pools.reply import reply as node_reply
from esproxy.pools.reply import template
from esproxy.pools.settings import flat_settings, logical_settings, named_settings, own_settings
from esproxy.pools.statistics import alone
from esproxy.pools.targets import some
from esproxy.procedures.delete import delete
from esproxy.rewriting.query import physical_query
from esproxy.tenancy.one_name import check_new_name
from esproxy.tenancy.placement import DEDICATED
from esproxy.tenancy.target import Target

# --- indices -----------------------------------------------------------------------------------------


def create_index(request: Pooled) -> Steps[Reply]:
    written = request.parts["index"]
    known_parameters(request)
    check_active_shards(request)
    name = yield from request.dated(written, single=True)
    check_new_name(name, request.product)
    if request.pools.placement.layout(request.tenant, name) == DEDICATED:
        yield from check_free(request, name)
        raise Apart
    tree = declaration(request)
    settings = flat_settings(tree.get("settings") or {})
    if written != name:
        settings["index.provided_name"] = written
    creation = Creation(request, name, tree.get("mappings"), settings, tree.get("aliases"))
    entry = yield from made(request, name, creation)
    shards = yield from active_shards(request, entry.physical)
    return answer(request, {"acknowledged": True, "shards_acknowledged": shards, "index": name}, warnings=creation.warnings)


def check_free(request: Pooled, name: str) -> Steps[None]:
    """Raises Refusal for an index of its own whose name is one of the directory's already."""
    directory = yield from request.directory([name])
    if name in directory.aliases and directory.aliases[name].now:
        raise invalid_index_name(name, "already exists as alias")
    if name in directory.indices:
        taken = Refusal(f"index [{name}] already exists", type="resource_already_exists_exception", index_uuid="_na_", index=name)
        raise (yield from already_exists(request, name, taken))


def made(request: Pooled, name: str, creation: Creation) -> Steps[Entry]:
    """The index. Raises Refusal, which names the one that is there already."""
    try:
        return (yield from creation.make())
    except Refusal as error:
        if error.type == "resource_already_exists_exception":
            raise (yield from already_exists(request, name, error)) from None
        raise


def already_exists(request: Pooled, name: str, error: Refusal) -> Steps[Refusal]:
    try:
        uuid = (yield from request.one(name)).uuid
    except Refusal:
        return error  # deleted since; a creation is never told that there is no such index
    return Refusal(f"index [{name}/{uuid}] already exists", type="resource_already_exists_exception", index_uuid=uuid, index=name)


def delete_index(request: Pooled) -> Steps[Reply | Large]:
    known_parameters(request)
    found, directory = yield from request.resolved(request.parts["index"], request.options())
    own = [name for name in found.found if directory.indices[name].layout == DEDICATED]
    if own:
        physical = [directory.indices[name].physical for name in own]
        told = yield from wide.ask(request, "DELETE", [wide.INDEX], physical, {"ignore_unavailable": "true"})
        if told.status != 200:
            return node_reply(request, told)
    pooled = [name for name in found.found if name not in own]
    if pooled:
        yield from delete(request.cat, request.tenant, pooled)
    request.sight.used.clear()  # what this rests on is what it has changed
    return acknowledged(request)


def get_index(request: Pooled) -> Steps[Reply | Large]:
    """Aliases, mapping and settings; also the endpoints that ask for one of them. The node is asked the same of the physical
    indices, so that it judges the parameters."""
    plan = request.plan
    targets = yield from some(request, request.parts.get("index", "_all"))
    targets = yield from request.freshest(targets)
    directory = request.seen
    path = [part for part in template(request) if part != "{name}"]
    physical_names = [target.physical for target in targets]
    told = yield from wide.ask(request, "GET", path, physical_names, physical_query(plan, [], None))
    if told.status != 200:
        return node_reply(request, told)
    physical = orjson.loads(told.body)
    features = plan.query["features"].split(",") if "features" in plan.query else None
    out: dict[str, Any] = {}
    for target in targets:
        here = out[target.name] = {}
        for part, tree in physical[target.physical].items():
            if features is not None and part not in features:
                here[part] = {}
            elif part == "aliases":
                here[part] = aliases_of(directory, target.name)
            elif part == "mappings":
                here[part] = target.naming.mapping(tree)
            elif part in ("settings", "defaults"):
                own = own_settings(request, tree) if target.dedicated else logical_settings(target, tree, part)
                here[part] = named_settings(own, request.parts.get("name"))
            else:
                raise Failed(f"the node told of [{part}] of an index")
        if request.parts.get("name", "_all") != "_all" and not any(here.values()):
            del out[target.name]  # nothing goes by that name
    return node_answer(request, told, out)


def shards(request: Pooled) -> Steps[Reply | Large]:
    """``refresh``, ``flush``, ``forcemerge`` and ``clear_cache``: of the whole pool. The shards of each index are told, also
    where those of several are the same: what was done to one was done to each of them."""
    plan = request.plan
    targets = yield from some(request, request.parts.get("index", "_all"))
    query = physical_query(plan, [], None)
    lying = Counter(target.physical for target in targets)
    answers: list[Answer] = []
    for many in sorted(set(lying.values())) or [1]:
        physical = [name for name, count in lying.items() if count == many]
        told = yield from wide.ask(request, "POST", template(request), physical, query)
        answers.append(_times(told, many))
        if plan.route.row.name == "indices.flush" and told.status == 200:
            yield from _made_visible(request, targets, physical)
    whole = wide.joined(answers)
    if plan.pretty and not is_error(whole.status, whole.body):
        whole = replace(whole, body=encode(plan, orjson.loads(whole.body)))
    return node_reply(request, whole)


def _times(told: Answer, many: int) -> Answer:
    """An answer about physical indices, each of which stands for so many. Which shard failed is told as the node tells it."""
    if many == 1 or is_error(told.status, told.body):
        return told
    tree = orjson.loads(told.body)
    counts = tree["_shards"]
    if not counts["failed"]:
        counts["total"] *= many
        counts["successful"] *= many
    return replace(told, body=orjson.dumps(tree))


def _made_visible(request: Pooled, targets: list[Target], physical: list[str]) -> Steps[None]:
    """What is flushed is in a segment from then on, and figures of segments follow from the documents that are to be seen
    (``metadata.figures``). An index whose documents are not to be seen by themselves is left as it is."""
    waiting = {target.physical for target in targets if alone(target) or _is_refreshed_by_hand(target)}
    soon = [name for name in physical if name not in waiting]
    if soon:
        yield from wide.ask(request, "POST", [wide.INDEX, "_refresh"], soon, {"ignore_unavailable": "true"})


def _is_refreshed_by_hand(target: Target) -> bool:
    return str(flat_settings(target.index.settings).get("index.refresh_interval", "")).startswith("-1")
