"""A field of others that comes into a pool while a request is on its way there: what the node makes of it is not told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from esproxy.catalogue import names
from esproxy.catalogue.documents import Claims, Field
from esproxy.exchange import Send
from tests.unit.pools.pool_gate import LONG, TEXT, Gate, gate, hits

POOL = "pool~books-1"
CAUSE = {"type": "illegal_argument_exception", "reason": "Fielddata is disabled on [x] in [pool~books-1]"}
ERROR = {"error": {"root_cause": [CAUSE], **CAUSE}, "status": 400}
SHARDS = {"total": 2, "successful": 1, "skipped": 0, "failed": 1}
SORTED = {"query": {"match": {"w": "a"}}, "sort": [{"x": {"unmapped_type": "long"}}]}


def two(**claimed: dict[str, str]) -> Gate:
    """``logs`` has ``x`` and ``books`` does not; in the pool of books others have ``claimed``."""
    it = gate(fields={"x": Field(LONG, "x"), "w": Field(TEXT, "w")})
    it.put(names.claims_id(POOL), Claims(POOL, {"w": TEXT, **claimed}))
    return it


def both(send: Send) -> bool:
    """Is it the first call, which goes to the two at once?"""
    return b"pool~logs-1" in send.target + send.body and b"pool~books-1" in send.target + send.body


def coming(it: Gate, told: Any, then: Callable[[Send], Any]) -> Callable[[Send], Any]:
    """A node that a neighbour's field comes to before it answers a search of the two."""

    def node(send: Send) -> Any:
        if len(it.sends) > 1:
            return then(send)
        it.put(names.claims_id(POOL), Claims(POOL, {"w": TEXT, "x": TEXT}))
        return told

    return node


FAILED: list[Any] = [(400, ERROR), {**hits(), "_shards": {**SHARDS, "failures": [{"shard": 0, "index": POOL, "reason": CAUSE}]}}]


@pytest.mark.parametrize("told", FAILED)
def test_search_that_fails_by_a_field_of_others_that_came_is_made_anew(told: Any) -> None:
    it = two()
    status, answer = it.ask("POST", "/logs,books/_search", SORTED, coming(it, told, lambda send: hits()))
    assert status == 200 and "failures" not in answer["_shards"], answer
    assert [both(send) for send in it.sends] == [True, False, False]
    assert orjson.loads(it.sends[1].body)["sort"] == [{"x~00": {"unmapped_type": "long"}}]  # of books, which has none


def test_search_is_as_if_the_field_had_been_there_before() -> None:
    late, soon = two(), two(x=TEXT)
    answer = late.ask("POST", "/logs,books/_search", SORTED, coming(late, (400, ERROR), lambda send: hits()))
    assert answer == soon.ask("POST", "/logs,books/_search", SORTED, lambda send: hits())
    assert [(send.target, send.body) for send in late.sends[1:]] == [(send.target, send.body) for send in soon.sends]


def test_search_with_a_filter_path_hides_no_failure() -> None:
    it = two()
    it.ask("POST", "/logs,books/_search?filter_path=hits", SORTED, coming(it, FAILED[1], lambda send: hits()))
    assert len(it.sends) == 3


def test_searches_of_many_that_fail_by_it_are_made_anew() -> None:
    it = two()
    body = b'{"index":"logs,books"}\n' + orjson.dumps(SORTED) + b"\n"
    told = {"took": 1, "responses": [ERROR]}
    again = {"took": 1, "responses": [{**hits(), "status": 200}] * 2}
    status, answer = it.ask("POST", "/_msearch", body, coming(it, told, lambda send: again))
    assert status == 200 and [one["status"] for one in answer["responses"]] == [200], answer
    assert len(it.sends) == 2 and it.sends[1].body.count(b"\n") == 4


def test_validation_says_nothing_of_it() -> None:
    it = two()
    shards = {"total": 1, "successful": 1, "failed": 0}
    told = coming(it, {"_shards": shards, "valid": False}, lambda send: {"_shards": shards, "valid": True})
    _, answer = it.ask("POST", "/logs,books/_validate/query", {"query": {"term": {"x": 1}}}, told)
    assert answer["valid"] is True and len(it.sends) == 3


@pytest.mark.parametrize("claimed", [{}, {"y": LONG}])
def test_failure_is_told_where_no_such_field_came(claimed: dict[str, Any]) -> None:
    it = two(**claimed)
    status, answer = it.ask("POST", "/logs,books/_search", SORTED, lambda send: (400, ERROR))
    assert status == 400 and "[books]" in answer["error"]["reason"], answer
    assert len(it.sends) == 1


def test_answer_without_failures_is_told_at_once() -> None:
    it = two()
    status, _ = it.ask("POST", "/logs,books/_search", SORTED, coming(it, hits(), lambda send: hits()))
    assert status == 200 and len(it.sends) == 1


def test_call_by_query_that_fails_by_it_is_not_made_twice() -> None:
    it = two()
    told = coming(it, (400, ERROR), lambda send: {})
    status, answer = it.ask("POST", "/logs,books/_delete_by_query", {"query": {"term": {"x": 1}}}, told)
    assert status == 503 and "Fielddata" not in str(answer), answer
    assert len(it.sends) == 1
