"""A stub that answers every search at once, whoever's it is, in front of a node that serves everything else.

    python benchmarks/answering.py --node http://127.0.0.1:9200 --listeners 10

Its first line on standard output are its URLs. Where replay.py has to have seen a call, this one makes the answer of what it was
asked: the index is in the path; what a pool's scope is, is in the filter. The tenant is in either, and in each hit; so is the
number that the query asks for. An answer that got to somebody else, or to another query, is therefore a wrong one.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys

import httpx
import replay
import uvloop
from flood import ROUTING, around, hit

HITS = 2
WANTED = re.compile(rb'"number":(\d+)')
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json; charset=UTF-8\r\ncontent-length: %d\r\n\r\n"


def question(number: int) -> bytes:
    """The body of a search."""
    query = b'{"bool":{"must":[{"match":{"title":"the river"}}],"filter":[{"term":{"number":%d}}]}}' % number
    return b'{"query":%b,"size":%d}' % (query, HITS)


def found(index: bytes, scope: bytes, tenant: bytes, number: int) -> bytes:
    """The body of its answer; ``scope`` is empty outside of pools, and for clients."""
    routing = b',"_routing":"%b"' % scope if scope else b""
    source = b'{"owner":"%b","number":%d,"title":"the river of %b"}' % (tenant, number, tenant)
    before, behind = around(HITS)
    return before + b",".join(hit(index, b"%b%d-%d" % (scope, number, n), routing, source) for n in range(HITS)) + behind


class Connection(replay.Connection):
    def on_message_complete(self) -> None:
        index, _, call = self.target[1:].partition(b"?")[0].partition(b"/")
        wanted = WANTED.search(self.body)
        if call != b"_search" or wanted is None:
            super().on_message_complete()
            return
        scoped = ROUTING.search(self.body)
        scope = b"" if scoped is None else scoped[1]
        body = found(index, scope, (scope or index).partition(b".")[0], int(wanted[1]))
        self.busy, self.replayed = False, HEAD % len(body) + body
        self.transport.write(self.replayed)


async def serve(url: str, listeners: int) -> None:
    loop = asyncio.get_running_loop()
    async with httpx.AsyncClient(base_url=url, timeout=60, trust_env=False, headers={"accept-encoding": "identity"}) as node:
        memory = replay.Memory(node)
        servers = [await loop.create_server(lambda: Connection(memory), "127.0.0.1", 0, backlog=1024) for _ in range(listeners)]
        print(*(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}" for server in servers), flush=True)
        orders = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
        await orders.read()  # until whoever started us has ended


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--node", required=True, metavar="URL")
    options.add_argument("--listeners", type=int, default=1)
    args = options.parse_args()
    uvloop.run(serve(args.node, args.listeners))
