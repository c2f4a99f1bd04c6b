"""``_field_caps`` over indices in ``shared``: the index's own fields alone, joined over indices as nodes join them."""

from __future__ import annotations

from typing import Any

import orjson

from esproxy.catalogue.documents import Field
from esproxy.exchange import Send
from tests.unit.pools.pool_gate import LONG, TEXT, gate


def caps(kind: str, searchable: bool = True, aggregatable: bool = True, **more: Any) -> dict[str, Any]:
    return {kind: {"type": kind, "searchable": searchable, "aggregatable": aggregatable, **more}}


POOLS = {
    "pool~logs-1": {
        "n~2": caps("long"), "n": caps("text"), "w": caps("text", aggregatable=False), "w.raw": caps("keyword"),
        "w.theirs": caps("keyword"), "w._2gram": caps("text"),
        "theirs": caps("keyword"), "o": caps("object", False, False), "o.x": caps("long", meta={"unit": ["ms"]}),
        "o.secret": caps("keyword"), "_id": caps("_id"), "_theirs": caps("keyword"),
    },
    "pool~books-1": {"w": caps("text", searchable=False, aggregatable=False), "n": caps("keyword"), "_id": caps("_id")},
}  # fmt: skip
RAW = {**TEXT, "fields": {"raw": {"type": "keyword"}}}
FIELDS = {"n": Field(LONG, "n~2"), "w": Field(RAW, "w"), "o": Field({"type": "object"}, "o"), "o.x": Field(LONG, "o.x")}


def node(send: Send) -> Any:
    index = send.target.decode().split("/")[1]
    return {"indices": [index], "fields": POOLS[index]}


def test_field_caps_shows_own_fields_under_their_own_names() -> None:
    it = gate("opensearch", fields=FIELDS)
    status, answer = it.ask("GET", "/logs/_field_caps?fields=*", b"", node)
    assert status == 200 and answer["indices"] == ["logs"]
    assert answer["fields"].keys() == {"n", "w", "w.raw", "w._2gram", "o", "o.x", "_id"}
    assert answer["fields"]["n"] == caps("long")
    assert it.sent.target == b"/pool~logs-1/_field_caps?fields=*"


def test_field_caps_of_a_path_has_the_objects_around_it() -> None:
    it = gate("opensearch", fields=FIELDS)
    answer = it.ask("GET", "/logs/_field_caps?fields=o.x", b"", node)[1]
    assert answer["fields"].keys() == {"o", "o.x"}
    assert it.ask("GET", "/logs/_field_caps?fields=theirs,o.secret,_theirs", b"", node)[1]["fields"] == {}


def test_field_caps_joins_types_over_indices() -> None:
    it = gate("opensearch", fields=FIELDS)
    answer = it.ask("GET", "/logs,books/_field_caps?fields=w,n,o.x&include_unmapped=true", b"", node)[1]
    assert answer["indices"] == ["books", "logs"] and len(it.sends) == 2
    assert answer["fields"]["w"] == caps("text", False, False, non_searchable_indices=["books"])
    unmapped = caps("unmapped", False, False)
    assert answer["fields"]["n"] == caps("long", indices=["logs"]) | caps("unmapped", False, False, indices=["books"])
    assert answer["fields"]["o.x"].keys() == {"long", *unmapped}
    assert answer["fields"]["o.x"]["long"]["meta"] == {"unit": ["ms"]}


def test_field_caps_without_fields_or_indices_is_the_node_s_to_answer() -> None:
    it = gate("opensearch")
    error = {"error": {"root_cause": [], "type": "illegal_argument_exception", "reason": "no fields"}, "status": 400}
    assert it.ask("GET", "/logs/_field_caps", b"", lambda send: (400, error)) == (400, error)
    it = gate("opensearch")
    assert it.ask("GET", "/zz*/_field_caps?fields=*", b"", lambda send: {"indices": [], "fields": {}})[1]["fields"] == {}
    assert it.sent.target.startswith(b"/acme.*,-acme.*/")


def test_field_caps_index_filter_is_scoped() -> None:
    it = gate("opensearch")
    it.ask("POST", "/logs/_field_caps?fields=w", {"index_filter": {"term": {"w": "x"}}}, node)
    assert it.body["index_filter"]["bool"]["filter"] == [{"prefix": {"_routing": "acme.17:"}}]


def test_field_caps_leaves_out_fields_without_values_of_this_index() -> None:
    it = gate("elasticsearch", fields=FIELDS)

    def answers(send: Send) -> Any:
        if b"_field_caps" in send.target:
            return node(send)
        asked = orjson.loads(send.body)["aggs"]["f"]["filters"]["filters"]
        return {"aggregations": {"f": {"buckets": {name: {"doc_count": int(name == "w")} for name in asked}}}}

    answer = it.ask("GET", "/logs/_field_caps?fields=*&include_empty_fields=false", b"", answers)[1]
    assert answer["fields"].keys() == {"w", "_id"}
    search = orjson.loads(it.sends[-1].body)
    assert search["query"] == {"prefix": {"_routing": "acme.17:"}} and "n~2" in search["aggs"]["f"]["filters"]["filters"]
