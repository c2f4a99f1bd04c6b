"""All points in time, which are the tenant's own (``esproxy.metadata.pits`` says how they are known): listed, and deleted by
their ids, since a node that is asked to delete all deletes everybody's."""

from __future__ import annotations

from typing import Any

import orjson

from esproxy.answer import Walk, client_headers, encode, is_error, restore_error
from esproxy.api.target import build
from esproxy.errors import Failed
from esproxy.exchange import Answer, Call, Procedure, Reply, Send
from esproxy.heads import AnswerHead
from esproxy.metadata.pits import is_own
from esproxy.plan import Plan
from esproxy.replies import json_headers
from esproxy.request import physical_headers, physical_target

PATH = ["_search", "point_in_time"]


def pits(plan: Plan) -> Procedure:
    """Ends with the client's answer."""
    physical_target(plan)  # for its strictness: parameters that are none
    prefix = plan.owner().names.prefix
    answer = yield _call(plan, "GET", [*PATH, "_all"])
    if answer.status != 200:
        return _refused(plan, answer)
    own = [one for one in orjson.loads(answer.body)["pits"] if is_own(one["pit_id"], prefix)]
    if plan.head.method == "DELETE" and own:
        answer = yield _call(plan, "DELETE", PATH, orjson.dumps({"pit_id": [one["pit_id"] for one in own]}))
        if answer.status != 200:
            return _refused(plan, answer)
        own = orjson.loads(answer.body)["pits"]
    return _told(plan, {"pits": own})


def _call(plan: Plan, method: str, path: list[str], body: bytes = b"") -> Call:
    headers = physical_headers(plan, b"application/json" if body else None)
    return Call(Send(plan.cluster.name, method, build(path, {}), headers, body, held=method == "GET"))


def _told(plan: Plan, tree: dict[str, Any]) -> Reply:
    state = plan.answer_state()
    assert state is not None
    tree = orjson.loads(Walk(plan, state).feed(orjson.dumps(tree), True))
    if plan.filter_path is not None:
        tree = plan.filter_path.apply(tree)
    return Reply(200, json_headers(plan.product, plan.head.get(b"accept")), encode(plan, tree))


def _refused(plan: Plan, answer: Answer) -> Reply:
    if not is_error(answer.status, answer.body):
        raise Failed("the node's answer could not be understood", status=502)
    return Reply(answer.status, client_headers(plan, AnswerHead(answer.status, answer.headers)), restore_error(plan, answer.body))
