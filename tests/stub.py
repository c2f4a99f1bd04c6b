"""A node that does what a test tells it: canned answers, faults byte by byte, echo, and a quick mode for benchmarks.

    async with Stub() as stub:
        stub.on("/canned", answer(200, b"{}"))      # bytes: written when the request has been read, without a task
        stub.on("/odd", script)                     # async def script(peer): started at the end of the request's head
        … stub.url, stub.requests, stub.connections

A script has a Peer: ``seen`` (what came), ``await body()``, ``write``, ``await drain()``, ``close`` (FIN), ``reset`` (RST),
``stop_reading``, ``read_slowly``, ``await gone()``. When it returns, the connection goes on to the next request. An exception
in a script is raised by ``__aexit__``. Any other path is answered by echo: the request as JSON.

``python -m tests.stub --port 9999 --size 400`` answers everything with that many bytes, as quickly as Python can.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import httptools


def answer(status: int = 200, body: bytes = b"", *headers: tuple[str, str], length: bool = True) -> bytes:
    """A whole answer as bytes, with a content-length unless told otherwise."""
    lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in headers)]
    if length:
        lines.append(f"content-length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def chunked(*parts: bytes, status: int = 200, trailers: bytes = b"") -> bytes:
    """A whole answer in chunks of exactly these parts."""
    body = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)
    return answer(status, b"", ("transfer-encoding", "chunked"), length=False) + body + b"0\r\n" + trailers + b"\r\n"


@dataclass(slots=True)
class Seen:
    """A request as it arrived. ``connection`` counts connections from 1."""

    connection: int
    method: str = ""
    target: bytes = b""
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytes = b""
    whole: bool = False

    def get(self, name: bytes) -> bytes | None:
        return next((value for key, value in self.headers if key.lower() == name), None)

    def as_json(self) -> bytes:
        told = {
            "method": self.method,
            "target": self.target.decode("latin-1"),
            "headers": [[name.decode("latin-1").lower(), value.decode("latin-1")] for name, value in self.headers],
            "body": base64.b64encode(self.body).decode(),
            "connection": self.connection,
        }
        return json.dumps(told).encode()


Script = Callable[["Peer"], Awaitable[None]]


class Peer:
    """One request's end of a connection, for a script."""

    def __init__(self, connection: _Connection, seen: Seen) -> None:
        self._connection = connection
        self.seen = seen

    def write(self, data: bytes) -> None:
        self._connection.transport.write(data)

    async def write_cut(self, data: bytes, cuts: list[int]) -> None:
        """Write in pieces that arrive apart: cuts are offsets."""
        for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            self.write(data[start:end])
            await asyncio.sleep(0.001)

    async def drain(self) -> None:
        await self._connection.can_write.wait()

    async def body(self) -> bytes:
        await self._connection.whole.wait()
        return self.seen.body

    async def gone(self) -> None:
        """Wait until the other side has hung up."""
        await self._connection.lost.wait()

    def stop_reading(self) -> None:
        self._connection.transport.pause_reading()

    def go_on_reading(self) -> None:
        self._connection.transport.resume_reading()

    def read_slowly(self, pause: float) -> None:
        """Stop for so many seconds after each read, with a small window."""
        self._connection.pause = pause
        self._connection.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)

    @property
    def is_gone(self) -> bool:
        return self._connection.lost.is_set()

    def close(self) -> None:
        self._connection.transport.close()

    def reset(self) -> None:
        raw = self._connection.transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._connection.transport.abort()


class _Connection(asyncio.Protocol):
    def __init__(self, stub: Stub) -> None:
        self.stub = stub
        self.parser = httptools.HttpRequestParser(self)
        self.can_write, self.whole, self.lost = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.can_write.set()
        self.pause = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:
        self.transport = transport
        self.stub.connections += 1
        self.stub.open.add(self)
        self.number = self.stub.connections

    def connection_lost(self, error: Exception | None) -> None:
        self.stub.open.discard(self)
        self.lost.set()
        self.can_write.set()

    def data_received(self, data: bytes) -> None:
        self.stub.bytes_read += len(data)
        self.parser.feed_data(data)
        if self.pause:
            self.transport.pause_reading()
            asyncio.get_running_loop().call_later(self.pause, self._read_on)

    def _read_on(self) -> None:
        if not self.transport.is_closing():
            self.transport.resume_reading()

    def pause_writing(self) -> None:
        self.can_write.clear()

    def resume_writing(self) -> None:
        self.can_write.set()

    def on_message_begin(self) -> None:
        self.seen = Seen(self.number)
        self.whole.clear()

    def on_url(self, url: bytes) -> None:
        self.seen.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.seen.headers.append((name, value))

    def on_headers_complete(self) -> None:
        seen = self.seen
        seen.method = self.parser.get_method().decode()
        if self.stub.record:
            self.stub.requests.append(seen)
        what = self.stub.answers.get(seen.target.split(b"?")[0], self.stub.default)
        if callable(what):
            self.stub.scripts.append(asyncio.get_running_loop().create_task(what(Peer(self, seen))))

    def on_body(self, data: bytes) -> None:
        self.seen.body += data

    def on_message_complete(self) -> None:
        self.seen.whole = True
        self.whole.set()
        what = self.stub.answers.get(self.seen.target.split(b"?")[0], self.stub.default)
        if isinstance(what, bytes):
            self.transport.write(what)
        elif what is None:
            self.transport.write(answer(200, self.seen.as_json(), ("content-type", "application/json")))


class Stub:
    """The server. ``stop`` and ``start`` again keep the port; ``stop`` cuts all connections."""

    def __init__(self, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1", port: int = 0) -> None:
        self.host, self.port, self.tls = host, port, tls
        self.answers: dict[bytes, bytes | Script] = {}
        self.default: bytes | Script | None = None
        self.record = True
        self.requests: list[Seen] = []
        self.connections = self.bytes_read = 0
        self.open: set[_Connection] = set()
        self.scripts: list[asyncio.Task[None]] = []
        self._server: asyncio.Server | None = None

    def on(self, path: str, what: bytes | Script) -> None:
        self.answers[path.encode()] = what

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}"

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), self.host, self.port, ssl=self.tls)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        self._server.close()
        self.cut()
        while self.open:
            await asyncio.sleep(0)
        await self._server.wait_closed()

    def cut(self) -> None:
        """Hang up on everybody."""
        for connection in list(self.open):
            connection.transport.abort()

    async def __aenter__(self) -> Stub:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()
        for task in self.scripts:
            if not task.done():
                task.cancel()
        for result in await asyncio.gather(*self.scripts, return_exceptions=True):
            if isinstance(result, Exception):
                raise result


def refusing_url() -> str:
    """A URL where nobody listens, nor will while this process lives: the port stays bound."""
    holder = socket.socket()
    holder.bind(("127.0.0.1", 0))
    port = holder.getsockname()[1]
    holder.detach()
    return f"http://127.0.0.1:{port}"


async def _serve(port: int, body: bytes) -> None:
    stub = Stub(port=port)
    stub.record = False
    stub.default = answer(200, body, ("content-type", "application/json"))
    await stub.start()
    print(stub.url, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--port", type=int, default=0)
    options.add_argument("--size", type=int, default=400, help="bytes of the answer's body")
    given = options.parse_args()
    asyncio.run(_serve(given.port, b"x" * given.size))
