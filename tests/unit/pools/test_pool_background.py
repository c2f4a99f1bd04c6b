"""Calls that are not waited for: what they came to is in the id of a task."""

from __future__ import annotations

from typing import Any

import pytest

from esproxy.exchange import Answer
from tests.unit.pools.pool_gate import Gate
from tests.unit.pools.pool_gate import gate as pool_gate

MERGED = {"_shards": {"total": 1, "successful": 1, "failed": 0}}


@pytest.fixture(params=["elasticsearch", "opensearch"])
def gate(request: pytest.FixtureRequest) -> Gate:
    return pool_gate(request.param)


def left(gate: Gate, target: str, node: Any, tenant: str = "acme") -> str:
    status, told = gate.ask("POST", target, node=node, tenant=tenant)
    assert status == 200 and set(told) == {"task"}, told
    return str(told["task"])


def test_outcome_is_told_by_the_task(gate: Gate) -> None:
    sent = []

    def node(send: Any) -> Any:
        sent.append(send.target)
        return MERGED

    task = left(gate, "/books/_forcemerge?wait_for_completion=false&max_num_segments=2", node)
    assert sent == [b"/pool~books-1/_forcemerge?max_num_segments=2"]
    status, told = gate.ask("GET", f"/_tasks/{task}?wait_for_completion=true")
    assert status == 200 and told["completed"] and told["response"] == MERGED
    assert told["task"]["action"] == "indices:admin/forcemerge" and not told["task"]["cancellable"]
    assert told["task"]["description"].startswith("Force-merge indices [books], maxSegments[2], onlyExpunge")
    assert f"{told['task']['node']}:{told['task']['id']}" == task


def test_error_is_told_by_the_task(gate: Gate) -> None:
    task = left(gate, "/nope/_forcemerge?wait_for_completion=false", None)
    _, told = gate.ask("GET", f"/_tasks/{task}")
    assert told["error"]["type"] == "index_not_found_exception" and "root_cause" not in told["error"]
    refused = {"type": "illegal_state_exception", "reason": "busy"}
    answer = Answer(409, [], b'{"error":{"root_cause":[{}],"type":"illegal_state_exception","reason":"busy"},"status":409}')
    task = left(gate, "/books/_forcemerge?wait_for_completion=false", lambda send: answer)
    assert gate.ask("GET", f"/_tasks/{task}")[1]["error"] == refused


def test_what_is_wrong_with_the_request_is_told_at_once(gate: Gate) -> None:
    assert gate.ask("POST", "/books/_forcemerge?wait_for_completion=false&nope=1")[0] == 400


def test_nobody_else_reads_it(gate: Gate) -> None:
    task = left(gate, "/books/_forcemerge?wait_for_completion=false", lambda send: MERGED)
    token, _, number = task.rpartition(":")
    assert gate.ask("GET", f"/_tasks/{task}", tenant="zenith")[0] == 404
    for other in (f"{token}:{int(number) + 1}", f"A{token[1:]}:{number}" if token[0] != "A" else f"B{token[1:]}:{number}"):
        assert gate.ask("GET", f"/_tasks/{other}")[0] == 404


@pytest.mark.parametrize("target", ["/books/_update_by_query", "/books/_delete_by_query"])
def test_calls_by_query_are_waited_for(gate: Gate, target: str) -> None:
    status, told = gate.ask("POST", f"{target}?wait_for_completion=false", {"query": {"match_all": {}}})
    assert status == 400 and "there are no tasks" in told["error"]["reason"]
