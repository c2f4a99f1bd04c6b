"""Why an endpoint is not for a tenant: the verdict on every one that is not served.

An endpoint that the definitions know is either served (``esproxy.api.endpoints``) or has one reason here, by its name or, where
one reason is right for all of a namespace that are not served, by ``namespace.*``. The generator and a test hold both against
the definitions: one without a verdict, one with two, and a verdict on nothing are errors. A reason says what a client can do
instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

REFUSED: dict[str, tuple[str, ...]] = {
    "settings of the cluster are its operator's: [_settings] of an index are yours": ("cluster.put_settings",),
    "machines, and where shards lie on them, are the operator's: [_cluster/health] and [_cat/shards] tell how yours are": (
        "cluster.allocation_explain", "cluster.reroute",
        "cluster.post_voting_config_exclusions", "cluster.delete_voting_config_exclusions",
        "cluster.get_weighted_routing", "cluster.put_weighted_routing", "cluster.delete_weighted_routing",
        "cluster.get_decommission_awareness", "cluster.put_decommission_awareness", "cluster.delete_decommission_awareness",
        "nodes.hot_threads", "nodes.reload_secure_settings", "nodes.get_repositories_metering_info",
        "nodes.clear_repositories_metering_archive", "health_report", "wlm_stats_list", "_internal.*", "autoscaling.*",
        "dangling_indices.*", "remote_store.*", "shutdown.*", "ssl.*", "project.*", "profiling.*", "monitoring.*",
    ),
    "upgrades and features of the cluster are its operator's": (
        "features.*", "migration.*", "streams.*", "capabilities",
        "indices.migrate_reindex", "indices.cancel_migrate_reindex", "indices.get_migrate_reindex_status",
    ),
    "the license is the cluster's, and its operator's": ("license.*",),
    "there are no users, roles and keys here: who you are is told to the proxy, whose operator says what you may do": (
        "security.*",
    ),
    "other clusters are out of reach from here: name indices without a cluster": ("ccr.*", "indices.resolve_cluster"),
    "repositories hold the indices of everybody on the cluster, so snapshots are its operator's: to copy an index use [_reindex],"
    " or read it with a point in time": ("snapshot.*", "slm.*", "searchable_snapshots.*"),
    "what the cluster does by itself it would do as its operator, to anybody's indices: ask for it when it is due, with"
    " [_rollover], [_reindex], [_update_by_query], [_delete_by_query] or [DELETE]": (
        "ilm.*", "rollup.*", "transform.*", "watcher.*", "cat.transforms", "indices.downsample",
        "indices.put_data_lifecycle", "indices.get_data_lifecycle", "indices.delete_data_lifecycle",
        "indices.get_data_lifecycle_stats", "indices.explain_data_lifecycle",
    ),
    "models and jobs are the cluster's, and name its indices by themselves: send vectors, and search them with [knn]": (
        "ml.*", "cat.ml_*", "inference.*", "text_structure.*",
    ),
    "what an application of the cluster keeps for itself is in indices that everybody on it shares: keep it in your own": (
        "connector.*", "fleet.*", "graph.*", "logstash.*", "query_rules.*", "search_application.*", "synonyms.*",
        "enrich.*",
    ),
    "the language of the query could name any index, and is not read here: use [_search]": ("eql.*", "esql.*", "sql.*"),
    "a search that outlives its request is not offered: use [_search] with a [timeout], a scroll or a point in time": (
        "async_search.*",
    ),
    "data streams are not offered: write to an alias with a write index, and use [_rollover]": (
        "indices.create_data_stream", "indices.get_data_stream", "indices.delete_data_stream", "indices.data_streams_stats",
        "indices.migrate_to_data_stream", "indices.modify_data_stream", "indices.promote_data_stream",
        "indices.get_data_stream_mappings", "indices.put_data_stream_mappings", "indices.get_data_stream_options",
        "indices.put_data_stream_options", "indices.delete_data_stream_options", "indices.get_data_stream_settings",
        "indices.put_data_stream_settings",
    ),
    "files and databases of the nodes are their operator's": (
        "ingest.geo_ip_stats", "ingest.get_geoip_database", "ingest.put_geoip_database", "ingest.delete_geoip_database",
        "ingest.get_ip_location_database", "ingest.put_ip_location_database", "ingest.delete_ip_location_database",
        "indices.reload_search_analyzers",
    ),
    "what is on a disk, and how often it is read, is told by [_stats]": (
        "indices.disk_usage", "indices.field_usage_stats",
    ),
    "a script is run for a search, an update or a pipeline only: try it there": ("scripts_painless_execute",),
    "a pipeline is tried with [_ingest/pipeline/_simulate]": ("simulate.*",),
    "map tiles are not drawn: ask for [geotile_grid] in a search": ("search_mvt",),
    "it is gone from Elasticsearch: send [knn] to [_search]": ("knn_search",),
    "it is gone from Elasticsearch: an index is thawed by being there": ("indices.unfreeze",),
    "an index is made with [PUT /index], and filled with [_reindex]": ("indices.create_from",),
    "a reindex is a task: list, get and cancel it with [_tasks]": (
        "list_reindex", "get_reindex", "cancel_reindex",
    ),
}  # fmt: skip


def reason(endpoint: str) -> str:
    """Why it is refused. Raises KeyError where there is no verdict: the generator has seen to it that there is one."""
    found = _reasons(endpoint)
    if not found:
        raise KeyError(endpoint)
    return found[0]


def _reasons(endpoint: str) -> list[str]:
    exact = [why for why, names in REFUSED.items() if endpoint in names]
    return exact or [why for why, names in REFUSED.items() if any(fnmatchcase(endpoint, name) for name in names)]


def faults(known: Iterable[str], served: Mapping[str, object] | Iterable[str]) -> list[str]:
    """What is wrong with the verdicts. ``known``: every endpoint of every engine; ``served``: those that are not refused."""
    known, served = set(known), set(served)
    out = [f"{name}: no definition knows it, and it is served" for name in sorted(served - known)]
    for name in sorted(known - served):
        count = len(_reasons(name))
        if count != 1:
            out.append(f"{name}: {'no verdict' if not count else f'{count} verdicts'}")
    patterns = [name for names in REFUSED.values() for name in names]
    out += [f"{name}: two verdicts" for name in sorted({name for name in patterns if patterns.count(name) > 1})]
    for name in patterns:
        if name in served:
            out.append(f"{name}: served, and refused")
        elif not any(fnmatchcase(one, name) for one in known - served):
            out.append(f"{name}: a verdict on nothing")
    return out
