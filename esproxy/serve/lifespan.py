"""From the start of a server to its end: make the proxy from the configuration, and close it.

Where ``esproxy serve`` runs, the settings are given and stay; its supervisor reloads. Under any other server the application
reads the file that ``ESPROXY_CONFIG`` names, and looks every few seconds whether it has changed: good new settings make a new
proxy, which takes the next requests, while the old one is closed when its last one has ended; bad ones are logged and change
nothing.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from esproxy.config import CONFIG_VARIABLE, ConfigError, Settings, load, warnings, with_keys
from esproxy.serve.logs import configure

if TYPE_CHECKING:
    from esproxy.serve.asgi import DataApp
    from esproxy.serve.driver import Proxy

logger = logging.getLogger("esproxy.serve")
LOOK_EVERY = 2.0  # seconds


@asynccontextmanager
async def lifespan(app: DataApp) -> AsyncIterator[None]:
    """Raises ConfigError, with all problems in its text, so that the server does not start."""
    if app.proxy is not None:
        yield
        return
    path = os.environ.get(CONFIG_VARIABLE)
    watched = app.settings is None and path is not None
    if app.settings is None:
        app.settings = with_keys(load(path))
        configure(app.settings.log)
        for warning in warnings(app.settings):
            logger.warning("%s", warning)
    use(app, app.settings)
    if app.proxy.follower is not None:
        await app.proxy.follower.first_poll()
    watching = asyncio.create_task(watch(app, path)) if watched else None
    try:
        yield
    finally:
        if watching is not None:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
        proxy, app.proxy = app.proxy, None
        await proxy.aclose()


def use(app: DataApp, settings: Settings) -> None:
    """From now on, requests are served under these settings."""
    from esproxy.serve.build import build
    from esproxy.serve.follower import follow

    app.proxy = build(settings)
    app.proxy.follower = follow(app.proxy.gateway.pools, app.proxy.procedures)
    app.settings = settings
    app.limits = settings.limits


async def watch(app: DataApp, path: str) -> None:
    seen = stamp(path)
    retiring: set[asyncio.Task[None]] = set()
    try:
        while True:
            await asyncio.sleep(LOOK_EVERY)
            now = stamp(path)
            if now is None or now == seen:
                continue
            seen = now
            old = app.proxy
            if reload(app, path):
                task = asyncio.create_task(retire(old, app.settings.listen.drain_timeout))
                retiring.add(task)
                task.add_done_callback(retiring.discard)
    finally:
        for task in retiring:
            task.cancel()
        await asyncio.gather(*retiring, return_exceptions=True)


def stamp(path: str) -> tuple[int, int, int] | None:
    """What tells one version of a file from another; None while there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def reload(app: DataApp, path: str) -> bool:
    try:
        settings = load(path)
        if not settings.secrets.keys:
            settings = settings.model_copy(update={"secrets": app.settings.secrets})
        use(app, settings)
    except (ConfigError, ValueError, OSError) as error:
        logger.error("the configuration is not reloaded: %s", "; ".join(str(error).splitlines()))
        return False
    logger.info("the configuration is reloaded")
    return True


async def retire(proxy: Proxy, timeout: float) -> None:
    """Close a proxy when its last request has ended, or ends no more."""
    try:
        deadline = time.monotonic() + timeout
        while proxy.stats.in_flight and time.monotonic() < deadline:
            await asyncio.sleep(0.1)
    finally:
        await proxy.aclose()
