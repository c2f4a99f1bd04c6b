"""``_cluster/health`` for a tenant with indices in pools: that of the physical indices which hold them.

On OpenSearch the share of active shards is the whole cluster's, which a tenant's indices are; so when it matters they are asked
for in a second call.
"""

from __future__ import annotations

from typing import Any

import orjson

from esproxy.answer import encode, is_error
from esproxy.catalogue.store import Steps, parsed
from esproxy.exchange import Large, Reply
from esproxy.metadata import cluster
from esproxy.pools import wide
from esproxy.pools.pooled import Pooled
from esproxy.pools.reply import reply as node_reply
from esproxy.pools.targets import some
from esproxy.replies import json_headers
from esproxy.rewriting.query import physical_query
from esproxy.tenancy.expressions import Options

HEALTH = ["_cluster", "health", wide.INDEX]


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
    there: list[tuple[str, str]] = []
    for name in found.found:
        there.append((name, (yield from request.target(name, directory)).physical))
    there += [(name, request.sent_apart(name)) for name in found.missing]
    physical = [name for _, name in there]
    together = len(set(physical)) < len(physical)
    level = query.get("level", "cluster")
    if together and level == "cluster":
        query["level"] = "indices"
    wanted, plan.filter_path = plan.filter_path, None  # which is for the whole answer
    asked = yield from wide.ask(request, "GET", HEALTH, physical, query)
    reply: Reply | Large
    if together and not is_error(asked.status, asked.body):
        answer = apart(orjson.loads(asked.body), there, told=level != "cluster")
        reply = Reply(asked.status, json_headers(plan.product), b"")
    else:
        reply = node_reply(request, asked)
        assert isinstance(reply, Reply)  # no large answer was asked for
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


def apart(answer: dict[str, Any], there: list[tuple[str, str]], *, told: bool) -> dict[str, Any]:
    """Health by indices, of which some are in one physical index, as if each had its own. ``there``: names and where they are."""
    by_physical = answer.pop("indices", {})
    indices = {name: by_physical[physical] for name, physical in there if physical in by_physical}
    for key in answer.keys() & {key for index in indices.values() for key in index}:
        if isinstance(answer[key], int) and not isinstance(answer[key], bool):
            answer[key] = sum(index[key] for index in indices.values())
    return {**answer, "indices": indices} if told else answer


def tenant_health(request: Pooled) -> Steps[dict[str, Any]]:
    """The figures of all of the tenant's indices."""
    everything = yield from some(request, "_all", Options(expand=frozenset(("open", "closed", "hidden"))), stay=True)
    asked = yield from wide.ask(request, "GET", HEALTH, [target.physical for target in everything], {})
    figures: dict[str, Any] = parsed(asked, 200)
    return figures
