"""uvicorn's protocol class for ``esproxy serve``: a client's connection, which drives the Gateway from parser callbacks.

    transport ─ data_received ─▶ httptools ─ on_… ─▶ ClientRequest (client.py), which is driver and sink ─▶ Gateway, engine

httptools' callbacks only collect. A request that is whole begins in ``on_message_complete``; what is not yet whole goes on after
each read, once. So a common request costs one object and no task, queue or scope; one whose head has come before, byte for byte,
is not even parsed (``esproxy/known.py``). What is not data plane (an application with routes or middleware, limits of uvicorn's
own) is left to uvicorn's protocol and the ASGI application, see ``protocol``.

States of a connection

    idle        ``current`` and ``reading`` are None
    reading     ``reading`` is the request whose body the parser is in
    answering   ``current`` is the request whose answer is due; it may still be ``reading``
    deaf        what follows cannot be understood and is not looked at; what came before is still answered
    ending      nothing more is begun; it closes when what was written has left

Invariants

* Answers leave in the order of the requests: only ``current`` is begun, ``queue`` holds those behind it. While there is a queue
  the socket is not read, so a client that pipelines without end has no more than one read of it in memory.
* A request begins only while the client takes answers (``blocked`` is false).
* The rest of a body whose answer has left early is read and dropped; the next request begins behind it.
* After an answer that ends the connection, and after what is no HTTP, nothing is begun: nobody knows where the next request
  would begin.
* Trailers are dropped: nobody has checked them as the head is checked.

A client that shuts its sending side down has left, as it has for the nodes: its upstream call is cancelled. While the socket is
not read its end cannot be read either, so the sweeper asks the socket.

Times: one sweeper looks at all connections once a second, so there is no timer per request. It ends a connection that is idle or
in the middle of a head for ``listen.keep_alive``, and one whose client neither sends the body nor takes the answer that it should
for ``listen.client_timeout``.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import Any

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.utils import get_remote_addr
from uvicorn.server import ServerState

from esproxy.config import Listen
from esproxy.errors import EsproxyError, Failed, Refusal
from esproxy.heads import Head, Headers
from esproxy.serve.asgi import DataApp
from esproxy.serve.client import ClientRequest
from esproxy.serve.framing import MAX_HEAD, origin_form, size_of, too_long
from esproxy.serve.short import ShortCall, go, way_of
from esproxy.serve.sweeper import Sweeper, Swept, is_gone

logger = logging.getLogger("esproxy.serve")
SPECIAL = frozenset({b"expect", b"content-encoding"})
METHODS = {name.encode(): name for name in ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS")}
LINGER = 2.0  # seconds


def protocol(
    config: uvicorn.Config,
    server_state: ServerState,
    app_state: dict[str, Any],
    _loop: asyncio.AbstractEventLoop | None = None,
) -> asyncio.Protocol:
    """The protocol of a new connection: for ``uvicorn.Config(http=protocol)``."""
    app = config.loaded_app
    if isinstance(app, DataApp) and app.bare and config.limit_concurrency is None:
        return ClientConnection(app, server_state, config, _loop or asyncio.get_running_loop())
    return HttpToolsProtocol(config=config, server_state=server_state, app_state=app_state, _loop=_loop)


class Ended(Exception):
    """Something follows the last request of a connection."""


class ClientConnection(Swept):
    __slots__ = (
        "app", "blocked", "config", "current", "deaf", "ending", "headers", "heard", "in_head", "large", "loop", "moved",
        "parser", "paused", "peer", "queue", "reading", "serving", "since", "special", "state", "transport", "unfinished",
        "unsent", "url",
    )  # fmt: skip

    def __init__(self, app: DataApp, state: ServerState, config: uvicorn.Config, loop: asyncio.AbstractEventLoop) -> None:
        self.app = app
        self.state = state
        self.config = config
        self.loop = loop
        self.transport: asyncio.Transport | None = None
        self.peer: str | None = None
        self.parser = httptools.HttpRequestParser(self)
        # A client may say that this request is its last and send more: that is not its fault but ours to leave unread.
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self.url = b""
        self.headers: Headers = []
        self.special = False
        self.in_head = 0  # 1: since this read, 2: since an earlier one
        self.unfinished = 0  # bytes of the reads since that one, all of them of the same head
        self.large = False  # a read was larger than a head may be
        self.heard: Head | None = None  # of the last request that is whole, if it may be kept
        self.reading: ClientRequest | None = None
        self.current: ClientRequest | ShortCall | None = None
        self.queue: deque[ClientRequest] = deque()
        self.serving = False
        self.blocked = False  # the client takes no more of what we write for now
        self.paused = False  # we read no more of what it sends for now
        self.deaf = False
        self.ending = False
        self.moved = True  # something has happened since the sweeper's last look
        self.since = 0.0  # when the sweeper last saw that something had happened
        self.unsent = 0  # bytes that the transport held then

    # --- the transport's side ------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:
        self.transport = transport
        address = get_remote_addr(transport)
        self.peer = address[0] if address is not None else None
        self.state.connections.add(self)
        sweeper = self.app.sweeper
        if sweeper is None:
            listen = self.app.settings.listen if self.app.settings is not None else Listen()
            sweeper = self.app.sweeper = Sweeper(listen.client_timeout)
        sweeper.watch(self.state.connections, self.loop)

    def connection_lost(self, error: Exception | None) -> None:
        self.state.connections.discard(self)
        self.deaf = self.ending = True
        self.parser = None  # it holds us by its callbacks
        self.drop_queue()
        current, self.current = self.current, None
        if current is not None:
            current.leave()

    def eof_received(self) -> None:
        """The client has left; the transport closes."""

    def pause_writing(self) -> None:
        self.blocked = True
        if self.current is not None:
            self.current.stall(True)

    def resume_writing(self) -> None:
        self.blocked = False
        self.moved = True
        if self.current is not None:
            self.current.stall(False)
        else:
            self.serve()

    def data_received(self, data: bytes) -> None:
        if self.deaf:
            return
        between = self.reading is None and not self.in_head and not self.ending
        if between and (known := self.app.known.find(data, self.peer)) is not None:
            return self.come(known[0], data[known[1] :])
        if len(data) > MAX_HEAD:
            self.large = True
        self.heard = None
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self.heard = None
            # No other protocol is spoken here. The parser goes on with HTTP, and so does a client that was not told 101.
            if rest := data[upgrade.args[0] :]:
                return self.data_received(rest)
        except httptools.HttpParserCallbackError as error:
            return self.failed(error)
        except httptools.HttpParserError as error:
            return self.fault(Refusal(f"this is not HTTP: {error}"))
        if between and self.heard is not None:
            self.app.known.keep(self.heard, int(self.heard.get(b"content-length") or 0), data, self.peer)
        if self.in_head:
            self.head_goes_on(len(data))
        request = self.reading
        if request is not None:
            self.moved = True
            if request.over:
                request.parts.clear()
            elif request is self.current:
                request.go_on()

    def come(self, head: Head, body: bytes) -> None:
        """A whole request whose head is known."""
        if self.current is None and not self.blocked and not self.queue:
            way = head.shortcut
            if way is None:
                way = way_of(self.app.proxy, head)
            if way and go(self, way, body):
                return
        request = ClientRequest(self, self.app.proxy, head, True)
        request.complete = True
        if body:
            request.parts.append(body)
        self.queue_up(request)
        if request is self.current:
            try:
                request.go_on()
            except Exception as bug:
                self.failed(bug)

    def queue_up(self, request: ClientRequest) -> None:
        if self.current is None and not self.blocked and not self.queue:
            self.current = request
        else:
            self.queue.append(request)
            self.steer()

    def head_goes_on(self, size: int) -> None:
        """The read ended in a head, which has to end somewhere."""
        if self.in_head == 1:
            self.in_head = 2
            self.moved = True
            return
        self.unfinished += size
        if self.unfinished > MAX_HEAD:
            self.fault(too_long())

    # --- callbacks of the parser ---------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self.ending:
            raise Ended
        self.url = b""
        self.headers = []
        self.special = False
        self.in_head = 1

    def on_url(self, url: bytes) -> None:
        self.url = self.url + url if self.url else url

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        self.headers.append((name, value))
        if name in SPECIAL:
            self.special = True

    def on_headers_complete(self) -> None:
        parser, url = self.parser, self.url
        self.in_head = 0
        if url[:1] != b"/" or b"#" in url:
            url = origin_form(url)
        method = parser.get_method()
        head = Head(METHODS.get(method) or method.decode("ascii"), url, self.headers, self.peer)
        self.headers = []  # for trailers, which nobody reads
        request = ClientRequest(self, self.app.proxy, head, parser.should_keep_alive())
        if self.special:
            request.special = True
        if parser.get_http_version() == "1.0":
            request.http10 = True
            request.keep_alive = False
        if self.large or self.unfinished:
            self.unfinished = 0
            if size_of(head) > MAX_HEAD:
                request.special, request.refusal, request.keep_alive = True, too_long(), False
        self.reading = request
        self.queue_up(request)

    def on_body(self, data: bytes) -> None:
        self.reading.parts.append(data)

    def on_message_complete(self) -> None:
        request, self.reading = self.reading, None
        request.complete = True
        head = request.head
        plain = request.keep_alive and not request.special and head.get(b"transfer-encoding") is None
        self.heard = head if plain else None
        if request is self.current and not request.over:
            request.go_on()

    # --- from the requests ---------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(data)

    def answered(self, ends: bool) -> None:
        """All of the current answer is written."""
        self.state.total_requests += 1
        self.current = None
        self.moved = True
        if ends:
            self.end(linger=self.deaf or self.reading is not None)
        elif self.queue:
            self.serve()
        elif self.paused:
            self.steer()

    def hang_up(self) -> None:
        """Close in the middle of an answer."""
        self.current = None
        self.end()

    def end(self, linger: bool = False) -> None:
        """Close when all that was written has left. To close while the client sends would reset the connection, and it would
        lose what was written: so only our side is shut down, and the client's is read and dropped for a while."""
        self.deaf = self.ending = True
        self.drop_queue()
        if linger and not self.transport.is_closing() and self.transport.can_write_eof():
            try:
                self.transport.write_eof()
            except OSError:  # the client is gone, which nobody has read yet
                return self.transport.abort()
            self.steer()
        else:
            self.transport.close()

    def steer(self) -> None:
        """Read what can be dealt with."""
        current = self.current
        held = current is not None and current is self.reading and current.body_held
        paused = held or bool(self.queue)
        if paused is not self.paused and not self.transport.is_closing():
            self.paused = paused
            self.moved = True
            if paused:
                self.transport.pause_reading()
            else:
                self.transport.resume_reading()

    def serve(self) -> None:
        """Begin what waits, one after the other. Answers that come at once come back here: hence a loop."""
        if self.serving:
            return
        self.serving = True
        while self.queue and self.current is None and not self.blocked and not self.ending:
            self.current = request = self.queue.popleft()
            request.go_on()
        self.serving = False
        self.steer()

    def drop_queue(self) -> None:
        while self.queue:
            self.queue.popleft().leave()

    # --- what is not as it should be -------------------------------------------------------------------

    def fault(self, refusal: EsproxyError) -> None:
        """The rest of the stream cannot be understood: what came before is answered, then this, then the connection ends."""
        self.deaf = True
        request = self.reading
        if request is None:
            request = ClientRequest(self, self.app.proxy, Head("-", b"/", [], self.peer), False)
            self.queue.append(request)
        request.keep_alive = False
        if request.begun:
            request.refuse(refusal)
        else:
            request.special, request.refusal = True, refusal
            if request is self.current:
                request.go_on()
        self.serve()
        if self.current is None and not self.queue and not self.ending:
            self.end()  # it was the rest of a body whose answer has left

    def failed(self, error: Exception) -> None:
        """What belongs to a request, or a callback of ours, has raised."""
        if not isinstance(error.__context__, Ended):
            logger.error("a client's connection failed", exc_info=error)
            if self.current is not None:
                self.current.leave()
            self.hang_up()

    # --- from the server and the sweeper ----------------------------------------------------------------

    def shutdown(self) -> None:
        """The server ends: so does this connection, when what is under way has been answered."""
        if self.current is None:
            return self.transport.close() if self.ending else self.end()
        self.current.keep_alive = False
        if self.config.timeout_graceful_shutdown is not None:
            self.loop.call_later(self.config.timeout_graceful_shutdown, self.stop)

    def stop(self) -> None:
        """The server waits no longer."""
        if self.current is not None and not self.current.over:
            self.current.refuse(Failed("the proxy is stopping"))
        self.transport.abort()

    def sweep(self, now: float, keep_alive: float, patience: float) -> None:
        """Once a second: is it the client's turn, and has been for too long?"""
        closing = self.transport.is_closing()
        if self.paused and not closing and is_gone(self.transport):
            return self.transport.abort()
        unsent = self.transport.get_write_buffer_size()
        if self.moved or unsent != self.unsent:
            self.moved, self.unsent, self.since = False, unsent, now
        elif closing or unsent:
            if now - self.since > patience:
                self.transport.abort()  # it does not take what was written
        elif self.ending:
            if now - self.since > LINGER:
                self.transport.abort()
        elif self.reading is not None and not self.paused:
            if now - self.since > patience:
                self.fault(Refusal("the body did not come in time", status=408, type="timeout_exception"))
        elif self.current is None and now - self.since > keep_alive:
            self.end()
