"""What goes upstream for documents of indices in ``shared``: one at a time, in bulks, by their ids, and their routing."""

from __future__ import annotations

from urllib.parse import unquote

import orjson
import pytest

from esproxy.catalogue.documents import Field
from esproxy.catalogue.scopes import Shards
from tests.unit.pools.pool_gate import LONG, TEXT, gate, hits

TERM = {"prefix": {"_routing": "acme.17:"}}
DONE = {"_index": "pool~logs-1", "_id": "acme.17:1", "_version": 1, "result": "created", "_shards": {"total": 1}, "_seq_no": 0}


def test_document_written_with_scope() -> None:
    it = gate()
    status, answer = it.ask("PUT", "/logs/_doc/1?refresh=true", {"n": 5, "w": "x"}, lambda send: (201, DONE))
    assert (status, answer["_index"], answer["_id"]) == (201, "logs", "1")
    assert it.sent.target == b"/pool~logs-1/_doc/acme.17:1?refresh=true&routing=acme.17:" and it.body == {"n~2": 5, "w": "x"}


def test_document_numbers_keep_their_spelling() -> None:
    it = gate()
    it.ask("PUT", "/logs/_doc/1", b'{"n": 1.50, "w": 123456789012345678901234567890}', lambda send: (201, DONE))
    assert it.sent.body == b'{"n~2":1.50,"w":123456789012345678901234567890}'


def test_document_without_renamed_fields_is_copied() -> None:
    it = gate(fields={"w": Field(TEXT, "w"), "n": Field(LONG, "n")})
    raw = b'{ "w" : "x",\n "n":1.0e2 }'
    it.ask("PUT", "/logs/_doc/1", raw, lambda send: (201, DONE))
    assert it.sent.body == raw


def test_document_without_id_gets_one() -> None:
    it = gate()
    it.ask("POST", "/logs/_doc", {"w": "x"}, lambda send: (201, DONE))
    assert it.sent.method == "PUT"
    path, _, query = it.sent.target.decode().partition("?")
    assert path.startswith("/pool~logs-1/_doc/acme.17:") and len(path.rpartition(":")[2]) == 20
    assert set(query.split("&")) == {"op_type=create", "routing=acme.17:"}


def test_update_of_a_document_that_is_not_there_brings_no_fields() -> None:
    it = gate()
    error = {"type": "document_missing_exception", "reason": "[1]: document missing", "index": "pool~logs-1"}
    absent = {"error": {"root_cause": [error], **error}, "status": 404}
    status, told = it.ask("POST", "/logs/_update/1?routing=r", {"doc": {"new": 1}}, lambda send: (404, absent))
    assert (status, told["error"]["index"]) == (404, "logs")
    assert [(send.method, send.target.partition(b"?")[0], send.body) for send in it.sends] == [
        ("GET", b"/pool~logs-1/_doc/acme.17:1", b""),
        ("POST", b"/pool~logs-1/_update/acme.17:1", b'{"doc":{}}'),
    ]  # and no mapping


def test_update_that_brings_no_field_goes_at_once() -> None:
    it = gate()
    it.ask("POST", "/logs/_update/1?routing=r", {"doc": {"n": 1}}, lambda send: (200, DONE))
    assert it.body == {"doc": {"n~2": 1}}


def test_update_without_a_routing_leaves_its_document_the_one_that_it_had() -> None:
    """It is sent as a record of a bulk, to which nodes give no routing of the request's."""
    it = gate()
    item = {**DONE, "_index": "pool~logs-1", "_id": "acme.17:1", "status": 201, "result": "created"}
    target = "/logs/_update/1?retry_on_conflict=3&refresh=true"
    status, told = it.ask("POST", target, b'{"doc":\n{"n":1.0}}', lambda send: {"errors": False, "items": [{"update": item}]})
    action = {"_index": "pool~logs-1", "_id": "acme.17:1", "retry_on_conflict": "3", "routing": "acme.17:"}
    assert it.sent.target == b"/_bulk?refresh=true"
    assert it.lines == [{"update": action}, {"doc": {"n~2": 1.0}}]
    assert (status, told["_id"], "status" in told) == (201, "1", False)


def test_refused_update_without_a_routing_is_told_as_by_itself() -> None:
    error = {"type": "mapper_parsing_exception", "reason": "x", "caused_by": {"type": "y", "reason": "z"}}
    item = {"_index": "pool~logs-1", "_id": "acme.17:1", "status": 400, "error": error}
    answer = {"errors": True, "items": [{"update": item}]}
    status, told = gate().ask("POST", "/logs/_update/1", {"doc": {"w": "x"}}, lambda send: answer)
    root = {"type": "mapper_parsing_exception", "reason": "x"}
    assert (status, told) == (400, {"error": {"root_cause": [root], **error}, "status": 400})


def test_update_with_a_number_that_is_none_is_the_nodes_to_refuse() -> None:
    it = gate()
    it.ask("POST", "/logs/_update/1?retry_on_conflict=x", {"doc": {"n": 1}}, lambda send: (200, DONE))
    assert it.sent.target.startswith(b"/pool~logs-1/_update/acme.17:1?")


def test_bulk_asks_whether_the_documents_are_there_to_which_updates_bring_fields() -> None:
    it = gate()
    lines = [
        {"update": {"_index": "logs", "_id": "1"}}, {"doc": {"new": 1}, "upsert": {"w": "x"}},
        {"update": {"_index": "logs", "_id": "1"}}, {"doc": {"w": "y"}, "upsert": {"new": 1}},
    ]  # fmt: skip
    docs = {"docs": [{"_index": "pool~logs-1", "_id": "acme.17:1", "found": False}] * 2}
    done = [{"update": {"_index": "pool~logs-1", "_id": "acme.17:1", "status": 200, "result": "created"}}] * 2
    node = lambda send: docs if send.target == b"/_mget" else {"took": 1, "errors": False, "items": done}  # noqa: E731
    assert it.ask("POST", "/_bulk", b"".join(orjson.dumps(line) + b"\n" for line in lines), node)[0] == 200
    assert [orjson.loads(line) for line in it.sends[-1].body.splitlines()[1::2]] == [
        {"doc": {}, "upsert": {"w": "x"}},
        {"doc": {"w": "y"}},
    ]


def test_bulk_each_record_goes_to_its_own_scope() -> None:
    it = gate()
    body = (
        b'{"index":{"_index":"logs","_id":"1"}}\n{"n":1}\n{"delete":{"_index":"books","_id":"2"}}\n'
        b'{"update":{"_index":"logs","_id":"3"}}\n{"doc":{"n":2}}\n'
    )
    items = [
        {"index": {"_index": "pool~logs-1", "_id": "acme.17:1", "status": 201}},
        {"delete": {"_index": "pool~books-1", "_id": "acme.18:2", "status": 200}},
        {"update": {"_index": "pool~logs-1", "_id": "acme.17:3", "status": 200}},
    ]
    _, answer = it.ask("POST", "/_bulk", body, lambda send: {"took": 1, "errors": False, "items": items})
    assert it.lines == [
        {"index": {"_index": "pool~logs-1", "_id": "acme.17:1", "routing": "acme.17:"}}, {"n~2": 1},
        {"delete": {"_index": "pool~books-1", "_id": "acme.18:2", "routing": "acme.18:"}},
        {"update": {"_index": "pool~logs-1", "_id": "acme.17:3", "routing": "acme.17:"}}, {"doc": {"n~2": 2}},
    ]  # fmt: skip
    assert [next(iter(item.values()))["_id"] for item in answer["items"]] == ["1", "2", "3"]


def test_bulk_refused_record_keeps_its_place() -> None:
    it = gate()
    body = b'{"index":{"_index":"logs","_id":"x"}}\n{"w":"a"}\n{"index":{"_index":"BAD","_id":"1"}}\n{"w":"b"}\n'
    refusal = {"index": {"_index": "_esproxy~refused", "_id": None, "status": 400, "error": {"type": "t", "reason": "r"}}}
    good = {"index": {"_index": "pool~logs-1", "_id": "acme.17:x", "status": 201}}
    _, answer = it.ask("POST", "/_bulk", body, lambda send: {"took": 1, "errors": True, "items": [good, refusal]})
    assert it.lines[2] == {"index": {"_index": "_esproxy~refused", "_id": "-"}}
    assert answer["items"][0]["index"]["status"] == 201
    assert answer["items"][1]["index"]["error"]["reason"] == "Invalid index name [BAD], must be lowercase"
    assert answer["items"][1]["index"]["_index"] == "BAD"


def test_mget_and_msearch_carry_each_its_scope() -> None:
    it = gate()
    it.ask("POST", "/_mget", {"docs": [{"_index": "logs", "_id": 1}, {"_index": "nope", "_id": "2"}]}, lambda send: {"docs": []})
    assert it.body["docs"] == [
        {"_index": "pool~logs-1", "_id": "acme.17:1", "routing": "acme.17:"},
        {"_index": "acme.nope", "_id": "2"},
    ]
    it = gate()
    it.ask("POST", "/logs/_msearch", b'{}\n{}\n{"index":"books"}\n{"query":{"match_all":{}}}\n', lambda send: {"responses": []})
    assert it.lines[0] == {"index": ["pool~logs-1"]} and it.lines[2] == {"index": ["pool~books-1"]}
    assert it.lines[1] == {"query": {"constant_score": {"filter": TERM}}}


@pytest.mark.parametrize(("method", "target"), [("PUT", "/logs/_doc/1"), ("GET", "/logs/_doc/1"), ("DELETE", "/logs/_doc/1")])
def test_document_keeps_its_routing_behind_the_scope(method: str, target: str) -> None:
    it = gate()
    it.ask(method, target + "?routing=acme.18:x", {} if method == "PUT" else b"", lambda send: DONE)
    assert it.sent.target.endswith(b"?routing=acme.17:acme.18:x")


def test_bulk_routing_of_a_line_goes_before_the_parameter() -> None:
    it = gate()
    body = b'{"index":{"_id":"1","routing":7}}\n{}\n{"index":{"_id":"2"}}\n{}\n'
    it.ask("POST", "/logs/_bulk?routing=r", body, lambda send: {"took": 1, "errors": False, "items": []})
    assert [line["index"]["routing"] for line in it.lines[::2]] == ["acme.17:7", "acme.17:r"] and b"routing" not in it.sent.target


def test_mget_and_lookup_keep_their_routing() -> None:
    it = gate()
    docs = [{"_index": "logs", "_id": "1", "routing": "a"}, {"_index": "logs", "_id": "2"}]
    it.ask("POST", "/_mget?routing=r", {"docs": docs}, lambda send: {"docs": []})
    assert [doc["routing"] for doc in it.body["docs"]] == ["acme.17:a", "acme.17:r"]
    it = gate()
    lookup = {"query": {"terms": {"w": {"index": "books", "id": "7", "path": "w", "routing": "acme.1"}}}}
    it.ask("POST", "/logs/_search", lookup, lambda send: hits())
    assert it.body["query"]["bool"]["must"][0]["terms"]["w"]["routing"] == "acme.18:acme.1"


def test_index_that_requires_a_routing_leaves_its_lack_to_the_node() -> None:
    it = gate(mapping={"_routing": {"required": True}})
    it.ask("GET", "/logs/_doc/1", b"", lambda send: DONE)
    assert it.sent.target == b"/pool~logs-1/_doc/acme.17:1"


def test_routing_of_an_index_with_shards_picks_the_shard_that_it_would_pick() -> None:
    it = gate(settings={"index.number_of_shards": 5})
    it.ask("GET", "/logs/_search?routing=a,b", b"", lambda send: hits())
    assert it.sent.target.endswith(b"?routing=a%2Cb") or it.sent.target.endswith(b"?routing=a,b")
    it.sends.clear()
    shards = Shards.of({"index.number_of_shards": 5})
    it.ask("GET", "/logs/_doc/1?routing=a", b"", lambda send: DONE)
    sent = unquote(it.sent.target.decode().partition("routing=")[2])
    assert sent.startswith("acme.17:a:") and shards.picked(sent, "") == shards.picked("a", "")
    it.sends.clear()
    it.ask("GET", "/logs/_doc/1", b"", lambda send: DONE)
    assert shards.picked(unquote(it.sent.target.decode().partition("routing=")[2]), "") == shards.picked("1", "")
