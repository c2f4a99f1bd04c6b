"""Two tenants in the same pools, through two workers: equal index names, equal ids, fields of colliding types.
Neither sees, counts or changes the other's."""

from __future__ import annotations

import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from tests.integration.proxy import free_port

CANARY = "canaryzwitscher"
CONFIG = """
[listen]
port = {port}
admin_port = 0
workers = 2
[clusters.main]
nodes = ["{node}"]
[placement]
layout = "shared"
cluster = "main"
[[placement.rules]]
tenants = ["{mixed}"]
indices = ["apart-*"]
layout = "dedicated"
[identity]
header = "x-tenant"
[tenants]
ids = ["{one}", "{two}", "{mixed}"]
[secrets]
keys = ["kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"]
"""


class Tenant:
    """One tenant's client. ``call`` answers (status, body)."""

    def __init__(self, url: str, name: str) -> None:
        self.name = name
        self.http = httpx.Client(base_url=url, headers={"x-tenant": name}, timeout=60)

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        if isinstance(body, list):
            content = b"".join((line if isinstance(line, bytes) else orjson.dumps(line)) + b"\n" for line in body)
            answer = self.http.request(method, path, content=content, headers={"content-type": "application/x-ndjson"})
        else:
            answer = self.http.request(method, path, json=body) if body is not None else self.http.request(method, path)
        self.text = answer.text
        return answer.status_code, answer.json() if "json" in answer.headers.get(
            "content-type", ""
        ) and answer.text else answer.text

    def ok(self, method: str, path: str, body: Any = None) -> Any:
        status, tree = self.call(method, path, body)
        assert status in (200, 201), (method, path, status, tree)
        return tree


@pytest.fixture(scope="module")
def three(node_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Tenant, Tenant, Tenant]]:
    mark = secrets.token_hex(3)
    names = [f"one-{mark}", f"two-{mark}", f"mixed-{mark}"]
    folder: Path = tmp_path_factory.mktemp("pools")
    port = free_port()
    config = folder / "esproxy.toml"
    config.write_text(CONFIG.format(port=port, node=node_url, one=names[0], two=names[1], mixed=names[2]))
    log = folder / "log"
    with log.open("wb") as out:
        process = subprocess.Popen([sys.executable, "-m", "esproxy", "serve", "--config", str(config)], stdout=out, stderr=out)
    tenants = [Tenant(f"http://127.0.0.1:{port}", name) for name in names]
    try:
        for _ in range(600):
            assert process.poll() is None, log.read_text()
            try:
                if tenants[0].call("GET", "/_count")[0] == 200:  # the catalogue is there: a slow node takes seconds to make it
                    break
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        yield tenants[0], tenants[1], tenants[2]
        for tenant in tenants[:2]:
            tenant.ok("DELETE", "/*")
    finally:
        for tenant in tenants:
            tenant.http.close()
        process.terminate()
        process.wait(20)
        httpx.delete(f"{node_url}/{names[2]}.apart-x")
    assert "violation" not in log.read_text()
    assert "Traceback" not in log.read_text(), log.read_text()


@pytest.fixture
def pair(three: tuple[Tenant, Tenant, Tenant]) -> tuple[Tenant, Tenant]:
    return three[0], three[1]


def fresh() -> str:
    return f"ix-{secrets.token_hex(3)}"


def ids(answer: Any) -> list[str]:
    return sorted(hit["_id"] for hit in answer["hits"]["hits"])


def fill(pair: tuple[Tenant, Tenant]) -> str:
    """Both tenants write the same ids to the same name; ``n`` is a number for one and text for the other."""
    index = fresh()
    one, two = pair
    one.ok("PUT", f"/{index}/_doc/1?refresh=true", {"n": 5, "w": "apple", "o": {"p": 1.50}})
    two.ok("PUT", f"/{index}/_doc/1?refresh=true", {"n": "five", "w": CANARY, "o": "flat"})
    one.ok("PUT", f"/{index}/_doc/2?refresh=true", {"n": 7, "w": "pear"})
    two.ok("PUT", f"/{index}/_doc/2?refresh=true", {"n": "seven", "w": CANARY, "secret": CANARY})
    return index


def test_documents_equal_ids_each_has_its_own(pair: tuple[Tenant, Tenant]) -> None:
    index = fill(pair)
    one, two = pair
    assert one.ok("GET", f"/{index}/_doc/1") == one.ok("GET", f"/{index}/_doc/1") | {"_index": index, "_id": "1", "_version": 1}
    assert one.ok("GET", f"/{index}/_source/1") == {"n": 5, "w": "apple", "o": {"p": 1.5}}
    assert '"p": 1.50' in one.text or '"p":1.50' in one.text or '"p":1.5' in one.text
    assert two.ok("GET", f"/{index}/_source/1") == {"n": "five", "w": CANARY, "o": "flat"}
    assert "~" not in two.text
    assert "_routing" not in one.ok("GET", f"/{index}/_doc/1")
    assert one.call("DELETE", f"/{index}/_doc/1?refresh=true")[0] == 200
    assert one.call("GET", f"/{index}/_doc/1")[0] == 404
    assert two.call("GET", f"/{index}/_doc/1")[0] == 200


def test_mapping_colliding_types_each_has_its_own(pair: tuple[Tenant, Tenant]) -> None:
    index = fill(pair)
    one, two = pair
    mine = one.ok("GET", f"/{index}/_mapping")[index]["mappings"]["properties"]
    theirs = two.ok("GET", f"/{index}/_mapping")[index]["mappings"]["properties"]
    assert mine["n"] == {"type": "long"} and mine["o"] == {"properties": {"p": {"type": "float"}}}
    assert theirs["n"]["type"] == "text" and theirs["o"]["type"] == "text" and set(theirs) == {"n", "o", "w", "secret"}
    assert "secret" not in mine and set(mine) == {"n", "o", "w"}


def test_search_renamed_field_every_use(pair: tuple[Tenant, Tenant]) -> None:
    index = fill(pair)
    one, two = pair
    assert ids(one.ok("POST", f"/{index}/_search", {"query": {"range": {"n": {"gte": 6}}}})) == ["2"]
    assert ids(two.ok("POST", f"/{index}/_search", {"query": {"match": {"n": "seven"}}})) == ["2"]
    assert ids(two.ok("GET", f"/{index}/_search?q=n:five")) == ["1"]
    assert ids(two.ok("GET", f"/{index}/_search?q=five&df=n")) == ["1"]
    assert ids(two.ok("POST", f"/{index}/_search", {"query": {"exists": {"field": "n"}}})) == ["1", "2"]
    found = two.ok(
        "POST",
        f"/{index}/_search",
        {"sort": ["n.keyword"], "fields": ["n"], "highlight": {"fields": {"n": {}}}, "query": {"match": {"n": "five"}}},
    )
    hit = found["hits"]["hits"][0]
    assert hit["fields"] == {"n": ["five"]} and hit["highlight"] == {"n": ["<em>five</em>"]} and hit["sort"] == ["five"]
    aggs = {"a": {"terms": {"field": "n.keyword"}}}
    found = two.ok("POST", f"/{index}/_search", {"size": 0, "aggs": aggs})["aggregations"]["a"]["buckets"]
    assert sorted(bucket["key"] for bucket in found) == ["five", "seven"]
    found = two.ok("POST", f"/{index}/_search?_source_includes=n", {"sort": [{"n.keyword": "desc"}]})
    assert [hit["_source"] for hit in found["hits"]["hits"]] == [{"n": "seven"}, {"n": "five"}]
    two.ok("POST", f"/{index}/_update/1?refresh=true", {"doc": {"n": "fifth"}})
    assert two.ok("GET", f"/{index}/_source/1")["n"] == "fifth"


def test_search_counts_only_own(pair: tuple[Tenant, Tenant]) -> None:
    index = fill(pair)
    one, _ = pair
    one.ok("PUT", f"/{index}-b/_doc/1?refresh=true", {"w": "apple"})
    assert one.ok("GET", f"/{index}*/_count")["count"] == 3
    found = one.ok(
        "POST",
        f"/{index}*/_search",
        {
            "aggs": {
                "w": {"terms": {"field": "w.keyword"}, "aggs": {"t": {"top_hits": {"size": 5}}}},
                "i": {"terms": {"field": "_index"}},
            },
            "sort": ["_index"],
        },
    )
    assert CANARY not in one.text and "pool~" not in one.text
    assert {b["key"]: b["doc_count"] for b in found["aggregations"]["w"]["buckets"]} == {"apple": 2, "pear": 1}
    assert {b["key"]: b["doc_count"] for b in found["aggregations"]["i"]["buckets"]} == {index: 2, f"{index}-b": 1}
    assert sorted(hit["sort"][0] for hit in found["hits"]["hits"]) == [index, index, f"{index}-b"]
    assert ids(one.ok("POST", f"/{index}*/_search", {"query": {"ids": {"values": ["1"]}}})) == ["1", "1"]
    assert ids(one.ok("POST", f"/{index}/_search", {"query": {"terms": {"_id": ["1", "9"]}}})) == ["1"]
    assert ids(
        one.ok("POST", f"/{index}/_search", {"query": {"terms": {"w": {"index": f"{index}-b", "id": "1", "path": "w"}}}})
    ) == ["1"]
    assert ids(one.ok("POST", f"/{index}*,-{index}/_search", {})) == ["1"]
    assert one.ok("GET", "/nothing*/_search")["hits"]["total"]["value"] == 0
    status, tree = one.call("GET", f"/{index},nope/_search")
    assert status == 404 and tree["error"]["reason"] == "no such index [nope]"


def test_bulk_items_in_their_places(pair: tuple[Tenant, Tenant]) -> None:
    one, two = pair
    index = fresh()
    one.ok("PUT", f"/{index}-s", {"mappings": {"dynamic": "strict", "properties": {"a": {"type": "long"}}}})
    two.ok("PUT", f"/{index}/_doc/1?refresh=true", {"x": CANARY})
    answer = one.ok("POST", "/_bulk?refresh=true", [
        {"index": {"_index": index, "_id": "1"}}, {"x": 1},
        {"create": {"_index": index, "_id": "1"}}, {"x": 2},
        {"index": {"_index": index}}, {"x": 3, "deep": {"y": "z"}},
        {"index": {"_index": f"{index}-s", "_id": "1"}}, {"b": 1},
        {"index": {"_index": f"{index}-s", "_id": "2"}}, {"a": 1},
        {"index": {"_index": index, "_id": "bad"}}, b"{nonsense",
        {"update": {"_index": index, "_id": "1"}}, {"doc": {"x": 9}},
        {"delete": {"_index": index, "_id": "nope"}},
        {"delete": {"_index": f"{index}-nope", "_id": "1"}},
        {"index": {"_index": "UPPER", "_id": "1"}}, {"x": 1},
    ])  # fmt: skip
    assert "pool~" not in one.text and one.name not in one.text
    told = [(next(iter(item)), next(iter(item.values()))["status"]) for item in answer["items"]]
    assert told == [
        ("index", 201), ("create", 409), ("index", 201), ("index", 400), ("index", 201), ("index", 400),
        ("update", 200), ("delete", 404), ("delete", 404), ("index", 400),
    ]  # fmt: skip
    assert len(answer["items"][2]["index"]["_id"]) == 20
    assert answer["items"][3]["index"]["error"]["type"] == "strict_dynamic_mapping_exception"
    assert answer["items"][3]["index"]["_id"] == "1" and answer["items"][3]["index"]["_index"] == f"{index}-s"
    assert answer["items"][8]["delete"]["error"]["type"] == "index_not_found_exception"
    assert one.ok("GET", f"/{index}/_source/1") == {"x": 9}
    assert two.ok("GET", f"/{index}/_source/1") == {"x": CANARY}
    assert one.ok("GET", f"/{index}/_count")["count"] == 2


def test_mget_and_msearch_with_missing_indices(pair: tuple[Tenant, Tenant]) -> None:
    index = fill(pair)
    one, _ = pair
    answer = one.ok(
        "POST", "/_mget", {"docs": [{"_index": index, "_id": "1"}, {"_index": "nope", "_id": "1"}, {"_index": index, "_id": "9"}]}
    )
    assert [(d["_index"], d["_id"], d.get("found")) for d in answer["docs"]] == [
        (index, "1", True),
        ("nope", "1", None),
        (index, "9", False),
    ]
    assert answer["docs"][1]["error"]["reason"] == "no such index [nope]"
    assert [d["found"] for d in one.ok("POST", f"/{index}/_mget", {"ids": ["1", "2", "3"]})["docs"]] == [True, True, False]
    answer = one.ok(
        "POST", f"/{index}/_msearch", [{}, {"query": {"match_all": {}}}, {"index": "nope"}, {}, {"index": [index]}, {"size": 0}]
    )
    assert ids(answer["responses"][0]) == ["1", "2"] and answer["responses"][1]["status"] == 404
    assert (
        answer["responses"][1]["error"]["reason"] == "no such index [nope]"
        and answer["responses"][2]["hits"]["total"]["value"] == 2
    )
    assert CANARY not in one.text and "pool~" not in one.text


def test_delete_index_recreated_is_empty(pair: tuple[Tenant, Tenant]) -> None:
    index = fill(pair)
    one, two = pair
    assert one.ok("DELETE", f"/{index}") == {"acknowledged": True}
    assert one.call("GET", f"/{index}/_search")[0] == 404 and one.call("HEAD", f"/{index}")[0] == 404
    assert one.ok("PUT", f"/{index}/_doc/1?refresh=true", {"n": "now text"})["_version"] == 1
    assert one.ok("GET", f"/{index}/_count")["count"] == 1
    assert set(one.ok("GET", f"/{index}/_mapping")[index]["mappings"]["properties"]) == {"n"}
    assert two.ok("GET", f"/{index}/_count")["count"] == 2


def test_by_query_only_own(pair: tuple[Tenant, Tenant]) -> None:
    index = fill(pair)
    one, two = pair
    answer = one.ok("POST", f"/{index}/_update_by_query?refresh=true", {"script": {"source": "ctx._source.w = 'new'"}})
    assert answer["updated"] == 2 and two.ok("GET", f"/{index}/_source/1")["w"] == CANARY
    assert one.call("POST", f"/{index}/_delete_by_query", {})[0] == 400
    assert one.ok("POST", f"/{index}/_delete_by_query?refresh=true", {"query": {"match_all": {}}})["deleted"] == 2
    assert two.ok("GET", f"/{index}/_count")["count"] == 2 and one.ok("GET", f"/{index}/_count")["count"] == 0
    assert two.ok("POST", f"/{index}/_delete_by_query?refresh=true&q=n:five")["deleted"] == 1


def test_aliases_resolve_and_swap(pair: tuple[Tenant, Tenant]) -> None:
    index = fill(pair)
    one, two = pair
    one.ok("PUT", f"/{index}/_alias/{index}-al")
    assert ids(one.ok("GET", f"/{index}-al/_search")) == ["1", "2"]
    assert two.call("GET", f"/{index}-al/_search")[0] == 404
    one.ok("PUT", f"/{index}-2/_doc/9?refresh=true", {"w": "x"})
    one.ok(
        "POST",
        "/_aliases",
        {
            "actions": [
                {"remove": {"index": index, "alias": f"{index}-al"}},
                {"add": {"index": f"{index}-2", "alias": f"{index}-al"}},
            ]
        },
    )
    assert ids(one.ok("GET", f"/{index}-al/_search")) == ["9"]
    assert one.ok("GET", f"/_alias/{index}-al") == {f"{index}-2": {"aliases": {f"{index}-al": {}}}}
    assert one.ok("POST", f"/{index}-al/_doc?refresh=true", {"w": "y"})["_index"] == f"{index}-2"
    assert one.call("GET", f"/_alias/{index}-nope")[0] == 404 and one.call("HEAD", f"/_alias/{index}-al")[0] == 200
    one.ok("DELETE", f"/{index}-2/_alias/{index}-al")
    assert one.call("HEAD", f"/_alias/{index}-al")[0] == 404


def test_metadata_of_own_only(pair: tuple[Tenant, Tenant]) -> None:
    index = fill(pair)
    one, _ = pair
    rows = one.ok("GET", f"/_cat/indices/{index}?format=json")
    assert [(row["index"], row["docs.count"]) for row in rows] == [(index, "2")]
    assert one.ok("GET", f"/_cat/count/{index}?format=json")[0]["count"] == "2"
    settings = one.ok("GET", f"/{index}/_settings")[index]["settings"]["index"]
    assert settings["provided_name"] == index and "mapping" not in settings
    assert one.ok("GET", f"/_cluster/health/{index}?level=indices")["indices"].keys() == {index}
    assert one.ok("POST", f"/{index}/_refresh")["_shards"]["failed"] == 0
    one.ok("PUT", f"/{index}/_mapping", {"properties": {"later": {"type": "date"}}})
    assert one.ok("GET", f"/{index}/_mapping")[index]["mappings"]["properties"]["later"] == {"type": "date"}
    assert one.call("PUT", f"/{index}/_mapping", {"properties": {"n": {"type": "keyword"}}})[0] == 400


FORGED = "ctx['_rou'+'ting'] = '{scope}'; ctx['_i'+'d'] = '{scope}:1'; ctx._source.w = 'stolen'"
HOSTILE: list[tuple[str, str, Any]] = [
    ("POST", "/{i}/_search", {"query": {"term": {"_routing": "{scope}"}}}),
    ("POST", "/{i}/_search", {"query": {"bool": {"should": [{"match_all": {}}, {"match": {"w": CANARY}}]}}}),
    ("POST", "/{i}/_search", {"query": {"bool": {"must_not": {"match": {"w": "nothing"}}}}}),
    ("GET", "/{i}/_search?routing={scope}", None),
    ("GET", "/{i}/_search?q=*:*", None),
    ("GET", "/{i}/_search?q=_routing:*", None),
    ("GET", "/_search?size=1000", None),
    ("GET", "/*/_search?size=1000", None),
    ("GET", "/pool~*/_search", None),
    ("GET", "/pool~{i}-*/_search", None),
    ("GET", "/esproxy~catalogue/_search", None),
    ("POST", "/{i}/_search", {"post_filter": {"match_all": {}}}),
    ("POST", "/{i}/_search", {"aggs": {"g": {"global": {}, "aggs": {"h": {"top_hits": {}}}}}}),
    ("POST", "/{i}/_search", {"aggs": {"g": {"significant_terms": {"field": "w.keyword", "min_doc_count": 1}}}}),
    ("POST", "/{i}/_search", {"aggs": {"g": {"terms": {"field": "_routing"}}}}),
    ("POST", "/{i}/_search", {"aggs": {"g": {"terms": {"field": "w.keyword", "min_doc_count": 0}}}}),
    ("POST", "/{i}/_search", {"suggest": {"s": {"text": CANARY[:-1], "term": {"field": "w"}}}}),
    ("POST", "/{i}/_search", {"query": {"terms": {"w": {"index": "{pool}", "id": "{scope}:1", "path": "w"}}}}),
    ("POST", "/{i}/_search", {"query": {"terms": {"w": {"index": "{i}", "id": "1", "routing": "{scope}", "path": "w"}}}}),
    ("POST", "/{i}/_search", {"query": {"ids": {"values": ["{scope}:1"]}}}),
    ("POST", "/{i}/_search", {"query": {"term": {"_id": "{scope}:1"}}}),
    ("POST", "/{i}/_search", {"query": {"more_like_this": {"fields": ["w"], "like": [{"_id": "{scope}:1"}], "min_doc_freq": 1}}}),
    ("POST", "/{i}/_search", {"query": {"wildcard": {"w": "can*"}}, "highlight": {"fields": {"*": {}}}}),
    ("POST", "/{i}/_search", {"script_fields": {"s": {"script": "doc['_routing'].value"}}}),
    ("POST", "/{i}/_search", {"stored_fields": "_none_"}),
    ("POST", "/{i}/_search", {"fields": ["*", "_routing"]}),
    ("POST", "/{i}/_search", {"docvalue_fields": ["*"]}),
    ("POST", "/{i}/_validate/query?rewrite=true", {"query": {"prefix": {"w": "can"}}}),
    ("POST", "/{i}/_validate/query?explain=true", {"query": {"prefix": {"w": "can"}}}),
    ("POST", "/{i}/_explain/1", {"query": {"prefix": {"w": "can"}}}),
    ("GET", "/{i}/_doc/{scope}:1", None),
    ("GET", "/{i}/_doc/1?routing={scope}", None),
    ("GET", "/{pool}/_doc/{scope}:1?routing={scope}", None),
    ("POST", "/_mget", {"docs": [{"_index": "{pool}", "_id": "{scope}:1", "routing": "{scope}"}]}),
    ("POST", "/_mget", {"docs": [{"_index": "{i}", "_id": "{scope}:1"}]}),
    ("POST", "/_msearch", [{"index": "{i}", "routing": "{scope}"}, {}]),
    ("POST", "/_msearch", [{"index": "{pool}"}, {}]),
    ("POST", "/_bulk", [{"delete": {"_index": "{i}", "_id": "{scope}:1", "routing": "{scope}"}}]),
    ("POST", "/_bulk", [{"delete": {"_index": "{pool}", "_id": "{scope}:1"}}]),
    ("POST", "/_bulk", [{"update": {"_index": "{i}", "_id": "2"}}, {"script": {"source": "ctx._id = '{scope}:1'"}}]),
    ("POST", "/{i}/_update/2", {"script": {"source": FORGED}}),
    ("POST", "/{i}/_update_by_query", {"script": {"source": "ctx['_rou'+'ting'] = '{scope}'"}}),
    ("DELETE", "/{pool}", None),
    ("DELETE", "/pool~*", None),
    ("POST", "/{pool}/_delete_by_query", {"query": {"match_all": {}}}),
    ("GET", "/{pool}/_mapping", None),
    ("GET", "/_mapping", None),
    ("GET", "/_cat/indices?format=json&h=index", None),
    ("GET", "/_cat/indices/pool*?format=json", None),
    ("POST", "/_aliases", {"actions": [{"add": {"index": "{pool}", "alias": "mine"}}]}),
    ("PUT", "/{i}-f/_doc/1?pipeline=x", {"a": 1}),
]  # fmt: skip


def test_canary_hostile_requests_show_and_change_nothing(pair: tuple[Tenant, Tenant], node_url: str) -> None:
    index = fill(pair)
    one, two = pair
    found = httpx.post(f"{node_url}/pool~{index}-*/_search", json={"query": {"match": {"w": CANARY}}}, timeout=60).json()["hits"][
        "hits"
    ]
    assert len(found) == 2
    pool, scope = found[0]["_index"], found[0]["_routing"]
    before = two.ok("GET", f"/{index}/_search?version=true&sort=n.keyword")["hits"]

    def filled(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace("{i}", index).replace("{pool}", pool).replace("{scope}", scope)
        if isinstance(value, list):
            return [filled(item) for item in value]
        return {filled(k): filled(v) for k, v in value.items()} if isinstance(value, dict) else value

    for method, path, body in HOSTILE:
        status, tree = one.call(method, filled(path), filled(body))
        assert status < 500, (path, body, status, tree)
        sent = str(filled(path)) + str(filled(body))
        assert CANARY not in one.text or CANARY in sent, (path, body, one.text)
        if status < 400 and CANARY in one.text:  # quoted, not found
            assert '"_source"' not in one.text, (path, body, one.text)
        assert two.name not in one.text.replace(scope, "") or two.name in sent, (path, body, one.text)
        assert "secret" not in one.text, (path, body, one.text)
        if pool not in sent:
            assert pool not in one.text, (path, body, one.text)
    two.ok("POST", f"/{index}/_refresh")
    assert two.ok("GET", f"/{index}/_search?version=true&sort=n.keyword")["hits"] == before


def test_mixture_concrete_names_go_where_placement_says(three: tuple[Tenant, Tenant, Tenant], node_url: str) -> None:
    mixed = three[2]
    mixed.ok("PUT", "/apart-x/_doc/1?refresh=true", {"a": 1})
    index = fresh()
    mixed.ok("PUT", f"/{index}/_doc/1?refresh=true", {"a": 1})
    assert httpx.get(f"{node_url}/{mixed.name}.apart-x/_count").json()["count"] == 1
    assert httpx.get(f"{node_url}/{mixed.name}.{index}/_count").status_code == 404
    assert ids(mixed.ok("GET", "/apart-x/_search")) == ["1"] and ids(mixed.ok("GET", f"/{index}/_search")) == ["1"]
    found = mixed.ok("GET", f"/apart-x,{index[:-1]}*/_search?q=a:1")["hits"]
    assert {hit["_index"] for hit in found["hits"]} == {"apart-x", index} and found["total"]["value"] == 2
    mixed.ok("DELETE", f"/{index}")
    mixed.ok("DELETE", "/apart-x")


def test_dynamic_false_unknown_members_stay_unmapped_and_hidden(pair: tuple[Tenant, Tenant]) -> None:
    index = fresh()
    for tenant in pair:
        tenant.ok("PUT", f"/{index}", {"mappings": {"dynamic": False, "properties": {"a": {"type": "long"}}}})
    one, two = pair
    two.ok("PUT", f"/{index}/_mapping", {"properties": {"b": {"type": "keyword"}}})
    two.ok("PUT", f"/{index}/_doc/1?refresh=true", {"a": 1, "b": CANARY})
    one.ok("PUT", f"/{index}/_doc/1?refresh=true", {"a": 1, "b": {"c": "no keyword"}})
    assert one.ok("GET", f"/{index}/_source/1") == {"a": 1, "b": {"c": "no keyword"}}
    assert ids(one.ok("POST", f"/{index}/_search", {"query": {"exists": {"field": "b"}}})) == []
    assert ids(two.ok("POST", f"/{index}/_search", {"query": {"term": {"b": CANARY}}})) == ["1"]
    assert one.ok("GET", f"/{index}/_mapping")[index]["mappings"] == {"dynamic": "false", "properties": {"a": {"type": "long"}}}
