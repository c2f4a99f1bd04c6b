"""What a worker holds in memory: streams in both directions, idle, with idle connections, with many tenants.

    python benchmarks/memory.py                          # a node of its own, all layouts, 1 GiB each way: some ten minutes
    python benchmarks/memory.py --upstream http://127.0.0.1:9200 --mib 128 --layout dedicated
    python benchmarks/memory.py --shell asgi --store NAME

Streams, each against a stub (flood.py) in front of a node: a bulk of small documents in chunked coding, and a search whose answer
is as large; plain, with gzip both ways, and slow, where whoever reads what the proxy writes (the stub a bulk, the client its
answer) stands still, then crawls, and only then reads on. *Growth* is the peak of the worker's resident memory above what it was
before, after the same requests in small; files of a spool are not in it. Every answer is compared with what it has to be, and so
is what the stub has taken, by SHA-256 over ids, documents, items and hits in order.

Bars: growth below 48 MiB; an idle worker at most 80 MiB; each idle client connection at most 16 KiB; ten thousand registered
tenants at most 40 MiB, each of whom has asked something. Exit status 1 when something is wrong or a bar is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import report
import stage
from cases import HEADER, Wrong
from flood import GIVEN, around, document, hit, item

from esproxy.config import LAYOUTS_AVAILABLE
from esproxy.embedded import ENGINES

FLOOD = Path(__file__).with_name("flood.py")
TENANT = "flood-1"
MIB = 1 << 20
PIECE = 1 << 16
CONNECTIONS = 2000
TENANTS = 10_000
STILL, CRAWL, CRAWL_PACE = 8.0, 12.0, 512 << 10  # seconds, seconds, bytes a second
BARS = {"growth": 48.0, "idle": 80.0, "connection": 16.0, "tenants": 40.0}
MAPPING = {"mappings": {"properties": {"number": {"type": "long"}, "text": {"type": "text"}}}}
KINDS = ("plain", "gzip", "slow")
STREAMS = ("bulk", "search")


# --- the worker's memory -------------------------------------------------------------------------------


class Worker:
    """The one worker of a proxy."""

    def __init__(self, supervisor: int) -> None:
        found = subprocess.run(["pgrep", "-P", str(supervisor)], capture_output=True, text=True, check=True)
        (self.pid,) = map(int, found.stdout.split())

    def _status(self, name: str) -> float:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(name + ":"):
                return int(line.split()[1]) / 1024
        raise Wrong("the worker is gone")

    @property
    def now(self) -> float:
        """MiB that are resident."""
        return self._status("VmRSS")

    def forget_peak(self) -> float:
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")
        return self.now

    @property
    def peak(self) -> float:
        return self._status("VmHWM")


# --- a client --------------------------------------------------------------------------------------------


@dataclass
class Reading:
    """How an answer is read: in what pace, and what of it is hashed (all behind ``marker``)."""

    slow: bool
    marker: bytes


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def connect(cls, url: str, *, small: bool = False) -> Client:
        host, port = url.removeprefix("http://").split(":")
        raw = socket.create_connection((host, int(port)))
        if small:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 15)
        return cls(*await asyncio.open_connection(sock=raw, limit=PIECE))

    async def send(self, method: str, path: str, body: Iterator[bytes], *headers: str) -> None:
        head = [f"{method} {path} HTTP/1.1", "host: a", *headers, "transfer-encoding: chunked", "", ""]
        self.writer.write("\r\n".join(head).encode())
        for piece in body:
            if piece:
                self.writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                await self.writer.drain()
        self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()

    async def answer(self, how: Reading) -> tuple[int, str]:
        """Bytes of a good answer, inflated, and the hash of what is behind the marker."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        if " 200 " not in head.partition("\r\n")[0]:
            raise Wrong(head + (await self.reader.read(2000)).decode(errors="replace"))
        inflate = zlib.decompressobj(31) if "content-encoding: gzip" in head else None
        size, digest, start, found = 0, hashlib.sha256(), b"", False
        async for data in self._body(head, how.slow):
            data = data if inflate is None else inflate.decompress(data)
            size += len(data)
            if not found:
                start += data
                _, marker, data = start.partition(how.marker)
                found = bool(marker)
            if found:
                digest.update(data)
        if inflate is not None and not inflate.eof:
            raise Wrong("the compressed answer has no end")
        return size, digest.hexdigest()

    async def _body(self, head: str, slow: bool) -> AsyncIterator[bytes]:
        began = time.monotonic()
        if slow:
            await asyncio.sleep(STILL)
        chunked = "transfer-encoding: chunked" in head
        size = 0 if chunked else int(head.partition("content-length: ")[2].partition("\r\n")[0])
        while True:
            if chunked:
                line = await self.reader.readline()
                if not line:
                    raise Wrong("the answer was cut")
                size = int(line, 16)
            left = size
            while left:
                data = await self.reader.read(min(left, PIECE))
                if not data:
                    raise Wrong("the answer was cut")
                left -= len(data)
                yield data
                if slow and time.monotonic() < began + STILL + CRAWL:
                    await asyncio.sleep(len(data) / CRAWL_PACE)
            if chunked and await self.reader.readline() != b"\r\n":
                raise Wrong("the answer was cut")
            if not chunked or not size:
                return

    def close(self) -> None:
        self.writer.close()


# --- streams -----------------------------------------------------------------------------------------------


def records(count: int) -> Iterator[bytes]:
    for first in range(0, count, 500):
        numbers = range(first, min(first + 500, count))
        yield b"".join([b'{"index":{"_id":"%d"}}\n%b\n' % (n, document(n)) for n in numbers])


def compressed(pieces: Iterator[bytes]) -> Iterator[bytes]:
    deflate = zlib.compressobj(1, wbits=31)
    for piece in pieces:
        yield deflate.compress(piece)
    yield deflate.flush()


@dataclass(frozen=True)
class Expected:
    taken: str
    items: str
    hits: str


def expect(index: bytes, count: int) -> Expected:
    """Hashes of what the stub takes, of the items and of the hits, with all that stands behind them."""
    taken, items, hits = hashlib.sha256(), hashlib.sha256(), hashlib.sha256()
    for n in range(count):
        id, source, comma = b"%d" % n, document(n), b"," if n else b""
        taken.update(id + b" " + source + b"\n")
        items.update(comma + item(index, id))
        hits.update(comma + hit(index, id, b"", source))
    items.update(b"]}")
    hits.update(around(count)[1])
    return Expected(taken.hexdigest(), items.hexdigest(), hits.hexdigest())


class Streams:
    """The two streams of one proxy."""

    def __init__(self, stub: stage.Stub, url: str, index: str) -> None:
        self.stub, self.url, self.index = stub, url, index

    async def bulk(self, kind: str, count: int, expected: Expected) -> None:
        slow, coded = kind == "slow", kind == "gzip"
        client = await Client.connect(self.url, small=slow)
        pieces = compressed(records(count)) if coded else records(count)
        headers = ["content-encoding: gzip", "accept-encoding: gzip"] if coded else []
        loop = asyncio.get_running_loop()
        if slow:
            await loop.run_in_executor(None, self.stub.order, f"pace {CRAWL_PACE}")
            loop.call_later(STILL + CRAWL, self.stub.order, "pace 0")
        path = f"/{self.index}/_bulk"
        await client.send("POST", path, pieces, f"{HEADER}: {TENANT}", "content-type: application/x-ndjson", *headers)
        _, items = await client.answer(Reading(slow, b'"items":['))
        client.close()
        taken = await loop.run_in_executor(None, self.stub.order, "taken")
        if taken != [count, expected.taken]:
            raise Wrong(f"the stub has taken {taken[0]} documents, or not those")
        if items != expected.items:
            raise Wrong("the bulk's answer is not what it has to be")

    async def search(self, kind: str, count: int, expected: Expected) -> None:
        self.stub.order(f"give {count}")
        client = await Client.connect(self.url, small=kind == "slow")
        body = b'{"query":{"match_all":{}},' + GIVEN + b"}"
        headers = ["accept-encoding: gzip"] if kind == "gzip" else []
        path = f"/{self.index}/_search"
        await client.send("POST", path, iter([body]), f"{HEADER}: {TENANT}", "content-type: application/json", *headers)
        _, hits = await client.answer(Reading(kind == "slow", b'"hits":['))
        client.close()
        if hits != expected.hits:
            raise Wrong("the search's answer is not what it has to be")


# --- what is idle --------------------------------------------------------------------------------------------


async def ask_each(url: str, tenants: list[str]) -> list[Client]:
    """A connection for each, kept; each has asked something."""
    clients = []
    for tenant in tenants:
        client = await Client.connect(url)
        client.writer.write(f"GET / HTTP/1.1\r\nhost: a\r\n{HEADER}: {tenant}\r\n\r\n".encode())
        await client.answer(Reading(False, b"{"))
        clients.append(client)
    return clients


async def one_after_the_other(url: str, tenants: list[str]) -> None:
    (client,) = await ask_each(url, tenants[:1])
    for tenant in tenants[1:]:
        client.writer.write(f"GET / HTTP/1.1\r\nhost: a\r\n{HEADER}: {tenant}\r\n\r\n".encode())
        await client.answer(Reading(False, b"{"))
    client.close()


async def idle(url: str, worker: Worker) -> dict[str, float]:
    found = {"idle": worker.now}
    for client in await ask_each(url, [TENANT] * 50):
        client.close()
    before = worker.now
    clients = await ask_each(url, [TENANT] * CONNECTIONS)
    found["connection"] = (worker.now - before) * 1024 / CONNECTIONS
    for client in clients:
        client.close()
    return found


# --- the run ---------------------------------------------------------------------------------------------------


class Figures(dict[str, float]):
    """By name; each is told as soon as it is there."""

    good = True

    def tell(self, name: str, bar: str, figure: float) -> None:
        self[name] = round(figure, 1)
        missed = figure > BARS[bar]
        self.good &= not missed
        unit = "KiB" if bar == "connection" else "MiB"
        print(f"  {name:<28}{figure:8.1f} {unit} of {BARS[bar]:g}{'  MISSED' if missed else ''}", flush=True)


def run_layout(stack: ExitStack, args: argparse.Namespace, stub: stage.Stub, layout: str, folder: Path, figures: Figures) -> None:
    print(f"{layout}, {args.shell}:", flush=True)
    served = stage.serve(f"{layout}-proxy", stub.url, folder, layout=layout, shell=args.shell, tenants=[TENANT])
    proxy = stack.enter_context(served)
    assert proxy.pid is not None
    worker = Worker(proxy.pid)
    for name, figure in asyncio.run(idle(proxy.url, worker)).items():
        figures.tell(f"{layout} {name}", name, figure)
    index = f"flood-{secrets.token_hex(3)}"
    with httpx.Client(base_url=proxy.url, timeout=60, trust_env=False, headers={HEADER: TENANT}) as client:
        made = client.put(f"/{index}", json=MAPPING)
        if made.status_code != 200:
            raise Wrong(made.text)
        try:
            streams = Streams(stub, proxy.url, index)
            small, large = args.count // 400, args.count
            for count in (small, large):
                expected = expect(index.encode(), count)
                for stream in [getattr(streams, name) for name in args.stream or STREAMS]:
                    for kind in args.kind or KINDS:
                        if count == small and kind == "slow":
                            continue
                        before, began = worker.forget_peak(), time.monotonic()
                        asyncio.run(stream(kind, count, expected))
                        if count == large:
                            figures.tell(f"{layout} {stream.__name__} {kind}", "growth", worker.peak - before)
                            print(f"    in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        finally:
            client.delete(f"/{index}")


def run_tenants(args: argparse.Namespace, stub: stage.Stub, folder: Path) -> float:
    """MiB that ten thousand tenants take, beyond one."""
    figures = []
    for count in (1, TENANTS):
        tenants = [f"tenant-{number:06d}" for number in range(count)]
        with stage.serve(f"tenants-{count}", stub.url, folder, layout="dedicated", shell=args.shell, tenants=tenants) as proxy:
            assert proxy.pid is not None
            asyncio.run(one_after_the_other(proxy.url, tenants if count > 1 else tenants * 1000))
            figures.append(Worker(proxy.pid).now)
    return figures[1] - figures[0]


def run(args: argparse.Namespace, stack: ExitStack) -> bool:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    node = stack.enter_context(stage.node(args.upstream, args.engine))
    known = report.circumstances(httpx.get(node, trust_env=False).json()["version"], None)
    stub = stack.enter_context(stage.stub(node, FLOOD))
    args.count = args.mib * MIB // (len(b"".join(records(1000))) // 1000)
    figures = Figures()
    for layout in args.layout or LAYOUTS_AVAILABLE:
        with ExitStack() as inner:
            run_layout(inner, args, stub, layout, folder, figures)
    figures.tell("10,000 tenants", "tenants", run_tenants(args, stub, folder))
    print("every answer, and all that the stub took, was what it had to be")
    if args.store:
        report.store(args.store, known | {"mib": args.mib, "shell": args.shell, "figures": dict(figures)}, "memory")
    return figures.good


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--upstream", metavar="URL", help="a node that runs already, instead of one of our own")
    options.add_argument("--engine", choices=list(ENGINES), help="which node to start (default: the newest OpenSearch)")
    options.add_argument("--layout", action="append", choices=LAYOUTS_AVAILABLE, help="only this one; may be given again")
    options.add_argument("--kind", action="append", choices=KINDS, help="only this kind of stream; may be given again")
    options.add_argument("--stream", action="append", choices=STREAMS, help="only this direction; may be given again")
    options.add_argument("--shell", choices=("protocol", "asgi"), default="protocol")
    options.add_argument("--mib", type=int, default=1024, help="size of a stream (default: 1024)")
    options.add_argument("--store", metavar="NAME", help="keep the figures in benchmarks/results/NAME.json")
    args = options.parse_args()
    return stage.status_of("memory", lambda stack: run(args, stack))


if __name__ == "__main__":
    sys.exit(main())
