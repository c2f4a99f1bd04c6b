"""What OpenSearch spells differently, laid over Elasticsearch's definitions by hand.

OpenSearch's own specification knows too little for a rule table (25 of 413 dictionaries say that their keys are fields,
aggregations are opaque), while Elasticsearch's fits OpenSearch's bodies but for what is here: queries and body keys that only
OpenSearch has, those of Elasticsearch's that it spells differently or lacks, points in time, parameters. Checked with
OpenSearch's official suite.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from esproxy.api import endpoints as base
from esproxy.api import search_pipelines
from esproxy.api.kinds import Kind
from esproxy.api.patch import Also, Ensure, Gone, Is, Member, New, Noted, QueryRoot, Row
from esproxy.api.schema import ANY, SCALAR, Dict, EndpointDef, Leaf, Ref, Schema, Union
from esproxy.api.words import AGG, CURSOR, DSL, FIELD, QUERY, SEARCH, SHARDS

_REQUEST, _BODY = "_global.search:Request", SEARCH + "SearchRequestBody"
_OWN = "OpenSearch only"
_UNSEEN = "an agentic query is made by a model, so it cannot be read here"


def _scalars(*names: str) -> dict[str, Leaf]:
    return dict.fromkeys(names, SCALAR)


def _named(*names: str) -> dict[str, Leaf]:
    return _scalars("boost", "_name", *names)


QUERIES: list[Row] = [
    Gone(
        DSL + "QueryContainer",
        ("knn", "kql", "pinned", "rule", "semantic", "sparse_vector", "text_expansion", "weighted_tokens"),
        "Elasticsearch only, or of another shape",
    ),
    New(
        "esproxy:KnnField",
        {
            "filter": QUERY,
            "method_parameters": ANY,
            "rescore": ANY,
            **_named("vector", "k", "max_distance", "min_score", "expand_nested_docs", "model_id"),
        },
        "k-NN's query is keyed by the field",
    ),
    QueryRoot("esproxy:KnnField", "filter", "nearest neighbours are found before the query around it filters them"),
    Ensure("esproxy:KnnField", ("filter",), "no filter is every document"),
    New(
        "esproxy:NeuralField",
        {
            "filter": QUERY,
            "query_tokens": ANY,
            "method_parameters": ANY,
            "rescore": ANY,
            **_named(
                "query_text",
                "query_image",
                "model_id",
                "k",
                "max_distance",
                "min_score",
                "expand_nested_docs",
                "analyzer",
                "max_token_score",
            ),
        },
        "a k-NN query whose vector a model makes",
    ),
    QueryRoot("esproxy:NeuralField", "filter", "nearest neighbours are found before the query around it filters them"),
    Ensure("esproxy:NeuralField", ("filter",), "no filter is every document"),
    New(
        "esproxy:HybridQuery",
        {"queries": QUERY, "filter": QUERY, "pagination_depth": SCALAR, **_named()},
        "several queries whose scores are combined",
    ),
    New(
        "esproxy:SltrQuery",
        {"params": ANY, **_named("model", "store", "featureset", "active_features", "cache")},
        "learning to rank",
    ),
    New(
        "esproxy:Derived",
        {
            "script": Ref("_types:Script"),
            "properties": Ref("esproxy:DerivedFields"),
            **_scalars("type", "format", "ignore_malformed"),
            "prefilter_field": FIELD,
        },
        "a field made at query time",
    ),
    New("esproxy:DerivedFields", {}, "fields made at query time", other=Dict(FIELD, Ref("esproxy:Derived"))),
    Noted("esproxy:Derived", "RUNTIME", "makes fields that shadow others"),
    Also(
        DSL + "QueryContainer",
        {
            "knn": Dict(FIELD, Ref("esproxy:KnnField")),
            "neural": Dict(FIELD, Ref("esproxy:NeuralField")),
            "neural_sparse": Dict(FIELD, Ref("esproxy:NeuralField")),
            "hybrid": Ref("esproxy:HybridQuery"),
            "sltr": Ref("esproxy:SltrQuery"),
            "template": QUERY,
            "xy_shape": Ref(DSL + "ShapeQuery"),
            "agentic": Leaf(Kind.REFUSE, _UNSEEN),
        },
        _OWN,
    ),
    *(
        Also(DSL + name, {"_name": SCALAR}, "functions have names")
        for name in ("RandomScoreFunction", "FieldValueFactorScoreFunction", "ScriptScoreFunction", "DecayFunctionBase")
    ),
    Also(
        DSL + "SimpleQueryStringQuery", _scalars("locale", "all_fields", "lowercase_expanded_terms"), "removed from Elasticsearch"
    ),
    New("esproxy:MinimumOfCommonTerms", _scalars("low_freq", "high_freq"), "how many of the rare and of the frequent terms"),
    Is(
        DSL + "CommonTermsQuery",
        "minimum_should_match",
        Union((SCALAR, Ref("esproxy:MinimumOfCommonTerms"))),
        "removed from Elasticsearch, where it was one number",
    ),
    Also(DSL + "TermsQuery", {"value_type": SCALAR}, "a bitmap of numbers"),
    Also(DSL + "TermsLookup", {"store": SCALAR, "query": QUERY}, "a stored field; terms from the hits of a query"),
    QueryRoot(DSL + "TermsLookup", "query", "selects the documents whose values are looked up"),
    *(Also(DSL + name, {"mode": SCALAR}, "how intervals are ordered") for name in ("IntervalsAllOf", "IntervalsMatch")),
    Also(
        DSL + "IntervalsRegexp",
        {"case_insensitive": SCALAR, "max_expansions": SCALAR, "flags": SCALAR, "flags_value": SCALAR},
        _OWN,
    ),
    Also(DSL + "IntervalsWildcard", {"max_expansions": SCALAR}, _OWN),
]

_SORTS = ("_types:FieldSort", "_types:GeoDistanceSort", "_types:ScriptSort")
BODIES: list[Row] = [
    *(Gone(type_, ("knn", "rank", "retriever", "sub_searches"), "Elasticsearch only") for type_ in (_REQUEST, _BODY)),
    *(
        Also(
            type_,
            {
                "derived": Ref("esproxy:DerivedFields"),
                "verbose_pipeline": SCALAR,
                "include_named_queries_score": SCALAR,
            },
            _OWN,
        )
        for type_ in (_REQUEST, _BODY)
    ),
    *(Ensure(type_, ("query",), "no query is every document") for type_ in (_REQUEST, _BODY)),
    Also(SEARCH + "HighlightBase", {"max_analyzer_offset": SCALAR, "max_analyzed_offset_field": SCALAR}, "an older name"),
    Also(AGG + "MultiTermLookup", _scalars("include", "exclude"), _OWN),
    Also(AGG + "AdjacencyMatrixAggregation", {"show_only_intersecting": SCALAR}, _OWN),
    Also(AGG + "CompositeDateHistogramAggregation", {"interval": SCALAR}, "removed from Elasticsearch"),
    Also("indices.put_alias:Request", {"is_hidden": SCALAR}, _OWN),
    # sorts
    *(Also(type_, {"nested_path": FIELD, "nested_filter": QUERY}, "what was there before [nested]") for type_ in _SORTS),
    Also("_global.msearch:MultisearchHeader", {"cancel_after_time_interval": SCALAR}, _OWN),
    # mappings
    Also("_types.mapping:TypeMapping", {"derived": Ref("esproxy:DerivedFields"), "composite": ANY}, _OWN),
    Also("indices.put_mapping:Request", {"derived": Ref("esproxy:DerivedFields")}, _OWN),
    New(
        "esproxy:VectorProperty",
        {
            "method": ANY,
            "meta": ANY,
            **_scalars(
                "type",
                "dimension",
                "space_type",
                "mode",
                "compression_level",
                "data_type",
                "model_id",
                "doc_values",
                "store",
                "index",
                "engine",
            ),
        },
        "a field of the k-NN plug-in",
    ),
    Member("_types.mapping:Property", Ref("esproxy:VectorProperty"), "a field of the k-NN plug-in"),
    # aggregates
    New("esproxy:UnsignedLongTerms", {}, _OWN, parent=Ref(AGG + "LongTermsAggregate"), tag="ulterms"),
    Member(AGG + "Aggregate", Ref("esproxy:UnsignedLongTerms"), _OWN),
]

NOT_HERE = frozenset(
    ("open_point_in_time", "close_point_in_time", "indices.remove_block", "terms_enum",
     "cluster.info", "license.get", "xpack.info", "xpack.usage", "security.authenticate", "cat.circuit_breaker",
     "cat.component_templates")
)  # fmt: skip
ENDPOINTS = (
    *(name for name in base.ENDPOINTS if name not in NOT_HERE),
    "create_pit",
    "delete_pit",
    "get_all_pits",
    "delete_all_pits",
    "indices.upgrade",
    "indices.get_upgrade",
    "cat.cluster_manager",
    "cat.segment_replication",
    *search_pipelines.ENDPOINTS,
)

NO_PARAMETERS = frozenset(("_source_exclude_vectors",))  # that Elasticsearch alone has
_MANAGER = ("cluster_manager_timeout",)
_PIPELINES = {"search_pipeline": Kind.SEARCH_PIPELINE} | dict.fromkeys(
    ("cancel_after_time_interval", "phase_took", "verbose_pipeline"), Kind.COPY
)
_EXTRA: dict[str, Mapping[str, Kind]] = {
    "bulk": {"batch_size": Kind.COPY},  # 2.x
    "cat.shards": dict.fromkeys(("cancel_after_time_interval", *_MANAGER, "local", "timeout"), Kind.COPY),
    "cat.segments": dict.fromkeys((*_MANAGER, "timeout"), Kind.COPY),
    "cat.aliases": {"timeout": Kind.COPY},
    "cat.recovery": {"timeout": Kind.COPY},
    "cat.segment_replication": dict.fromkeys(
        ("active_only", "completed_only", "detailed", "shards", "timeout", "ignore_unavailable", "allow_no_indices"), Kind.COPY
    ),
    "cat.templates": {"timeout": Kind.COPY},
    **dict.fromkeys(
        ("indices.shrink", "indices.split", "indices.clone"),
        dict.fromkeys(("copy_settings", "task_execution_timeout", "wait_for_completion"), Kind.COPY),
    ),
    "indices.open": dict.fromkeys(("task_execution_timeout", "wait_for_completion"), Kind.COPY),
    "indices.stats": {"timeout": Kind.COPY},
    "indices.forcemerge": {"primary_only": Kind.COPY},
    "indices.clear_cache": {"file": Kind.COPY},
    "cluster.health": dict.fromkeys(("awareness_attribute", "ensure_node_weighed_in"), Kind.COPY),
    "delete_by_query": _PIPELINES,
    "msearch": {"cancel_after_time_interval": Kind.COPY},
    "search": _PIPELINES,
    "update_by_query": _PIPELINES,
}


def extra(name: str, known: Mapping[str, Kind]) -> Mapping[str, Kind]:
    """Parameters beside the known ones: OpenSearch calls a master a cluster manager, and takes both."""
    manager = dict.fromkeys(_MANAGER, Kind.COPY) if "master_timeout" in known else {}
    return manager | _EXTRA.get(name, {})


def endpoints(schema: Schema) -> None:
    """Add OpenSearch's own endpoints to the definitions."""
    common = dict.fromkeys(("error_trace", "filter_path", "human", "pretty"), SCALAR)
    options = _scalars(
        "allow_no_indices", "allow_partial_pit_creation", "expand_wildcards", "ignore_unavailable", "keep_alive", "preference"
    )
    schema.endpoints["create_pit"] = EndpointDef(
        "create_pit",
        [(("POST",), "/{index}/_search/point_in_time")],
        {"index": Ref("_types:Indices")},
        {**common, **options, "routing": Ref("_types:Routing")},
        None,
        False,
        Ref("esproxy:CreatedPit"),
    )
    schema.endpoints["delete_pit"] = EndpointDef(
        "delete_pit",
        [(("DELETE",), "/_search/point_in_time")],
        {},
        dict(common),
        Ref("esproxy:DeletePits"),
        True,
        Ref("esproxy:DeletedPits"),
    )

    for name, method, response in (("get_all_pits", "GET", "GotPits"), ("delete_all_pits", "DELETE", "DeletedPits")):
        url = ((method,), "/_search/point_in_time/_all")
        schema.endpoints[name] = EndpointDef(name, [url], {}, dict(common), None, False, Ref(f"esproxy:{response}"))

    table = schema.endpoints["cat.count"]
    table.urls = [(tuple(method for method in methods if method != "POST"), path) for methods, path in table.urls]
    search_pipelines.endpoints(schema)
    older = schema.endpoints["cat.master"]
    newer = replace(older, name="cat.cluster_manager", urls=[(("GET",), "/_cat/cluster_manager")])
    schema.endpoints["cat.cluster_manager"] = newer
    schema.endpoints["cat.segment_replication"] = replace(
        schema.endpoints["cat.segments"],
        name="cat.segment_replication",
        urls=[(("GET",), "/_cat/segment_replication"), (("GET",), "/_cat/segment_replication/{index}")],
    )
    schema.endpoints["search_shards"].request = Ref(_REQUEST)  # read for its slice; Elasticsearch takes no body there
    for name, method, response in (("upgrade", "POST", "Upgraded"), ("get_upgrade", "GET", "UpgradeStatus")):
        schema.endpoints[f"indices.{name}"] = EndpointDef(
            f"indices.{name}",
            [((method,), "/_upgrade"), ((method,), "/{index}/_upgrade")],
            {"index": Ref("_types:Indices")},
            {
                **common,
                **_scalars("allow_no_indices", "expand_wildcards", "ignore_unavailable", "wait_for_completion"),
                **_scalars("only_ancient_segments"),
            },
            None,
            False,
            Ref(f"esproxy:{response}"),
        )


_SIZES = _scalars(*(f"size{what}_in_bytes" for what in ("", "_to_upgrade", "_to_upgrade_ancient")), "size", "size_to_upgrade")
UPGRADES: list[Row] = [
    New("esproxy:Upgraded", {"_shards": SHARDS, "upgraded_indices": Dict(Leaf(Kind.INDEX), ANY)}, _OWN),
    New("esproxy:UpgradeStatus", {**_SIZES, "indices": Dict(Leaf(Kind.INDEX), ANY)}, _OWN),
]

TASKS: list[Row] = [
    *(
        Also(f"indices.{name}:Response", {"task": Leaf(Kind.TASK)}, "where it was not waited for")
        for name in ("open", "shrink", "split", "clone")
    ),
]

PITS: list[Row] = [
    New("esproxy:CreatedPit", {"pit_id": CURSOR, "_shards": SHARDS, "creation_time": SCALAR}, _OWN),
    New("esproxy:DeletePits", {"pit_id": CURSOR}, _OWN),
    New("esproxy:DeletedPit", {"pit_id": CURSOR, "successful": SCALAR}, _OWN),
    New("esproxy:GotPit", {"pit_id": CURSOR}, _OWN),
    New("esproxy:GotPits", {"pits": Ref("esproxy:GotPit")}, _OWN),
    New("esproxy:DeletedPits", {"pits": Ref("esproxy:DeletedPit")}, _OWN),
]

ROWS: list[Row] = [*QUERIES, *BODIES, *TASKS, *PITS, *UPGRADES, *search_pipelines.ROWS]
