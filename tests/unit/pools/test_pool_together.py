"""Scrolls over objects of ``per-tenant``: one search for all of them, and values to sort by that are read back."""

from __future__ import annotations

import math
import struct
from typing import Any

import orjson
import pytest

from esproxy.exchange import Send
from esproxy.rewriting.decoded import EMPTY, VALUE, Decoded
from tests.unit.pools.objects import OWN, found, nested
from tests.unit.pools.pool_gate import hits

QUERY = {"query": {"match": {"t": "x"}}}


def whole(number: int) -> str:
    return VALUE + f"{number + (1 << 63):016x}"


def typed(names: dict[str, str]) -> Any:
    told = {name: {"full_name": name, "mapping": {"n": {"type": kind}}} for name, kind in names.items()}
    return {OWN: {"mappings": told}}


def scrolled(body: Any, types: dict[str, str] | None = None, path: str = "/logs,books/_search?scroll=1m") -> Any:
    """The status, the answer and the searches that were sent."""
    it = nested()

    def node(send: Send) -> Any:
        if b"_mapping" in send.target:
            return typed(types or {})
        first, second = found(18, "2", None, sort=[whole(-5)]), found(17, "1", None, sort=[EMPTY[False]])
        return {"_scroll_id": "raw", **hits(first, second)}

    status, answer = it.ask("POST", path, body, node)
    return status, answer, [send for send in it.sends if b"_mapping" not in send.target], it


def test_scroll_over_objects_is_one_search_with_the_query_of_each() -> None:
    status, answer, sends, _ = scrolled(QUERY)
    assert status == 200, answer
    (send,) = sends
    assert send.target.startswith(f"/{OWN}/_search?scroll=1m".encode())
    queries = orjson.loads(send.body)["query"]["bool"]
    assert queries["minimum_should_match"] == 1
    for number, query in zip((17, 18), queries["should"], strict=True):
        assert query["bool"]["filter"] == [{"prefix": {"_routing": f"acme.{number}:"}}]
        assert query["bool"]["must"] == [{"match": {f"n{number}.t": "x"}}]


def test_post_filter_is_for_documents_of_its_own_index() -> None:
    _, _, (send,), _ = scrolled({**QUERY, "post_filter": {"bool": {"must_not": [{"term": {"k": "y"}}]}}})
    for number, one in zip((17, 18), orjson.loads(send.body)["post_filter"]["bool"]["should"], strict=True):
        assert one["bool"]["filter"] == [{"prefix": {"_routing": f"acme.{number}:"}}]
        assert one["bool"]["must"] == [{"bool": {"must_not": [{"term": {f"n{number}.k": "y"}}]}}]


def test_what_is_wanted_of_documents_is_asked_for_by_all_names() -> None:
    wanted = {"_source": {"includes": ["a", "b*"], "excludes": "c"}, "fields": ["a", {"field": "d", "format": "yyyy"}]}
    _, _, (send,), _ = scrolled({**QUERY, **wanted, "highlight": {"order": "score", "fields": {"t": {}}}})
    body = orjson.loads(send.body)
    assert body["_source"] == {"includes": ["n17.a", "n17.b*", "n18.a", "n18.b*"], "excludes": ["n17.c", "n18.c"]}
    dates = [{"field": f"n{number}.d", "format": "yyyy"} for number in (17, 18)]
    assert body["fields"] == ["n17.a", dates[0], "n18.a", dates[1]]
    assert body["highlight"] == {"order": "score", "fields": {"n17.t": {}, "n18.t": {}}}


def test_values_of_a_sort_are_read_back_on_every_page() -> None:
    status, answer, (send,), it = scrolled({**QUERY, "sort": ["n"]}, {"n17.n": "long", "n18.n": "long"})
    assert status == 200, answer
    (entry,) = orjson.loads(send.body)["sort"]
    assert entry["_script"]["script"]["params"] == {"fields": ["n17.n", "n18.n"], "kind": "long", "last": False, "missing": "z"}
    assert [hit["sort"] for hit in answer["hits"]["hits"]] == [[-5], [2**63 - 1]]
    page = {"_scroll_id": "raw", **hits(found(17, "3", None, sort=[whole(7)]))}
    body = {"scroll_id": answer["_scroll_id"], "scroll": "1m"}
    status, second = it.ask("POST", "/_search/scroll", body, lambda send: page)
    assert status == 200 and second["hits"]["hits"][0]["sort"] == [7]
    assert second["_scroll_id"] == answer["_scroll_id"]


@pytest.mark.parametrize(
    ("body", "types"),
    [
        ({"sort": ["n"]}, {"n17.n": "long", "n18.n": "keyword"}),
        ({"sort": ["n"]}, {"n17.n": "long"}),
        ({"sort": ["n"]}, {"n17.n": "ip", "n18.n": "ip"}),
        ({"sort": [{"n": {"mode": "avg"}}]}, {}),
        ({"aggs": {"a": {"max": {"field": "n"}}}}, {}),
        ({"aggs": {"all": {"global": {}}}}, {}),
        ({"explain": True}, {}),
        ({"collapse": {"field": "k"}}, {}),
    ],
)
def test_scroll_that_cannot_be_one_search_is_refused(body: Any, types: Any) -> None:
    status, answer, sends, _ = scrolled({**QUERY, **body}, types)
    assert status == 400 and "several indices at once" in answer["error"]["reason"] and not sends


def test_page_of_a_scroll_with_a_document_of_another_index_is_withheld() -> None:
    it = nested()
    status, _ = it.ask("POST", "/logs,books/_search?scroll=1m", QUERY, lambda send: hits(found(19, "1")))
    assert status == 500


@pytest.mark.parametrize("kind", ["long", "int", "date"])
def test_whole_numbers_come_back(kind: str) -> None:
    for number in (0, 1, -1, 2**53 + 1, -(2**63), 2**63 - 1):
        assert Decoded(kind).value(whole(number)) == number


def test_missing_values_are_told_as_a_node_does() -> None:
    told = {kind: [Decoded(kind).value(EMPTY[bottom]) for bottom in (True, False)] for kind in ("long", "int", "double", "text")}
    assert told["long"] == [-(2**63), 2**63 - 1]
    assert told["int"] == [-(2**31), 2**31 - 1]
    assert told["double"] == ["-Infinity", "Infinity"] and told["text"] == [None, None]


@pytest.mark.parametrize(
    ("number", "text"),
    [(1.5, b"1.5"), (-0.001, b"-0.001"), (1e7, b"1.0E7"), (-1.25e-4, b"-1.25E-4"), (1e300, b"1.0E300"), (123456.0, b"123456.0")],
)
def test_floating_point_numbers_come_back_as_a_node_writes_them(number: float, text: bytes) -> None:
    (bits,) = struct.unpack(">q", struct.pack(">d", number))
    turned = bits ^ (2**63 - 1) if bits < 0 else bits
    assert orjson.dumps(Decoded("double").value(whole(turned))) == text
    assert math.copysign(1, number) == (-1 if turned < 0 else 1)
