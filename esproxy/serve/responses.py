"""Answers as ASGI messages: framing (``framing.py``), compression, and the spool for HTTP/1.0.

Large answers are compressed a slice at a time, with the loop let go in between.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from starlette.types import Scope, Send

from esproxy.config import Limits
from esproxy.exchange import Release, Reply, Write
from esproxy.heads import AnswerHead, Head, Headers
from esproxy.serve.coding import STEP, Deflater
from esproxy.serve.framing import CLOSE, GZIPPED, WITHOUT_BODY, close_spool, left_unread, may_compress, unframed
from esproxy.spool import Spool

IN_MEMORY = 1 << 20  # a spool above it is an unlinked file


class AnswerCut(Exception):
    """Raised out of the application so that the server cuts the connection: the answer is not whole and must not look so."""


class Context(Protocol):
    limits: Limits
    draining: bool


class Response:
    """The answer to one request on its way out."""

    __slots__ = ("app", "deflater", "head", "http10", "send", "spool", "spooled", "started")

    def __init__(self, head: Head, scope: Scope, send: Send, app: Context) -> None:
        self.head = head
        self.app = app
        self.send = send
        self.http10 = scope["http_version"] == "1.0"
        self.started = False
        self.deflater: Deflater | None = None
        self.spool: Spool | None = None
        self.spooled: AnswerHead | None = None

    async def whole(self, status: int, headers: Headers, body: bytes, uploaded: bool, length: int | None = None) -> None:
        """An answer in one piece. ``length``: of the body that a HEAD is not given, when it is not here."""
        headers = self.framed(headers, uploaded)
        if self.head.method == "HEAD":
            headers.append((b"content-length", b"%d" % (len(body) if length is None else length)))
            await self.start(status, headers)
            return await self.body(b"", True)
        if status in WITHOUT_BODY:
            await self.start(status, headers)
            return await self.body(b"", True)
        if len(body) >= self.app.limits.min_compress and may_compress(self.head, headers):
            headers.append(GZIPPED)
            if len(body) > STEP and not self.http10:
                return await self.in_slices(status, headers, body)
            body = Deflater().feed(body, True)
        headers.append((b"content-length", b"%d" % len(body)))
        await self.start(status, headers)
        await self.body(body, True)

    async def in_slices(self, status: int, headers: Headers, body: bytes) -> None:
        """A large answer compressed without keeping others waiting."""
        await self.start(status, headers)
        deflater = Deflater()
        for begin in range(0, len(body), STEP):
            last = begin + STEP >= len(body)
            await self.body(deflater.feed(body[begin : begin + STEP], last), last)
            await asyncio.sleep(0)

    async def part(self, step: Write, uploaded: bool) -> None:
        """A part of an answer; the first one carries its head."""
        if self.http10:
            return await self.spool_part(step, uploaded)
        if not self.started:
            assert step.head is not None
            await self.start_parts(step.head, uploaded)
        if self.deflater is None:
            if step.data or step.last:
                await self.body(step.data, step.last)
            return
        for begin in range(0, len(step.data) or 1, STEP):
            last = step.last and begin + STEP >= len(step.data)
            data = self.deflater.feed(step.data[begin : begin + STEP], last)
            if data or last:
                await self.body(data, last)

    async def start_parts(self, head: AnswerHead, uploaded: bool) -> None:
        headers = self.framed(head.headers, uploaded)
        if self.head.method != "HEAD" and may_compress(self.head, headers):
            self.deflater = Deflater()
            headers.append(GZIPPED)
        elif head.length is not None:
            headers.append((b"content-length", b"%d" % head.length))
        await self.start(head.status, headers)

    async def release(self, step: Release, uploaded: bool) -> None:
        """A whole answer whose parts lie in a spool; it is emptied, and closed, here."""
        headers = self.framed(step.headers, uploaded)
        compress = self.head.method != "HEAD" and not self.http10 and may_compress(self.head, headers)
        if compress and step.length >= self.app.limits.min_compress:
            self.deflater = Deflater()
            headers.append(GZIPPED)
        else:
            headers.append((b"content-length", b"%d" % step.length))
        await self.start(step.status, headers)
        try:
            for part in step.parts:
                data = part if self.deflater is None else self.deflater.feed(part, False)
                if data and self.head.method != "HEAD":
                    await self.body(data, False)
                await asyncio.sleep(0)
        finally:
            close_spool(step)
        await self.body(b"" if self.deflater is None else self.deflater.feed(b"", True), True)

    async def spool_part(self, step: Write, uploaded: bool) -> None:
        """An HTTP/1.0 client is sent nothing before all of it is there."""
        if self.spool is None:
            self.spool = Spool(IN_MEMORY)
            self.spooled = step.head
        self.spool.write(step.data)
        if not step.last:
            return
        assert self.spooled is not None
        headers = self.framed(self.spooled.headers, uploaded)
        headers.append((b"content-length", b"%d" % len(self.spool)))
        await self.start(self.spooled.status, headers)
        for data in self.spool.parts(STEP):
            await self.body(data, False)
        await self.body(b"", True)

    def close(self) -> None:
        if self.spool is not None:
            self.spool.close()

    async def cut(self, why: str, instead: Reply) -> None:
        """Let the server cut the connection; while nothing has left, as with a spool, there is a better answer."""
        if self.started:
            raise AnswerCut(why)
        await self.whole(instead.status, instead.headers, instead.body, uploaded=True)

    def framed(self, headers: Headers, uploaded: bool) -> Headers:
        """The headers without framing, and with the end of the connection where it has to end."""
        kept = unframed(headers)
        if self.app.draining or left_unread(self.head, uploaded):
            kept.append(CLOSE)
        return kept

    async def start(self, status: int, headers: Headers) -> None:
        self.started = True
        await self.send({"type": "http.response.start", "status": status, "headers": headers})

    async def body(self, data: bytes, last: bool) -> None:
        """A slice at a time: a server copies what it is given, and waits for a slow client only in between."""
        for begin in range(0, len(data) - STEP, STEP):
            await self.send({"type": "http.response.body", "body": data[begin : begin + STEP], "more_body": True})
        rest = len(data) % STEP or min(len(data), STEP)
        tail = data if len(data) <= STEP else data[len(data) - rest :]
        await self.send({"type": "http.response.body", "body": tail, "more_body": not last})
