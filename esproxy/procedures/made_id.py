"""A document without an id gets one here, so that its write can be sent again when a connection breaks under it.

The write becomes a ``create`` under an id that nobody else can have. When it was sent a second time and the node says 409, the
first one had arrived: a get tells what it made, and the answer is made of that, as of a node's. In ``dedicated`` what a node does
not take with an id (a time series, say) is sent as the client sent it, which says what is wrong in the node's own words; so are
writes whose other parameters mean something else beside an id.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import quote_plus

import orjson

from esproxy.answer import Whole, client_headers
from esproxy.api.filter_path import FilterPath
from esproxy.api.target import build
from esproxy.catalogue.store import Steps
from esproxy.exchange import Answer, Call, Procedure, Reply, Send
from esproxy.heads import AnswerHead
from esproxy.plan import Plan

ELSE = frozenset(("version", "version_type", "if_seq_no", "if_primary_term", "pipeline"))


def new_id() -> str:
    """As nodes make them: 20 characters of URL-safe base64."""
    return base64.urlsafe_b64encode(os.urandom(15)).decode()


def wants_id(plan: Plan) -> bool:
    return (
        plan.route.row.name == "index"
        and "id" not in plan.parts
        and plan.query.get("op_type", "create") == "create"
        and not plan.query.keys() & ELSE
    )


def with_made_id(plan: Plan, send: Send, limit: int) -> Procedure:
    """``send``: as the client sent it, rewritten for the layout whose documents keep their ids."""
    path, _, query = send.target.partition(b"?")
    id = new_id()
    if "op_type" not in plan.query:
        query += b"&op_type=create" if query else b"op_type=create"
    made = replace(send, method="PUT", target=path + b"/" + id.encode() + b"?" + query, held=True)
    index = next(iter(plan.spelled))
    answer = yield from created(Call(made, limit), index, id, plan.query, plan.query.get("filter_path"))
    if answer.status == 400:
        answer = yield Call(send, limit)
    head = AnswerHead(answer.status, answer.headers)
    return Reply(answer.status, client_headers(plan, head), Whole(plan, head, limit).feed(answer.body, True))


def created(write: Call, index: str, id: str, query: Mapping[str, str], filter_path: str | None = None) -> Steps[Answer]:
    """The answer to a ``create`` under a made id. ``query``: the write's; ``filter_path``: when it is the node's to apply."""
    answer = yield write
    if answer.status != 409 or answer.attempt == 1:
        return answer
    told = orjson.loads(answer.body).get("error", {}) if answer.body else {}
    index = told.get("index", index) if isinstance(told, dict) else index  # where an alias or a data stream has led
    asked = {"_source": "false"}
    refreshed = query.get("refresh", "false") != "false"
    if refreshed:
        asked["refresh"] = "true"
    if "routing" in query:
        asked["routing"] = query["routing"]
    send = write.send
    headers = [pair for pair in send.headers if pair[0] != b"content-type"]
    found = yield Call(Send(send.cluster, "GET", build([index, "_doc", id], asked), headers, held=True), write.limit)
    document = orjson.loads(found.body) if found.status == 200 else {}
    if not document.get("found"):
        return answer
    tree = {
        "_index": document["_index"],
        "_id": document["_id"],
        "_version": document["_version"],
        "result": "created",
        **({"forced_refresh": True} if query.get("refresh") in ("", "true") else {}),
        "_shards": {"total": 1, "successful": 1, "failed": 0},
        "_seq_no": document["_seq_no"],
        "_primary_term": document["_primary_term"],
    }
    if filter_path is not None:
        tree = FilterPath(filter_path).apply(tree)
    location = f"/{quote_plus(index)}/_doc/{quote_plus(id)}".encode()
    return Answer(201, [*found.headers, (b"location", location)], orjson.dumps(tree))
