"""What requests about indices in pools share that are answered by the proxy: bodies that declare something, parameters that are
ours to use, and answers that a node had no part in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import orjson

from esproxy import bodies, core
from esproxy.answer import encode
from esproxy.api.kinds import Kind
from esproxy.bodyerrors import refusal
from esproxy.catalogue.store import Steps
from esproxy.errors import Refusal
from esproxy.exchange import Answer, Reply
from esproxy.metadata.nodes import node_id
from esproxy.metadata.settings import rewrite_settings
from esproxy.pools.pooled import Pooled
from esproxy.refused import beside
from esproxy.refused import warnings as written
from esproxy.replies import json_headers
from esproxy.rewriting.query import physical_query
from esproxy.rewriting.restore import PoolAnswer, client_headers, finish
from esproxy.tenancy.target import UNFILTERED

TIMES = ("timeout", "master_timeout", "cluster_manager_timeout")
TIME = re.compile(r"-1|0|\d+(nanos|micros|ms|s|m|h|d)")


def declaration(request: Pooled, *, required: bool = False) -> dict[str, Any]:
    """The body, which has passed its rule table, with the client's own names. Raises Refusal."""
    if not request.body:
        if required:
            raise Refusal("request body is required", type="parse_exception")
        return {}
    plan = request.plan
    assert plan.endpoint.request is not None
    declared = Declared(node_id(plan.cluster, request.tenant))
    run = core.Pass(plan.cluster.engine.grammar, plan.endpoint.request, UNFILTERED, declared, max_depth=request.pools.max_depth)
    out = run.feed(request.body, True)
    if run.status is not core.Status.OK:
        raise refusal(plan, run, request.body)
    tree = orjson.loads(out)
    check = bodies.CHECKS.get(plan.route.row.name)
    if check is not None:
        check(tree)
    return tree if isinstance(tree, dict) else {}


class Declared:
    """Answers the core's stops in declarations: names of fields, aliases and their filters are kept as the client wrote them, and
    settings, once each is one that it may set. ``node``: the tenant's one."""

    def __init__(self, node: str) -> None:
        self.node = node

    def __call__(self, kind: Kind, raw: bytes) -> bytes:
        if kind is Kind.SETTINGS:
            value = orjson.loads(raw)
            if isinstance(value, dict):
                rewrite_settings(value, str, self.node)
        return raw


def known_parameters(request: Pooled) -> None:
    """The parameters are ours to use; one that the node would refuse is refused."""
    query = physical_query(request.plan, [], None)
    for name in TIMES:
        value = query.get(name)
        if value is not None and not TIME.fullmatch(value):
            reason = f"failed to parse setting [{name}] with value [{value}] as a time value: unit is missing or unrecognized"
            raise Refusal(reason)


def active_shards(request: Pooled, physical: str) -> Steps[bool]:
    """Have as many copies of each shard come up as the client waits for? The node is asked where that is not the one that a
    created index has."""
    query = {name: value for name, value in request.plan.query.items() if name in ("wait_for_active_shards", "timeout")}
    wanted = query.get("wait_for_active_shards")
    if wanted is None or wanted in ("0", "1"):
        return True
    query.setdefault("timeout", "30s")
    answer = yield request.send("GET", ["_cluster", "health", physical], query)
    return answer.status == 200 and not orjson.loads(answer.body)["timed_out"]


def check_active_shards(request: Pooled) -> None:
    wanted = request.plan.query.get("wait_for_active_shards")
    if wanted is None or wanted == "all" or re.fullmatch(r"-?\d+", wanted):
        return
    cause = Refusal(f'For input string: "{wanted}"', type="number_format_exception")
    raise Refusal(f"cannot parse ActiveShardCount[{wanted}]", caused_by=cause.cause())


THROTTLED = (
    "[ignore_throttled] parameter is deprecated because frozen indices have been deprecated. Consider cold or frozen tiers in"
    " place of frozen indices."
)


def answer(request: Pooled, tree: dict[str, Any], status: int = 200, warnings: Sequence[str] = ()) -> Reply:
    """An answer of the proxy's own, with the warnings that Elasticsearch would give, also of the one parameter of the past."""
    plan = request.plan
    headers = json_headers(request.product, plan.head.get(b"accept"))
    if request.product:
        told = [*warnings, THROTTLED] if "ignore_throttled" in plan.query else warnings
        headers += beside(plan, status, written(plan, told))
    opaque = plan.head.get(b"x-opaque-id")
    if opaque is not None:
        headers.append((b"x-opaque-id", opaque))
    return finish(plan, status, headers, encode(plan, tree))


def node_answer(request: Pooled, told: Answer, tree: dict[str, Any]) -> Reply:
    """With the headers of the node's answer that it was made of."""
    plan = request.plan
    reader = PoolAnswer(plan, request.targets.values(), request.sent_as)
    return finish(plan, told.status, client_headers(plan, told, reader), encode(plan, tree))


def acknowledged(request: Pooled) -> Reply:
    return answer(request, {"acknowledged": True})
