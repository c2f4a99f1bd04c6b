"""The one timer for all connections of a server: once a second it asks each whether it has waited for too long."""

from __future__ import annotations

import asyncio
import select
from typing import Any

import uvicorn

SWEEP_EVERY = 1.0  # seconds
GONE = select.POLLHUP | select.POLLERR | getattr(select, "POLLRDHUP", 0)


class Swept(asyncio.Protocol):
    """A connection that has to be asked."""

    __slots__ = ()
    config: uvicorn.Config

    def sweep(self, now: float, keep_alive: float, patience: float) -> None:
        raise NotImplementedError


class Sweeper:
    """Costs nothing while there are no connections."""

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self.timer: asyncio.TimerHandle | None = None

    def watch(self, connections: set[Any], loop: asyncio.AbstractEventLoop) -> None:
        if self.timer is None:
            self.timer = loop.call_later(SWEEP_EVERY, self.sweep, connections, loop)

    def sweep(self, connections: set[Any], loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for connection in [each for each in connections if isinstance(each, Swept)]:
            connection.sweep(now, connection.config.timeout_keep_alive, self.patience)
        self.timer = loop.call_later(SWEEP_EVERY, self.sweep, connections, loop) if connections else None


def is_gone(transport: asyncio.Transport) -> bool:
    """Ask the socket what reading it would tell."""
    asking = select.poll()
    asking.register(transport.get_extra_info("socket").fileno(), GONE)
    return bool(asking.poll(0))
