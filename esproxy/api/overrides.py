"""What the definitions get wrong or leave out, as rows with reasons (``patch`` says what forms there are).

The definitions serve clients, so they know what a client should send, not what a parser takes; and they label names by
types that come and go. Every row was found by a body that a running node accepts, or by a name in an answer that the labels
missed. A row that hits nothing, or changes nothing, ends the generation.

Rows are grouped: verdicts (types that mean different things), labels (strings that are names), false labels, roots of queries,
values whose meaning depends on the field, languages and texts. What only parsers know is in ``parsers``, OpenSearch's own
in ``opensearch``.
"""

from __future__ import annotations

from esproxy.api import administration, ingest, reindex, scripts, tasks, templates
from esproxy.api.kinds import Kind
from esproxy.api.parsers import ERRORS, FORMS, SYNTAX
from esproxy.api.patch import Alias, Also, Ensure, Is, Keys, New, Noted, QueryRoot, Row, Variant
from esproxy.api.schema import ANY, SCALAR, Dict, Leaf, Ref, Root, Union
from esproxy.api.words import (
    AGG,
    CURSOR,
    DOC,
    DSL,
    EXPR,
    FIELD,
    GROUP,
    ID,
    INDEX,
    LUCENE,
    PIPELINE,
    QUERY,
    QUOTES,
    ROUTING,
    SCRIPT,
    SEARCH,
    SOURCE,
    STORED_SCRIPT,
    TEXT,
)

# Named types that are a kind wherever they stand.
LABELS = {
    "_types:Field": Kind.FIELD,
    "_types:IndexName": Kind.INDEX,
    "_types:Indices": Kind.EXPR,
    "_types:IndexAlias": Kind.ALIAS,
    "_types:DataStreamName": Kind.INDEX,
    "_types:Routing": Kind.ROUTING,
    "_types:ScrollId": Kind.CURSOR,
    "_types:TaskId": Kind.TASK,
    "_types:PipelineName": Kind.PIPELINE,
    "_types:ScriptSource": Kind.SCRIPT,
    "_types:NodeId": Kind.NODE,
    "_types:NodeName": Kind.NODE,
    "_types:TransportAddress": Kind.ADDRESS,
    "_types:Host": Kind.ADDRESS,
    "indices._types:IndexSettings": Kind.SETTINGS,
}
# Named types that mean different things: each property of theirs that is reached needs a row.
UNDECIDED = frozenset(("_types:Id", "_types:Ids", "_types:Name", "_types:Names"))

# --- verdicts -------------------------------------------------------------------------------------------

_DOCUMENT_ID = "the id of a document"
_NO_NAME_OF_OURS = (
    "no document and nothing a tenant names: rule sets, models, inference endpoints, slices, clusters, labels in the body"
)

VERDICTS: list[Row] = [
    *(
        Is(type_, prop, ID, _DOCUMENT_ID)
        for type_, prop in (
            ("_global.bulk:OperationBase", "_id"),
            ("_global.bulk:ResponseItem", "_id"),
            ("_global.explain:Response", "_id"),
            ("_global.get:GetResult", "_id"),
            ("_global.mget:MultiGetError", "_id"),
            ("_global.mget:Operation", "_id"),
            ("_global.mget:Request", "ids"),
            (SEARCH + "CompletionSuggestOption", "_id"),
            (SEARCH + "Hit", "_id"),
            (DSL + "FieldLookup", "id"),
            (DSL + "IdsQuery", "values"),
            (DSL + "LikeDocument", "_id"),
            (DSL + "ParentIdQuery", "id"),
            (DSL + "PercolateQuery", "id"),
            (DSL + "PinnedDoc", "_id"),
            (DSL + "PinnedQuery", "ids"),
            (DSL + "TermsLookup", "id"),
            ("_types:BulkIndexByScrollFailure", "id"),
            ("_types:LookupQueryVectorBuilder", "id"),
            ("_types:PinnedRetriever", "ids"),
            ("_types:SpecifiedDocument", "id"),
            ("_types:WriteResponseBase", "_id"),
        )
    ),
    *(
        Is(type_, prop, CURSOR, "a point in time")
        for type_, prop in (
            ("_global.close_point_in_time:Request", "id"),
            ("_global.open_point_in_time:Response", "id"),
            ("_global.search:ResponseBody", "pit_id"),
            (SEARCH + "PointInTimeReference", "id"),
        )
    ),
    Is("_types:Script", "id", STORED_SCRIPT, "a stored script"),
    Is(SEARCH + "PhraseSuggestCollateQuery", "id", STORED_SCRIPT, "a stored search template"),
    Keys("indices.create:Request", "aliases", Kind.ALIAS, "keys are names of aliases"),
    *(
        Is(type_, prop, SCALAR, _NO_NAME_OF_OURS)
        for type_, prop in (
            ("_global.info:Response", "cluster_name"),
            ("_global.info:Response", "name"),
            (SEARCH + "InnerHits", "name"),
            (AGG + "InferenceAggregation", "model_id"),
            (DSL + "RuleQuery", "ruleset_ids"),
            (DSL + "SparseVectorQuery", "inference_id"),
            ("_types.mapping:SemanticTextProperty", "inference_id"),
            ("_types.mapping:SemanticTextProperty", "search_inference_id"),
            ("_types.mapping:SuggestContext", "name"),
            ("_types:RuleRetriever", "ruleset_ids"),
            ("_types:SlicedScroll", "id"),
            ("cluster.health:HealthResponseBody", "cluster_name"),
        )
    ),
]

# --- labels -----------------------------------------------------------------------------------------------

_PLAIN_STRING = "the definitions have a plain string"

NAMES: list[Row] = [
    *(
        Is(type_, prop, FIELD, _PLAIN_STRING)
        for type_, prop in (
            ("_types:KnnRetriever", "field"),
            ("_types:DiversifyRetriever", "field"),
            ("_types:LinearRetriever", "fields"),
            ("_types:RRFRetriever", "fields"),
            ("_types:TextSimilarityReranker", "field"),
            ("_types:LookupQueryVectorBuilder", "path"),
            (DSL + "SemanticQuery", "field"),
            ("_types.mapping:SourceField", "includes"),
            ("_types.mapping:SourceField", "excludes"),
            ("_types.mapping:DynamicTemplate", "path_match"),
            ("_types.mapping:DynamicTemplate", "path_unmatch"),
            ("_types.mapping:FieldMapping", "full_name"),
            (SEARCH + "Hit", "_ignored"),
            ("_global.get:GetResult", "_ignored"),
        )
    ),
    *(
        Keys(type_, prop, Kind.FIELD, "keys are fields")
        for type_, prop in (
            ("_types.mapping:TypeMapping", "runtime"),
            ("_global.bulk:WriteOperation", "dynamic_templates"),
            (SEARCH + "Hit", "highlight"),
            (SEARCH + "Hit", "ignored_field_values"),
            (AGG + "TopMetrics", "metrics"),
        )
    ),
    *(
        Is(type_, prop, INDEX, _PLAIN_STRING)
        for type_, prop in (
            ("_types:LookupQueryVectorBuilder", "index"),
            ("_global.bulk:ResponseItem", "_index"),
            ("cat.indices:IndicesRecord", "index"),
        )
    ),
    Is("_types:ClusterDetails", "indices", EXPR, "the expression that was sent to that cluster"),
    *(
        Is(type_, "stats", GROUP, "nodes count searches under these names")
        for type_ in ("_global.search:Request", SEARCH + "SearchRequestBody")
    ),
    Keys("_global.search:Request", "indices_boost", Kind.EXPR, "names, aliases and patterns"),
    Keys(SEARCH + "SearchRequestBody", "indices_boost", Kind.EXPR, "names, aliases and patterns"),
    Keys("indices._types:IndexState", "aliases", Kind.ALIAS, "keys are names of aliases"),
    Keys("indices.get_alias._types:IndexAliases", "aliases", Kind.ALIAS, "keys are names of aliases"),
    Is("indices.update_aliases:AddAction", "index", EXPR, "patterns are taken"),
    Is("indices.update_aliases:RemoveAction", "index", EXPR, "patterns are taken"),
    Is("indices.update_aliases:RemoveIndexAction", "index", EXPR, "patterns are taken"),
    Is("_types:LookupQueryVectorBuilder", "routing", ROUTING, _PLAIN_STRING),
    *(
        Is("indices._types:AliasDefinition", prop, ROUTING, _PLAIN_STRING)
        for prop in ("routing", "index_routing", "search_routing")
    ),
    Is(SEARCH + "Hit", "_routing", ROUTING, _PLAIN_STRING),
    Is("_global.get:GetResult", "_routing", ROUTING, _PLAIN_STRING),
    Is("_global.bulk:WriteOperation", "pipeline", PIPELINE, _PLAIN_STRING),
    # documents
    Is(SEARCH + "Hit", "_source", DOC, "inner hits and top hits have documents too"),
    Is("_types:InlineGet", "_source", DOC, "a bulk's answer has documents too"),
    Is(DSL + "LikeDocument", "doc", DOC, "a document that is not in the index"),
    Is(DSL + "PercolateQuery", "document", DOC, "a document that is not in the index"),
    Is(DSL + "PercolateQuery", "documents", DOC, "documents that are not in the index"),
    Alias(SEARCH + "SourceConfig", Union((SOURCE, Ref(SEARCH + "SourceFilter"))), "true and false are no fields"),
    Alias(SEARCH + "SourceConfigParam", SOURCE, "true and false are no fields"),
    *(
        Is(SEARCH + "SourceFilter", prop, SOURCE, "paths in documents, which are not all fields")
        for prop in ("includes", "excludes")
    ),
]

# --- false labels -----------------------------------------------------------------------------------------

NO_NAMES: list[Row] = [
    Keys(AGG + "AggregateOrder", None, Kind.COPY, "_key, _count and paths of aggregations"),
    Keys(AGG + "CompositeAggregateKey", None, Kind.COPY, "names of the composite's sources"),
    Is(AGG + "BucketSortAggregation", "sort", Union((SCALAR, Dict(SCALAR, Ref("_types:FieldSort")))), "paths of aggregations"),
    Keys(SEARCH + "CompletionSuggester", "contexts", Kind.COPY, "names of contexts"),
    Keys(SEARCH + "InnerHits", "script_fields", Kind.COPY, "names that the client gives"),
    Keys("_types.mapping:FieldMapping", "mapping", Kind.COPY, "the last part of the field's path only"),
]

# --- roots of queries ------------------------------------------------------------------------------------
#
# A root is a query that a node runs against an index on its own. What runs inside the hits of a root is none: `filter` and
# `filters` aggregations, rescore_query (the window's hits), highlight_query, nested and inner hits (child documents have no
# routing, a filter on it would match nothing there), sort filters, collapse (its inner searches repeat the body's query),
# pinned and rule organics. A terms lookup, a shape, a percolated document name one document, which its id scopes.

ROOT_ROWS: list[Row] = [
    Also("cat.count:Request", {"query": QUERY}, "as in a count"),
    *(
        QueryRoot(type_, prop, why)
        for type_, prop, why in (
            ("_global.search:Request", "query", "selects hits"),
            (SEARCH + "SearchRequestBody", "query", "selects hits of a multi search"),
            (
                "_global.search:Request",
                "post_filter",
                "narrows hits after aggregations; scoped so that it stands without the query too",
            ),
            (SEARCH + "SearchRequestBody", "post_filter", "as in a search"),
            ("_global.count:Request", "query", "selects what is counted"),
            ("cat.count:Request", "query", "selects what is counted"),
            ("_global.delete_by_query:Request", "query", "selects what is deleted"),
            ("_global.update_by_query:Request", "query", "selects what is updated"),
            ("_global.explain:Request", "query", "is matched against one document"),
            ("indices.validate_query:Request", "query", "its explanation tells what it would match"),
            ("_global.field_caps:Request", "index_filter", "decides which shards answer"),
            ("_global.open_point_in_time:Request", "index_filter", "decides which shards take part"),
            ("_types:KnnSearch", "filter", "nearest neighbours are found before any query filters them"),
            ("_types:KnnQuery", "filter", "nearest neighbours are found before the query around it filters them"),
            ("_types:RetrieverBase", "filter", "each retriever searches on its own"),
            ("_types:StandardRetriever", "query", "each retriever searches on its own"),
            (AGG + "SignificantTermsAggregation", "background_filter", "the background is the whole index"),
            (AGG + "SignificantTextAggregation", "background_filter", "the background is the whole index"),
            ("indices._types:Alias", "filter", "stands for the query of every search through the alias"),
            ("indices.put_alias:Request", "filter", "stands for the query of every search through the alias"),
            ("indices.update_aliases:AddAction", "filter", "stands for the query of every search through the alias"),
        )
    ),
    Is(
        SEARCH + "PhraseSuggestCollateQuery",
        "source",
        Union((SCRIPT, Root(QUERY))),
        "run for each suggestion; a template when it is text",
    ),
    Ensure(
        "_global.search:Request",
        ("query",),
        "no query is every document; with knn or a retriever it is none",
        ("knn", "retriever", "sub_searches"),
    ),
    Ensure(SEARCH + "SearchRequestBody", ("query",), "as in a search", ("knn", "retriever", "sub_searches")),
    Ensure("_global.count:Request", ("query",), "no query is every document"),
    Ensure("cat.count:Request", ("query",), "no query is every document"),
    # delete_by_query is not here: nodes refuse it without a query, and one that we add would delete everything.
    Ensure("_global.update_by_query:Request", ("query",), "no query is every document"),
    Ensure(DSL + "FieldLookup", ("index",), "nodes look in an index called [shapes] when none is named"),
    Ensure("_types:KnnSearch", ("filter",), "no filter is every document"),
    Ensure("_types:KnnQuery", ("filter",), "no filter is every document"),
    Ensure("_types:KnnRetriever", ("filter",), "no filter is every document"),
    Ensure("_types:StandardRetriever", ("query",), "no query is every document"),
    Ensure("_types:RRFRetriever", ("filter",), "with query and fields it makes retrievers of its own"),
    Ensure("_types:LinearRetriever", ("filter",), "with query and fields it makes retrievers of its own"),
    Ensure(AGG + "SignificantTermsAggregation", ("background_filter",), "no filter is every document"),
    Ensure(AGG + "SignificantTextAggregation", ("background_filter",), "no filter is every document"),
]

# --- values whose meaning depends on the field -------------------------------------------------------------
#
# A query on _index compares names of indices, one on _id ids, one on _ignored fields. _routing stays a field like others:
# in a pool the client's routing is in a field of another name, so the key is what changes and the value stays.

# Queries that no node lets run on _index and _id (regexp, fuzzy, range, match_phrase_prefix; on _id also prefix and wildcard)
# are left to the node's own refusal. OpenSearch refuses span_term on _index by whether the name is that of the index.

# query → (its type, the properties that hold what is compared, the fields that know it)
_BY_FIELD = {
    "term": ("TermQuery", ("value",), {"_index": EXPR, "_id": ID, "_ignored": FIELD}),
    "wildcard": ("WildcardQuery", ("value", "wildcard"), {"_index": EXPR, "_ignored": FIELD}),
    "prefix": ("PrefixQuery", ("value",), {"_index": INDEX, "_ignored": FIELD}),
    "match": ("MatchQuery", ("query",), {"_index": EXPR, "_id": ID, "_ignored": FIELD}),
    "match_phrase": ("MatchPhraseQuery", ("query",), {"_index": EXPR, "_id": ID}),
    "match_bool_prefix": ("MatchBoolPrefixQuery", ("query",), {"_index": EXPR, "_id": ID}),
    "common": ("CommonTermsQuery", ("query",), {"_index": EXPR, "_id": ID}),
    "terms_set": ("TermsSetQuery", ("terms",), {"_index": EXPR, "_id": ID}),
    "span_term": ("SpanTermQuery", ("value", "term"), {"_index": EXPR}),
}


def _by_field() -> list[Row]:
    rows: list[Row] = []
    for query, (name, properties, fields) in _BY_FIELD.items():
        why = f"what {query} compares _index, _id and _ignored with are names of indices, ids and names of fields"
        for field, term in fields.items():
            rows.append(Variant(f"esproxy:{name}On{field}", DSL + name, dict.fromkeys(properties, term), why))
        known = {field: Ref(f"esproxy:{name}On{field}") for field in fields}
        rows.append(New(f"esproxy:{name}ByField", known, why, other=Dict(FIELD, Ref(DSL + name))))
        rows.append(Is(DSL + "QueryContainer", query, Ref(f"esproxy:{name}ByField"), why))
    return rows


BY_FIELD: list[Row] = [
    *_by_field(),
    Is(DSL + "SpanQuery", "span_term", Ref("esproxy:SpanTermQueryByField"), "the same in a span"),
    Also(
        DSL + "TermsQuery",
        {"_index": EXPR, "_id": Union((ID, Ref(DSL + "TermsLookup"))), "_ignored": FIELD},
        "names of indices, ids and fields; names in a looked-up document are the client's and would not match",
    ),
    New(
        "esproxy:HitFields",
        {"_index": INDEX, "_id": ID, "_routing": ROUTING, "_ignored": FIELD},
        "metadata asked for as fields",
        other=Dict(FIELD, ANY),
    ),
    Is(SEARCH + "Hit", "fields", Ref("esproxy:HitFields"), "keys are fields"),
    Is(SEARCH + "Hit", "inner_hits", Dict(FIELD, Ref(SEARCH + "InnerHitsResult")), "by their path if they have no name"),
    Is(SEARCH + "CompletionSuggestOption", "fields", Ref("esproxy:HitFields"), "keys are fields"),
    Is("_global.get:GetResult", "fields", Ref("esproxy:HitFields"), "keys are fields"),
    Is("_types:InlineGet", "fields", Ref("esproxy:HitFields"), "keys are fields"),
]

# --- languages and texts ------------------------------------------------------------------------------------

LANGUAGES: list[Row] = [
    Is(DSL + "QueryStringQuery", "query", LUCENE, "Lucene's syntax"),
    Is(DSL + "WrapperQuery", "query", Leaf(Kind.WRAPPER), "base64 of any query"),
    Is(AGG + "MovingFunctionAggregation", "script", SCRIPT, "the definitions have a plain string"),
    *(
        Is(type_, prop, TEXT, QUOTES)
        for type_, prop in (
            ("_global.explain:Explanation", "description"),
            ("_global.explain:ExplanationDetail", "description"),
            ("indices.validate_query:IndicesValidationExplanation", "explanation"),
            ("indices.validate_query:IndicesValidationExplanation", "error"),
            ("indices.validate_query:Response", "error"),
            (SEARCH + "Hit", "_shard"),
            (SEARCH + "ShardProfile", "id"),
            (SEARCH + "QueryProfile", "description"),
            (SEARCH + "AggregationProfile", "description"),
            (SEARCH + "Collector", "reason"),
            (SEARCH + "FetchProfile", "description"),
            (SEARCH + "KnnQueryProfileResult", "description"),
            (SEARCH + "DfsStatisticsProfile", "description"),
            (SEARCH + "AggregationProfileDelegateDebugFilter", "query"),
        )
    ),
    Noted(AGG + "AggregationContainer", "AGGS", "answers need typed_keys"),
    Noted(AGG + "GlobalAggregation", "GLOBAL", "leaves the hits of the query"),
    Noted(SEARCH + "FieldSuggester", "SUGGEST", "answers need typed_keys"),
    Noted("_types.mapping:RuntimeField", "RUNTIME", "makes fields that shadow others"),
]

ROWS: list[Row] = [
    *VERDICTS, *NAMES, *NO_NAMES, *SYNTAX, *ROOT_ROWS, *FORMS, *BY_FIELD, *LANGUAGES, *ERRORS, *administration.ROWS,
    *templates.ROWS, *scripts.ROWS, *ingest.ROWS, *tasks.ROWS,
    *reindex.ROWS,
]  # fmt: skip

# --- bodies that no endpoint names -----------------------------------------------------------------------------

ERROR = Ref("_types:ErrorResponseBase")
ROOTS = {
    "error": ERROR,
    "bulk.action": Ref("_global.bulk:OperationContainer"),
    "bulk.update": Ref("_global.update:Request"),
    "bulk.doc": DOC,
    "query": Ref(DSL + "QueryContainer"),
    "msearch.header": Ref("_global.msearch:MultisearchHeader"),
    "msearch.body": Ref(SEARCH + "SearchRequestBody"),
}
ANSWERS = frozenset(("error",))
# The state of a framed body's first record.
FRAMED = {"bulk": "bulk.action", "msearch": "msearch.header", "templates": "msearch.header"}
