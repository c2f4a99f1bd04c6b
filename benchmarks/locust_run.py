"""The load test in one command: a node, the proxy in front of it, locust in front of both, a report and a table.

    python benchmarks/locust_run.py                     # a node of its own, some eight minutes
    python benchmarks/locust_run.py --against stub      # the proxy alone: the node's answers are recorded first, then replayed
    python benchmarks/locust_run.py --quick --upstream http://127.0.0.1:9200

Each tenant has two indices through the proxy and two like them directly, so both targets do the same work on data of the same
size. Rate: unless ``--rate`` is given, it is found in the slices that warm everything up, so that locust, proxy and node together
take about a quarter of the machine; above 30 % a run fails. A node that was given (``--upstream``) is counted where its
process is seen to listen. Into ``--out``: locust's ``report.html``, ``comparison.md`` and ``samples.json``.

Exit status 1 when a request failed, a document of one tenant was in an answer to another, the machine was too busy or the bar of
what is added was missed; what figures mean and the bars: comparison.py.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import comparison
import httpx
import mix
import psutil
import report
import stage
from cases import Wrong

from esproxy.config import LAYOUTS_AVAILABLE
from esproxy.embedded import ENGINES

LOCUSTFILE = Path(__file__).with_name("locustfile.py")
AIM = 0.8 * comparison.SHARE  # of the machine
FIRST_RATE, HIGHEST_RATE = 25.0, 400.0


# --- what is loaded ----------------------------------------------------------------------------------------


@contextmanager
def filled(clients: dict[str, httpx.Client], tenants: list[str]) -> Iterator[None]:
    """The indices of all tenants, on both ways, for as long as the block lasts."""
    try:
        for name, client in clients.items():
            mix.fill(client, tenants, mix.NAMINGS[name])
        yield
    finally:
        for name, client in clients.items():
            for tenant in tenants:
                for request in mix.emptying(tenant, mix.NAMINGS[name]):
                    client.request(request.method, request.target, headers=request.headers)


def record(stub: stage.Stub, clients: dict[str, httpx.Client], tenants: list[str]) -> int:
    """Ask every request of every deck twice. What the stub is asked the second time, when the proxy has seen everything once, it
    answers from memory from now on; returns how many calls that are."""
    for keep in (False, True):
        if keep:
            stub.record()
        for name, client in clients.items():
            for tenant in tenants:
                for requests in mix.deck(tenant, mix.NAMINGS[name]).values():
                    for request in requests:
                        mix.ask(client, request)
    return len(stub.replay())


def listening(url: str) -> int | None:
    """The process that listens there, where it can be seen."""
    port = urlsplit(url).port
    found = [one.pid for one in psutil.net_connections("tcp") if one.status == psutil.CONN_LISTEN and one.laddr.port == port]
    return next((pid for pid in found if pid is not None), None)


# --- locust ------------------------------------------------------------------------------------------------------


def locust(args: argparse.Namespace, urls: dict[str, str], pids: list[int], *, rate: float, seconds: float, pairs: int, out: Path,
           prefix: str) -> list[dict[str, Any]]:  # fmt: skip
    """One process of locust: all slices. Raises Wrong when a request failed."""
    samples = out / "samples.json"
    samples.unlink(missing_ok=True)
    options: dict[str, object] = {
        "--users": 1, "--spawn-rate": 1, "--html": out / "report.html", "--loglevel": "WARNING", "--exit-code-on-error": 3,
        "--direct": urls["direct"], "--proxied": urls["proxied"], "--rate": rate, "--slice": seconds, "--slices": pairs,
        "--tenants": args.tenants, "--tenant-prefix": prefix, "--samples": samples, "--watch": ",".join(map(str, pids)),
    }  # fmt: skip
    command = [sys.executable, "-m", "locust", "-f", str(LOCUSTFILE), "--headless", "--only-summary"]
    command += [f"{name}={value}" for name, value in options.items()]
    done = subprocess.run(command, env=stage.ENVIRONMENT, capture_output=True, text=True, check=False)
    (out / "locust.log").write_text(done.stdout + done.stderr)
    if done.returncode != 0 or not samples.exists():
        raise Wrong(f"locust ended with status {done.returncode}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    slices: list[dict[str, Any]] = json.loads(samples.read_text())
    return slices


# --- the run -----------------------------------------------------------------------------------------------


def run(args: argparse.Namespace, stack: ExitStack) -> bool:
    out: Path = args.out
    out.mkdir(parents=True, exist_ok=True)
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    prefix = f"load-{secrets.token_hex(3)}-"
    tenants = [f"{prefix}{number}" for number in range(args.tenants)]
    node = stack.enter_context(stage.node(args.upstream, args.engine))
    version = httpx.get(node, trust_env=False).json()["version"]
    results = report.circumstances(version, None) | {"layout": args.layout, "against": args.against, "tenants": args.tenants}
    stub = stack.enter_context(stage.stub(node)) if args.against == "stub" else None
    upstream = node if stub is None else stub.url
    proxy = stack.enter_context(stage.serve("proxy", upstream, folder, layout=args.layout, tenants=tenants))
    urls = {"direct": upstream, "proxied": proxy.url}
    clients = {name: stack.enter_context(httpx.Client(base_url=url, timeout=60, trust_env=False)) for name, url in urls.items()}
    stack.enter_context(filled(clients, tenants))
    if stub is not None:
        print(f"{record(stub, clients, tenants)} calls recorded", file=sys.stderr)
    pids = [pid for pid in {proxy.pid, listening(node), listening(upstream)} if pid is not None]
    if listening(node) is None:
        print("the node's process cannot be seen, so its CPU is not counted", file=sys.stderr)
    cores = os.cpu_count() or 1
    asked = {"urls": urls, "pids": pids, "prefix": prefix}
    warm_up = folder / "warm-up"
    warm_up.mkdir()
    first = args.rate or FIRST_RATE
    slices = locust(args, **asked, rate=first, seconds=args.warm_up, pairs=2, out=warm_up)
    rate = args.rate or comparison.median_rate(slices[2:], cores, AIM, HIGHEST_RATE)
    print(f"warm; {args.pairs} pairs of slices of {args.seconds:g} s, {rate:.0f} requests a second", file=sys.stderr)
    slices = locust(args, **asked, rate=rate, seconds=args.seconds, pairs=args.pairs, out=out)
    figures = comparison.compared(slices, cores, mix.KINDS)
    missed = comparison.misses(figures, real_node=stub is None)
    unsteady = comparison.is_unsteady(figures, real_node=stub is None)
    results |= figures | {"rate": round(rate, 1), "seconds": args.seconds, "missed": missed, "unsteady": unsteady}
    show(results, out)
    if args.store:
        report.store(args.store, results, f"load-{args.against}-{args.layout}")
    return not missed


def show(results: dict[str, Any], out: Path) -> None:
    share = {name: f"{middle:.0%} ({least:.0%} to {most:.0%})" for name, (middle, least, most) in results["share"].items()}
    against = "a stub" if results["against"] == "stub" else results["node"]
    told = [
        f"{results['requests']} requests, {results['errors']} errors; {results['rate']:g} a second in an open loop, "
        f"{results['tenants']} tenants (Zipf, s = {mix.EXPONENT}), {results['pairs']} pairs of slices of "
        f"{results['seconds']:g} s, layout {results['layout']}, against {against}; "
        f"of the machine direct took {share['direct']}, proxied {share['proxied']}; load before: {results['load_before']:.1f}",
        comparison.table(results),
        comparison.verdict(results),
    ]
    (out / "comparison.md").write_text("\n\n".join(told) + "\n")
    print("\n\n".join(told))
    print(f"\nlocust's report: {out / 'report.html'}")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--upstream", metavar="URL", help="a node that runs already, instead of one of our own")
    options.add_argument("--engine", choices=list(ENGINES), help="which node to start (default: the newest OpenSearch)")
    options.add_argument("--layout", choices=LAYOUTS_AVAILABLE, default="dedicated")
    options.add_argument("--against", choices=("node", "stub"), default="node", help="what answers (default: node)")
    options.add_argument("--tenants", type=int, default=16)
    options.add_argument("--rate", type=float, help="requests a second (default: what takes a quarter of the machine)")
    options.add_argument("--seconds", type=float, default=15, help="of a slice (default: 15)")
    options.add_argument("--pairs", type=int, default=10, help="of slices, one of each target (default: 10)")
    options.add_argument("--warm-up", type=float, default=20, metavar="SECONDS", help="of each slice before (default: 20)")
    options.add_argument("--quick", action="store_true", help="a short look: 4 tenants, 2 pairs of 3 seconds")
    options.add_argument("--out", type=Path, default=Path("build/load"), metavar="FOLDER", help="(default: build/load)")
    options.add_argument("--store", metavar="NAME", help="keep the figures in benchmarks/results/NAME.json")
    args = options.parse_args()
    if args.quick:
        args.tenants, args.pairs, args.seconds, args.warm_up = 4, 2, 3.0, 3.0
    return stage.status_of("locust_run", lambda stack: run(args, stack))


if __name__ == "__main__":
    sys.exit(main())
