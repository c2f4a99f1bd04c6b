"""Pipelines of a tenant that has indices in pools: its own names, and what writes make of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import orjson
import pytest

from esproxy.exchange import Send
from esproxy.tenancy.target import NOWHERE
from tests.unit.pools.pool_gate import Gate, gate, hits

DONE = {"acknowledged": True}


@pytest.mark.parametrize("layout", ["shared", "per-tenant"])
def test_pipelines_are_kept_as_outside_of_pools(layout: str) -> None:
    it = gate("opensearch", layout=layout)
    assert it.ask("PUT", "/_ingest/pipeline/p", {"processors": [{"pipeline": {"name": "q"}}]}, lambda send: DONE)[0] == 200
    assert [send.target for send in it.sends] == [b"/_ingest/pipeline/acme~p", b"/_ingest/pipeline/acme.p"]
    assert orjson.loads(it.sends[0].body) == {"processors": [{"pipeline": {"name": "acme~q"}}]}
    it.sends.clear()
    told = it.ask("GET", "/_ingest/pipeline", b"", lambda send: {"acme~p": {"processors": []}, "zenith~p": {"processors": []}})
    assert told == (200, {"p": {"processors": []}}) and it.sent.target == b"/_ingest/pipeline/acme~*"
    it.sends.clear()
    assert it.ask("POST", "/_ingest/pipeline/p/_simulate", {"docs": []}, lambda send: {"docs": []}) == (200, {"docs": []})
    assert it.sent.target == b"/_ingest/pipeline/acme~p/_simulate"
    it.sends.clear()
    assert it.ask("DELETE", "/_ingest/pipeline/p", b"", lambda send: DONE)[0] == 200
    assert [send.target for send in it.sends] == [b"/_ingest/pipeline/acme.p", b"/_ingest/pipeline/acme~p"]
    assert it.ask("PUT", "/_ingest/pipeline/p", {"processors": [{"reroute": {}}]})[0] == 400


def test_search_pipelines_are_kept_as_outside_of_pools() -> None:
    it = gate("opensearch")
    body: dict[str, Any] = {"request_processors": [{"filter_query": {"query": {"term": {"_index": "logs"}}}}]}
    assert it.ask("PUT", "/_search/pipeline/p", body, lambda send: DONE)[0] == 200
    assert it.sent.target == b"/_search/pipeline/acme.p"
    kept = it.body
    assert kept["request_processors"][0]["filter_query"]["query"] == {"term": {"_index": "acme.logs"}}
    assert it.ask("GET", "/_search/pipeline", b"", lambda send: {"acme.p": kept}) == (200, {"p": body})
    assert it.ask("DELETE", "/_search/pipeline/*", b"", lambda send: DONE)[0] == 200
    assert it.sends[-1].target == b"/_search/pipeline/acme.*"
    assert it.ask("PUT", "/_search/pipeline/p", {"request_processors": [{"ml_inference": {}}]})[0] == 400


# --- writes ------------------------------------------------------------------------------------------------

WRITTEN = {"_index": "pool~logs-1", "_id": "acme.17:1", "_version": 1, "result": "created", "_shards": {"total": 1}, "_seq_no": 0}
SIMULATED = b"/_ingest/pipeline/_simulate"


class Node:
    """Answers simulations with what ``made`` says of each document; of what is sent under the prefix it says ``told``."""

    def __init__(self, made: Callable[[dict[str, Any]], Any], told: Any = None, status: int = 500) -> None:
        self.made = made
        self.told = told
        self.status = status

    def __call__(self, send: Send) -> Any:
        if send.target == SIMULATED:
            return {"docs": [self.made(doc) for doc in orjson.loads(send.body)["docs"]]}
        if send.target.startswith(b"/_bulk"):
            lines = [orjson.loads(line) for line in send.body.splitlines()]
            items = [self._item(line) for line in lines if line.keys() <= {"index", "create", "update"}]
            return {"took": 1, "errors": True, "items": items}
        if b"template" in send.target:
            return 404, {}
        if send.target.startswith(b"/acme."):
            return self.status, self.told
        return WRITTEN | {"_id": send.target.decode().split("/")[3].partition("?")[0]}

    def _item(self, line: dict[str, Any]) -> dict[str, Any]:
        ((verb, meta),) = line.items()
        done = {"_index": meta["_index"], "_id": meta.get("_id", "made")}
        if meta["_index"].startswith("acme."):
            return {verb: {**done, "status": self.status, **self.told}}
        if meta["_index"] == NOWHERE:
            return {verb: {**done, "status": 400, "error": {"type": "t", "reason": "r"}}}
        return {verb: {**done, "_version": 1, "result": "created", "_seq_no": 0, "executed_pipelines": [], "status": 201}}


def stamped(doc: dict[str, Any]) -> dict[str, Any]:
    return {"doc": {**doc, "_version": str(doc["_version"]), "_source": {**doc["_source"], "w": "stamped"}, "_ingest": {}}}


def moved(**to: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda doc: {"doc": {name: value for name, value in {**doc, **to}.items() if value is not None}}


def simulated(it: Gate) -> list[Any]:
    return [orjson.loads(send.body) for send in it.sends if send.target == SIMULATED]


FAILED = {"error": {"type": "fail_processor_exception", "reason": "not in [acme.logs]", "root_cause": []}}


def test_pipeline_sees_the_clients_names_and_what_it_makes_is_written() -> None:
    it = gate("opensearch")
    assert it.ask("PUT", "/logs/_doc/1?pipeline=p&routing=r", {"n": 1}, Node(stamped))[0] == 200
    run = {"pipeline": {"name": "acme~p"}}
    seen = {"_index": "logs", "_id": "1", "_routing": "r", "_version": -3, "_version_type": "internal", "_source": {"n": 1}}
    assert simulated(it) == [{"pipeline": {"processors": [run]}, "docs": [seen]}]
    assert it.sends[-1].target == b"/pool~logs-1/_doc/acme.17:1?routing=acme.17:r"
    assert orjson.loads(it.sends[-1].body) == {"n~2": 1, "w": "stamped"}


def test_document_without_an_id_has_none_in_its_pipeline() -> None:
    it = gate("opensearch")
    it.ask("POST", "/logs/_doc?pipeline=p", {"n": 1}, Node(moved(_id=None)))
    (asked,) = simulated(it)
    assert asked["pipeline"]["processors"][0] == {"script": {"lang": "painless", "source": "ctx._id = null"}}
    assert asked["docs"][0]["_version"] == -4 and b"op_type=create" in it.sends[-1].target


def test_document_goes_where_its_pipeline_says() -> None:
    it = gate("opensearch")
    to = moved(_index="books", _id="new", _routing="q", _version="7", _version_type="external", _if_seq_no="3")
    it.ask("PUT", "/logs/_doc/1?pipeline=p", {"w": "x"}, Node(to))
    path, _, query = it.sends[-1].target.decode().partition("?")
    assert path == "/pool~books-1/_doc/acme.18:new"
    assert {*query.split("&")} == {"version=7", "version_type=external", "if_seq_no=3", "routing=acme.18:q"}


@pytest.mark.parametrize("index", ["zenith.logs", "pool~logs-1", "-x", "a,logs", "_all", "*", "", None, "acme.17:1"])
def test_document_cannot_be_sent_to_another_tenant(index: str | None) -> None:
    it = gate("opensearch")
    lines = [{"index": {"_index": "logs", "_id": "1", "pipeline": "p"}}, {"w": "x"}]
    body = b"".join(orjson.dumps(line) + b"\n" for line in lines)
    with suppress(AssertionError):  # where an index of this name would be made for acme first
        it.ask("POST", "/_bulk", body, Node(moved(_index=index)))
    wrote = [orjson.loads(line) for send in it.sends if send.target == b"/_bulk" for line in send.body.splitlines()[::2]]
    assert all(one["index"]["_index"] == NOWHERE for one in wrote)


def test_default_and_final_pipeline_run_one_after_the_other() -> None:
    it = gate("opensearch", settings={"index.default_pipeline": "first", "index.final_pipeline": "last"})
    it.ask("PUT", "/logs/_doc/1", {"n": 1}, Node(stamped))
    assert [one["pipeline"]["processors"][0]["pipeline"]["name"] for one in simulated(it)] == ["acme~first", "acme~last"]
    it.sends.clear()
    it.ask("PUT", "/logs/_doc/1?pipeline=_none", {"n": 1}, Node(stamped))
    assert [one["pipeline"]["processors"][0]["pipeline"]["name"] for one in simulated(it)] == ["acme~last"]


def test_final_pipeline_may_not_move_a_document() -> None:
    it = gate("elasticsearch", settings={"index.final_pipeline": "last"})
    status, told = it.ask("PUT", "/logs/_doc/1", {"n": 1}, Node(moved(_index="books")))
    reason = "final pipeline [last] can't change the target index (from [logs] to [books]) for document [1]"
    assert (status, told["error"]["reason"]) == (500, reason) and [send.target for send in it.sends] == [SIMULATED]


@pytest.mark.parametrize(("made", "told"), [({"error": {"type": "x"}}, FAILED), (None, {"result": "noop", "_version": -3})])
def test_what_comes_to_nothing_is_told_by_the_node_and_written_nowhere(made: Any, told: dict[str, Any]) -> None:
    it = gate("opensearch")
    status = 500 if "error" in told else 200
    node = Node(lambda doc: made, {"_index": "acme.logs", "_id": "1", **told} if status == 200 else told, status)
    got, answer = it.ask("PUT", "/logs/_doc/1?pipeline=p&routing=r", {"n": 1}, node)
    assert it.sends[-1].target == b"/acme.logs/_doc/1?pipeline=acme.p&require_alias=true&routing=r"
    assert got == status and answer.get("_index", "logs") == "logs" and b"acme" not in orjson.dumps(answer)


def test_what_comes_to_something_the_second_time_is_an_error() -> None:
    it = gate("opensearch")
    reason = "no such index [acme.logs] and [require_alias] request flag is [true] and [acme.logs] is not an alias"
    missed = {"error": {"type": "index_not_found_exception", "reason": reason, "root_cause": []}, "status": 404}
    status, told = it.ask("PUT", "/logs/_doc/1?pipeline=p", {"n": 1}, Node(lambda doc: None, missed, 404))
    assert (status, told["error"]["type"]) == (500, "illegal_state_exception")


def test_bulk_runs_each_pipeline_once_and_keeps_the_order() -> None:
    it = gate("elasticsearch", settings={"index.default_pipeline": "own"})
    lines: list[Any] = []
    for id, pipeline in (("1", "a"), ("2", "b"), ("3", "a"), ("4", None), ("5", "_none")):
        asked = {} if pipeline is None else {"pipeline": pipeline}
        lines += [{"index": {"_index": "logs", "_id": id, **asked}}, {"n": int(id)}]
    lines += [{"update": {"_index": "logs", "_id": "6", "pipeline": "a"}}, {"script": {"source": "1"}, "upsert": {"n": 6}}]
    lines += [{"update": {"_index": "logs", "_id": "7"}}, {"doc": {"n": 7}}]
    body = b"".join(orjson.dumps(line) + b"\n" for line in lines)
    node = Node(lambda doc: None if doc["_source"]["n"] == 3 else stamped(doc), {"result": "noop"}, 200)
    _, answer = it.ask("POST", "/_bulk?list_executed_pipelines=true", body, node)
    runs = [(one["pipeline"]["processors"][-1]["pipeline"]["name"], one["docs"]) for one in simulated(it)]
    found = [(name, [doc["_source"]["n"] for doc in docs]) for name, docs in runs]
    assert found == [("acme~a", [1, 3]), ("acme~b", [2]), ("acme~own", [4]), ("acme~a", [6])]  # what has no id is by itself
    items = [item for one in answer["items"] for item in one.values()]
    assert [item["_id"] for item in items] == ["1", "2", "3", "4", "5", "6", "7"]
    assert [item.get("executed_pipelines") for item in items[:5]] == [["a"], ["b"], None, ["own"], []]
    assert items[2]["result"] == "noop" and not answer["errors"]
    assert [*answer] == ["took", "errors", "ingest_took", "items"]  # what a streamed bulk's answers are merged by
    sent = [orjson.loads(line) for line in it.sends[-1].body.splitlines()]
    assert sent[11]["upsert"] == {"n~2": 6, "w": "stamped"} and sent[13] == {"doc": {"n~2": 7}}
    assert b"pipeline" not in it.sends[-1].body and b"pipeline" not in it.sends[-1].target.replace(b"executed_pipelines", b"")


def test_document_that_the_simulation_cannot_read_is_asked_for_alone() -> None:
    it = gate("opensearch")

    def node(send: Send) -> Any:
        if send.target == SIMULATED and b'"n":1' in send.body:
            return 400, {"error": {"type": "parse_exception", "reason": "r"}, "status": 400}
        return Node(stamped, {"error": {"type": "parse_exception", "reason": "r"}}, 400)(send)

    lines = [line for id in (1, 2) for line in ({"index": {"_index": "logs", "_id": str(id), "pipeline": "p"}}, {"n": id})]
    _, answer = it.ask("POST", "/_bulk", b"".join(orjson.dumps(line) + b"\n" for line in lines), node)
    assert [item["index"]["status"] for item in answer["items"]] == [400, 201]


@pytest.mark.parametrize("target", ["/logs/_doc/1?pipeline=", "/logs/_doc?pipeline="])
def test_pipeline_without_a_name_is_refused(target: str) -> None:
    status, told = gate("opensearch").ask("POST", target, {"n": 1})
    assert status == 400 and told["error"]["reason"] == "Validation Failed: 1: pipeline cannot be an empty string;"


def test_what_the_node_itself_makes_documents_of_is_refused() -> None:
    it = gate("opensearch", settings={"index.final_pipeline": "p"})
    assert it.ask("POST", "/logs/_update/1", {"doc": {"n": 1}})[0] == 400
    assert it.ask("POST", "/logs/_update_by_query", {})[0] == 400
    assert gate("opensearch").ask("POST", "/logs/_update_by_query?pipeline=p", {})[0] == 400 and it.sends == []


def test_pipeline_of_an_index_in_a_pool_is_not_deleted_on_elasticsearch() -> None:
    it = gate("elasticsearch", settings={"index.default_pipeline": "p"})
    status, told = it.ask("DELETE", "/_ingest/pipeline/*", b"", lambda send: {"acme~p": {}})
    words = "the default pipeline for 2 index(es) including [books,logs]"
    assert (status, told["error"]["reason"]) == (400, f"pipeline [p] cannot be deleted because it is {words}")
    assert it.ask("DELETE", "/_ingest/pipeline/q", b"", lambda send: DONE)[0] == 200
    it = gate("opensearch", settings={"index.default_pipeline": "p"})
    assert it.ask("DELETE", "/_ingest/pipeline/p", b"", lambda send: DONE)[0] == 200


# --- searches ----------------------------------------------------------------------------------------------

ONLY: dict[str, Any] = {"request_processors": [{"filter_query": {"tag": "t", "query": {"term": {"n": 1}}}}]}


def keeping(pipeline: Any) -> Callable[[Send], Any]:
    """A node that keeps acme's search pipeline ``p``."""

    def answered(send: Send) -> Any:
        if send.target.startswith(b"/_search/pipeline/"):
            return (200, {"acme.p": pipeline}) if send.target.endswith(b"/acme.p") else (404, {})
        return hits()

    return answered


@pytest.mark.parametrize(
    ("target", "body"),
    [
        ("/logs/_search?search_pipeline=p", {"query": {"match": {"w": "x"}}}),
        ("/logs/_search", {"query": {"match": {"w": "x"}}, "search_pipeline": "p"}),
        ("/logs/_search", {"query": {"match": {"w": "x"}}, "search_pipeline": ONLY}),
    ],
)
def test_pipeline_that_filters_is_run_on_the_clients_search(target: str, body: dict[str, Any]) -> None:
    it = gate("opensearch")
    assert it.ask("POST", target, body, keeping(ONLY))[0] == 200
    assert it.sends[-1].target == b"/pool~logs-1/_search" and b"pipeline" not in it.sends[-1].body
    (query,) = orjson.loads(it.sends[-1].body)["query"]["bool"]["must"]
    assert query == {"bool": {"filter": [{"term": {"n~2": 1}}], "must": [{"match": {"w": "x"}}]}}


@pytest.mark.parametrize(
    "processor", [{"script": {"source": "1"}}, {"oversample": {"sample_factor": 2}}, {"filter_query": {}}, {"nope": {}}]
)
def test_pipeline_that_does_more_is_refused(processor: dict[str, Any]) -> None:
    for pipeline in ({"request_processors": [processor]}, {**ONLY, "response_processors": [{"truncate_hits": {}}]}):
        it = gate("opensearch")
        assert it.ask("POST", "/logs/_search?search_pipeline=p", {}, keeping(pipeline))[0] in (400, 500)
        assert it.ask("POST", "/logs/_search", {"search_pipeline": pipeline}, keeping(pipeline))[0] == 400
        assert all(b"/_search/pipeline/" in send.target for send in it.sends)
    it = gate("opensearch")
    assert it.ask("POST", "/logs/_search?search_pipeline=p&verbose_pipeline=true", {}, keeping(ONLY))[0] == 400


def test_pipeline_that_is_not_there_is_left_to_the_node() -> None:
    it = gate("opensearch")
    it.ask("POST", "/logs/_search?search_pipeline=nope", {}, keeping(ONLY))
    assert it.sends[-1].target == b"/pool~logs-1/_search?search_pipeline=acme~absent~nope"
    it.ask("POST", "/logs/_search?search_pipeline=_none", {}, keeping(ONLY))
    assert it.sends[-1].target == b"/pool~logs-1/_search?search_pipeline=_none"


def test_kept_pipeline_of_nothing_does_nothing() -> None:
    it = gate("opensearch")
    empty = {"version": 1, "request_processors": []}
    it.ask("POST", "/logs/_search?search_pipeline=p", {"size": 1}, keeping(empty))
    assert it.sends[-1].target == b"/pool~logs-1/_search" and orjson.loads(it.sends[-1].body)["size"] == 1


class Picky(Node):
    """Reads no document with a member twice, as nodes."""

    def __call__(self, send: Send) -> Any:
        if send.target == SIMULATED and b'"twice":1,"twice":2' in send.body:
            return 400, {"error": {"type": "x_content_parse_exception", "reason": "Duplicate field"}, "status": 400}
        if send.target.startswith(b"/_bulk"):
            send.body = send.body.replace(b'"twice":1,"twice":2', b'"twice":2')
        return super().__call__(send)


def bulk_of(count: int, odd: int, meta: Callable[[int], dict[str, Any]] = lambda at: {}) -> bytes:
    action = [orjson.dumps({"index": {"_index": "logs", "_id": str(at), **meta(at)}}) for at in range(count)]
    return b"".join(line + (b'\n{"twice":1,"twice":2}\n' if at == odd else b'\n{"w":"x"}\n') for at, line in enumerate(action))


def test_document_that_no_node_reads_is_found_in_few_calls() -> None:
    it = gate("opensearch")
    error = {"error": {"type": "mapper_parsing_exception", "reason": "failed to parse"}}
    status, told = it.ask("POST", "/_bulk?pipeline=p", bulk_of(1000, 7), Picky(stamped, error, 400))
    assert status == 200 and [at for at, one in enumerate(told["items"]) if "error" in one["index"]] == [7]
    assert sum(send.target == SIMULATED for send in it.sends) <= 21


def test_bulk_asks_for_so_many_simulations_and_no_more() -> None:
    it = gate("opensearch")
    status, told = it.ask("POST", "/_bulk", bulk_of(1003, -1, lambda at: {"pipeline": f"p{at}"}), Node(stamped))
    assert status == 200 and sum(send.target == SIMULATED for send in it.sends) == 1000
    assert [one["index"]["status"] for one in told["items"]] == [201] * 1000 + [429] * 3


def test_what_a_pipeline_makes_is_held_in_account_as_a_tree() -> None:
    it = gate("opensearch")
    assert it.gateway.pools is not None
    answers = it.gateway.pools.answers
    grown = moved(_source={"w": [{}] * 100_000})
    for limit, expected in ((answers.limit, 201), (1 << 20, 429)):
        answers.limit = limit
        status, told = it.ask("POST", "/_bulk?pipeline=p", bulk_of(1, -1), Node(grown))
        assert answers.used == 0
        assert (told["items"][0]["index"]["status"] if status == 200 else status) == expected
    assert [send.target for send in it.sends] == [SIMULATED, b"/_bulk", SIMULATED]
