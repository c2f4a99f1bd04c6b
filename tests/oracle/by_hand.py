"""What the search for calls (``explore.py``) needs to be told: values, plain calls, and reasons that trying cannot find."""

from __future__ import annotations

from typing import Any

SCALARS: tuple[Any, ...] = (True, 1, "x", 0.5, "k", "n", "t", "gp", "d", "1", "long", "0.0", [1], ["k"], ["t"], {}, [], [{}])
TYPICAL: dict[str, tuple[Any, ...]] = {
    "value_type": ("long", "string", "double", "date"),
    "script": ({"source": "1"}, {"source": "emit(1)"}, "1"),
    "format": ("0.0", "yyyy"),
    "missing": (0, "x", "2020-01-01", "0,0", "10.0.0.1"),
    "type": ("long", "keyword", "plain", "string"),
    "order": ("asc", {"_count": "asc"}),
    "field": ("n", "k", "t", "d", "gp", "f", "v"),
    "query": ({"match_all": {}}, "fox"),
    "filter": ({"match_all": {}}, [{"match_all": {}}]),
    "query_vector": ([1, 2, 2],),
    "timeout": ("5s",),
    "nested_path": ("nest",),
    "nested_filter": ({"match_all": {}},),
    "properties": ({"a": {"type": "keyword"}},),
    "cutoff_frequency": (0.1,),
    "params": ({"a": 1},),
}

# A plain call of each endpoint, on the shared calls "two", to hang a parameter on; those that change things repeat without harm.
PLAIN: dict[str, tuple[str, str]] = {
    "search": ("GET /left/_search", ""),
    "count": ("GET /left/_count", ""),
    "get": ("GET /left/_doc/1", ""),
    "get_source": ("GET /left/_source/1", ""),
    "mget": ("POST /left/_mget", '{"ids":["1"]}'),
    "index": ("PUT /left/_doc/p", '{"k":"x"}'),
    "update": ("POST /left/_update/1", '{"doc":{"k":"x"}}'),
    "delete": ("DELETE /left/_doc/p", ""),
    "bulk": ("POST /left/_bulk", '{"index":{"_id":"p"}}\n{"k":"x"}\n'),
    "indices.get": ("GET /left", ""),
    "indices.get_mapping": ("GET /left/_mapping", ""),
    "indices.get_field_mapping": ("GET /left/_mapping/field/k", ""),
    "indices.put_mapping": ("PUT /left/_mapping", '{"properties":{"k":{"type":"keyword"}}}'),
    "indices.refresh": ("POST /left/_refresh", ""),
    "indices.delete": ("DELETE /gone?ignore_unavailable=true", ""),
    "cluster.health": ("GET /_cluster/health?timeout=1s&filter_path=status", ""),
    "cat.indices": ("GET /_cat/indices?h=index", ""),
    "info": ("GET /", ""),
    "msearch": ("POST /left/_msearch", '{}\n{"size":0}\n'),
    "delete_by_query": ("POST /left/_delete_by_query", '{"query":{"match_none":{}}}'),
    "update_by_query": ("POST /left/_update_by_query", '{"query":{"match_none":{}}}'),
    "field_caps": ("GET /left/_field_caps?fields=k", ""),
    "explain": ("GET /left/_explain/1", '{"query":{"match_all":{}}}'),
    "indices.validate_query": ("GET /left/_validate/query", ""),
    "indices.flush": ("POST /left/_flush", ""),
    "indices.get_settings": ("GET /left/_settings", ""),
    "indices.put_settings": ("PUT /left/_settings", '{"index":{"refresh_interval":"5s"}}'),
    "indices.put_alias": ("PUT /left/_alias/extra", ""),
    "indices.get_alias": ("GET /left/_alias", ""),
    "indices.exists_alias": ("HEAD /_alias/both", ""),
    "indices.update_aliases": ("POST /_aliases", '{"actions":[{"add":{"index":"left","alias":"extra"}}]}'),
    "indices.delete_alias": ("DELETE /left/_alias/extra", ""),
    "cat.count": ("GET /_cat/count/left?h=count", ""),
    "cat.health": ("GET /_cat/health?h=status", ""),
}
FIRST: dict[str, tuple[str, str]] = {"indices.delete_alias": ("PUT /left/_alias/extra", "")}  # what a plain call needs each time
# With these, a query in the parameters takes the body's place.
QUERY_PARAMETERS = ("q", "df", "analyzer", "analyze_wildcard", "default_operator", "lenient")
# The same endpoints by HEAD, and creations, take what those take.
TWINS = {
    "exists": "get",
    "exists_source": "get_source",
    "indices.exists": "indices.get",
    "create": "index",
    "indices.create": "indices.put_mapping",
    "ping": "info",
}

# What is known and yet cannot be shown, or cannot be found out by trying: engine ("" for both), pattern of the transition,
# why. The words in quotes are the nodes'.
BY_HAND: tuple[tuple[str, str, str], ...] = (
    ("", r"→ project_routing$", "only where projects exist (serverless)"),
    (
        "",
        r"search → (pit|slice)$|search\.(pit|slice) → ",
        "needs an open point in time or scroll, which another scenario's call has to open",
    ),
    ("", r"update\.script → id$|collate\.query → id$", "needs a stored script, whose endpoints are served later"),
    ("es", r"phrase\.collate( |\.)", "needs the template language mustache, which the nodes at hand do not have"),
    (
        "os",
        r"phrase\.collate\.query\.source → ",
        "a template of a query: its text is checked and copied, never interpreted by key",
    ),
    (
        "es",
        r"(→ |\.)(semantic|text_expansion|weighted_tokens)( |\.|$)|sparse_vector → (inference_id|query)$",
        "needs an inference model",
    ),
    (
        "es",
        r"query_vector_builder|retriever(\.| → )(text_similarity_reranker|diversify)|learning_to_rank",
        "needs a model or a licence",
    ),
    (
        "",
        r"aggregations\.\*\.global → ",
        "'Expected [FIELD_NAME] under a [START_OBJECT], but got a [VALUE_STRING]': global takes no keys",
    ),
    ("", r"aggregations\.\*\.sampler → (format|missing|script|value_type)$", "'Unsupported property \"format\" for aggregation'"),
    (
        "",
        r"(geo_bounds|geo_centroid|geo_distance|geohash_grid|geotile_grid) → value_type$",
        "'Unknown value type [geo_point]', and no other fits a point",
    ),
    ("", r"suggest\.\*\.term → (lowercase_terms|text)$", "'suggester[term] doesn't support field [lowercase_terms]'"),
    ("", r"completion\.contexts\.\* → geohash$", "'[geo] unknown field [geohash]'"),
    ("", r"post_filter\.wrapper → (_name|boost)$", "'[wrapper] malformed query, expected [END_OBJECT] but found [FIELD_NAME]'"),
    ("", r"match_bool_prefix\._id → ", "'[match_bool_prefix] unknown field', or a prefix of _id, which a node does not look for"),
    ("", r"function_score → filter$", "'unknown field [filter]'"),
    ("", r"(→ |\.)type → (value|boost|_name)$|→ type$", "'unknown field [type]': types are gone"),
    (
        "",
        r"put_mapping → (_size|composite|runtime|_data_stream_timestamp|subobjects)$",
        "'Root mapping definition has unsupported parameters', or cannot be changed",
    ),
    (
        "",
        r"properties\.\*\.fielddata → format$",
        "'Failed to parse value [{format=disabled}] as only [true] or [false] are allowed'",
    ),
    (
        "os",
        r"indices\.create\.mappings → composite$",
        "'Set index.composite_index as true': star trees are not on the nodes at hand",
    ),
    (
        "os",
        r"dynamic_templates\.\* → (runtime|unmatch_mapping_type)$",
        "'Illegal dynamic template parameter: [unmatch_mapping_type]'",
    ),
    ("os", r"search → (verbose_pipeline|search_pipeline)$", "'Pipeline x is not defined': search pipelines are served later"),
    ("os", r"(→ |\.)template( |$)", "needs stored templates, whose endpoints are served later"),
    ("os", r"(→ |\.)sltr( |$)", "needs a plugin for learning to rank"),
    (
        "os",
        r"runtime_mappings|intervals\.\*(\.range)? → range|intervals\.\*\.range",
        "'Unknown key for a START_OBJECT in [runtime_mappings]', 'Unknown interval type [range]'",
    ),
    ("os", r"rank_feature → linear$", "'unknown field [linear]'"),
    (
        "os",
        r"bulk\.create → (dynamic_templates|list_executed_pipelines|require_data_stream)$",
        "'Action/metadata line [1] contains an unknown parameter'",
    ),
    ("os", r"properties\.\*\.index_options( |\.)", "index_options is a word on OpenSearch, not an object"),
    (
        "",
        r"(get_source|exists_source) → (version|version_type)$|update → (version|version_type|lang)$",
        "'request contains unrecognized parameter: [version]'",
    ),
    (
        "",
        r"create → (version|version_type|if_seq_no|if_primary_term)$",
        "'create operations only support internal versioning', 'create operations do not support compare and set'",
    ),
    ("", r"percolate( |$)|percolate →", "percolator fields are refused: a node looks up their queries with rights of its own"),
    ("es", r"get_field_mapping → local$", "'request contains unrecognized parameter: [local]'"),
)
