"""What a search body for pools needs a second pass for: names, ids, aggregations past their search, hits without metadata."""

from __future__ import annotations

import base64
from typing import Any

import orjson
import pytest

from esproxy import exact
from esproxy.catalogue.documents import Alias
from esproxy.exchange import Send
from tests.unit.pools.pool_gate import Gate, gate, hit, hits

INDEX_SCRIPT = "params.names[doc['_index'].value]"
NAMES = {"pool~logs-1": "logs", "pool~books-1": "books"}


def must(it: Gate) -> Any:
    """The client's query as it went up."""
    return it.body["query"]["bool"]["must"][0]


def asked(target: str, body: Any, engine: str = "elasticsearch", **made: Any) -> Gate:
    it = gate(engine, **made)
    status, answer = it.ask("POST", target, body, lambda send: hits())
    assert status == 200, answer
    return it


# --- names and ids ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "physical"),
    [
        ({"term": {"_index": "logs"}}, ["pool~logs-1"]),
        ({"term": {"_index": {"value": "l*", "boost": 2, "_name": "q"}}}, ["pool~logs-1"]),
        ({"term": {"_index": "logs,books"}}, ["pool~logs-1", "pool~books-1"]),
        ({"term": {"_index": "shelf"}}, ["pool~books-1"]),
        ({"terms": {"_index": ["lo*", "nope"], "boost": 2}}, ["pool~logs-1"]),
        ({"prefix": {"_index": {"value": "boo"}}}, ["pool~books-1"]),
        ({"wildcard": {"_index": {"wildcard": "*o*"}}}, ["pool~logs-1", "pool~books-1"]),
        ({"match": {"_index": {"query": "books"}}}, ["pool~books-1"]),
    ],
)
def test_query_on_index_reaches_what_the_expression_comes_to(query: Any, physical: list[str]) -> None:
    it = asked("/logs,books/_search", {"query": query}, aliases={"shelf": Alias({"books": {}})})
    found = must(it)["terms"]
    assert sorted(found["_index"]) == sorted(physical)
    told = orjson.dumps(query)
    assert ("boost" in found, "_name" in found) == (b"boost" in told, b"_name" in told)


@pytest.mark.parametrize("value", ["nope", "pool~logs-1", "log", "-logs"])
def test_query_on_an_index_that_is_none_of_these_finds_nothing(value: str) -> None:
    assert must(asked("/logs,books/_search", {"query": {"term": {"_index": value}}})) == {"match_none": {}}


def test_query_on_ids_is_asked_in_every_index() -> None:
    it = asked("/logs,books/_search", {"query": {"bool": {"should": [{"term": {"_id": 7}}, {"ids": {"values": "8"}}]}}})
    one, two = must(it)["bool"]["should"]
    assert sorted(one["terms"]["_id"]) == ["acme.17:7", "acme.18:7"]
    assert sorted(two["ids"]["values"]) == ["acme.17:8", "acme.18:8"]


def test_query_on_ids_of_a_document_reads_it() -> None:
    it = gate()

    def node(send: Send) -> Any:
        if b"_search" in send.target:
            return hits()
        assert send.target == b"/pool~books-1/_doc/acme.18:7?routing=acme.18:"
        return {"_index": "pool~books-1", "_id": "acme.18:7", "found": True, "_source": {"w": {"list": ["1", 2]}, "w.list": "3"}}

    it.ask("POST", "/logs/_search", {"query": {"terms": {"_id": {"index": "books", "id": "7", "path": "w.list"}}}}, node)
    sent = orjson.loads(it.sends[-1].body)
    assert sent["query"]["bool"]["must"][0] == {"terms": {"_id": ["acme.17:1", "acme.17:2", "acme.17:3"]}}


@pytest.mark.parametrize("foreign", [False, True])
def test_query_on_ids_that_a_query_finds_asks_for_the_tenants_alone(foreign: bool) -> None:
    it = gate("opensearch")

    def node(send: Send) -> Any:
        if b"books" not in send.target:
            return hits()
        asked = orjson.loads(send.body)["query"]["bool"]
        assert asked["filter"] == [{"prefix": {"_routing": "acme.18:"}}]
        return hits(hit("pool~books-1", "zenith.3:7" if foreign else "acme.18:7", {"w": ["1", 2]}))

    lookup = {"index": "books", "path": "w", "query": {"term": {"_id": "7"}}}
    status, _ = it.ask("POST", "/logs/_search", {"query": {"terms": {"_id": lookup}}}, node)
    if foreign:
        assert status == 500 and len(it.sends) == 1
    else:
        sent = orjson.loads(it.sends[-1].body)
        assert sent["query"]["bool"]["must"][0] == {"terms": {"_id": ["acme.17:1", "acme.17:2"]}}


def test_indices_boost_takes_aliases_and_patterns_and_the_first_counts() -> None:
    body = {"indices_boost": [{"sh*": 3}, {"books": 2}, {"lo*": 0.5}]}
    it = asked("/logs,books/_search", body, aliases={"shelf": Alias({"books": {}})})
    assert it.body["indices_boost"] == [{"pool~books-1": 3}, {"pool~logs-1": 0.5}]


def test_indices_boost_of_a_name_that_is_not_there() -> None:
    body = {"indices_boost": [{"nope": 3}]}
    assert asked("/logs/_search", body).body["indices_boost"] == [{"acme.nope": 3}]
    assert asked("/logs/_search?ignore_unavailable=true", body).body["indices_boost"] == []


@pytest.mark.parametrize(
    ("body", "where", "order"),
    [
        ({"sort": "_index"}, "", "asc"),
        ({"sort": [{"_index": "desc"}, "w"]}, "", "desc"),
        ({"sort": [{"_index": {"order": "desc", "missing": "_last"}}]}, "", "desc"),
        ({}, "?sort=_index:desc", "desc"),
    ],
)
def test_sort_by_index_reads_the_client_s_name(body: Any, where: str, order: str) -> None:
    it = asked("/logs,books/_search" + where, body)
    script = it.body["sort"][0]["_script"]
    assert script == {"type": "string", "order": order, "script": {"source": INDEX_SCRIPT, "params": {"names": NAMES}}}
    assert b"sort" not in it.sent.target


def test_sort_of_a_parameter_goes_behind_the_body_s() -> None:
    it = asked("/logs/_search?sort=_id,w:desc", {"sort": "w"}, "opensearch")
    assert [next(iter(entry)) if isinstance(entry, dict) else entry for entry in it.body["sort"]] == ["w", "_script", "w"]


def test_id_is_sorted_by_without_its_scope_where_nodes_sort_by_it() -> None:
    body = {"sort": ["_id"], "aggs": {"a": {"terms": {"field": "_id"}}}}
    sent = asked("/logs/_search", body, "opensearch").body
    assert "substring" in sent["sort"][0]["_script"]["script"]["source"]
    assert "field" not in sent["aggs"]["a"]["terms"]
    assert asked("/logs/_search", body).body["sort"] == ["_id"]


def test_buckets_of_index_are_made_by_script_wherever_they_stand() -> None:
    script = {"source": INDEX_SCRIPT, "params": {"names": NAMES}}
    terms = {"field": "_index", "include": "l.*"}
    body = {
        "aggs": {
            "t": {"terms": terms, "aggs": {"in": {"terms": {"field": "_index"}}, "top": {"top_hits": {"sort": ["_index"]}}}},
            "c": {"composite": {"sources": [{"i": {"terms": {"field": "_index", "order": "desc"}}}], "after": {"i": "logs"}}},
            "k": {"terms": {"field": "w"}},
        }
    }
    aggs = asked("/logs,books/_search", body).body["aggs"]
    assert aggs["t"]["terms"] == {"script": script, "value_type": "string", "include": "l.*"}
    assert aggs["t"]["aggs"]["in"]["terms"]["script"] == script
    assert aggs["t"]["aggs"]["top"]["top_hits"]["sort"][0]["_script"]["script"] == script
    assert aggs["c"]["composite"]["sources"][0]["i"]["terms"] == {"order": "desc", "script": script, "value_type": "string"}
    assert aggs["k"] == {"terms": {"field": "w"}}


def test_wrapped_query_is_read_like_any_other() -> None:
    def wrapper(query: Any) -> Any:
        return {"wrapper": {"query": base64.b64encode(orjson.dumps(query)).decode()}}

    inner = {"bool": {"must": [{"term": {"n": 1}}, {"term": {"_id": "5"}}]}}
    for query in (wrapper(inner), {"bool": {"must": [wrapper(wrapper(inner))]}}):
        found = must(asked("/logs/_search", {"query": query}))
        found = found["bool"]["must"][0] if "bool" in found["bool"]["must"][0] else found
        assert found["bool"]["must"] == [{"term": {"n~2": 1}}, {"terms": {"_id": ["acme.17:5"]}}]
    for bad in (
        {"wrapper": {"query": "%%"}},
        {"wrapper": {"query": "eyJ4"}},
        wrapper([1]),
        wrapper({"wildcard": {"_routing": "x"}}),
    ):
        it = gate()
        assert it.ask("POST", "/logs/_search", {"query": bad})[0] == 400 and it.sends == []


def test_aggregation_with_a_wrapped_query_is_told_as_rewritten_on_opensearch() -> None:
    wrapped = {"wrapper": {"query": base64.b64encode(b'{"match_all":{}}').decode()}}
    plain = {"filter": {"term": {"w": "a"}}}
    aggs = {
        "f": {"filter": {"bool": {"must": [wrapped]}}},
        "t": {"terms": {"field": "w"}, "aggs": {"in": {"filters": {"filters": {"a": wrapped}}}, "p": plain}},
        "m": {"filter": wrapped, "meta": {"a": 1}},
        "p": plain,
    }
    inner = {"in": {"buckets": {"a": {"doc_count": 1}}}, "p": {"doc_count": 1}}
    told = {
        "filter#f": {"doc_count": 1},
        "sterms#t": {"buckets": [{"key": "x", "doc_count": 1, **inner}, {"key": "y", "doc_count": 1, **inner}]},
        "filter#m": {"meta": {"a": 1}, "doc_count": 1},
        "filter#p": {"doc_count": 1},
    }
    rewritten = {"in": {"meta": {}, **inner["in"]}, "p": inner["p"]}
    for engine in ("opensearch", "elasticsearch"):
        it = gate(engine)
        _, answer = it.ask("POST", "/logs/_search?typed_keys", {"aggs": aggs}, lambda send: hits(aggregations=told))
        found, made = answer["aggregations"], engine == "opensearch"
        assert found["filter#f"] == ({"meta": {}, "doc_count": 1} if made else told["filter#f"])
        assert found["filter#m"] == told["filter#m"] and found["filter#p"] == told["filter#p"]
        assert ("meta" in found["sterms#t"]) is made
        for bucket in found["sterms#t"]["buckets"]:
            assert {"in": bucket["in"], "p": bucket["p"]} == (rewritten if made else inner)


def test_name_of_an_index_in_a_span_is_the_physical_one() -> None:
    near = {"span_near": {"clauses": [{"span_term": {"_index": {"term": "logs"}}}, {"span_term": {"w": "x"}}]}}
    for query, sent in (
        ({"span_term": {"_index": "l*"}}, {"span_term": {"_index": "pool~logs-1"}}),
        (
            {"span_term": {"_index": {"value": "logs", "boost": 2}}},
            {"span_term": {"_index": {"value": "pool~logs-1", "boost": 2}}},
        ),
        ({"span_term": {"_index": "nope"}}, {"span_term": {"_index": "nope"}}),
        ({"span_term": {"_index": "pool~logs-1"}}, {"span_term": {"_index": "esproxy~none"}}),
        (near, {"span_near": {"clauses": [{"span_term": {"_index": {"term": "pool~logs-1"}}}, {"span_term": {"w": "x"}}]}}),
    ):
        assert must(asked("/logs/_search", {"query": query})) == sent


def test_search_pipeline_of_nothing_is_let_through() -> None:
    it = gate("opensearch")
    assert it.ask("POST", "/logs/_search", {"search_pipeline": {}}, lambda send: hits())[0] == 200
    assert it.body["search_pipeline"] == {}
    made = {"request_processors": [{"script": {"source": "ctx._source.size = 1"}}]}
    assert it.ask("POST", "/logs/_search", {"search_pipeline": made}, lambda send: hits())[0] == 400


def test_numbers_keep_their_digits_in_the_second_pass() -> None:
    text = (
        b'{"query":{"bool":{"must":[{"term":{"_id":"1"}},{"term":{"w":123456789012345678901234567890}},{"term":{"w":1.0E10}}]}}}'
    )
    it = asked("/logs/_search", text)
    assert b"123456789012345678901234567890" in it.sent.body and b"1.0E10" in it.sent.body
    for number in (b"1", b"-0", b"0.1", b"1.10", b"1e400", b"9223372036854775808"):
        assert exact.dumps(exact.loads(b"[%b]" % number)) == b"[%b]" % number


# --- aggregations past their search ---------------------------------------------------------------------


def test_global_aggregation_sees_the_scope_alone() -> None:
    it = gate()
    body = {
        "query": {"term": {"w": "x"}},
        "aggs": {
            "all": {"global": {}, "aggs": {"n": {"avg": {"field": "w"}}}, "meta": {"a": 1}},
            "p": {"avg_bucket": {"buckets_path": "all>n"}},
        },
    }
    inner = {"doc_count": 3, "avg#n": {"value": 2.0}}
    aggregations = {"global#all": {"doc_count": 99, "meta": {"a": 1}, "filter#esproxy~own": inner}}
    _, answer = it.ask("POST", "/logs/_search", body, lambda send: hits(aggregations=aggregations))
    sent = it.body["aggs"]
    assert sent["all"]["aggs"] == {
        "esproxy~own": {"filter": {"prefix": {"_routing": "acme.17:"}}, "aggs": {"n": {"avg": {"field": "w"}}}}
    }
    assert sent["p"]["avg_bucket"]["buckets_path"] == "all>esproxy~own>n"
    assert answer["aggregations"] == {"all": {"doc_count": 3, "meta": {"a": 1}, "n": {"value": 2.0}}}
    _, answer = it.ask("POST", "/logs/_search?typed_keys=true", body, lambda send: hits(aggregations=aggregations))
    assert answer["aggregations"] == {"global#all": {"doc_count": 3, "meta": {"a": 1}, "avg#n": {"value": 2.0}}}


@pytest.mark.parametrize("spelled", ["min_doc_count", "min_doc\\u005fcount"])
def test_empty_buckets_are_made_of_the_scope_s_own_terms(spelled: str) -> None:
    it = gate()
    text = '{"size":0,"query":{"term":{"w":"x"}},"aggs":{"a":{"terms":{"field":"n","@":0,"exclude":"z"}},'
    text += '"d":{"nested":{"path":"w"},"aggs":{"b":{"terms":{"field":"w.k","@":0}}}}}}'
    text = text.replace("@", spelled)

    def node(send: Send) -> Any:
        asks = orjson.loads(send.body)
        if "0" not in asks["aggs"]:
            return hits(aggregations={})
        assert asks["query"] == {"prefix": {"_routing": "acme.17:"}}
        assert asks["aggs"]["0"]["terms"] == {"field": "n~2", "exclude": "z", "size": 10000, "order": {"_key": "asc"}}
        assert asks["aggs"]["1"]["nested"] == {"path": "w"}
        buckets = [{"key": 1, "doc_count": 1}, {"key": 2, "key_as_string": "002", "doc_count": 1}]
        return hits(
            aggregations={
                "0": {"buckets": buckets, "sum_other_doc_count": 0},
                "1": {"doc_count": 0, "t": {"buckets": [], "sum_other_doc_count": 0}},
            }
        )

    assert it.ask("POST", "/logs/_search", text.encode(), node)[0] == 200
    aggs = orjson.loads(it.sends[-1].body)["aggs"]
    assert aggs["a"]["terms"] == {"field": "n~2", "min_doc_count": 0, "include": [1, "002"]}
    assert aggs["d"]["aggs"]["b"]["terms"]["include"] == []


def test_empty_buckets_of_too_many_terms_are_refused() -> None:
    it = gate()
    full = {"aggregations": {"0": {"buckets": [], "sum_other_doc_count": 1}}}
    body = {"aggs": {"a": {"terms": {"field": "w", "min_doc_count": 0}}}}
    assert it.ask("POST", "/logs/_search", body, lambda send: full)[0] == 400


# --- hits without metadata ------------------------------------------------------------------------------


@pytest.mark.parametrize(("where", "body"), [("", {"stored_fields": "_none_"}), ("?stored_fields=_none_&_source=false", {})])
def test_hits_without_metadata_are_verified_all_the_same(where: str, body: Any) -> None:
    it = gate()
    status, answer = it.ask("POST", "/logs/_search" + where, body, lambda send: hits(hit("pool~logs-1", "acme.17:1")))
    assert status == 200 and it.body["stored_fields"] == [] and b"stored" not in it.sent.target
    assert "_id" not in answer["hits"]["hits"][0] and answer["hits"]["hits"][0]["_index"] == "logs"
    assert it.ask("POST", "/logs/_search" + where, body, lambda send: hits(hit("pool~logs-1", "acme.18:1")))[0] == 500


def test_hits_without_metadata_but_with_source_are_the_node_s_to_refuse() -> None:
    it = asked("/logs/_search", {"stored_fields": "_none_", "_source": True})
    assert it.body["stored_fields"] == "_none_"


def test_pages_of_a_scroll_stay_without_metadata() -> None:
    it = gate()
    found = hits(hit("pool~logs-1", "acme.17:1"), _scroll_id="RAW")
    token = it.ask("POST", "/logs/_search?scroll=1m", {"stored_fields": "_none_"}, lambda send: found)[1]["_scroll_id"]
    answer = it.ask("GET", f"/_search/scroll/{token}", b"", lambda send: found)[1]
    assert "_id" not in answer["hits"]["hits"][0] and answer["_scroll_id"] == token


def test_each_answer_of_an_msearch_is_undone_on_its_own() -> None:
    it = gate()
    body = b'{}\n{"stored_fields":"_none_"}\n{}\n{}\n{}\n{"aggs":{"g":{"global":{}}}}\n'
    one = {**hits(hit("pool~logs-1", "acme.17:1")), "status": 200}
    last = {**one, "aggregations": {"global#g": {"doc_count": 9, "filter#esproxy~own": {"doc_count": 1}}}}
    answer = it.ask("POST", "/logs/_msearch", body, lambda send: {"took": 1, "responses": [one, one, last]})[1]
    bare, whole, counted = answer["responses"]
    assert "_id" not in bare["hits"]["hits"][0] and whole["hits"]["hits"][0]["_id"] == "1"
    assert counted["aggregations"] == {"g": {"doc_count": 1}}
