"""What nodes say of documents, bulks and multi gets that are wrong, for indices in pools."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from esproxy.catalogue.documents import Alias
from esproxy.exchange import Send
from esproxy.tenancy.target import NOWHERE
from tests.unit.pools.pool_gate import gate

PARSED = ("mapper_parsing", "document_parsing")
DONE = {"_index": "pool~logs-1", "_id": "acme.17:1", "_version": 1, "result": "created", "_seq_no": 0}


@pytest.mark.parametrize(
    "raw",
    [
        *(b'{"w":1,}', b'{"w":1', b'{"w":1}x', b'{"n":1,"n":2}'),
        *(b'{/* nodes take this */"w":1}', b'{"w":1}//', b'\xef\xbb\xbf{"w":1}', b'{"w":"\xc0\x80"}'),  # and these
    ],
)
def test_document_that_is_none_is_refused_unsent(raw: bytes) -> None:
    it = gate()
    status, error = it.ask("PUT", "/logs/_doc/1", raw)
    assert (status, it.sends) == (400, [])
    assert error["error"]["reason"].startswith("failed to parse") and error["error"]["root_cause"][0]["type"].startswith(PARSED)
    line = b'{"index":{"_index":"logs","_id":"1"}}\n'
    refused = {"index": {"_index": NOWHERE, "_id": "-", "status": 400, "error": {"type": "x", "reason": "y"}}}
    status, told = it.ask("POST", "/_bulk", line + raw + b"\n", lambda send: {"items": [refused], "errors": True})
    assert raw not in it.sent.body
    assert told["items"][0]["index"] == {"_index": "logs", "_id": "1", "status": 400, "error": told["items"][0]["index"]["error"]}
    assert told["items"][0]["index"]["error"]["reason"].startswith("failed to parse")


def test_blank_document_is_left_to_the_node() -> None:
    it = gate()
    it.ask("PUT", "/logs/_doc/1", b"  ", lambda send: (400, {"error": {"type": "x", "reason": "y"}, "status": 400}))
    assert it.sent.body == b"  "


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"[]", "Malformed action/metadata line [3], expected START_OBJECT but found [START_ARRAY]"),
        (b"{}", "Malformed action/metadata line [3], expected FIELD_NAME but found [END_OBJECT]"),
        (b'{"index":null}', "Malformed action/metadata line [3], expected START_OBJECT or END_OBJECT but found [VALUE_NULL]"),
        (b'{"index":"x"}', "Malformed action/metadata line [3], expected START_OBJECT or END_OBJECT but found [VALUE_STRING]"),
        (b'{"index":3}', "Malformed action/metadata line [3], expected START_OBJECT or END_OBJECT but found [VALUE_NUMBER]"),
        (b'{"index":true}', "Malformed action/metadata line [3], expected START_OBJECT or END_OBJECT but found [VALUE_BOOLEAN]"),
        (
            b'{"index":{"_index":["logs"]}}',
            "Malformed action/metadata line [3], expected a simple value for field [_index] but found [START_ARRAY]",
        ),
    ],
)
def test_bulk_with_a_malformed_line_is_refused_whole_and_unsent(line: bytes, reason: str) -> None:
    it = gate()
    body = b'{"index":{"_index":"logs","_id":"1"}}\n{}\n' + line + b"\n{}\n"
    status, answer = it.ask("POST", "/_bulk", body)
    assert (status, answer["error"]["reason"]) == (400, reason) and it.sends == []


def test_bulk_of_an_unknown_action_is_refused_in_each_engine_s_words() -> None:
    for engine, told in (
        ("elasticsearch", "expected field [create], [delete], [index] or [update] but found [upsert]"),
        ("opensearch", "expected one of [create, delete, index, update] but found [upsert]"),
    ):
        _, answer = gate(engine).ask("POST", "/_bulk", b'{"upsert":{"_index":"logs"}}\n{}\n')
        assert answer["error"]["reason"] == f"Malformed action/metadata line [1], {told}"


@pytest.mark.parametrize("target", ["/_bulk", "/_mget"])
def test_request_without_a_body_is_the_node_s_to_refuse(target: str) -> None:
    it = gate()
    error = {"error": {"root_cause": [], "type": "parse_exception", "reason": "request body is required"}, "status": 400}
    assert it.ask("POST", target, b"", lambda send: (400, error))[0] == 400
    assert it.sent.body == b"" and it.sent.target == target.encode()


def test_multi_get_puts_errors_where_their_documents_are() -> None:
    it = gate(aliases={"many": Alias({"logs": {}, "books": {}})})
    docs = [{"_index": "many", "_id": "1"}, {"_index": "logs", "_id": "2"}, {"_index": "lo*", "_id": "3"}]

    def node(send: Send) -> Any:
        asked = orjson.loads(send.body)["docs"]
        assert asked[0] == asked[2] == {"_index": "_esproxy~refused", "_id": "-"}
        missing = {"type": "index_not_found_exception", "reason": "no such index [_esproxy~refused]"}
        refused = {"_index": "_esproxy~refused", "_id": "-", "error": {"root_cause": [missing], **missing}}
        return {"docs": [refused, {"_index": "pool~logs-1", "_id": "acme.17:2", "found": False}, refused]}

    status, answer = it.ask("POST", "/_mget", {"docs": docs}, node)
    assert status == 200 and [doc["_index"] for doc in answer["docs"]] == ["many", "logs", "lo*"]
    assert [doc["_id"] for doc in answer["docs"]] == ["1", "2", "3"]
    assert "more than one index" in answer["docs"][0]["error"]["reason"]
    assert answer["docs"][2]["error"]["reason"] == "no such index [lo*]"


@pytest.mark.parametrize(
    ("doc", "sent"),
    [
        ({"_id": "1"}, {"_id": "1"}),
        ({"_index": "logs"}, {"_index": "_esproxy~refused"}),
        ({"_index": None, "_id": "1"}, {"_id": "1"}),
    ],
)
def test_multi_get_lets_the_node_say_what_is_missing(doc: dict[str, Any], sent: dict[str, Any]) -> None:
    it = gate()
    it.ask("POST", "/_mget", {"docs": [doc]}, lambda send: (400, {"error": {"type": "x", "reason": "y", "root_cause": []}}))
    assert it.body == {"docs": [sent]}


def test_alias_that_is_required_and_not_there_makes_nothing() -> None:
    it = gate()
    for target in ("/fresh/_doc/1?require_alias=true", "/logs/_doc/1?require_alias=true"):
        status, answer = it.ask("PUT", target, {})
        assert status == 404 and "is not an alias" in answer["error"]["reason"] and it.sends == []
    body = b'{"index":{"_index":"logs","_id":"1","require_alias":true}}\n{}\n{"index":{"_index":"logs","_id":"2"}}\n{}\n'
    item = {"_index": "pool~logs-1", "_id": "acme.17:2", "status": 201}
    refused = {"_index": "_esproxy~refused", "_id": "-", "status": 400, "error": {"type": "x", "reason": "y"}}
    _, answer = it.ask("POST", "/_bulk", body, lambda send: {"errors": True, "items": [{"index": refused}, {"index": item}]})
    assert [one["index"]["status"] for one in answer["items"]] == [404, 201]


@pytest.mark.parametrize("target", ["/logs/_search", "/logs/_count", "/logs/_mapping"])
def test_half_a_character_is_refused(target: str) -> None:
    it = gate()
    method = "PUT" if target.endswith("_mapping") else "POST"
    status, answer = it.ask(
        method, target, b'{"query":{"match":{"a":"\\ud800"}}}' if method == "POST" else b'{"_meta":{"a":"\\ud800"}}'
    )
    assert status == 400 and "half of a character" in answer["error"]["reason"] and it.sends == []
