"""``_tasks``: a tenant's own (``esproxy.metadata.tasks`` says how they are known), and changing how fast one goes on.

Nodes can list, or cancel, all tasks of some sort, whoever's they are; so a list is asked for whole and told in part, and what is
cancelled is cancelled one by one, each after a look at whose it is. Between that look and the call the task can only end: its
number is not given again while its node lives.
"""

from __future__ import annotations

from typing import Any

import orjson

from esproxy.answer import Walk, client_headers, encode, is_error, restore_error
from esproxy.api.target import build
from esproxy.catalogue.store import Steps
from esproxy.errors import Failed, Refusal
from esproxy.exchange import Answer, Call, Calls, Procedure, Reply, Send
from esproxy.heads import AnswerHead
from esproxy.metadata import tasks as made
from esproxy.metadata.nodes import VirtualNode
from esproxy.plan import Plan
from esproxy.procedures.asking import Told, understood
from esproxy.replies import json_headers
from esproxy.request import physical_headers, physical_target

Tree = dict[str, Any]
LISTED = ("actions", "detailed", "group_by", "timeout", "wait_for_completion")
ASKED = ("timeout", "wait_for_completion", "follow_relocations")
CANCELLED = ("actions", "wait_for_completion")


def tasks(plan: Plan) -> Procedure:
    """Ends with the client's answer."""
    physical_target(plan)  # for its strictness: parameters that are none, ids that are none
    node = VirtualNode.of(plan.cluster, plan.owner().id, plan.head.get(b"host"))
    shown = plan.parts.get("task_id")
    if shown is None:
        return (yield from (_list(plan, node) if plan.head.method == "GET" else _cancel_some(plan, node)))
    physical = plan.open_task(shown)
    if plan.route.row.name == "tasks.get":
        return (yield from _get(plan, shown, physical))
    return (yield from _change(plan, node, shown, physical))


def _call(plan: Plan, method: str, path: list[str], names: tuple[str, ...], **more: str) -> Call:
    query = {name: plan.query[name] for name in names if name in plan.query} | more
    if "parent_task_id" in plan.query and path == ["_tasks"]:
        query["parent_task_id"] = plan.open_task(plan.query["parent_task_id"]) or plan.query["parent_task_id"]
    return Call(Send(plan.cluster.name, method, build(path, query), physical_headers(plan, None), held=method == "GET"))


def own_tasks(plan: Plan, node: VirtualNode, **more: str) -> Steps[Tree]:
    """The tenant's tasks. Raises Told."""
    answer = yield _call(plan, "GET", ["_tasks"], LISTED, **more)
    told = understood(plan, answer)
    own = made.own_tasks(told, plan.owner().id, node) if node.selected(plan.query.get("nodes")) else made.nothing(told)
    return _logical(plan, own)


def _list(plan: Plan, node: VirtualNode) -> Procedure:
    try:
        return _told(plan, (yield from own_tasks(plan, node)))
    except Told as told:
        return told.reply


def _get(plan: Plan, shown: str, physical: str | None) -> Procedure:
    if physical is None:
        return _told(plan, made.no_such_task(shown, foreign=True), 404)
    plan.spelled[physical] = shown
    answer = yield _call(plan, "GET", ["_tasks", physical], ASKED)
    if answer.status == 200:
        tree = orjson.loads(answer.body)
        if made.is_own(tree["task"], plan.owner().id):
            return _told(plan, _logical(plan, tree, "tasks.get"))
    if answer.status in (200, 404):  # a node says besides whether anybody's task has left anything
        return _told(plan, made.no_such_task(shown, foreign=False), 404)
    return _refused(plan, answer)


def _change(plan: Plan, node: VirtualNode, shown: str, physical: str | None) -> Procedure:
    """Cancel one task, or let it go on at another pace."""
    cancels = plan.route.row.name == "tasks.cancel"
    if not cancels and "requests_per_second" not in plan.query:
        raise Refusal("requests_per_second is a required parameter")
    why = "not found" if cancels else "missing"
    if physical is None:
        return _told(plan, made.not_running(shown, why, foreign=True))
    if not (yield from _is_running(plan, physical)):
        return _told(plan, made.not_running(shown, why, foreign=False))
    path = [physical if part == "{task_id}" else part for part in plan.route.template]
    names = CANCELLED if cancels else ("requests_per_second", "group_by")
    answer = yield _call(plan, "POST", path, names)
    if answer.status != 200:
        return _refused(plan, answer)
    told = orjson.loads(answer.body)
    if told.get("node_failures"):  # it has ended meanwhile
        return _told(plan, made.not_running(shown, why, foreign=False))
    return _told(plan, _logical(plan, made.own_tasks(told, plan.owner().id, node)))


def _is_running(plan: Plan, physical: str) -> Steps[bool]:
    answer = yield _call(plan, "GET", ["_tasks", physical], ())
    if answer.status == 404:
        return False
    if answer.status != 200:
        raise Failed("the node's answer could not be understood", status=502)
    tree = orjson.loads(answer.body)
    return not tree["completed"] and made.is_own(tree["task"], plan.owner().id)


def _cancel_some(plan: Plan, node: VirtualNode) -> Procedure:
    """All of the tenant's that can be, or those that were asked for. One that ends meanwhile is not told of."""
    answer = yield _call(plan, "GET", ["_tasks"], ("actions",), group_by="none")
    if answer.status != 200:
        return _refused(plan, answer)
    own = made.own_tasks(orjson.loads(answer.body), plan.owner().id, node)
    if not node.selected(plan.query.get("nodes")):
        own = {"tasks": []}
    ids = [made.physical_id(task) for task in own["tasks"] if task["cancellable"]]
    answers: list[Answer] = yield Calls([_call(plan, "POST", ["_tasks", id, "_cancel"], ("wait_for_completion",)) for id in ids])
    cancelled: Tree = {}
    for answer in answers:
        if answer.status != 200:
            return _refused(plan, answer)
        for one in orjson.loads(answer.body)["nodes"].values():
            cancelled |= one["tasks"]
    tree = made.own_tasks({"nodes": {"": {"tasks": cancelled}}}, plan.owner().id, node)
    return _told(plan, _logical(plan, tree))


def _logical(plan: Plan, tree: Tree, table: str = "tasks.list") -> Tree:
    def restore(tree: Tree) -> Tree:
        state = plan.cluster.engine.tables.endpoints[table].response
        assert state is not None
        out: Tree = orjson.loads(Walk(plan, state).feed(orjson.dumps(tree), True))
        return out

    return made.as_logical(tree, plan.owner().id, plan.seal_task, restore)


def _told(plan: Plan, tree: Tree, status: int = 200) -> Reply:
    if plan.filter_path is not None and status == 200:
        tree = plan.filter_path.apply(tree)
    return Reply(status, json_headers(plan.product, plan.head.get(b"accept")), encode(plan, tree))


def _refused(plan: Plan, answer: Answer) -> Reply:
    if not is_error(answer.status, answer.body):
        raise Failed("the node's answer could not be understood", status=502)
    return Reply(answer.status, client_headers(plan, AnswerHead(answer.status, answer.headers)), restore_error(plan, answer.body))
