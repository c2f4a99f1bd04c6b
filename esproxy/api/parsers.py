"""What the parsers of running nodes take and the definitions do not know, and what their answers say beside it.

Rows as in ``overrides``, of which these are a part. Each was found by a body that a node accepted (official suites, and every
key that a parser of the same family knows, tried on every object) or by an answer that held a name where the definitions
have nothing.
"""

from __future__ import annotations

from esproxy.api.patch import Alias, Also, Is, Member, New, Others, Row, Sole, Untagged
from esproxy.api.schema import ANY, SCALAR, Dict, Items, Ref, Root, Union, Var
from esproxy.api.words import (
    AGG,
    ALIAS,
    DSL,
    ERROR_CAUSE,
    EXPR,
    FIELD,
    GROUP,
    ID,
    INDEX,
    KQL,
    PIPELINE,
    QUERY,
    QUOTES,
    SEARCH,
    STORED_SCRIPT,
    TEXT,
    UNKNOWN,
)

# --- syntax that parsers take and the definitions do not know --------------------------------------------------


def _also(type_: str, *names: str, why: str = "found by trying it on running nodes") -> Also:
    return Also(type_, dict.fromkeys(names, SCALAR), why)


_KQL = {"query": KQL, "default_field": FIELD, **dict.fromkeys(("case_insensitive", "time_zone", "boost", "_name"), SCALAR)}

_VALUES = "one parser reads what all aggregations over values of fields have in common"
_SCRIPT = Ref("_types:Script")
_SUB_SEARCHES = {"sub_searches": Ref("esproxy:SubSearch")}
_SOURCE_OF_HITS = {
    "_source": Ref(SEARCH + "SourceConfig"),
    "fields": Ref(DSL + "FieldAndFormat"),
    "runtime_mappings": Ref("_types.mapping:RuntimeFields"),
}
_SCALARS_OF_SEARCH = dict.fromkeys(("size", "explain", "timeout"), SCALAR) | {"stats": GROUP}

SYNTAX: list[Row] = [
    # queries
    _also(DSL + "BoolQuery", "adjust_pure_negative", why="written by clients' query builders"),
    _also(DSL + "RangeQueryBase", "include_lower", "include_upper", why="what older nodes' own builders write, with from and to"),
    _also(DSL + "RegexpQuery", "flags_value"),
    New("esproxy:KqlQuery", _KQL, "kql is not in the definitions"),
    Also(
        DSL + "QueryContainer",
        {"kql": Ref("esproxy:KqlQuery"), "field_masking_span": Ref(DSL + "SpanFieldMaskingQuery")},
        "not in the definitions; the older name",
    ),
    Also(DSL + "SpanQuery", {"field_masking_span": Ref(DSL + "SpanFieldMaskingQuery")}, "the older name"),
    Also("_types:SpecifiedDocument", {"_index": INDEX, "_id": ID}, "the names that the node's own parser knows"),
    # aggregations
    _also(AGG + "MetricAggregationBase", "value_type", why=_VALUES),
    _also(AGG + "MultiTermLookup", "value_type", why=_VALUES),
    _also(AGG + "MatrixAggregation", "format", why=_VALUES),
    _also(AGG + "VariableWidthHistogramAggregation", "value_type", "format", "missing", why=_VALUES),
    Also(
        AGG + "BucketAggregationBase", {"script": _SCRIPT, **dict.fromkeys(("value_type", "format", "missing"), SCALAR)}, _VALUES
    ),
    _also(AGG + "IpRangeAggregationRange", "key"),
    _also(AGG + "PercentilesBucketAggregation", "keyed"),
    _also(AGG + "IpRangeAggregation", "keyed"),
    _also(AGG + "GeoDistanceAggregation", "keyed"),
    _also(AGG + "DerivativeAggregation", "unit"),
    # other parts of a search
    _also(SEARCH + "SuggestFuzziness", "max_determinized_states"),
    _also("_types.mapping:RuntimeField", "on_script_error"),
    Also("_types.mapping:RuntimeField", {"meta": ANY}, "found by trying it on running nodes"),
    Is("_types:SortOptions", "_doc", Ref("_types:FieldSort"), "takes what a sort by field takes"),
    New("esproxy:SubSearch", {"query": Root(QUERY)}, "queries whose hits are ranked together"),
    Also("_global.search:Request", _SUB_SEARCHES, "queries whose hits are ranked together"),
    Also(SEARCH + "SearchRequestBody", _SUB_SEARCHES, "queries whose hits are ranked together"),
    Also(
        "_global.bulk:OperationBase",
        {
            "_source": Ref(SEARCH + "SourceConfig"),
            "pipeline": PIPELINE,
            "dynamic_templates": Dict(FIELD, SCALAR),
            **dict.fromkeys(
                ("op_type", "retry_on_conflict", "require_alias", "require_data_stream", "list_executed_pipelines"), SCALAR
            ),
        },
        "one parser reads the metadata of all four actions",
    ),
    Also("_global.msearch:MultisearchHeader", {"indices": EXPR, "requestCache": SCALAR}, "older spellings"),
    Also(
        "_global.delete_by_query:Request",
        {"conflicts": SCALAR, **_SOURCE_OF_HITS, **_SCALARS_OF_SEARCH},
        "the search that feeds it",
    ),
    Also(
        "_global.update_by_query:Request",
        {"sort": Ref("_types:Sort"), **_SOURCE_OF_HITS, **_SCALARS_OF_SEARCH},
        "the search that feeds it",
    ),
    # indices
    Also("indices.put_alias:Request", {"index": EXPR, "alias": ALIAS}, "taken in the body too"),
    Also(
        "indices.put_mapping:Request",
        {
            "_data_stream_timestamp": Ref("_types.mapping:DataStreamTimestamp"),
            "_size": Ref("_types.mapping:SizeField"),
            "subobjects": SCALAR,
        },
        "as in the mappings of a new index",
    ),
]

# --- forms ------------------------------------------------------------------------------------------------------

_SINGLE_BUCKET = Ref(AGG + "SingleBucketAggregateBase")
_ANY_BUCKET = Ref(AGG + "MultiBucketBase")

FORMS: list[Row] = [
    Alias("_types:FieldValue", SCALAR, "8.19 says any JSON, parsers take scalars"),
    Alias(
        AGG + "Buckets",
        Union((Dict(SCALAR, Var("TBucket")), Var("TBucket"))),
        "keyed or not, buckets are buckets; only in requests does it matter which (FiltersAggregation)",
    ),
    Is(AGG + "FiltersAggregation", "filters", Union((Dict(SCALAR, QUERY), Items(QUERY))), "named or anonymous"),
    New(
        "esproxy:RandomSampler",
        {"seed": SCALAR, "probability": SCALAR},
        "an aggregate without a definition",
        parent=_SINGLE_BUCKET,
        tag="random_sampler",
    ),
    Member(AGG + "Aggregate", Ref("esproxy:RandomSampler"), "an aggregate without a definition"),
    New(
        "esproxy:AnyAggregate",
        {"meta": ANY, "doc_count": SCALAR, "buckets": Ref(AGG + "Buckets", (_ANY_BUCKET,)), "hits": Ref(SEARCH + "HitsMetadata")},
        "an aggregate whose tag nobody knows is restored as far as it looks like one",
        parent=_SINGLE_BUCKET,
    ),
    Untagged(AGG + "Aggregate", Ref("esproxy:AnyAggregate"), "tags of plug-ins and later versions"),
    Untagged(SEARCH + "Suggest", Ref(SEARCH + "CompletionSuggest"), "of all suggestions only this one holds names"),
]

# --- errors -----------------------------------------------------------------------------------------------------

ERRORS: list[Row] = [
    New(
        "esproxy:Quoting",
        {},
        "what an error adds that nobody knows may quote names",
        alias=Union((TEXT, Ref("esproxy:QuotingObject"))),
    ),
    New(
        "esproxy:QuotingObject",
        {"script": STORED_SCRIPT},
        "a script that failed is told alike wherever an error is",
        other=Dict(UNKNOWN, Ref("esproxy:Quoting")),
    ),
    Is("_types:ErrorCause", "reason", TEXT, QUOTES),
    Is("_types:ErrorCause", "stack_trace", TEXT, QUOTES),
    Also(
        "_types:ErrorCause",
        {
            "index": EXPR,
            "resource.id": EXPR,
            "script": STORED_SCRIPT,
            "script_stack": TEXT,
            "failed_shards": Ref("_types:ShardFailure"),
            **dict.fromkeys(
                (
                    "resource.type",
                    "index_uuid",
                    "shard",
                    "phase",
                    "grouped",
                    "line",
                    "col",
                    "lang",
                    "bytes_wanted",
                    "bytes_limit",
                    "durability",
                    "max_buckets",
                    "processor_type",
                    "processor_tag",
                    "property_name",
                ),
                SCALAR,
            ),
            "position": Dict(SCALAR, SCALAR),
        },
        "what nodes add to an error",
    ),
    Others("_types:ErrorCause", Dict(UNKNOWN, Ref("esproxy:Quoting")), "anything else may quote names"),
    Is("_types:ErrorResponseBase", "error", Union((TEXT, ERROR_CAUSE)), "some errors are a text"),
    Sole("_types:ErrorResponseBase", "an index called error or status has another physical name"),
    New("esproxy:AliasAction", {"type": SCALAR, "indices": EXPR, "aliases": ALIAS}, "what was done to which names"),
    New(
        "esproxy:ActionResult",
        {"action": Ref("esproxy:AliasAction"), "status": SCALAR, "error": ERROR_CAUSE},
        "what came of one action",
    ),
    Also(
        "_types:AcknowledgedResponseBase",
        {"errors": SCALAR, "action_results": Ref("esproxy:ActionResult")},
        "answers of alias actions",
    ),
    Also(
        "_types:BulkIndexByScrollFailure",
        {"reason": ERROR_CAUSE, "shard": SCALAR, "node": SCALAR},
        "failures of the search that feeds it",
    ),
]
