"""What a tenant's cluster of one node says of itself, for a tenant in pools: as in ``procedures.virtual``, where figures of its
indices are what its own ``_stats``, ``_cluster/health`` and ``_mapping`` tell: requests of their own, under the same belief in
the directory, whose answers are verified and hold no other tenant's figures.
"""

from __future__ import annotations

import orjson

from esproxy.api.target import build
from esproxy.catalogue.store import Steps
from esproxy.errors import UpstreamFailed
from esproxy.exchange import Large, Reply
from esproxy.pools.admin import get_index
from esproxy.pools.frame import Family
from esproxy.pools.health import health
from esproxy.pools.pooled import Pooled
from esproxy.pools.statistics import stats
from esproxy.procedures.asking import HEALTH, Told, Tree
from esproxy.procedures.virtual import virtual
from esproxy.request import as_another

ASKED: dict[str, Family] = {"_stats": stats, HEALTH: health, "_mapping": get_index}


def figures(request: Pooled) -> Steps[Reply | Large]:
    """``_nodes/stats``, ``_cluster/stats``, ``_cat/allocation``."""

    def own(verb: str, metric: str | None, query: dict[str, str] | None = None) -> Steps[Tree]:
        target = build([*verb.split("/"), *([metric] if metric else [])], query or {})
        plan = as_another(request.plan, target, None)
        inner = Pooled(request.pools, plan, b"", None)
        inner.sight = request.sight
        reply = yield from ASKED[verb](inner)
        if isinstance(reply, Large):
            raise UpstreamFailed("overflow", "an answer that has to be put together")
        if reply.status != 200:
            raise Told(reply)
        tree: Tree = orjson.loads(reply.body)
        return tree

    return (yield from virtual(request.plan, own))
