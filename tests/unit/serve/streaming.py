"""The whole proxy in one process, in front of a stub: a real server, driver, Gateway and engine, with a small window."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import orjson

from esproxy.serve.asgi import DataApp
from esproxy.serve.driver import Proxy
from esproxy.upstream.client import Engine
from esproxy.upstream.plain import HttpxEngine
from esproxy.upstream.spec import ClusterSpec
from tests.stub import Peer, Stub
from tests.unit.gateway.whole import gateway
from tests.unit.pools.pool_gate import Gate, gate
from tests.unit.serve.http import SHELLS, Client, Got, served

WINDOW = 64 << 10
LAYOUTS = ("dedicated", "per-tenant", "shared")
HEAD = b"HTTP/1.1 200 X\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"


@dataclass
class World:
    layout: str
    stub: Stub
    proxy: Proxy
    port: int
    gate: Gate | None

    @property
    def index(self) -> str:
        """What the tenant's index ``books`` is called on the node."""
        return "acme.books" if self.layout == "dedicated" else "pool~books-1"

    @property
    def foreign(self) -> str:
        return "zenith.books" if self.layout == "dedicated" else "pool~others-1"

    def id(self, id: str) -> str:
        return id if self.layout == "dedicated" else f"acme.18:{id}"

    def document(self, source: dict[str, Any]) -> dict[str, Any]:
        """A document as it is stored."""
        return {"n18": source} if self.layout == "per-tenant" else source

    def stored(self, source: bytes) -> bytes:
        return b'{"n18":' + source + b"}" if self.layout == "per-tenant" else source

    def hit(self, number: int) -> dict[str, Any]:
        """A hit as the node sends it."""
        source = self.document({"w": "x" * 200})
        found = {"_index": self.index, "_id": self.id(str(number)), "_score": 1.0, "_source": source}
        return found if self.layout == "dedicated" else {**found, "_routing": "acme.18:"}

    def search_answer(self, count: int) -> bytes:
        hits = {"total": {"value": count, "relation": "eq"}, "max_score": 1.0, "hits": [self.hit(i) for i in range(count)]}
        return orjson.dumps({"took": 1, "timed_out": False, "hits": hits})

    def on_search(self, what: Any) -> None:
        """Answer the search over ``books``, which pools route."""
        self.stub.on(f"/{self.index}/_search", what)

    async def ask(self, method: str, path: str, body: bytes = b"", *headers: bytes) -> Got:
        client = await Client.connect(self.port)
        try:
            return await client.request(request(method, path, body, *headers), head=method == "HEAD")
        finally:
            await client.close()


def request(method: str, path: str, body: bytes = b"", *headers: bytes) -> bytes:
    lines = [f"{method} {path} HTTP/1.1".encode(), b"host: a", b"x-tenant: acme", b"content-length: %d" % len(body), *headers]
    if body and not any(header.startswith(b"content-type") for header in headers):
        lines.append(b"content-type: application/json")
    return b"\r\n".join([*lines, b"", b""]) + body


@asynccontextmanager
async def world(layout: str, *, shell: str = "protocol", transport: str = "engine", **limits: Any) -> AsyncIterator[World]:
    limits = {"window": WINDOW, **limits}
    async with Stub() as stub:
        pools = gate(limits=limits, layout=layout) if layout != "dedicated" else None
        gateway_ = pools.gateway if pools is not None else gateway(limits=limits)
        spec = ClusterSpec([stub.url], answer_timeout=20)
        engine = {"engine": Engine, "httpx": HttpxEngine}[transport]({"main": spec})
        proxy = Proxy(gateway_, engine)
        app = DataApp(proxy)
        app.limits = gateway_.settings.limits
        async with served(app, SHELLS[shell]) as port:
            yield World(layout, stub, proxy, port, pools)
        await proxy.aclose()


def pieces(body: bytes, size: int = 16 << 10) -> Iterator[bytes]:
    for at in range(0, len(body), size):
        yield body[at : at + size]


def in_chunks(body: bytes, *, end: bool = True, size: int = 16 << 10):
    """A script that sends a body in chunks, and its end if wanted; else it hangs up."""

    async def script(peer: Peer) -> None:
        await peer.body()
        peer.write(HEAD)
        for piece in pieces(body, size):
            peer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await peer.drain()
        if end:
            peer.write(b"0\r\n\r\n")
        else:
            peer.close()

    return script
