"""Which code serves which endpoint for indices in pools. What has no row is refused there."""

from __future__ import annotations

from typing import NamedTuple

from esproxy.errors import Refusal
from esproxy.pools import (
    admin,
    aliases,
    background,
    blocks,
    cat,
    cat_aliases,
    cat_figures,
    cursors,
    documents,
    mappings,
    settings,
    states,
    statistics,
)
from esproxy.pools import search as searches
from esproxy.pools.analyze import analyze
from esproxy.pools.background import may_be_left
from esproxy.pools.bulk import bulk
from esproxy.pools.creation import put_template
from esproxy.pools.field_caps import field_caps
from esproxy.pools.frame import Family
from esproxy.pools.health import health
from esproxy.pools.mget import mget
from esproxy.pools.msearch import msearch
from esproxy.pools.pipelines import delete_pipeline
from esproxy.pools.rank_eval import rank_eval
from esproxy.pools.reindex import reindex
from esproxy.pools.rendered import msearch_template, search_template
from esproxy.pools.resize import resize
from esproxy.pools.resolve import resolve_index
from esproxy.pools.rollover import rollover
from esproxy.pools.search_shards import search_shards
from esproxy.pools.state import cluster_state
from esproxy.pools.terms_enum import terms_enum
from esproxy.pools.termvectors import mtermvectors, termvectors
from esproxy.pools.virtual import figures


class Served(NamedTuple):
    """``write``: when what it rests on has changed under way, it may not be done again."""

    family: Family
    write: bool = False


FAMILIES: dict[str, Served] = {
    "index": Served(documents.write, True),
    "create": Served(documents.write, True),
    "update": Served(documents.write, True),
    "delete": Served(documents.delete, True),
    "get": Served(documents.read),
    "exists": Served(documents.read),
    "get_source": Served(documents.read),
    "exists_source": Served(documents.read),
    "explain": Served(documents.explain),
    "bulk": Served(bulk, True),
    "mget": Served(mget),
    "termvectors": Served(termvectors),
    "mtermvectors": Served(mtermvectors),
    "search": Served(searches.search),
    "count": Served(searches.search),
    "msearch": Served(msearch),
    "search_template": Served(search_template),
    "msearch_template": Served(msearch_template),
    "rank_eval": Served(rank_eval),
    "reindex": Served(reindex, True),
    "terms_enum": Served(terms_enum),
    "indices.validate_query": Served(searches.validate),
    "delete_by_query": Served(searches.by_query, True),
    "update_by_query": Served(searches.by_query, True),
    "field_caps": Served(field_caps),
    "scroll": Served(cursors.scroll, True),
    "clear_scroll": Served(cursors.close),
    "open_point_in_time": Served(cursors.open_point_in_time),
    "close_point_in_time": Served(cursors.close),
    "create_pit": Served(cursors.open_point_in_time),
    "delete_pit": Served(cursors.close),
    "indices.create": Served(admin.create_index, True),
    "indices.delete": Served(admin.delete_index, True),
    "indices.exists": Served(admin.get_index),
    "indices.get": Served(admin.get_index),
    "indices.get_mapping": Served(admin.get_index),
    "indices.get_settings": Served(admin.get_index),
    "indices.get_field_mapping": Served(mappings.get_field_mapping),
    "indices.put_mapping": Served(mappings.put_mapping, True),
    "indices.put_settings": Served(settings.put_settings, True),
    "indices.open": Served(may_be_left(states.open_indices, "open", background.opening), True),
    "indices.close": Served(states.close_indices, True),
    "indices.put_index_template": Served(put_template, True),
    "indices.put_template": Served(put_template, True),
    "ingest.delete_pipeline": Served(delete_pipeline, True),
    "indices.analyze": Served(analyze),
    "indices.refresh": Served(admin.shards),
    "indices.flush": Served(admin.shards),
    "indices.forcemerge": Served(may_be_left(admin.shards, "forcemerge", background.merging)),
    "indices.clear_cache": Served(admin.shards),
    "indices.add_block": Served(blocks.add_block, True),
    "indices.remove_block": Served(blocks.remove_block, True),
    "indices.rollover": Served(rollover, True),
    **dict.fromkeys(
        ("indices.clone", "indices.shrink", "indices.split"), Served(may_be_left(resize, "resize", background.resizing), True)
    ),
    "tasks.get": Served(background.get),
    "indices.resolve_index": Served(resolve_index),
    "indices.upgrade": Served(statistics.upgrade),
    "indices.get_upgrade": Served(statistics.upgrade_status),
    "search_shards": Served(search_shards),
    "indices.stats": Served(statistics.stats),
    "indices.segments": Served(statistics.segments),
    "indices.recovery": Served(statistics.recovery),
    "indices.shard_stores": Served(statistics.shard_stores),
    "indices.get_alias": Served(aliases.get_alias),
    "indices.exists_alias": Served(aliases.get_alias),
    "indices.put_alias": Served(aliases.put_alias, True),
    "indices.delete_alias": Served(aliases.delete_alias, True),
    "indices.update_aliases": Served(aliases.update_aliases, True),
    "cat.aliases": Served(cat_aliases.aliases),
    "cat.indices": Served(cat_figures.table),
    "cat.shards": Served(cat_figures.table),
    "cat.segments": Served(cat_figures.table),
    "cat.recovery": Served(cat_figures.table),
    "cat.count": Served(cat.count),
    "cat.health": Served(cat.health),
    "cluster.health": Served(health),
    "cluster.state": Served(cluster_state),
    "cluster.stats": Served(figures),
    "nodes.stats": Served(figures),
    "cat.allocation": Served(figures),
    "cat.fielddata": Served(figures),
}
# The same for every layout: what a cluster says of itself, and what the nodes keep under the tenant's prefix.
ELSEWHERE = frozenset(
    ("info", "ping", "get_script_context", "get_script_languages", "ingest.processor_grok",
     "nodes.info", "cluster.get_settings", "cluster.pending_tasks", "cluster.remote_info",
     "cluster.info", "nodes.usage", "license.get", "xpack.info", "xpack.usage", "security.authenticate", "cat.help",
     "cat.nodes", "cat.master", "cat.cluster_manager", "cat.plugins", "cat.nodeattrs", "cat.thread_pool", "cat.circuit_breaker",
     "cat.pending_tasks", "cat.repositories", "cat.snapshots", "cat.segment_replication", "cat.component_templates",
     "indices.get_index_template", "indices.exists_index_template", "indices.delete_index_template",
     "indices.get_template", "indices.exists_template", "indices.delete_template", "cat.templates",
     "indices.simulate_index_template", "indices.simulate_template",
     "cluster.put_component_template", "cluster.get_component_template", "cluster.exists_component_template",
     "cluster.delete_component_template", "put_script", "get_script", "delete_script", "render_search_template",
     "ingest.put_pipeline", "ingest.get_pipeline", "ingest.simulate",
     "search_pipeline.put", "search_pipeline.get", "search_pipeline.delete")
)  # fmt: skip


def served(endpoint: str) -> Served:
    """Raises Refusal for an endpoint that pools do not have yet."""
    found = FAMILIES.get(endpoint)
    if found is None:
        raise Refusal(f"[{endpoint}] is not available yet for indices in pools")
    return found
