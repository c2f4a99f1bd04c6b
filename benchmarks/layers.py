"""Where a request's CPU goes inside a worker: the same bytes through more and more of it, with no socket and no kernel.

    python benchmarks/layers.py                               # dedicated, all rows, about half a minute
    python benchmarks/layers.py --layout shared --row "get by id"
    python benchmarks/layers.py --profile 30                  # which functions the time goes to

``parsers``: httptools finds head and body of request and answer, and nothing is made of them. ``shell``: the client's
connection, driver, engine and the node's connection, around a Gateway that hands everything on unread. ``whole``: the same around
the real one; ``gateway`` is the difference. Sockets are played by transports that keep what is written; what the node is asked
and what the client gets is compared with cases made elsewhere (gateway.py). What is left of the figure of wire.py is the event
loop and the kernel: four system calls for a request.

CPU of this process per request, the median over rounds in which the layers take turns.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import pstats
import sys
from collections.abc import Callable
from typing import Any, Literal

import gateway as cases_of
import httptools
import report
import uvicorn
from cases import Wrong, first_difference
from load import raw
from uvicorn.server import ServerState

from esproxy.config import LAYOUTS_AVAILABLE
from esproxy.exchange import ANSWER, Reply, Send
from esproxy.heads import AnswerHead, Head
from esproxy.serve.asgi import DataApp
from esproxy.serve.driver import Proxy
from esproxy.serve.protocol import ClientConnection
from esproxy.upstream.client import Engine
from esproxy.upstream.connection import Connection
from esproxy.upstream.spec import ClusterSpec

NODE = "http://127.0.0.1:9"
KEPT = (b"content-type", b"x-opensearch-version")


class Transport:
    """A socket whose other end is this program."""

    def __init__(self) -> None:
        self.written: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def is_closing(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return 0

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 40000) if name in ("peername", "sockname") else default

    def close(self) -> None:
        raise Wrong("a connection was closed")

    abort = pause_reading = close

    def taken(self) -> bytes:
        data = b"".join(self.written)
        self.written.clear()
        return data


class Through:
    """An exchange that hands everything on unread."""

    __slots__ = ("method", "wants")

    def __init__(self, method: str) -> None:
        self.method = method
        self.wants = ANSWER

    def may_send(self, now: float) -> bool:
        return True

    def open_answer(self, head: AnswerHead, attempt: int, chunk: bytes = b"", last: bool = False) -> Reply:
        return Reply(head.status, [pair for pair in head.headers if pair[0] in KEPT], chunk)


class ThroughGateway:
    """A Gateway of such exchanges."""

    violations = unknown_keys = 0
    pools = None
    product = False

    def open(self, head: Head, chunk: bytes = b"", last: bool = False) -> tuple[Through, Send]:
        exchange = Through(head.method)
        return exchange, Send("main", head.method, head.target, [], chunk, last, True)

    def shortcut(self, head: Head) -> Literal[False]:
        """All goes the general way."""
        return False


class Nothing:
    """For a parser that nobody listens to."""

    def on_url(self, url: bytes) -> None: ...
    def on_header(self, name: bytes, value: bytes) -> None: ...
    def on_body(self, data: bytes) -> None: ...


class Worker:
    """One client's connection and one to the node."""

    def __init__(self, gateway: Any) -> None:
        engine = Engine({"main": ClusterSpec([NODE], idle_timeout=1e9)})  # nobody looks at the clock meanwhile
        app = DataApp(proxy=Proxy(gateway, engine))
        loop = asyncio.get_running_loop()
        self.client = ClientConnection(app, ServerState(), uvicorn.Config(app), loop)
        self.from_client = Transport()
        self.client.connection_made(self.from_client)  # type: ignore[arg-type]
        cluster = engine.clusters["main"]
        node = cluster.nodes.nodes[0]
        self.node = Connection(engine, cluster, node)
        self.to_node = Transport()
        self.node.connection_made(self.to_node)  # type: ignore[arg-type]
        node.connections.add(self.node)
        node.idle.append(self.node)

    def ask(self, request: bytes, answer: bytes) -> tuple[bytes, bytes]:
        """What the node was asked, and what the client got."""
        self.client.data_received(request)
        asked = self.to_node.taken()
        self.node.data_received(answer)
        return asked, self.from_client.taken()


# --- cases ------------------------------------------------------------------------------------------------


def messages(case: cases_of.Made) -> tuple[bytes, bytes]:
    """The client's request and the node's answer, as they lie on the wire."""
    head = b"".join(b"%b: %b\r\n" % pair for pair in cases_of.ANSWERED)
    answer = b"HTTP/1.1 200 OK\r\n%bcontent-length: %d\r\n\r\n%b" % (head, len(case.answer), case.answer)
    return raw(NODE, case.call, case.place.tenant), answer


def check(worker: Worker, found: list[cases_of.Made]) -> None:
    """Every case, byte by byte. Raises Wrong."""
    for case in found:
        asked, got = worker.ask(*messages(case))
        head, _, body = asked.partition(b"\r\n\r\n")
        method, target, _ = head.split(b" ", 2)
        cases_of.check_asked(case, Send("main", method.decode(), target, [], body))
        head, _, body = got.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200 OK\r\n") or body != case.expected:
            raise Wrong(f"[{case.row}] of {case.place.tenant}: {head!r}, {first_difference(body, case.expected)}")


def layers(layout: str, found: list[cases_of.Made]) -> dict[str, Callable[[], None]]:
    """What a round of each layer is: every case once."""
    wire = [messages(case) for case in found]
    request_parser, answer_parser = httptools.HttpRequestParser(Nothing()), httptools.HttpResponseParser(Nothing())
    shell, whole = Worker(ThroughGateway()), Worker(cases_of.made_gateway(layout))
    check(whole, found)

    def parsers() -> None:
        for request, answer in wire:
            request_parser.feed_data(request)
            answer_parser.feed_data(answer)

    def through(worker: Worker) -> Callable[[], None]:
        def ask() -> None:
            for request, answer in wire:
                worker.ask(request, answer)

        return ask

    return {"parsers": parsers, "shell": through(shell), "whole": through(whole)}


def figures(works: dict[str, Callable[[], None]], count: int, seconds: float) -> dict[str, list[float]]:
    """µs of CPU per request, [median, least, most]."""
    rounds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(cases_of.ROUNDS):
        for name, work in works.items():
            rounds[name].append(cases_of.timed(work, seconds / cases_of.ROUNDS / len(works)) / count * 1e6)
    rounds["gateway"] = [whole - shell for whole, shell in zip(rounds["whole"], rounds["shell"], strict=True)]
    return {name: report.spread(values) for name, values in rounds.items()}


def profile(work: Callable[[], None], seconds: float, lines: int) -> None:
    profiler = cProfile.Profile()
    profiler.enable()
    cases_of.timed(work, seconds)
    profiler.disable()
    pstats.Stats(profiler).sort_stats("tottime").print_stats(lines)


async def run(args: argparse.Namespace) -> dict[str, dict[str, list[float]]]:
    rows = {}
    print(f"{args.layout:<20}{'parsers':>10}{'shell':>10}{'gateway':>10}{'whole':>10}  µs of CPU per request")
    for row in args.row or cases_of.NAMES:
        found = cases_of.cases(args.layout, row)
        works = layers(args.layout, found)
        if args.profile:
            profile(works["whole"], args.seconds, args.profile)
            continue
        got = rows[row] = figures(works, len(found), args.seconds)
        print(f"{row:<20}" + "".join(f"{got[name][0]:>10.1f}" for name in ("parsers", "shell", "gateway", "whole")), flush=True)
    return rows


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--layout", choices=LAYOUTS_AVAILABLE, default="dedicated")
    options.add_argument("--row", action="append", choices=cases_of.NAMES, help="may be given again (default: all)")
    options.add_argument("--seconds", type=float, default=4.0, help="of CPU for each row (default: 4)")
    options.add_argument("--profile", type=int, metavar="LINES", help="show where the time goes instead")
    args = options.parse_args()
    try:
        asyncio.run(run(args))
    except Wrong as wrong:
        print(f"layers: WRONG: {wrong}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
