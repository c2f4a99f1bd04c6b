"""What supervisor and worker tell each other, over a socket pair that both hold one end of.

    supervisor → worker   the settings (length and JSON), then lines: {"do": "drain"}
    worker → supervisor   lines: {"is": "ready"}, {"is": "report", …} once a second and at the end

The end of the pair is a message too: a worker whose supervisor is gone drains and ends, however the supervisor ended.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
from typing import Any

import orjson

logger = logging.getLogger("esproxy.serve")
LENGTH = struct.Struct("!Q")
LINE_LIMIT = 16 << 20


def pack_settings(text: str) -> bytes:
    data = text.encode()
    return LENGTH.pack(len(data)) + data


def read_settings(end: socket.socket) -> str:
    """Blocks. Raises EOFError when the supervisor is gone."""
    (size,) = LENGTH.unpack(read_exactly(end, LENGTH.size))
    return read_exactly(end, size).decode()


def read_exactly(end: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = end.recv(size - len(data))
        if not part:
            raise EOFError("the supervisor is gone")
        data += part
    return data


class Line:
    """One end of the pair, once the settings have passed."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def on(cls, end: socket.socket) -> Line:
        end.setblocking(False)
        return cls(*await asyncio.open_connection(sock=end, limit=LINE_LIMIT))

    def say(self, **message: Any) -> None:
        """Never waits: messages are small, and the other end reads or is gone."""
        if not self.writer.is_closing():
            self.writer.write(orjson.dumps(message) + b"\n")

    async def hear(self) -> dict[str, Any] | None:
        """The next message; None when the other end is gone, or says what is no message."""
        try:
            line = await self.reader.readline()
            return orjson.loads(line) if line.endswith(b"\n") else None
        except ConnectionError:
            return None
        except ValueError as error:  # no JSON, or a line without end
            logger.error("the other process said what is no message: %s", error)
            return None

    async def close(self) -> None:
        self.writer.close()
        try:
            await self.writer.wait_closed()
        except ConnectionError:
            return  # the other end was quicker
