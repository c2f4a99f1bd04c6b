"""Cat tables: asked for as JSON, restored, and drawn again where the client wants text.

The widths of a text table depend on the names in it, so the node's own drawing cannot be kept. A node pads each column
to its widest cell (the header counts when shown) and aligns to the left unless the column says otherwise. Which do, and which
columns hold names, no answer tells: both are listed here for each table, aliases of columns included (read off Elasticsearch
8.19/9.4 and OpenSearch 2.19/3.8 with ``h=*``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from esproxy.api.kinds import Kind
from esproxy.errors import Refusal

DEFAULT_COLUMNS = (
    "health", "status", "index", "uuid", "pri", "rep", "docs.count", "docs.deleted", "store.size", "pri.store.size",
)  # fmt: skip
INDEX_COLUMNS = frozenset({"index", "i", "idx"})
LEFT_COLUMNS = INDEX_COLUMNS | {
    "health", "h", "status", "s", "uuid", "id", "creation.date", "cd", "creation.date.string", "cds",
    "search.throttled", "sth", "last_index_request_timestamp_string", "lirts",
    "epoch", "t", "time", "timestamp", "ts", "hms", "hhmmss", "cluster", "cl", "st",
}  # fmt: skip


def _kinds(**columns: str) -> dict[str, Kind]:
    return {name: Kind[kind] for kind, names in columns.items() for name in names.split()}


@dataclass(frozen=True, slots=True)
class Table:
    """``kinds``: what is in a column that is not a plain value. ``left``: columns that stand left; None: all but ``right``."""

    kinds: dict[str, Kind]
    left: frozenset[str] | None = None
    right: frozenset[str] = field(default_factory=frozenset)

    def stands_left(self, column: str) -> bool:
        return column in self.left if self.left is not None else column not in self.right


_INDEX = "index i idx"
INDICES = Table(_kinds(INDEX=_INDEX), LEFT_COLUMNS)
TABLES = {
    "cat.aliases": Table(_kinds(INDEX=_INDEX, ALIAS="alias a")),
    "cat.component_templates": Table(_kinds(TEMPLATE="name n", PATTERN="included_in i")),
    "cat.count": Table({}),
    "cat.recovery": Table(
        _kinds(INDEX=_INDEX, NODE="source_node snode target_node tnode", ADDRESS="source_host shost target_host thost")
    ),
    "cat.segments": Table(
        _kinds(INDEX=_INDEX, NODE="id", ADDRESS="ip"),
        right=frozenset(
            ("generation", "g", "gen", "docs.count", "dc", "docsCount", "docs.deleted", "dd", "docsDeleted", "size", "si",
             "size.memory", "sm", "sizeMemory")
        ),
    ),
    "cat.templates": Table(_kinds(TEMPLATE="name n", PATTERN="index_patterns t composed_of c")),
    "cat.shards": Table(
        _kinds(
            INDEX=_INDEX, NODE="id node n", ADDRESS="ip",
            HIDDEN="path.data pd dataPath path.state ps statsPath unassigned.details ud",
        ),
        left=INDEX_COLUMNS | {
            "shard", "s", "sh", "prirep", "p", "pr", "primaryOrReplica", "state", "st", "ip", "id", "node", "n", "sync_id",
            "unassigned.reason", "ur", "unassigned.at", "ua", "unassigned.for", "uf", "unassigned.details", "ud",
            "recoverysource.type", "rs",
        },
    ),
}  # fmt: skip
# What _cat/health says of the whole cluster: key of _cluster/health → the column and its aliases.
HEALTH = {
    "status": ("status", "st"),
    "active_shards": ("shards", "sh", "shards.total", "shardsTotal"),
    "active_primary_shards": ("pri", "p", "shards.primary", "shardsPrimary"),
    "relocating_shards": ("relo", "r", "shards.relocating", "shardsRelocating"),
    "initializing_shards": ("init", "i", "shards.initializing", "shardsInitializing"),
    "unassigned_shards": ("unassign", "u", "shards.unassigned", "shardsUnassigned"),
    "unassigned_primary_shards": ("unassign.pri", "up", "shards.unassigned.primary", "shardsUnassignedPrimary"),
    "number_of_nodes": ("node.total", "nt", "nodeTotal"),
    "number_of_data_nodes": ("node.data", "nd", "nodeData"),
    "number_of_pending_tasks": ("pending_tasks", "pt", "pendingTasks"),
}
WAITED = ("max_task_wait_time", "mtwt", "maxTaskWaitTime")
PERCENT = ("active_shards_percent", "asp", "activeShardsPercent")
Rows = list[dict[str, Any]]
UNITS = (("pb", 1 << 50), ("tb", 1 << 40), ("gb", 1 << 30), ("mb", 1 << 20), ("kb", 1 << 10))


def default_columns(product: bool) -> tuple[str, ...]:
    """Of ``_cat/indices``."""
    return (*DEFAULT_COLUMNS, "dataset.size") if product else DEFAULT_COLUMNS


def table(endpoint: str) -> Table:
    return TABLES.get(endpoint, INDICES)


def restore_rows(rows: Rows, prefix: str, known: Table, machine: Callable[[Kind, str], str]) -> Rows | None:
    """Rows with logical names, or None when a row is not under the tenant's prefix (a violation). ``machine``: how a tenant
    sees a node or an address."""
    for row in rows:
        for column in known.kinds.keys() & row.keys():
            kind, value = known.kinds[column], row[column]
            if kind is Kind.HIDDEN or value is None:
                row[column] = None
            elif kind in (Kind.NODE, Kind.ADDRESS):
                row[column] = machine(kind, value)
            elif kind is Kind.PATTERN:
                listed = value.strip("[]").split(", ") if value.strip("[]") else []
                if not all(one.startswith(prefix) for one in listed):
                    return None
                row[column] = value.replace(", " + prefix, ", ").replace("[" + prefix, "[")
            elif not isinstance(value, str) or not value.startswith(prefix):
                return None
            else:
                row[column] = value[len(prefix) :]
    return rows


def fill_health(rows: Rows, figures: dict[str, Any]) -> None:
    """Put a tenant's health into the rows of ``_cat/health``, in place."""
    for cells in rows:
        for figure, columns in HEALTH.items():
            for column in cells.keys() & columns:
                cells[column] = str(figures[figure])
        for column in cells.keys() & WAITED:
            cells[column] = "-"
        for column in cells.keys() & PERCENT:
            cells[column] = f"{figures['active_shards_percent_as_number']:.1f}%"


def draw(rows: Rows, columns: list[str], *, header: bool, known: Table = INDICES) -> bytes:
    """The text table a node would draw. ``columns`` in order; a missing cell is empty."""
    lines = [{c: c for c in columns}] if header else []
    lines += [{c: "" if row.get(c) is None else str(row[c]) for c in columns} for row in rows]
    if not lines or not columns:
        return b"\n" * len(lines)
    width = {c: max(len(line[c]) for line in lines) for c in columns}
    text = ""
    for line in lines:
        cells = [line[c].ljust(width[c]) if known.stands_left(c) else line[c].rjust(width[c]) for c in columns]
        if known.stands_left(columns[-1]):
            cells[-1] = line[columns[-1]]  # nodes do not pad the last one
        text += " ".join(cells) + "\n"
    return text.encode()


def size(bytes: int, unit: str | None) -> str:
    """Bytes as a table shows them; in whole ``unit``s where the client wants one. Raises Refusal for a unit that is none."""
    if unit is not None:
        divisor = {"b": 1, **{name[0]: value for name, value in UNITS}, **dict(UNITS)}.get(unit)
        if divisor is None:
            raise Refusal(f"unknown unit [{unit}]")
        return str(bytes // divisor)
    for name, value in UNITS:
        if bytes >= value:
            return _cut(bytes, value) + name
    return f"{bytes}b"


TIMES = (("d", 86_400_000_000_000), ("h", 3_600_000_000_000), ("m", 60_000_000_000), ("s", 1_000_000_000), ("ms", 1_000_000),
         ("micros", 1_000), ("nanos", 1))  # fmt: skip


def duration(nanos: int, unit: str | None) -> str:
    """A time as a table shows it; in whole ``unit``s where the client wants one. Raises Refusal for a unit that is none."""
    if unit is not None:
        if unit not in dict(TIMES):
            raise Refusal(f"unknown unit [{unit}]")
        return str(nanos // dict(TIMES)[unit])
    name, value = next((name, value) for name, value in TIMES if nanos >= value or value == 1)
    return _cut(nanos, value) + name


def _cut(value: int, unit: int) -> str:
    """With one decimal, if it is none, cut off as nodes cut."""
    whole, rest = divmod(value * 10 // unit, 10)
    return f"{whole}.{rest}" if rest else str(whole)
