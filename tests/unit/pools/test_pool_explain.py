"""Explanations, suggestions and backgrounds in pools."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.pools.pool_gate import gate, hit, hits

FILTER = {"value": 0.0, "description": "match on required clause, product of:", "details": [
    {"value": 0.0, "description": "# clause", "details": []}, {"value": 1.0, "description": "_routing:acme.17:*", "details": []},
]}  # fmt: skip
WEIGHT = {"value": 0.5, "description": "weight(w:x in 0), result of:", "details": []}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"value": 0.5, "description": "sum of:", "details": [FILTER, WEIGHT]}, WEIGHT),
        ({"value": 0.5, "description": "sum of:", "details": [WEIGHT, FILTER]}, WEIGHT),
        (
            {"value": 1.0, "description": "sum of:", "details": [FILTER, WEIGHT, WEIGHT]},
            {"value": 1.0, "description": "sum of:", "details": [WEIGHT, WEIGHT]},
        ),
        (
            {"value": 1.0, "description": "ConstantScore(_routing:acme.17:*)", "details": []},
            {"value": 1.0, "description": "*:*", "details": []},
        ),
        (WEIGHT, WEIGHT),
    ],
)
@pytest.mark.parametrize("target", ["/logs/_search?explain=true", "/logs/_search"])
def test_explanation_does_not_speak_of_the_filter(told: Any, expected: Any, target: str) -> None:
    body = {"explain": True, "query": {"match": {"w": "x"}}}
    found = hits(hit("pool~logs-1", "acme.17:1", {"_explanation": 1}, _explanation=told))
    _, answer = gate().ask("POST", target, body, lambda send: found)
    (one,) = answer["hits"]["hits"]
    assert one["_explanation"] == expected and one["_source"] == {"_explanation": 1}


def test_suggestions_by_parameters_are_refused_as_those_in_a_body() -> None:
    it = gate()
    for target in ("/logs/_search?suggest_field=w&suggest_text=x", "/_search?suggest_field=w&q=x&size=0"):
        status, answer = it.ask("GET", target)
        assert status == 400 and "[suggest]" in answer["error"]["reason"] and it.sends == []


@pytest.mark.parametrize("endpoint", ["_count", "_validate/query", "_explain/1"])
def test_query_in_a_parameter_beside_a_body_is_refused(endpoint: str) -> None:
    it = gate("opensearch")
    status, answer = it.ask("POST", f"/logs/{endpoint}?q=x&df=w", {"query": {"match_all": {}}})
    assert status == 400 and it.sends == []
    assert answer["error"]["reason"] == f"request [/logs/{endpoint}] contains unrecognized parameters: [df], [q]"


def test_inner_hits_of_a_collapse_have_no_score_without_a_query() -> None:
    body = {"collapse": {"field": "w", "inner_hits": [{"name": "a"}, {}]}}
    inner = {name: {"hits": {"max_score": 1.0, "hits": [hit("pool~logs-1", "acme.17:2")]}} for name in ("a", "w")}
    found = hits(hit("pool~logs-1", "acme.17:1", inner_hits=inner))
    _, answer = gate().ask("POST", "/logs/_search", body, lambda send: found)
    for name in ("a", "w"):
        told = answer["hits"]["hits"][0]["inner_hits"][name]["hits"]
        assert told["max_score"] == 0.0 and told["hits"][0]["_score"] == 0.0
    assert answer["hits"]["hits"][0]["_score"] == 1.0
    _, answer = gate().ask("POST", "/logs/_search", {**body, "query": {"match": {"w": "x"}}}, lambda send: found)
    assert answer["hits"]["hits"][0]["inner_hits"]["a"]["hits"]["max_score"] == 1.0


def test_lookup_by_a_query_asks_the_index_that_is_looked_into() -> None:
    it = gate("opensearch")
    lookup = {"index": "books", "path": "w", "query": {"bool": {"filter": [{"term": {"_id": "1"}}, {"ids": {"values": ["2"]}}]}}}
    query = {"bool": {"must": [{"terms": {"w": lookup}}, {"term": {"_id": "3"}}]}}
    it.ask("POST", "/logs/_search", {"query": query}, lambda send: hits())
    terms, id = it.body["query"]["bool"]["must"][0]["bool"]["must"]
    sent = terms["terms"]["w"]
    assert sent["index"] == "pool~books-1" and id == {"terms": {"_id": ["acme.17:3"]}}
    assert sent["query"]["bool"]["filter"] == [{"prefix": {"_routing": "acme.18:"}}]
    asked = sent["query"]["bool"]["must"][0]["bool"]["filter"]
    assert asked == [{"terms": {"_id": ["acme.18:1"]}}, {"ids": {"values": ["acme.18:2"]}}]


def test_lookup_without_an_index_is_the_node_s_to_refuse() -> None:
    it = gate()
    it.ask("POST", "/logs/_search", {"query": {"terms": {"w": {"id": "1", "path": "w"}}}}, lambda send: hits())
    assert it.body["query"]["bool"]["must"][0]["terms"]["w"] == {"id": "1", "path": "w"}


def test_document_to_be_like_is_routed_and_alone_or_in_a_list() -> None:
    for like in ({"_index": "books", "_id": "1"}, [{"_index": "books", "_id": "1"}, {"_index": "logs", "doc": {}}]):
        it = gate(fields={})
        it.ask("POST", "/logs/_search", {"query": {"more_like_this": {"like": like, "fields": ["w"]}}}, lambda send: hits())
        wrapped = it.body["query"]["bool"]["must"][0]["bool"]
        assert wrapped["must_not"] == [{"terms": {"_id": ["acme.17:1"]}}]
        sent = wrapped["must"][0]["more_like_this"]["like"]
        one = {"_index": "pool~books-1", "_id": "acme.18:1", "routing": "acme.18:"}
        assert (
            sent == one
            if isinstance(sent, dict)
            else sent == [one, {"_index": "pool~logs-1", "doc": {}, "routing": "acme.17:esproxy~unused"}]
        )


def test_single_clause_stays_a_sum_where_other_documents_show_several() -> None:
    told = [{"value": 0.5, "description": "sum of:", "details": [FILTER, *[WEIGHT] * count]} for count in (1, 2)]
    found = hits(*(hit("pool~logs-1", f"acme.17:{n}", _explanation=one) for n, one in enumerate(told)))
    _, answer = gate().ask("POST", "/logs/_search?explain=true", {"query": {"match": {"w": "x y"}}}, lambda send: found)
    assert [one["_explanation"]["details"] for one in answer["hits"]["hits"]] == [[WEIGHT], [WEIGHT, WEIGHT]]
