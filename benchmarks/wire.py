"""What the proxy costs on the wire, beside nginx in the same run; no figure without all answers being right.

    python benchmarks/wire.py                      # a node of its own, about three minutes
    python benchmarks/wire.py --upstream http://127.0.0.1:9200 --seconds 1 --rounds 2
    python benchmarks/wire.py --all --store NAME   # both transports and plain uvicorn; keep the figures

The run: load documents for several tenants through the proxy; let it ask each case once, which the stub records; from then on
the stub replays. Then a Python client, 16 requests at a time, tenants and answers mixed, compares every answer of every target
with the expected one byte by byte. Then wrk loads the targets in turn, round after round (ABAB), and compares too. Then the
Python client once more. What the figures mean: report.py and README.md.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import secrets
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import load
import report
import stage
from cases import HEADER, ROWS, TENANTS, Call, Case, Wrong, calls, case_of, compare, creating, loading
from load import CONNECTIONS, Sample
from stage import Stub, Target

from esproxy.config import LAYOUTS_AVAILABLE
from esproxy.embedded import ENGINES

SEED = 20


# --- cases, recorded from a real node ------------------------------------------------------------------


def ask(client: httpx.Client, tenant: str, call: Call) -> httpx.Response:
    headers = {HEADER: tenant} | ({"content-type": call.media} if call.body else {})
    answer = client.request(call.method, call.target, content=call.body or None, headers=headers)
    if answer.status_code != 200:
        raise Wrong(f"{call.method} {call.target} of {tenant}: {answer.status_code} {answer.text[:500]}")
    return answer


def fill(client: httpx.Client, index: str) -> None:
    for tenant in TENANTS:
        ask(client, tenant, creating(index))
        ask(client, tenant, creating(f"{index}-logs"))
        if ask(client, tenant, loading(index, tenant)).json()["errors"]:
            raise Wrong(f"documents of {tenant} were refused")


def empty(client: httpx.Client, index: str) -> None:
    """Leave nothing behind, however far ``fill`` came."""
    for tenant in TENANTS:
        for name in (index, f"{index}-logs"):
            client.delete(f"/{name}", headers={HEADER: tenant})


def record(client: httpx.Client, stub: Stub, index: str, names: list[str]) -> dict[str, list[Case]]:
    """Every case of every row, asked once while the stub records."""
    rows: dict[str, list[Case]] = {}
    for row in ROWS:
        if row.name not in names:
            continue
        cases = rows[row.name] = []
        for tenant, variant, call in calls(row, index):
            stub.record()
            answered = ask(client, tenant, call).content
            cases.append(case_of(row, tenant, variant, call, answered, stub.replay()))
        if len({case.expected for case in cases}) != len(cases):
            raise Wrong(f"[{row.name}]: two cases have the same answer, so a mistaken one would not show")
    return rows


# --- every byte ----------------------------------------------------------------------------------------


async def check(targets: list[Target], rows: dict[str, list[Case]]) -> int:
    """Compare every answer of every target, twice, in random order, 16 at a time. Returns how many; raises Wrong."""
    mixed = [case for cases in rows.values() for case in cases] * 2
    for target in targets:
        random.Random(SEED).shuffle(mixed)
        waiting = iter(mixed)
        plain = {"accept-encoding": "identity"}
        async with httpx.AsyncClient(base_url=target.url, timeout=60, trust_env=False, headers=plain) as client:
            await asyncio.gather(*(_check_on(client, target, waiting) for _ in range(CONNECTIONS)))
    return len(mixed) * len(targets)


async def _check_on(client: httpx.AsyncClient, target: Target, waiting: Iterator[Case]) -> None:
    for case in waiting:
        call, expected = (case.physical, case.answer) if target.physical else (case.logical, case.expected)
        headers = {HEADER: case.tenant} | ({"content-type": call.media} if call.body else {})
        answer = await client.request(call.method, call.target, content=call.body or None, headers=headers)
        try:
            compare(case, answer.status_code, answer.headers.get("content-type", ""), answer.content, expected)
        except Wrong as wrong:
            raise Wrong(f"{target.name}: {wrong}") from None


# --- load ------------------------------------------------------------------------------------------------


def measure(
    wrk: str, targets: list[Target], row: str, cases: list[Case], folder: Path, *, seconds: int, rounds: int
) -> dict[str, list[tuple[Sample, Sample]]]:
    """Per target, for each round a run at 16 connections and one at a single connection."""
    files = {}
    for target in targets:
        files[target.name] = folder / f"{target.name}.requests"
        load.write_requests(files[target.name], target.url, cases, physical=target.physical)
        load.run(wrk, target.url, files[target.name], connections=CONNECTIONS, seconds=1, pid=target.pid)  # to warm up
    samples: dict[str, list[tuple[Sample, Sample]]] = {target.name: [] for target in targets}
    for number in range(rounds):
        print(f"  {row}: round {number + 1} of {rounds}", file=sys.stderr, flush=True)
        for target in targets:
            busy, alone = (
                load.run(wrk, target.url, files[target.name], connections=connections, seconds=duration, pid=target.pid)
                for connections, duration in ((CONNECTIONS, seconds), (1, max(1, seconds // 2)))
            )
            samples[target.name].append((busy, alone))
    return samples


# --- the run -----------------------------------------------------------------------------------------------


def targets_of(stack: ExitStack, args: argparse.Namespace, stub: Stub, nginx: str | None, folder: Path) -> list[Target]:
    targets = [Target("direct", stub.url, None, physical=True)]
    if nginx is not None:
        targets.append(stack.enter_context(stage.nginx(nginx, stub.url, folder)))
    if args.relay:
        targets.append(stack.enter_context(stage.relay(stub.url)))
    targets.append(stack.enter_context(stage.serve("esproxy", stub.url, folder, layout=args.layout)))
    if args.all:
        targets.append(stack.enter_context(stage.uvicorn("under-uvicorn", stub.url, folder, layout=args.layout)))
        httpx_face = stage.serve("httpx-transport", stub.url, folder, layout=args.layout, transport="httpx")
        targets.append(stack.enter_context(httpx_face))
    return targets


def run(args: argparse.Namespace, stack: ExitStack) -> None:
    wrk, nginx = stage.find("wrk"), stage.find("nginx")
    if wrk is None:
        raise stage.Failed("wrk is missing; Debian: apt-get install wrk")
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    node = stack.enter_context(stage.node(args.upstream, args.engine))
    known = {"layout": args.layout, "seconds": args.seconds, "rounds": args.rounds}
    results = known | report.circumstances(httpx.get(node, trust_env=False).json()["version"], nginx)
    stub = stack.enter_context(stage.stub(node))
    targets = targets_of(stack, args, stub, nginx, folder)
    proxy = next(target for target in targets if not target.physical)
    client = stack.enter_context(httpx.Client(base_url=proxy.url, timeout=60, trust_env=False))
    index = f"wire-{secrets.token_hex(3)}"
    stack.callback(empty, client, index)
    fill(client, index)
    rows = record(client, stub, index, args.row or [row.name for row in ROWS])
    compared = asyncio.run(check(targets, rows))
    results["rows"] = {}
    for name, cases in rows.items():
        samples = measure(wrk, targets, name, cases, folder, seconds=args.seconds, rounds=args.rounds)
        results["rows"][name] = report.figures(samples)
        report.show(name, cases, results["rows"][name])
    compared += asyncio.run(check(targets, rows))
    print(f"\n{compared} answers compared byte by byte, and all that wrk got; none was wrong")
    if nginx is None:
        print("nginx: MISSING, so there is nothing to compare with; Debian: apt-get install nginx-light")
    results["answers_compared"] = compared
    if args.store:
        report.store(args.store, results, f"wire-{args.layout}")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--upstream", metavar="URL", help="a node that runs already, instead of one of our own")
    options.add_argument("--engine", choices=list(ENGINES), help="which node to start (default: the newest OpenSearch)")
    options.add_argument("--layout", choices=LAYOUTS_AVAILABLE, default="dedicated")
    options.add_argument("--all", action="store_true", help="also plain uvicorn, and the httpx transport")
    options.add_argument("--relay", action="store_true", help="also a relay that looks at nothing: the cost of loop and kernel")
    options.add_argument("--row", action="append", choices=[row.name for row in ROWS], help="only this row; may be given again")
    options.add_argument("--seconds", type=int, default=3, help="of each run at 16 connections (default: 3)")
    options.add_argument("--rounds", type=int, default=3, help="how often each target has its turn (default: 3)")
    options.add_argument("--store", metavar="NAME", help="keep the figures in benchmarks/results/NAME.json")
    args = options.parse_args()
    return stage.status_of("wire", lambda stack: run(args, stack))


if __name__ == "__main__":
    sys.exit(main())
