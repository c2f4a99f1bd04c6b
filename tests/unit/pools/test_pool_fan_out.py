"""Requests over several objects of ``per-tenant``: one call for each, and how their answers are merged."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from esproxy.cluster import Cluster
from esproxy.exchange import Send
from tests.unit.gateway.whole import INFO
from tests.unit.pools.objects import OWN, found, index_of, nested
from tests.unit.pools.pool_gate import gate, hits


def test_search_over_objects_is_merged_by_score() -> None:
    it = nested()

    def node(send: Send) -> Any:
        number = index_of(send)
        return hits(*(found(number, str(score), score) for score in ((3.0, 1.0) if number == 17 else (4.0, 2.0))))

    status, answer = it.ask("POST", "/logs,books/_search", {"query": {"match": {"t": "x"}}, "from": 1, "size": 2}, node)
    assert status == 200, answer
    assert [(one["_index"], one["_id"]) for one in answer["hits"]["hits"]] == [("logs", "3.0"), ("books", "2.0")]
    assert answer["hits"]["total"] == {"value": 4, "relation": "eq"}
    assert [orjson.loads(send.body)["size"] for send in it.sends] == [3, 3]
    assert {orjson.loads(send.body)["query"]["bool"]["must"][0]["match"].popitem()[0] for send in it.sends} == {"n17.t", "n18.t"}


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        (["n"], [1, 2, 3, None]),
        ([{"n": "desc"}], [3, 2, 1, None]),
        ([{"n": {"order": "asc", "missing": "_first"}}], [None, 1, 2, 3]),
    ],
)
def test_search_over_objects_is_merged_by_its_sort(sort: Any, order: Any) -> None:
    values = {17: [v for v in order if v in (1, 3)], 18: [v for v in order if v in (2, None)]}

    def node(send: Send) -> Any:
        number = index_of(send)
        return hits(*(found(number, str(value), None, sort=[value]) for value in values[number]))

    _, answer = nested().ask("POST", "/logs,books/_search", {"query": {"match": {"t": "x"}}, "sort": sort}, node)
    assert [one["sort"][0] for one in answer["hits"]["hits"]] == order


def test_numbers_that_stay_text_are_compared_as_numbers() -> None:
    def node(send: Send) -> Any:
        number = index_of(send)
        body = orjson.dumps(hits(found(number, "1", None, sort=[0])))
        return 200, body.replace(b'"sort":[0]', b'"sort":[1.0E10]' if number == 17 else b'"sort":[9.0]')

    status, answer = nested().ask("POST", "/logs,books/_search", {"query": {"match": {"t": "x"}}, "sort": ["n"]}, node)
    assert status == 200 and [one["_index"] for one in answer["hits"]["hits"]] == ["books", "logs"]


def test_total_is_cut_at_what_the_client_wants_counted() -> None:
    def node(send: Send) -> Any:
        return {**hits(), "hits": {"total": {"value": 3, "relation": "eq"}, "max_score": None, "hits": []}}

    _, answer = nested().ask(
        "POST", "/logs,books/_search", {"query": {"match": {"t": "x"}}, "track_total_hits": 5, "size": 0}, node
    )
    assert answer["hits"]["total"] == {"value": 5, "relation": "gte"}


def test_total_that_is_not_counted_stays_so() -> None:
    def node(send: Send) -> Any:
        return {**hits(), "hits": {"total": -1, "max_score": None, "hits": []}}

    path = "/logs,books/_search?rest_total_hits_as_int=true&track_total_hits=false"
    _, answer = nested().ask("POST", path, {"query": {"match": {"t": "x"}}, "size": 0}, node)
    assert answer["hits"]["total"] == -1


@pytest.mark.parametrize("body", [{"aggs": {"a": {"top_hits": {"sort": "n"}}}}, {"collapse": {"field": "k"}}])
def test_what_cannot_be_merged_is_refused(body: Any) -> None:
    it = nested()
    status, answer = it.ask("POST", "/logs,books/_search", body)
    assert status == 400 and "several indices at once" in answer["error"]["reason"] and not it.sends


def test_answer_for_one_object_with_a_document_of_another_is_withheld() -> None:
    status, _ = nested().ask("POST", "/logs,books/_search", {"query": {"match": {"t": "x"}}}, lambda send: hits(found(17, "1")))
    assert status == 500


def test_counts_are_summed_and_the_first_error_is_the_answer() -> None:
    shards = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
    counted = {"count": 2, "_shards": shards}
    _, answer = nested().ask("POST", "/logs,books/_count", {"query": {"term": {"k": 1}}}, lambda send: counted)
    assert answer == {"count": 4, "_shards": {**shards, "total": 2, "successful": 2}}
    broken = {"error": {"root_cause": [], "type": "x", "reason": "r"}, "status": 400}

    def node(send: Send) -> Any:
        return counted if index_of(send) == 17 else (400, broken)

    status, answer = nested().ask("POST", "/logs,books/_count", {"query": {"term": {"k": 1}}}, node)
    assert status == 400 and answer["error"]["type"] == "x"


def test_failed_shards_of_all_indices_are_told_together() -> None:
    def node(send: Send) -> Any:
        cause = {"type": "x", "reason": "r", "index": OWN}
        failed = [{"shard": 0, "index": OWN, "node": "n", "reason": cause}]
        error = {"root_cause": [cause], "type": "t", "reason": "all", "phase": "query", "grouped": True, "failed_shards": failed}
        return 400, {"error": error, "status": 400}

    status, answer = nested().ask("POST", "/logs,books/_search", {"query": {"match_all": {}}}, node)
    assert status == 400
    assert [shard["index"] for shard in answer["error"]["failed_shards"]] == ["books", "logs"]
    assert [cause["index"] for cause in answer["error"]["root_cause"]] == ["books", "logs"]


def test_calls_by_query_go_one_after_the_other_within_max_docs() -> None:
    it = nested()

    def node(send: Send) -> Any:
        return {"took": 1, "timed_out": False, "total": 2, "deleted": 2, "batches": 1, "version_conflicts": 0, "noops": 0,
                "retries": {"bulk": 0, "search": 0}, "throttled_millis": 0, "requests_per_second": -1.0,
                "throttled_until_millis": 0, "failures": []}  # fmt: skip

    _, answer = it.ask("POST", "/logs,books/_delete_by_query?max_docs=3", {"query": {"term": {"k": 1}}}, node)
    assert [orjson.loads(send.body)["max_docs"] for send in it.sends] == [3, 1]
    assert (answer["deleted"], answer["batches"]) == (4, 1)
    it.sends.clear()
    it.ask("POST", "/logs,books/_delete_by_query?max_docs=2", {"query": {"term": {"k": 1}}}, node)
    assert len(it.sends) == 1


def test_point_in_time_over_objects_is_read_once_for_each() -> None:
    it = nested("elasticsearch")
    shards = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
    _, opened = it.ask("POST", "/logs,books/_pit?keep_alive=1m", b"", lambda send: {"id": "NODES", "_shards": shards})
    it.sends.clear()

    def node(send: Send) -> Any:
        number = index_of(send)
        values = [[1, 5], [2, 6]] if number == 17 else [[1, 2], [3, 7]]
        return {**hits(*(found(number, str(n), None, sort=[n, place]) for n, place in values)), "pit_id": "NODES"}

    body = {"sort": [{"n": "asc"}], "pit": {"id": opened["id"]}, "size": 3, "query": {"match": {"t": "x"}}}
    status, answer = it.ask("POST", "/_search", body, node)
    assert status == 200, answer
    assert [one["sort"] for one in answer["hits"]["hits"]] == [[1, 2], [1, 5], [2, 6]]
    assert answer["pit_id"] == opened["id"] != "NODES"
    assert {(send.target, orjson.loads(send.body)["pit"]["id"]) for send in it.sends} == {(b"/_search", "NODES")}
    status, answer = it.ask("POST", "/_search", {**body, "aggs": {"a": {"max": {"field": "n"}}}}, node)
    assert status == 400 and "[aggs]" in answer["error"]["reason"]


def test_cat_count_of_objects_is_summed_and_its_columns_are_told() -> None:
    it = nested("elasticsearch")

    def node(send: Send) -> Any:
        if b"_cat" in send.target:
            return [{"epoch": "1", "timestamp": "t", "count": "0"}]
        return {"count": 2 if b"n17.t" in send.body else 3, "_shards": {}}

    status, answer = it.ask("GET", "/_cat/count/logs,books?q=t:x&format=json", b"", node)
    assert status == 200 and answer[0]["count"] == "5"
    it.sends.clear()
    assert it.ask("GET", "/_cat/count?help", b"", lambda send: [])[0] == 200
    assert it.sent.target == b"/_cat/count?help=true"


def test_cat_count_reads_a_query_in_its_body() -> None:
    def node(send: Send) -> Any:
        return [{"count": "0"}] if b"_cat" in send.target else {"count": 2, "_shards": {}}

    body = {"query": {"term": {"w": "a"}}}
    it, other, older = gate(), gate("opensearch"), gate()
    older.gateway.clusters["main"] = Cluster("main", "elasticsearch", {**INFO, "version": {"number": "8.19.13"}})
    for method in ("GET", "POST"):
        it.sends.clear()
        assert it.ask(method, "/_cat/count/logs?format=json", body, node) == (200, [{"count": "2"}])
        assert orjson.loads(it.sends[0].body)["query"]["bool"]["must"] == [{"term": {"w": "a"}}]
    assert it.ask("GET", "/_cat/count/logs?q=w:b", body, node)[0] == 400
    assert other.ask("GET", "/_cat/count/logs?format=json", body, node) == (200, [{"count": "2"}])
    assert orjson.loads(other.sends[0].body)["query"]["bool"]["must"] == [{"term": {"w": "a"}}]
    assert other.ask("POST", "/_cat/count/logs", body, node)[0] == older.ask("POST", "/_cat/count/logs", b"", node)[0] == 405


def test_health_of_indices_in_one_physical_index_is_told_for_each() -> None:
    it = nested("elasticsearch")

    def node(send: Send) -> Any:
        index = {"status": "green", "number_of_shards": 1, "number_of_replicas": 0, "active_primary_shards": 1,
        "active_shards": 1,          "relocating_shards": 0, "initializing_shards": 0, "unassigned_shards": 0}  # fmt: skip
        figures = {key: value for key, value in index.items() if not key.startswith("number_of")}
        return {"cluster_name": "c", "timed_out": False, "number_of_nodes": 1, "number_of_data_nodes": 1, **figures,
                "delayed_unassigned_shards": 0, "number_of_pending_tasks": 0, "number_of_in_flight_fetch": 0,
                "task_max_waiting_in_queue_millis": 0, "active_shards_percent_as_number": 100.0,
                "indices": {OWN: index}}  # fmt: skip

    status, answer = it.ask("GET", "/_cluster/health/logs,books?level=indices", b"", node)
    assert status == 200 and answer["active_shards"] == 2 and sorted(answer["indices"]) == ["books", "logs"]
    status, answer = it.ask("GET", "/_cluster/health/logs,books", b"", node)
    assert answer["active_primary_shards"] == 2 and "indices" not in answer


# --- several searches in one request --------------------------------------------------------------------


def searched(send: Send) -> list[tuple[str, dict[str, Any]]]:
    """What each search of an msearch is over, and its body."""
    lines = [orjson.loads(line) for line in send.body.splitlines()]
    return [(",".join(header["index"]), body) for header, body in zip(lines[::2], lines[1::2], strict=True)]


def test_search_over_objects_in_an_msearch_is_one_for_each_and_merged_in_its_place() -> None:
    it = nested("elasticsearch")

    def node(send: Send) -> Any:
        answers = []
        for _, body in searched(send):
            (filtered,) = body["query"]["bool"]["filter"]
            number = int(filtered["prefix"]["_routing"][:-1].rpartition(".")[2])
            values = [1, 4] if number == 17 else [2, 3]
            answers.append({"status": 200, **hits(*(found(number, str(n), None, sort=[n]) for n in values))})
        return {"took": 1, "responses": answers}

    query = {"query": {"match": {"t": "x"}}, "sort": ["n"], "size": 3}
    lines = [{"index": "lone"}, query, {"index": "logs,books"}, query, {"index": "logs"}, query]
    body = b"".join(orjson.dumps(line) + b"\n" for line in lines)
    status, answer = it.ask("POST", "/_msearch", body, node)
    assert status == 200, answer
    assert [index for index, _ in searched(it.sent)] == ["one~acme-19-1", OWN, OWN, OWN]
    assert [search["sort"] for _, search in searched(it.sent)] == [["n"], ["n18.n"], ["n17.n"], ["n17.n"]]
    merged = answer["responses"][1]["hits"]
    assert [(one["_index"], one["sort"]) for one in merged["hits"]] == [("logs", [1]), ("books", [2]), ("books", [3])]
    assert merged["total"]["value"] == 4
    assert [len(one["hits"]["hits"]) for one in answer["responses"]] == [2, 3, 2]
    assert answer["responses"][2]["hits"]["hits"][0]["_index"] == "logs"


def test_search_of_an_msearch_that_cannot_be_merged_is_an_error_in_its_place() -> None:
    it = nested("elasticsearch")
    lines = [{"index": "logs"}, {}, {"index": "logs,books"}, {"aggs": {"a": {"top_hits": {"sort": "n"}}}}]
    body = b"".join(orjson.dumps(line) + b"\n" for line in lines)
    one = {"status": 200, **hits(found(17, "1"))}
    status, answer = it.ask("POST", "/_msearch", body, lambda send: {"took": 1, "responses": [one, {"status": 200, **hits()}]})
    assert status == 200 and answer["responses"][0]["hits"]["hits"][0]["_source"] == {"a": 1}
    assert answer["responses"][1]["status"] == 400 and "[aggs]" in answer["responses"][1]["error"]["reason"]


# --- calls by query: slices, and the first of an order -----------------------------------------------------

DONE = {"took": 1, "timed_out": False, "total": 1, "deleted": 1, "batches": 1, "version_conflicts": 0, "noops": 0,
        "retries": {"bulk": 0, "search": 0}, "throttled_millis": 0, "requests_per_second": -1.0,
        "throttled_until_millis": 0, "failures": []}  # fmt: skip


@pytest.mark.parametrize(
    ("id", "most", "sent"),
    [
        (0, 2, [("books", None)]),
        (1, 2, [("logs", None)]),
        (0, 3, [("books", {"id": 0, "max": 2})]),
        (2, 3, [("books", {"id": 1, "max": 2})]),
        (1, 3, [("logs", None)]),
    ],
)
def test_slices_of_a_call_by_query_are_dealt_by_shards_of_all_indices(id: int, most: int, sent: list[Any]) -> None:
    it = nested("elasticsearch")
    body = {"query": {"term": {"k": 1}}, "slice": {"id": id, "max": most}}
    _, answer = it.ask("POST", "/logs,books/_delete_by_query", body, lambda send: DONE)
    found = [({17: "logs", 18: "books"}[index_of(send)], orjson.loads(send.body).get("slice")) for send in it.sends]
    assert found == sent and answer["slice_id"] == id
    assert all(b"preference=_shards" in send.target for send in it.sends)


def test_call_by_query_with_a_sort_takes_the_first_documents_of_all_indices() -> None:
    it = nested("elasticsearch")

    def node(send: Send) -> Any:
        if b"_search" not in send.target:
            return DONE
        number = index_of(send)
        return hits(*(found(number, str(n), None, sort=[n]) for n in ([3, 4] if number == 17 else [1, 2])))

    body = {"query": {"term": {"k": 1}}, "sort": ["n"], "max_docs": 2}
    status, answer = it.ask("POST", "/logs,books/_delete_by_query", body, node)
    assert status == 200, answer
    calls = [orjson.loads(send.body) for send in it.sends if b"_delete_by_query" in send.target]
    ids = [call["query"]["bool"]["must"][0]["bool"]["filter"][0]["ids"]["values"] for call in calls]
    assert ids == [["acme.18:1", "acme.18:2"], []]


def test_closed_point_in_time_counts_the_shards_of_each_index() -> None:
    it = nested("elasticsearch")
    shards = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
    _, opened = it.ask("POST", "/logs,books/_pit?keep_alive=1m", b"", lambda send: {"id": "NODES", "_shards": shards})
    freed = {"succeeded": True, "num_freed": 1}
    assert it.ask("DELETE", "/_pit", {"id": opened["id"]}, lambda send: freed)[1] == {"succeeded": True, "num_freed": 2}
    gone = {"succeeded": True, "num_freed": 0}
    assert it.ask("DELETE", "/_pit", {"id": opened["id"]}, lambda send: gone)[1] == gone
