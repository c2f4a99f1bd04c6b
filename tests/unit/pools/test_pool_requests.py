"""What goes upstream for searches of indices in ``shared``: physical names, scopes, the filter at every query root."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import orjson
import pytest

from esproxy.catalogue.documents import Alias
from esproxy.cluster import Cluster
from tests.unit.pools.pool_gate import gate, hits

TERM = {"prefix": {"_routing": "acme.17:"}}
BOTH = {"bool": {"should": [{"prefix": {"_routing": "acme.18:"}}, TERM], "minimum_should_match": 1}}
DONE = {"_index": "pool~logs-1", "_id": "acme.17:1", "_version": 1, "result": "created", "_shards": {"total": 1}, "_seq_no": 0}


def wrapped(query: Any, term: Any = TERM) -> Any:
    return {"bool": {"filter": [term], "must": [query]}}


def test_search_one_index_is_filtered_and_routed() -> None:
    it = gate()
    status, answer = it.ask("POST", "/logs/_search", {"query": {"match": {"w": "x"}}}, lambda send: hits())
    assert status == 200 and answer["hits"]["hits"] == []
    assert it.sent.target == b"/pool~logs-1/_search"
    assert it.body == {"query": wrapped({"match": {"w": "x"}})}


@pytest.mark.parametrize(("method", "body"), [("GET", b""), ("POST", {}), ("POST", {"size": 0})])
def test_search_without_query_gets_the_filter(method: str, body: Any) -> None:
    it = gate()
    it.ask(method, "/logs/_search", body, lambda send: hits())
    assert it.body["query"] == {"constant_score": {"filter": TERM}}


def test_search_all_indices_lists_every_scope() -> None:
    for target in ("/_search", "/_all/_search", "/*/_search", "/logs,books/_search", "/l*,b*/_search"):
        it = gate()
        it.ask("GET", target, b"", lambda send: hits())
        assert set(it.sent.target.decode().split("/")[1].split(",")) == {"pool~logs-1", "pool~books-1"}
        either = it.body["query"]["constant_score"]["filter"]["bool"]["should"]
        assert sorted(clause["prefix"]["_routing"] for clause in either) == ["acme.17:", "acme.18:"]


def test_search_exclusion_takes_away() -> None:
    it = gate()
    it.ask("GET", "/*,-b*/_search", b"", lambda send: hits())
    assert it.sent.target.startswith(b"/pool~logs-1/")


def test_search_that_matches_nothing_goes_under_the_own_prefix() -> None:
    it = gate()
    it.ask("GET", "/zz*/_search", b"", lambda send: hits())
    assert it.sent.target == b"/acme.*,-acme.*/_search" and it.body["query"] == {"constant_score": {"filter": {"match_none": {}}}}


def test_search_every_query_root_is_filtered() -> None:
    it = gate()
    body = {
        "query": {"match": {"w": "x"}},
        "post_filter": {"term": {"w": "y"}},
        "knn": {"field": "v", "query_vector": [1], "k": 1, "num_candidates": 2},
        "rescore": {"query": {"rescore_query": {"match": {"w": "z"}}}},
        "aggs": {"s": {"significant_terms": {"field": "w"}}},
    }
    it.ask("POST", "/logs/_search", body, lambda send: hits())
    assert it.body["query"] == wrapped({"match": {"w": "x"}}) and it.body["post_filter"] == wrapped({"term": {"w": "y"}})
    assert it.body["knn"]["filter"] == {"constant_score": {"filter": TERM}}
    assert it.body["aggs"]["s"]["significant_terms"]["background_filter"] == {"constant_score": {"filter": TERM}}


def test_search_by_parameter_goes_into_the_body() -> None:
    it = gate()
    it.ask("GET", "/books/_search?q=w:x&default_operator=AND&lenient=true&size=3&sort=w:desc", b"", lambda send: hits())
    term = {"prefix": {"_routing": "acme.18:"}}
    query = {"query_string": {"query": "w:x", "default_operator": "AND", "lenient": True, "fields": ["w"]}}
    assert it.body == {"query": wrapped(query, term)}
    assert b"q=" not in it.sent.target and b"routing" not in it.sent.target


@pytest.mark.parametrize(
    ("body", "sent"),
    [
        ({"docvalue_fields": ["*"]}, {"docvalue_fields": ["n~2", "w"]}),
        ({"docvalue_fields": [{"field": "n*", "format": "x"}, "s*"]}, {"docvalue_fields": [{"field": "n~2", "format": "x"}]}),
        ({"docvalue_fields": ["s*"]}, {"docvalue_fields": ["esproxy~00"]}),
        (
            {"fields": ["w", "*"], "runtime_mappings": {"r": {"fields": {"a": {"type": "long"}}}}},
            {"fields": ["w", "n~2", "r~00", "r~00.a", "w"]},
        ),
        ({"fields": ["_*", "secret"]}, {"fields": ["secret~00"]}),
        (
            {"fields": [{"field": "secret", "include_unmapped": True}, {"field": "s*", "include_unmapped": True}]},
            {"fields": [{"field": "secret", "include_unmapped": True}, {"field": "s*", "include_unmapped": True}]},
        ),
    ],
)
def test_pattern_of_fields_is_the_index_s_own_where_others_have_theirs(body: dict[str, Any], sent: dict[str, Any]) -> None:
    it = gate()
    it.ask("POST", "/logs/_search", body, lambda send: hits())
    assert {key: it.body[key] for key in sent} == sent


@pytest.mark.parametrize("several", [False, True])
def test_pattern_of_fields_to_highlight_is_the_index_s_own(several: bool) -> None:
    it = gate()
    fields: Any = {"*": {"type": "fvh"}, "w": {}}
    it.ask("POST", "/logs/_search", {"highlight": {"fields": [fields] if several else fields}}, lambda send: hits())
    own = {"n~2": {"type": "fvh"}, "w": {"type": "fvh"}}
    assert it.body["highlight"]["fields"] == ([own] if several else own)


def test_pattern_in_a_parameter_is_the_index_s_own_fields() -> None:
    it = gate()
    it.ask("GET", "/logs/_search?docvalue_fields=n*,w", b"", lambda send: hits())
    assert "docvalue_fields=n~2,w" in unquote(it.sent.target.decode())


@pytest.mark.parametrize("query", ["multi_match", "query_string", "simple_query_string"])
def test_query_over_a_pattern_of_fields_is_over_the_index_s_own(query: str) -> None:
    for fields, sent in ((["w*^2", "n*"], ["w^2", "n~2"]), (["s*", "_u*"], ["esproxy~00"])):
        it = gate()
        it.ask("POST", "/logs/_search", {"query": {query: {"query": "a", "fields": fields}}}, lambda send: hits())
        assert orjson.dumps(sent) in it.sent.body


def test_search_renamed_field_has_its_physical_name_everywhere() -> None:
    it = gate()
    body = {
        "query": {"bool": {"must": [{"term": {"n": 1}}, {"query_string": {"query": "n:2 OR w:x"}}]}},
        "sort": [{"n": "asc"}], "aggs": {"a": {"terms": {"field": "n"}}}, "_source": ["n", "w"], "fields": ["n*"],
    }  # fmt: skip
    it.ask("POST", "/logs/_search?docvalue_fields=n", body, lambda send: hits())
    text = it.sent.body.decode()
    assert it.body["query"]["bool"]["must"][0]["bool"]["must"][0] == {"term": {"n~2": 1}}
    assert "n\\~2:2" in text.replace("\\\\", "\\") or "n~2:2" in text
    assert it.body["sort"] == [{"n~2": "asc"}] and it.body["aggs"]["a"]["terms"]["field"] == "n~2"
    assert it.body["_source"] == ["n~2", "w"] and it.body["fields"] == ["n~2"]
    assert b"docvalue_fields=n~2" in it.sent.target


def test_search_ids_are_scoped() -> None:
    it = gate()
    it.ask("POST", "/logs/_search", {"query": {"ids": {"values": ["1", 2]}}}, lambda send: hits())
    assert it.body["query"] == wrapped({"ids": {"values": ["acme.17:1", "acme.17:2"]}})
    it = gate()
    it.ask("POST", "/logs/_search", {"query": {"term": {"_id": "acme.99:1"}}}, lambda send: hits())
    assert it.body["query"] == wrapped({"terms": {"_id": ["acme.17:acme.99:1"]}})


def test_search_lookup_reads_only_own_indices() -> None:
    it = gate()
    lookup = {"query": {"terms": {"w": {"index": "books", "id": "7", "path": "w"}}}}
    it.ask("POST", "/logs/_search", lookup, lambda send: hits())
    found = it.body["query"]["bool"]["must"][0]["terms"]["w"]
    assert found == {"index": "pool~books-1", "id": "acme.18:7", "path": "w", "routing": "acme.18:"}
    it = gate()
    lookup["query"]["terms"]["w"]["index"] = "pool~books-1"
    it.ask("POST", "/logs/_search", lookup, lambda send: hits())
    assert it.body["query"]["bool"]["must"][0]["terms"]["w"]["index"] == "acme.pool~books-1"


def test_search_like_a_document_of_the_own_index() -> None:
    it = gate()
    like = [{"_id": "7"}, {"_index": "books", "_id": "8"}, "text"]
    it.ask("POST", "/logs/_search", {"query": {"more_like_this": {"fields": ["w"], "like": like}}}, lambda send: hits())
    assert it.body["query"]["bool"]["must"][0]["bool"]["must"][0]["more_like_this"]["like"] == [
        {"_id": "acme.17:7", "_index": "pool~logs-1", "routing": "acme.17:"},
        {"_index": "pool~books-1", "_id": "acme.18:8", "routing": "acme.18:"},
        "text",
    ]


def test_search_by_index_name_as_a_field() -> None:
    it = gate()
    it.ask("POST", "/_search", {"query": {"terms": {"_index": ["logs", "pool~books-1"]}}}, lambda send: hits())
    assert it.body["query"]["bool"]["must"][0] == {"terms": {"_index": ["pool~logs-1"]}}


@pytest.mark.parametrize(
    ("target", "body"),
    [
        ("/logs/_search?q=_routing:x", b""),
        ("/logs/_search", {"query": {"wildcard": {"_routing": "acme.18*"}}}),
        ("/logs/_search", {"query": {"prefix": {"_routing": "acme.17:"}}}),
        ("/logs/_search", {"query": {"bool": {"must": [{"term": {"_routing": "x"}}, {"match": {"_routing": "acme.18"}}]}}}),
        ("/logs/_search", {"sort": ["_routing"], "query": {"exists": {"field": "_routing"}}}),
        ("/logs/_search", {"aggs": {"a": {"terms": {"field": "_routing"}}}}),
        ("/logs/_search", {"suggest": {"s": {"text": "x", "term": {"field": "w"}}}}),
        ("/logs/_search", {"aggs": {"a": {"significant_terms": {"field": "w", "min_doc_count": 0}}}}),
        ("/logs/_search", {"runtime_mappings": {"_routing": {"type": "keyword"}}}),
        ("/logs/_search", {"runtime_mappings": {"_mine": {"type": "keyword"}}}),
        *(("/logs/_search", {"runtime_mappings": {name: {"type": "long"}}}) for name in ("_index", "_score", "_doc", "_source")),
        ("/logs/_field_caps?fields=w", {"runtime_mappings": {"_index": {"type": "keyword"}}}),
        ("/logs/_delete_by_query", {}),
    ],
)
def test_request_that_a_pool_cannot_serve_is_refused_unsent(target: str, body: Any) -> None:
    it = gate()
    status, answer = it.ask("POST", target, body)
    assert status == 400 and answer["error"]["reason"], answer
    assert it.sends == []


def test_index_unknown_name_is_looked_up_then_not_found() -> None:
    it = gate("opensearch")
    status, answer = it.ask("GET", "/nope/_search")
    assert status == 404 and answer["error"]["resource.type"] == "index_or_alias"
    status, answer = it.ask("GET", "/nope/_doc/1")
    assert status == 404 and answer["error"]["resource.type"] == "index_expression"
    assert it.ask("GET", "/pool~logs-1/_doc/1")[0] == 404 and it.sends == []


@pytest.mark.parametrize(("version", "status"), [("8.19.13", 400), ("9.4.3", 200)])
def test_synthetic_sources_are_refused_in_searches_before_9(version: str, status: int) -> None:
    it = gate(fields={})
    it.gateway.clusters["main"] = Cluster("main", "elasticsearch", {"version": {"number": version}})
    told = it.ask("GET", "/logs/_search?force_synthetic_source", b"", lambda send: hits())
    assert (told[0], bool(it.sends)) == (status, status == 200)
    assert it.ask("GET", "/logs/_search?force_synthetic_source=false", b"", lambda send: hits())[0] == 200


def test_alias_stands_for_its_index() -> None:
    it = gate(aliases={"al": Alias({"logs": {}}), "many": Alias({"logs": {}, "books": {"is_write_index": True}})})
    it.ask("GET", "/al/_search", b"", lambda send: hits())
    assert it.sent.target.startswith(b"/pool~logs-1/")
    assert it.ask("GET", "/many/_doc/1")[0] == 400
    it.sends.clear()
    done = DONE | {"_index": "pool~books-1", "_id": "acme.18:1"}
    status, answer = it.ask("PUT", "/many/_doc/1", {"w": "x"}, lambda send: (201, done))
    assert status == 201 and answer["_index"] == "books"


@pytest.mark.parametrize(
    ("target", "body", "reason"),
    [
        ("/_alias", {"alias": "x"}, "[indices] can't be empty"),
        ("/_alias/x", {}, "[indices] can't be empty"),
        ("/_alias/x", {"index": []}, "[indices] can't be empty"),
        ("/logs/_alias", {}, "[alias] can't be empty string"),
        ("/logs/_alias/x", {"index": "nope"}, "no such index [nope]"),
        ("/logs/_alias/x", {"index": ["logs", "nope"]}, "no such index [nope]"),
    ],
)
def test_alias_is_named_by_the_body_before_the_path(target: str, body: Any, reason: str) -> None:
    status, answer = gate().ask("PUT", target, body, lambda send: (404, {"found": False}))
    assert (status, answer["error"]["reason"]) == (404 if "such" in reason else 400, reason)


def test_tenant_without_directory_sees_nothing_of_others() -> None:
    it = gate()
    assert it.ask("GET", "/logs/_search", tenant="zenith")[0] == 404
    it.ask("GET", "/_search", b"", lambda send: hits(), tenant="zenith")
    assert it.sent.target == b"/zenith.*,-zenith.*/_search"
    assert orjson.loads(it.sent.body)["query"] == {"constant_score": {"filter": {"match_none": {}}}}


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ({"exists": {"field": "_routing"}}, {"regexp": {"_routing": {"value": "acme\\.17:.+"}}}),
        ({"term": {"_routing": "acme.18:x"}}, {"terms": {"_routing": ["acme.17:acme.18:x"]}}),
        ({"term": {"_routing": {"value": 7, "_name": "n"}}}, {"terms": {"_routing": ["acme.17:7"], "_name": "n"}}),
        ({"terms": {"_routing": ["a", ""], "boost": 2}}, {"terms": {"_routing": ["acme.17:a"], "boost": 2}}),
        ({"term": {"_routing": ""}}, {"match_none": {}}),
        ({"prefix": {"_routing": {"value": "a"}}}, {"prefix": {"_routing": {"value": "acme.17:a"}}}),
    ],
)
def test_query_on_the_routing_asks_behind_the_scope(query: Any, sent: Any) -> None:
    it = gate()
    it.ask("POST", "/logs/_search", {"query": {"bool": {"filter": [query]}}}, lambda send: hits())
    (found,) = it.body["query"]["bool"]["must"][0]["bool"]["filter"]
    if "bool" in found:
        assert found["bool"].pop("minimum_should_match") == 1 and found["bool"].keys() == {"should"}
        (found,) = found["bool"]["should"]
    assert found == sent and it.body["query"]["bool"]["filter"] == [TERM]


def test_query_on_the_routing_of_several_indices_and_shards() -> None:
    it = gate(settings={"index.number_of_shards": 5})
    it.ask("POST", "/logs,books/_search", {"query": {"term": {"_routing": "a"}}}, lambda send: hits())
    sent = it.body["query"]["bool"]["must"][0]["terms"]["_routing"]
    assert [value.rpartition(":")[0] for value in sorted(sent)] == ["acme.17:a", "acme.18:a"]
    it = gate(settings={"index.number_of_shards": 5})
    it.ask("POST", "/logs/_search", {"query": {"exists": {"field": "_routing"}}}, lambda send: hits())
    (sent,) = it.body["query"]["bool"]["must"][0]["bool"]["should"]
    assert sent == {"regexp": {"_routing": {"value": "acme\\.17:.+:[0-9]+"}}}


def test_text_in_several_fields_of_which_the_index_is_one() -> None:
    it = gate()
    query = {"multi_match": {"query": "lo*", "fields": ["_index^2", "w"]}}
    it.ask("POST", "/logs,books/_search", {"query": query}, lambda send: hits())
    own = {"terms": {"_index": ["pool~logs-1"]}}
    rest = {"multi_match": {"query": "lo*", "fields": ["w"]}}
    assert it.body["query"]["bool"]["must"] == [{"dis_max": {"queries": [rest, own]}}]
    it = gate()
    query = {"simple_query_string": {"query": "books", "fields": ["_index"]}}
    it.ask("POST", "/logs/_search", {"query": query}, lambda send: hits())
    assert it.body["query"]["bool"]["must"] == [{"match_none": {}}]
    it = gate()
    query = {"simple_query_string": {"query": "logs | books", "fields": ["_index"]}}
    assert it.ask("POST", "/logs/_search", {"query": query})[0] == 400 and it.sends == []


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("_index:logs", "_index:pool\\~logs\\-1"),
        ("_index:lo*", "_index:pool\\~logs\\-1*"),
        ("_index:b*", "_index:esproxy\\~none*"),
        ("_index:l*s", "_index:pool\\~logs\\-*1*"),
        ("_id:7", "_id:acme.17\\:7"),
    ],
)
def test_names_and_ids_in_a_query_string(text: str, sent: str) -> None:
    it = gate(fields={})
    it.ask("POST", "/logs/_search", {"query": {"query_string": {"query": text}}}, lambda send: hits())
    assert it.body["query"]["bool"]["must"][0]["query_string"]["query"] == sent


def test_body_in_a_parameter_is_filtered_like_any_other() -> None:
    it = gate()
    target = "/logs/_search?source=%7B%22size%22%3A0%7D&source_content_type=application/json"
    assert it.ask("GET", target, b"", lambda send: hits())[0] == 200
    assert b"source" not in it.sent.target
    assert it.body == {"size": 0, "query": {"constant_score": {"filter": {"prefix": {"_routing": "acme.17:"}}}}}


def test_filter_path_does_not_filter_a_document() -> None:
    it = gate()
    status, answer = it.ask("GET", "/logs/_source/1?filter_path=nope", b"", lambda send: {"w": 1})
    assert (status, answer) == (200, {"w": 1})


@pytest.mark.parametrize("engine", ["opensearch", "elasticsearch"])
@pytest.mark.parametrize("endpoint", ["_update_by_query", "_delete_by_query", "_search", "_count"])
@pytest.mark.parametrize("body", [b"[]", b"null", b'"query"', b"5", b" true", b'["query"]', b'[{"query":{"match_all":{}}}]'])
def test_search_that_is_no_object_and_has_no_place_for_a_filter_is_not_sent(engine: str, endpoint: str, body: bytes) -> None:
    it = gate(engine)
    for _ in range(3):
        status, told = it.ask("POST", f"/logs/{endpoint}", body)
        assert status == 400 and told["error"]["reason"].startswith("Expected [START_OBJECT] but found [")
    assert it.sends == []
    assert it.ask("POST", f"/logs/{endpoint}", b" " + orjson.dumps({"query": {"match_all": {}}}), lambda send: hits())[0] == 200
    assert TERM in it.body["query"]["bool"]["filter"]


@pytest.mark.parametrize("endpoint", ["_update_by_query", "_delete_by_query"])
def test_more_slices_than_nodes_take_are_not_asked_for(endpoint: str) -> None:
    it = gate()
    status, told = it.ask("POST", f"/logs/{endpoint}?slices=1025", {"query": {"match_all": {}}})
    assert status == 400 and "The number of slices [1025] is too large" in told["error"]["reason"] and it.sends == []
    assert it.ask("POST", f"/logs/{endpoint}?slices=1024", {"query": {"match_all": {}}}, lambda send: hits())[0] == 200
