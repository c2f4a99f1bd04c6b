"""``_cluster/health`` for a tenant with indices in pools: that of the physical indices which hold them.

On OpenSearch the share of active shards is the whole cluster's, which a tenant's indices are; so when it matters they are asked
for in a second call.
"""

from __future__ import annotations

from typing import Any

import orjson

from esproxy.answer import encode, is_error
from esproxy.catalogue.store import Steps, parsed
from esproxy.exchange import Reply
from esproxy.metadata import cluster
from esproxy.procedures.pool_search import nothing
from esproxy.procedures.pool_search import reply as node_reply
from esproxy.procedures.pooled import Pooled
from esproxy.tenancy.expressions import Options
from esproxy.tenancy.pool_query import physical_query
from esproxy.tenancy.target import physical_expression


def health(request: Pooled) -> Steps[Reply]:
    """A name that is not there is waited for, as on a node."""
    plan = request.plan
    query = physical_query(plan, [], None)
    attributes = None
    if not plan.product and "index" not in request.parts:
        attributes = cluster.awareness(query)
    options = request.options()
    options.ignore_unavailable = True
    found, directory = yield from request.resolved(request.parts.get("index", "_all"), options)
    physical: list[str] = []
    for name in found.found:
        physical.append((yield from request.target(name, directory)).physical)
    physical += [request.sent_apart(name) for name in found.missing]
    sent = ",".join(dict.fromkeys(physical)) or nothing(request)
    wanted, plan.filter_path = plan.filter_path, None  # which is for the whole answer
    asked = yield request.send("GET", ["_cluster", "health", sent], query)
    reply = node_reply(request, asked)
    if is_error(asked.status, asked.body):
        return reply
    answer = orjson.loads(reply.body)
    whole = answer
    if answer.get("status") != "green" and not plan.product and answer.get("active_shards"):
        whole = yield from tenant_health(request)
    tree = cluster.health(answer, whole)
    if attributes is not None:
        tree["awareness_attributes"] = attributes
    tree = tree if wanted is None else wanted.apply(tree)
    return Reply(reply.status, reply.headers, encode(plan, tree))


def tenant_health(request: Pooled) -> Steps[dict[str, Any]]:
    """The figures of all of the tenant's indices."""
    everything = yield from request.some("_all", Options(expand=frozenset(("open", "closed", "hidden"))))
    sent = physical_expression(everything) or nothing(request)
    figures: dict[str, Any] = parsed((yield request.send("GET", ["_cluster", "health", sent], {})), 200)
    return figures
