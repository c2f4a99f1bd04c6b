"""From the start of a server to its end: make the proxy from the configuration, and close it."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from esproxy.config import CONFIG_VARIABLE, load, warnings, with_keys
from esproxy.serve.logs import configure

if TYPE_CHECKING:
    from esproxy.serve.asgi import DataApp

logger = logging.getLogger("esproxy.serve")


@asynccontextmanager
async def lifespan(app: DataApp) -> AsyncIterator[None]:
    """Raises ConfigError, with all problems in its text, so that the server does not start."""
    if app.proxy is not None:
        yield
        return
    if app.settings is None:
        app.settings = with_keys(load(os.environ.get(CONFIG_VARIABLE)))
        configure(app.settings.log)
        for warning in warnings(app.settings):
            logger.warning("%s", warning)
    from esproxy.serve.build import build

    app.limits = app.settings.limits
    app.proxy = build(app.settings)
    try:
        yield
    finally:
        proxy, app.proxy = app.proxy, None
        await proxy.aclose()
        await asyncio.sleep(0)
