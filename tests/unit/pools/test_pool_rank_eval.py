"""Rated searches in pools: the filter at every query root, ratings by physical documents, and answers that are verified."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import orjson
import pytest

from esproxy.exchange import Send
from tests.unit.pools.objects import nested
from tests.unit.pools.pool_gate import gate

TERM = {"prefix": {"_routing": "acme.17:"}}
METRIC = {"precision": {"k": 5}}


def answer(*found: tuple[str, str]) -> dict[str, Any]:
    scopes = [id.partition(":")[0] + ":" for _, id in found]
    each = zip(found, scopes, strict=True)
    hits = [{"hit": {"_index": i, "_id": id, "_routing": scope, "_score": 1.0}, "rating": None} for (i, id), scope in each]
    unrated = [{"_index": index, "_id": id} for index, id in found]
    details = {"q": {"metric_score": 1.0, "unrated_docs": unrated, "hits": hits, "metric_details": {}}}
    return {"metric_score": 1.0, "details": details, "failures": {}}


def asked(**more: Any) -> dict[str, Any]:
    one = {"id": "q", "request": {"query": {"match_all": {}}}, "ratings": [], **more}
    return {"requests": [one], "metric": METRIC}


def test_searches_are_filtered() -> None:
    it = gate("opensearch")
    body = asked()
    body["requests"].append({"id": "p", "request": {}, "ratings": []})
    assert it.ask("POST", "/logs/_rank_eval", body, lambda send: answer())[0] == 200
    first, second = (one["request"]["query"] for one in it.body["requests"])
    assert first == {"bool": {"filter": [TERM], "must": [{"match_all": {}}]}}
    assert second == {"constant_score": {"filter": TERM}}
    assert unquote(it.sent.target.decode()) == "/pool~logs-1/_rank_eval"


def test_ratings_are_of_physical_documents() -> None:
    it = gate("opensearch")
    ratings = [{"_index": name, "_id": "1", "rating": 1} for name in ("logs", "books", "pool~books-1", "zenith.books")]
    it.ask("POST", "/logs/_rank_eval", asked(ratings=ratings), lambda send: answer())
    sent = [(one["_index"], one["_id"]) for one in it.body["requests"][0]["ratings"]]
    assert sent[0] == ("pool~logs-1", "acme.17:1")
    assert all(index.startswith("acme.") and id == "1" for index, id in sent[1:])


def test_hits_and_what_is_unrated_are_told_by_the_clients_names() -> None:
    _, told = gate("opensearch").ask("POST", "/logs/_rank_eval", asked(), lambda send: answer(("pool~logs-1", "acme.17:1")))
    details = told["details"]["q"]
    assert details["unrated_docs"] == [{"_index": "logs", "_id": "1"}]
    assert details["hits"][0]["hit"] == {"_index": "logs", "_id": "1", "_score": 1.0}


@pytest.mark.parametrize("found", [("pool~logs-1", "zenith.3:1"), ("pool~books-1", "acme.18:1"), ("pool~logs-1", "acme.18:1")])
def test_hit_of_another_closes_the_answer(found: tuple[str, str]) -> None:
    status, told = gate("opensearch").ask("POST", "/logs/_rank_eval", asked(), lambda send: answer(found))
    assert status == 500 and found[1] not in str(told)


def test_template_is_rendered_and_filtered() -> None:
    it = gate("opensearch")

    def node(send: Send) -> Any:
        return {"template_output": {"query": {"match_all": {}}}} if b"_render" in send.target else answer()

    body = asked(template_id="t", params={"a": 1}) | {"templates": [{"id": "t", "template": {"source": "{}"}}]}
    del body["requests"][0]["request"]
    assert it.ask("POST", "/logs/_rank_eval", body, node)[0] == 200
    sent = orjson.loads(it.sends[-1].body)
    assert "templates" not in sent and sent["requests"][0].keys() == {"id", "ratings", "request"}
    assert sent["requests"][0]["request"]["query"]["bool"]["filter"] == [TERM]


def test_error_of_one_search_is_told_without_the_filter() -> None:
    cause = {"type": "parsing_exception", "reason": "no [nope] query"}
    wrapped = {"type": "x_content_parse_exception", "reason": "[1:2] [bool] failed to parse field [must]", "caused_by": cause}
    node = answer() | {"failures": {"q": {"error": {"root_cause": [wrapped], **wrapped}}}}
    _, told = gate("opensearch").ask("POST", "/logs/_rank_eval", asked(), lambda send: node)
    assert told["failures"]["q"]["error"] == {"root_cause": [cause], **cause}


def test_field_that_several_objects_have_is_refused() -> None:
    it = nested()
    body = asked(request={"query": {"term": {"a": 1}}})
    assert it.ask("POST", "/logs,books/_rank_eval", body)[0] == 400 and it.sends == []


def test_index_that_is_not_there_is_missed_by_the_node() -> None:
    it = gate("opensearch")
    cause = {"type": "index_not_found_exception", "reason": "no such index [acme.nope]", "index": "acme.nope"}
    node = answer() | {"failures": {"q": {"error": {"root_cause": [cause], **cause}}}}
    status, told = it.ask("POST", "/logs,nope/_rank_eval", asked(), lambda send: node)
    assert status == 200 and told["failures"]["q"]["error"]["index"] == "nope" and "acme" not in str(told)
    assert it.sent.target == b"/acme.nope/_rank_eval"
    assert it.body["requests"][0]["request"]["query"]["bool"]["filter"] == [{"match_none": {}}]
