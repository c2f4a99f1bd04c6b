"""A real server around an application, and a client that writes and reads bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import uvicorn


class Server(uvicorn.Server):
    """Lets the test's signals alone."""

    def capture_signals(self):
        from contextlib import nullcontext

        return nullcontext()


@asynccontextmanager
async def served(app) -> AsyncIterator[int]:
    """The port on which the application is served."""
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, http="httptools", ws="none", lifespan="on", log_config=None, timeout_graceful_shutdown=2
    )
    server = Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.005)
        assert not task.done(), "the server did not start"
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await task


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
        body, whole = b"", True
        try:
            if head or status in (100, 204, 304):
                pass
            elif headers.get(b"transfer-encoding") == b"chunked":
                while size := int(await self.reader.readline() or b"x", 16):
                    body += await self.reader.readexactly(size + 2)
                    body = body[:-2]
                await self.reader.readline()
            else:
                body = await self.reader.readexactly(int(headers[b"content-length"]))
        except (asyncio.IncompleteReadError, ValueError) as error:
            body += getattr(error, "partial", b"")
            whole = False
        return Got(status, headers, body, whole, self.reader.at_eof())

    async def close(self) -> None:
        self.writer.close()
        await self.writer.wait_closed()
