"""How CPU per request grows along one axis, all else the same: a curve, a bar, a verdict.

    python benchmarks/scaling.py                      # every axis, some ten minutes
    python benchmarks/scaling.py tenants workers --quick --upstream http://127.0.0.1:9200
    python benchmarks/scaling.py --layout shared --store NAME

    tenants      registered tenants, asked for by Zipf's law (s = 1.1)
    indices      indices per tenant, each named in full
    nodes        addresses of the cluster
    connections  open connections, of which 16 ask and all others have asked
    busy         open connections, all of which ask without a rest
    workers      worker processes

A stub (answering.py) answers all searches, so the proxy is what is measured; what it asks of the catalogue is asked of a real
node. The proxy of an axis' first point stays for the whole axis and is loaded in turn with that of each point; a figure is the
CPU per request of all its processes, divided by the first point's in the same round, the median over rounds with least and
most. The first point is also compared with itself, which tells what the machine's unrest alone makes of a ratio.

Every request of a point is asked once before anything counts, so what is built at first sight is not in the figures. wrk compares
every answer with those expected; a sample is compared one by one, before and after. Bars: 1.3 times along each axis, 1.1 from one
worker to two. In pools each index has to be made first, so there the axes end at a thousand; a node that was given keeps the
emptied pools, and has to have room for as many shards.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import resource
import secrets
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import answering
import curves
import httpx
import load
import report
import stage
import wire
from cases import HEADER, JSON, Call, Case, Wrong
from load import CONNECTIONS, Sample
from mix import SEED, Zipf

from esproxy.embedded import ENGINES

ANSWERING = Path(__file__).with_name("answering.py")
FIELDS = b'{"number":{"type":"long"},"title":{"type":"text"},"owner":{"type":"keyword"}}'
MADE = b'{"settings":{"number_of_shards":1,"number_of_replicas":0},"mappings":{"properties":%b}}' % FIELDS
ROOM = {"persistent": {"cluster.max_shards_per_node": 3000}}  # each name of an index has a pool of its own
ASKED = 20_000  # requests in the file of a point, at most
CHECKED = 200  # of them compared one by one
POOL_LIMIT = 1000  # indices that are made for an axis in pools
SOME_TENANTS, NODES = 8, 10


@dataclass(frozen=True)
class Point:
    """A proxy and what it is asked. Whatever an axis does not name stays as here."""

    tenants: int = SOME_TENANTS
    indices: int = 1
    nodes: int = 1
    workers: int = 1
    busy: int = CONNECTIONS
    idle: int = 0


@dataclass(frozen=True)
class Axis:
    bar: float
    values: tuple[int, ...]
    point: Callable[[int], Point]

    def within(self, layout: str, quick: bool) -> tuple[int, ...]:
        """The values to measure."""
        made = {value: self.point(value).tenants * self.point(value).indices for value in self.values}
        values = [value for value in self.values if layout == "dedicated" or made[value] <= POOL_LIMIT]
        return (values[0], values[-1]) if quick else tuple(values)


AXES = {
    "tenants": Axis(1.3, (1, 10, 100, 1000, 10_000, 100_000), lambda n: Point(tenants=n)),
    "indices": Axis(1.3, (1, 10, 100, 1000), lambda n: Point(tenants=1, indices=n)),
    "nodes": Axis(1.3, (1, 2, 5, NODES), lambda n: Point(nodes=n)),
    "connections": Axis(1.3, (CONNECTIONS, 100, 500, 1000, 5000), lambda n: Point(idle=n - CONNECTIONS)),
    "busy": Axis(1.3, (CONNECTIONS, 100, 500, 1000, 5000), lambda n: Point(busy=n)),
    "workers": Axis(1.1, (1, 2), lambda n: Point(workers=n)),
}


# --- what is asked -----------------------------------------------------------------------------------------


def names_of(point: Point, prefix: str) -> tuple[list[str], list[str]]:
    return [f"{prefix}{n}" for n in range(point.tenants)], [f"logs-{n}" for n in range(point.indices)]


def cases_of(point: Point, prefix: str) -> list[Case]:
    """Requests in the order in which they come: tenants by Zipf's law, their indices evenly."""
    tenants, indices = names_of(point, prefix)
    chance, zipf = random.Random(SEED), Zipf(point.tenants)
    count = min(ASKED, 64 * point.tenants * point.indices)
    found = []
    for n in range(count):
        tenant, index, number = tenants[zipf.pick(chance)], chance.choice(indices), n % 4
        call = Call("POST", f"/{index}/_search", answering.question(number), JSON)
        expected = answering.found(index.encode(), b"", tenant.encode(), number)
        found.append(Case("search", tenant, call, call, expected, expected, "application/json; charset=utf-8"))
    return found


# --- one proxy ---------------------------------------------------------------------------------------------


@dataclass
class Proxy:
    point: Point
    target: stage.Target
    cases: list[Case]
    file: Path
    samples: list[Sample] = field(default_factory=list)

    def check(self) -> None:
        some = random.Random(SEED).sample(self.cases, min(CHECKED, len(self.cases)))
        asyncio.run(wire.check([self.target], {"search": some}))

    def load(self, wrk: str, seconds: int) -> Sample:
        more = self.point.busy // 1000  # connecting takes a while
        with opened(self.target.url, self.point.idle, self.cases[0]):
            return load.run(
                wrk, self.target.url, self.file, connections=self.point.busy, seconds=seconds + more, pid=self.target.pid
            )

    def warm_up(self, wrk: str) -> None:
        """Until every request has been asked."""
        asked = 0
        while asked < len(self.cases):
            asked += self.load(wrk, 1).requests


@contextmanager
def proxy(name: str, point: Point, stub: stage.Stub, layout: str, prefix: str, folder: Path) -> Iterator[Proxy]:
    tenants, _ = names_of(point, prefix)
    nodes = stub.urls[: point.nodes]
    with stage.serve(name, stub.url, folder, layout=layout, tenants=tenants, workers=point.workers, nodes=nodes) as target:
        cases = cases_of(point, prefix)
        file = folder / f"{name}.requests"
        load.write_requests(file, target.url, cases, physical=False)
        yield Proxy(point, target, cases, file)


@contextmanager
def opened(url: str, count: int, case: Case) -> Iterator[None]:
    """So many connections, each of which has asked once."""
    where, request = (urlsplit(url).hostname, urlsplit(url).port), load.raw(url, case.logical, case.tenant)
    with ExitStack() as stack:
        for _ in range(count):
            one = stack.enter_context(socket.create_connection(where))
            one.sendall(request)
            answer = b""
            while not answer.endswith(case.expected):
                more = one.recv(1 << 16)
                if not more:
                    raise Wrong(f"a connection was closed with {answer[:300]!r}")
                answer += more
        yield


@contextmanager
def indices_made(url: str, point: Point, prefix: str) -> Iterator[None]:
    """The indices of all tenants of a proxy over pools, for as long as the block lasts."""
    tenants, indices = names_of(point, prefix)
    whose = [(tenant, index) for tenant in tenants for index in indices]
    with httpx.Client(base_url=url, timeout=60, trust_env=False) as client:
        try:
            for tenant, index in whose:
                made = client.put(f"/{index}", content=MADE, headers={HEADER: tenant, "content-type": JSON})
                if made.status_code != 200:
                    raise Wrong(f"{index} of {tenant} was not made: {made.text[:300]}")
            yield
        finally:
            for tenant, index in whose:
                client.delete(f"/{index}", headers={HEADER: tenant})


# --- an axis -----------------------------------------------------------------------------------------------


def measure(name: str, args: argparse.Namespace, stub: stage.Stub, wrk: str, folder: Path) -> dict[str, Any]:
    axis = AXES[name]
    values = axis.within(args.layout, args.quick)
    prefix = f"scale-{secrets.token_hex(3)}-"
    points = []
    with ExitStack() as stack:
        if args.layout != "dedicated":
            # While no other proxy is there, so that none has to follow.
            largest = axis.point(values[-1])
            maker = stack.enter_context(proxy(f"{name}-maker", largest, stub, args.layout, prefix, folder))
            stack.enter_context(indices_made(maker.target.url, largest, prefix))
        first = stack.enter_context(proxy(f"{name}-first", axis.point(values[0]), stub, args.layout, prefix, folder))
        first.check()
        first.warm_up(wrk)
        for value in values:
            with ExitStack() as inner:
                point = first
                if value != values[0]:
                    made = proxy(f"{name}-{value}", axis.point(value), stub, args.layout, prefix, folder)
                    point = inner.enter_context(made)
                    point.check()
                    point.warm_up(wrk)
                points.append({"at": value} | compared(first, point, wrk, args.rounds, args.seconds))
                point.check()
                print(f"  {name} {value}: {curves.shown(points[-1])}", flush=True)
    return {"bar": axis.bar, "points": points, "verdict": curves.verdict(axis.bar, points)}


def compared(first: Proxy, point: Proxy, wrk: str, rounds: int, seconds: int) -> dict[str, Any]:
    pairs = []
    for number in range(rounds):
        order = [first, point] if number % 2 == 0 else [point, first]
        samples = [(one, one.load(wrk, seconds)) for one in order]
        pairs.append([sample for _, sample in (samples if number % 2 == 0 else reversed(samples))])
    return {
        "cpu_us": report.spread([own.cpu for _, own in pairs]),
        "ratio": report.spread([own.cpu / base.cpu for base, own in pairs]),
        "requests": sum(own.requests for _, own in pairs),
        "rss_mib": round(max(own.rss for _, own in pairs) / 2**20, 1),
    }


def run(args: argparse.Namespace, stack: ExitStack) -> bool:
    wrk = stage.find("wrk")
    if wrk is None:
        raise stage.Failed("wrk is missing; Debian: apt-get install wrk")
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 12_000:
        raise stage.Failed("too few files may be open for 5,000 connections: ulimit -n 20000")
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    node = stack.enter_context(stage.node(args.upstream, args.engine))
    if args.upstream is None:
        httpx.put(f"{node}/_cluster/settings", json=ROOM, trust_env=False).raise_for_status()
    stub = stack.enter_context(stage.stub(node, ANSWERING, "--listeners", str(NODES)))
    good = True
    for name in args.axis or AXES:
        version = httpx.get(node, trust_env=False).json()["version"]
        known = report.circumstances(version, None) | {"layout": args.layout, "rounds": args.rounds, "seconds": args.seconds}
        print(f"{name}, {args.layout}, load {known['load_before']:.1f}:", flush=True)
        found = measure(name, args, stub, wrk, folder)
        good &= found["verdict"] != curves.MISSED
        print(f"  at most {found['bar']} times: {found['verdict']}")
        key = f"scaling-{name}-{args.layout}"
        keep = args.store and not args.store.endswith(".json")
        place = report.RESULTS / f"{args.store}-{key}.svg" if keep else args.out / f"{key}.svg"
        curves.plot(place, name, known | found)
        if args.store:
            report.store(args.store, known | found | ({"plot": place.name} if keep else {}), key)
        print(f"  plotted: {place}")
    return good


def main(given: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("axis", nargs="*", metavar="AXIS", help=f"any of: {', '.join(AXES)} (default: all)")
    options.add_argument("--upstream", metavar="URL", help="a node that runs already, instead of one of our own")
    options.add_argument("--engine", choices=list(ENGINES), help="which node to start (default: the newest OpenSearch)")
    options.add_argument("--layout", choices=("dedicated", "shared"), default="dedicated")
    options.add_argument("--seconds", type=int, default=3, help="of each run (default: 3)")
    options.add_argument("--rounds", type=int, default=5, help="of each point (default: 5)")
    options.add_argument("--quick", action="store_true", help="a short look: first and last point, 2 rounds of 1 second")
    options.add_argument("--out", type=Path, default=Path("build/scaling"), metavar="FOLDER", help="of plots that are not stored")
    options.add_argument("--store", metavar="NAME", help="keep figures and plots in benchmarks/results/")
    args = options.parse_args(given)
    if unknown := set(args.axis) - AXES.keys():
        options.error(f"no such axis: {', '.join(sorted(unknown))}")
    if args.quick:
        args.seconds, args.rounds = 1, 2
    return stage.status_of("scaling", lambda stack: run(args, stack))


if __name__ == "__main__":
    sys.exit(main())
