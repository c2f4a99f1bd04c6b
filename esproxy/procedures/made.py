"""Answers that are made by a procedure of their own, in layouts that are resolved by prefix: which one, by a row's ``answer``."""

from __future__ import annotations

from esproxy.exchange import Procedure
from esproxy.plan import Plan
from esproxy.procedures.health import cluster_health
from esproxy.procedures.pipelines import pipeline
from esproxy.procedures.pits import pits
from esproxy.procedures.rank_eval import rank_eval
from esproxy.procedures.reindex import reindex
from esproxy.procedures.rendered import searched_template
from esproxy.procedures.tasks import tasks
from esproxy.procedures.virtual import virtual
from esproxy.settings.models import Limits
from esproxy.spool import Spool

MADE = frozenset(("template", "pipeline", "virtual", "health", "tasks", "reindex", "rank_eval", "pits"))


def made(plan: Plan, body: bytes | Spool, media: bytes | None, limits: Limits) -> Procedure:
    """The procedure for a row whose answer is one of ``MADE``. ``body``: the client's, with its names rewritten."""
    whole = body if isinstance(body, bytes) else body.whole()
    match plan.route.row.answer:
        case "template":
            return searched_template(plan, whole, media or b"application/json", limits.max_body, limits.max_depth)
        case "pipeline":
            return pipeline(plan, whole, media)
        case "pits":
            return pits(plan)
        case "reindex":
            return reindex(plan, whole, media, limits.max_body)
        case "rank_eval":
            return rank_eval(plan, whole, media, limits.max_body, limits.max_depth)
        case "virtual":
            return virtual(plan)
        case "health":
            return cluster_health(plan)
    return tasks(plan)
