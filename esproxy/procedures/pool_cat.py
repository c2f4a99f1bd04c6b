"""``_cat/indices``, ``_cat/count`` and ``_cluster/health`` for indices in ``shared``.

Counts are the index's own: one search each, in one call. What a node measures for the whole physical index (sizes, deleted
documents) is given in the index's share of the pool's documents, so that it says nothing of anybody else's.
"""

from __future__ import annotations

import time
from typing import Any

import orjson

from esproxy.answer import encode, is_error
from esproxy.catalogue.store import Steps, parsed
from esproxy.errors import Failed, Refusal
from esproxy.exchange import Answer, Headers, Reply
from esproxy.metadata import cat, cluster
from esproxy.procedures.cat import table_headers, wants_json
from esproxy.procedures.pool_search import nothing, search_body
from esproxy.procedures.pool_search import reply as node_reply
from esproxy.procedures.pool_settings import uuid_of
from esproxy.procedures.pooled import Pooled
from esproxy.tenancy.expressions import Options
from esproxy.tenancy.pool_query import body_with_query, physical_query
from esproxy.tenancy.pool_restore import PoolAnswer, client_headers
from esproxy.tenancy.target import Target, filter_of, physical_expression, scopes

JSON = [(b"accept", b"application/json")]
IDS = frozenset(("uuid", "id"))
COUNTS = frozenset(("docs.count", "dc", "docsCount"))
DELETED = frozenset(("docs.deleted", "dd", "docsDeleted"))
BYTES = frozenset(("store.size", "ss", "storeSize", "pri.store.size", "dataset.size"))
PLAIN = frozenset(
    ("health", "h", "status", "s", "pri", "p", "shards.primary", "shardsPrimary", "rep", "r", "shards.replica", "shardsReplica")
)
DATES = frozenset(("creation.date", "cd", "creation.date.string", "cds"))
KNOWN = cat.INDEX_COLUMNS | IDS | COUNTS | DELETED | BYTES | PLAIN | DATES
UNITS = (("tb", 1 << 40), ("gb", 1 << 30), ("mb", 1 << 20), ("kb", 1 << 10))


def indices(request: Pooled) -> Steps[Reply]:
    plan = request.plan
    options = Options.of({"expand_wildcards": "all", **plan.query})
    targets = yield from _some(request, options)
    query = physical_query(plan, [], None)
    header = query.pop("v", "false") != "false"
    columns = [column for column in query.get("h", "").split(",") if column]
    sort = query.pop("s", None)
    if sort is not None and {part.partition(":")[0] for part in sort.split(",")} - cat.INDEX_COLUMNS:
        raise Refusal("a cat table of indices in pools can only be sorted by [index] yet")
    wanted_bytes = query.pop("bytes", None)
    expression = physical_expression(targets) or nothing(request)
    if columns and set(columns) - KNOWN:
        raise Refusal(f"the columns {sorted(set(columns) - KNOWN)} are not available for indices in pools")
    path = ["_cat", "indices", expression]
    table = yield request.send("GET", path, {**query, "format": "json", "bytes": "b", "expand_wildcards": "all"})
    if table.status >= 400:
        return node_reply(request, table)
    counts = (yield from _counts(request, targets)) if targets else {}
    rows = []
    for row in orjson.loads(table.body):
        for target in _targets_of(row, targets):
            rows.append(_restored(dict(row), target, counts[target.scope], wanted_bytes))
    by_name = next((column for column in (columns or ["index"]) if column in cat.INDEX_COLUMNS), None)
    if by_name is not None:
        rows.sort(key=lambda row: str(row[by_name]), reverse=sort is not None and sort.endswith(":desc"))
    plan.drawing = {key: plan.query[key] for key in ("format", "v") if key in plan.query}
    headers = _headers(request, table)
    if wants_json(plan):
        return Reply(200, headers, encode(plan, rows))
    if header and not rows:
        empty = yield request.send("GET", ["_cat", "indices", nothing(request)], {**query, "v": "true"})
        return Reply(200, headers, empty.body if b"\n" not in empty.body.rstrip() else b"")
    return Reply(200, headers, cat.draw(rows, list(rows[0]) if rows else [], header=header))


def _headers(request: Pooled, answer: Answer) -> Headers:
    reader = PoolAnswer(request.plan, request.targets, request.sent_as)
    return table_headers(request.plan, client_headers(request.plan, answer, reader))


def _some(request: Pooled, options: Options) -> Steps[list[Target]]:
    return (yield from request.some(request.parts.get("index", "_all"), options))


def _targets_of(row: dict[str, Any], targets: list[Target]) -> list[Target]:
    """The indices that lie in the physical index of a row."""
    name = next((row[column] for column in cat.INDEX_COLUMNS if column in row), None)
    if name is None:
        if len(targets) != 1:
            raise Refusal("a cat table of indices in pools needs the column [index]")
        return targets
    found = [target for target in targets if target.physical == name]
    if not found:
        raise Failed("a row of a cat table that was not asked for")
    return found


def _restored(row: dict[str, Any], target: Target, counts: tuple[int, int], unit: str | None) -> dict[str, Any]:
    """The physical index's row as that of one index in it. The node names columns as they were asked for."""
    own, whole = counts
    for column in row:
        if column in cat.INDEX_COLUMNS:
            row[column] = target.name
        elif column in IDS:
            row[column] = uuid_of(target)
        elif column in COUNTS:
            row[column] = str(own)
        elif column in DELETED:
            row[column] = "0"
        elif column in BYTES:
            share = int(row[column] or 0) * own // whole if whole else 0
            row[column] = _size(share, unit)
    return row


def _size(size: int, unit: str | None) -> str:
    if unit is not None:
        divisor = {"b": 1, **{name[0]: value for name, value in UNITS}, **dict(UNITS)}.get(unit)
        if divisor is None:
            raise Refusal(f"unknown unit [{unit}]")
        return str(size // divisor)
    for name, value in UNITS:
        if size >= value:
            text = f"{size / value:.1f}".removesuffix(".0")
            return text + name
    return f"{size}b"


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


def count(request: Pooled) -> Steps[Reply]:
    """``_cat/count`` has no body for a filter: a count, drawn as the node draws it."""
    plan = request.plan
    targets = yield from _some(request, Options())
    query = physical_query(plan, targets, None)
    if query.get("h") or query.get("s"):
        raise Refusal("columns of this table cannot be chosen for indices in pools")
    state = plan.cluster.engine.tables.endpoints["count"].request
    assert state is not None
    body = yield from search_body(request, targets, state, body_with_query(plan, b"") or b"{}")
    expression = physical_expression(targets) or nothing(request)
    routing = {"routing": scopes(targets)} if targets else {}
    answer = yield request.send("POST", [expression, "_count"], routing, body, b"application/json")
    if is_error(answer.status, answer.body):
        return node_reply(request, answer)
    now = time.time()
    row = {
        "epoch": str(int(now)),
        "timestamp": time.strftime("%H:%M:%S", time.gmtime(now)),
        "count": str(orjson.loads(answer.body)["count"]),
    }
    plan.drawing = {key: plan.query[key] for key in ("format", "v") if key in plan.query}
    if wants_json(plan):
        return Reply(200, _headers(request, answer), encode(plan, [row]))
    return Reply(200, _headers(request, answer), cat.draw([row], list(row), header=query.get("v", "false") != "false"))


def _health(answer: dict[str, Any]) -> dict[str, Any]:
    return cluster.health(answer, answer)


def health(request: Pooled) -> Steps[Reply]:
    """Of the physical indices of the tenant. A name that is not there is waited for, as on a node."""
    plan = request.plan
    expression = request.parts.get("index", "_all")
    options = Options.of({"expand_wildcards": "all", **plan.query, "ignore_unavailable": "true"})
    found, directory = yield from request.resolved(expression, options)
    physical = []
    for name in found.found:
        physical.append((yield from request.target(name, directory)).physical)
    physical += [request.sent_apart(name) for name in found.missing]
    query = physical_query(plan, [], None)
    sent = ",".join(dict.fromkeys(physical)) or nothing(request)
    answer = yield request.send("GET", ["_cluster", "health", sent], query)
    reply = node_reply(request, answer)
    if is_error(answer.status, answer.body):
        return reply
    return Reply(reply.status, reply.headers, encode(plan, _health(orjson.loads(reply.body))))
