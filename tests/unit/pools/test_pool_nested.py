"""Indices of ``per-tenant``: objects in one physical index. What goes up for one of them."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from esproxy.catalogue.documents import Index
from esproxy.tenancy.naming import Nested
from tests.unit.pools.objects import OWN, found, nested
from tests.unit.pools.pool_gate import gate, hits


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ({"match": {"t": "fish"}}, {"match": {"n17.t": "fish"}}),
        ({"multi_match": {"query": "x"}}, {"multi_match": {"query": "x", "fields": ["n17.*"], "lenient": True}}),
        ({"query_string": {"query": "a:x"}}, {"query_string": {"query": "n17.a:x", "fields": ["n17.*"], "lenient": True}}),
        ({"query_string": {"query": "x", "default_field": "t"}}, {"query_string": {"query": "x", "default_field": "n17.t"}}),
        (
            {"terms": {"k": {"index": "books", "id": "1", "path": "list"}}},
            {"terms": {"n17.k": {"index": OWN, "id": "acme.18:1", "path": "n18.list", "routing": "acme.18:"}}},
        ),
    ],
)
def test_query_names_fields_of_the_object(query: Any, sent: Any) -> None:
    it = nested()
    status, answer = it.ask("POST", "/logs/_search", {"query": query}, lambda send: hits(found(17, "1")))
    assert status == 200, answer
    assert it.body["query"]["bool"]["must"] == [sent]
    assert answer["hits"]["hits"][0]["_source"] == {"a": 1}
    assert answer["hits"]["hits"][0]["_index"] == "logs"


def test_indexed_shape_without_a_path_is_looked_up_where_nodes_do() -> None:
    it = nested()
    it.ask(
        "POST",
        "/logs/_search",
        {"query": {"geo_shape": {"g": {"indexed_shape": {"index": "books", "id": "1"}}}}},
        lambda s: hits(),
    )
    (shape,) = it.body["query"]["bool"]["must"]
    assert shape["geo_shape"]["n17.g"]["indexed_shape"]["path"] == "n18.shape"


def test_suggestions_alone_are_asked_for_without_a_query() -> None:
    it = nested()
    body = {"suggest": {"s": {"text": "x", "term": {"field": "t"}}}}
    it.ask("POST", "/logs/_search", body, lambda send: hits())
    assert "query" not in it.body and it.body["suggest"]["s"]["term"]["field"] == "n17.t"


@pytest.mark.parametrize("also", [{"aggs": {"a": {"max": {"field": "n"}}}}, {"query": {"match_all": {}}}])
def test_suggestions_beside_a_search_keep_its_filter(also: Any) -> None:
    it = nested()
    it.ask("POST", "/logs/_search", {"suggest": {"s": {"text": "x", "term": {"field": "t"}}}, **also}, lambda send: hits())
    assert b"acme.17" in orjson.dumps(it.body["query"])


@pytest.mark.parametrize(
    ("document", "stored"),
    [
        (b'{"a":1}', b'{"n17":{"a":1}}'),
        (b'{"_id":"x"}', b'{"_id":"x"}'),  # the node's to refuse
        (b'{"\\u005fid":"x"}', b'{"\\u005fid":"x"}'),
        (b'{"a":"_id"}', b'{"n17":{"a":"_id"}}'),
        (b'{"_doc_count":5,"a":1}', b'{"n17":{"a":1},"_doc_count":5}'),
    ],
)
def test_document_is_nested(document: bytes, stored: bytes) -> None:
    naming = Nested(Index("acme", "logs", 17, "per-tenant", "own~acme-1", {}, {}))
    assert naming.document(document) == stored
    if stored.startswith(b'{"n17"'):
        assert orjson.loads(naming.source(stored)) == orjson.loads(document)


def test_index_that_is_alone_has_no_object() -> None:
    it = nested()
    status, answer = it.ask("POST", "/lone/_search", {"query": {"match": {"t": "x"}}}, lambda send: hits(found(19, "1")))
    assert status == 200 and it.body["query"]["bool"]["must"] == [{"match": {"t": "x"}}]
    assert answer["hits"]["hits"][0]["_source"] == {"a": 1}


def test_percolator_field_is_refused_in_a_pool() -> None:
    status, answer = nested().ask("PUT", "/logs/_mapping", {"properties": {"q": {"type": "percolator"}}})
    assert status == 400 and "percolator" in answer["error"]["reason"]


def test_field_without_a_name_is_refused_in_opensearch_s_words() -> None:
    mapping = {"properties": {"": {"type": "keyword"}}}
    status, answer = nested().ask("PUT", "/logs/_mapping", mapping)
    assert (status, answer["error"]["reason"]) == (400, "name cannot be empty string")
    status, answer = nested().ask("PUT", "/made", {"mappings": mapping})
    assert (status, answer["error"]["type"]) == (400, "mapper_parsing_exception")
    assert answer["error"]["caused_by"] == {"type": "illegal_argument_exception", "reason": "name cannot be empty string"}


LOOKUP = {"type": "lookup", "target_index": "logs", "input_field": "k", "target_field": "k", "fetch_fields": ["s"]}


@pytest.mark.parametrize("made", [nested, gate])
def test_field_that_is_looked_up_in_a_whole_pool_is_refused(made: Any) -> None:
    it = made("elasticsearch")
    status, answer = it.ask("POST", "/logs/_search", {"runtime_mappings": {"r": LOOKUP}, "fields": ["r"]}, lambda send: hits())
    assert status == 400 and "lookup" in answer["error"]["reason"] and not it.sends
    lines = b'{"index":"logs"}\n' + orjson.dumps({"runtime_mappings": {"r": LOOKUP}}) + b"\n"
    status, answer = it.ask("POST", "/_msearch", lines, lambda send: hits())
    assert status == 400 and not it.sends
    for mapping in ({"runtime": {"r": LOOKUP}}, {"dynamic_templates": [{"t": {"match": "*", "runtime": LOOKUP}}]}):
        status, answer = it.ask("PUT", "/logs/_mapping", mapping)
        assert status == 400 and "lookup" in answer["error"]["reason"] and not it.sends
        status, answer = it.ask("PUT", "/made", {"mappings": mapping})
        assert status == 400 and "lookup" in answer["error"]["reason"] and not it.sends


@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch"])
def test_bulk_answers_with_fields_by_the_client_s_names(engine: str) -> None:
    it = nested(engine)
    lines = b'{"update":{"_index":"logs","_id":"1"}}\n{"doc":{"a":2}}\n{"update":{"_index":"books","_id":"1"}}\n{"doc":{"a":2}}\n'
    items = [
        {"update": {"_index": OWN, "_id": "acme.17:1", "status": 200, "get": {"found": True, "_source": {"n17": {"a": 2}}}}},
        {"update": {"_index": OWN, "_id": "acme.18:1", "status": 409, "error": {"type": "x", "reason": "r", "index": OWN}}},
    ]
    status, answer = it.ask("POST", "/_bulk?_source=a", lines, lambda send: {"took": 1, "errors": True, "items": items})
    assert status == 200, answer
    assert it.lines[0]["update"]["_source"] == {"includes": ["n17.a"], "excludes": []}
    assert it.lines[2]["update"]["_source"] == {"includes": ["n18.a"], "excludes": []}
    assert answer["items"][0]["update"]["get"]["_source"] == {"a": 2}
    assert answer["items"][1]["update"]["error"]["index"] == "books"
    it.sends.clear()
    lines = b'{"update":{"_index":"logs","_id":"1","_source":{"includes":"a"}}}\n{"doc":{"a":2}}\n'
    status, answer = it.ask("POST", "/_bulk", lines, lambda send: {"took": 1, "errors": False, "items": items[:1]})
    assert status == 200 and it.lines[0]["update"]["_source"] == {"includes": "n17.a"}


def test_document_of_another_object_cannot_be_liked() -> None:
    query = {"more_like_this": {"like": [{"_index": "books", "_id": "1"}], "fields": ["t"]}}
    status, answer = nested().ask("POST", "/logs/_search", {"query": query})
    assert status == 400 and "to be like" in answer["error"]["reason"]


def test_dynamic_templates_of_a_record_are_for_fields_of_the_object() -> None:
    it = nested()
    line = {"index": {"_index": "logs", "_id": "1", "dynamic_templates": {"a.b": "geo"}}}
    it.ask("POST", "/_bulk", orjson.dumps(line) + b"\n{}\n", lambda send: {"took": 1, "errors": False, "items": []})
    assert orjson.loads(it.sent.body.splitlines()[0])["index"]["dynamic_templates"] == {"n17.a.b": "geo"}


def test_fields_that_a_search_derives_keep_their_names() -> None:
    it = nested()
    derived = {"twice": {"type": "long", "script": "emit(doc['n'].value * 2)"}, "_mine": {"type": "long", "script": "emit(1)"}}
    body = {"derived": derived, "fields": ["twice", "n"], "sort": ["twice"], "query": {"range": {"twice": {"gte": 4}}}}
    status, answer = it.ask("POST", "/logs/_search", {**body, "derived": {"twice": derived["twice"]}}, lambda send: hits())
    assert status == 200, answer
    assert it.body["derived"] == {"twice": {"type": "long", "script": "emit(doc['n17.n'].value * 2)"}}
    assert it.body["query"]["bool"]["must"] == [{"range": {"twice": {"gte": 4}}}]
    assert (it.body["fields"], it.body["sort"]) == (["twice", "n17.n"], ["twice"])
    assert it.ask("POST", "/logs/_search", body)[0] == 400
