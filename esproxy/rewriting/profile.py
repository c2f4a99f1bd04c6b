"""The profile of a search in a pool, without what it tells of others.

A node draws the query as it ran it: with the clause of the filter, and with every pattern and fuzzy word as the terms that the
whole physical index has for it. Which of these clauses are the client's cannot be told from outside, so the drawing of a query is
left out; what an aggregation did is told, as far as it is known to speak of the documents that were found (``SAFE``).
"""

from __future__ import annotations

from typing import Any

SAFE = frozenset(
    ("brute_force_used", "bucket_overestimate", "built_buckets", "collection_strategy", "deferred_aggregators", "delegate",
     "delegate_debug", "dynamic_pruning_attempted", "dynamic_pruning_succeeded", "empty_collectors_used", "filters", "has_filter",
     "inner_visited", "leaf_visited", "map_reducer", "numeric_collectors_used", "optimized_segments",
     "ordinals_collectors_overhead_too_high", "ordinals_collectors_used", "result_selection_strategy", "result_strategy",
     "segments_collected", "segments_with_multi_valued_ords", "segments_with_single_valued_ords", "skipped_due_to_no_data",
     "specialized_for", "string_hashing_collectors_used", "surviving_buckets", "total_buckets", "unoptimized_segments",
     "wasted_buckets", "wasted_buckets_overestimate")
)  # fmt: skip
ALL_TERMS = "dense"  # a strategy that has a bucket for each term of the physical index


def without_queries(profile: Any, *, own_terms: bool) -> None:
    """In place. ``own_terms``: no field of the physical index is another's, so figures of all its terms are the index's own."""
    for shard in profile.get("shards") or () if isinstance(profile, dict) else ():
        dfs = shard.get("dfs")
        knn = dfs.get("knn") if isinstance(dfs, dict) else None
        for search in (*(shard.get("searches") or ()), *(knn if isinstance(knn, list) else ())):
            if "query" in search:
                search["query"] = []
        _aggregations(shard.get("aggregations"), own_terms)


def _aggregations(drawn: Any, own_terms: bool) -> None:
    for one in drawn or ():
        if "debug" in one:
            one["debug"] = _safe(one["debug"], own_terms)
        _aggregations(one.get("children"), own_terms)


def _safe(debug: Any, own_terms: bool) -> Any:
    if isinstance(debug, list):
        return [_safe(one, own_terms) for one in debug]
    if not isinstance(debug, dict):
        return debug
    every = str(debug.get("collection_strategy", "")).startswith(ALL_TERMS) and not own_terms
    return {
        key: _safe(value, own_terms) for key, value in debug.items() if key in SAFE and not (every and key == "total_buckets")
    }
