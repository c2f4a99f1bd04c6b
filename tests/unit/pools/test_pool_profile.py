"""Profiles of searches in pools: told without what they tell of others."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.pools.pool_gate import Gate, gate, hits

FUZZY = {"profile": True, "query": {"fuzzy": {"w": "fix"}}, "aggs": {"k": {"terms": {"field": "w"}}}}


def profiled(physical: str, **debug: Any) -> dict[str, Any]:
    """As a node tells it, with a word of another tenant's in the query."""
    drawn = {"type": "BooleanQuery", "description": "(#_routing:acme.17:* (w:fox) (w:theirs))~1", "time_in_nanos": 5}
    shard = {
        "id": f"[node][{physical}][0]",
        "searches": [{"query": [drawn], "rewrite_time": 7, "collector": [{"name": "AggregatorCollector: [k]"}]}],
        "aggregations": [
            {"type": "T", "description": "k", "debug": debug, "children": [{"type": "M", "debug": {"new": "theirs"}}]}
        ],
        "dfs": {"knn": [{"query": [drawn], "rewrite_time": 1}]},
    }
    return hits(profile={"shards": [shard]})


def asked(it: Gate, target: str = "/logs/_search", body: Any = FUZZY, **debug: Any) -> tuple[int, Any]:
    physical = "own~acme-1-1" if "nested" in debug else "pool~logs-1"
    return it.ask("POST", target, body, lambda send: profiled(physical, **debug))


def test_profile_in_a_pool_draws_no_query() -> None:
    status, answer = asked(
        gate("opensearch"), has_filter=False, total_buckets=2, collection_strategy="remap", unheard_of="theirs"
    )
    assert status == 200
    (shard,) = answer["profile"]["shards"]
    assert shard["id"] == "[node][logs][0]"
    assert shard["searches"] == [{"query": [], "rewrite_time": 7, "collector": [{"name": "AggregatorCollector: [k]"}]}]
    assert shard["aggregations"][0]["debug"] == {"has_filter": False, "total_buckets": 2, "collection_strategy": "remap"}
    assert shard["aggregations"][0]["children"] == [{"type": "M", "debug": {}}]
    assert shard["dfs"] == {"knn": [{"query": [], "rewrite_time": 1}]}


def test_count_of_all_terms_of_a_shared_pool_is_not_told() -> None:
    _, answer = asked(gate("opensearch"), total_buckets=900, collection_strategy="dense", has_filter=False)
    debug = answer["profile"]["shards"][0]["aggregations"][0]["debug"]
    assert debug == {"collection_strategy": "dense", "has_filter": False}


@pytest.mark.parametrize("body", [{"profile": False}, {"profile": None}])
def test_search_without_a_profile_is_left_as_it_is(body: Any) -> None:
    it = gate("opensearch")
    status, answer = it.ask("POST", "/logs/_search", body, lambda send: hits())
    assert (status, "profile" in answer) == (200, False)


def test_profile_of_indices_in_one_pool_is_refused() -> None:
    it = gate("opensearch")
    known = it.catalogue.cache.docs["directory:acme"].doc
    from dataclasses import replace

    known.indices["books"] = replace(known.indices["books"], physical="pool~logs-1")
    status, answer = asked(it, "/logs,books/_search")
    assert (status, it.sends) == (400, [])
    assert "profile" in answer["error"]["reason"]
