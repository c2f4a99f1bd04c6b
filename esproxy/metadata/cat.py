"""Cat tables: asked for as JSON, restored, and drawn again where the client wants text.

The widths of a text table depend on the names in it, so the node's own drawing cannot be kept. A node pads each column
to its widest cell (the header counts when shown) and aligns to the right unless the column says otherwise; the columns that
stand left are listed here, with their aliases, since no answer tells (read off Elasticsearch 8.19/9.4 and OpenSearch 2.19/3.8
with ``h=*``).
"""

from __future__ import annotations

from typing import Any

DEFAULT_COLUMNS = (
    "health", "status", "index", "uuid", "pri", "rep", "docs.count", "docs.deleted", "store.size", "pri.store.size",
)  # fmt: skip
INDEX_COLUMNS = frozenset({"index", "i", "idx"})
LEFT_COLUMNS = INDEX_COLUMNS | {
    "health", "h", "status", "s", "uuid", "id", "creation.date", "cd", "creation.date.string", "cds",
    "search.throttled", "sth", "last_index_request_timestamp_string", "lirts",
    "epoch", "t", "time", "timestamp", "ts", "hms", "hhmmss", "cluster", "cl", "st",
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
    "number_of_pending_tasks": ("pending_tasks", "pt", "pendingTasks"),
}
WAITED = ("max_task_wait_time", "mtwt", "maxTaskWaitTime")
PERCENT = ("active_shards_percent", "asp", "activeShardsPercent")
Rows = list[dict[str, Any]]


def restore_rows(rows: Rows, prefix: str) -> Rows | None:
    """Rows with logical names, or None when a row is not under the tenant's prefix (a violation)."""
    for row in rows:
        for column in INDEX_COLUMNS & row.keys():
            name = row[column]
            if not isinstance(name, str) or not name.startswith(prefix):
                return None
            row[column] = name[len(prefix) :]
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


def draw(rows: Rows, columns: list[str], *, header: bool) -> bytes:
    """The text table a node would draw. ``columns`` in order; a missing cell is empty."""
    lines = [{c: c for c in columns}] if header else []
    lines += [{c: "" if row.get(c) is None else str(row[c]) for c in columns} for row in rows]
    if not lines or not columns:
        return b"\n" * len(lines)
    width = {c: max(len(line[c]) for line in lines) for c in columns}
    text = ""
    for line in lines:
        cells = [line[c].ljust(width[c]) if c in LEFT_COLUMNS else line[c].rjust(width[c]) for c in columns]
        if columns[-1] in LEFT_COLUMNS:
            cells[-1] = line[columns[-1]]  # nodes do not pad the last one
        text += " ".join(cells) + "\n"
    return text.encode()
