"""``_cat/indices``, ``_cat/shards``, ``_cat/segments`` and ``_cat/recovery`` for indices in pools.

The node's rows are those of physical indices. A row of one that an index has to itself is that index's; of any other a row is
made for each index in it, in which every figure is zero that does not follow from the index's own documents
(``esproxy.metadata.figures``). Rows are sorted anew, because a physical name says nothing of the index's; so columns that are
sorted by are asked for, too, behind one that tells where the client's end.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from esproxy.api.kinds import Kind
from esproxy.catalogue.documents import CLOSED
from esproxy.catalogue.store import Steps, parsed
from esproxy.errors import Failed
from esproxy.exchange import Large, Reply
from esproxy.metadata import cat
from esproxy.metadata.figures import Own, zero
from esproxy.metadata.nodes import masked_address, masked_node
from esproxy.pools import wide
from esproxy.pools.cat import Rows, table_headers_of, table_reply
from esproxy.pools.counts import by_shard, documents
from esproxy.pools.health import HEALTH
from esproxy.pools.pooled import Pooled
from esproxy.pools.reply import nothing
from esproxy.pools.reply import reply as node_reply
from esproxy.pools.statistics import alone, named
from esproxy.procedures.cat import columns_of, wants_json
from esproxy.rewriting.query import physical_query
from esproxy.tenancy.target import Target

Row = dict[str, Any]
NAMES = ("i", "idx", "index")
DEFAULT = {
    "cat.shards": ("index", "shard", "prirep", "state", "docs", "store", "ip", "node"),
    "cat.segments": (
        "index", "shard", "prirep", "ip", "segment", "generation", "docs.count", "docs.deleted", "size", "size.memory",
        "committed", "searchable", "version", "compound",
    ),
    "cat.recovery": (
        "index", "shard", "time", "type", "stage", "source_host", "source_node", "target_host", "target_node", "repository",
        "snapshot", "files", "files_recovered", "files_percent", "files_total", "bytes", "bytes_recovered", "bytes_percent",
        "bytes_total", "translog_ops", "translog_ops_recovered", "translog_ops_percent",
    ),
}  # fmt: skip
CLOSED_TOO = ("cat.indices", "cat.recovery")
SIZE = re.compile(r"(\d+(?:\.\d+)?)(b|kb|mb|gb|tb|pb)")
FACTORS = {"b": 1, **dict(cat.UNITS)}


@dataclass(frozen=True, slots=True)
class Counts:
    """Documents, by scope and by scope and shard; ``copies``: of shards, that there are of an index, and its primaries."""

    whole: dict[str, int]
    shards: dict[tuple[str, int], int]
    copies: dict[str, tuple[int, int]]


Made = Callable[[Row, Target, Counts], Row | None]


def table(request: Pooled) -> Steps[Reply | Large]:
    plan = request.plan
    endpoint = plan.route.row.name
    query = physical_query(plan, [], None)
    plan.drawing = {key: plan.query[key] for key in ("format", "v") if key in plan.query}
    short = endpoint.partition(".")[2]
    if query.get("help", "false") != "false":
        told = yield request.send("GET", ["_cat", short], {"help": "true"})
        return Reply(told.status, table_headers_of(request, told), told.body)
    targets = yield from named(request, closed=endpoint in CLOSED_TOO or (endpoint == "cat.shards" and request.product))
    header = query.pop("v", "false") != "false"
    asked = [column for column in query.pop("h", "").split(",") if column]
    sort = [part for part in query.pop("s", "").split(",") if part]
    wanted = {"expand_wildcards": "all"} if endpoint == "cat.indices" else {}
    drawn = {**query, **_asked(endpoint, asked, sort, request.product), **wanted}
    told = yield from wide.ask(request, "GET", ["_cat", short, wide.INDEX], [target.physical for target in targets], drawn)
    if told.status >= 400:
        return node_reply(request, told)
    found: Rows = orjson.loads(told.body)
    columns = _columns(found, asked)
    counts = yield from _counts(request, [target for target in targets if not alone(target)])
    rows: Rows = []
    for row in found:
        for target in _targets_of(row, targets):
            made = _own(request, dict(row), target) if alone(target) else MAKES[endpoint](_masked(request, row), target, counts)
            if made is not None:
                rows.append(made)
    if endpoint == "cat.segments":
        rows = _once(rows, targets)
    sort_rows(rows, sort or [_name_column(rows)])
    for row in rows:
        row.update({column: cat.size(cell, query.get("bytes")) for column, cell in row.items() if isinstance(cell, int)})
    shortened = [{column: row[column] for column in columns if column in row} for row in rows]
    if header and not rows and not wants_json(plan):
        drawing = {**query, "v": "true"} | ({"h": ",".join(asked)} if asked else {})
        empty = yield request.send("GET", ["_cat", short, nothing(request)], drawing)
        return Reply(200, table_headers_of(request, told), empty.body if b"\n" not in empty.body.rstrip() else b"")
    return table_reply(request, shortened, columns_of(plan, shortened), told, header)


# --- columns ------------------------------------------------------------------------------------------


def _sentinel(asked: list[str]) -> str:
    """A column with the name, behind which are those that the client did not ask for."""
    return next((name for name in NAMES if name not in asked), NAMES[0])


def _asked(endpoint: str, asked: list[str], sort: list[str], product: bool) -> dict[str, str]:
    """What to ask the node for. Without ``h`` its own choice of columns cannot be added to, and has all that is needed."""
    out = {"format": "json", "s": ",".join(sort)} if sort else {"format": "json"}
    if asked or sort:
        by = [part.partition(":")[0] for part in sort]
        default = DEFAULT.get(endpoint) or cat.default_columns(product)
        if endpoint == "cat.shards" and product:
            default = (*default[:6], "dataset", *default[6:])
        shard = {"cat.indices": [], "cat.recovery": ["shard"]}.get(endpoint, ["shard", "prirep"])
        out["h"] = ",".join([*(asked or default), _sentinel(asked), *shard, *by])
    return out


def _columns(table: Rows, asked: list[str]) -> list[str]:
    """The client's columns, of those that came back."""
    told = list(table[0]) if table else []
    mark = _sentinel(asked)
    return told[: told.index(mark)] if mark in told and mark not in asked else told


def _name_column(rows: Rows) -> str:
    return next((column for column in NAMES if rows and column in rows[0]), NAMES[0])


def sort_rows(rows: Rows, sort: list[str]) -> None:
    """In place. Numbers and sizes are compared as such; the first column goes before the others."""
    for part in reversed(sort):
        column, _, order = part.partition(":")
        rows.sort(key=lambda row: _key(row.get(column), column), reverse=order == "desc")


def _key(cell: Any, column: str) -> tuple[bool, float, str]:
    if isinstance(cell, int):
        return (True, cell, "")
    text = str(cell or "")
    if text.isdigit() and column not in cat.LEFT_COLUMNS:
        return (cell is not None, int(text), "")
    size = SIZE.fullmatch(text)
    return (cell is not None, 0, text) if size is None else (True, float(size[1]) * FACTORS[size[2]], "")


def _targets_of(row: Row, targets: list[Target]) -> list[Target]:
    """The indices that lie in the physical index of a row."""
    name = next((row[column] for column in cat.INDEX_COLUMNS if column in row), None)
    found = [target for target in targets if target.physical == name]
    if not found:
        raise Failed("a row of a cat table that was not asked for")
    return found


# --- rows ---------------------------------------------------------------------------------------------


def _own(request: Pooled, row: Row, target: Target) -> Row:
    """The row of an index that is alone."""
    row = _masked(request, row)
    row.update(dict.fromkeys(row.keys() & cat.INDEX_COLUMNS, target.name))
    return row if target.dedicated or request.plan.route.row.name != "cat.indices" else _named(row, target)


def _masked(request: Pooled, row: Row) -> Row:
    """Without what it says of machines."""
    plan = request.plan
    kinds = cat.table(plan.route.row.name).kinds
    out = dict(row)
    for column in kinds.keys() & row.keys():
        if kinds[column] is Kind.HIDDEN:
            out[column] = None
        elif kinds[column] is Kind.NODE and row[column] is not None:
            out[column] = masked_node(plan.cluster, request.tenant, row[column])
        elif kinds[column] is Kind.ADDRESS and row[column] is not None:
            out[column] = masked_address(row[column])
    return out


def _named(row: Row, target: Target) -> Row:
    """What ``_cat/indices`` says of an index beside figures."""
    created = target.index.created
    closed = {"status": "close", "s": "close"} if target.entry.state == CLOSED else {}
    known = {
        **dict.fromkeys(cat.INDEX_COLUMNS, target.name),
        **dict.fromkeys(("uuid", "id"), target.uuid),
        **dict.fromkeys(("creation.date", "cd"), str(created)),
        **dict.fromkeys(("creation.date.string", "cds"), stamp(created)),
        **closed,
    }
    return {column: known.get(column, cell) for column, cell in row.items()}


def stamp(millis: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(millis / 1000)) + f".{millis % 1000:03d}Z"


INDEX_PLAIN = frozenset(
    ("health", "h", "status", "s", "pri", "p", "shards.primary", "shardsPrimary", "rep", "r", "shards.replica", "shardsReplica",
     "search.throttled", "sth", "uuid", "id", "creation.date", "cd", "creation.date.string", "cds", *cat.INDEX_COLUMNS)
)  # fmt: skip


def _index(row: Row, target: Target, counts: Counts) -> Row:
    row = _named(row, target)
    if target.entry.state == CLOSED:
        return {column: cell if column in INDEX_PLAIN else None for column, cell in row.items()}
    docs = counts.whole[target.scope]
    copies, first = counts.copies[target.physical]
    every, primary = Own(docs * copies // first if first else 0, copies), Own(docs, first)
    known: Row = {
        **dict.fromkeys(("docs.count", "dc", "docsCount"), str(docs)),
        **dict.fromkeys(("store.size", "ss", "storeSize", "dataset.size"), every.size),
        "pri.store.size": primary.size,
        **dict.fromkeys(("segments.count", "sc", "segmentsCount"), str(every.segments)),
        "pri.segments.count": str(primary.segments),
        **dict.fromkeys(("indexing.index_total", "iito", "indexingIndexTotal"), str(every.docs)),
        "pri.indexing.index_total": str(primary.docs),
    }
    return {column: known[column] if column in known else _plain(column, cell, INDEX_PLAIN) for column, cell in row.items()}


SHARD_PLAIN = frozenset(
    ("index", "i", "idx", "shard", "s", "sh", "prirep", "p", "pr", "primaryOrReplica", "state", "st", "ip", "id", "node", "n",
     "unassigned.reason", "ur", "recoverysource.type", "rs")
)  # fmt: skip


def _shard(row: Row, target: Target, counts: Counts) -> Row:
    """A copy that is nowhere has no figures; those of a closed index count nothing."""
    own = _of_shard(row, target, counts)
    created = target.index.created
    known: Row = dict.fromkeys(cat.INDEX_COLUMNS, target.name)
    for column in ("docs", "d", "dc"):
        known[column] = None if row.get(column) is None else str(own.docs)
    for column in ("store", "sto", "dataset"):
        known[column] = None if row.get(column) is None else own.size
    for column in ("unassigned.at", "ua"):
        known[column] = None if row.get(column) is None else stamp(created)
    for column in ("segments.count", "sc", "segmentsCount"):
        known[column] = None if row.get(column) is None else str(own.segments)
    return {column: known[column] if column in known else _plain(column, cell, SHARD_PLAIN) for column, cell in row.items()}


SEGMENT_PLAIN = frozenset(
    ("index", "i", "idx", "shard", "s", "sh", "prirep", "p", "pr", "primaryOrReplica", "ip", "id", "version", "v")
)  # fmt: skip


def _segment(row: Row, target: Target, counts: Counts) -> Row | None:
    """All documents of a shard in one segment. There is one such row for each of the node's: the others go."""
    own = _of_shard(row, target, counts)
    if not own.segments:
        return None
    known: Row = {
        **dict.fromkeys(cat.INDEX_COLUMNS, target.name),
        **dict.fromkeys(("segment", "seg"), "_0"),
        **dict.fromkeys(("docs.count", "dc", "docsCount"), str(own.docs)),
        **dict.fromkeys(("size", "si"), own.size),
        **dict.fromkeys(("committed", "ic", "isCommitted"), "false"),
        **dict.fromkeys(("searchable", "is", "isSearchable"), "true"),
        **dict.fromkeys(("compound", "ico", "isCompound"), "true"),
    }
    return {column: known[column] if column in known else _plain(column, cell, SEGMENT_PLAIN) for column, cell in row.items()}


def _once(rows: Rows, targets: list[Target]) -> Rows:
    """The first row of each copy of a shard, but of the indices that are alone."""
    whole = {target.name for target in targets if alone(target)}
    seen: set[tuple[str, ...]] = set()
    out: Rows = []
    for row in rows:
        name, *place = (str(next((row[c] for c in columns if c in row), "")) for columns in PLACE)
        if name in whole or (name, *place) not in seen:
            out.append(row)
        seen.add((name, *place))
    return out


PLACE = (("index", "i", "idx"), ("shard", "s", "sh"), ("prirep", "p", "pr", "primaryOrReplica"))
RECOVERY_PLAIN = frozenset(
    ("index", "i", "idx", "shard", "s", "sh", "type", "ty", "stage", "st", "source_host", "shost", "source_node", "snode",
     "target_host", "thost", "target_node", "tnode", "repository", "rep", "snapshot", "snap")
)  # fmt: skip


def _recovery(row: Row, target: Target, counts: Counts) -> Row:
    created = target.index.created
    known: Row = dict.fromkeys(cat.INDEX_COLUMNS, target.name)
    known |= dict.fromkeys(("start_time", "start", "stop_time", "stop"), stamp(created))
    known |= dict.fromkeys(("start_time_millis", "start_millis", "stop_time_millis", "stop_millis"), str(created))
    known |= dict.fromkeys(("translog_ops_percent", "top"), "100.0%")
    if target.entry.state == CLOSED:
        known |= dict.fromkeys(("type", "ty"), "existing_store")
    return {column: known[column] if column in known else _plain(column, cell, RECOVERY_PLAIN) for column, cell in row.items()}


MAKES: dict[str, Made] = {
    "cat.indices": _index,
    "cat.shards": _shard,
    "cat.segments": _segment,
    "cat.recovery": _recovery,
}


def _plain(column: str, cell: Any, kept: frozenset[str]) -> Any:
    return cell if column in kept else zero(cell)


def _of_shard(row: Row, target: Target, counts: Counts) -> Own:
    number = next((row[column] for column in PLACE[1] if column in row), "0")
    return Own(0 if target.entry.state == CLOSED else counts.shards[target.scope, int(number)])


def _counts(request: Pooled, targets: list[Target]) -> Steps[Counts]:
    """What the table needs of them."""
    endpoint = request.plan.route.row.name
    if not targets or endpoint == "cat.recovery":
        return Counts({}, {}, {})
    if endpoint != "cat.indices":
        return Counts({}, (yield from by_shard(request, targets)), {})
    whole = yield from documents(request, targets)
    told = yield from wide.ask(request, "GET", HEALTH, [target.physical for target in targets], {"level": "indices"})
    known = parsed(told, 200)["indices"]
    return Counts(whole, {}, {name: (one["active_shards"], one["active_primary_shards"]) for name, one in known.items()})
