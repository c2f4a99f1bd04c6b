"""Tasks of one tenant, among all that a cluster has.

A node keeps with each task the headers it was asked with, and with what a task left when it ended. Among them is the request id
that the proxy puts on whatever it sends: the tenant's, a slash and the client's own. No client can write what stands before the
slash, and what a task starts has the headers of the task. So whose a task is, its node says; but for what keeps a task's
results, which is the node's own doing.

An id of a task is its node's id and a number that the node counts up, from one again when it starts anew. A client gets the
whole sealed for its tenant, and the number behind it, so that it reads as ids do; what is left in a client's hands from before
a restart may denote another's task by then, which is why the headers are looked at each time. ``node`` of a task is the sealed
part: clients put a task's id together of ``node`` and ``id``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from esproxy.metadata.nodes import VirtualNode

Tree = dict[str, Any]
OPAQUE = "X-Opaque-Id"
RESULTS = ".tasks"


def is_own(task: Tree, tenant: str) -> bool:
    opaque = task.get("headers", {}).get(OPAQUE)
    return isinstance(opaque, str) and opaque.startswith(f"{tenant}/") and not _keeps_results(task)


def _keeps_results(task: Tree) -> bool:
    """A node puts what a task left into an index of its own, by tasks that bear the same headers. What they are described by
    holds the node's id, and the index is no tenant's. Behind ``source[`` stands what a client may have written."""
    front: str = task.get("description", "").partition("source[")[0]
    return f"[{RESULTS}]" in front


def physical_id(task: Tree) -> str:
    return f"{task['node']}:{task['id']}"


def own_tasks(told: Tree, tenant: str, node: VirtualNode) -> Tree:
    """What a node told of all tasks, grouped in any way, with the tenant's own alone, on the tenant's one node."""
    out: Tree = {}
    failures = [_failure(node) for _ in told.get("node_failures", ())]
    if failures:
        out["node_failures"] = failures
    if "nodes" in told:
        tasks = {key: task for one in told["nodes"].values() for key, task in one["tasks"].items() if is_own(task, tenant)}
        out["nodes"] = on_one_node(tasks, node)
    elif isinstance(told.get("tasks"), dict):
        out["tasks"] = {key: _with_own_children(task, tenant) for key, task in told["tasks"].items() if is_own(task, tenant)}
    else:
        out["tasks"] = [task for task in told.get("tasks", ()) if is_own(task, tenant)]
    return out


def on_one_node(tasks: Tree, node: VirtualNode) -> Tree:
    if not tasks:
        return {}
    return {node.id: {**node.header(), "roles": list(node.roles), "attributes": {}, "tasks": tasks}}


def nothing(told: Tree) -> Tree:
    """The same grouping of no tasks."""
    return {"nodes": {}} if "nodes" in told else {"tasks": {} if isinstance(told.get("tasks"), dict) else []}


def _with_own_children(task: Tree, tenant: str) -> Tree:
    if "children" in task:
        task["children"] = [_with_own_children(child, tenant) for child in task["children"] if is_own(child, tenant)]
    return task


def _failure(node: VirtualNode) -> Tree:
    """Some node could not be asked; which one is the operator's to know."""
    return {"type": "failed_node_exception", "reason": f"Failed node [{node.id}]", "node_id": node.id}


def each_task(tree: Tree) -> Iterator[Tree]:
    """Every task of an answer, in its order."""
    if "task" in tree:
        yield tree["task"]
    groups = [one["tasks"] for one in tree.get("nodes", {}).values()] + [tree.get("tasks", [])]
    for group in groups:
        for task in group.values() if isinstance(group, dict) else group:
            yield from _with_children(task)


def _with_children(task: Tree) -> Iterator[Tree]:
    yield task
    for child in task.get("children", ()):
        yield from _with_children(child)


def as_logical(tree: Tree, tenant: str, seal: Callable[[str], str], restore: Callable[[Tree], Tree]) -> Tree:
    """An answer about the tenant's tasks as its client gets it. ``restore``: what the rule table does."""
    ids = []
    for task in each_task(tree):
        ids.append(seal(physical_id(task)))
        opaque = task["headers"].pop(OPAQUE).removeprefix(f"{tenant}/")
        if opaque:
            task["headers"][OPAQUE] = opaque
    out = restore(tree)
    for task, sealed in zip(each_task(out), ids, strict=True):
        task["node"] = sealed.rpartition(":")[0]
    return out


# --- what nodes say of an id that leads nowhere -----------------------------------------------------------


def no_such_task(id: str, *, foreign: bool) -> Tree:
    """The error of asking for it. ``foreign``: its first part is no node's that the client could know."""
    ended = {"type": "resource_not_found_exception", "reason": f"task [{id}] isn't running and hasn't stored its results"}
    if not foreign:
        return {"error": {"root_cause": [ended], **ended}, "status": 404}
    node = id.rpartition(":")[0]
    reason = f"task [{id}] belongs to the node [{node}] which isn't part of the cluster and there is no record of the task"
    return {"error": {"root_cause": [ended], "type": ended["type"], "reason": reason, "caused_by": ended}, "status": 404}


def not_running(id: str, why: str, *, foreign: bool) -> Tree:
    """The answer to changing it. ``why``: ``not found``, or ``missing``."""
    node = id.rpartition(":")[0]
    cause: Tree = {"type": "resource_not_found_exception", "reason": f"task [{id}] is {why}"}
    if foreign:
        cause = {"type": "no_such_node_exception", "reason": f"No such node [{node}]", "node_id": node}
    failed = {"type": "failed_node_exception", "reason": f"Failed node [{node}]", "node_id": node, "caused_by": cause}
    return {"node_failures": [failed], "nodes": {}}
