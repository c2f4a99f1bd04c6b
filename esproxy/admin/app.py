"""The admin port, served by the supervisor: health, readiness, metrics.

    /-/healthy   200 while the supervisor runs
    /-/ready     200 when requests can be served, else 503; the reasons are in the body
    /metrics     for Prometheus

Never part of the data app, so no name of a tenant's index can hide it and no tenant can reach it.
"""

from __future__ import annotations

from collections.abc import Callable

import orjson
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from esproxy.admin.metrics import Collector, Totals
from esproxy.admin.status import Status


def admin_app(status: Callable[[], Status], totals: Totals) -> Starlette:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Collector(status, totals))

    async def healthy(request: Request) -> Response:
        return Response(b"ok\n", media_type="text/plain")

    async def ready(request: Request) -> Response:
        now = status()
        reasons = list(now.reasons())
        body = {
            "ready": not reasons,
            "reasons": reasons,
            "workers": {"ready": now.workers_ready, "wanted": now.workers_wanted},
            "nodes": [{"cluster": node.cluster, "url": node.url, "up": node.up, "why": node.why} for node in now.nodes],
        }
        return Response(orjson.dumps(body), 503 if reasons else 200, media_type="application/json")

    async def metrics(request: Request) -> Response:
        return Response(generate_latest(registry), headers={"content-type": CONTENT_TYPE_LATEST})

    return Starlette(routes=[Route("/-/healthy", healthy), Route("/-/ready", ready), Route("/metrics", metrics)])
