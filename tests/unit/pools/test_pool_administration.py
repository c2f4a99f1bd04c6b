"""Closed indices in pools: who is told so, who passes them by, who takes them as they are; analysis; the table of aliases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from esproxy.catalogue import names
from esproxy.catalogue.documents import CLOSED, Alias
from esproxy.exchange import Answer, Send
from tests.unit.pools.pool_gate import Gate, directory, gate, hits

ALIASES = {
    "both": Alias({"logs": {"filter": {"term": {"w": "x"}}}, "books": {"index_routing": "a", "search_routing": "b"}}),
    "last": Alias({"books": {"is_write_index": True}}),
}
COUNTED = {"count": 3, "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0}}


def closed(engine: str = "opensearch") -> Gate:
    """``logs`` is closed, ``books`` is open."""
    it = gate(engine, aliases=ALIASES)
    known = directory(logs=17, books=18)
    known.aliases.update(ALIASES)
    known.indices["logs"] = replace(known.indices["logs"], state=CLOSED)
    it.put(names.directory_id("acme"), known)
    return it


def uuid(it: Gate) -> str:
    node = {"pool~logs-1": {"settings": {"index": {"uuid": "physical", "number_of_shards": "1"}}}}
    status, answer = it.ask("GET", "/logs/_settings", b"", lambda send: node)
    assert status == 200
    assert answer["logs"]["settings"]["index"]["verified_before_close"] == "true"
    return str(answer["logs"]["settings"]["index"]["uuid"])


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("GET", "/logs/_search", b""),
        ("GET", "/logs/_count", b""),
        ("GET", "/logs,books/_count", b""),
        ("GET", "/both/_count", b""),
        ("GET", "/l*/_count?expand_wildcards=all", b""),
        ("GET", "/logs/_doc/1", b""),
        ("PUT", "/logs/_doc/1", {"w": "x"}),
        ("POST", "/logs/_refresh", b""),
        ("POST", "/logs/_forcemerge", b""),
        ("POST", "/logs/_delete_by_query", {"query": {"match_all": {}}}),
        ("GET", "/logs/_field_caps?fields=w", b""),
    ],
)
def test_closed_index_is_told_and_nothing_is_sent(method: str, target: str, body: Any) -> None:
    it = closed()
    own = uuid(it)
    it.sends.clear()
    status, answer = it.ask(method, target, body)
    assert (status, answer["error"]["type"], it.sends) == (400, "index_closed_exception", [])
    assert (answer["error"]["index"], answer["error"]["index_uuid"]) == ("logs", own)


@pytest.mark.parametrize("target", ["/*/_count", "/logs,books/_count?ignore_unavailable=true", "/_count", "/l*,books/_count"])
def test_closed_index_is_passed_by(target: str) -> None:
    it = closed()
    assert it.ask("GET", target, b"", lambda send: COUNTED)[0] == 200
    assert it.sent.target.partition(b"/_count")[0] == b"/pool~books-1"


def test_closed_index_behind_an_alias_is_passed_by() -> None:
    it = closed()
    assert it.ask("GET", "/both/_count?ignore_unavailable=true", b"", lambda send: COUNTED)[0] == 200
    assert it.sent.target.partition(b"/_count")[0] == b"/pool~books-1"


def test_item_of_a_bulk_for_a_closed_index_fails_alone() -> None:
    items = [
        {"_index": "_esproxy~refused", "_id": "-", "status": 400},
        {"_index": "pool~books-1", "_id": "acme.18:1", "status": 201},
    ]
    done = {"took": 1, "errors": True, "items": [{"index": item} for item in items]}
    lines = [{"index": {"_index": "logs", "_id": "1"}}, {"w": "x"}, {"index": {"_index": "books", "_id": "1"}}, {"w": "x"}]
    status, answer = closed().ask("POST", "/_bulk", b"".join(orjson.dumps(line) + b"\n" for line in lines), lambda send: done)
    assert (status, answer["errors"]) == (200, True)
    first, second = (item["index"] for item in answer["items"])
    assert (first["status"], first["error"]["type"], second["status"]) == (400, "index_closed_exception", 201)


def test_search_among_several_that_names_a_closed_index_fails_alone() -> None:
    found = {"took": 1, "responses": [{**hits(), "status": 200}, {**hits(), "status": 200}]}
    lines = [{"index": "logs"}, {}, {"index": "books"}, {}]
    body = b"".join(orjson.dumps(line) + b"\n" for line in lines)
    status, answer = closed().ask("POST", "/_msearch", body, lambda send: found)
    first, second = answer["responses"]
    assert (status, first["status"], first["error"]["type"], second["status"]) == (200, 400, "index_closed_exception", 200)


# --- _analyze ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["/logs/_analyze", "/_analyze", "/_analyze?index=logs"])
@pytest.mark.parametrize("key", ["stopwords_path", "synonyms_set"])
def test_analysis_reads_no_file_of_a_node(target: str, key: str) -> None:
    it = gate()
    body = {"text": "a", "tokenizer": "standard", "filter": [{"type": "multiplexer", "filters": [{"type": "stop", key: "x"}]}]}
    status, answer = it.ask("POST", target, body)
    assert (status, it.sends) == (400, []) and key in answer["error"]["reason"]


def test_field_to_analyze_for_is_the_pool_s() -> None:
    it = gate()
    assert it.ask("POST", "/logs/_analyze", {"text": "a", "field": "n"}, lambda send: {"tokens": []}) == (200, {"tokens": []})
    assert (it.sent.target, it.body) == (b"/pool~logs-1/_analyze", {"text": "a", "field": "n~2"})


# --- _cat/aliases -----------------------------------------------------------------------------------------


def asked(send: Send, header: str) -> Answer:
    """What a node draws for an alias that is not there: its header alone."""
    assert send.target.startswith(b"/_cat/aliases/esproxy~none~") and b"v=true&format=text" in send.target
    return Answer(200, [(b"content-type", b"text/plain; charset=UTF-8")], header.encode() + b"\n")


def test_table_of_aliases_has_the_directory_s_rows_in_the_columns_that_the_node_names() -> None:
    target = "/_cat/aliases?format=json&h=a,i,f,ri,rs,w&s=i:desc"
    status, rows = closed().ask("GET", target, b"", lambda send: asked(send, "a i f ri rs w"))
    assert status == 200
    assert [tuple(row.values()) for row in rows] == [
        ("both", "logs", "*", "-", "-", "-"),
        ("both", "books", "-", "a", "b", "-"),
        ("last", "books", "-", "-", "-", "true"),
    ]
    assert list(rows[0]) == ["a", "i", "f", "ri", "rs", "w"]


@pytest.mark.parametrize(("named", "found"), [("last", ["last"]), ("b*,l*,-last", ["both", "both"]), ("nope", [])])
def test_table_of_aliases_is_cut_down_by_names(named: str, found: list[str]) -> None:
    target = f"/_cat/aliases/{named}?format=json&h=alias"
    status, rows = closed().ask("GET", target, b"", lambda send: asked(send, "alias"))
    assert status == 200 and [row["alias"] for row in rows] == found


def test_parameter_that_a_node_does_not_take_is_refused_in_its_words() -> None:
    error = {"error": {"root_cause": [], "type": "x", "reason": "unable to sort"}, "status": 400}
    status, answer = closed().ask("GET", "/_cat/aliases?s=nope", b"", lambda send: (400, error))
    assert (status, answer["error"]["reason"]) == (400, "unable to sort")


# --- blocks -----------------------------------------------------------------------------------------------


def blocked(*blocks: str) -> Gate:
    """``logs`` has these blocks, ``books`` has none."""
    it = gate("opensearch")
    known = directory(logs=17, books=18)
    known.indices["logs"] = replace(known.indices["logs"], blocks=blocks)
    it.put(names.directory_id("acme"), known)
    return it


@pytest.mark.parametrize(
    ("block", "method", "target", "body"),
    [
        ("write", "PUT", "/logs/_doc/1", {"w": "x"}),
        ("write", "POST", "/logs/_update/1", {"doc": {"w": "x"}}),
        ("write", "DELETE", "/logs/_doc/1", b""),
        ("write", "POST", "/logs,books/_delete_by_query", {"query": {"match_all": {}}}),
        ("read", "GET", "/logs/_doc/1", b""),
        ("read", "GET", "/l*/_search", b""),
        ("read", "GET", "/logs/_count", b""),
        ("metadata", "GET", "/logs/_mapping", b""),
        ("metadata", "PUT", "/logs/_alias/a", b""),
        ("metadata", "GET", "/logs/_stats", b""),
        ("read_only", "DELETE", "/logs", b""),
        ("read_only", "PUT", "/logs/_settings", {"index.refresh_interval": "2s"}),
        ("read_only", "POST", "/logs/_close", b""),
    ],
)
def test_block_is_told_and_nothing_is_sent(block: str, method: str, target: str, body: Any) -> None:
    it = blocked(block)
    it.sends.clear()
    status, answer = it.ask(method, target, body, lambda send: {})
    assert status == 403, answer
    assert answer["error"]["type"] == "cluster_block_exception"
    assert answer["error"]["reason"].startswith("index [logs] blocked by: [FORBIDDEN/")
    assert not [send for send in it.sends if b"pool~" in send.target]


def test_block_of_one_index_is_none_of_another() -> None:
    status, answer = blocked("read").ask("GET", "/books/_count", b"", lambda send: COUNTED)
    assert (status, answer["count"]) == (200, 3)
    assert blocked("write").ask("GET", "/logs/_count", b"", lambda send: COUNTED)[0] == 200


# --- groups of searches -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "body", "sent"),
    [
        ("/logs/_search", {"stats": ["g", "h"]}, [b'"stats":["acme.17:g","acme.17:h"]']),
        ("/logs,books/_search", {"stats": ["g"]}, [b'"stats":["acme.17:g","acme.18:g"]']),
        ("/logs/_search?stats=g,h", b"", [b"stats=acme.17:g,acme.17:h"]),
    ],
)
def test_groups_of_a_search_are_counted_for_each_index(target: str, body: Any, sent: list[bytes]) -> None:
    it = gate("opensearch")
    it.sends.clear()
    assert it.ask("POST", target, body, lambda send: hits())[0] == 200
    last = it.sends[-1]
    whole = last.target + last.body.replace(b", ", b",").replace(b": ", b":")
    assert all(part in whole for part in sent), whole


def test_groups_in_figures_are_those_of_own_searches() -> None:
    def figures(total: int, groups: dict[str, Any]) -> dict[str, Any]:
        return {"search": {"query_total": total, "groups": groups}}

    counted = {"acme.17:g": {"query_total": 2}, "acme.17:h": {"query_total": 1}, "zenith.5:secret": {"query_total": 777}}
    routing = {"state": "STARTED", "primary": True, "node": "n", "relocating_node": None}
    whole = figures(7777, counted)
    index = {"uuid": "u", "primaries": whole, "total": whole, "shards": {"0": [{"routing": routing, **whole}]}}
    shards = {"total": 1, "successful": 1, "failed": 0}

    def node(send: Any) -> Any:
        if b"_msearch" in send.target:
            return {"responses": [hits()] * send.body.count(b'"index"')}
        assert b"groups=acme.*&" in send.target, send.target
        return {"_shards": shards, "_all": {"primaries": whole, "total": whole}, "indices": {"pool~logs-1": index}}

    status, answer = gate("opensearch").ask("GET", "/logs/_stats/search?groups=g*", b"", node)
    assert status == 200
    assert answer["_all"]["total"]["search"] == {"query_total": 2, "groups": {"g": {"query_total": 2}}}


def in_one(engine: str = "opensearch", settings: dict[str, Any] | None = None) -> Gate:
    """``logs`` and ``books`` lie in one physical index."""
    it = gate(engine, settings=settings)
    known = directory(logs=17, books=18)
    known.indices["books"] = replace(known.indices["books"], physical="pool~logs-1")
    it.put(names.directory_id("acme"), known)
    return it


def test_shards_of_each_index_are_told() -> None:
    it = in_one()
    done = {"_shards": {"total": 10, "successful": 5, "failed": 0}}
    for target, told in (("/_refresh", (20, 10)), ("/logs/_refresh", (10, 5)), ("/logs,books/_cache/clear", (20, 10))):
        _, answer = it.ask("POST", target, node=lambda send: done)
        assert (answer["_shards"]["total"], answer["_shards"]["successful"]) == told
    assert [send.target.partition(b"?")[0] for send in it.sends] == [
        b"/pool~logs-1/_refresh",
        b"/pool~logs-1/_refresh",
        b"/pool~logs-1/_cache/clear",
    ]


def test_shards_are_told_as_the_node_tells_them_where_one_failed() -> None:
    failed = {"total": 10, "successful": 9, "failed": 1, "failures": []}
    assert in_one().ask("POST", "/_refresh", node=lambda send: {"_shards": failed})[1]["_shards"]["total"] == 10


def test_what_is_flushed_is_to_be_seen_unless_that_is_left_to_the_client() -> None:
    done = {"_shards": {"total": 1, "successful": 1, "failed": 0}}
    paths = []
    for settings in ({}, {"index.refresh_interval": "-1"}, {"index": {"refresh_interval": -1}}):
        it = in_one(settings=settings)
        it.ask("POST", "/logs/_flush", node=lambda send: done)
        paths.append([send.target.partition(b"?")[0].rpartition(b"/")[2] for send in it.sends])
    assert paths == [[b"_flush", b"_refresh"], [b"_flush"], [b"_flush"]]
