"""Corrections for what administers indices: verdicts, and where answers tell of the machines.

Rows as in ``overrides``, of which these are a part. A tenant's cluster has nodes, but which machines they are, where those
listen and what paths they write to is the operator's: ids and names of nodes are of kind ``NODE``, addresses ``ADDRESS``, and
what a node says beside them is ``HIDDEN``.
"""

from __future__ import annotations

from esproxy.api.kinds import Kind
from esproxy.api.patch import Alias, Also, Is, Keys, Row
from esproxy.api.schema import ANY, SCALAR, Dict, Leaf, Ref, Union
from esproxy.api.words import ADDRESS, DOC, FIELD, HIDDEN, ID, INDEX, NODE, QUOTES, TEXT

_NODE = "a node, which is the operator's"
_MACHINE = "tells of a machine, which is the operator's"
_NO_NAME = "no name of a tenant's: what the node gave, or what a snapshot is called"
_ATTRIBUTES = Dict(HIDDEN, ANY)

MACHINES: list[Row] = [
    *(
        Is(type_, prop, NODE, _NODE)
        for type_, prop in (
            ("indices.recovery:RecoveryOrigin", "id"),
            ("indices.recovery:RecoveryOrigin", "name"),
            ("indices.segments:ShardSegmentRouting", "node"),
            ("indices.shard_stores:ShardStoreNode", "name"),
            ("indices.shard_stores:ShardStoreNode", "ephemeral_id"),
            ("indices.shard_stores:ShardStoreNode", "external_id"),
            ("indices.stats:ShardRouting", "node"),
            ("indices.stats:ShardRouting", "relocating_node"),
            ("indices.stats:ShardLease", "id"),
            ("_global.search_shards:SearchShardsNodeAttributes", "ephemeral_id"),
            ("_global.search_shards:SearchShardsNodeAttributes", "external_id"),
            ("_types:ShardFailure", "node"),
            ("_global.search._types:Hit", "_node"),
            ("_global.search._types:ShardProfile", "node_id"),
        )
    ),
    Is("indices.recovery:RecoveryOrigin", "hostname", ADDRESS, _MACHINE),
    Is("indices.recovery:RecoveryOrigin", "ip", ADDRESS, _MACHINE),
    *(
        Is(type_, "attributes", _ATTRIBUTES, _MACHINE)
        for type_ in ("indices.shard_stores:ShardStoreNode", "_global.search_shards:SearchShardsNodeAttributes")
    ),
    *(Is("indices.stats:ShardPath", prop, HIDDEN, _MACHINE) for prop in ("data_path", "state_path")),
    Is("cluster.allocation_explain:UnassignedInformation", "details", HIDDEN, "names nodes in free text"),
    *(
        Also(
            "indices.shard_stores:ShardStoreNode",
            dict.fromkeys((name,), SCALAR),
            "what Elasticsearch tells of a node beside its names",
        )
        for name in ("version", "min_index_version", "max_index_version")
    ),
]

_RESOLVED = "indices.resolve_index:ResolveIndex"
VERDICTS: list[Row] = [
    *(
        Is(_RESOLVED + type_, prop, term, "what an expression stands for")
        for type_, prop, term in (
            ("Item", "name", INDEX),
            ("Item", "aliases", Leaf(Kind.ALIAS)),
            ("AliasItem", "name", Leaf(Kind.ALIAS)),
        )
    ),
    *(
        Is(type_, prop, SCALAR, _NO_NAME)
        for type_, prop in (
            ("indices.recovery:RecoveryOrigin", "repository"),
            ("indices.recovery:RecoveryOrigin", "snapshot"),
            ("indices.shard_stores:ShardStore", "allocation_id"),
            ("indices.stats:ShardCommit", "id"),
        )
    ),
    *(
        Is(f"_global.get_script_context:{name}", "name", SCALAR, "what scripts can do is the engine's")
        for name in ("Context", "ContextMethod", "ContextMethodParam")
    ),
    Is("_types:NodeShard", "allocation_id", Dict(SCALAR, SCALAR), _NO_NAME),
    Is("_types:NodeShard", "recovery_source", Dict(SCALAR, SCALAR), _NO_NAME),
    Keys("_types:GlobalOrdinalsStats", "fields", Kind.FIELD, "keys are fields"),
    Keys("indices.stats:Response", "indices", Kind.INDEX, "keys are names of indices"),
    Keys("indices.segments:Response", "indices", Kind.INDEX, "keys are names of indices"),
    Is("_global.search_shards:ShardStoreIndex", "aliases", Leaf(Kind.ALIAS), "names of aliases"),
    *(
        Is(type_, prop, ID, "the id of a document")
        for type_, prop in (
            ("_global.mtermvectors:Request", "ids"),
            ("_global.mtermvectors:Operation", "_id"),
            ("_global.mtermvectors:TermVectorsResult", "_id"),
            ("_global.termvectors:Response", "_id"),
        )
    ),
    Is("_global.mtermvectors:Operation", "doc", DOC, "a document that is not in the index"),
    Is("indices.shard_stores:ShardStoreException", "reason", TEXT, QUOTES),
]

_DEFINITION = Union((SCALAR, ANY))  # which no rule table reads: what names files is refused behind the pass

SYNTAX: list[Row] = [
    *(
        Alias(f"_types.analysis:{name}", _DEFINITION, "analysis has parameters of its own, of plug-ins too, and none is a name")
        for name in ("Tokenizer", "TokenFilter", "CharFilter")
    ),
    *(
        Also(f"indices.{name}:Request", dict.fromkeys(("max_primary_shard_size", "max_shard_size"), SCALAR), "nodes read them")
        for name in ("shrink", "split", "clone")
    ),
    Also("_global.mtermvectors:Request", {"parameters": Ref("_global.mtermvectors:Operation")}, "what holds for each document"),
    Also("_global.mtermvectors:Operation", {"per_field_analyzer": Dict(FIELD, SCALAR)}, "as for one document"),
]

ROWS: list[Row] = [*MACHINES, *VERDICTS, *SYNTAX]
