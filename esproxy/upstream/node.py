"""One address of a cluster: whether it is believed to live, and its connections.

A node that cannot be connected to is *dead* until its back-off has passed:
``dead_node_backoff_factor * 2 ** (consecutive_failures - 1)``, at most ``max_dead_node_backoff``. Then one call is let
through as a trial, and only its success makes the node live again. Only failed connects count. A slow or broken
answer does not: a tenant can provoke one, and would take the node away from everybody.

The counters are plain integers for the admin pages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from esproxy.upstream.request import Preamble
from esproxy.upstream.spec import Address, ClusterSpec

if TYPE_CHECKING:
    from esproxy.upstream.connection import Connection


class Node:
    """``idle`` is a stack: the connection used last is used next, so that the others can grow old and go."""

    def __init__(self, address: Address, spec: ClusterSpec, clock: Callable[[], float]) -> None:
        self.address = address
        self.preamble = Preamble(address, spec.own_headers())
        self.clock = clock
        self.backoff_factor = spec.dead_node_backoff_factor
        self.max_backoff = spec.max_dead_node_backoff
        self.max_connections = spec.max_connections
        self.idle: list[Connection] = []
        self.connections: set[Connection] = set()
        self.opening = 0
        self.consecutive_failures = 0
        self.dead_until = 0.0
        self.last_error = ""
        # counters
        self.connects = self.attempts = self.failed_connects = self.broken = self.timeouts = 0
        self.bytes_read = 0

    def __repr__(self) -> str:
        return f"<Node {self.address.url}{' dead' if self.dead_until else ''}>"

    @property
    def open(self) -> int:
        return len(self.connections) + self.opening

    @property
    def load(self) -> int:
        """Connections that are working or being made."""
        return self.open - len(self.idle)

    @property
    def has_room(self) -> bool:
        return bool(self.idle) or self.open < self.max_connections

    def backoff(self) -> float:
        exponent = min(self.consecutive_failures - 1, 60)
        return min(self.backoff_factor * 2**exponent, self.max_backoff)

    def usable(self, now: float) -> bool:
        return self.dead_until <= now

    def mark_dead(self, why: str) -> None:
        self.last_error = why
        self.failed_connects += 1
        self.consecutive_failures += 1
        self.dead_until = self.clock() + self.backoff()

    def mark_live(self) -> None:
        self.consecutive_failures = 0
        self.dead_until = 0.0

    def begin_trial(self, now: float) -> None:
        """The back-off has passed and a call will try: meanwhile others look elsewhere."""
        self.dead_until = now + self.backoff()

    def report(self) -> dict[str, int | bool | str]:
        return {
            "url": self.address.url,
            "live": self.dead_until == 0.0,
            "consecutive_failures": self.consecutive_failures,
            "last_error": self.last_error,
            "open": self.open,
            "idle": len(self.idle),
            "connects": self.connects,
            "attempts": self.attempts,
            "failed_connects": self.failed_connects,
            "broken": self.broken,
            "timeouts": self.timeouts,
            "bytes_read": self.bytes_read,
        }
