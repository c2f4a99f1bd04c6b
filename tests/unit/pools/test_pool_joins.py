"""Ids of parents in documents."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from esproxy.catalogue.documents import Field
from tests.unit.pools.pool_gate import TEXT, Gate, gate, hit, hits

JOIN = {"type": "join", "relations": {"q": ["a"]}}
MAPPING = {"properties": {"jn": JOIN, "w": TEXT, "o": {"properties": {"jn": JOIN}}}}
DONE = {"_index": "pool~logs-1", "_id": "acme.17:2", "_version": 1, "result": "created", "_seq_no": 0}


def joined() -> Gate:
    fields = {"jn": Field(JOIN, "jn"), "o": Field({"type": "object"}, "o"), "o.jn": Field(JOIN, "o.jn"), "w": Field(TEXT, "w")}
    return gate("opensearch", mapping=MAPPING, fields=fields)


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (b'{"jn":{"name":"a","parent":"1"}}', b'{"jn":{"name":"a","parent":"acme.17:1"}}'),
        (b'{"jn":{"name":"a","parent":7},"w":1.0E10}', b'{"jn":{"name":"a","parent":"acme.17:7"},"w":1.0E10}'),
        (b'{"o.jn":{"name":"a","parent":"1"}}', b'{"o.jn":{"name":"a","parent":"acme.17:1"}}'),
        (b'{"o":{"jn":{"name":"a","p\\u0061rent":"1"}}}', b'{"o":{"jn":{"name":"a","parent":"acme.17:1"}}}'),
        (b'{ "jn": "q", "w": "parent" }', b'{ "jn": "q", "w": "parent" }'),
        (b'{"w":{"parent":"1"},"jn":{"name":"q"}}', b'{"w":{"parent":"1"},"jn":{"name":"q"}}'),
        (b'{"jn":{"name":"a","parent":"1","parent":"2"}}', b'{"jn":{"name":"a","parent":"1","parent":"2"}}'),
    ],
)
def test_parent_in_a_document_gets_the_scope(given: bytes, stored: bytes) -> None:
    it = joined()
    it.ask("PUT", "/logs/_doc/2?routing=1", given, lambda send: DONE)
    assert it.sent.body == stored
    it = joined()
    it.ask("POST", "/logs/_update/2?routing=1", b'{"doc":' + given + b"}", lambda send: DONE)
    assert it.sent.body == b'{"doc":' + stored + b"}"


def test_parent_in_an_answer_loses_the_scope() -> None:
    source = {"jn": {"name": "a", "parent": "acme.17:1"}, "w": "acme.17:x", "o": {"jn": [{"name": "a", "parent": "acme.17:2"}]}}
    _, answer = joined().ask("GET", "/logs/_search", b"", lambda send: hits(hit("pool~logs-1", "acme.17:2", source)))
    expected = {"jn": {"name": "a", "parent": "1"}, "w": "acme.17:x", "o": {"jn": [{"name": "a", "parent": "2"}]}}
    assert answer["hits"]["hits"][0]["_source"] == expected


def test_child_without_a_routing_is_refused_as_by_a_node() -> None:
    it = joined()
    status, answer = it.ask("PUT", "/logs/_doc/2", {"jn": {"name": "a", "parent": "1"}})
    assert (status, answer["error"]["type"]) == (400, "mapper_parsing_exception") and it.sends == []
    assert answer["error"]["caused_by"]["reason"] == "[routing] is missing for join field [jn]"
    lines = b'{"index":{"_index":"logs","_id":"2"}}\n{"jn":{"name":"a","parent":"1"}}\n'
    refused = {"index": {"_index": "_esproxy~refused", "_id": "-", "status": 400, "error": {"type": "x", "reason": "y"}}}
    _, answer = it.ask("POST", "/_bulk", lines, lambda send: {"errors": True, "items": [refused]})
    assert answer["items"][0]["index"]["error"]["type"] == "mapper_parsing_exception"


@pytest.mark.parametrize(
    "body", [{"docvalue_fields": ["jn#q"]}, {"aggs": {"p": {"terms": {"field": "jn#q"}}}}, {"sort": ["o.jn#q"]}], ids=str
)
def test_field_with_ids_of_parents_cannot_be_asked_for(body: Any) -> None:
    it = joined()
    assert it.ask("POST", "/logs/_search", body)[0] == 400 and it.sends == []


def test_query_for_a_parent_asks_for_its_scoped_id() -> None:
    it = joined()
    it.ask("POST", "/logs/_search", {"query": {"parent_id": {"type": "a", "id": "1"}}}, lambda send: hits())
    assert orjson.loads(it.sent.body)["query"]["bool"]["must"][0]["parent_id"]["id"] == "acme.17:1"
