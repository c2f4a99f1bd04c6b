"""What comes back from pools: names and ids restored, everything that is not this request's withheld, rule A."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from esproxy.catalogue import names
from esproxy.catalogue.documents import GONE, OPEN, Entry, Index
from esproxy.rewriting.restore import PoolAnswer, PoolWalk
from esproxy.tenancy.target import Target
from tests.unit.pools.pool_gate import Gate, directory, gate, hit, hits

FOREIGN = [
    hit("pool~logs-1", "zenith.3:1"),  # another tenant's scope
    hit("pool~logs-1", "acme.18:1"),  # of the same tenant, but of another index
    hit("pool~logs-1", "acme.170:1"),  # begins alike
    hit("pool~books-1", "acme.18:1"),  # an index that was not asked for
    hit("acme.logs", "acme.17:1"),
    hit("pool~logs-1", "1"),
    hit("pool~logs-1", "acme.17"),
    {"_index": "pool~logs-1", "_source": {}},  # no id
    hit("pool~logs-1", "acme.17:1", inner_hits={"x": hits(hit("pool~logs-1", "zenith.3:1"))}),
    hit("pool~logs-1", "acme.17:1", fields={"_id": ["zenith.3:1"]}),
]


@pytest.mark.parametrize("foreign", FOREIGN, ids=range(len(FOREIGN)))
def test_search_foreign_hit_is_withheld(foreign: dict[str, Any]) -> None:
    it = gate()
    status, answer = it.ask("GET", "/logs/_search", b"", lambda send: hits(hit("pool~logs-1", "acme.17:9"), foreign))
    assert status == 500 and "withheld" in answer["error"]["reason"] and "zenith" not in str(answer)
    assert it.gateway.violations == 1


def test_search_key_that_no_definition_knows_is_copied_and_counted() -> None:
    it = gate()
    status, answer = it.ask("GET", "/logs/_search", b"", lambda send: hits(hit("pool~logs-1", "acme.17:9"), took_by_magic=3))
    assert status == 200 and answer["took_by_magic"] == 3
    assert it.gateway.unknown_keys == 1


def test_search_id_without_an_index_is_withheld() -> None:
    assert gate().ask("GET", "/logs/_search", b"", lambda send: hits({"_id": "acme.17:1"}))[0] == 500


def test_search_foreign_hit_in_an_aggregation_is_withheld() -> None:
    it = gate()
    aggs = {"a": {"terms": {"field": "w"}, "aggs": {"t": {"top_hits": {}}}}}
    bucket = {"key": "x", "doc_count": 1, "top_hits#t": {"hits": hits(hit("pool~logs-1", "zenith.3:1"))["hits"]}}
    tree = {"sterms#a": {"doc_count_error_upper_bound": 0, "sum_other_doc_count": 0, "buckets": [bucket]}}
    status, _ = it.ask("POST", "/logs/_search", {"aggs": aggs}, lambda send: hits(aggregations=tree))
    assert status == 500 and b"typed_keys=true" in it.sent.target
    bucket["top_hits#t"]["hits"]["hits"] = [hit("pool~logs-1", "acme.17:1")]
    status, answer = it.ask("POST", "/logs/_search", {"aggs": aggs}, lambda send: hits(aggregations=tree))
    assert answer["aggregations"]["a"]["buckets"][0]["t"]["hits"]["hits"][0]["_id"] == "1"


@pytest.mark.parametrize("routing", ["zenith.3:", "acme.170:", "acme.17", "acme.1:7:", ""])
def test_search_own_id_with_foreign_routing_is_withheld(routing: str) -> None:
    found = hit("pool~logs-1", "acme.17:1", _routing=routing)
    assert gate().ask("GET", "/logs/_search", b"", lambda send: hits(found))[0] == 500


@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch"])
def test_routing_is_shown_as_it_was_given(engine: str) -> None:
    found = [hit("pool~logs-1", "acme.17:1", _routing="acme.17:a:b c"), hit("pool~logs-1", "acme.17:2")]
    _, answer = gate(engine).ask("GET", "/logs/_search", b"", lambda send: hits(*found))
    assert [one.get("_routing") for one in answer["hits"]["hits"]] == ["a:b c", None]
    it = gate(engine, settings={"index.number_of_shards": 3})
    found = [hit("pool~logs-1", "acme.17:1", _routing="acme.17:a:12"), hit("pool~logs-1", "acme.17:2", _routing="acme.17::0")]
    _, answer = it.ask("GET", "/logs/_search", b"", lambda send: hits(*found))
    assert [one.get("_routing") for one in answer["hits"]["hits"]] == ["a", None]


GET = {"docs": [{"_index": "pool~logs-1", "_id": "acme.1:1", "found": True}]}
BULK = {"took": 1, "errors": False, "items": [{"delete": {"_index": "pool~logs-1", "_id": "zenith.1:1", "status": 200}}]}


@pytest.mark.parametrize(
    ("method", "target", "body", "answer"),
    [
        ("GET", "/logs/_doc/1", b"", {"_index": "pool~logs-1", "_id": "zenith.3:1", "found": True, "_source": {}}),
        ("GET", "/logs/_doc/1", b"", {"_index": "pool~books-1", "_id": "acme.18:1", "found": True, "_source": {}}),
        ("POST", "/_mget", {"docs": [{"_index": "logs", "_id": "1"}]}, GET),
        ("POST", "/_bulk", b'{"delete":{"_index":"logs","_id":"1"}}\n', BULK),
        ("DELETE", "/logs/_doc/1", b"", {"_index": "pool~zz-1", "_id": "acme.17:1", "result": "deleted"}),
    ],
)  # fmt: skip
def test_answer_with_foreign_names_is_withheld(method: str, target: str, body: Any, answer: Any) -> None:
    it = gate()
    assert it.ask(method, target, body, lambda send: answer)[0] == 500
    assert it.gateway.violations == 1


def test_hit_restored_without_routing_and_with_logical_fields() -> None:
    it = gate()
    found = hit("pool~logs-1", "acme.17:a:b", {"n~2": 1.50, "a~2~1": "x"}, fields={"n~2": [1]}, highlight={"n~2": ["h"]})
    _, answer = it.ask("GET", "/logs/_search", b"", lambda send: hits(found))
    restored = answer["hits"]["hits"][0]
    assert restored["_index"] == "logs" and restored["_id"] == "a:b" and "_routing" not in restored
    assert restored["_source"] == {"n": 1.5, "a~2": "x"}
    assert restored["fields"] == {"n": [1]} and restored["highlight"] == {"n": ["h"]}


def test_buckets_by_index_that_take_no_script_are_restored_and_verified() -> None:
    it = gate()
    tree = {
        "sigsterms#a": {
            "doc_count": 1,
            "bg_count": 1,
            "buckets": [{"key": "pool~logs-1", "doc_count": 1, "score": 1, "bg_count": 1}],
        }
    }
    body = {"aggs": {"a": {"significant_terms": {"field": "_index"}}}}
    _, answer = it.ask("POST", "/logs/_search", body, lambda send: hits(aggregations=tree))
    assert answer["aggregations"]["a"]["buckets"][0]["key"] == "logs"
    tree["sigsterms#a"]["buckets"][0]["key"] = "pool~zz-1"
    assert it.ask("POST", "/logs/_search", body, lambda send: hits(aggregations=tree))[0] == 500


def test_error_names_are_logical() -> None:
    it = gate()
    cause = {
        "type": "version_conflict_engine_exception",
        "reason": "[acme.17:1]: version conflict",
        "index": "pool~logs-1",
        "shard": "0",
    }
    error = {"error": {"root_cause": [cause], **cause}, "status": 409}
    status, answer = it.ask("PUT", "/logs/_create/1", {"w": "x"}, lambda send: (409, error))
    assert status == 409 and answer["error"]["reason"] == "[1]: version conflict" and answer["error"]["index"] == "logs"


def test_error_of_the_filter_is_the_error_itself() -> None:
    it = gate()
    inner = {"type": "illegal_argument_exception", "reason": "No enum constant"}
    outer = {"type": "x_content_parse_exception", "reason": "[1:9] [bool] failed to parse field [must]"}
    error = {"error": {"root_cause": [outer], **outer, "caused_by": inner}, "status": 400}
    _, answer = it.ask("POST", "/logs/_search", {"query": {"match": {"w": "x"}}}, lambda send: (400, error))
    assert answer == {"error": {"root_cause": [inner], **inner}, "status": 400}


def test_filter_path_is_applied_behind_verification() -> None:
    it = gate()
    _, answer = it.ask(
        "GET", "/logs/_search?filter_path=hits.total.value", b"", lambda send: hits(hit("pool~logs-1", "acme.17:1"))
    )
    assert answer == {"hits": {"total": {"value": 1}}} and b"filter_path" not in it.sent.target
    status, _ = it.ask("GET", "/logs/_search?filter_path=took", b"", lambda send: hits(hit("pool~logs-1", "acme.18:1")))
    assert status == 500


# --- rule A --------------------------------------------------------------------------------------------


def recreated(it: Gate, number: int) -> None:
    """Somebody deletes logs and makes it anew."""
    known = directory(logs=number, books=18)
    it.put(names.directory_id("acme"), known)
    index = it.catalogue.cache.get(names.index_id("acme", 17)).doc
    it.put(names.index_id("acme", number), replace(index, n=number))


def test_read_whose_index_changed_under_way_is_done_again() -> None:
    it = gate()

    def node(send: Any) -> Any:
        if b"acme.17:" in send.body:
            recreated(it, 20)
            return hits(hit("pool~logs-1", "acme.17:1", {"old": 1}))
        return hits(hit("pool~logs-1", "acme.20:1", {"w": "new"}))

    _, answer = it.ask("GET", "/logs/_search", b"", node)
    assert answer["hits"]["hits"][0]["_source"] == {"w": "new"} and len(it.sends) == 2


def test_read_that_changes_each_time_fails_in_the_end() -> None:
    it = gate()
    number = [17]

    def node(send: Any) -> Any:
        number[0] += 100
        recreated(it, number[0])
        return hits()

    assert it.ask("GET", "/logs/_search", b"", node)[0] == 503


def test_write_whose_index_changed_under_way_is_not_acknowledged() -> None:
    it = gate()

    def node(send: Any) -> Any:
        recreated(it, 20)
        return 201, {"_index": "pool~logs-1", "_id": "acme.17:1", "result": "created"}

    assert it.ask("PUT", "/logs/_doc/1", {"w": "x"}, node)[0] == 503 and len(it.sends) == 1


def test_pending_change_alone_changes_nothing() -> None:
    it = gate()

    def node(send: Any) -> Any:
        known = directory(logs=17, books=18)
        known.indices["logs"] = replace(known.indices["logs"], then=GONE)
        it.put(names.directory_id("acme"), known)
        return hits()

    assert it.ask("GET", "/logs/_search", b"", node)[0] == 200 and len(it.sends) == 1


def test_without_lease_every_request_looks_for_itself() -> None:
    it = gate()
    it.catalogue.cache.lease_until = float("-inf")
    assert it.ask("GET", "/logs/_count", b"", lambda send: {"count": 3, "_shards": {}})[1]["count"] == 3


@pytest.mark.parametrize("cut", [1, 2, 7, 50, 10_000])
def test_answer_over_indices_that_share_a_physical_one_is_named_however_it_is_cut(cut: int) -> None:
    cluster = gate().gateway.clusters["main"]
    plan = SimpleNamespace(
        fields={}, looked_up=set(), scripts={}, stored={}, cluster=cluster, typed=False, owner=lambda: SimpleNamespace(id="acme")
    )
    targets = [
        Target("acme", name, Entry(n, "shared", "pool~x", "pool~x-1", OPEN), Index("acme", name, n, "shared", "pool~x", {}, {}))
        for name, n in (("logs", 17), ("books", 18))
    ]
    wanted = [("logs", 17), ("books", 18), ("books", 18), ("logs", 17)] * 5
    tree = hits(*(hit("pool~x-1", f"acme.{n}:{i}") for i, (_, n) in enumerate(wanted)), _shards=SHARDS_FAILED)
    raw = orjson.dumps(tree)
    walk = PoolWalk(plan, cluster.engine.tables.endpoints["search"].response, PoolAnswer(plan, targets, {}))
    out = b"".join(walk.feed(raw[at : at + cut], at + cut >= len(raw)) for at in range(0, len(raw), cut))
    found = orjson.loads(out)["hits"]["hits"]
    assert [(one["_index"], one["_id"]) for one in found] == [(name, str(i)) for i, (name, _) in enumerate(wanted)]
    assert walk.reader.unnamed == []


SHARDS_FAILED = {
    "total": 2, "successful": 1, "skipped": 0, "failed": 1,
    "failures": [{"shard": 0, "index": "pool~x-1", "node": "n", "reason": {"type": "t", "reason": "r"}}],
}  # fmt: skip


def test_nodes_of_shards_that_failed_are_the_tenants_one() -> None:
    failure = {"shard": 0, "index": "pool~logs-1", "node": "p-kdu1bnRN-hU9Adot1ozQ", "reason": {"type": "t", "reason": "r"}}
    answer = hits(hit("pool~logs-1", "acme.17:1")) | {"_shards": {"total": 2, "failed": 1, "failures": [failure]}}
    told = gate().ask("GET", "/logs/_search", b"", lambda send: answer)[1]["_shards"]["failures"][0]
    assert told["index"] == "logs" and told["node"] != failure["node"] and len(told["node"]) == 22
