"""A tenant with more indices than one request line names: what names them all is answered as where each has one of its own."""

from __future__ import annotations

import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.engines import Engine
from tests.integration.proxy import free_port
from tests.integration.test_pools import Tenant

COUNT = 60  # of names so long that they fill more than one line
NAMES = [f"logs-2026.01.01-{n:03d}-{'x' * 95}" for n in range(COUNT)]
LAYOUTS = ("dedicated", "per-tenant", "shared")
CONFIG = """
[listen]
port = {port}
admin_port = 0
workers = 1
[clusters.main]
nodes = ["{node}"]
[placement]
layout = "shared"
cluster = "main"
{rules}
[identity]
header = "x-tenant"
[tenants]
ids = [{ids}]
[secrets]
keys = ["kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"]
"""
RULE = """
[[placement.rules]]
tenants = ["{id}"]
layout = "{layout}"
"""
AGGS = {"size": 3, "sort": ["n"], "aggs": {"sum": {"sum": {"field": "n"}}, "by": {"terms": {"field": "_index", "size": 3}}}}
READS: list[tuple[str, str, Any]] = [
    ("GET", "/_search?size=2&sort=n", None),
    ("GET", "/logs-*/_search?sort=n:desc&version=true&_source_includes=n", None),
    ("POST", "/_search?size=3", AGGS),
    ("POST", "/_search?track_total_hits=true&from=1&size=2", {"query": {"range": {"n": {"gte": 50}}}, "sort": ["n"]}),
    ("POST", "/_search", {"query": {"nonsense": {}}}),
    ("GET", "/_count?q=n:%3E=40", None),
    ("POST", "/_validate/query", {"query": {"match": {"w": "apple"}}}),
    ("GET", "/_field_caps?fields=n", None),
    ("GET", "/_mapping", None),
    ("GET", "/_mapping/field/n", None),
    ("GET", "/_settings/index.number_of_shards", None),
    ("GET", "/_alias", None),
    ("GET", "/_cluster/health?level=indices", None),
    ("GET", "/_cat/count?h=count&format=json", None),
    ("GET", "/_cat/indices?h=index,docs.count&s=index&format=json", None),
    ("GET", "/_cat/shards?h=index,shard,prirep,docs&s=index&format=json", None),
    ("GET", "/_stats/docs", None),
    ("GET", "/_resolve/index/*", None),
    ("POST", "/_refresh", None),
    ("POST", "/_flush", None),
]
LEFT_OUT = frozenset(("took", "provided_name", "max_score", "_score", "total_size_in_bytes", "uuid", "average_size_in_bytes"))


@pytest.fixture(scope="module")
def tenants(node_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Tenant]]:
    ids = {layout: f"{layout}-of-many-indices-{secrets.token_hex(3)}-".ljust(64, "y") for layout in LAYOUTS}
    folder, port = tmp_path_factory.mktemp("wide"), free_port()
    rules = "".join(RULE.format(id=id, layout=layout) for layout, id in ids.items())
    written = CONFIG.format(port=port, node=node_url, rules=rules, ids=", ".join(f'"{id}"' for id in ids.values()))
    (folder / "esproxy.toml").write_text(written)
    log = folder / "log"
    with log.open("wb") as out:
        command = [sys.executable, "-m", "esproxy", "serve", "--config", str(folder / "esproxy.toml")]
        process = subprocess.Popen(command, stdout=out, stderr=out)
    found = {layout: Tenant(f"http://127.0.0.1:{port}", id) for layout, id in ids.items()}
    try:
        for _ in range(600):
            assert process.poll() is None, log.read_text()
            try:
                if found["shared"].call("GET", "/_count")[0] == 200:  # the catalogue is there
                    break
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        for layout, tenant in found.items():
            fill(tenant, alone=layout == "per-tenant")
        yield found
    finally:
        for tenant in found.values():
            tenant.call("DELETE", "/logs-*")
            tenant.http.close()
        process.terminate()
        process.wait(20)
    assert "violation" not in log.read_text()
    assert "Traceback" not in log.read_text(), log.read_text()


def fill(tenant: Tenant, *, alone: bool) -> None:
    """One document in each index; the name tells which. ``alone``: analysis of its own gives each a pool of its own."""
    mapping = {"properties": {"n": {"type": "long"}, "w": {"type": "keyword"}}}
    settings: dict[str, Any] = {"number_of_shards": 1, "number_of_replicas": 0}
    if alone:
        settings["analysis"] = {"analyzer": {"mine": {"type": "custom", "tokenizer": "keyword"}}}
    for name in NAMES:
        tenant.ok("PUT", f"/{name}", {"mappings": mapping, "settings": settings})
    lines: list[Any] = []
    for n, name in enumerate(NAMES):
        lines += [{"index": {"_index": name, "_id": str(n)}}, {"n": n, "w": "apple" if n % 2 else "pear"}]
    assert tenant.ok("POST", "/_bulk?refresh=true", lines)["errors"] is False


def told(tree: Any) -> Any:
    """What must be equal: no times, no figures of the cluster."""
    if isinstance(tree, dict):
        return {key: told(value) for key, value in tree.items() if key not in LEFT_OUT}
    return [told(item) for item in tree] if isinstance(tree, list) else tree


def asked(tenant: Tenant, method: str, target: str, body: Any = None) -> tuple[int, Any]:
    status, tree = tenant.call(method, target, body)
    return status, told(tree)


@pytest.mark.parametrize(("method", "target", "body"), READS, ids=[f"{method} {target}" for method, target, _ in READS])
@pytest.mark.parametrize("layout", LAYOUTS[1:])
def test_everything_named_in_many_lines_is_told_as_of_own_indices(
    tenants: dict[str, Tenant], layout: str, method: str, target: str, body: Any
) -> None:
    assert asked(tenants[layout], method, target, body) == asked(tenants["dedicated"], method, target, body)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_scroll_over_many_indices_finds_all(tenants: dict[str, Tenant], layout: str) -> None:
    tenant = tenants[layout]
    page = tenant.ok("POST", "/_search?scroll=1m", {"size": 25, "sort": ["n"]})
    found: list[int] = []
    while page["hits"]["hits"]:
        found += [int(hit["_id"]) for hit in page["hits"]["hits"]]
        page = tenant.ok("POST", "/_search/scroll", {"scroll": "1m", "scroll_id": page["_scroll_id"]})
    assert found == list(range(COUNT))
    assert tenant.ok("DELETE", "/_search/scroll", {"scroll_id": page["_scroll_id"]})["succeeded"] is True


@pytest.mark.parametrize("layout", LAYOUTS)
def test_point_in_time_over_many_indices_finds_all(tenants: dict[str, Tenant], layout: str, engine: Engine) -> None:
    tenant = tenants[layout]
    opens, key = ("/logs-*/_pit", "id") if engine.family == "elasticsearch" else ("/logs-*/_search/point_in_time", "pit_id")
    pit = tenant.ok("POST", f"{opens}?keep_alive=1m")[key]
    answer = tenant.ok("POST", "/_search", {"size": COUNT, "sort": ["n"], "pit": {"id": pit}})
    assert [int(hit["_id"]) for hit in answer["hits"]["hits"]] == list(range(COUNT))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_calls_by_query_over_many_indices_change_all(tenants: dict[str, Tenant], layout: str, node_url: str) -> None:
    tenant = tenants[layout]
    answer = tenant.ok("POST", "/_all/_update_by_query?refresh=true", {"query": {"term": {"w": "apple"}}})
    assert (answer["updated"], answer["failures"]) == (COUNT // 2, [])
    answer = tenant.ok("POST", "/_all/_delete_by_query?refresh=true", {"query": {"match_none": {}}})
    assert answer["deleted"] == 0
    left = httpx.get(f"{node_url}/_alias/many~*")
    assert left.json() == {}
