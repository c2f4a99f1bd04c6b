"""What a tenant's cluster says of itself where no rule table can restore the node's answer: the answer is made here.

Of the node's own answer only what is listed is taken, so what a later version adds shows nothing until it is looked at. Figures
of machines read as zero in the node's own shape: a monitor finds what it looks for, and learns nothing of an operator's load.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import Any

import orjson

from esproxy.errors import Refusal
from esproxy.metadata.nodes import TRANSPORT, VirtualNode

Tree = dict[str, Any]
Name = Callable[[str], str]

# --- _nodes ------------------------------------------------------------------------------------------------

INFO_METRICS = frozenset(
    ("settings", "os", "process", "jvm", "thread_pool", "transport", "http", "remote_cluster_server", "plugins", "ingest",
     "aggregations", "indices", "search_pipelines")
)  # fmt: skip
ENGINE = ("transport_version", "index_version", "component_versions")  # what the engine says of its version in a node's info
# What a node is asked for to learn the shape of its figures, and what of it is no shape alone: metric → key of the answer.
SHAPES = {
    "os": "os", "process": "process", "jvm": "jvm", "thread_pool": "thread_pool", "fs": "fs", "breaker": "breakers",
    "script": "script", "indexing_pressure": "indexing_pressure", "transport": "transport", "http": "http",
}  # fmt: skip
FLAT = frozenset(("transport", "http"))  # whose objects are keyed by what clients do
STATS_METRICS = {
    *SHAPES, "indices", "discovery", "ingest", "adaptive_selection", "script_cache", "repositories", "allocations",
    "indexing_pressure", "shard_indexing_pressure", "search_backpressure", "cluster_manager_throttling", "weighted_routing",
    "file_cache", "task_cancellation", "search_pipeline", "resource_usage_stats", "segment_replication_backpressure",
    "admission_control", "caches", "remote_store",
}  # fmt: skip


def info(
    node: VirtualNode, metrics: Collection[str] | None, told: Tree, processors: Collection[str], *, flat: bool, human: bool
) -> Tree:
    """What the node says of itself. ``told``: what a real one says of its engine; ``metrics`` None: all."""
    wanted = INFO_METRICS if metrics is None or "_all" in metrics else metrics
    out = node.header() | {"version": node.version.get("number", "")}
    out |= {key: told[key] for key in ENGINE if key in told}
    out |= {key: node.version[key] for key in ("build_flavor", "build_type", "build_hash") if key in node.version}
    if "indices" in wanted:
        out |= _buffer(node.product, human)
    out |= {"roles": list(node.roles), "attributes": {}}
    settings: Tree = {"cluster": {"name": node.cluster_name}, "node": {"name": node.id}}
    settings |= {} if node.product else {"client": {"type": "node"}}
    settings |= {"http": {"type": {"default": "netty4"}}, "transport": {"type": {"default": "netty4"}}}
    listed = [one for one in told.get("ingest", {}).get("processors", []) if one.get("type") in processors]
    parts: dict[str, Any] = {
        "settings": _flat(settings) if flat else settings,
        "os": {"refresh_interval_in_millis": 1000, "name": "Linux", "available_processors": 1, "allocated_processors": 1},
        "process": {"refresh_interval_in_millis": 1000, "id": 1, "mlockall": False},
        "jvm": {"pid": 1, "start_time_in_millis": 0, "gc_collectors": [], "memory_pools": [], "input_arguments": []},
        "thread_pool": {},
        "transport": {"bound_address": [TRANSPORT], "publish_address": TRANSPORT, "profiles": {}},
        "http": {"bound_address": [node.http], "publish_address": node.http, "max_content_length_in_bytes": 100 << 20},
        "plugins": [],
        "ingest": {"processors": listed},
        "aggregations": told.get("aggregations", {}),
    }
    out |= {key: value for key, value in parts.items() if key in wanted}
    if "plugins" in wanted:
        out["modules"] = []
    return out


def _buffer(product: bool, human: bool) -> Tree:
    if product:
        return {"total_indexing_buffer": "0b" if human else 0} | ({"total_indexing_buffer_in_bytes": 0} if human else {})
    return ({"total_indexing_buffer": "0b"} if human else {}) | {"total_indexing_buffer_in_bytes": 0}


def _flat(tree: Tree, path: str = "") -> Tree:
    out: Tree = {}
    for key, value in tree.items():
        out |= _flat(value, f"{path}{key}.") if isinstance(value, dict) else {path + key: value}
    return out


def check_metrics(wanted: Collection[str], known: Collection[str], path: str) -> None:
    """Raises Refusal, as nodes do, for a metric that there is not."""
    strange = sorted(set(wanted) - set(known) - {"_all"})
    if strange:
        words = "unrecognized metrics" if len(strange) > 1 else "unrecognized metric"
        raise Refusal(f"request [{path}] contains {words}: {', '.join(f'[{one}]' for one in strange)}")


def blank(value: Any) -> Any:
    """The shape of figures without the figures; texts and lists tell of the machine."""
    if isinstance(value, dict):
        shapes = {key: blank(inner) for key, inner in value.items()}
        return {key: shape for key, shape in shapes.items() if shape is not None}
    if isinstance(value, bool):
        return False
    return 0 if isinstance(value, int | float) else None


def figures(node: VirtualNode, metrics: Collection[str], told: Tree, indices: Tree | None, now: int) -> Tree:
    """``told``: what a real node measures; ``indices``: the figures of the tenant's own; ``now``: in milliseconds."""
    out = {"timestamp": now, **node.header(), "ip": TRANSPORT, "roles": list(node.roles), "attributes": {}}
    if indices is not None:
        out["indices"] = indices
    for metric, key in SHAPES.items():
        if metric in metrics and isinstance(told.get(key), dict):
            part = told[key]
            out[key] = blank({k: v for k, v in part.items() if not isinstance(v, dict)} if metric in FLAT else part)
    zero = dict.fromkeys(("count", "time_in_millis", "current", "failed"), 0)
    rest: Tree = {"discovery": {}, "ingest": {"total": zero, "pipelines": {}}, "adaptive_selection": {}}
    return out | {key: value for key, value in rest.items() if key in metrics}


USAGE_METRICS = ("rest_actions", "aggregations")


def cluster_info(node: VirtualNode, told: Tree) -> Tree:
    """What nodes say of themselves all together."""
    out: Tree = {"cluster_name": node.cluster_name}
    for target, part in told.items():
        if target == "ingest":
            out[target] = {"total": blank(part["total"]), "pipelines": {}}
        elif target != "cluster_name":
            out[target] = blank({k: v for k, v in part.items() if not isinstance(v, dict)} if target in FLAT else part)
    return out


# --- _cluster/state ----------------------------------------------------------------------------------------

STATE_METRICS = (
    "version", "master_node", "cluster_manager_node", "blocks", "nodes", "metadata", "routing_table", "routing_nodes",
)  # fmt: skip
ASKED = {"metadata": "metadata", "routing_table": "routing_table", "routing_nodes": "routing_table", "blocks": "blocks",
         "version": "metadata"}  # fmt: skip
PLAIN = (
    "version", "mapping_version", "settings_version", "aliases_version", "routing_num_shards", "state",
    "primary_terms", "primary_terms_map", "in_sync_allocations", "mappings_updated_version", "system", "timestamp_range",
    "event_ingested_range",
)  # fmt: skip
OF_SHARD = ("state", "primary", "searchOnly", "shard", "allocation_id", "recovery_source", "relocation_failure_info", "role")
UNASSIGNED = ("reason", "at", "delayed", "allocation_status", "failed_allocation_attempts")


def state(node: VirtualNode, uuid: str, metrics: Collection[str], told: Tree, own: Own) -> Tree:
    """``told``: the node's state, asked for the tenant's indices, with templates as the tenant knows them."""
    wanted = set(STATE_METRICS) if "_all" in metrics else set(metrics)
    if node.product:
        wanted.discard("cluster_manager_node")
    indices = own.indices(told.get("metadata", {}).get("indices", {}))
    shards = {own.name(name): own.shards(one) for name, one in told.get("routing_table", {}).get("indices", {}).items()}
    head: Tree = {"cluster_name": node.cluster_name, "cluster_uuid": uuid}
    if "version" in wanted:
        head["version"] = 1 + sum(int(one.get("version", 0)) for one in indices.values())
        head["state_uuid"] = _digest((uuid, indices, shards))
    for metric in ("master_node", "cluster_manager_node"):
        if metric in wanted:
            head[metric] = node.id
    every = [copy for index in shards.values() for copies in index["shards"].values() for copy in copies]
    blocks = told.get("blocks", {}).get("indices", {})
    blocked = {own.name(name): one for name, one in blocks.items() if own.is_own(name)}
    voters = [node.id]
    parts: Tree = {
        "blocks": {"indices": blocked} if blocked else {},
        "nodes": {node.id: {"name": node.id, "ephemeral_id": _digest(node.id), "transport_address": TRANSPORT, "attributes": {}}},
        "metadata": {
            "cluster_uuid": uuid,
            "cluster_uuid_committed": True,
            "cluster_coordination": {
                "term": 1, "last_committed_config": voters, "last_accepted_config": voters, "voting_config_exclusions": [],
            },
            "templates": told.get("metadata", {}).get("templates", {}),
            "indices": indices,
            "index-graveyard": {"tombstones": []},
        },
        "routing_table": {"indices": shards},
        "routing_nodes": {
            "unassigned": [copy for copy in every if copy["node"] is None],
            "nodes": {node.id: [copy for copy in every if copy["node"] is not None]},
        },
    }  # fmt: skip
    return head | {key: value for key, value in parts.items() if key in wanted}


class Own:
    """What is the tenant's own in a cluster's state. ``name`` and ``under`` raise Violation for what is not; ``under`` restores
    an answer as that of the endpoint."""

    def __init__(self, prefix: str, node: VirtualNode, name: Name, under: Callable[[str, Tree], Tree]) -> None:
        self.prefix = prefix
        self.node = node
        self.name = name
        self.under = under

    def is_own(self, name: str) -> bool:
        return name.startswith(self.prefix)

    def indices(self, told: Tree) -> Tree:
        shown = {
            name: {"mappings": one.get("mappings", {}).get("_doc", {}), "settings": one.get("settings", {})}
            for name, one in told.items()
        }
        restored = self.under("indices.get", shown)
        return {self.name(name): self._index(one, restored[self.name(name)]) for name, one in told.items()}

    def _index(self, told: Tree, restored: Tree) -> Tree:
        out = {key: told[key] for key in PLAIN if key in told}
        out["settings"] = restored["settings"]
        out["mappings"] = {"_doc": restored["mappings"]} if told.get("mappings") else {}
        out["aliases"] = [self.name(alias) for alias in told.get("aliases", ())]
        out["rollover_info"] = {self.name(alias): one for alias, one in told.get("rollover_info", {}).items()}
        return out

    def shards(self, told: Tree) -> Tree:
        return {"shards": {number: [self._copy(one) for one in copies] for number, copies in told.get("shards", {}).items()}}

    def _copy(self, told: Tree) -> Tree:
        out = {key: told[key] for key in OF_SHARD if key in told}
        for key in ("node", "relocating_node"):
            out[key] = None if told.get(key) is None else self.node.id
        out["index"] = self.name(told["index"])
        if "unassigned_info" in told:
            out["unassigned_info"] = {key: value for key, value in told["unassigned_info"].items() if key in UNASSIGNED}
        if isinstance(out.get("recovery_source"), dict):
            out["recovery_source"] = {"type": out["recovery_source"].get("type")}
        return out


def _digest(value: Any) -> str:
    return hashlib.blake2b(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS), digest_size=11).hexdigest()


# --- what Elasticsearch's commercial part says of itself -----------------------------------------------------

# Of a license, what is the same for every cluster that has the basic one.
_LICENSE = ("issue_date", "issue_date_in_millis", "max_nodes", "max_resource_units", "start_date_in_millis")


def license(told: Tree, node: VirtualNode, uuid: str) -> Tree:
    """Basic, whatever the operator has bought: no more than that is to be had through the proxy."""
    out = {"status": told["status"], "uid": uuid, "type": "basic"} | {key: told[key] for key in _LICENSE if key in told}
    return out | {"issued_to": node.cluster_name, "issuer": "elasticsearch"}


def xpack(told: Tree, uuid: str) -> Tree:
    """``told`` has the parts that were asked for."""
    out: Tree = {"build": told["build"]} if "build" in told else {}
    if told.get("license"):
        out["license"] = {"uid": uuid, "type": "basic", "mode": "basic", "status": told["license"].get("status")}
    if "features" in told:
        out["features"] = nothing_of(told["features"])
    return out | {key: told[key] for key in ("tagline",) if key in told}


def nothing_of(features: Iterable[str]) -> Tree:
    return {name: {"available": False, "enabled": False} for name in features}


def user(tenant: str) -> Tree:
    """Who a tenant is, in a cluster of its own: whoever the proxy has let in."""
    realm = {"name": "esproxy", "type": "esproxy"}
    out = {"username": tenant, "roles": [], "full_name": None, "email": None, "metadata": {}, "enabled": True}
    return out | {"authentication_realm": realm, "lookup_realm": realm, "authentication_type": "realm"}


# --- _cluster/stats ----------------------------------------------------------------------------------------

INDICES = ("docs", "store", "fielddata", "query_cache", "completion", "segments")


def cluster_stats(node: VirtualNode, uuid: str, here: bool, told: Tree, health: Tree, mappings: Iterable[Tree], now: int) -> Tree:
    """``told``: ``_stats`` of the tenant's indices; ``health``: of them; ``mappings``: each index's."""
    total = told.get("_all", {}).get("total", {})
    roles = dict.fromkeys((*node.roles, "master"), int(here))
    packaging = {key: node.version.get(f"build_{key}") for key in ("flavor", "type") if f"build_{key}" in node.version}
    nodes = {
        "count": {"total": int(here), "coordinating_only": 0, **roles},
        "versions": [node.version.get("number", "")],
        "os": {"available_processors": 1, "allocated_processors": 1, "names": [{"name": "Linux", "count": 1}],
               "mem": dict.fromkeys(("total_in_bytes", "free_in_bytes", "used_in_bytes", "free_percent", "used_percent"), 0)},
        "process": {"cpu": {"percent": 0}, "open_file_descriptors": {"min": 0, "max": 0, "avg": 0}},
        "jvm": {"max_uptime_in_millis": 0, "versions": [], "mem": dict.fromkeys(("heap_used_in_bytes", "heap_max_in_bytes"), 0),
                "threads": 0},
        "fs": dict.fromkeys(("total_in_bytes", "free_in_bytes", "available_in_bytes"), 0),
        "plugins": [],
        "network_types": {"transport_types": {"netty4": 1}, "http_types": {"netty4": 1}},
        "discovery_types": {"single-node": 1},
        "packaging_types": [{**packaging, "count": 1}],
    }  # fmt: skip
    return {
        "_nodes": {"total": int(here), "successful": int(here), "failed": 0},
        "cluster_name": node.cluster_name,
        "cluster_uuid": uuid,
        "timestamp": now,
        "status": health.get("status", "green"),
        "indices": {
            "count": len(told.get("indices", {})),
            "shards": _shards(told.get("indices", {}), health),
            **{key: total.get(key, _EMPTY[key]) for key in INDICES},
            "mappings": {"field_types": _field_types(mappings)},
        },
        "nodes": nodes,
    }


_EMPTY: dict[str, Tree] = {
    "docs": {"count": 0, "deleted": 0},
    "store": {"size_in_bytes": 0},
    "fielddata": {"memory_size_in_bytes": 0, "evictions": 0},
    "query_cache": {"memory_size_in_bytes": 0, "total_count": 0, "hit_count": 0, "miss_count": 0, "evictions": 0},
    "completion": {"size_in_bytes": 0},
    "segments": {"count": 0, "memory_in_bytes": 0},
}


def _shards(indices: Tree, health: Tree) -> Tree:
    active, primaries = health.get("active_shards", 0), health.get("active_primary_shards", 0)
    if not indices or not primaries:
        return {}
    return {"total": active, "primaries": primaries, "replication": (active - primaries) / primaries}


def _field_types(mappings: Iterable[Tree]) -> list[Tree]:
    fields: Counter[str] = Counter()
    indices: Counter[str] = Counter()
    for mapping in mappings:
        types = Counter(_types(mapping.get("properties", {})))
        fields.update(types)
        indices.update(types.keys())
    return [{"name": name, "count": fields[name], "index_count": indices[name]} for name in sorted(fields)]


def _types(properties: Tree) -> Iterable[str]:
    for definition in properties.values():
        yield definition.get("type", "object")
        yield from _types(definition.get("properties", {}))
        yield from _types(definition.get("fields", {}))
