"""A real server around an application, and a client that writes and reads bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import uvicorn

from esproxy.exchange import ANSWER, BODY
from esproxy.serve.asgi import DataApp
from esproxy.serve.driver import Proxy
from esproxy.serve.protocol import protocol
from tests.unit.serve.scripted import RecordingEngine, ScriptedGateway

SHELLS = {"asgi": "httptools", "protocol": protocol}  # what uvicorn is told to speak HTTP with
GET = b"GET /x HTTP/1.1\r\nhost: a\r\n\r\n"
JSON = [(b"content-type", b"application/json")]


class Server(uvicorn.Server):
    """Lets the test's signals alone."""

    def capture_signals(self):
        from contextlib import nullcontext

        return nullcontext()


@asynccontextmanager
async def started(app, http="httptools", grace: float = 2) -> AsyncIterator[Server]:
    """A server with a protocol class of uvicorn's or ours."""
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, http=http, ws="none", lifespan="on", log_config=None, proxy_headers=False,
        timeout_graceful_shutdown=grace,
    )  # fmt: skip
    server = Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.005)
        assert not task.done(), "the server did not start"
    try:
        yield server
    finally:
        server.should_exit = True
        await task


def port_of(server: Server) -> int:
    return server.servers[0].sockets[0].getsockname()[1]


@asynccontextmanager
async def served(app, http="httptools") -> AsyncIterator[int]:
    """The port on which the application is served."""
    async with started(app, http) as server:
        yield port_of(server)


@asynccontextmanager
async def scripted(http, *script, wants=BODY | ANSWER, grace: float = 2):
    """An application whose exchanges follow the script, and a connection to it."""
    app = DataApp(Proxy(ScriptedGateway(list(script), wants), RecordingEngine()))
    async with started(app, http, grace) as server:
        client = await Client.connect(port_of(server))
        client.server = server
        try:
            yield app, client
        finally:
            await client.close()


async def flights(app, number=1):
    """The engine's flights, once there are so many."""
    await until(lambda: len(app.proxy.engine.flights) >= number)
    return app.proxy.engine.flights


async def until(condition) -> None:
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.005)


def post(body: bytes, *headers: bytes, target: bytes = b"/x") -> bytes:
    lines = [b"POST " + target + b" HTTP/1.1", b"host: a", b"content-length: %d" % len(body), *headers]
    return b"\r\n".join([*lines, b"", b""]) + body


@dataclass
class Got:
    status: int
    headers: dict[bytes, bytes]
    body: bytes
    whole: bool
    closed: bool


class Client:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.server: Server | None = None

    @classmethod
    async def connect(cls, port: int) -> Client:
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def request(self, data: bytes, *, head: bool = False) -> Got:
        await self.send(data)
        return await self.answer(head=head)

    async def answer(self, *, head: bool = False) -> Got:
        """Read one answer; what ends early is not ``whole``."""
        lines = (await self.reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
        status = int(lines[0].split()[1])
        headers = dict(line.lower().split(b": ", 1) for line in lines[1:] if line)
        parts: list[bytes] = []
        whole = True
        try:
            if head or status in (100, 204, 304):
                pass
            elif headers.get(b"transfer-encoding") == b"chunked":
                while size := int(await self.reader.readline() or b"x", 16):
                    parts.append((await self.reader.readexactly(size + 2))[:-2])
                await self.reader.readline()
            else:
                parts.append(await self.reader.readexactly(int(headers[b"content-length"])))
        except (asyncio.IncompleteReadError, ValueError) as error:
            parts.append(getattr(error, "partial", b""))
            whole = False
        return Got(status, headers, b"".join(parts), whole, self.reader.at_eof())

    async def closed(self) -> bool:
        """Whether the server closes, with nothing more before that."""
        async with asyncio.timeout(5):
            return await self.reader.read() == b""

    async def close(self) -> None:
        self.writer.close()
        with suppress(ConnectionError):
            await self.writer.wait_closed()
