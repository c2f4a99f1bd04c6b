"""``_cluster/health`` for a tenant.

On OpenSearch the share of active shards is the whole cluster's, whatever indices are asked for, unless they are green; a
tenant's whole cluster is its indices. So when it matters, they are asked for in a second call. Elasticsearch counts those asked
for.
"""

from __future__ import annotations

from typing import Any

import orjson

from esproxy.answer import Walk, client_headers, encode, is_error, restore_error
from esproxy.errors import Failed
from esproxy.exchange import Call, Procedure, Reply, Send
from esproxy.heads import AnswerHead
from esproxy.metadata import cluster
from esproxy.plan import Plan
from esproxy.request import physical_headers, physical_target

JSON = [(b"accept", b"application/json")]


def _shards(answer: dict[str, Any]) -> int:
    """How many shards an answer counts; none when an index is missing, and then all of them are said to be active."""
    return sum(answer.get(key, 0) for key in ("active_shards", "initializing_shards", "unassigned_shards"))


def cluster_health(plan: Plan) -> Procedure:
    """Ends with the client's answer; 408 is one that came too late."""
    attributes = None
    if not plan.product and "index" not in plan.parts and "index" not in plan.query:
        attributes = cluster.awareness(plan.query)  # which nodes tell of the whole cluster only
    target = physical_target(plan)
    asked = yield Call(Send(plan.cluster.name, "GET", target, physical_headers(plan, None), held=True))
    headers = client_headers(plan, AnswerHead(asked.status, asked.headers))
    if is_error(asked.status, asked.body):
        return Reply(asked.status, headers, restore_error(plan, asked.body))
    if asked.status not in (200, 408):
        raise Failed("the node's answer could not be understood", status=502)
    assert plan.endpoint.response is not None
    answer = orjson.loads(Walk(plan, plan.endpoint.response).feed(asked.body, True))
    whole = answer
    if answer.get("status") != "green" and not plan.product and _shards(answer):
        every = b"/_cluster/health/" + plan.owner().names.everything({}).encode()
        told = yield Call(Send(plan.cluster.name, "GET", every, JSON, held=True))
        if told.status != 200:
            raise Failed("the node did not tell the health of all indices", status=502)
        whole = orjson.loads(told.body)
    tree = cluster.health(answer, whole)
    if attributes is not None:
        tree["awareness_attributes"] = attributes
    if plan.filter_path is not None:
        tree = plan.filter_path.apply(tree)
    return Reply(asked.status, headers, encode(plan, tree))
