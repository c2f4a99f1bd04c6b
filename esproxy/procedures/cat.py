"""Cat tables for a tenant: the node's rows as JSON, restored, and drawn as the client wants them.

``_cat/indices`` is one call more when there is no row and the client wants the header: then the node's own drawing of the empty
table is it.
``_cat/health`` has no form for some indices only; its row is taken as this version draws it, and what it says of the whole
cluster is replaced by what ``_cluster/health`` says of the tenant's indices.
"""

from __future__ import annotations

from typing import Any

import orjson

from esproxy import asyaml
from esproxy.answer import AnswerResolver, client_headers, encode, restore_error
from esproxy.errors import Failed, Violation
from esproxy.exchange import Answer, Call, Calls, Procedure, Reply, Send
from esproxy.heads import AnswerHead, Headers
from esproxy.metadata import cat, cluster
from esproxy.plan import Plan
from esproxy.replies import json_headers

JSON = [(b"accept", b"application/json")]
TEXT = [(b"accept", b"text/plain")]
PLAIN_TEXT = b"text/plain; charset=UTF-8"


def cat_table(plan: Plan, target: bytes) -> Procedure:
    """``target``: the node's table as JSON. Ends with the client's answer. Raises Violation for a foreign row."""
    wanted = [Call(Send(plan.cluster.name, "GET", target, JSON, held=True))]
    if plan.route.row.name == "cat.health":
        expression = plan.owner().names.everything(plan.spelled)
        wanted.append(Call(Send(plan.cluster.name, "GET", b"/_cluster/health/" + expression.encode(), JSON, held=True)))
    answers = yield Calls(wanted)
    for answer in answers:
        if answer.status >= 400:
            return _error(plan, answer)
    headers = table_headers(plan, client_headers(plan, AnswerHead(answers[0].status, answers[0].headers)))
    known = cat.table(plan.route.row.name)
    rows = cat.restore_rows(orjson.loads(answers[0].body), plan.owner().names.prefix, known, AnswerResolver(plan).machine)
    if rows is None:
        raise Violation("a row of a cat table")
    if len(answers) == 2:
        figures = orjson.loads(answers[1].body)
        cat.fill_health(rows, cluster.health(figures, figures))
    if wants_json(plan):
        tree = rows if plan.filter_path is None else plan.filter_path.apply(rows)
        return Reply(200, headers, encode(plan, tree))
    header = plan.drawing.get("v", "false") != "false"
    if header and not rows:
        empty = yield Call(Send(plan.cluster.name, "GET", target.replace(b"format=json", b"v=true"), TEXT, held=True))
        if b"\n" in empty.body.rstrip():
            raise Failed("the table changed while it was drawn")  # a row came in between; the client asks again
        return Reply(200, headers, empty.body)
    return Reply(200, headers, cat.draw(rows, columns_of(plan, rows), header=header, known=known))


def columns_of(plan: Plan, rows: cat.Rows) -> list[str]:
    """In order. What is told of primaries beside a column comes again where it was asked for itself; JSON tells it once."""
    told = list(rows[0]) if rows else []
    asked = plan.query.get("h", "").split(",")
    if "*" in plan.query.get("h", "*"):
        return told
    beside = plan.query.get("pri", "false") != "false"
    columns: list[str] = []
    for name in dict.fromkeys(asked):
        if name in told:
            columns += [name, f"pri.{name}"] if beside and f"pri.{name}" in told else [name]
    return columns + [name for name in told if name not in columns]


def wants_json(plan: Plan) -> bool:
    """``format`` goes before ``Accept``, of which OpenSearch knows the plain media type only. YAML is made of JSON."""
    if asyaml.wanted(plan.head):
        return True
    if "format" in plan.drawing:
        return plan.drawing["format"] == "json"
    accept = (plan.head.get(b"accept") or b"").lower()
    if not plan.product:
        return accept.startswith(b"application/json")
    return b"json" in accept and not accept.startswith(b"text/plain")


def table_headers(plan: Plan, told: Headers) -> Headers:
    """``told``, of the node's table, with the media type of the one that is drawn."""
    media = PLAIN_TEXT
    if wants_json(plan):
        media = json_headers(plan.product, plan.head.get(b"accept"))[-1][1]
    return [(name, media if name == b"content-type" else value) for name, value in told]


def _error(plan: Plan, answer: Answer) -> Reply:
    try:
        tree: Any = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        tree = None
    if not isinstance(tree, dict):
        raise Failed("the node's answer could not be understood", status=502)
    return Reply(answer.status, json_headers(plan.product, plan.head.get(b"accept")), restore_error(plan, answer.body))
