"""A stub in front of a node: forwards every request, and answers again those whose answer it has recorded.

    python benchmarks/replay.py --node http://127.0.0.1:9200

Its first line on standard output is its URL. Then it obeys lines on standard input and answers each with a line of JSON:

    record    from now on, keep what is forwarded
    replay    → the calls kept since "record"; from now on they are answered from memory

Recorded calls are the proxy's own: whatever it made of a client's request is the key (method, target, body), so names, filters
and ids are right in every layout, and all other calls go on to the node. Paths of the indices in which a proxy keeps its
catalogue, and those that have no segment, are never kept. Lines of a bulk are compared as JSON.

Replaying has to cost little, because the machine's cores are shared with what is measured: a read that held exactly one request
is itself a key (``known``), so a request that comes again byte for byte is a dict lookup and a write, without parsing. Requests
are not pipelined by those who call us; a second one before the answer to the first ends the connection.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import sys
from dataclasses import dataclass, field

import httptools
import httpx
import uvloop

KNOWN = 20_000  # reads that are remembered
HOP = frozenset(b"host connection content-length transfer-encoding accept-encoding keep-alive expect".split())

Key = tuple[bytes, bytes, bytes]  # method, target, body


@dataclass
class Memory:
    """What all connections share."""

    node: httpx.AsyncClient
    answers: dict[Key, bytes] = field(default_factory=dict)
    known: dict[bytes, bytes] = field(default_factory=dict)
    kept: list[tuple[Key, bytes]] | None = None  # a list while recording
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def record(self) -> list[dict[str, str]]:
        self.kept = []
        return []

    def replay(self) -> list[dict[str, str]]:
        kept, self.kept = self.kept or [], None
        self.answers.update(kept)
        self.known.clear()
        return [
            {"method": key[0].decode(), "target": key[1].decode(), "body": _text(key[2]), "answer": _text(answer)}
            for key, answer in kept
        ]


class Connection(asyncio.Protocol):
    """One client's connection."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.known = memory.known
        self.parser = httptools.HttpRequestParser(self)
        self.busy = False  # a request has begun and is not answered
        self.replayed: bytes | None = None  # the answer that this read was given

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvloop's are no subclasses
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        answer = self.known.get(data)
        if answer is not None and not self.busy:
            self.transport.write(answer)
            return
        began_here, self.replayed = not self.busy, None
        self.parser.feed_data(data)
        if began_here and not self.busy and self.replayed is not None and len(self.known) < KNOWN:
            self.known[data] = self.replayed

    def on_message_begin(self) -> None:
        if self.busy or self.replayed is not None:
            raise RuntimeError("requests are pipelined")
        self.busy = True
        self.target = self.body = b""
        self.headers: list[tuple[bytes, bytes]] = []

    def on_url(self, url: bytes) -> None:
        self.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name, value))

    def on_body(self, data: bytes) -> None:
        self.body += data

    def on_message_complete(self) -> None:
        memory, key = self.memory, (self.parser.get_method(), self.target, plain_lines(self.target, self.body))
        answer = memory.answers.get(key) if memory.kept is None else None
        if answer is not None:
            self.busy, self.replayed = False, answer
            self.transport.write(answer)
            return
        task = asyncio.get_running_loop().create_task(self.forward(key, self.headers))
        memory.tasks.add(task)
        task.add_done_callback(self.forwarded)

    async def forward(self, key: Key, headers: list[tuple[bytes, bytes]]) -> None:
        memory, (method, target, body) = self.memory, key
        sent = [(name, value) for name, value in headers if name.lower() not in HOP]
        answer = await memory.node.request(method.decode(), target.decode(), content=body, headers=sent)
        whole = as_bytes(method, answer)
        if memory.kept is not None and is_ours(target):
            memory.kept.append((key, whole))
        self.busy = False
        if not self.transport.is_closing():  # whoever asked may have left: wrk does at its end
            self.transport.write(whole)

    def forwarded(self, task: asyncio.Task[None]) -> None:
        self.memory.tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            print(f"replay: the node did not answer: {error!r}", file=sys.stderr)
            self.transport.abort()


def plain_lines(target: bytes, body: bytes) -> bytes:
    """A bulk's lines as JSON in one spelling: the proxy may write them in another as long as it has to find out what it needs."""
    if not target.partition(b"?")[0].endswith(b"/_bulk"):
        return body
    return b"".join(json.dumps(json.loads(line), sort_keys=True).encode() + b"\n" for line in body.splitlines())


def is_ours(target: bytes) -> bool:
    first = target[1:].partition(b"?")[0].partition(b"/")[0]
    return first != b"" and not first.startswith((b".", b"esproxy~"))


def as_bytes(method: bytes, answer: httpx.Response) -> bytes:
    """A node's answer with a length, whatever its own framing was."""
    lines = [f"HTTP/1.1 {answer.status_code} {answer.reason_phrase}".encode()]
    lines += [b"%b: %b" % pair for pair in answer.headers.raw if pair[0].lower() not in HOP]
    length = answer.headers.get("content-length", "0") if method == b"HEAD" else str(len(answer.content))
    return b"\r\n".join([*lines, b"content-length: " + length.encode(), b"", answer.content])


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


async def serve(url: str) -> None:
    loop = asyncio.get_running_loop()
    async with httpx.AsyncClient(base_url=url, timeout=60, trust_env=False, headers={"accept-encoding": "identity"}) as node:
        memory = Memory(node)
        server = await loop.create_server(lambda: Connection(memory), "127.0.0.1", 0)
        print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
        orders = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
        while word := (await orders.readline()).decode().strip():
            print(json.dumps({"record": memory.record, "replay": memory.replay}[word]()), flush=True)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--node", required=True, metavar="URL")
    uvloop.run(serve(options.parse_args().node))
