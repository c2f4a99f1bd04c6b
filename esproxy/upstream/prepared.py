"""Calls to one cluster that differ in their body alone: the head is made once for each node, an idle connection taken at once.

The engine's own way (``client.py``) is for all that needs more: a connection that has to be made or waited for, a node that is
dead, an engine that is closing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from esproxy.exchange import Send
from esproxy.upstream.request import WITH_LENGTH, Preamble, checked_lines, head

if TYPE_CHECKING:
    from esproxy.upstream.client import Cluster, Engine
    from esproxy.upstream.connection import Connection


class Prepared:
    """Raises ValueError for a Send that cannot be written as HTTP."""

    __slots__ = ("cluster", "engine", "lines", "send", "texts", "with_length")

    def __init__(self, engine: Engine, cluster: Cluster, send: Send) -> None:
        self.engine = engine
        self.cluster = cluster
        self.send = send  # without its body
        self.lines = checked_lines(send, cluster.ours)
        self.with_length = send.method in WITH_LENGTH
        self.texts: dict[Preamble, bytes] = {}  # the head for each node, but for length and end

    def connection(self) -> Connection | None:
        """An idle connection, to be used at once; None where the way to one is longer."""
        engine = self.engine
        if engine.closing or not engine.started:
            return None
        node = self.cluster.nodes.at_hand()
        while node is not None and node.idle:
            connection = node.idle.pop()
            if not connection.transport.is_closing():
                return connection
        return None

    def text(self, preamble: Preamble, body: bytes) -> bytes:
        """All of a request, for one node."""
        text = self.texts.get(preamble)
        if text is None:
            text = self.texts[preamble] = head(self.send, self.lines, preamble)[:-2]
        if body or self.with_length:
            return b"%bcontent-length: %d\r\n\r\n%b" % (text, len(body), body)
        return text + b"\r\n"
