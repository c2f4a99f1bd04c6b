"""From settings to a proxy: the one place where Gateway, engine and driver meet."""

from __future__ import annotations

import time

from esproxy import spool
from esproxy.config import Cluster, Settings, Upstream
from esproxy.gateway import Gateway
from esproxy.serve.driver import Proxy
from esproxy.serve.follower import new_catalogue
from esproxy.serve.stats import Stats
from esproxy.tenancy.placement import Placement
from esproxy.upstream.client import Engine
from esproxy.upstream.engine_api import EngineLike
from esproxy.upstream.spec import ClusterSpec


def build(settings: Settings, stats: Stats | None = None) -> Proxy:
    """A proxy that is ready to be driven. Raises ValueError for what only the parts themselves can find wrong."""
    spool.room.limit, spool.room.folder = settings.limits.max_spool, settings.limits.spool_folder
    engine = build_engine(settings)
    placement = settings.placement
    pools = Placement(placement.layout, placement.rules).pools
    return Proxy(Gateway(settings, new_catalogue(placement.cluster) if pools else None), engine, stats)


def build_engine(settings: Settings) -> EngineLike:
    specs = {name: spec(cluster, settings.upstream) for name, cluster in settings.clusters.items()}
    if settings.upstream.transport == "httpx":
        from esproxy.upstream.plain import HttpxEngine

        return HttpxEngine(specs)
    return Engine(specs, time.monotonic)


def spec(cluster: Cluster, upstream: Upstream) -> ClusterSpec:
    return ClusterSpec(
        nodes=list(cluster.nodes),
        username=cluster.username,
        password=cluster.password.get_secret_value() if cluster.password is not None else None,
        api_key=cluster.api_key.get_secret_value() if cluster.api_key is not None else None,
        ca=cluster.ca_file,
        client_cert=cluster.client_cert,
        client_key=cluster.client_key,
        insecure_skip_verify=not cluster.verify,
        connect_timeout=upstream.connect_timeout,
        answer_timeout=upstream.answer_timeout,
        total_timeout=upstream.total_timeout,
        idle_timeout=upstream.keep_alive,
        max_connections=upstream.max_connections,
        selector=upstream.selector,
        http2=upstream.http2,
        proxy=upstream.proxy,
    )
