"""Indices, mappings, settings and aliases of a tenant in pools: answered from the catalogue, with what only the node knows
asked of it.

A mapping is the physical one, cut down to the index's own fields and with their logical names: so it reads as the node writes
mappings. Settings are the physical ones without what the pool needs for itself.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import orjson

from esproxy import bodies, core
from esproxy.answer import encode
from esproxy.api.kinds import Kind
from esproxy.catalogue.documents import Alias, Directory, Targets
from esproxy.catalogue.fields import flatten
from esproxy.catalogue.store import Steps, parsed
from esproxy.errors import Refusal, json_headers
from esproxy.exchange import Reply
from esproxy.metadata.settings import rewrite_settings
from esproxy.procedures.alias import change_aliases
from esproxy.procedures.create import create
from esproxy.procedures.delete import delete
from esproxy.procedures.pool_search import nothing
from esproxy.procedures.pool_search import reply as node_reply
from esproxy.procedures.pooled import Apart, Pooled, check_new_name
from esproxy.tenancy.expressions import Options, matching
from esproxy.tenancy.placement import DEDICATED
from esproxy.tenancy.pool_query import physical_query
from esproxy.tenancy.pool_restore import finish
from esproxy.tenancy.pool_rewrite import own_routing
from esproxy.tenancy.target import UNFILTERED, Target, physical_expression

POOLS_OWN = ("index.mapping.total_fields.limit",)
REFUSED_SETTINGS = (
    "default_pipeline",
    "final_pipeline",
    "search.default_pipeline",
    "blocks.",
    "hidden",
    "routing_partition_size",
)


# --- indices -----------------------------------------------------------------------------------------


def create_index(request: Pooled) -> Steps[Reply]:
    name = request.parts["index"]
    known_parameters(request)
    check_new_name(name, request.product)
    if request.pools.placement.layout(request.tenant, name) == DEDICATED:
        raise Apart
    tree = declaration(request)
    mapping = dict(tree.get("mappings") or {})
    _check_mapping(mapping)
    settings = flat_settings(tree.get("settings") or {})
    aliases = {alias: properties or {} for alias, properties in (tree.get("aliases") or {}).items()}
    for alias, properties in aliases.items():
        check_new_name(alias, request.product)
        check_properties(properties)
    try:
        yield from create(request.cat, request.tenant, name, request.index_plan(name, mapping, settings))
    except Refusal as error:
        if error.type == "resource_already_exists_exception":
            raise (yield from _exists(request, name)) from None
        raise
    if aliases:
        yield from change_aliases(request.cat, request.tenant, lambda directory: added(directory, name, aliases))
    yield from request.one(name)
    return answer(request, {"acknowledged": True, "shards_acknowledged": True, "index": name})


def declaration(request: Pooled) -> dict[str, Any]:
    """The body, which has passed its rule table, with the client's own names. Raises Refusal."""
    if not request.body:
        return {}
    plan = request.plan
    assert plan.endpoint.request is not None
    run = core.Pass(plan.cluster.engine.grammar, plan.endpoint.request, UNFILTERED, Declared(), max_depth=request.pools.max_depth)
    out = run.feed(request.body, True)
    if run.status is not core.Status.OK:
        raise bodies.refusal(plan, run, request.body)
    tree = orjson.loads(out)
    return tree if isinstance(tree, dict) else {}


def _exists(request: Pooled, name: str) -> Steps[Refusal]:
    uuid = uuid_of((yield from request.one(name)))
    return Refusal(f"index [{name}/{uuid}] already exists", type="resource_already_exists_exception", index_uuid=uuid, index=name)


def _check_mapping(mapping: dict[str, Any]) -> None:
    """A field made by a script hides a meta field of its name, and the pool's filter is on one."""
    for kind in ("runtime", "derived"):
        if any(name.startswith("_") for name in mapping.get(kind) or {}):
            raise Refusal(f"a [{kind}] field cannot have a name that begins with an underscore in a pool")


def added(directory: Directory, index: str, aliases: dict[str, dict[str, Any]]) -> dict[str, Targets]:
    return {alias: {**directory.aliases.get(alias, Alias({})).now, index: properties} for alias, properties in aliases.items()}


def check_properties(properties: dict[str, Any]) -> None:
    for key in properties:
        if key.endswith("routing"):
            raise own_routing()
        if key == "filter" and properties[key] is not None:
            raise Refusal("an alias with a filter is not available yet for indices in a pool")
        if key not in ("is_write_index", "is_hidden", "filter"):
            raise Refusal(f"unknown field [{key}]")


class Declared:
    """Answers the core's stops in declarations: names of fields, aliases and their filters are kept as the client wrote them."""

    def __call__(self, kind: Kind, raw: bytes) -> bytes:
        if kind is Kind.SETTINGS:
            value = orjson.loads(raw)
            return orjson.dumps(rewrite_settings(value, _no_pipeline)) if isinstance(value, dict) else raw
        if kind is Kind.ROUTING and raw != b"null":
            raise own_routing()
        return raw


def _no_pipeline(name: str) -> str:
    if name != "_none":
        raise Refusal("pipelines are not available for indices in a pool")
    return name


def flat_settings(tree: dict[str, Any], path: str = "") -> dict[str, Any]:
    """Settings by their whole dotted names. Raises Refusal for what a pool cannot have for one index."""
    out: dict[str, Any] = {}
    for key, value in tree.items():
        name = f"{path}.{key}" if path else key
        if isinstance(value, dict):
            out |= flat_settings(value, name)
            continue
        full = name if name.startswith("index.") else f"index.{name}"
        bare = full.removeprefix("index.")
        if bare.startswith(REFUSED_SETTINGS) and value not in ("_none", False, "false"):
            raise Refusal(f"the setting [{full}] is not available yet for an index in a pool")
        out[full] = value
    return out


def delete_index(request: Pooled) -> Steps[Reply]:
    known_parameters(request)
    options = Options.of({"expand_wildcards": "open,closed", **request.plan.query}, aliases=False)
    found, _ = yield from request.resolved(request.parts["index"], options)
    if found.found:
        yield from delete(request.cat, request.tenant, list(found.found))
    request.sight.used.clear()  # what this rests on is what it has changed
    return answer(request, {"acknowledged": True})


def get_index(request: Pooled) -> Steps[Reply]:
    """Aliases, mapping and settings; also the endpoints that ask for one of them."""
    plan = request.plan
    known_parameters(request)
    targets = yield from request.some(request.parts.get("index", "_all"))
    wanted = _PARTS[plan.route.row.name]
    out: dict[str, Any] = {target.name: {} for target in targets}
    physical = physical_expression(targets)
    directory = request.sight.directory
    assert directory is not None
    mappings: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    if targets and "mappings" in wanted:
        mappings = parsed((yield request.send("GET", [physical, "_mapping"], {})), 200)
    if targets and "settings" in wanted:
        options = {key: plan.query[key] for key in ("flat_settings", "human", "include_defaults") if key in plan.query}
        settings = parsed((yield request.send("GET", [physical, "_settings"], options)), 200)
    for target in targets:
        here = out[target.name]
        if "aliases" in wanted:
            here["aliases"] = {
                name: echo(a.now[target.name]) for name, a in sorted(directory.aliases.items()) if target.name in a.now
            }
        if "mappings" in wanted:
            here["mappings"] = target.naming.mapping(mappings[target.physical]["mappings"])
        if "settings" in wanted:
            here |= {part: logical_settings(target, tree, part) for part, tree in settings[target.physical].items()}
            here["settings"] = _named_settings(here["settings"], request.parts.get("name"))
    return answer(request, out)


_PARTS = {
    "indices.exists": ("aliases", "mappings", "settings"),
    "indices.get": ("aliases", "mappings", "settings"),
    "indices.get_mapping": ("mappings",),
    "indices.get_settings": ("settings",),
}


def logical_settings(target: Target, physical: dict[str, Any], part: str) -> dict[str, Any]:
    """Settings as the index's own: the names that it goes by, without what only the pool has."""
    if part != "settings":
        return physical
    flat = flat_all(physical)
    for name in POOLS_OWN:
        if name not in target.index.settings:
            flat.pop(name, None)
    for name, value in (("index.provided_name", target.name), ("index.uuid", uuid_of(target))):
        if name in flat:
            flat[name] = value
    return flat if "index" not in physical else unflat(flat)


def flat_all(tree: dict[str, Any], path: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in tree.items():
        name = f"{path}.{key}" if path else key
        out |= flat_all(value, name) if isinstance(value, dict) else {name: value}
    return out


def unflat(flat: dict[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for name, value in flat.items():
        at = tree
        *parents, leaf = name.split(".")
        for parent in parents:
            at = at.setdefault(parent, {})
        at[leaf] = value
    return tree


def _named_settings(tree: dict[str, Any], name: str | None) -> dict[str, Any]:
    if name is None or name == "_all":
        return tree
    flat = flat_all(tree)
    kept = {key: flat[key] for pattern in name.split(",") for key in matching(pattern, list(flat))}
    return kept if "index" not in tree else unflat(kept)


def uuid_of(target: Target) -> str:
    """What tells one creation of an index from the next, as 22 characters."""
    digest = hashlib.blake2b(target.scope.encode(), digest_size=16, person=b"esproxy index").digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def put_mapping(request: Pooled) -> Steps[Reply]:
    """New fields only; a known field keeps its definition, as on a node."""
    known_parameters(request)
    tree = declaration(request)
    if set(tree) - {"properties"}:
        raise Refusal(
            f"only [properties] of a mapping can be changed for an index in a pool, not {sorted(set(tree) - {'properties'})}"
        )
    wanted = flatten(tree.get("properties") or {})
    for target in (yield from request.some(request.parts["index"])):
        for path, definition in wanted.items():
            known = target.index.fields.get(path)
            if known is not None and known.type.get("type", "object") != definition.get("type", "object"):
                told = f"cannot be changed from type [{known.type.get('type')}] to [{definition.get('type')}]"
                raise Refusal(f"mapper [{path}] {told}")
            if known is not None and known.type != definition and definition.get("type") != "object":
                raise Refusal(f"the parameters of [{path}] cannot be changed for an index in a pool")
        yield from request.add(target, wanted)
    return answer(request, {"acknowledged": True})


def shards(request: Pooled) -> Steps[Reply]:
    """``refresh`` and ``flush``: of the whole pool."""
    plan = request.plan
    targets = yield from request.some(request.parts.get("index", "_all"))
    query = physical_query(plan, [], None)
    template = plan.route.with_index or plan.route.template
    expression = physical_expression(targets) or nothing(request)
    call = request.send("POST", [expression if part == "{index}" else part for part in template], query)
    return node_reply(request, (yield call))


def echo(properties: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in properties.items() if value is not None}


# --- answers ---------------------------------------------------------------------------------------------


def answer(request: Pooled, tree: dict[str, Any]) -> Reply:
    plan = request.plan
    return finish(plan, 200, json_headers(request.product), encode(plan, tree))


def known_parameters(request: Pooled) -> None:
    """The parameters are ours to use; one that the node would refuse is refused."""
    plan = request.plan
    physical_query(plan, [], None)
