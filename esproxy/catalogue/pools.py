"""Where a new logical index goes: its family, and whether it must have a pool of one.

A family is what may share one physical index: in ``shared`` the logical name with the hash of the explicit mapping and settings,
in ``per-tenant`` the tenant with the hash of those settings that a physical index has only once, and with the types of fields
that change how a node reads all documents of a physical index (``TRAITS``). A family's generations are its physical indices; new
entries go to the newest open one.

A pool of one has the same bindings and ids, and nobody else inside. The reasons are a closed list, ``REASONS``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from esproxy.catalogue import names
from esproxy.catalogue.context import Caps
from esproxy.catalogue.documents import Generation, Pool
from esproxy.catalogue.fields import flatten, physical_properties, strangers

REASONS = {
    "join": "a field of type join: one per physical index, and its parents are found by routing",
    "percolator": "a field of type percolator: stored queries would be run against every tenant's documents",
    "completion": "in ``shared``, a field of type completion: its suggester reads all of a physical field, and takes no filter",
    "analysis": "analysis of its own: analyzers are settings of the physical index",
    "sorting": "index sorting: the order of a physical index",
    "data stream": "a data stream's backing index",
    "mode": "an index mode other than standard",
    "field limit": "in ``per-tenant``, a limit of fields of its own: the node counts those of the whole physical index",
    "root parameters": "mapping parameters that apply to the whole physical index",
    "copies": "in ``shared``, a field copied to one that is not in the mapping: it gets its name once a document brings it",
}
# Where a physical index has a field of such a type, every search in it is for documents that are not within others, or every
# document is read and written anew without its vectors.
TRAITS = {
    "nested": "nested",
    **dict.fromkeys(("dense_vector", "sparse_vector", "rank_vectors", "semantic_text"), "vectors"),
}
# Root parameters that belong to each logical index: the proxy applies them in ``shared``, an object has them in ``per-tenant``.
# Any other is a parameter of the whole physical index.
ROOT = {
    "shared": {
        "dynamic",
        "properties",
        "_meta",
        "dynamic_templates",
        "date_detection",
        "numeric_detection",
        "dynamic_date_formats",
        "_routing",
    },
    "per-tenant": {"dynamic", "properties", "_meta", "enabled", "subobjects"},
}


@dataclass(slots=True, frozen=True)
class Plan:
    """What a logical index is to be, as placement and its creator want it."""

    layout: str
    mapping: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)  # flat: "index.number_of_shards"
    occasion: str | None = None  # "data stream"
    dedicated: str | None = None  # the physical name that the prefix would give: must not be there

    @property
    def hidden(self) -> bool:
        return str(self.settings.get("index.hidden", False)).lower() == "true"

    @property
    def blocks(self) -> tuple[str, ...]:
        return blocks_in(self.settings)

    @property
    def physical_settings(self) -> dict[str, Any]:
        return {name: value for name, value in self.settings.items() if name not in APPLIED}


# Of these, those that a pool has too, where they come to nothing because no field is added by itself: the node judges them.
JUDGED = frozenset(("dynamic_templates", "date_detection", "numeric_detection", "dynamic_date_formats"))
DEFAULT_LIMIT = 1000  # of fields, on nodes
# Settings of one logical index, applied by the proxy: the physical index is not told them, and they part no indices.
LIMIT = "index.mapping.total_fields.limit"
BLOCKS = frozenset(f"index.blocks.{name}" for name in ("metadata", "read", "read_only", "read_only_allow_delete", "write"))
# The node that an index is to be on can only be the tenant's one, which is none of the cluster's.
NODE = frozenset(f"index.routing.allocation.{how}.{by}" for how in ("include", "require") for by in ("_id", "_name"))
# Of an index that was made of another.
RESIZE_NAME, RESIZE_UUID = "index.resize.source.name", "index.resize.source.uuid"
RECOVERED_FROM = "index.routing.allocation.initial_recovery._id"
PARTITION = "index.routing_partition_size"
RESIZED = frozenset((RESIZE_NAME, RESIZE_UUID, RECOVERED_FROM, PARTITION))
PIPELINES = frozenset(("index.default_pipeline", "index.final_pipeline"))
APPLIED = BLOCKS | NODE | RESIZED | PIPELINES | {"index.hidden", "index.provided_name", LIMIT}


def blocks_in(settings: dict[str, Any]) -> tuple[str, ...]:
    """The blocks that settings, by their whole names, put on an index."""
    held = sorted(name for name in BLOCKS & settings.keys() if str(settings[name]).lower() == "true")
    return tuple(name.rpartition(".")[2] for name in held)


def reason_for_one(plan: Plan) -> str | None:
    """Why this index cannot share, or None."""
    if plan.occasion is not None:
        return plan.occasion
    types = _types(plan.mapping)
    if "join" in types:
        return "join"
    if "percolator" in types:
        return "percolator"
    if "completion" in types and plan.layout == "shared":
        return "completion"
    for key, value in plan.settings.items():
        name = key.removeprefix("index.")
        if name.startswith("analysis."):
            return "analysis"
        if name.startswith("sort."):
            return "sorting"
        if name == "mode" and value != "standard":
            return "mode"
        if key == LIMIT and plan.layout == "per-tenant":
            return "field limit"
    if plan.mapping.keys() - ROOT[plan.layout] or (plan.layout == "shared" and _makes_runtime(plan.mapping)):
        return "root parameters"
    if plan.layout == "shared" and strangers(plan.mapping):
        return "copies"
    return None


def _makes_runtime(mapping: dict[str, Any]) -> bool:
    """May documents bring ``runtime`` fields? They stand at the root of the physical index's mapping."""
    objects = (mapping, *flatten(mapping.get("properties", {})).values())
    templates = [each for entry in mapping.get("dynamic_templates") or [] if isinstance(entry, dict) for each in entry.values()]
    return any(str(each.get("dynamic")).lower() == "runtime" for each in objects) or any(
        isinstance(each, dict) and "runtime" in each for each in templates
    )


def family(plan: Plan, tenant: str, name: str, number: int) -> str:
    if reason_for_one(plan) is not None:
        return names.family_of_one(tenant, number)
    if plan.layout == "shared":
        return names.family_shared(name, plan.mapping, plan.physical_settings)
    return names.family_per_tenant(tenant, plan.physical_settings, traits(plan.mapping))


def traits(mapping: dict[str, Any]) -> list[str]:
    return sorted({TRAITS[kind] for kind in _types(mapping) if kind in TRAITS})


def _types(mapping: dict[str, Any]) -> set[Any]:
    """Of fields, and of fields of fields."""
    fields = flatten(mapping.get("properties", {})).values()
    below = (one for definition in fields for one in (definition.get("fields") or {}).values() if isinstance(one, dict))
    return {definition.get("type") for definition in (*fields, *below)}


def new_pool(plan: Plan, of: str, first: int) -> Pool:
    """A family without generations, which will begin with ``first``. In ``per-tenant`` the mapping is the objects' (see
    esproxy.catalogue.objects), but for an index that is alone: it needs no object."""
    if plan.layout == "shared":
        return Pool(of, plan.mapping, plan.physical_settings, first, first)
    if reason_for_one(plan) is None:
        return Pool(of, {}, plan.physical_settings, first, first)
    limit = {LIMIT: plan.settings.get(LIMIT, DEFAULT_LIMIT)}
    return Pool(of, plan.mapping, plan.physical_settings | limit, first, first)


def open_generation(pool: Pool) -> Generation:
    """The generation for a new entry, appended when there is no open one."""
    newest = pool.newest_open()
    if newest is None:
        newest = Generation(pool.next, names.physical(pool.family, pool.next))
        pool.generations.append(newest)
        pool.next += 1
    return newest


def body(pool: Pool, layout: str, caps: Caps) -> dict[str, Any]:
    """The physical index of a generation. It takes no field by itself: in ``shared`` the proxy adds them, and what is not known
    stays in the document, unmapped; in ``per-tenant`` they are in the objects, and an index that is alone there has its mapping
    as it was declared."""
    root = {key: value for key, value in pool.mapping.items() if key not in ROOT[layout] or key in JUDGED}
    dynamic: Any = False if layout == "shared" else "strict"
    mappings: dict[str, Any] = {**root, "_routing": {"required": True}, "dynamic": dynamic}
    if layout == "per-tenant" and names.is_of_one(pool.family):
        mappings = {**pool.mapping, "_routing": {"required": True}}
    if layout == "shared":
        mappings["properties"] = physical_properties(pool.mapping.get("properties", {}))
    settings = {LIMIT: caps.node_fields, **pool.settings}
    settings.setdefault("index.number_of_shards", 1)
    return {"settings": settings, "mappings": mappings}


def count_fields(properties: dict[str, Any]) -> int:
    """As a node counts them: objects, fields, and fields of fields."""
    count = 0
    for definition in properties.values():
        count += 1 + count_fields(definition.get("properties", {})) + count_fields(definition.get("fields", {}))
    return count


def lacks_room(reason: str, mapping: dict[str, Any]) -> bool:
    """Whether a node refused this object for what lies in the physical index already, and an empty one would take it."""
    nested = re.search(r"Limit of nested fields \[(\d+)\]", reason)
    if nested is not None:
        return sum(one.get("type") == "nested" for one in flatten(mapping.get("properties", {})).values()) <= int(nested[1])
    return "Limit of total fields" in reason


def full(claimed: int, documents: int, size: int, caps: Caps) -> bool:
    return claimed >= caps.fields or documents >= caps.documents or size >= caps.bytes
