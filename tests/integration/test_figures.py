"""F05: what a tenant reads of its own indices does not move with what its neighbours write and ask."""

from __future__ import annotations

import json
from typing import Any

from tests.integration.proxy import BUSY, SharedCluster
from tests.integration.test_attacks import body_of, exchange, status_of
from tests.oracle.attack import request

# Of an index of its own a node tells how long ago it was written to; of one in a pool, nothing moves.
POOLED = (
    "/figures/_stats?level=shards&fields=*&groups=*&include_segment_file_sizes=true&human=true",
    "/figures/_segments",
    "/figures/_recovery?detailed=true&human=true",
    "/figures/_shard_stores?status=all",
    "/_cat/indices/figures?h=*&format=json",
    "/_cat/segments/figures?h=*&format=json",
    "/_cat/recovery/figures?h=*&format=json",
    "/_cat/shards/figures?h=index,shard,prirep,state,docs,store,segments.count,search.query_total,indexing.index_total&format=json",
)
DEDICATED = ("/figures/_stats/docs,store,indexing", "/_cat/indices/figures?h=index,docs.count&format=json", "/figures/_segments")


def seen(url: str, targets: tuple[str, ...]) -> list[Any]:
    out = []
    for target in targets:
        answer = exchange(url, request("GET", target))
        assert status_of(answer) == 200, answer[:2000]
        out.append(json.loads(body_of(answer), object_hook=_timeless))
    return out


def _timeless(figures: dict[str, Any]) -> dict[str, Any]:
    """Without averages over time, which sink while nothing happens."""
    return {name: value for name, value in figures.items() if not name.endswith("write_load")}


def test_figures_stay_while_a_neighbour_writes_and_searches(cluster: SharedCluster) -> None:
    url = cluster.served.url
    made = {"settings": {"number_of_replicas": 0}, "mappings": {"properties": {"t": {"type": "text", "fielddata": True}}}}
    targets = DEDICATED if cluster.placement == "dedicated" else POOLED
    lines = b"".join(b'{"index":{}}\n{"t":"word %d"}\n' % n for n in range(1000))
    try:
        for tenant in ("acme", BUSY):
            assert status_of(exchange(url, request("PUT", "/figures", made, tenant=tenant))) == 200
        first = request("PUT", "/figures/_doc/1?refresh=true", {"t": "mine"})
        assert status_of(exchange(url, first)) == 201
        before = seen(url, targets)
        bulk = request("POST", "/figures/_bulk?refresh=true", lines, tenant=BUSY)
        assert b'"errors":false' in exchange(url, bulk)
        search = {"sort": ["t"], "stats": ["secret"]}
        assert status_of(exchange(url, request("POST", "/figures/_search", search, tenant=BUSY))) == 200
        assert status_of(exchange(url, request("POST", "/figures/_flush", tenant=BUSY))) == 200
        assert seen(url, targets) == before
        counted = seen(url, ("/figures/_stats/docs",))[0]["indices"]["figures"]["primaries"]["docs"]["count"]
        assert counted == 1
    finally:
        for tenant in ("acme", BUSY):
            exchange(url, request("DELETE", "/figures", tenant=tenant))
