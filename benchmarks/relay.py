"""A relay that looks at nothing: what the event loop and the kernel cost of a proxied request, the least that one on uvloop can.

    python benchmarks/relay.py PORT HOST:PORT

Each client's connection has one to the node; what is read on one is written to the other.
"""

from __future__ import annotations

import asyncio
import sys

import uvloop


class Side(asyncio.Protocol):
    """One end of a pair."""

    transport: asyncio.Transport | None = None

    def __init__(self, other: Side | None = None) -> None:
        self.other = other
        self.early: list[bytes] = []  # read before the other end was there

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvloop's are no subclasses
        self.transport = transport
        if self.other is None:
            self.other = Side(self)
            host, _, port = sys.argv[2].rpartition(":")
            loop = asyncio.get_running_loop()
            self.connecting = loop.create_task(loop.create_connection(lambda: self.other, host, int(port)))
        else:
            transport.writelines(self.other.early)

    def data_received(self, data: bytes) -> None:
        if self.other.transport is None:
            self.early.append(data)
        elif not self.other.transport.is_closing():
            self.other.transport.write(data)

    def connection_lost(self, error: Exception | None) -> None:
        if self.other.transport is not None:
            self.other.transport.close()


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Side, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main())
