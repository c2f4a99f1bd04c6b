"""Parameters that a node does not offer to who misspelled one.

It offers those that it has read by then, and many are read only where they are given, or where another is (those of a search in
the parameters without ``q``). Measured on nodes (Elasticsearch 9.4, OpenSearch 3.8), by a plain call of each endpoint with each
parameter misspelled.
"""

from __future__ import annotations

from collections.abc import Iterable

_IF_GIVEN = "source source_content_type"
_SEARCH = (
    "allow_partial_search_results explain from max_concurrent_shard_requests pre_filter_shard_size seq_no_primary_term size"
    " terminate_after track_scores track_total_hits version"
)
_TEXT = "analyze_wildcard analyzer default_operator df lenient"
_MSEARCH = "_slice max_concurrent_searches max_concurrent_shard_requests pre_filter_shard_size project_routing"
_BY_QUERY = f"{_SEARCH} max_docs search_timeout"
_VERSIONED = dict.fromkeys(("get", "exists", "index", "create", "delete"), "version") | {
    "get_source": "version version_type",
    "exists_source": "version version_type",
    "update": "lang version",
}
_EITHER = _VERSIONED | {
    "search": f"{_SEARCH} timeout",
    "msearch": _MSEARCH,
    "explain": _TEXT,
    "indices.validate_query": _TEXT,
    "delete_by_query": _BY_QUERY,
    "update_by_query": f"{_BY_QUERY} version_type",
    "indices.put_alias": "ignore_throttled",
    "indices.delete_alias": "ignore_throttled",
    "cat.count": "ignore_throttled",
}
_LOCAL = ("indices.get", "indices.get_mapping", "indices.get_field_mapping", "indices.get_settings", "indices.get_alias")
_ELASTICSEARCH = dict.fromkeys(_LOCAL, "local") | {"indices.get": "features local", "cluster.health": "master_timeout"}
_OS_SEARCH = f"{_TEXT} force_synthetic_source phase_took verbose_pipeline"
_OPENSEARCH = {
    "search": f"{_OS_SEARCH} min_compatible_shard_node suggest_mode suggest_size suggest_text",
    "delete_by_query": _OS_SEARCH,
    "update_by_query": _OS_SEARCH,
    "msearch": "include_named_queries_score",
    "count": _TEXT,
    "cat.count": _TEXT,
    "get": "force_synthetic_source",
    "exists": "force_synthetic_source",
    "mget": "force_synthetic_source",
    "index": "include_source_on_error require_data_stream",
    "create": "include_source_on_error require_data_stream",
    "update": "include_source_on_error",
    "bulk": "batch_size include_source_on_error list_executed_pipelines require_data_stream",
    "indices.get": "features",
    "field_caps": "filters include_empty_fields types",
    "indices.put_settings": "reopen",
    "cat.health": "cluster_manager_timeout",
}


def offered(endpoint: str, known: Iterable[str], *, product: bool, before_9: bool) -> list[str]:
    """Of the parameters of an endpoint those that a node would offer. ``before_9``: it is of Elasticsearch 8, and does not have
    those that came later."""
    quiet = {*_IF_GIVEN.split(), *_EITHER.get(endpoint, "").split()}
    quiet.update((_ELASTICSEARCH if product else _OPENSEARCH).get(endpoint, "").split())
    if not product:
        quiet.add("master_timeout")
    if before_9:
        quiet.add("_source_exclude_vectors")
    return [name for name in known if name not in quiet]
