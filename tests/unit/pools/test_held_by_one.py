"""Aggregations over indices in objects, of which one has the field: by its name there, where that makes no difference."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from esproxy.exchange import Send
from tests.unit.pools.objects import OWN, nested

KEYWORD = {"type": "keyword"}
LOGS: dict[str, Any] = {"n17": {"properties": {"w": KEYWORD, "o": {"properties": {"p": KEYWORD}}, "fl": {"type": "flattened"}}}}
ALONE = {"x": KEYWORD, "n17": {"properties": {"w": KEYWORD}}}
TERMS = {"terms": {"field": "w"}}


def asked(
    aggs: dict[str, Any], objects: dict[str, Any] = LOGS, index: str = "logs,books", **body: Any
) -> tuple[int, dict[str, Any], list[Send]]:
    """Status, answer, and the searches that were sent."""
    it = nested()
    sent: list[Send] = []

    def node(send: Send) -> dict[str, Any]:
        if send.method == "GET" and b"_mapping" in send.target:
            physical = send.target.split(b"/")[1].decode()
            return {physical: {"mappings": {"properties": objects if physical == OWN else ALONE}}}
        sent.append(send)
        return {"took": 1, "timed_out": False, "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
                "hits": {"total": {"value": 0, "relation": "eq"}, "max_score": None, "hits": []}}  # fmt: skip

    status, answer = it.ask("POST", f"/{index}/_search", {"aggs": {"a": aggs}, "size": 0, **body}, node)
    return status, answer, sent


def field_of(send: Send) -> str:
    return str(orjson.loads(send.body)["aggs"]["a"]["terms"]["field"])


def test_field_of_one_index_goes_by_its_name_there() -> None:
    status, _, (sent,) = asked(TERMS, query={"bool": {"must_not": {"term": {"w": "x"}}}})
    assert status == 200 and field_of(sent) == "n17.w"
    assert orjson.loads(sent.body)["query"]["bool"]["must"] == [{"bool": {"must_not": {"term": {"n17.w": "x"}}}}]


@pytest.mark.parametrize(("path", "name"), [("o.p", "n17.o.p"), ("fl.key", "n17.fl.key"), ("nobodys", "nobodys~00")])
def test_path_of_any_kind_is_found_where_it_is(path: str, name: str) -> None:
    _, _, (sent,) = asked({"terms": {"field": path}})
    assert field_of(sent) == name


def test_field_that_two_have_is_refused() -> None:
    status, answer, sent = asked(TERMS, {**LOGS, "n18": {"properties": {"w": {"type": "long"}}}})
    assert status == 400 and "[w] has different names" in answer["error"]["reason"] and not sent


ALIKE = {**LOGS, "n18": {"properties": {"w": {**KEYWORD, "fields": {"t": {"type": "text"}}}}}}


def both_have(logs: int, books: int, objects: dict[str, Any] = ALIKE) -> tuple[int, list[str]]:
    """Status, and the fields of the searches that were sent, where so many documents of each have values."""
    it = nested()
    fields: list[str] = []

    def node(send: Send) -> dict[str, Any]:
        if b"_mapping" in send.target:
            return {OWN: {"mappings": {"properties": objects}}}
        counts = {"n17.w": logs, "n18.w": books}
        answer = {"took": 1, "timed_out": False, "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0}}
        if b"_msearch" not in send.target:
            fields.append(field_of(send))
            return {**answer, "hits": {"total": {"value": 0, "relation": "eq"}, "max_score": None, "hits": []}}
        asked = [orjson.loads(line)["query"]["bool"]["filter"] for line in send.body.splitlines()[1::2]]
        assert all("prefix" in scope for scope, _ in asked)
        found = [counts[exists["exists"]["field"]] for _, exists in asked]
        return {"responses": [{**answer, "hits": {"total": {"value": one, "relation": "eq"}, "hits": []}} for one in found]}

    return it.ask("POST", "/logs,books/_search", {"aggs": {"a": TERMS}, "size": 0}, node)[0], fields


@pytest.mark.parametrize(("logs", "books", "field"), [(2, 0, "n17.w"), (0, 3, "n18.w"), (0, 0, "n17.w")])
def test_field_that_two_have_goes_by_the_name_where_there_are_values(logs: int, books: int, field: str) -> None:
    assert both_have(logs, books) == (200, [field])


def test_field_of_which_two_have_values_or_other_types_is_refused() -> None:
    assert both_have(1, 1) == (400, [])
    assert both_have(1, 0, {**LOGS, "n18": {"properties": {"w": {"type": "long"}}}}) == (400, [])


@pytest.mark.parametrize(
    ("aggs", "body"),
    [
        (TERMS, {"sort": "w"}),
        (TERMS, {"collapse": {"field": "w"}}),
        (TERMS, {"query": {"nested": {"path": "o", "query": {"term": {"w": "x"}}}}}),
        (TERMS, {"query": {"geo_distance": {"distance": "1km", "w": [1, 2]}}}),
        (TERMS, {"query": {"bool": {"filter": [{"query_string": {"query": "w:x"}}]}}}),
        (TERMS, {"query": {"terms": {"w": {"index": "books", "id": "1", "path": "w"}}}}),
        ({"terms": {"script": "doc['w'].value"}}, {}),
        ({"top_hits": {"sort": "w"}}, {}),
        ({"nested": {"path": "w"}}, {}),
        ({"filter": {"exists": {"field": "w"}}, "aggs": {"b": {"top_hits": {"sort": ["w"]}}}}, {}),
        ({"filters": {"filters": {"b": {"nested": {"path": "w", "query": {"match_all": {}}}}}}}, {}),
    ],
)
def test_field_is_refused_where_shards_without_it_would_fail(aggs: dict[str, Any], body: dict[str, Any]) -> None:
    status, _, sent = asked(aggs, **body)
    assert status == 400 and not sent


def test_name_in_an_object_that_is_a_field_of_an_index_alone_is_refused() -> None:
    assert asked(TERMS, index="logs,lone")[0] == 400  # lone has a field n17.w
    assert asked({"terms": {"field": "n17.w"}}, index="books,lone")[0] == 400
    assert field_of(asked({"terms": {"field": "x"}}, index="books,lone")[2][0]) == "x"
