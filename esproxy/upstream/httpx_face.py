"""The engine as an httpx transport: what the control plane's httpx clients, and users of the library, talk through.

    client = httpx.AsyncClient(transport=EngineTransport(engine, "main"), base_url="http://main")

The URL's host is a name for people; the cluster is the transport's. Bodies stream both ways: a request body of known,
small length is sent whole, any other as it comes; an answer is read from the node as fast as it is read from us. A whole
GET or HEAD may be repeated by the engine. The target is the raw one, or the request's ``target`` extension.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator

import httpx

from esproxy.exchange import Send
from esproxy.heads import AnswerHead
from esproxy.upstream.engine_api import EngineLike, Failure, Flight

WHOLE = 1 << 20  # bodies whose content-length is not above this are collected first
AHEAD = 256 << 10  # of an answer, kept for a reader who is slow

ERRORS: dict[str, type[httpx.TransportError]] = {
    "connect": httpx.ConnectError,
    "timeout": httpx.ReadTimeout,
    "broken": httpx.RemoteProtocolError,
    "refused": httpx.UnsupportedProtocol,
    "overflow": httpx.ReadError,
}


class EngineTransport(httpx.AsyncBaseTransport):
    """Does not own the engine: closing the client leaves it open."""

    def __init__(self, engine: EngineLike, cluster: str) -> None:
        self.engine = engine
        self.cluster = cluster

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        parts = aiter(request.stream)
        length = request.headers.get("content-length")
        streams = "transfer-encoding" in request.headers or (length is not None and int(length) > WHOLE)
        body = b"" if streams else b"".join([part async for part in parts])
        target = request.extensions.get("target", request.url.raw_path)
        headers = [(name.lower(), value) for name, value in request.headers.raw]
        send = Send(self.cluster, request.method, target, headers, body, last=not streams)
        send.held = send.last and request.method in ("GET", "HEAD")
        sink = _Stream(request)
        sink.flight = self.engine.start(send, sink)
        try:
            if streams:
                await sink.upload(parts)
            head = await sink.head
        except BaseException:
            sink.flight.cancel()
            raise
        if head is None:
            raise sink.error()
        kept = [(name, value) for name, value in head.headers if name != b"transfer-encoding"]
        return httpx.Response(head.status, headers=kept, stream=sink, extensions={"http_version": b"HTTP/1.1"})


class _Stream(httpx.AsyncByteStream):
    """The sink of one call, and the answer's body."""

    flight: Flight

    def __init__(self, request: httpx.Request) -> None:
        self.request = request
        self.head: asyncio.Future[AnswerHead | None] = asyncio.get_running_loop().create_future()
        self.parts: deque[bytes] = deque()
        self.size = 0
        self.ended = False
        self.failure: Failure | None = None
        self.news = asyncio.Event()
        self.can_write = asyncio.Event()
        self.can_write.set()

    # --- sink

    def may_send(self, now: float) -> bool:
        return True

    def open_answer(self, head: AnswerHead, attempt: int, chunk: bytes = b"", last: bool = False) -> None:
        if not self.head.done():
            self.head.set_result(head)
        self.can_write.set()
        self.feed_answer(chunk, last)

    def feed_answer(self, chunk: bytes, last: bool) -> None:
        if chunk:
            self.parts.append(chunk)
            self.size += len(chunk)
        self.ended = last
        if self.size > AHEAD and not last:
            self.flight.pause()
        self.news.set()

    def fail_answer(self, failure: Failure) -> None:
        self.failure = failure
        self.ended = True
        if not self.head.done():
            self.head.set_result(None)
        self.can_write.set()
        self.news.set()

    def writable(self, yes: bool) -> None:
        if yes:
            self.can_write.set()
        else:
            self.can_write.clear()

    # --- request body

    async def upload(self, parts: AsyncIterator[bytes]) -> None:
        async for part in parts:
            if self.head.done():
                return
            self.flight.more(part, False)
            await self.can_write.wait()
        self.flight.more(b"", True)

    # --- answer body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            while self.parts:
                part = self.parts.popleft()
                self.size -= len(part)
                if self.size <= AHEAD // 2 and not self.ended:
                    self.flight.resume()
                yield part
            if self.failure is not None:
                raise self.error()
            if self.ended:
                return
            self.news.clear()
            await self.news.wait()

    async def aclose(self) -> None:
        if not self.ended:
            self.ended = True
            self.flight.cancel()

    def error(self) -> httpx.TransportError:
        failure = self.failure
        return ERRORS[failure.what](f"{failure.what}: {failure.detail}", request=self.request)
