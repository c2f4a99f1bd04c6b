"""Cat tables about nodes: drawn for the one node of a tenant's cluster.

A real node tells which columns its version has (``help``), and by its own row what a cell looks like: a size, a time, a number.
What is the tenant's own is filled in; every other figure is the machine's and reads as zero.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from fnmatch import fnmatchcase
from typing import Any

import orjson

from esproxy.answer import client_headers, encode, is_error, restore_error
from esproxy.api.target import build
from esproxy.catalogue.store import Steps
from esproxy.exchange import Answer, Call, Reply, Send
from esproxy.heads import AnswerHead
from esproxy.metadata import cat
from esproxy.metadata.figures import zero
from esproxy.metadata.nodes import ADDRESS, LETTERS, VirtualNode
from esproxy.plan import Plan
from esproxy.procedures.cat import table_headers, wants_json
from esproxy.request import CAT_DRAWING

JSON = [(b"accept", b"application/json")]
TEXT = [(b"accept", b"text/plain")]
PORT = "9300"
# Columns of a table that is asked for without ``h``, by table and whether the engine is Elasticsearch.
_LOAD = ("ip", "heap.percent", "ram.percent", "cpu", "load_1m", "load_5m", "load_15m", "node.role")
_DISK = ("disk.indices", "disk.used", "disk.avail", "disk.total", "disk.percent", "host", "ip", "node")
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
}
LEFT = frozenset(
    ("id", "pid", "ip", "host", "port", "http_address", "version", "type", "flavor", "build", "jdk", "node.role", "node.roles",
     "master", "cluster_manager", "name", "node", "component", "description", "attr", "value")
)  # fmt: skip
Cells = dict[str, str | None]
Tree = dict[str, Any]
HEALTH = "_cluster/health"
# Asks about all of the tenant's indices: for ``_stats`` of a metric or none, ``_mapping``, or HEALTH.
Own = Callable[[str, str | None], Generator[Any, Any, Tree]]
Column = tuple[str, str]  # what the client calls it, its own name


def table(plan: Plan, node: VirtualNode, own: Own) -> Steps[Reply]:
    """Ends with the client's answer."""
    kind = plan.route.row.name.partition(".")[2]
    plan.drawing = {key: plan.query[key] for key in CAT_DRAWING if key in plan.query}
    told: Answer = yield _call(plan, ["_cat", kind], {"help": "true"}, TEXT)
    if plan.query.get("help", "false") != "false" or told.status != 200:
        return Reply(told.status, client_headers(plan, AnswerHead(told.status, told.headers)), told.body)
    columns = _columns(told.body.decode(), plan.query.get("h"), DEFAULTS[kind][plan.product])
    query = {key: plan.query[key] for key in ("h", "s", "bytes", "time", "full_id") if key in plan.query}
    shown: Answer = yield _call(plan, ["_cat", kind], {**query, "format": "json"}, JSON)
    headers = client_headers(plan, AnswerHead(shown.status, shown.headers))
    if is_error(shown.status, shown.body):
        return Reply(shown.status, headers, restore_error(plan, shown.body))
    real = orjson.loads(shown.body)
    known = yield from ROWS[kind](plan, node, own)
    shape: Cells = real[0] if real else {}
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


# --- rows ----------------------------------------------------------------------------------------------------


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


VERSION = {"version": "number", "flavor": "build_flavor", "type": "build_type", "build": "build_hash"}


def master(plan: Plan, node: VirtualNode, own: Own) -> Steps[list[Cells]]:
    yield from ()
    return [{"id": node.id, "host": ADDRESS, "ip": ADDRESS, "node": node.id}]


def nothing(plan: Plan, node: VirtualNode, own: Own) -> Steps[list[Cells]]:
    """A node without plug-ins, and without attributes."""
    yield from ()
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
        every = dict.fromkeys((*DEFAULTS["allocation"][plan.product], *DEFAULTS["allocation"][True]))
        rows.append(every | {"shards": str(health["unassigned_shards"]), "node": "UNASSIGNED"})
    return rows


ROWS: dict[str, Callable[[Plan, VirtualNode, Own], Generator[Any, Any, list[Cells]]]] = {
    "nodes": nodes, "master": master, "cluster_manager": master, "plugins": nothing, "nodeattrs": nothing,
    "allocation": allocation,
}  # fmt: skip
TABLES = {f"cat.{name}": table for name in ROWS}
