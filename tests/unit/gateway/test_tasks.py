"""Tasks: ids are sealed, lists hold one's own, and nothing is changed that is not."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from tests.unit.gateway.test_scripts import Played
from tests.unit.gateway.whole import ask, gateway, refused, sent

NODE = "qnTZttHBSNKrSUiLn6anXx"


@pytest.fixture(params=["opensearch", "elasticsearch"])
def gate(request):
    return gateway(request.param)


def task(number: int, opaque: str | None, **more: Any) -> dict[str, Any]:
    headers = {} if opaque is None else {"X-Opaque-Id": opaque}
    told = {"node": NODE, "id": number, "action": "a", "cancellable": True, "description": f"delete [acme.t{number}]"}
    return {**told, "headers": headers, **more}


def on_node(*tasks: dict[str, Any], **more: Any) -> dict[str, Any]:
    about = {"name": "machine-1", "transport_address": "10.1.2.3:9300", "host": "10.1.2.3", "ip": "10.1.2.3:9300"}
    return {"nodes": {NODE: {**about, "tasks": {f"{NODE}:{one['id']}": one for one in tasks}}}, **more}


def started(gate, number: int = 7, tenant: str = "acme") -> str:
    """The id that a client was told."""
    call = sent(gate, "POST", "/l/_delete_by_query?wait_for_completion=false", {"query": {"match_all": {}}}, tenant=tenant)
    assert call.target.endswith("?wait_for_completion=false")
    told = orjson.loads(call.answer({"task": f"{NODE}:{number}"}).body)
    return told["task"]


def test_id_is_sealed_and_reads_as_one(gate):
    id = started(gate)
    node, _, number = id.partition(":")
    assert number == "7" and NODE not in id and ":" not in node and id == started(gate)
    assert id != started(gate, tenant="zenith") and id != started(gate, 8)


@pytest.mark.parametrize(
    "target", ["POST /l/_forcemerge", "POST /l/_open", "PUT /l/_clone/m", "PUT /l/_shrink/m", "PUT /l/_split/m"]
)
def test_id_is_sealed_wherever_it_is_told(target):
    method, path = target.split()
    answer = sent(gateway("opensearch"), method, f"{path}?wait_for_completion=false").answer({"task": f"{NODE}:7"})
    assert NODE.encode() not in answer.body and answer.body.endswith(b':7"}')


def test_request_says_whose_it_is(gate):
    for headers, said in (([], b"acme/"), ([(b"x-opaque-id", b"zenith/x")], b"acme/zenith/x")):
        assert (b"x-opaque-id", said) in sent(gate, "GET", "/l/_search", headers=headers).send.headers


def test_list_holds_ones_own(gate):
    theirs = [task(2, "zenith/"), task(3, None), task(4, "acme"), task(5, "acmes/"), task(6, "x/acme/")]
    failures = [{"type": "failed_node_exception", "reason": f"Failed node [{NODE}]", "node_id": NODE}]
    told = on_node(task(1, "acme/"), *theirs, task(9, "acme/mine"), node_failures=failures, task_failures=[{"task_id": 2}])
    played = Played(ask(gate, "GET", "/_tasks?detailed"), told)
    assert played.sends[0].target == b"/_tasks?detailed="
    ((name, node),) = played.told["nodes"].items()
    assert NODE not in played.reply.body.decode() and "10.1.2.3" not in played.reply.body.decode()
    assert [one["id"] for one in node["tasks"].values()] == [1, 9] and name == node["name"]
    for id, one in node["tasks"].items():
        assert id == f"{one['node']}:{one['id']}" and one["description"] == f"delete [t{one['id']}]"
    assert [one["headers"] for one in node["tasks"].values()] == [{}, {"X-Opaque-Id": "mine"}]
    assert played.told["node_failures"][0]["node_id"] == name and "task_failures" not in played.told


@pytest.mark.parametrize(
    ("description", "shown"),
    [
        (f'index {{[.tasks][{NODE}:7], source[{{"completed":true,"task":{{"node":"{NODE}"', False),
        ("requests[1], index[.tasks][0]", False),
        ("GlobalCheckpointSyncAction.Request{shardId=[.tasks][0], timeout=1m, index='.tasks', waitForActiveShards=1}", False),
        ('indices[acme.l], search_type[QUERY_THEN_FETCH], source[{"query":{"term":{"x":"[.tasks]"}}}]', True),
    ],
)
def test_keeping_of_results_is_the_nodes_own(gate, description, shown):
    kept = task(2, "acme/", description=description)
    played = Played(ask(gate, "GET", "/_tasks?detailed&group_by=none"), {"tasks": [task(1, "acme/"), kept]})
    assert [one["id"] for one in played.told["tasks"]] == ([1, 2] if shown else [1])
    assert NODE not in played.reply.body.decode()


def test_list_in_other_groups_holds_ones_own(gate):
    child = task(2, "acme/", parent_task_id=f"{NODE}:1")
    tree = {f"{NODE}:1": task(1, "acme/", children=[child, task(3, "zenith/")]), f"{NODE}:4": task(4, "zenith/")}
    grouped = Played(ask(gate, "GET", "/_tasks?group_by=parents"), {"tasks": tree}).told["tasks"]
    ((id, one),) = grouped.items()
    assert [inner["id"] for inner in one["children"]] == [2] and one["children"][0]["parent_task_id"] == id
    listed = Played(ask(gate, "GET", "/_tasks?group_by=none"), {"tasks": [task(1, "acme/"), task(4, "zenith/")]}).told["tasks"]
    assert [one["id"] for one in listed] == [1] and listed[0]["node"] == id.partition(":")[0]


def test_list_of_other_nodes_is_empty(gate):
    assert Played(ask(gate, "GET", f"/_tasks?nodes={NODE}"), on_node(task(1, "acme/"))).told == {"nodes": {}}


def test_task_is_told_of_to_whose_it_is(gate):
    id = started(gate)
    failure = {"index": "acme.l", "id": "1", "cause": {"type": "x", "reason": "in [acme.l]"}, "status": 400}
    told = {"completed": True, "task": task(7, "acme/"), "response": {"took": 1, "failures": [failure]}}
    played = Played(ask(gate, "GET", f"/_tasks/{id}?wait_for_completion=true"), told)
    assert played.sends[0].target == f"/_tasks/{NODE}:7?wait_for_completion=true".encode()
    assert f"{played.told['task']['node']}:7" == id and played.told["task"]["headers"] == {}
    assert played.told["response"]["failures"][0]["index"] == "l"
    assert played.told["response"]["failures"][0]["cause"]["reason"] == "in [l]"


@pytest.mark.parametrize("opaque", ["zenith/", None])
def test_task_of_another_with_an_old_id_is_unknown(gate, opaque):
    """A node that was started anew counts from one again."""
    id = started(gate)
    told = {"completed": False, "task": task(7, opaque)}
    gone = Played(ask(gate, "GET", f"/_tasks/{id}"), (404, {"error": {"type": "x", "reason": ".tasks"}, "status": 404}))
    found = Played(ask(gate, "GET", f"/_tasks/{id}"), told)
    assert found.reply.status == 404 and found.told == gone.told
    for target in (f"/_tasks/{id}/_cancel", f"/_delete_by_query/{id}/_rethrottle?requests_per_second=1"):
        changed = Played(ask(gate, "POST", target), told)  # which asks once, and does no more
        assert len(changed.sends) == 1 and changed.told["nodes"] == {}


def test_id_of_another_is_unknown(gate):
    theirs = started(gate, tenant="zenith")
    for id in (theirs, f"{NODE}:7", "x:7", started(gate)[:-1] + "8"):
        assert Played(ask(gate, "GET", f"/_tasks/{id}")).reply.status == 404
        failed = Played(ask(gate, "POST", f"/_tasks/{id}/_cancel")).told["node_failures"][0]
        assert failed["caused_by"]["type"] == "no_such_node_exception"
    for id in ("x", "x:y", "x:1:2", started(gate)[:-2]):
        with pytest.raises(Exception, match="malformed task id"):
            Played(ask(gate, "GET", f"/_tasks/{id}"))


def test_task_is_cancelled_when_it_is_ones_own(gate):
    id = started(gate)
    running = {"completed": False, "task": task(7, "acme/")}
    played = Played(ask(gate, "POST", f"/_tasks/{id}/_cancel"), running, on_node(task(7, "acme/", cancelled=True)))
    assert played.sends[1].target == f"/_tasks/{NODE}:7/_cancel".encode()
    assert [list(node["tasks"]) for node in played.told["nodes"].values()] == [[id]]
    ended = Played(ask(gate, "POST", f"/_tasks/{id}/_cancel"), {"completed": True, "task": task(7, "acme/")})
    assert ended.told["node_failures"][0]["caused_by"]["reason"] == f"task [{id}] is not found"


def test_tasks_are_cancelled_one_by_one(gate):
    listed = {"tasks": [task(1, "acme/"), task(2, "zenith/"), task(3, "acme/", cancellable=False), task(4, "acme/x")]}
    done = on_node(task(1, "acme/", cancelled=True))
    gone = {"node_failures": [{"type": "failed_node_exception", "reason": "x"}], "nodes": {}}
    played = Played(ask(gate, "POST", "/_tasks/_cancel?actions=*"), listed, done, gone)
    assert [send.target for send in played.sends] == [
        b"/_tasks?actions=*&group_by=none", f"/_tasks/{NODE}:1/_cancel".encode(), f"/_tasks/{NODE}:4/_cancel".encode(),
    ]  # fmt: skip
    assert [one["id"] for node in played.told["nodes"].values() for one in node["tasks"].values()] == [1]


def test_rethrottling_needs_to_be_told_how_fast(gate):
    with pytest.raises(Exception, match="requests_per_second is a required parameter"):
        Played(ask(gate, "POST", f"/_delete_by_query/{started(gate)}/_rethrottle"))


def test_unknown_parameter_is_refused(gate):
    with pytest.raises(Exception, match="unrecognized parameter"):
        Played(ask(gate, "GET", "/_tasks?nope=1"))
    assert refused(gate, "POST", "/_tasks")[0] == 405
