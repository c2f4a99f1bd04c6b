"""Indices, mappings, settings and aliases of a tenant in pools: answered from the catalogue, with what only the node knows
asked of it.

A mapping is the physical one, cut down to the index's own fields and with their logical names: so it reads as the node writes
mappings. Settings are the physical ones without what the pool needs for itself.
"""

from __future__ import annotations

from typing import Any

from esproxy.catalogue.store import Steps, parsed
from esproxy.errors import Refusal
from esproxy.exchange import Reply
from esproxy.procedures.alias import change_aliases
from esproxy.procedures.create import create
from esproxy.procedures.delete import delete
from esproxy.procedures.pool_aliases import alias_properties, aliases_of, check_filter, new_targets
from esproxy.procedures.pool_declared import (
    acknowledged,
    active_shards,
    answer,
    check_active_shards,
    declaration,
    known_parameters,
)
from esproxy.procedures.pool_mappings import check_new_mapping
from esproxy.procedures.pool_search import nothing
from esproxy.procedures.pool_search import reply as node_reply
from esproxy.procedures.pool_settings import flat_settings, logical_settings, named_settings, uuid_of
from esproxy.procedures.pooled import Apart, Pooled, check_new_name
from esproxy.tenancy.placement import DEDICATED
from esproxy.tenancy.pool_query import physical_query
from esproxy.tenancy.target import physical_expression

# --- indices -----------------------------------------------------------------------------------------


def create_index(request: Pooled) -> Steps[Reply]:
    written = request.parts["index"]
    known_parameters(request)
    check_active_shards(request)
    name = yield from request.dated(written, single=True)
    check_new_name(name, request.product)
    if request.pools.placement.layout(request.tenant, name) == DEDICATED:
        raise Apart
    tree = declaration(request)
    mapping = dict(tree.get("mappings") or {})
    check_new_mapping(mapping, request.product)
    settings = flat_settings(tree.get("settings") or {})
    if written != name:
        settings["index.provided_name"] = written
    aliases = {alias: alias_properties(properties or {}) for alias, properties in (tree.get("aliases") or {}).items()}
    if aliases:
        directory = yield from request.directory([name, *aliases])
        wanted = [("add", name, alias, properties) for alias, properties in aliases.items()]
        new_targets(directory, wanted, request.product, making=name)
    try:
        entry = yield from create(request.cat, request.tenant, name, request.index_plan(name, mapping, settings))
    except Refusal as error:
        if error.type == "resource_already_exists_exception":
            raise (yield from _exists(request, name, error)) from None
        raise
    if aliases:
        yield from request.sight.look()
        target = yield from request.one(name)
        for alias, properties in aliases.items():
            yield from check_filter(request, target, alias, properties)
        yield from change_aliases(request.cat, request.tenant, lambda now: new_targets(now, wanted, request.product))
    shards = yield from active_shards(request, entry.physical)
    return answer(request, {"acknowledged": True, "shards_acknowledged": shards, "index": name})


def _exists(request: Pooled, name: str, error: Refusal) -> Steps[Refusal]:
    try:
        uuid = uuid_of((yield from request.one(name)))
    except Refusal:
        return error  # deleted since; a creation is never told that there is no such index
    return Refusal(f"index [{name}/{uuid}] already exists", type="resource_already_exists_exception", index_uuid=uuid, index=name)


def delete_index(request: Pooled) -> Steps[Reply]:
    known_parameters(request)
    found, _ = yield from request.resolved(request.parts["index"], request.options())
    if found.found:
        yield from delete(request.cat, request.tenant, list(found.found))
    request.sight.used.clear()  # what this rests on is what it has changed
    return acknowledged(request)


def get_index(request: Pooled) -> Steps[Reply]:
    """Aliases, mapping and settings; also the endpoints that ask for one of them."""
    plan = request.plan
    known_parameters(request)
    targets = yield from request.some(request.parts.get("index", "_all"))
    wanted = _PARTS[plan.route.row.name]
    if "features" in plan.query:
        wanted = tuple(part for part in wanted if part in plan.query["features"].split(","))
    targets = yield from request.freshest(targets)
    out: dict[str, Any] = {target.name: {} for target in targets}
    physical = physical_expression(targets)
    directory = request.sight.directory
    assert directory is not None
    mappings: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    if targets and "mappings" in wanted:
        mappings = parsed((yield request.send("GET", [physical, "_mapping"], {})), 200)
    if targets and "settings" in wanted:
        options = {key: plan.query[key] for key in ("flat_settings", "human", "include_defaults") if _asked(plan.query, key)}
        settings = parsed((yield request.send("GET", [physical, "_settings"], options)), 200)
    for target in targets:
        here = out[target.name]
        if "aliases" in wanted:
            here["aliases"] = aliases_of(directory, target.name)
        if "mappings" in wanted:
            here["mappings"] = target.naming.mapping(mappings[target.physical]["mappings"])
        if "settings" in wanted:
            here |= {part: logical_settings(target, tree, part) for part, tree in settings[target.physical].items()}
            here["settings"] = named_settings(here["settings"], request.parts.get("name"))
    return answer(request, out)


_PARTS = {
    "indices.exists": ("aliases", "mappings", "settings"),
    "indices.get": ("aliases", "mappings", "settings"),
    "indices.get_mapping": ("mappings",),
    "indices.get_settings": ("settings",),
}


def _asked(query: dict[str, str], name: str) -> bool:
    return query.get(name, "false") != "false"


def shards(request: Pooled) -> Steps[Reply]:
    """``refresh`` and ``flush``: of the whole pool."""
    plan = request.plan
    targets = yield from request.some(request.parts.get("index", "_all"))
    query = physical_query(plan, [], None)
    template = plan.route.with_index or plan.route.template
    expression = physical_expression(targets) or nothing(request)
    call = request.send("POST", [expression if part == "{index}" else part for part in template], query)
    return node_reply(request, (yield call))
