"""Requests over more physical indices than one line names: no line is too long, each index is named once, and what the client is
told is what one call over all would have told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from esproxy.catalogue import names
from esproxy.catalogue.cache import Cache
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import Field, Index
from esproxy.catalogue.store import Store
from esproxy.exchange import Answer, Send
from esproxy.pools.wide import INDEX, joined, lines
from esproxy.procedures.tend import drop_aliases
from tests.unit.pools.pool_gate import LONG, Gate, directory, gate, hit, hits

MANY = 320
LINE = 4096
ERROR = {"error": {"type": "parsing_exception", "reason": "no", "root_cause": []}, "status": 400}


def logical(n: int) -> str:
    return f"logs-2026.01.01-{n:03d}"


def many(engine: str = "opensearch") -> Gate:
    """acme has MANY indices, each in a pool of its own."""
    it = gate(engine)
    every = {logical(n): n + 1 for n in range(MANY)}
    it.put(names.directory_id("acme"), directory(**every))
    for name, n in every.items():
        fields = {"n": Field(LONG, "n")}
        index = Index("acme", name, n, "shared", f"pool~{name}", {"properties": {"n": LONG}}, {}, fields=fields)
        it.put(names.index_id("acme", n), index)
    return it


def named(send: Send) -> list[str]:
    """The physical indices that a call names."""
    if send.target.startswith(b"/_msearch"):
        return list(orjson.loads(send.body.split(b"\n")[0])["index"])
    segment = next(part for part in send.target.decode().partition("?")[0].split("/") if "pool~" in part)
    return segment.split(",")


def told(method: str, target: str, body: Any, node: Callable[[Send], Any]) -> tuple[tuple[int, Any], list[Send]]:
    it = many()
    answer = it.ask(method, target, body, node)
    assert all(len(f"{send.method}  HTTP/1.1") + len(send.target) <= LINE for send in it.sends)
    return answer, it.sends


@pytest.mark.parametrize("query", [{}, {"preference": "x" * 1000}])
def test_lines_hold_every_name_once_and_are_as_long_as_may_be(query: dict[str, str]) -> None:
    physical = [f"pool~{logical(n)}-0123456789abcdef-1" for n in range(MANY)]
    path = [INDEX, "_search"]
    found = lines(path, [*physical, *physical], query)
    assert ",".join(found).split(",") == physical
    spare = LINE - len("DELETE / HTTP/1.1") - len("/_search") - sum(len(key) + len(value) + 2 for key, value in query.items())
    assert all(spare - len(physical[0]) - 1 <= len(one) <= spare for one in found[:-1]), [len(one) for one in found]


def test_lines_name_longer_than_a_line_stands_alone() -> None:
    assert lines([INDEX], ["a", "b" * 5000, "c"], {}) == ["a", "b" * 5000, "c"]


def test_search_too_many_names_goes_as_the_only_one_of_several() -> None:
    def node(send: Send) -> Any:
        assert send.target == b"/_msearch"
        header, body = map(orjson.loads, send.body.splitlines())
        assert header.keys() == {"index", "preference"}
        assert (body["size"], body["from"], body["track_total_hits"]) == (3, 1, True)
        assert body["sort"] == ["n", {"n": {"order": "desc"}}]
        return {"took": 9, "responses": [{**hits(hit("pool~logs-2026.01.01-007-1", "acme.8:x")), "status": 200}]}

    target = "/logs-*/_search?size=3&from=1&preference=p&track_total_hits=true&sort=n:desc"
    (status, answer), sends = told("POST", target, {"query": {"match_all": {}}, "sort": "n"}, node)
    assert status == 200
    assert "status" not in answer
    assert "responses" not in answer
    assert [(one["_index"], one["_id"]) for one in answer["hits"]["hits"]] == [(logical(7), "x")]
    assert len(set(named(sends[-1]))) == len(named(sends[-1])) == MANY


def test_search_too_many_names_error_has_its_own_status() -> None:
    (status, answer), _ = told("POST", "/_search", {}, lambda send: {"took": 1, "responses": [ERROR]})
    assert status == 400
    assert answer["error"]["reason"] == "no"


def test_count_too_many_names_is_the_sum_of_several() -> None:
    def node(send: Send) -> Any:
        shards = {"total": len(named(send)), "successful": len(named(send)), "skipped": 0, "failed": 0}
        return {"count": 2 * len(named(send)), "_shards": shards}

    (status, answer), sends = told("GET", "/_count", b"", node)
    assert (status, answer["count"], answer["_shards"]["total"]) == (200, 2 * MANY, MANY)
    assert len(sends) > 1
    assert len({send.body for send in sends}) == 1


def test_count_too_many_names_one_error_is_the_answer() -> None:
    failing: list[Send] = []

    def node(send: Send) -> Any:
        failing.append(send)
        return (400, ERROR) if len(failing) == 2 else {"count": 1, "_shards": {"total": 1, "successful": 1, "failed": 0}}

    (status, answer), _ = told("GET", "/_count", b"", node)
    assert (status, answer["error"]["reason"]) == (400, "no")


@pytest.mark.parametrize(
    ("method", "target", "body", "answer"),
    [
        ("POST", "/_search?scroll=1m", {}, {**hits(), "_scroll_id": "RAW"}),
        ("POST", "/_search?terminate_after=5", {}, hits()),
        ("POST", "/logs-*/_search/point_in_time?keep_alive=1m", b"", {"pit_id": "PIT", "_shards": {"total": 1}}),
        ("POST", "/_all/_delete_by_query", {"query": {"match_all": {}}}, {"deleted": 1, "failures": []}),
    ],
)
@pytest.mark.parametrize("fails", [False, True])
def test_one_thing_over_too_many_names_goes_by_an_alias_that_is_taken_back(
    method: str, target: str, body: Any, answer: Any, fails: bool
) -> None:
    def node(send: Send) -> Any:
        if send.target == b"/_aliases":
            return {"acknowledged": True}
        assert send.target.startswith(b"/many~u/")
        return (400, ERROR) if fails else answer

    (status, _), sends = told(method, target, body, node)
    assert status == (400 if fails else 200)
    (added,), (removed,) = (orjson.loads(send.body)["actions"] for send in (sends[0], sends[-1]))
    assert added["add"].pop("is_hidden") is True
    assert added["add"] == removed["remove"]
    assert added["add"]["alias"] == "many~u"
    assert len(added["add"]["indices"]) == MANY
    assert len(sends) == 3


def test_joined_adds_up_what_counts_and_keeps_what_is_the_clusters() -> None:
    told = (("green", False, 1), ("red", True, 2), ("yellow", False, 3))
    parts: list[dict[str, Any]] = [
        {"status": status, "timed_out": late, "active_shards": n, "indices": {status: {"n": n}}, "list": [n]}
        for status, late, n in told
    ]
    for part in parts:
        part["number_of_nodes"] = 3
    answer = joined([Answer(200, [], orjson.dumps(part)) for part in parts])
    assert orjson.loads(answer.body) == {
        "status": "red",
        "timed_out": True,
        "number_of_nodes": 3,
        "active_shards": 6,
        "indices": {"green": {"n": 1}, "red": {"n": 2}, "yellow": {"n": 3}},
        "list": [1, 2, 3],
    }


def test_aliases_that_were_left_are_removed_when_nobody_can_need_them() -> None:
    now = [0.0]
    cat = Catalogue(Store("main", "c", "m"), Cache(lambda: now[0]), lambda: now[0], lambda: 1, lambda: "u")
    sent: list[Send] = []

    def run() -> None:
        steps, value = drop_aliases(cat), None
        try:
            while True:
                call = steps.send(value)
                sent.append(call.send)
                listed = {"pool~a-1": {"aliases": {"many~x": {}}}, "pool~b-1": {"aliases": {"many~x": {}}}}
                value = Answer(200, [], orjson.dumps(listed if call.send.method == "GET" else {"acknowledged": True}))
        except StopIteration:
            pass

    run()
    now[0] += cat.times.upkeep - 1
    run()
    assert [send.method for send in sent] == ["GET", "GET"]
    now[0] += 1
    run()
    removed = {"remove": {"indices": ["pool~a-1", "pool~b-1"], "alias": "many~x"}}
    assert orjson.loads(sent[-1].body) == {"actions": [removed]}
