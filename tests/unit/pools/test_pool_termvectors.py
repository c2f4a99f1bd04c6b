"""Term vectors in pools: what is asked of a node, and what an answer may show."""

from __future__ import annotations

from typing import Any

import pytest

from esproxy.catalogue import names
from esproxy.catalogue.documents import Field, Index
from esproxy.exchange import Send
from tests.unit.pools.objects import nested
from tests.unit.pools.pool_gate import TEXT, Gate, gate

POOL = "pool~logs-1"
TERMS = {"terms": {"fox": {"term_freq": 1}}}


def shared() -> Gate:
    it = gate()
    fields = {"t": Field(TEXT, "t"), "k": Field(TEXT, "k~2")}
    it.put(names.index_id("acme", 17), Index("acme", "logs", 17, "shared", "pool~logs", {}, {}, fields=fields))
    return it


def found(**vectors: Any) -> Any:
    return lambda send: {"_index": POOL, "_id": "acme.17:1", "_version": 1, "found": True, "term_vectors": vectors}


def test_document_is_asked_for_by_its_scope_and_without_figures() -> None:
    it = shared()
    status, answer = it.ask("GET", "/logs/_termvectors/1?fields=t,k", node=found(**{"t": TERMS, "k~2": TERMS}))
    assert status == 200 and answer["_id"] == "1" and set(answer["term_vectors"]) == {"t", "k"}
    assert it.sent.target == b"/pool~logs-1/_termvectors/acme.17:1?routing=acme.17:"
    assert it.body == {"fields": ["t", "k~2"], "field_statistics": False}


@pytest.mark.parametrize("figure", ["term_statistics", "field_statistics"])
@pytest.mark.parametrize("by_parameter", [True, False])
def test_figures_of_a_pool_are_refused(figure: str, by_parameter: bool) -> None:
    it = shared()
    target, body = (f"?{figure}=true", b"") if by_parameter else ("", {figure: True})
    assert it.ask("POST", f"/logs/_termvectors/1{target}", body)[0] == 400
    assert it.ask("POST", f"/_mtermvectors{target}", {"docs": [{"_index": "logs", "_id": "1", **(body or {})}]})[0] == 400
    assert it.sends == []


def test_filter_by_figures_of_a_pool_is_refused() -> None:
    it = shared()
    assert it.ask("POST", "/logs/_termvectors", {"doc": {"t": "fox"}, "filter": {}})[0] == 400
    assert it.ask("POST", "/logs/_mtermvectors", {"ids": ["1"], "parameters": {"filter": {}}})[0] == 400
    assert it.sends == []


def test_field_that_others_made_below_an_own_one_does_not_show() -> None:
    it = shared()
    _, answer = it.ask("GET", "/logs/_termvectors/1", node=found(**{"t": TERMS, "t.secret": TERMS, "other": TERMS}))
    assert answer["term_vectors"] == {"t": TERMS}


def test_pattern_becomes_own_fields() -> None:
    it = shared()
    it.ask("POST", "/logs/_termvectors/1", {"fields": ["*"]}, found())
    assert it.body["fields"] == ["k~2", "t"]


def test_routing_is_shown_as_its_client_gave_it() -> None:
    it = shared()
    term = {"term_freq": 1, "tokens": [{"start_offset": 0, "end_offset": 9}]}
    node = found(_routing={"field_statistics": {"doc_count": 9}, "terms": {"acme.17:x": term}})
    _, answer = it.ask("GET", "/logs/_termvectors/1?routing=x", node=node)
    shown = {"term_freq": 1, "tokens": [{"start_offset": 0, "end_offset": 1}]}
    assert answer["term_vectors"] == {"_routing": {"terms": {"x": shown}}}


@pytest.mark.parametrize("term", ["zenith.3:x", "acme.18:x"])
def test_routing_of_another_scope_closes_the_answer(term: str) -> None:
    status, answer = shared().ask("GET", "/logs/_termvectors/1", node=found(_routing={"terms": {term: {"term_freq": 1}}}))
    assert status == 500 and term not in str(answer)


@pytest.mark.parametrize("id", ["zenith.3:1", "acme.18:1", "1"])
def test_document_of_another_scope_closes_the_answer(id: str) -> None:
    def node(send: Send) -> Any:
        return {"docs": [{"_index": POOL, "_id": id, "found": True, "term_vectors": {"t": TERMS}}]}

    status, answer = shared().ask("POST", "/logs/_mtermvectors", {"ids": ["1"]}, node)
    assert status == 500 and "fox" not in str(answer)


def test_document_brought_along_is_in_the_object_and_told_by_its_place() -> None:
    it = nested()
    docs = [{"_index": "logs", "doc": {"a": 1}}, {"_index": "books", "doc": {"a": 2}}]
    shown = {"_index": "own~acme-1-1", "found": True}

    def node(send: Send) -> Any:
        return {"docs": [{**shown, "term_vectors": {"n17.a": TERMS}}, {**shown, "term_vectors": {"n18.a": TERMS}}]}

    status, answer = it.ask("POST", "/_mtermvectors", {"docs": docs}, node)
    assert status == 200
    assert [doc["doc"] for doc in it.body["docs"]] == [{"n17": {"a": 1}}, {"n18": {"a": 2}}]
    assert [doc["_index"] for doc in answer["docs"]] == ["logs", "books"]
    assert [set(doc["term_vectors"]) for doc in answer["docs"]] == [{"a"}, {"a"}]


def test_documents_stand_in_the_order_of_a_node() -> None:
    it = shared()
    body = {"docs": [{"_id": "1"}], "parameters": {"fields": ["t"]}, "ids": ["3", "2", "3"]}
    it.ask("POST", "/logs/_mtermvectors?ids=2&field_statistics=false", body, lambda send: {"docs": [{"found": False}] * 3})
    sent = [(doc["_id"], doc.get("fields")) for doc in it.body["docs"]]
    assert sent == [("acme.17:1", None), ("acme.17:2", ["t"]), ("acme.17:3", ["t"])]


@pytest.mark.parametrize("value", [None, 1, "x", [], [{}]])
def test_filter_that_no_node_comes_to_the_end_of_is_refused(value: Any) -> None:
    it = shared()
    body = {"filter": value}
    for target, given in (
        ("/logs/_termvectors/1", body),
        ("/logs/_mtermvectors", {"ids": ["1"], "parameters": body}),
        ("/logs/_mtermvectors", {"docs": [{"_id": "1", **body}]}),
        ("/logs/_mtermvectors", {"docs": {"_id": "1", **body}}),
    ):
        assert it.ask("POST", target, given)[0] == 400
    assert it.sends == []


@pytest.mark.parametrize("layout", ["shared", "per-tenant", "dedicated"])
@pytest.mark.parametrize("engine", ["opensearch", "elasticsearch"])
@pytest.mark.parametrize("target", ["/logs/_termvectors/1", "/logs/_termvectors", "/logs/_mtermvectors", "/_mtermvectors"])
@pytest.mark.parametrize("body", [b"[]", b"5", b'"x"', b"null", b"[[]]"])
def test_body_that_a_node_would_never_come_to_the_end_of_is_not_sent(layout: str, engine: str, target: str, body: bytes) -> None:
    it = gate(engine, layout=layout)
    status, told = it.ask("POST", target, body)
    assert status == 400 and "must be an object" in told["error"]["reason"] and it.sends == []
