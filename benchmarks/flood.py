"""A stub that takes endless bulks and gives endless answers, in front of a node that serves everything else.

    python benchmarks/flood.py --node http://127.0.0.1:9200

Its first line on standard output is its URL. Then it obeys lines on standard input and answers each with a line of JSON:

    give COUNT    answer searches whose body holds ``"size":10000`` with so many hits
    pace BYTES    from now on read and write no more than so many bytes a second on each connection; 0: as they come
    taken         → number of documents of bulks since the last ``taken``, and the SHA-256 of their ids and texts in order

Bulks are answered item by item, as a node answers when nothing stands in the way. What a layout makes of a hit
is seen by what it sent: the index in the path or the action, the routing in the filter, the object that a document is nested in.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import re
import sys
from dataclasses import dataclass, field

import httpx
import replay
import uvloop

GIVEN = b'"size":10000'
AT_ONCE = 500  # hits
INDEX, ID = re.compile(rb'"_index":"([^"]*)"'), re.compile(rb'"_id":"([^"]*)"')
ROUTING = re.compile(rb'"_routing":"([^"]*)"')
NEST = re.compile(rb'\{"(?:n\d+)":\{')
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
MADE = b'"_version":1,"result":"created","_shards":{"total":1,"successful":1,"failed":0},"_seq_no":0,"_primary_term":1'
TEXTS = [" ".join(f"{(i * 7919 + j * 104729) % 99991:05d}" for j in range(10 + i)).encode() for i in range(16)]


def document(number: int) -> bytes:
    """All documents there are, in bulks and in answers: 80 to 180 bytes."""
    return b'{"number":%d,"text":"%b"}' % (number, TEXTS[number & 15])


def item(index: bytes, id: bytes) -> bytes:
    return b'{"index":{"_index":"%b","_id":"%b",%b,"status":201}}' % (index, id, MADE)


def hit(index: bytes, id: bytes, routing: bytes, source: bytes) -> bytes:
    return b'{"_index":"%b","_id":"%b","_score":1.0%b,"_source":%b}' % (index, id, routing, source)


def around(hits: int) -> tuple[bytes, bytes]:
    """What stands before and behind the hits of an answer."""
    shards = b'{"total":1,"successful":1,"skipped":0,"failed":0}'
    before = b'{"took":1,"timed_out":false,"_shards":%b,"hits":{"total":{"value":%d,"relation":"eq"},"max_score":1.0,"hits":['
    return before % (shards, hits), b"]}}"


@dataclass
class Memory(replay.Memory):
    hits: int = 0
    pace: int = 0
    documents: int = 0
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)
    nest: bytes = b""  # the object in which documents of bulks were nested

    def taken(self) -> list[object]:
        told: list[object] = [self.documents, self.digest.hexdigest()]
        self.documents, self.digest = 0, hashlib.sha256()
        return told


class Connection(replay.Connection):
    memory: Memory

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.flood = False
        self.can_write = asyncio.Event()
        self.can_write.set()

    def pause_writing(self) -> None:
        self.can_write.clear()

    def resume_writing(self) -> None:
        self.can_write.set()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.memory.pace and len(data) > 1000:
            self.transport.pause_reading()
            asyncio.get_running_loop().call_later(len(data) / self.memory.pace, self.read_on)

    def read_on(self) -> None:
        if not self.transport.is_closing():
            self.transport.resume_reading()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.parts: list[bytes] = []

    def on_headers_complete(self) -> None:
        path = self.target.partition(b"?")[0]
        self.flood = path.endswith(b"/_bulk") and not path.startswith((b"/.", b"/esproxy"))

    def on_body(self, data: bytes) -> None:
        self.parts.append(data)

    def on_message_complete(self) -> None:
        self.body = b"".join(self.parts)
        path = self.target.partition(b"?")[0]
        if self.flood:
            self.busy = False
            self.start(self.answer(self.bulk(path[1:].partition(b"/")[0], self.body)))
        elif path.endswith(b"/_search") and GIVEN in self.body:
            self.busy = False
            self.start(self.search(path[1:].partition(b"/")[0], self.body))
        else:
            super().on_message_complete()

    def start(self, job: object) -> None:
        task = asyncio.get_running_loop().create_task(job)  # type: ignore[arg-type]
        self.memory.tasks.add(task)
        task.add_done_callback(self.forwarded)

    def bulk(self, default: bytes, body: bytes) -> bytes:
        memory, items = self.memory, []
        lines = body.split(b"\n")
        for action, source in zip(lines[0:-1:2], lines[1:-1:2], strict=True):
            named, id = INDEX.search(action), ID.search(action)[1]
            index = default if named is None else named[1]
            nest = NEST.match(source)
            memory.nest = b"" if nest is None else nest[0][:-1]
            if nest is not None:
                source = source[len(memory.nest) : -1]
            items.append(item(index, id))
            memory.digest.update(id.rpartition(b":")[2] + b" " + source + b"\n")
        memory.documents += len(items)
        return b'{"took":1,"errors":false,"items":[' + b",".join(items) + b"]}"

    async def answer(self, body: bytes) -> None:
        await self.write(HEAD + b"content-length: %d\r\n\r\n" % len(body))
        for at in range(0, len(body), 1 << 16):
            await self.write(body[at : at + (1 << 16)])

    async def search(self, index: bytes, body: bytes) -> None:
        found, total = ROUTING.search(body), self.memory.hits
        scope = found[1] if found is not None else b""  # its colon stands behind it
        routing = b',"_routing":"%b"' % scope if scope else b""
        nest, end = self.memory.nest, b"}" if self.memory.nest else b""
        before, behind = around(total)
        await self.write(HEAD + b"transfer-encoding: chunked\r\n\r\n" + chunk(before))
        for first in range(0, total, AT_ONCE):
            numbers = range(first, min(first + AT_ONCE, total))
            hits = [hit(index, scope + b"%d" % n, routing, nest + document(n) + end) for n in numbers]
            await self.write(chunk((b"," if first else b"") + b",".join(hits)))
        await self.write(chunk(behind) + b"0\r\n\r\n")

    async def write(self, data: bytes) -> None:
        self.transport.write(data)
        await self.can_write.wait()
        if self.memory.pace:
            await asyncio.sleep(len(data) / self.memory.pace)

    def connection_lost(self, error: Exception | None) -> None:
        self.can_write.set()


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def serve(url: str) -> None:
    loop = asyncio.get_running_loop()
    async with httpx.AsyncClient(base_url=url, timeout=60, trust_env=False, headers={"accept-encoding": "identity"}) as node:
        memory = Memory(node)
        server = await loop.create_server(lambda: Connection(memory), "127.0.0.1", 0)
        print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
        orders = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
        while line := (await orders.readline()).decode():
            word, *rest = line.split()
            told: list[object] = []
            if word == "taken":
                told = memory.taken()
            elif word == "give":
                memory.hits = int(rest[0])
            else:
                memory.pace = int(rest[0])
            print(json.dumps(told), flush=True)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--node", required=True, metavar="URL")
    uvloop.run(serve(options.parse_args().node))
