"""Answers about the one node of a tenant's cluster, and about the cluster as a whole.

A real node is asked for what is the engine's (which aggregations it has, which figures it keeps) and for the tenant's own
indices, under the tenant's prefix; the rest is made (``esproxy.metadata.virtual``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import Any

import orjson

from esproxy.answer import AnswerResolver, Walk, encode
from esproxy.api.target import build
from esproxy.catalogue.store import Steps
from esproxy.errors import Failed, Refusal, unknown_endpoint, wrong_method
from esproxy.exchange import Call, Reply, Send
from esproxy.metadata import virtual as made
from esproxy.metadata.cluster import tenant_uuid
from esproxy.metadata.ingest import PROCESSORS
from esproxy.metadata.nodes import VirtualNode
from esproxy.plan import Plan
from esproxy.procedures.asking import HEALTH, JSON, Own, Told, Tree, asked, understood
from esproxy.procedures.virtual_cat import TABLES
from esproxy.replies import json_headers
from esproxy.request import physical_target

NO_HANDLER = b"no handler found"
EMPTY: dict[str, Tree] = {
    "cluster.get_settings": {"persistent": {}, "transient": {}},
    "cluster.pending_tasks": {"tasks": []},
    "cluster.remote_info": {},
}  # which a cluster has where nobody has set, queued or connected anything


def virtual(plan: Plan, own: Own | None = None) -> Steps[Reply]:
    """The client's answer. ``own``: what asks for figures of the tenant's indices, where they are not under its prefix."""
    own = own or under_prefix(plan)
    name = plan.route.row.name
    physical_target(plan)  # for its strictness: parameters that are none, names that are none
    node = VirtualNode.of(plan.cluster, plan.owner().id, plan.head.get(b"host"))
    try:
        if name in TABLES:
            return (yield from TABLES[name](plan, node, own))
        if name in EMPTY:
            tree = dict(EMPTY[name])
            if name == "cluster.get_settings" and _is(plan, "include_defaults"):
                tree["defaults"] = {}
        else:
            tree = yield from MADE[name](plan, node, own)
    except Told as told:
        return told.reply
    if plan.filter_path is not None:
        tree = plan.filter_path.apply(tree)
    return Reply(200, json_headers(plan.product, plan.head.get(b"accept")), encode(plan, tree))


def uuid_of(plan: Plan) -> str:
    return tenant_uuid(str(plan.cluster.info.get("cluster_uuid", "")), plan.owner().id)


def under_prefix(plan: Plan) -> Own:
    def own(verb: str, metric: str | None, query: dict[str, str] | None = None) -> Steps[Tree]:
        everything = _everything(plan)
        path = [*verb.split("/"), everything] if verb == HEALTH else [everything, verb, *([metric] if metric else [])]
        return asked(plan, path, query)

    return own


def _is(plan: Plan, option: str) -> bool:
    return plan.query.get(option, "false") != "false"


def _metrics(text: str | None) -> set[str] | None:
    return None if text is None else {one.strip() for one in text.split(",")}


def _everything(plan: Plan) -> str:
    return plan.owner().names.everything(plan.spelled)


# --- _nodes ------------------------------------------------------------------------------------------------


def nodes_info(plan: Plan, node: VirtualNode, own: Own) -> Steps[Tree]:
    wanted, metrics = plan.parts.get("node_id"), _metrics(plan.parts.get("metric"))
    alone = _metrics(wanted)
    if metrics is None and alone and alone <= made.INFO_METRICS:
        wanted, metrics = None, alone  # one segment is metrics when all of it are
    engine: Tree = {}
    if node.selected(wanted):
        answer = yield from asked(plan, ["_nodes", "_local", "aggregations,ingest"])
        engine = next(iter(answer["nodes"].values()))
    told = made.info(node, metrics, engine, PROCESSORS, flat=_is(plan, "flat_settings"), human=_is(plan, "human"))
    return node.counted(wanted, told)


def nodes_stats(plan: Plan, node: VirtualNode, own: Own) -> Steps[Tree]:
    metrics = _metrics(plan.parts.get("metric"))
    if metrics is None or "_all" in metrics:
        metrics = made.STATS_METRICS
    else:
        made.check_metrics(metrics, made.STATS_METRICS, plan.raw_path)
    shapes: Tree = {}
    indices = None
    if "indices" in metrics:
        some = plan.parts.get("index_metric")
        figures = yield from own("_stats", some)
        shape = yield from asked(plan, ["_nodes", "_local", "stats", "indices", *([some] if some else [])])
        indices = made.blank(next(iter(shape["nodes"].values())).get("indices", {})) | figures["_all"].get("total", {})
    known = sorted(metrics & made.SHAPES.keys())
    if known:
        answer = yield from asked(plan, ["_nodes", "_local", "stats", ",".join(known)])
        shapes = next(iter(answer["nodes"].values()))
    told = made.figures(node, metrics, shapes, indices, _now())
    return node.counted(plan.parts.get("node_id"), told)


def _now() -> int:
    return int(time.time() * 1000)


def nodes_usage(plan: Plan, node: VirtualNode, own: Own) -> Steps[Tree]:
    """How often the node was asked for what: nobody counts it for a tenant."""
    yield from ()
    metrics = _metrics(plan.parts.get("metric")) or {"_all"}
    wanted = made.USAGE_METRICS if "_all" in metrics else [one for one in made.USAGE_METRICS if one in metrics]
    told = {"timestamp": _now(), "since": 0, **{metric: {} for metric in wanted}}
    return node.counted(plan.parts.get("node_id"), told)


# --- _cluster ----------------------------------------------------------------------------------------------


def check_state(plan: Plan) -> None:
    if "wait_for_metadata_version" in plan.query:
        raise Refusal("the parameter [wait_for_metadata_version] cannot be used here: the version is made of your own indices'")


def metrics_of(plan: Plan) -> set[str]:
    return _metrics(plan.parts.get("metric", "_all")) or {"_all"}


def cluster_state(plan: Plan, node: VirtualNode, own: Own) -> Steps[Tree]:
    check_state(plan)
    metrics = metrics_of(plan)
    every = made.ASKED if "_all" in metrics else metrics & made.ASKED.keys()
    told: Tree = {}
    if every:
        expression = plan.expression(plan.parts["index"]) if "index" in plan.parts else _everything(plan)
        options = {key: plan.query[key] for key in OPTIONS if key in plan.query}
        options.setdefault("expand_wildcards", "all")
        told = yield from asked(
            plan, ["_cluster", "state", ",".join(sorted({made.ASKED[one] for one in every})), expression], options
        )
        if "metadata" in every and "index" not in plan.parts:  # a node tells of templates only then
            told["metadata"]["templates"] = yield from templates(plan)

    def under(endpoint: str, tree: Tree) -> Tree:
        return _restored(plan, endpoint, tree)

    names = made.Own(plan.owner().names.prefix, node, AnswerResolver(plan).name, under)
    return made.state(node, uuid_of(plan), metrics, told, names)


def templates(plan: Plan) -> Steps[Tree]:
    """The tenant's, of the past, as it knows them."""
    found = yield Call(Send(plan.cluster.name, "GET", build(["_template", plan.owner().names.prefix + "*"], {}), JSON))
    if found.status not in (200, 404):
        raise Failed("the node's answer could not be understood", status=502)
    return _restored(plan, "indices.get_template", orjson.loads(found.body))


def _restored(plan: Plan, endpoint: str, tree: Tree) -> Tree:
    """As an answer of that endpoint."""
    state = plan.cluster.engine.tables.endpoints[endpoint].response
    assert state is not None
    out: Tree = orjson.loads(Walk(plan, state).feed(orjson.dumps(tree), True))
    return out


OPTIONS = ("allow_no_indices", "expand_wildcards", "ignore_unavailable", "flat_settings")


def cluster_stats(plan: Plan, node: VirtualNode, own: Own) -> Steps[Tree]:
    told = yield from own("_stats", None)
    health = yield from own(HEALTH, None)
    mappings = yield from own("_mapping", None)
    here = node.selected(plan.parts.get("node_id"))
    each = [one.get("mappings", {}) for one in mappings.values()]
    return made.cluster_stats(node, uuid_of(plan), here, told, health, each, _now())


def cluster_info(plan: Plan, node: VirtualNode, own: Own) -> Steps[Tree]:
    told = yield from asked(plan, ["_info", plan.parts["target"]])
    return made.cluster_info(node, told)


# --- what Elasticsearch's commercial part says of itself -----------------------------------------------------


def license(plan: Plan, node: VirtualNode, own: Own) -> Steps[Tree]:
    told = yield from _the_same(plan)
    plan.query.setdefault("pretty", "true")  # so nodes write it
    return {"license": made.license(told["license"], node, uuid_of(plan))}


def xpack_info(plan: Plan, node: VirtualNode, own: Own) -> Steps[Tree]:
    told = yield from _the_same(plan)
    return made.xpack(told, uuid_of(plan))


def xpack_usage(plan: Plan, node: VirtualNode, own: Own) -> Steps[Tree]:
    told = yield from _the_same(plan)
    return made.nothing_of(told)


def authenticate(plan: Plan, node: VirtualNode, own: Own) -> Steps[Tree]:
    yield from _the_same(plan)
    return made.user(plan.owner().id)


def _the_same(plan: Plan) -> Steps[Tree]:
    """What the node says to it. One without that part knows no such path, and so says the tenant's; Elasticsearch 8 takes one of
    two segments for that of a document's type."""
    query = {name: value for name, value in plan.query.items() if name not in ("pretty", "filter_path")}
    answer = yield Call(Send(plan.cluster.name, "GET", build(list(plan.route.template), query), JSON, held=True))
    uri = plan.head.target.decode("ascii", "backslashreplace")
    if answer.status == 400 and NO_HANDLER in answer.body[: 2 * len(NO_HANDLER)]:
        raise unknown_endpoint(uri, plan.head.method)
    if answer.status == 405:
        raise wrong_method(uri, plan.head.method, ["POST"])
    tree: Tree = understood(plan, answer)
    return tree


Maker = Callable[[Plan, VirtualNode, Own], Generator[Any, Any, Tree]]
MADE: dict[str, Maker] = {
    "nodes.info": nodes_info,
    "nodes.stats": nodes_stats,
    "nodes.usage": nodes_usage,
    "cluster.info": cluster_info,
    "license.get": license,
    "xpack.info": xpack_info,
    "xpack.usage": xpack_usage,
    "security.authenticate": authenticate,
    "cluster.state": cluster_state,
    "cluster.stats": cluster_stats,
}
