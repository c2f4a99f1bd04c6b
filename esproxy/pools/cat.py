"""``_cat/indices``, ``_cat/count`` and ``_cat/health`` for indices in pools.

The node's rows are those of physical indices; a row is made of them for each index in one. Counts of documents are the index's
own: two searches each, in one call. What a node measures for the whole physical index (sizes, deleted documents, operations,
times) is given in the index's share of the pool's documents, so that it says nothing of anybody else's.

The node is asked in plain numbers, for the client's columns and, behind a column that tells where these end, for those that are
sorted by. Which of the columns that are not listed here are sizes or times only its own drawing tells: it is asked for too then.
"""

from __future__ import annotations

import re
import time
from typing import Any

import orjson

from esproxy.answer import encode, is_error
from esproxy.catalogue.documents import CLOSED
from esproxy.catalogue.store import Steps, parsed
from esproxy.errors import Failed
from esproxy.exchange import Answer, Reply
from esproxy.heads import Headers
from esproxy.metadata import cat, cluster
from esproxy.pools.bodies import search_body
from esproxy.pools.health import tenant_health
from esproxy.pools.pooled import Pooled
from esproxy.pools.reply import nothing
from esproxy.pools.reply import reply as node_reply
from esproxy.pools.targets import some
from esproxy.procedures.cat import columns_of, table_headers, wants_json
from esproxy.rewriting.query import body_with_query, physical_query
from esproxy.rewriting.restore import PoolAnswer, client_headers
from esproxy.tenancy.fieldnames import Divided
from esproxy.tenancy.target import Target, filter_of, physical_expression

IDS = frozenset(("uuid", "id"))
COUNTS = frozenset(("docs.count", "dc", "docsCount"))
DELETED = frozenset(("docs.deleted", "dd", "docsDeleted"))
BYTES = frozenset(("store.size", "ss", "storeSize", "pri.store.size", "dataset.size"))
PLAIN = frozenset(
    ("health", "h", "status", "s", "pri", "p", "shards.primary", "shardsPrimary", "rep", "r", "shards.replica", "shardsReplica")
)
CREATED = frozenset(("creation.date", "cd"))
CREATED_TEXT = frozenset(("creation.date.string", "cds"))
KNOWN = cat.INDEX_COLUMNS | IDS | COUNTS | DELETED | BYTES | PLAIN | CREATED | CREATED_TEXT
NAMES = ("i", "idx", "index")
TIMES = (("d", 86_400_000_000_000), ("h", 3_600_000_000_000), ("m", 60_000_000_000), ("s", 1_000_000_000), ("ms", 1_000_000),
         ("micros", 1_000), ("nanos", 1))  # fmt: skip
SIZED = re.compile(r"[\d.]+(b|kb|mb|gb|tb|pb)")
TIMED = re.compile(r"[\d.]+(nanos|micros|ms|s|m|h|d)")
Rows = list[dict[str, Any]]


def indices(request: Pooled) -> Steps[Reply]:
    plan = request.plan
    query = physical_query(plan, [], None)
    plan.drawing = {key: plan.query[key] for key in ("format", "v") if key in plan.query}
    if query.get("help", "false") != "false":
        told = yield request.send("GET", ["_cat", "indices"], {"help": "true"})
        return Reply(told.status, table_headers_of(request, told), told.body)
    targets = yield from some(request, request.parts.get("index", "_all"), request.options())
    header = query.pop("v", "false") != "false"
    unit = query.pop("bytes", None)
    expression = physical_expression(targets) or nothing(request)
    path = ["_cat", "indices", expression]
    asked = [column for column in query.pop("h", "").split(",") if column]
    sort = [part for part in query.pop("s", "").split(",") if part]
    told = yield request.send("GET", path, {**_columns_asked(asked, sort, request.product), **query, "expand_wildcards": "all"})
    if told.status >= 400:
        return node_reply(request, told)
    table: Rows = orjson.loads(told.body)
    columns = _columns(table, asked)
    units: dict[str, str] = {}
    if table and any(column not in KNOWN for column in table[0]):
        drawn = _columns_asked(asked, sort, request.product, plain=False)
        shown = yield request.send("GET", path, {**query, **drawn, "expand_wildcards": "all"})
        units = _units(parsed(shown, 200))
    pooled = [target for target in targets if not target.dedicated]
    counts = (yield from _counts(request, pooled)) if pooled else {}
    rows: Rows = []
    for row in table:
        for target in _targets_of(row, targets):
            rows.append(_own(dict(row), target) if target.dedicated else _restored(dict(row), target, counts[target.scope]))
    sort_rows(rows, sort or [_name_column(rows)])
    for row in rows:
        _write(row, unit, "time" in query, units)
    shortened = [{column: row[column] for column in columns if column in row} for row in rows]
    if header and not rows and not wants_json(plan):
        drawing = {**query, "v": "true"} | ({"h": ",".join(asked)} if asked else {})
        empty = yield request.send("GET", ["_cat", "indices", nothing(request)], drawing)
        return Reply(200, table_headers_of(request, told), empty.body if b"\n" not in empty.body.rstrip() else b"")
    return table_reply(request, shortened, columns_of(plan, shortened), told, header)


def table_reply(request: Pooled, rows: Rows, columns: list[str], told: Answer, header: bool) -> Reply:
    plan = request.plan
    if wants_json(plan):
        tree = rows if plan.filter_path is None else plan.filter_path.apply(rows)
        return Reply(200, table_headers_of(request, told), encode(plan, tree))
    text = cat.draw(rows, columns, header=header, known=cat.table(plan.route.row.name))
    return Reply(200, table_headers_of(request, told), text)


def table_headers_of(request: Pooled, answer: Answer) -> Headers:
    reader = PoolAnswer(request.plan, request.targets.values(), request.sent_as)
    return table_headers(request.plan, client_headers(request.plan, answer, reader))


def _sentinel(asked: list[str]) -> str:
    """A column with the name, behind which are those that the client did not ask for."""
    return next((name for name in NAMES if name not in asked), NAMES[0])


def _columns_asked(asked: list[str], sort: list[str], product: bool, *, plain: bool = True) -> dict[str, str]:
    """What to ask the node for. Without ``h`` its own choice of columns cannot be added to, and has all that is needed."""
    out = {"format": "json", "s": ",".join(sort)} if sort else {"format": "json"}
    if asked or sort:
        by = [part.partition(":")[0] for part in sort]
        out["h"] = ",".join([*(asked or cat.default_columns(product)), _sentinel(asked), *by])
    return {**out, "bytes": "b", "time": "nanos"} if plain else out


def _columns(table: Rows, asked: list[str]) -> list[str]:
    """The client's columns, of those that came back."""
    told = list(table[0]) if table else []
    mark = _sentinel(asked)
    return told[: told.index(mark)] if mark in told and mark not in asked else told


def _units(shown: Rows) -> dict[str, str]:
    """Which columns hold bytes, and which times."""
    out: dict[str, str] = {}
    for row in shown:
        for column, cell in row.items():
            if column in KNOWN or cell is None:
                continue
            if SIZED.fullmatch(cell):
                out[column] = "bytes"
            elif TIMED.fullmatch(cell):
                out[column] = "time"
    return out


def _targets_of(row: dict[str, Any], targets: list[Target]) -> list[Target]:
    """The indices that lie in the physical index of a row."""
    name = next((row[column] for column in cat.INDEX_COLUMNS if column in row), None)
    found = [target for target in targets if target.physical == name]
    if not found:
        raise Failed("a row of a cat table that was not asked for")
    return found


def _own(row: dict[str, Any], target: Target) -> dict[str, Any]:
    """The row of an index of its own."""
    return {column: target.name if column in cat.INDEX_COLUMNS else cell for column, cell in row.items()}


def _restored(row: dict[str, Any], target: Target, counts: tuple[int, int]) -> dict[str, Any]:
    """The physical index's row as that of one index in it, in plain numbers."""
    if target.entry.state == CLOSED:
        shown = PLAIN | IDS | CREATED | CREATED_TEXT | cat.INDEX_COLUMNS
        row.update(dict.fromkeys(row.keys() - shown))
        row.update(dict.fromkeys(row.keys() & {"status", "s"}, "close"))
    own, whole = counts
    created = target.index.created
    for column, cell in row.items():
        if column in cat.INDEX_COLUMNS:
            row[column] = target.name
        elif column in IDS:
            row[column] = target.uuid
        elif column in COUNTS and cell is not None:
            row[column] = str(own)
        elif column in CREATED:
            row[column] = str(created)
        elif column in CREATED_TEXT:
            row[column] = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(created / 1000)) + ".000Z"
        elif column not in PLAIN and cell is not None and cell.isdigit():
            row[column] = str(int(cell) * own // whole if whole else 0)
    return row


def _name_column(rows: Rows) -> str:
    return next((column for column in NAMES if rows and column in rows[0]), NAMES[0])


def sort_rows(rows: Rows, sort: list[str]) -> None:
    """In place. Numbers are compared as such; the first column goes before the others."""
    for part in reversed(sort):
        column, _, order = part.partition(":")
        rows.sort(key=lambda row: _key(row.get(column), column), reverse=order == "desc")


def _key(cell: Any, column: str) -> tuple[bool, int, str]:
    text = str(cell or "")
    number = text.isdigit() and column not in cat.LEFT_COLUMNS
    return (cell is not None, int(text), "") if number else (cell is not None, 0, text)


def _write(row: dict[str, Any], unit: str | None, times: bool, units: dict[str, str]) -> None:
    """Sizes and times as they are read, in place."""
    for column, cell in row.items():
        if cell is None or not str(cell).isdigit():
            continue
        if column in BYTES or units.get(column) == "bytes":
            row[column] = cat.size(int(cell), unit)
        elif units.get(column) == "time" and not times:
            row[column] = _time(int(cell))


def _time(nanos: int) -> str:
    for name, value in TIMES:
        if nanos >= value:
            return f"{nanos / value:.1f}".removesuffix(".0") + name
    return "0s"


def _counts(request: Pooled, targets: list[Target]) -> Steps[dict[str, tuple[int, int]]]:
    """Documents of each target, and of the physical index that it is in."""
    lines: list[bytes] = []
    for target in targets:
        for query in (filter_of([target]), {"match_all": {}}):
            lines.append(orjson.dumps({"index": target.physical}))
            lines.append(orjson.dumps({"size": 0, "track_total_hits": True, "query": query}))
    call = request.send("POST", ["_msearch"], {}, b"\n".join(lines) + b"\n", b"application/x-ndjson")
    found = parsed((yield call), 200)["responses"]
    if any("error" in one or one["_shards"]["failed"] for one in found):
        raise Failed("not all documents could be counted")
    totals = [one["hits"]["total"]["value"] for one in found]
    return {target.scope: (totals[2 * i], totals[2 * i + 1]) for i, target in enumerate(targets)}


# --- count and health ----------------------------------------------------------------------------------


def count(request: Pooled) -> Steps[Reply]:
    """``_cat/count`` has no body for a filter: a count, put into the row that the node makes for nothing."""
    plan = request.plan
    if plan.query.get("help", "false") != "false":
        told = yield request.send("GET", ["_cat", "count"], {"help": "true"})
        return Reply(told.status, table_headers_of(request, told), told.body)
    targets = yield from some(request, request.parts.get("index", "_all"), request.options())
    query = physical_query(plan, targets, None)
    query.pop("routing", None)
    header = query.pop("v", "false") != "false"
    try:
        answers = [(yield from _counted(request, targets))]
    except Divided:
        answers = []
        for target in targets:
            answers.append((yield from _counted(request, [target])))
    for answer in answers:
        if is_error(answer.status, answer.body):
            return node_reply(request, answer)
    counted = str(sum(orjson.loads(answer.body)["count"] for answer in answers))
    told = yield request.send("GET", ["_cat", "count", nothing(request)], {**query, "format": "json"})
    if told.status >= 400:
        return node_reply(request, told)
    rows: Rows = orjson.loads(told.body)
    for row in rows:
        for column in row.keys() & {"count", "dc", "docs.count", "docsCount"}:
            row[column] = counted
    plan.drawing = {key: plan.query[key] for key in ("format", "v") if key in plan.query}
    return table_reply(request, rows, columns_of(plan, rows), told, header)


def _counted(request: Pooled, targets: list[Target]) -> Steps[Answer]:
    plan = request.plan
    state = plan.cluster.engine.tables.endpoints["count"].request
    assert state is not None
    body = yield from search_body(request, targets, state, body_with_query(plan, b"") or b"{}")
    expression = physical_expression(targets) or nothing(request)
    routing = physical_query(plan, targets, None).get("routing")
    routed = {"routing": routing} if routing and targets else {}
    answer = yield request.send("POST", [expression, "_count"], routed, body, b"application/json")
    return answer


def health(request: Pooled) -> Steps[Reply]:
    """``_cat/health``: the node's row, with the figures of the tenant's indices."""
    plan = request.plan
    query = physical_query(plan, [], None)
    header = query.pop("v", "false") != "false"
    told = yield request.send("GET", ["_cat", "health"], {**query, "format": "json"})
    if told.status >= 400 or query.get("help", "false") != "false":
        return node_reply(request, told) if told.status >= 400 else Reply(200, table_headers_of(request, told), told.body)
    rows: Rows = orjson.loads(told.body)
    figures = yield from tenant_health(request)
    cat.fill_health(rows, cluster.health(figures, figures))
    plan.drawing = {key: plan.query[key] for key in ("format", "v") if key in plan.query}
    return table_reply(request, rows, columns_of(plan, rows), told, header)
