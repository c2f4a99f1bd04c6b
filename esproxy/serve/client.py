"""One request of a client on a connection of ours: its body on the way in, its answer on the way out. See ``protocol.py``.

The object is the driver of its exchange and the sink of its upstream call (``driver.py``). The common request is three calls:
``go_on`` gives head and body to the Gateway, the engine calls ``open_answer`` with the whole answer, ``deliver`` writes head and
body in one piece. Nothing is queued and nothing waits, so there is no task.

The way in. ``parts`` is what the parser has found since the last ``go_on``. A plain body is accepted as it comes; a compressed
one is inflated a step at a time as long as it is wanted, and goes on when ``hold_body`` says so. ``Expect: 100-continue``: the
exchange begins with the head alone, and the client is told to go on once the body is wanted.

The way out. Parts leave as they come; the transport's ``pause_writing`` becomes ``stall``. What lies there whole but leaves bit
by bit (a released spool, a large answer compressed in slices, what was spooled for HTTP/1.0) is a ``source``, poured a part at a
time as the client takes it, with the loop let go in between.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator
from typing import TYPE_CHECKING

from esproxy.errors import EsproxyError, Refusal
from esproxy.exchange import Release, Reply, Write
from esproxy.heads import AnswerHead, Head, Headers
from esproxy.serve.coding import STEP, Deflater, Inflater, uncoded
from esproxy.serve.driver import Driver, Proxy
from esproxy.serve.framing import (
    CHUNKED,
    CLOSE,
    CONTINUE,
    GZIPPED,
    WITHOUT_BODY,
    answer_head,
    chunk,
    close_spool,
    may_compress,
    unframed,
    whole_head,
)
from esproxy.spool import NoRoom, Spool

if TYPE_CHECKING:
    from esproxy.serve.protocol import ClientConnection

logger = logging.getLogger("esproxy.serve")
IN_MEMORY = 1 << 20  # a spool above it is an unlinked file
JOIN = 64 << 10  # bodies up to here are copied behind their head; larger ones are handed over beside it


class ClientRequest(Driver):
    """A shell's object per request. What few requests need has its default here and no place in each object."""

    __slots__ = ("__dict__", "begun", "client", "complete", "head", "keep_alive", "parts")

    http10 = False  # no chunks, and a cut answer looks like a whole one
    special = False  # Expect or a content coding: look closer before beginning
    refusal: EsproxyError | None = None  # it cannot be taken, whatever it is
    inflater: Inflater | None = None
    expects = False  # a word that the body is wanted
    pumping = False
    started = False  # the head of the answer has left
    chunked = False
    deflater: Deflater | None = None
    spool: Spool | None = None
    spooled: AnswerHead | None = None
    source: Generator[bytes, None, None] | None = None
    pouring: asyncio.Handle | None = None

    def __init__(self, client: ClientConnection, proxy: Proxy, head: Head, keep_alive: bool) -> None:
        super().__init__(proxy, head.method)
        self.client = client
        self.head = head
        self.keep_alive = keep_alive
        self.parts: list[bytes] = []  # of the body, found by the parser and not fed
        self.complete = False  # all of it has been found
        self.begun = False

    # --- the body ----------------------------------------------------------------------------------

    def go_on(self) -> None:
        """It is this request's turn, or more of it has come."""
        parts = self.parts
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        if self.begun or self.special:
            parts.clear()
            return self.go_on_closely(data)
        self.begun = True
        parts.clear()
        self.begin(self.head, data, self.complete)

    def go_on_closely(self, data: bytes) -> None:
        """All but the beginning of a plain request."""
        try:
            if not self.begun:
                self.begun = True
                self.begin_special(data)
            elif self.inflater is not None:
                self.inflater.feed(data)
                self.pump(self.inflater)
            elif data or self.complete:
                self.expects = False
                self.feed(data, self.complete)
        except Refusal as error:
            self.refuse(error)

    def begin_special(self, data: bytes) -> None:
        if self.refusal is not None:
            return self.refuse(self.refusal)
        self.inflater = inflater = uncoded(self.head, self.client.app.limits.max_inflate)
        self.expects = not self.http10 and not data and not self.complete and self.head.get(b"expect") is not None
        if inflater is None:
            self.begin(self.head, data, self.complete)
        else:
            inflater.feed(data)
            data = inflater.take()
            self.begin(self.head, data, self.complete and inflater.whole)
            self.pump(inflater)
        self.invite()

    def pump(self, inflater: Inflater) -> None:
        """Feed what is there inflated, a step at a time while it is wanted. Raises Refusal."""
        if self.pumping:
            return
        self.pumping = True
        try:
            while not (self.body_held or self.over or self.uploaded):
                data = inflater.take()
                if self.complete and inflater.whole:
                    self.feed(data, True)
                elif data:
                    self.feed(data, False)
                else:
                    if self.complete:
                        inflater.check_end()
                    return
        finally:
            self.pumping = False

    def hold_body(self, yes: bool) -> None:
        self.client.steer()
        if yes:
            return
        self.invite()
        if self.inflater is not None and not self.pumping:
            try:
                self.pump(self.inflater)
            except Refusal as error:
                self.refuse(error)

    def invite(self) -> None:
        """Tell a client that waits for it that its body is wanted."""
        if self.expects and not self.body_held and not self.over:
            self.expects = False
            self.client.write(CONTINUE)

    # --- the answer ----------------------------------------------------------------------------------

    def deliver(self, step: Write | Reply | Release) -> None:
        try:
            self.give(step)
        except Exception:
            logger.exception("an answer could not be written")
            self.proxy.stats.bugs += 1
            self.client.hang_up()

    def give(self, step: Write | Reply | Release) -> None:
        if type(step) is Reply:
            self.whole(step.status, step.headers, step.body, None)
        elif type(step) is Release:
            self.release(step)
        elif step.last and step.head is not None:
            self.whole(step.head.status, step.head.headers, step.data, step.head.length)
        elif self.http10:
            self.spool_part(step)
        else:
            self.part(step)

    def ends(self) -> bool:
        """Whether the connection ends with this answer. A body that was announced with ``Expect`` and not asked for may or may
        not come: what follows could not be told apart."""
        client = self.client
        if self.special and not self.uploaded and self.head.get(b"expect") is not None:
            return True
        return not self.keep_alive or client.ending or client.app.draining

    def whole(self, status: int, headers: Headers, body: bytes, length: int | None) -> None:
        """An answer in one piece. ``length``: of the body that a HEAD is not given, when it is not here."""
        client = self.client
        ends = self.ends()
        if client.state.default_headers:
            headers = client.state.default_headers + headers
        if self.method == "HEAD":
            client.write(whole_head(status, headers, len(body) if length is None else length, ends))
        elif status in WITHOUT_BODY:
            client.write(answer_head(status, [*unframed(headers), CLOSE] if ends else unframed(headers)))
        else:
            if len(body) >= self.client.app.limits.min_compress and may_compress(self.head, headers):
                headers = [*headers, GZIPPED]
                if len(body) > STEP and not self.http10:
                    self.write_head(status, headers, None, ends)
                    return self.pour(self.slices(body))
                body = Deflater().feed(body, True)
            text = whole_head(status, headers, len(body), ends)
            if len(body) <= JOIN:
                client.write(text + body)
            else:
                client.write(text)
                client.write(body)
        client.answered(ends)

    def write_head(self, status: int, headers: Headers, length: int | None, ends: bool) -> None:
        """The head of an answer that leaves in parts."""
        self.started = True
        headers = unframed(headers)
        if length is not None:
            headers.append((b"content-length", b"%d" % length))
        elif self.method != "HEAD":
            self.chunked = True
            headers.append(CHUNKED)
        if ends:
            headers.append(CLOSE)
        self.client.write(answer_head(status, headers))

    def part(self, step: Write) -> None:
        """A part of an answer; the first one carries its head."""
        if step.head is not None:
            head, headers = step.head, self.client.state.default_headers + step.head.headers
            if self.method != "HEAD" and may_compress(self.head, headers):
                self.deflater = Deflater()
                self.write_head(head.status, [*headers, GZIPPED], None, self.ends())
            else:
                self.write_head(head.status, headers, head.length, self.ends())
        data = step.data if self.deflater is None else self.deflater.feed(step.data, step.last)
        self.send(data, step.last)
        if step.last:
            self.client.answered(self.ends())

    def send(self, data: bytes, last: bool) -> None:
        if self.method == "HEAD":
            return
        if self.chunked and len(data) > JOIN:  # not copied into one piece
            self.client.write(b"%x\r\n" % len(data))
            self.client.write(data)
            data = b"\r\n" + chunk(b"", last)
        elif self.chunked:
            data = chunk(data, last)
        if data:
            self.client.write(data)

    def spool_part(self, step: Write) -> None:
        """An HTTP/1.0 client is sent nothing before all of it is there."""
        if self.spool is None:
            self.spool = Spool(IN_MEMORY)
            self.spooled = step.head
        try:
            self.spool.write(step.data)
        except NoRoom as error:
            return self.cut(error.reason) if self.over else self.refuse(error)
        if step.last:
            assert self.spooled is not None
            headers = self.client.state.default_headers + self.spooled.headers
            self.write_head(self.spooled.status, headers, len(self.spool), self.ends())
            self.pour(self.spooled_parts(self.spool))

    def release(self, step: Release) -> None:
        """A whole answer whose parts lie in a spool; it is emptied, and closed, by what is poured."""
        headers = self.client.state.default_headers + step.headers
        compress = self.method != "HEAD" and not self.http10 and step.length >= self.client.app.limits.min_compress
        if compress and may_compress(self.head, headers):
            self.deflater = Deflater()
            self.write_head(step.status, [*headers, GZIPPED], None, self.ends())
        else:
            self.write_head(step.status, headers, step.length, self.ends())
        self.pour(self.released_parts(step))

    def cut(self, why: str) -> None:
        """Close without the end of the answer; while nothing has left, as with a spool, there is a better answer."""
        if self.started:
            self.client.hang_up()
        else:
            if self.spool is not None:
                self.spool.close()
            instead = self.error_reply()
            self.whole(instead.status, instead.headers, instead.body, None)

    # --- what is poured -----------------------------------------------------------------------------

    @staticmethod
    def slices(body: bytes) -> Generator[bytes, None, None]:
        """A large answer compressed without keeping others waiting."""
        deflater = Deflater()
        for begin in range(0, len(body), STEP):
            yield deflater.feed(body[begin : begin + STEP], begin + STEP >= len(body))

    @staticmethod
    def spooled_parts(spool: Spool) -> Generator[bytes, None, None]:
        try:
            yield from spool.parts(STEP)
        finally:
            spool.close()

    def released_parts(self, step: Release) -> Generator[bytes, None, None]:
        try:
            for part in step.parts:
                yield part if self.deflater is None else self.deflater.feed(part, False)
        finally:
            close_spool(step)
        if self.deflater is not None:
            yield self.deflater.feed(b"", True)

    def pour(self, source: Generator[bytes, None, None]) -> None:
        self.source = source
        self.pour_on()

    def pour_on(self) -> None:
        """The next part, unless the client takes no more for now: then ``stall`` goes on."""
        self.pouring = None
        if self.source is None or self.client.blocked:
            return
        try:
            data = next(self.source, None)
        except Exception:
            logger.exception("an answer is cut: its rest cannot be read")
            self.proxy.stats.aborts += 1
            self.source = None
            return self.client.hang_up()
        if data is None:
            self.source = None
            if self.chunked:
                self.send(b"", True)
            return self.client.answered(self.ends())
        self.send(data, False)
        self.pouring = self.client.loop.call_soon(self.pour_on)

    def stall(self, yes: bool) -> None:
        super().stall(yes)
        if not yes and self.source is not None and self.pouring is None:
            self.pour_on()

    def leave(self) -> None:
        """The client is gone: also what is not under way any more but lies there for it ends."""
        super().leave()
        if self.pouring is not None:
            self.pouring.cancel()
        if self.source is not None:
            self.source.close()
            self.source = None
        if self.spool is not None:
            self.spool.close()
