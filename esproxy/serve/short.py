"""A request on its straight way: what ``esproxy/shortcut.py`` says of it is sent and told, and no object made but this.

    ClientConnection.come ── go ─▶ Prepared.connection ─▶ Connection.begin_short ─▶ node
    client ◀─ write ── answered ◀─ Connection.data_received: an answer whose head is known, in one read ◀─ node

It stands where two objects stand on the general way: a client's connection has it for the current ``ClientRequest``, a node's for
the ``EngineFlight``. Whatever else happens than a plain answer (one in parts, an error, a broken connection, a client that leaves
or takes no more, a server that stops) is not its business: it ``unfold``s to these two and an exchange in the state in which they
would be, takes their places for them, and the call goes there. So it is never in any other state than *sent and not answered*.

Counting is the same: in flight from the beginning to the end, by method and status at the end.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any, Literal

from esproxy.errors import EsproxyError
from esproxy.heads import AnswerHead, Head
from esproxy.serve.client import JOIN, ClientRequest
from esproxy.serve.coding import accepts_gzip
from esproxy.serve.framing import header_lines, status_line
from esproxy.shortcut import Shortcut, plain_headers
from esproxy.upstream.engine_api import Failure
from esproxy.upstream.flight import SENT, EngineFlight
from esproxy.upstream.prepared import Prepared

if TYPE_CHECKING:
    from esproxy.serve.driver import Proxy
    from esproxy.serve.protocol import ClientConnection
    from esproxy.upstream.connection import Connection

logger = logging.getLogger("esproxy.serve")


class Way:
    """What all requests with one head share: the Gateway's shortcut, as bytes on the wire."""

    __slots__ = ("gzip", "method", "opaque", "prepared", "proxy", "shortcut")

    def __init__(self, proxy: Proxy, shortcut: Shortcut, prepared: Prepared) -> None:
        self.proxy = proxy
        self.shortcut = shortcut
        self.prepared = prepared
        self.method = shortcut.head.method
        self.opaque = header_lines(shortcut.opaque)
        self.gzip = accepts_gzip(shortcut.head.headers)


def way_of(proxy: Proxy, head: Head) -> Way | Literal[False] | None:
    """The way of all requests with this head, which remembers it. False: there is none; None: not yet."""
    if head.ready is None:
        return None
    head.shortcut = False
    shortcut = proxy.gateway.shortcut(head)
    if shortcut is not None:
        try:
            prepared = proxy.engine.prepared(shortcut.send)
        except ValueError:
            return False  # the general way says so
        if prepared is not None:
            head.shortcut = Way(proxy, shortcut, prepared)
    way: Way | Literal[False] = head.shortcut
    return way


def go(client: ClientConnection, way: Way, body: bytes) -> bool:
    """Send a client's request. False: it goes the general way, and nothing has happened."""
    out = way.shortcut.sent(body)
    connection = way.prepared.connection() if out is not None else None
    if out is None or connection is None:
        return False
    client.current = call = ShortCall(client, way, out, connection)
    way.proxy.stats.in_flight += 1
    connection.begin_short(call, way.prepared.text(connection.node.preamble, out))
    return True


class ShortCall:
    __slots__ = ("body", "client", "connection", "keep_alive", "started", "way")

    over = False
    uploaded = True

    def __init__(self, client: ClientConnection, way: Way, body: bytes, connection: Connection) -> None:
        self.client = client
        self.way = way
        self.body = body  # the node's
        self.connection = connection
        self.keep_alive = True
        self.started = 0.0  # by the engine's clock

    @property
    def method(self) -> str:
        return self.way.method

    def answered(self, head: AnswerHead, body: bytes, last: bool) -> None:
        """The node's answer, whole."""
        client, way = self.client, self.way
        out = self.restored(head, body)
        if out is None:
            return self.unfold().answered(head, body, last)
        stats = way.proxy.stats
        stats.in_flight -= 1
        stats.short += 1
        stats.ended(way.method, head.status, self.connection.clock() - self.started)
        assert head.told is not None
        text = b"%b%bcontent-length: %d\r\n\r\n" % (head.told, way.opaque, len(out))
        if len(out) <= JOIN:
            client.write(text + out)
        else:
            client.write(text)
            client.write(out)
        client.answered(False)

    def restored(self, head: AnswerHead, body: bytes) -> bytes | None:
        """The client's body, uncompressed and with no other headers than ``told``; None: the general way sees to it."""
        client, way = self.client, self.way
        if not self.keep_alive or client.ending or client.app.draining or client.state.default_headers:
            return None
        least = client.app.limits.min_compress if way.gzip else inf
        if len(body) >= least:
            return None
        try:
            out = way.shortcut.restored(head, body)
            if out is not None and head.told is None:
                head.told = status_line(head.status) + header_lines(plain_headers(head))
        except Exception:
            logger.exception("an answer failed on the short way")
            return None
        return out if out is None or len(out) < least else None

    # --- what is not plain -----------------------------------------------------------------------------

    def unfold(self) -> EngineFlight:
        """The flight that stands where this does; its sink is the client's request."""
        client, way = self.client, self.way
        proxy = way.proxy
        request = ClientRequest(client, proxy, way.shortcut.head, self.keep_alive)
        proxy.stats.in_flight -= 1  # it has counted itself, and this has
        request.began = time.monotonic() - (self.connection.clock() - self.started)
        request.complete = request.begun = request.uploaded = True
        request.exchange = way.shortcut.exchange()
        request.call = 1
        connection = self.connection
        send = replace(way.shortcut.send, body=self.body)
        flight = EngineFlight(connection.engine, connection.cluster, send, request, self.started)
        flight.state, flight.attempt, flight.connection = SENT, 1, connection
        request.flight = flight
        if connection.flight is self:
            connection.flight = flight
        if client.current is self:
            client.current = request
        return flight

    def request(self) -> Any:
        return self.unfold().sink

    def fail(self, failure: Failure) -> None:
        self.unfold().fail(failure)

    def stall(self, yes: bool) -> None:
        self.request().stall(yes)

    def leave(self) -> None:
        self.request().leave()

    def refuse(self, error: EsproxyError) -> None:
        self.request().refuse(error)
