"""Index settings: which a tenant may set, and the names that stand in them.

Settings come dotted or nested, with or without ``index.`` in front, and mixtures of these; so a settings object is walked
as a tree and each leaf judged by its whole dotted name. The list is an allow-list by prefix. What is missing from
it reaches outside the tenant (allocation to nodes, remote stores, files of a node) or is not a setting: both are answered as a
node answers an unknown setting. Names of pipelines in values get the tenant's prefix.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from esproxy.errors import Refusal

# A name ending in a dot allows everything below it.
ALLOWED = (
    "allocation.max_retries",
    "analysis.",
    "analyze.",
    "append_only.enabled",
    "auto_expand_replicas",
    "blocks.",
    "bloom_filter_for_id_field.enabled",
    "codec",
    "composite_index.",
    "default_pipeline",
    "derived_field.",
    "dense_vector.",
    "fast_refresh",
    "final_pipeline",
    "flush_after_merge",
    "format",
    "gc_deletes",
    "hidden",
    "highlight.",
    "indexing.slowlog.",
    "knn",
    "knn.",
    "load_fixed_bitset_filters_eagerly",
    "mapper.dynamic",
    "mapping.",
    "max_",
    "merge.",
    "mode",
    "number_of_replicas",
    "number_of_routing_shards",
    "number_of_shards",
    "optimize_auto_generated_id",
    "optimize_doc_id_lookup.",
    "priority",
    "queries.cache.enabled",
    "query.default_field",
    "query.",
    "query_string.lenient",
    "recovery.type",
    "refresh_interval",
    "replication.type",
    "requests.cache.enable",
    "routing.rebalance.enable",
    "routing.allocation.total_shards_per_node",
    "routing_partition_size",
    "routing_path",
    "search.",
    "shard.check_on_startup",
    "similarity.",
    "soft_deletes.",
    "sort.",
    "store.type",
    "store.preload",
    "store.stats_refresh_interval",
    "time_series.",
    "translog.",
    "unassigned.node_left.delayed_timeout",
    "use_compound_file",
    "warmer.enabled",
    "write.wait_for_active_shards",
)
OPEN = tuple(name for name in ALLOWED if name.endswith((".", "_")))
EXACT = frozenset(ALLOWED) - frozenset(OPEN)
PIPELINES = frozenset({"default_pipeline", "final_pipeline", "search.default_pipeline"})
INDICES = frozenset({"provided_name", "resize.source.name", "shrink.source.name"})
NODES = re.compile(r"routing\.allocation\.\w+\._(id|name|ip|host|publish_ip|host_ip)")  # whose value tells of machines
TO_NODE = re.compile(r"routing\.allocation\.(include|require)\._(id|name)")
# The node that is meant, by its id or its name, is any for the cluster, which compares ids letter by letter, but takes patterns
# for names. The spelling keeps which it was.
ANY_NODE = {"_id": "*", "_name": "**"}
MEANT_BY = {pattern: key for key, pattern in ANY_NODE.items()}
Name = Callable[[str], str]
NODE_FILES = ("_path", "synonyms_set", "user_dictionary")  # leaves below analysis. that read a node's files or a cluster-wide set
DICTIONARIES = ("locale", "language", "lang")  # leaves whose value can be the name of a folder in a node's configuration


class UnknownSetting(Refusal):
    """``settings``: all that the client has given, as it wrote them."""

    def __init__(self, name: str) -> None:
        words = "plugins are installed, or check the breaking changes documentation for removed settings"
        super().__init__(f"unknown setting [{name}] please check that any required {words}")
        self.name = name
        self.settings: dict[str, Any] = {}


def rewrite_settings(tree: dict[str, Any], pipeline: Name, node: str | None = None) -> dict[str, Any]:
    """The settings to send for those that a client wrote. Raises Refusal for one it may not set.

    ``pipeline`` maps a pipeline's name. ``node``: the id, and name, of the tenant's one node, to which it may allocate an index;
    to the cluster that says any. What stands in an object ``settings`` is taken by nodes as if it stood beside it.
    """
    inner = tree.get("settings")
    try:
        if isinstance(inner, dict):
            tree = {key: value for key, value in tree.items() if key != "settings"}
            return _walk(tree, "", pipeline, node) | {"settings": _walk(inner, "", pipeline, node)}
        return _walk(tree, "", pipeline, node)
    except UnknownSetting as error:
        error.settings = tree | inner if isinstance(inner, dict) else tree
        raise


def restore_settings(tree: Any, index: Name, pipeline: Name, node: Name) -> Any:
    """Settings of an answer with the names in them restored; ``index`` and ``pipeline`` map names back, ``node`` masks one."""
    if not isinstance(tree, dict):
        return tree
    return _restore(tree, "", index, pipeline, node)


def refuse_files(tree: Any) -> None:
    """Raises Refusal where an analysis, at any depth, would read a file of a node or a set of the whole cluster."""
    if isinstance(tree, list):
        for item in tree:
            refuse_files(item)
    elif isinstance(tree, dict):
        for key, value in tree.items():
            if key.endswith(NODE_FILES):
                raise Refusal(f"unknown setting [{key}]: an analysis cannot read files of a node")
            _check_dictionary(key, value)
            refuse_files(value)


def _check_dictionary(name: str, value: Any) -> None:
    """Raises Refusal for a path in the place of a dictionary's name: OpenSearch 2 goes where it leads."""
    text = str(value)
    if name.rpartition(".")[2] in DICTIONARIES and (text.startswith(".") or not {"/", "\\"}.isdisjoint(text)):
        raise Refusal(f"Invalid value [{text}] for [{name}]: a dictionary has a name, and is no path")


def says_hidden(tree: dict[str, Any]) -> bool:
    """Do these settings of an index declare it hidden, nested or dotted, with or without ``index.`` in front?"""
    inner = tree.get("index")
    values = (tree.get("hidden"), tree.get("index.hidden"), inner.get("hidden") if isinstance(inner, dict) else None)
    return any(str(value).lower() == "true" for value in values)


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _bare(name: str) -> str:
    return name.removeprefix("index.")


def _walk(tree: dict[str, Any], path: str, pipeline: Name, node: str | None) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in tree.items():
        name = _join(path, key)
        if isinstance(value, dict):
            out[key] = _walk(value, name, pipeline, node)
            continue
        bare = _bare(name)
        if node is not None and TO_NODE.fullmatch(bare) and value in (node, "", None):
            leaf = name.rpartition(".")[2]
            out[key.removesuffix(leaf) + "_name"] = value and ANY_NODE[leaf]
            if not value:
                out[key] = value  # taken back, which a node shows of what is made with it
            continue
        if not _allowed(bare):
            raise UnknownSetting(name if name.startswith("index.") else "index." + name)
        if bare.startswith("analysis."):
            _check_dictionary(name, value)
        out[key] = pipeline(value) if bare in PIPELINES and isinstance(value, str) else value
    return out


def _allowed(bare: str) -> bool:
    if bare.startswith("analysis.") and bare.endswith(NODE_FILES):
        return False
    return bare in EXACT or bare.startswith(OPEN)


def _restore(tree: dict[str, Any], path: str, index: Name, pipeline: Name, node: Name) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in tree.items():
        name = _join(path, key)
        if isinstance(value, dict):
            value = _restore(value, name, index, pipeline, node)
        elif isinstance(value, str):
            bare = _bare(name)
            if bare in INDICES:
                value = index(value)
            elif TO_NODE.fullmatch(bare) and value in MEANT_BY:
                key, value = key.removesuffix("_name") + MEANT_BY[value], node(value)
            elif NODES.fullmatch(bare):
                value = ",".join(node(one) for one in value.split(","))
            elif bare in PIPELINES:
                value = pipeline(value)
        out[key] = value
    for key in [key for key in out if key.endswith("_name") and out[key] in ("", None)]:  # beside an id that was taken back
        if TO_NODE.fullmatch(_bare(_join(path, key))) and out.get(key.removesuffix("_name") + "_id", key) in ("", None):
            del out[key]
    return out
