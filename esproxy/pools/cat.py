"""``_cat/count`` and ``_cat/health`` for indices in pools, and how tables are answered there."""

from __future__ import annotations

from typing import Any

import orjson

from esproxy.answer import encode, is_error
from esproxy.catalogue.store import Steps
from esproxy.exchange import Answer, Large, Reply
from esproxy.heads import Headers
from esproxy.metadata import cat, cluster
from esproxy.pools import wide
from esproxy.pools.bodies import search_body
from esproxy.pools.health import tenant_health
from esproxy.pools.pooled import Pooled
from esproxy.pools.reply import JSON, nothing
from esproxy.pools.reply import reply as node_reply
from esproxy.pools.targets import some
from esproxy.procedures.cat import columns_of, table_headers, wants_json
from esproxy.rewriting.query import body_with_query, physical_query
from esproxy.rewriting.restore import PoolAnswer, client_headers
from esproxy.tenancy.fieldnames import Divided
from esproxy.tenancy.target import Target

Rows = list[dict[str, Any]]


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


def count(request: Pooled) -> Steps[Reply | Large]:
    """``_cat/count`` tells nothing of its indices: a count, put into the row that the node makes for nothing."""
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
    body = yield from search_body(request, targets, state, body_with_query(plan, request.body) or b"{}")
    routing = physical_query(plan, targets, None).get("routing")
    routed = {"routing": routing} if routing and targets else {}
    physical = [target.physical for target in targets]
    return (yield from wide.ask(request, "POST", [wide.INDEX, "_count"], physical, routed, body, request.media or JSON))


def health(request: Pooled) -> Steps[Reply | Large]:
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
