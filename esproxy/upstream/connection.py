"""One keep-alive connection to a node: requests out, answers in, one at a time.

    IDLE ── begin(flight) ──▶ BUSY ── answer whole ──▶ IDLE (engine.released) or closed
                               │ fault, end of stream, drop()
                               └──▶ closed (the flight is told, the engine forgets it)

The transport calls ``data_received``, httptools calls the ``on_`` methods, which only collect; after each read the flight
is told once, so a small answer is one call: head, body and end together. A head that has come before, byte for byte, is not
parsed again (``esproxy/known.py``).

A connection is used again only if nothing is in doubt: the answer ended by its own framing, the node did not say
``close``, nothing came after the end, and the whole request had been sent. Bytes on an idle connection close it.

What an answer's end is: nothing after the head for HEAD, 204 and 304 (the parser does not know about the HEAD and would
take the next answer for its body, so it is thrown away); ``content-length``; the last chunk; else the end of the stream.
A transfer coding other than ``chunked`` is a fault, like everything the parser finds wrong.

Two ends meet badly when a node answers early and hangs up while we are sending: the write fails, asyncio gives
the connection up, and the answer is lost though it lies in the socket. ``_salvage`` reads it from there.

Ownership: ``flight`` is set between ``begin`` and the end of the call. Whoever ends the call takes it out first, so no
flight is told twice.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import httptools

from esproxy.heads import AnswerHead, Headers
from esproxy.upstream.engine_api import Failure
from esproxy.upstream.node import Node
from esproxy.upstream.request import chunk, head

if TYPE_CHECKING:
    from esproxy.serve.short import ShortCall
    from esproxy.upstream.client import Cluster, Engine
    from esproxy.upstream.flight import EngineFlight

MAX_HEAD = 256 << 10
JOIN = 64 << 10  # bodies up to here leave in one write with their head
SALVAGE = 256 << 10
BODILESS = frozenset({204, 304})


class Unexpected(Exception):
    """Bytes after the end of an answer."""


class Connection(asyncio.Protocol):
    def __init__(self, engine: Engine, cluster: Cluster, node: Node) -> None:
        self.engine = engine
        self.cluster = cluster
        self.node = node
        self.clock = engine.clock
        self.transport: asyncio.Transport | None = None
        self.parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)
        self.flight: EngineFlight | ShortCall | None = None
        self.lost = False
        self.touched = 0.0  # when something last moved
        self.write_blocked = False
        self.unsent = 0  # write buffer at the last look of the sweeper
        self._read_paused = False
        self._reset()

    def _reset(self) -> None:
        self.head: AnswerHead | None = None
        self.head_bytes = 0
        self.headers: Headers = []
        self.parts: list[bytes] = []
        self.length: int | None = None
        self.coding: bytes | None = None
        self.complete = False
        self.keep_alive = False
        self.fault: str | None = None
        self.early = False  # the answer came before the request was through
        self.source: Iterator[bytes] | None = None  # the rest of a request's body that lies in a spool

    # --- the engine's side

    def begin(self, flight: EngineFlight) -> None:
        """Send a request. The flight has been asked."""
        self.flight = flight
        self.touched = self.clock()
        send = flight.send
        text = head(send, flight.lines, self.node.preamble)
        transport = self.transport
        if type(send.body) is not bytes:
            transport.write(text)
            self.source = send.body.parts()
            self.pump()
        elif len(body := send.body if send.last else chunk(send.body, False)) <= JOIN:
            transport.write(text + body)
        else:
            transport.write(text)
            transport.write(body)
        if flight.paused:
            self.pause()

    def begin_short(self, call: ShortCall, text: bytes) -> None:
        """Send a request of which all is known. What comes back is told to the call; what is no simple answer, to the flight that
        it unfolds to."""
        self.flight = call
        self.touched = call.started = self.clock()
        self.node.attempts += 1
        self.transport.write(text)

    def pump(self) -> None:
        """Send from the spool until the node takes no more for now."""
        while self.source is not None and not self.write_blocked and not self.lost:
            try:
                part = next(self.source, None)
            except OSError as error:
                flight = self.flight
                self.drop()
                self.engine.loop.call_soon(flight.fail, Failure("broken", f"a spool cannot be read: {error}"))
                return
            if part is None:
                self.source = None
                break
            self.touched = self.clock()
            self.transport.write(part)

    def write(self, data: bytes, last: bool) -> None:
        self.touched = self.clock()
        self.transport.write(chunk(data, last))

    def pause(self) -> None:
        if not self._read_paused and not self.transport.is_closing():
            self._read_paused = True
            self.transport.pause_reading()

    def resume(self) -> None:
        if self._read_paused and not self.transport.is_closing():
            self._read_paused = False
            self.touched = self.clock()
            self.transport.resume_reading()

    def drop(self) -> None:
        """End whatever is under way without a word to the flight: the node sees us hang up."""
        self.flight = self.source = None
        self.lost = True
        if self.transport is not None:
            self.transport.abort()

    def stalled(self, now: float, timeout: float) -> bool:
        """Whether it is the node's turn, and has been for too long."""
        flight = self.flight
        unsent = self.transport.get_write_buffer_size()
        if unsent != self.unsent:  # it still takes bytes
            self.unsent, self.touched = unsent, now
        waiting = (flight.uploaded or self.write_blocked) and not self._read_paused
        return waiting and now - self.touched > timeout

    # --- the transport's side

    def connection_made(self, transport: asyncio.Transport) -> None:
        self.transport = transport
        self.touched = self.clock()

    def pause_writing(self) -> None:
        self.write_blocked = True
        if self.flight is not None:
            self.flight.unfold().upload_writable(False)

    def resume_writing(self) -> None:
        self.write_blocked = False
        self.touched = self.clock()
        if self.source is not None:
            self.pump()
        elif self.flight is not None:
            self.flight.unfold().upload_writable(True)

    def data_received(self, data: bytes) -> None:
        flight = self.flight
        if flight is None:
            self.drop()  # nobody asked
            return
        self.touched = self.clock()
        self.node.bytes_read += len(data)
        between = self.head is None and not self.head_bytes
        known = self._known(data) if between and flight.method != "HEAD" else None
        try:
            if known is not None:
                self._release(flight)
                flight.told(*known)
            else:
                flight = flight.unfold()
                self._parse(data)
                if between and self.complete and self.keep_alive and self._is_plain(data):
                    self.cluster.known.keep(self.head, self.length, data)
                self._tell()
        except Exception as error:
            self._sink_failed(flight, error)

    def _known(self, data: bytes) -> tuple[AnswerHead, bytes, int] | None:
        """The head of an answer whose head has come before, and which this read is; its body, and where that begins."""
        found = self.cluster.known.find(data)
        if found is None or found[0].length is not None:
            return None if found is None else (found[0], data, found[1])
        body = self.cluster.chunks.whole(data[found[1] :])
        return None if body is None else (found[0], body, 0)

    def eof_received(self) -> None:
        """Abort, since a close would first wait until what is left of the request has been sent to nobody."""
        self.lost = True
        self.transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        self.lost = True
        self.source = None
        if self.flight is not None:
            self.flight.unfold()
            if error is not None:
                self._salvage()
        self.engine.forget(self)
        flight, self.flight = self.flight, None
        self.parser = None  # it holds us by its callbacks
        try:
            if flight is not None:
                self._end_of_stream(flight, error)
        finally:
            self.engine.room(self.cluster)

    def _end_of_stream(self, flight: EngineFlight, error: Exception | None) -> None:
        framed = self.length is not None or self.coding is not None
        if self.head is not None and not framed and error is None:
            flight.answered(self.head, b"", True)
        else:
            flight.broke(str(error) if error is not None else "the node hung up before its answer was whole")

    def _salvage(self) -> None:
        """Read what the node said before it hung up. The transport closes the socket only after connection_lost."""
        if self.transport.get_extra_info("sslcontext") is not None:
            return
        handle = self.transport.get_extra_info("socket").fileno()
        try:
            data = os.read(handle, SALVAGE) if handle >= 0 else b""
        except OSError:  # nothing there, or the reset has swept it away: broken, as without this
            return
        if data:
            self._parse(data)
            self._tell()

    def _sink_failed(self, flight: EngineFlight, error: Exception) -> None:
        """The sink's call is lost, and only that: let through, the error would make the transport close a connection
        that may carry another call by now."""
        self.engine.loop.call_exception_handler({"message": "the sink of an upstream call failed", "exception": error})
        if self.flight is flight:
            self.drop()
            flight.fail(Failure("broken", "the sink failed"))

    # --- reading an answer

    def _is_plain(self, data: bytes) -> bool:
        """Whether this answer ends by a length, or by its last chunk and began with this read: not with an interim one."""
        chunked = self.length is None and self.coding is not None and data[9:12] == b"%d" % self.head.status
        framed = (chunked or (self.length is not None and self.coding is None)) and self.fault is None
        return framed and self.flight.send.method != "HEAD" and self.head.status not in BODILESS

    def _parse(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self.fault = self.fault or f"not HTTP: {error}"
        if self.head is None:
            self.head_bytes += len(data)
            if self.head_bytes > MAX_HEAD:
                self.fault = "the head of the answer does not end"

    def _tell(self) -> None:
        """After a read: pass on what there is, end the call if it is whole or at fault."""
        flight, answer, parts = self.flight, self.head, self.parts
        if answer is not None and self.source is not None:
            self.early, self.source = True, None
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        if self.complete:
            if self.keep_alive and self.fault is None:
                self._release(flight)
            else:
                self.drop()
            flight.answered(answer, data, True)
        elif self.fault is not None:
            self.drop()
            flight.broke(self.fault)
        elif answer is not None:
            self.parts = []
            flight.answered(answer, data, False)

    def _release(self, flight: EngineFlight | ShortCall) -> None:
        """The answer is whole, and no reason to end the connection."""
        sent = flight.uploaded and not self.early and self.source is None and self.transport.get_write_buffer_size() == 0
        if sent and not self.lost and not self._read_paused:
            self.flight = None
            if self.head is not None:
                self._reset()
            self.engine.released(self)  # from here on this connection may carry another call
        else:
            self.drop()

    # --- callbacks of the parser

    def on_message_begin(self) -> None:
        if self.complete:
            raise Unexpected("bytes after the end of the answer")

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.head is not None:
            return  # a trailer: nobody has asked for it
        name = name.lower()
        self.headers.append((name, value))
        if name == b"content-length":
            self.length = int(value)
        elif name == b"transfer-encoding":
            self.coding = value if self.coding is None else self.coding + b", " + value

    def on_headers_complete(self) -> None:
        status = self.parser.get_status_code()
        if status < 200:
            self.headers = []
            return
        if self.coding is not None and self.coding.lower() != b"chunked":
            self.fault = "an answer with a transfer-encoding other than chunked"
        self.head = AnswerHead(status, self.headers, self.length)
        if self.flight.send.method == "HEAD" or status in BODILESS:
            self.complete = True
            self.keep_alive = self.parser.should_keep_alive()
            self.parser = httptools.HttpResponseParser(self)

    def on_body(self, data: bytes) -> None:
        if self.complete:
            raise Unexpected("a body where there is none")
        self.parts.append(data)

    def on_message_complete(self) -> None:
        if self.head is not None and not self.complete:
            self.complete = True
            self.keep_alive = self.parser.should_keep_alive()
