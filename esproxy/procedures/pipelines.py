"""Ingest pipelines: each is two on the node (``esproxy.metadata.ingest``), written one after the other.

The inside one goes first, so that what the node has against it is told before anything runs it; deleted is the outside one first,
which the node may refuse while an index runs it. Whoever stops in between leaves an inside pipeline that nothing runs: it is
listed, put again and deleted like any other.
"""

from __future__ import annotations

from typing import Any

import orjson

from esproxy import exact
from esproxy.answer import client_headers, encode, is_error, restore_error
from esproxy.api.target import build
from esproxy.errors import Failed, Refusal
from esproxy.exchange import Answer, Call, Procedure, Reply, Send
from esproxy.heads import AnswerHead
from esproxy.metadata.ingest import outside, restored
from esproxy.plan import Plan
from esproxy.replies import json_headers
from esproxy.request import physical_headers, physical_target

PATH = ["_ingest", "pipeline"]


def pipeline(plan: Plan, body: bytes, media: bytes | None) -> Procedure:
    """``body``: the client's, with its names rewritten. Ends with the client's answer."""
    physical_target(plan)  # for its strictness: parameters that are none
    query = {key: value for key, value in plan.query.items() if key in SENT}
    match plan.route.row.name:
        case "ingest.put_pipeline":
            return (yield from _put(plan, plan.parts["id"], query, body, media))
        case "ingest.delete_pipeline":
            return (yield from _delete(plan, plan.parts["id"], query))
        case "ingest.get_pipeline":
            return (yield from _get(plan, plan.parts.get("id"), query))
    return (yield from _simulate(plan, plan.parts.get("id"), body, media))


SENT = frozenset(("master_timeout", "cluster_manager_timeout", "timeout", "if_version", "summary"))


def _call(plan: Plan, method: str, path: list[str], query: dict[str, str], body: bytes = b"", media: bytes | None = None) -> Call:
    headers = physical_headers(plan, media if body else None)
    return Call(Send(plan.cluster.name, method, build(path, query), headers, body, True, method == "GET"))


def _inside(plan: Plan) -> str:
    return plan.owner().names.inside


def _reply(plan: Plan, answer: Answer) -> Reply:
    """An answer that names no pipeline but in words."""
    headers = client_headers(plan, AnswerHead(answer.status, answer.headers))
    if is_error(answer.status, answer.body):
        return Reply(answer.status, headers, restore_error(plan, answer.body))
    if answer.status >= 400:
        raise Failed("the node's answer could not be understood", status=502)
    return _told(plan, answer.status, exact.loads(answer.body))


def _told(plan: Plan, status: int, tree: Any) -> Reply:
    if plan.filter_path is not None:
        tree = plan.filter_path.apply(tree)
    return Reply(status, json_headers(plan.product, plan.head.get(b"accept")), encode(plan, tree))


def _put(plan: Plan, name: str, query: dict[str, str], body: bytes, media: bytes | None) -> Procedure:
    if "," in name or "*" in name:
        raise Refusal(f"the name of a pipeline is one name here, not [{name}]")
    stored = yield _call(plan, "PUT", [*PATH, _inside(plan) + name], query, body, media)
    if stored.status != 200:
        return _reply(plan, stored)
    around = orjson.dumps(outside(_inside(plan), plan.owner().names.prefix, name))
    query.pop("if_version", None)  # of the client's own
    return _reply(plan, (yield _call(plan, "PUT", [*PATH, plan.owner().names.prefix + name], query, around, media)))


def _delete(plan: Plan, name: str, query: dict[str, str]) -> Procedure:
    first = yield _call(plan, "DELETE", [*PATH, plan.owner().names.prefix + name], query)
    if first.status not in (200, 404):
        return _reply(plan, first)
    second = yield _call(plan, "DELETE", [*PATH, _inside(plan) + name], query)
    return _reply(plan, first if second.status == 404 or first.status == 200 == second.status else second)


def _get(plan: Plan, name: str | None, query: dict[str, str]) -> Procedure:
    inner = _inside(plan)
    wanted = ",".join(inner + one for one in (name or "*").split(","))
    answer = yield _call(plan, "GET", [*PATH, wanted], query)
    if answer.status == 404 and not is_error(answer.status, answer.body):
        return _told(plan, 200 if plan.product and name in (None, "*") else 404, {})  # Elasticsearch has some of its own
    if answer.status != 200:
        return _reply(plan, answer)
    tree = exact.loads(answer.body)
    found = {key.removeprefix(inner): one for key, one in tree.items() if key.startswith(inner)}
    prefix = plan.owner().names.prefix
    return _told(plan, 200, {key: restored(inner, prefix, one) for key, one in found.items()})


def _simulate(plan: Plan, name: str | None, body: bytes, media: bytes | None) -> Procedure:
    """Documents as an inside pipeline sees them: in logical indices."""
    path = [*PATH, "_simulate"] if name is None else [*PATH, _inside(plan) + name, "_simulate"]
    query = {"verbose": plan.query["verbose"]} if "verbose" in plan.query else {}
    answer = yield _call(plan, "POST", path, query, body, media)
    if answer.status != 200:
        return _reply(plan, answer)
    return _told(plan, 200, _worded(plan, exact.loads(answer.body)))


def _worded(plan: Plan, tree: Any, *, errors: bool = True) -> Any:
    """What became of documents, without the inside names that words quote. ``errors``: what is called so is one, and no member
    of a document's."""
    inner = f"[{_inside(plan)}"
    if isinstance(tree, dict):
        out = {key: _word(plan, key, value, errors=errors) for key, value in tree.items()}
        told = out.get("_ingest")
        if isinstance(told, dict) and isinstance(told.get("pipeline"), str):
            told["pipeline"] = told["pipeline"].removeprefix(inner[1:])
        return out
    if isinstance(tree, list):
        return [_worded(plan, one, errors=errors) for one in tree]
    return tree.replace(inner, "[") if isinstance(tree, str) else tree


def _word(plan: Plan, key: str, value: Any, *, errors: bool) -> Any:
    if key == "_source":
        return value
    if key == "error" and errors and isinstance(value, dict):
        return exact.loads(restore_error(plan, exact.dumps({key: value})))[key]
    return _worded(plan, value, errors=errors and key != "_ingest")
