"""Cat tables about nodes: drawn for the one node of a tenant's cluster.

A real node tells which columns its version has (``help``), and by its own row what a cell looks like: a size, a time, a number.
What is the tenant's own is filled in; every other figure is the machine's and reads as zero.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from esproxy.answer import client_headers, encode
from esproxy.api.target import build
from esproxy.catalogue.store import Steps
from esproxy.exchange import Answer, Call, Reply, Send
from esproxy.heads import AnswerHead, Headers
from esproxy.metadata import cat
from esproxy.metadata.figures import zero
from esproxy.metadata.nodes import VirtualNode
from esproxy.plan import Plan
from esproxy.procedures.asking import JSON, Own, understood
from esproxy.procedures.cat import PLAIN_TEXT, table_headers, wants_json
from esproxy.procedures.virtual_rows import ROWS, Cells
from esproxy.request import CAT_DRAWING

TEXT = [(b"accept", b"text/plain")]
# Columns of a table that is asked for without ``h``, by table and whether the engine is Elasticsearch.
_LOAD = ("ip", "heap.percent", "ram.percent", "cpu", "load_1m", "load_5m", "load_15m", "node.role")
_DISK = ("disk.indices", "disk.used", "disk.avail", "disk.total", "disk.percent", "host", "ip", "node")
_SNAPSHOT = (
    "id", "repository", "status", "start_epoch", "start_time", "end_epoch", "end_time", "duration", "indices",
    "successful_shards", "failed_shards", "total_shards",
)  # fmt: skip
_REPLICATION = (
    "shardId", "target_node", "target_host", "checkpoints_behind", "bytes_behind", "current_lag", "last_completed_lag",
    "rejected_requests",
)  # fmt: skip
_TASK = ("action", "task_id", "parent_task_id", "type", "start_time", "timestamp", "running_time", "ip", "node")
DEFAULTS: dict[str, dict[bool, tuple[str, ...]]] = {
    "nodes": {True: (*_LOAD, "master", "name"), False: (*_LOAD, "node.roles", "cluster_manager", "name")},
    "allocation": {
        True: ("shards", "shards.undesired", "write_load.forecast", "disk.indices.forecast", *_DISK, "node.role"),
        False: ("shards", *_DISK),
    },
    "master": dict.fromkeys((True, False), ("id", "host", "ip", "node")),
    "cluster_manager": dict.fromkeys((True, False), ("id", "host", "ip", "node")),
    "plugins": dict.fromkeys((True, False), ("name", "component", "version")),
    "nodeattrs": dict.fromkeys((True, False), ("node", "host", "ip", "attr", "value")),
    "thread_pool": dict.fromkeys((True, False), ("node_name", "name", "active", "queue", "rejected")),
    "circuit_breaker": {True: ("node_id", "breaker", "limit", "estimated", "tripped")},
    "pending_tasks": dict.fromkeys((True, False), ("insertOrder", "timeInQueue", "priority", "source")),
    "repositories": dict.fromkeys((True, False), ("id", "type")),
    "snapshots": dict.fromkeys((True, False), _SNAPSHOT),
    "segment_replication": {False: _REPLICATION},
    "fielddata": dict.fromkeys((True, False), ("id", "host", "ip", "node", "field", "size")),
    "tasks": dict.fromkeys((True, False), _TASK),
}
LEFT = frozenset(
    ("id", "pid", "ip", "host", "port", "http_address", "version", "type", "flavor", "build", "jdk", "node.role", "node.roles",
     "master", "cluster_manager", "name", "node", "component", "description", "attr", "value", "node_name", "node_id",
     "ephemeral_node_id", "breaker", "limit", "limit_bytes", "estimated", "estimated_bytes", "tripped", "overhead",
     "field", *_TASK, "running_time_ns", "x_opaque_id")
)  # fmt: skip
# Tables of which a node is not asked for the shape of a cell: it would read all of its repositories for one.
UNASKED = frozenset(("snapshots",))
Column = tuple[str, str]  # what the client calls it, its own name


def table(plan: Plan, node: VirtualNode, own: Own) -> Steps[Reply]:
    """Ends with the client's answer."""
    kind = plan.route.row.name.partition(".")[2]
    plan.drawing = {key: plan.query[key] for key in CAT_DRAWING if key in plan.query}
    told: Answer = yield _call(plan, ["_cat", kind], {"help": "true"}, TEXT)
    if plan.query.get("help", "false") != "false" or told.status != 200:
        return Reply(told.status, _headers(plan, told), told.body)
    default = DEFAULTS[kind][plan.product]
    if kind == "tasks" and plan.query.get("detailed", "false") != "false":
        default += ("description",)
    columns = _columns(told.body.decode(), plan.query.get("h"), default)
    query = {key: plan.query[key] for key in ("h", "s", "bytes", "time", "full_id") if key in plan.query}
    shape: Cells = {}
    if kind not in UNASKED:
        told = yield _call(plan, ["_cat", kind], {**query, "format": "json"}, JSON)
        real = understood(plan, told)
        shape = real[0] if real else {}
    headers = _headers(plan, told)
    known = yield from ROWS[kind](plan, node, own)
    rows = [{asked: cells[name] if name in cells else zero(shape.get(asked)) for asked, name in columns} for cells in known]
    for part in reversed(plan.query.get("s", "").split(",")):
        column, _, order = part.partition(":")
        rows.sort(key=lambda cells: _key(cells.get(column)), reverse=order == "desc")
    headers = table_headers(plan, headers)
    if wants_json(plan):
        return Reply(200, headers, encode(plan, rows if plan.filter_path is None else plan.filter_path.apply(rows)))
    drawing = cat.Table({}, left=frozenset(asked for asked, name in columns if name in LEFT))
    header = plan.drawing.get("v", "false") != "false"
    return Reply(200, headers, cat.draw(rows, [asked for asked, _ in columns], header=header, known=drawing))


def listed(plan: Plan, node: VirtualNode, own: Own) -> Steps[Reply]:
    """What tables there are: those of the node's list that are served."""
    told: Answer = yield _call(plan, ["_cat"], {}, TEXT)
    headers = [(name, PLAIN_TEXT if name == b"content-type" else value) for name, value in _headers(plan, told)]
    served = {_place(path) for endpoint in plan.cluster.engine.tables.endpoints.values() for _, path in endpoint.urls}
    lines = [line for line in told.body.decode().splitlines() if not line.startswith("/") or _place(line) in served]
    return Reply(told.status, headers, "".join(f"{line}\n" for line in lines).encode())


def _place(path: str) -> str:
    return re.sub(r"\{[^}]*\}", "{}", path)


def _headers(plan: Plan, answer: Answer) -> Headers:
    return client_headers(plan, AnswerHead(answer.status, answer.headers))


def _call(plan: Plan, path: list[str], query: dict[str, str], headers: list[tuple[bytes, bytes]]) -> Call:
    return Call(Send(plan.cluster.name, "GET", build(path, query), headers, held=True))


def _columns(told: str, asked: str | None, default: tuple[str, ...]) -> list[Column]:
    """The columns to show, as nodes read ``h``: names, aliases and patterns of both; what is none is left out."""
    names: dict[str, list[str]] = {}
    for line in told.splitlines():
        parts = [part.strip() for part in line.split("|")]
        if len(parts) == 3:
            names[parts[0]] = [alias for alias in parts[1].split(",") if alias != "-"]
    if asked is None:
        return [(name, name) for name in default]
    found: list[Column] = []
    for term in asked.split(","):
        for name, aliases in names.items():
            if "*" in term:
                if any(fnmatchcase(one, term) for one in (name, *aliases)) and (name, name) not in found:
                    found.append((name, name))
            elif term == name or term in aliases:
                found.append((term, name))
                break
    return found


def _key(cell: str | None) -> tuple[bool, int, str]:
    return (cell is not None, int(cell), "") if cell is not None and cell.isdigit() else (cell is not None, 0, cell or "")


TABLES = {f"cat.{name}": table for name in ROWS} | {"cat.help": listed}
