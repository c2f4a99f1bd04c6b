"""Which endpoints the tables hold, and what no definition says of their parameters.

Widening the API starts here: a name more in ``ENDPOINTS``, then the generator names every position that needs a verdict.
"""

from __future__ import annotations

from esproxy.api.kinds import Kind

ENDPOINTS = (
    # documents and search
    "info", "ping", "index", "create", "get", "exists", "get_source", "exists_source", "update", "delete", "bulk", "mget",
    "search", "count", "msearch", "scroll", "clear_scroll", "open_point_in_time", "close_point_in_time",
    "delete_by_query", "update_by_query", "field_caps", "explain", "reindex", "rank_eval", "terms_enum",
    # indices
    "indices.create", "indices.delete", "indices.exists", "indices.get", "indices.get_mapping", "indices.put_mapping",
    "indices.get_field_mapping", "indices.refresh", "indices.flush", "indices.get_settings", "indices.put_settings",
    "indices.validate_query", "indices.put_alias", "indices.get_alias", "indices.exists_alias", "indices.delete_alias",
    "indices.update_aliases",
    "indices.open", "indices.close", "indices.stats", "indices.segments", "indices.recovery", "indices.shard_stores",
    "indices.forcemerge", "indices.clear_cache", "indices.analyze", "search_shards", "termvectors", "mtermvectors",
    "indices.resolve_index", "indices.add_block", "indices.remove_block",
    # templates, and what makes an index of another
    "indices.put_index_template", "indices.get_index_template", "indices.exists_index_template", "indices.delete_index_template",
    "indices.simulate_index_template", "indices.simulate_template", "indices.put_template", "indices.get_template",
    "indices.exists_template", "indices.delete_template", "cluster.put_component_template", "cluster.get_component_template",
    "cluster.exists_component_template", "cluster.delete_component_template",
    "indices.rollover", "indices.shrink", "indices.split", "indices.clone",
    # scripts and search templates
    "get_script_context", "get_script_languages", "put_script", "get_script", "delete_script",
    "search_template", "msearch_template", "render_search_template",
    # pipelines
    "ingest.put_pipeline", "ingest.get_pipeline", "ingest.delete_pipeline", "ingest.simulate", "ingest.processor_grok",
    # tasks
    "tasks.list", "tasks.get", "tasks.cancel", "update_by_query_rethrottle", "delete_by_query_rethrottle",
    "reindex_rethrottle",
    # cluster and cat
    "cluster.health", "cat.aliases", "cat.indices", "cat.count", "cat.health", "cat.shards", "cat.segments", "cat.recovery",
    "cat.templates",
    # the one node of a tenant's cluster, and what its cluster says of itself
    "nodes.info", "nodes.stats", "cluster.get_settings", "cluster.state", "cluster.stats",
    "cluster.pending_tasks", "cluster.remote_info", "cluster.info", "nodes.usage", "license.get", "xpack.info", "xpack.usage",
    "security.authenticate",
    "cat.nodes", "cat.master", "cat.plugins", "cat.allocation", "cat.nodeattrs", "cat.thread_pool", "cat.circuit_breaker",
    "cat.pending_tasks", "cat.repositories", "cat.snapshots", "cat.fielddata", "cat.tasks", "cat.component_templates", "cat.help",
)  # fmt: skip
# Whose answers are made here, so that no table restores them.
VIRTUAL = frozenset(
    ("nodes.info", "nodes.stats", "cluster.get_settings", "cluster.state", "cluster.stats",
     "cluster.pending_tasks", "cluster.remote_info", "cluster.info", "nodes.usage", "license.get", "xpack.info", "xpack.usage",
     "security.authenticate",
     "cat.nodes", "cat.master", "cat.cluster_manager", "cat.plugins", "cat.allocation", "cat.nodeattrs", "cat.thread_pool",
     "cat.circuit_breaker", "cat.pending_tasks", "cat.repositories", "cat.snapshots", "cat.segment_replication", "cat.fielddata",
     "cat.tasks", "cat.help")
)  # fmt: skip

# Answered as the searches that they become, of the two pipelines that a client's is, and as lists of tasks.
BECOME = frozenset(
    ("search_template", "msearch_template",
     "ingest.put_pipeline", "ingest.get_pipeline", "ingest.delete_pipeline", "ingest.simulate",
     "tasks.cancel", "update_by_query_rethrottle", "delete_by_query_rethrottle", "reindex_rethrottle")
)  # fmt: skip

FRAMING = {"bulk": "bulk", "msearch": "msearch", "msearch_template": "templates"}

# (endpoint or "*", parameter) → kind. The definitions type these as strings, or as types that mean different things in
# different places.
PATH = {
    ("*", "id"): Kind.ID,
    **dict.fromkeys(
        ((endpoint, "id") for endpoint in ("put_script", "get_script", "delete_script", "render_search_template")),
        Kind.STORED_SCRIPT,
    ),
    ("indices.put_alias", "name"): Kind.ALIAS,
    ("indices.get_alias", "name"): Kind.ALIAS,
    ("indices.exists_alias", "name"): Kind.ALIAS,
    ("indices.delete_alias", "name"): Kind.ALIAS,
    **dict.fromkeys(
        ((f"ingest.{endpoint}", "id") for endpoint in ("put_pipeline", "get_pipeline", "delete_pipeline", "simulate")),
        Kind.PIPELINE,
    ),
    ("*", "task_id"): Kind.TASK,
    ("put_script", "context"): Kind.COPY,
    ("indices.get_settings", "name"): Kind.COPY,  # names of settings
    ("cat.aliases", "name"): Kind.ALIAS,
    ("cat.templates", "name"): Kind.TEMPLATE,
    ("cat.component_templates", "name"): Kind.TEMPLATE,
    ("cat.snapshots", "repository"): Kind.COPY,  # there are none
    ("cat.thread_pool", "thread_pool_patterns"): Kind.COPY,
    **{
        (endpoint, "name"): Kind.TEMPLATE
        for kind in ("indices.{}_index_template", "indices.{}_template", "cluster.{}_component_template")
        for endpoint in map(kind.format, ("put", "get", "exists", "delete"))
    },
    ("indices.resolve_index", "name"): Kind.EXPR,
    ("indices.simulate_template", "name"): Kind.TEMPLATE,
    ("indices.simulate_index_template", "name"): Kind.INDEX,
    ("indices.rollover", "alias"): Kind.INDEX,
    ("indices.shrink", "target"): Kind.INDEX,
    ("indices.split", "target"): Kind.INDEX,
    ("indices.clone", "target"): Kind.INDEX,
}
IN_PATH = frozenset((("put_script", "context"),))  # defined as a parameter too: one place for one thing
QUERY = {
    ("*", "parent_task_id"): Kind.TASK,
    ("tasks.cancel", "nodes"): Kind.NODE,
    ("put_script", "context"): Kind.COPY,
    ("*", "q"): Kind.LUCENE,
    ("*", "df"): Kind.FIELD,
    ("*", "sort"): Kind.FIELD,  # a list of field[:order]
    ("*", "pipeline"): Kind.PIPELINE,
    ("*", "stats"): Kind.GROUP,
    ("mtermvectors", "ids"): Kind.ID,
    ("cat.recovery", "index"): Kind.EXPR,
    ("*", "s"): Kind.COPY,  # columns to sort a cat table by
    ("*", "h"): Kind.COPY,  # columns of a cat table
}

# Parameters that nodes accept beside the defined ones, tried on running nodes: endpoint or "*" → name → kind.
# Not here, though accepted: path parameters in the query string (index, id, name, scroll_id), which would name things twice.


def _copied(*names: str) -> dict[str, Kind]:
    return dict.fromkeys(names, Kind.COPY)


_EXPRESSION_OPTIONS = _copied("allow_no_indices", "ignore_unavailable")
_LUCENE = _copied("analyze_wildcard", "analyzer", "default_operator", "lenient") | {"q": Kind.LUCENE, "df": Kind.FIELD}
# By-query calls take the parameters of the search that feeds them.
_SEARCH = (
    _copied(
        "allow_partial_search_results", "batched_reduce_size", "ccs_minimize_roundtrips", "explain", "force_synthetic_source",
        "include_named_queries_score", "max_concurrent_shard_requests", "pre_filter_shard_size", "rest_total_hits_as_int",
        "seq_no_primary_term", "size", "track_scores", "track_total_hits", "_source_exclude_vectors",
    )
    | dict.fromkeys(("_source_excludes", "_source_includes", "docvalue_fields", "stored_fields"), Kind.FIELD)
    | {"_source": Kind.SOURCE}
)  # fmt: skip

_CAT = _copied("pri", "size", "ts")

EXTRA: dict[str, dict[str, Kind]] = {
    "*": _copied("format"),
    "cat.aliases": _EXPRESSION_OPTIONS | _CAT,
    "cat.count": _LUCENE,
    "cat.health": _copied("master_timeout"),
    "cat.indices": _EXPRESSION_OPTIONS | _copied("local"),
    "cat.recovery": _EXPRESSION_OPTIONS | _CAT | _copied("expand_wildcards"),
    "cat.segments": _CAT,
    "cat.shards": _CAT,
    "cat.templates": _CAT,
    "cluster.health": _EXPRESSION_OPTIONS,
    "create": _copied("if_primary_term", "if_seq_no", "op_type"),
    "delete_by_query": _SEARCH,
    "exists": _copied("_source_exclude_vectors", "force_synthetic_source"),
    "exists_source": _copied("_source_exclude_vectors"),
    "explain": _copied("_source_exclude_vectors"),
    "get": _copied("fields"),  # of the past: nodes say what it is now
    "get_source": _copied("_source_exclude_vectors"),
    "indices.exists": _copied("features", "master_timeout"),
    "indices.stats": _EXPRESSION_OPTIONS,
    "mget": _copied("_source_exclude_vectors"),
    "open_point_in_time": _copied("allow_no_indices"),
    "update": _copied("_source_exclude_vectors", "doc_as_upsert", "version", "version_type"),
    "update_by_query": _SEARCH,
}
# Wherever there is an expression, the oldest of its options is accepted too.
WITH_EXPRESSION = _copied("ignore_throttled")

# URL forms that nodes have and the definitions do not.
URLS: dict[str, list[tuple[tuple[str, ...], str]]] = {
    "indices.get_mapping": [(("GET",), "/_mappings"), (("GET",), "/{index}/_mappings")],
    "indices.put_mapping": [(("PUT", "POST"), "/{index}/_mappings")],
    "indices.get_alias": [(("GET",), "/_aliases")],
    "indices.exists_alias": [(("HEAD",), "/{index}/_alias")],
    "indices.put_alias": [
        (("PUT",), "/_alias"),
        (("PUT", "POST"), "/_alias/{name}"),
        (("PUT", "POST"), "/_aliases/{name}"),
        (("PUT",), "/{index}/_alias"),
        (("PUT",), "/{index}/_aliases"),
    ],
    "indices.open": [(("POST",), "/_open")],
    "indices.delete": [(("DELETE",), "/")],
    "indices.close": [(("POST",), "/_close")],
}

# A body in the query string. Nodes read it where there is no body; two places for one thing is how filters are passed by.
NO_BODY_IN_URL = "a body is sent as a body, not in the parameters [source] and [source_content_type]"
REFUSED_WITH_BODY = {"source": NO_BODY_IN_URL, "source_content_type": NO_BODY_IN_URL}
