"""Rows of the cat tables about nodes, for the one node of a tenant's cluster (``virtual_cat`` draws them): what is the tenant's
own, and what a node is called. A column that a row leaves out is a figure of the machine's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import Any

from esproxy.catalogue.store import Steps
from esproxy.errors import Refusal
from esproxy.metadata import cat
from esproxy.metadata.nodes import ADDRESS, LETTERS, VirtualNode
from esproxy.plan import Plan
from esproxy.procedures.asking import HEALTH, Own, asked
from esproxy.procedures.tasks import own_tasks

PORT = "9300"
Cells = dict[str, str | None]
VERSION = {"version": "number", "flavor": "build_flavor", "type": "build_type", "build": "build_hash"}
UNASSIGNED = (
    "shards", "shards.undesired", "write_load.forecast", "disk.indices.forecast", "disk.indices", "disk.used", "disk.avail",
    "disk.total", "disk.percent", "host", "ip", "node", "node.role",
)  # fmt: skip


def nodes(plan: Plan, node: VirtualNode, own: Own) -> Steps[list[Cells]]:
    yield from ()
    whole = plan.query.get("full_id", "false") != "false"
    return [
        {
            "id": node.id if whole else node.id[:4],
            "pid": "1",
            "ip": ADDRESS,
            "port": PORT,
            "http_address": node.http,
            **{name: str(node.version.get(key, "-")) for name, key in VERSION.items()},
            "jdk": "-",
            "node.role": LETTERS[plan.product],
            "node.roles": ",".join(node.roles),
            "master": "*",
            "cluster_manager": "*",
            "name": node.id,
        }
    ]


def master(plan: Plan, node: VirtualNode, own: Own) -> Steps[list[Cells]]:
    yield from ()
    return [{"id": node.id, "host": ADDRESS, "ip": ADDRESS, "node": node.id}]


def nothing(plan: Plan, node: VirtualNode, own: Own) -> Steps[list[Cells]]:
    """A node without plug-ins and attributes, and a cluster where nothing waits, and nobody has made a repository."""
    yield from ()
    return []


def snapshots(plan: Plan, node: VirtualNode, own: Own) -> Steps[list[Cells]]:
    """There is no repository that they could be in."""
    yield from ()
    if not plan.product and "repository" not in plan.parts:
        raise Refusal("Validation Failed: 1: repository is missing;", type="action_request_validation_exception")
    missing = [one for one in plan.parts.get("repository", "_all").split(",") if one != "_all" and "*" not in one]
    if missing:
        raise Refusal(f"[{missing[0]}] missing", status=404, type="repository_missing_exception")
    return []


def allocation(plan: Plan, node: VirtualNode, own: Own) -> Steps[list[Cells]]:
    """The shards of the tenant's indices, and the bytes that they are."""
    health = yield from own(HEALTH, None)
    told = yield from own("_stats", "store")
    stored = told["_all"].get("total", {}).get("store", {}).get("size_in_bytes", 0)
    rows: list[Cells] = []
    if node.selected(plan.parts.get("node_id")):
        cells: Cells = {"shards": str(health["active_shards"]), "host": ADDRESS, "ip": ADDRESS, "node": node.id}
        rows.append(cells | {"node.role": LETTERS[plan.product], "disk.indices": cat.size(stored, plan.query.get("bytes"))})
    if health["unassigned_shards"]:
        rows.append(dict.fromkeys(UNASSIGNED) | {"shards": str(health["unassigned_shards"]), "node": "UNASSIGNED"})
    return rows


def fielddata(plan: Plan, node: VirtualNode, own: Own) -> Steps[list[Cells]]:
    """The tenant's fields that lie in memory."""
    wanted = plan.query.get("fields") or plan.parts.get("fields") or "*"
    told = yield from own("_stats", "fielddata", {"fields": wanted})
    fields = told["_all"].get("total", {}).get("fielddata", {}).get("fields", {})
    where: Cells = {"id": node.id, "host": ADDRESS, "ip": ADDRESS, "node": node.id}
    unit = plan.query.get("bytes")
    return [where | {"field": name, "size": cat.size(one["memory_size_in_bytes"], unit)} for name, one in fields.items()]


def by_name(kind: str, column: str, patterns: str, *more: str) -> Rows:
    """A row for each of what every node has one of, by a name that is the engine's."""

    def rows(plan: Plan, node: VirtualNode, own: Own) -> Steps[list[Cells]]:
        path = ["_cat", kind, *([plan.parts[patterns]] if patterns in plan.parts else [])]
        told = yield from asked(plan, path, {"h": ",".join((column, *more)), "format": "json"})
        here: Cells = {"node_name": node.id, "node_id": node.id, "ephemeral_node_id": node.id, "pid": "1", "port": PORT}
        here |= {"host": ADDRESS, "ip": ADDRESS}
        known = {one[column]: one for one in told}
        return [here | known[name] for name in sorted(known)]

    return rows


def tasks(plan: Plan, node: VirtualNode, own: Own) -> Steps[list[Cells]]:
    """The tenant's own."""
    told = yield from own_tasks(plan, node, group_by="none")
    return [_task(plan, one) for one in told["tasks"]]


def _task(plan: Plan, task: dict[str, Any]) -> Cells:
    began, taken = task["start_time_in_millis"], task["running_time_in_nanos"]
    return {
        "id": str(task["id"]),
        "action": task["action"],
        "task_id": f"{task['node']}:{task['id']}",
        "parent_task_id": task.get("parent_task_id", "-"),
        "type": task["type"],
        "start_time": str(began),
        "timestamp": time.strftime("%H:%M:%S", time.gmtime(began / 1000)),
        "running_time_ns": str(taken),
        "running_time": cat.duration(taken, plan.query.get("time")),
        "node_id": task["node"],
        "ip": ADDRESS,
        "port": PORT,
        "node": task["node"],
        "version": str(plan.cluster.info.get("version", {}).get("number", "-")),
        "x_opaque_id": task["headers"].get("X-Opaque-Id", "-"),
        "description": task.get("description", ""),
    }


Rows = Callable[[Plan, VirtualNode, Own], Generator[Any, Any, list[Cells]]]
ROWS: dict[str, Rows] = {
    "nodes": nodes, "master": master, "cluster_manager": master, "plugins": nothing, "nodeattrs": nothing,
    "allocation": allocation, "fielddata": fielddata, "snapshots": snapshots, "tasks": tasks,
    "thread_pool": by_name("thread_pool", "name", "thread_pool_patterns", "type"),
    "circuit_breaker": by_name("circuit_breaker", "breaker", "circuit_breaker_patterns"),
    "pending_tasks": nothing, "repositories": nothing, "segment_replication": nothing,
}  # fmt: skip
