"""Lists of terms in pools: no term of another index shows, and each index is asked by itself."""

from __future__ import annotations

from typing import Any

import pytest

from esproxy.catalogue import names
from esproxy.catalogue.documents import Field, Index
from esproxy.exchange import Send
from tests.unit.pools.objects import nested
from tests.unit.pools.pool_gate import Gate, gate

KEYWORD = {"type": "keyword", "fields": {"raw": {"type": "keyword"}}}
SHARDS = {"total": 1, "successful": 1, "failed": 0}


def shared() -> Gate:
    it = gate("elasticsearch")
    fields = {"k": Field(KEYWORD, "k~2"), "t": Field({"type": "text"}, "t"), "f": Field({"type": "flattened"}, "f")}
    it.put(names.index_id("acme", 17), Index("acme", "logs", 17, "shared", "pool~logs", {}, {}, fields=fields))
    return it


def buckets(*terms: str, left: int = 0) -> Any:
    found = {"buckets": [{"key": term, "doc_count": 1} for term in terms], "sum_other_doc_count": left}
    return lambda send: {"timed_out": False, "_shards": SHARDS, "aggregations": {"terms": found}}


def test_terms_in_shared_are_those_of_own_documents() -> None:
    it = shared()
    status, told = it.ask("POST", "/logs/_terms_enum", {"field": "k"}, buckets("a", "b"))
    assert status == 200 and told == {"_shards": SHARDS, "terms": ["a", "b"], "complete": True}
    assert it.sent.target == b"/pool~logs-1/_search"
    assert it.body["query"] == {"prefix": {"_routing": "acme.17:"}}
    assert it.body["aggs"]["terms"]["terms"]["field"] == "k~2"


@pytest.mark.parametrize(
    ("field", "sent"),
    [("k", "k~2"), ("k.raw", "k~2.raw"), ("f.x.y", "f.x.y"), ("t", None), ("f", None), ("nope", None), ("_id", None)],
)
def test_field_is_aggregated_where_a_node_lists_it(field: str, sent: str | None) -> None:
    it = shared()
    it.ask("POST", "/logs/_terms_enum", {"field": field}, buckets())
    assert it.body["aggs"].get("terms", {}).get("terms", {}).get("field") == sent


def test_options_hold_for_what_was_found() -> None:
    it, found = shared(), buckets("B", "a.b", "b", "bb", "c")
    for options, terms in (
        ({"size": 2}, ["B", "a.b"]),
        ({"size": 0}, ["B"]),
        ({"string": "b"}, ["b", "bb"]),
        ({"string": "b", "case_insensitive": True}, ["B", "b", "bb"]),
        ({"search_after": "b"}, ["bb", "c"]),
        ({"string": "b", "search_after": "b"}, ["bb"]),
    ):
        assert it.ask("POST", "/logs/_terms_enum", {"field": "k", **options}, found)[1]["terms"] == terms


def test_prefix_is_no_expression() -> None:
    it = shared()
    it.ask("POST", "/logs/_terms_enum", {"field": "k", "string": "a.*[b", "case_insensitive": True}, buckets())
    assert it.body["aggs"]["terms"]["terms"]["include"] == "[aA]\\.\\*\\[[bB].*"


def test_list_that_was_cut_is_not_complete() -> None:
    assert shared().ask("POST", "/logs/_terms_enum", {"field": "k"}, buckets("a", left=3))[1]["complete"] is False


def test_filter_about_the_values_of_a_pool_is_refused() -> None:
    it = shared()
    assert it.ask("POST", "/logs/_terms_enum", {"field": "k", "index_filter": {"match_all": {}}})[0] == 400
    assert it.sends == []


def test_objects_are_asked_one_by_one_and_put_together() -> None:
    it = nested("elasticsearch")

    def node(send: Send) -> Any:
        assert send.target.endswith(b"/_terms_enum")
        return {"_shards": SHARDS, "terms": ["a", "c"] if b"n17.k" in send.body else ["a", "b"], "complete": True}

    _, told = it.ask("POST", "/logs,books/_terms_enum", {"field": "k", "index_filter": {"term": {"k": "a"}}}, node)
    assert told == {"_shards": {"total": 2, "successful": 2, "failed": 0}, "terms": ["a", "b", "c"], "complete": True}
    assert [b"n17.k" in send.body and b"acme.17:" in send.body for send in it.sends] == [True, False]


@pytest.mark.parametrize("field", ["_routing", "_id", "_ignored", "_field_names", "_index"])
def test_meta_field_is_never_listed(field: str) -> None:
    it = nested("elasticsearch")
    it.ask("POST", "/logs/_terms_enum", {"field": field}, lambda send: {"_shards": SHARDS, "terms": [], "complete": True})
    assert it.body["field"].startswith("n17.esproxy")


@pytest.mark.parametrize(
    "option", [{"size": None}, {"size": "3"}, {"string": 1}, {"search_after": None}, {"case_insensitive": "true"}]
)
def test_option_that_is_not_plain_is_the_nodes_to_refuse(option: dict[str, Any]) -> None:
    it = shared()
    status, _ = it.ask("POST", "/logs/_terms_enum", {"field": "k", **option}, lambda send: {"_shards": SHARDS, "terms": []})
    assert status == 400
    assert b"nothing" in it.sent.target or b"-acme.*" in it.sent.target
