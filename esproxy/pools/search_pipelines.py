"""Search pipelines (OpenSearch) for indices in pools: what stands between a search and the node there would see the pool's names.

A pipeline of nothing but ``filter_query`` changes the query as its client could have written it, so that is done to the client's
search, before anything else is. What computes with the search itself, or with hits, is not available yet.
"""

from __future__ import annotations

from typing import Any

import orjson

from esproxy import exact
from esproxy.answer import Walk
from esproxy.api.search_pipelines import PROCESSORS
from esproxy.catalogue.store import Steps
from esproxy.errors import Failed, Refusal
from esproxy.pools.pooled import Pooled

NAME = "search_pipeline"
KNOWN = frozenset(("query", "tag", "description", "ignore_failure"))  # of filter_query: a node takes no others


def through_pipeline(request: Pooled, body: bytes) -> Steps[bytes]:
    """The search as its pipeline makes it. A name that stands for none is left, so that the node says so. Raises Refusal."""
    parameter = request.plan.query.get(NAME)
    if request.product or (parameter is None and b"pipeline" not in body and b"\\" not in body):
        return body
    tree = exact.loads(body)
    inside = tree.get(NAME)
    named = inside if parameter is None or isinstance(inside, dict) else parameter
    pipeline = named if isinstance(named, dict) else (yield from _kept(request, named))
    if pipeline is None or (named is pipeline and not any(pipeline.get(stage) for stage in PROCESSORS)):
        return body
    verbose = tree.get("verbose_pipeline") or request.plan.query.get("verbose_pipeline", "false") != "false"
    filters = _filters(pipeline)
    if filters is None or verbose:
        told = "with nothing but [filter_query], and without [verbose_pipeline]"
        raise Refusal(f"a search pipeline is not available yet for indices in pools, but one {told}")
    for query in filters:
        must = {"must": [tree["query"]]} if "query" in tree else {}
        tree["query"] = {"bool": {"filter": [query], **must}}
    tree.pop(NAME, None)
    request.filtered_by = parameter
    return exact.dumps(tree)


def _filters(pipeline: dict[str, Any]) -> list[Any] | None:
    """The queries of its processors; None where there are others."""
    found = []
    for stage in PROCESSORS:
        for one in pipeline.get(stage) or ():
            if not isinstance(one, dict) or list(one) != ["filter_query"]:
                return None
            given = one["filter_query"]
            if not isinstance(given, dict) or "query" not in given or not given.keys() <= KNOWN:
                return None
            found.append(given["query"])
    return found


def _kept(request: Pooled, name: Any) -> Steps[dict[str, Any] | None]:
    """The tenant's pipeline of this name, as its client wrote it."""
    if not isinstance(name, str) or name == "_none" or not name or set(name) & set("*,"):
        return None
    plan = request.plan
    answer = yield request.send("GET", ["_search", "pipeline", plan.owner().names.prefix + name], {})
    if answer.status == 404:
        return None
    state = plan.cluster.engine.tables.endpoints["search_pipeline.get"].response
    if answer.status != 200 or state is None:
        raise Failed("the cluster did not tell of a search pipeline")
    told: dict[str, Any] = orjson.loads(Walk(plan, state).feed(answer.body, True))
    return told.get(name)
