"""Scrolls and points in time over indices in ``shared``: sealed, bound to their indices, and nothing made up goes upstream."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from esproxy.catalogue import names
from esproxy.exchange import Answer
from esproxy.pools.fan_out import without_others
from tests.unit.pools.pool_gate import Gate, directory, gate, hit, hits

LOST = "search_context_missing_exception"


def opened(it: Gate, target: str = "/logs/_search?scroll=1m") -> str:
    """A scroll's token."""
    status, answer = it.ask("POST", target, {"size": 1}, lambda send: hits(hit("pool~logs-1", "acme.17:1"), _scroll_id="RAW"))
    it.sends.clear()
    assert status == 200
    return str(answer["_scroll_id"])


def point(it: Gate) -> str:
    """A point in time's token, on OpenSearch."""
    answer = it.ask(
        "POST", "/logs/_search/point_in_time?keep_alive=1m", b"", lambda send: {"pit_id": "PIT", "_shards": {"total": 1}}
    )
    assert it.sent.target == b"/pool~logs-1/_search/point_in_time?keep_alive=1m"
    it.sends.clear()
    return str(answer[1]["pit_id"])


@pytest.mark.parametrize("form", ["body", "path", "parameter"])
def test_scroll_goes_on_with_hits_restored_and_the_same_token(form: str) -> None:
    it = gate()
    token = opened(it)
    targets = {"body": "/_search/scroll", "path": f"/_search/scroll/{token}", "parameter": f"/_search/scroll?scroll_id={token}"}
    body = {"scroll_id": token, "scroll": "1m"} if form == "body" else b""
    page = hits(hit("pool~logs-1", "acme.17:2"), _scroll_id="RAW")
    status, answer = it.ask("POST", targets[form], body, lambda send: page)
    assert status == 200 and answer["_scroll_id"] == token and answer["hits"]["hits"][0]["_id"] == "2"
    assert it.sent.target == b"/_search/scroll" and it.body["scroll_id"] == "RAW"


@pytest.mark.parametrize("foreign", [("pool~logs-1", "zenith.3:1"), ("pool~logs-1", "acme.18:1"), ("pool~books-1", "acme.18:1")])
def test_scroll_page_with_a_hit_of_another_index_is_withheld(foreign: tuple[str, str]) -> None:
    it = gate()
    token = opened(it)
    status, answer = it.ask("GET", f"/_search/scroll/{token}", b"", lambda send: hits(hit(*foreign), _scroll_id="RAW"))
    assert status == 500 and "withheld" in answer["error"]["reason"]


@pytest.mark.parametrize("cursor", ["RAW", "garbage", "_all", ""])
def test_cursor_that_is_no_token_goes_nowhere(cursor: str) -> None:
    it = gate("opensearch")
    for method, target, body in (
        ("POST", "/_search/scroll", {"scroll_id": cursor}),
        ("DELETE", "/_search/scroll", {"scroll_id": [cursor]}),
        ("DELETE", f"/_search/scroll/{cursor or 'x'}", b""),
        ("DELETE", "/_search/point_in_time", {"pit_id": [cursor]}),
        ("POST", "/_search", {"pit": {"id": cursor}}),
    ):
        assert it.ask(method, target, body)[0] == 400, target
    assert it.sends == []


def test_cursor_of_another_tenant_kind_or_with_a_changed_byte_goes_nowhere() -> None:
    it = gate("opensearch")
    scroll, pit = opened(it), point(it)
    assert it.ask("POST", "/_search/scroll", {"scroll_id": scroll}, tenant="zenith")[0] == 400
    assert it.ask("POST", "/_search/scroll", {"scroll_id": pit})[0] == 400
    assert it.ask("POST", "/_search", {"pit": {"id": scroll}})[0] == 400
    assert it.ask("POST", "/_search", {"pit": {"id": pit}}, tenant="zenith")[0] == 400
    changed = ("A" if scroll[0] != "A" else "B") + scroll[1:]
    assert it.ask("POST", "/_search/scroll", {"scroll_id": changed})[0] == 400
    assert it.sends == []


def test_cursor_over_an_index_deleted_or_made_anew_is_unknown() -> None:
    it = gate("opensearch")
    scroll, pit = opened(it), point(it)
    it.put(names.directory_id("acme"), directory(logs=19, books=18))
    for target, body in (("/_search/scroll", {"scroll_id": scroll}), ("/_search", {"pit": {"id": pit}})):
        status, answer = it.ask("POST", target, body)
        assert status == 404 and answer["error"]["root_cause"][0]["type"] == LOST
    assert it.sends == []
    status, answer = it.ask("DELETE", "/_search/scroll", {"scroll_id": scroll}, lambda send: {"succeeded": True, "num_freed": 1})
    assert status == 200 and it.body == {"scroll_id": "RAW"}  # what it holds may be let go all the same


def test_search_at_a_point_in_time_is_filtered_and_names_no_index() -> None:
    it = gate("opensearch")
    pit = point(it)
    answer = {"pit_id": "PIT", **hits(hit("pool~logs-1", "acme.17:1"))}
    status, found = it.ask("POST", "/_search", {"pit": {"id": pit, "keep_alive": "1m"}}, lambda send: answer)
    assert status == 200 and found["pit_id"] == pit and it.sent.target == b"/_search"
    term = {"prefix": {"_routing": "acme.17:"}}
    assert it.body == {"pit": {"id": "PIT", "keep_alive": "1m"}, "query": {"constant_score": {"filter": term}}}


def test_msearch_at_a_point_in_time() -> None:
    it = gate("opensearch")
    body = b'{}\n{"pit":{"id":"%s"}}\n' % point(it).encode()
    status, found = it.ask("POST", "/_msearch", body, lambda send: {"responses": [{"pit_id": "PIT", **hits()}]})
    assert status == 200 and orjson.loads(it.sent.body.splitlines()[0]) == {} and found["responses"][0]["pit_id"] != "PIT"


def test_point_in_time_is_closed_by_its_token() -> None:
    it = gate("opensearch")
    pit = point(it)
    closed = {"pits": [{"successful": True, "pit_id": "PIT"}]}
    status, answer = it.ask("DELETE", "/_search/point_in_time", {"pit_id": [pit]}, lambda send: closed)
    assert status == 200 and answer == {"pits": [{"successful": True, "pit_id": pit}]} and it.body == {"pit_id": ["PIT"]}


def test_point_in_time_over_several_pools_leaves_out_what_others_shards_say() -> None:
    target: Any = SimpleNamespace(physical="own~acme-1")
    ours, theirs = ({"type": "t", "reason": "no field [n]", "index": name} for name in ("own~acme-1", "pool~logs-1"))
    failed = [{"shard": 0, "index": one["index"], "reason": one} for one in (theirs, ours)]
    told = {"_shards": {"total": 3, "successful": 2, "failed": 1, "failures": failed[:1]}, "hits": {"hits": []}}
    assert orjson.loads(without_others(Answer(200, [], orjson.dumps(told)), target).body) == {
        "_shards": {"total": 2, "successful": 2, "failed": 0},
        "hits": {"hits": []},
    }
    error = {"root_cause": [theirs, ours], "reason": "all shards failed", "failed_shards": failed, "caused_by": theirs}
    answer = without_others(Answer(400, [], orjson.dumps({"error": error, "status": 400})), target)
    assert orjson.loads(answer.body)["error"] == {**error, "root_cause": [ours], "failed_shards": failed[1:], "caused_by": ours}
    whole = Answer(200, [], b'{"hits": {}}')
    assert without_others(whole, target) is whole
