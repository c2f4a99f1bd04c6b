"""A request on its straight way: what ``esproxy/shortcut.py`` says of it is sent and told, and no object made but this.

    ClientConnection.come ── go ─▶ Prepared.connection ─▶ Connection.begin_short ─▶ node
    client ◀─ write ── told ◀─ Connection.data_received: an answer whose head is known, in one read ◀─ node

``Call`` is what such a request is to the node's connection, in every shell: it stands where the ``EngineFlight`` stands on the
general way. ``ShortCall`` is that of esproxy's own protocol class; to a client's connection it is what the ``ClientRequest`` is.
That of the ASGI shell is in ``asgi_short.py``. Whatever else happens than a plain answer (one in parts, an error, a broken
connection, a client that leaves or takes no more, a server that stops) is not its business: it ``unfold``s to these and an
exchange in the state in which they would be, which take its places, and the call goes there. So it is never in any other state
than *sent and not answered*.

Counting is the same: in flight from the beginning to the end, by method and status at the end.
"""

from __future__ import annotations

import logging
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from esproxy.errors import EsproxyError
from esproxy.heads import AnswerHead, Head
from esproxy.serve.client import ClientRequest
from esproxy.serve.coding import accepts_gzip
from esproxy.serve.framing import header_lines, status_line
from esproxy.shortcut import Shortcut, is_plain, plain_headers
from esproxy.upstream.engine_api import Failure
from esproxy.upstream.flight import SENT, EngineFlight
from esproxy.upstream.prepared import Prepared

if TYPE_CHECKING:
    from esproxy.serve.driver import Driver, Proxy
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
    shortcut = proxy.gateway.shortcut(head)
    head.shortcut = None if shortcut is None else False
    if shortcut:
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
    client.current = call = ShortCall(client, way, body, out, connection)
    way.proxy.stats.in_flight += 1
    connection.begin_short(call, way.prepared.text(connection.node.preamble, out))
    return True


class Call:
    """``client``: who is told, a connection of ours or a request of the ASGI shell."""

    __slots__ = ("body", "client", "connection", "given", "keep_alive", "started", "way")

    uploaded = True

    def __init__(self, client: Any, way: Way, given: bytes, body: bytes, connection: Connection) -> None:
        self.client = client
        self.way = way
        self.given = given  # the client's body
        self.body = body  # the node's
        self.connection = connection
        self.keep_alive = True  # the client's connection goes on
        self.started = 0.0  # by the engine's clock

    @property
    def method(self) -> str:
        return self.way.method

    def told(self, head: AnswerHead, data: bytes, at: int) -> None:
        """The node's answer, whole: its head, and its body from there on."""
        raise NotImplementedError

    def unfold(self) -> EngineFlight:
        """The flight that stands where this does; its sink is the client's request."""
        raise NotImplementedError

    def restored(
        self, head: AnswerHead, data: bytes, at: int, front: bytes | None = None, most: int = sys.maxsize
    ) -> bytes | None:
        try:
            return self.way.shortcut.restored(head, data, at, front, most)
        except Exception:
            logger.exception("an answer failed on the short way")
            return None

    def flight_of(self, request: Driver) -> EngineFlight:
        """The flight of a client's request that stands where one does whose request has been sent."""
        way, connection = self.way, self.connection
        request.exchange = way.shortcut.exchange(self.given)
        request.call = 1
        send = replace(way.shortcut.send, body=self.body)
        flight = EngineFlight(connection.engine, connection.cluster, send, request, self.started)
        flight.state, flight.attempt, flight.connection = SENT, 1, connection
        request.flight = flight
        if connection.flight is self:
            connection.flight = flight
        return flight

    def fail(self, failure: Failure) -> None:
        self.unfold().fail(failure)


class ShortCall(Call):
    """Of a ``ClientConnection``."""

    __slots__ = ()

    over = False

    def told(self, head: AnswerHead, data: bytes, at: int) -> None:
        client, way = self.client, self.way
        out = self.message(head, data, at)
        if out is None:
            return self.unfold().told(head, data, at)
        stats = way.proxy.stats
        stats.in_flight -= 1
        stats.short += 1
        stats.ended(way.method, head.status, self.connection.clock() - self.started)
        client.write(out)
        client.answered(False)

    def message(self, head: AnswerHead, data: bytes, at: int) -> bytes | None:
        """The client's answer, head and all, its body uncompressed and with no other headers than ``told``; None: the general way
        sees to it."""
        client, way = self.client, self.way
        if not self.keep_alive or client.ending or client.app.draining or client.state.default_headers:
            return None
        most = client.app.limits.min_compress - 1 if way.gzip else sys.maxsize
        if len(data) - at > most:
            return None
        try:
            if head.told is None and is_plain(head):
                head.told = status_line(head.status) + header_lines(plain_headers(head))
        except ValueError:
            return None  # the general way says so
        front = None if head.told is None else head.told + way.opaque
        return self.restored(head, data, at, front, most)

    # --- what is not plain -----------------------------------------------------------------------------

    def unfold(self) -> EngineFlight:
        client, way = self.client, self.way
        request = ClientRequest(client, way.proxy, way.shortcut.head, self.keep_alive)
        way.proxy.stats.in_flight -= 1  # it has counted itself, and this has
        request.began = time.monotonic() - (self.connection.clock() - self.started)
        request.complete = request.begun = request.uploaded = True
        if client.current is self:
            client.current = request
        return self.flight_of(request)

    def request(self) -> Any:
        return self.unfold().sink

    def stall(self, yes: bool) -> None:
        self.request().stall(yes)

    def leave(self) -> None:
        self.request().leave()

    def refuse(self, error: EsproxyError) -> None:
        self.request().refuse(error)
