"""One connection of a client and two to a node, without sockets: what is said on them, whichever way a request goes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace

import uvicorn
from uvicorn.server import ServerState

from esproxy.gateway import Gateway
from esproxy.serve import short
from esproxy.serve.asgi import DataApp
from esproxy.serve.driver import Proxy
from esproxy.serve.protocol import ClientConnection
from esproxy.upstream.client import Engine
from esproxy.upstream.connection import Connection
from esproxy.upstream.flight import EngineFlight
from esproxy.upstream.spec import ClusterSpec
from tests.unit.gateway.whole import gateway

NODE = "http://127.0.0.1:9"


def asked(method: bytes, target: bytes, body: bytes = b"", *lines: bytes) -> bytes:
    length = [b"content-type: application/json", b"content-length: %d" % len(body)] if body else []
    return b"\r\n".join([b"%b %b HTTP/1.1" % (method, target), b"host: a", b"x-tenant: acme", *length, *lines, b"", body])


def answered(body: bytes, *lines: bytes, status: bytes = b"200 OK") -> bytes:
    told = [b"content-type: application/json", *lines, b"content-length: %d" % len(body)]
    return b"\r\n".join([b"HTTP/1.1 " + status, *told, b"", body])


class Transport:
    """A socket that records. ``full``: what was written stays in its buffer."""

    def __init__(self, name: str, log: list[object]) -> None:
        self.name, self.log, self.closing, self.full = name, log, False, 0

    def write(self, data: bytes) -> None:
        if self.log and self.log[-1][:2] == (self.name, "write"):  # whether it leaves in one piece or two does not matter
            data = self.log.pop()[2] + data
        self.log.append((self.name, "write", data))

    def end(self, how: str) -> None:
        if not self.closing:
            self.closing = True
            self.log.append((self.name, how))

    def close(self) -> None:
        self.end("close")

    def abort(self) -> None:
        self.end("abort")

    def pause_reading(self) -> None:
        self.log.append((self.name, "pause"))

    def resume_reading(self) -> None:
        self.log.append((self.name, "resume"))

    def is_closing(self) -> bool:
        return self.closing

    def can_write_eof(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return self.full

    def get_extra_info(self, name: str, default: object = None) -> object:
        return ("127.0.0.1", 9) if name in ("peername", "sockname") else default


class Side:
    """A client's connection, and two to the node."""

    def __init__(self, *, straight: bool, made: Gateway) -> None:
        self.log: list[object] = []
        self.now = 0.0
        self.placed: list[EngineFlight] = []  # flights that need a new connection
        self.gateway = made
        if not straight:
            self.gateway.shortcut = lambda head: False  # type: ignore[method-assign]
        self.engine = Engine({"main": ClusterSpec([NODE], idle_timeout=1e9)}, clock=lambda: self.now)
        self.place, self.engine._place = self.engine._place, self.placing  # type: ignore[method-assign]
        self.app = DataApp(Proxy(self.gateway, self.engine))
        self.app.sweeper = SimpleNamespace(watch=lambda *_: None)
        self.client = self.connect()
        cluster = self.engine.clusters["main"]
        (self.node,) = cluster.nodes
        for name in ("spare", "node"):
            connection = Connection(self.engine, cluster, self.node)
            connection.connection_made(Transport(name, self.log))
            self.node.connections.add(connection)
            self.node.idle.append(connection)

    def placing(self, flight: EngineFlight) -> bool:
        if self.node.idle and not flight.attempt:
            return self.place(flight)
        self.placed.append(flight)
        return True

    def connect(self) -> ClientConnection:
        made = ClientConnection(self.app, ServerState(), uvicorn.Config(self.app), asyncio.get_running_loop())
        made.connection_made(Transport("client", self.log))
        return made

    def busy(self) -> Connection:
        (connection,) = [each for each in self.node.connections if each.flight is not None]
        return connection

    def respond(self, answer: bytes) -> None:
        """The node answers, if it has been asked."""
        busy = [each for each in self.node.connections if each.flight is not None]
        self.log.append(("asked", len(busy), [flight.send for flight in self.placed]))
        for connection in busy:
            connection.data_received(answer)

    def ask(self, request: bytes, answer: bytes) -> None:
        self.client.data_received(request)
        self.busy().data_received(answer)

    def told(self) -> list[object]:
        stats = self.app.proxy.stats.take()
        counted = self.gateway.violations, self.gateway.unknown_keys
        return [*self.log, stats["in_flight"], stats["requests"], stats["disconnects"], stats["bugs"], *counted]


Story = Callable[[Side], None]


async def both(story: Story, *, engine: str = "opensearch", warm: tuple[bytes, bytes], make=gateway, monkeypatch) -> int:
    """Play it on both ways, where ``warm`` has come before; how often something went straight."""
    gone: list[bool] = []
    go = short.go
    monkeypatch.setattr("esproxy.serve.protocol.go", lambda *args: gone.append(go(*args)) or gone[-1])
    logs = []
    for straight in (False, True):
        side = Side(straight=straight, made=make(engine))
        for _ in range(3):
            side.ask(*warm)
        side.log.clear()
        before = sum(gone)
        story(side)
        logs.append(side.told())
        side.client.connection_lost(None)
        side.engine._sweeper.cancel()
    assert logs[0] == logs[1]
    assert len(logs[0]) > 5
    return sum(gone) - before
