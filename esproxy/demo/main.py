"""Start a node and the proxy, let two tenants per layout take the tour, compare with the bare node, then keep serving.

Exit status of ``--once``: 0 when every answer was the same as the bare node's, 1 when one was not, 2 when something needed is
missing or did not start.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import orjson

from esproxy.catalogue.sharing import lines
from esproxy.config import LAYOUTS_AVAILABLE, load
from esproxy.demo.tour import TOUR, differences, play
from esproxy.embedded import EmbeddedCluster, EmbeddedError, ProgressPrinter, default_engine, free_ports, missing_tools
from esproxy.serve.sharing import read_sharing

WORDS = {"acme": "rocket", "zenith": "summit"}
HEADER = "x-tenant"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--once", action="store_true", help="make the tour, compare, and end with a status")
    parser.add_argument(
        "--engine", help="which engine to start: es9, es8, os3, os2 (default: the newest OpenSearch your JDK runs)"
    )
    parser.add_argument("--upstream", metavar="URL", help="use this cluster instead of starting a node")
    parser.add_argument("--port", type=int, default=0, help="port of the proxy (default: any free one)")


def main(args: argparse.Namespace) -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with contextlib.ExitStack() as stack:
            upstream = args.upstream or stack.enter_context(_node(args.engine))
            proxy = stack.enter_context(_proxy(upstream, args.port))
            same = _tours(upstream, proxy, own_node=not args.upstream)
            if not args.once:
                _serve_on(proxy)
            return 0 if same else 1
    except EmbeddedError as error:
        print(f"esproxy demo: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 0


@contextlib.contextmanager
def _node(engine: str | None) -> Iterator[str]:
    engine = engine or default_engine()
    missing = missing_tools(engine)
    if missing:
        raise EmbeddedError(
            "\n  ".join(["to start a node this machine still needs:", *(f"{what}: {how}" for what, how in missing)])
        )
    with EmbeddedCluster(engine=engine, on_progress=ProgressPrinter()) as cluster:
        print(f"{cluster.title} is up at {cluster.url}")
        yield cluster.url


def _tenants() -> Iterator[tuple[str, str, str]]:
    """(layout, tenant, word)"""
    for layout in LAYOUTS_AVAILABLE:
        for name, word in WORDS.items():
            yield layout, f"{name}-{layout}", word


@contextlib.contextmanager
def _proxy(upstream: str, port: int) -> Iterator[str]:
    """``esproxy serve`` as a process of its own, as an operator would run it."""
    port = port or free_ports(1)[0]
    admin = free_ports(1)[0]
    rules = "".join(f'[[placement.rules]]\ntenants = ["*-{layout}"]\nlayout = "{layout}"\n' for layout in LAYOUTS_AVAILABLE)
    ids = ", ".join(f'"{tenant}"' for _, tenant, _ in _tenants())
    config = (
        f'[listen]\nport = {port}\nadmin_port = {admin}\n[clusters.main]\nnodes = ["{upstream}"]\n'
        f'[placement]\nlayout = "dedicated"\ncluster = "main"\n{rules}[identity]\nheader = "{HEADER}"\n'
        f'[tenants]\nids = [{ids}]\n[log]\nlevel = "warning"\nformat = "text"\n'
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "esproxy.toml"
        path.write_text(config)
        process = subprocess.Popen([sys.executable, "-P", "-m", "esproxy", "serve", "--config", str(path)], env=os.environ)
        try:
            _wait_until_ready(process, admin)
            url = f"http://127.0.0.1:{port}"
            print(f"esproxy is up at {url}, in front of {upstream}\n")
            yield url
        finally:
            process.terminate()
            process.wait(30)


def _wait_until_ready(process: subprocess.Popen[bytes], admin: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise EmbeddedError(f"the proxy ended with status {process.returncode} before it was ready")
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"http://127.0.0.1:{admin}/-/ready").status_code == 200:
                return
        time.sleep(0.05)
    raise EmbeddedError("the proxy was not ready in time")


def _tours(upstream: str, proxy: str, *, own_node: bool) -> bool:
    """Every tenant's tour beside the bare node's. True when all answers were the same."""
    index = "books" if own_node else f"books-{secrets.token_hex(3)}"
    same = True
    answers = {}
    with httpx.Client(base_url=upstream, timeout=60) as bare:
        for layout, tenant, word in _tenants():
            with httpx.Client(base_url=proxy, headers={HEADER: tenant}, timeout=60) as client:
                answers[tenant] = play(client, index, word)
                _show(client, layout, tenant, index)
        print("What is stored, seen on the node, and how a document lies in each layout:\n" + _indent(_stored(bare, index)))
        print(f"How much is shared:\n{_indent(_sharing(upstream))}")
        for layout, tenant, word in _tenants():
            try:
                direct = play(bare, index, word)
            finally:
                bare.delete(f"/{index}")
            same &= _compare(layout, tenant, answers[tenant], direct)
        if not own_node:
            for _, tenant, _ in _tenants():
                httpx.delete(f"{proxy}/{index}", headers={HEADER: tenant}, timeout=60)
    return same


def _stored(bare: httpx.Client, index: str) -> str:
    """The physical indices of the demo's tenants, and how a document lies in each layout."""
    patterns = [f"*{index}*", *(f"own~{tenant}-*" for _, tenant, _ in _tenants())]
    where = ",".join(quote(pattern) for pattern in patterns)
    told: str = bare.get(f"/_cat/indices/{where}?v&h=index,docs.count&s=index&expand_wildcards=all").text
    for layout in LAYOUTS_AVAILABLE:
        tenant = next(tenant for of, tenant, _ in _tenants() if of == layout)
        either = [{"term": {"_index": f"{tenant}.{index}"}}, {"prefix": {"_routing": f"{tenant}."}}]
        asked = {"size": 1, "query": {"bool": {"should": either}}}
        found = bare.post(f"/{where}/_search?expand_wildcards=all", json=asked).raise_for_status().json()["hits"]["hits"]
        for hit in found:
            shown = {key: hit[key] for key in ("_id", "_routing", "_source") if key in hit}
            told += f"\n{hit['_index']}\n{orjson.dumps(shown).decode()}"
    return told


def _sharing(upstream: str) -> str:
    tenants = [tenant for _, tenant, _ in _tenants()]
    return "\n".join(lines(read_sharing(load(None, {"tenants": {"ids": tenants}}, upstream=[upstream]))))


def _show(client: httpx.Client, layout: str, tenant: str, index: str) -> None:
    print(f"Tenant {tenant} (layout {layout}) sees:")
    print(_indent(client.get("/_cat/indices?v&h=index,docs.count").text))
    hits = client.get(f"/{index}/_search", params={"sort": "year"}).json()["hits"]["hits"]
    print(_indent("".join(f"{hit['_index']}/{hit['_id']}  {hit['_source']['title']}\n" for hit in hits)))


def _compare(layout: str, tenant: str, proxied: list[httpx.Response], direct: list[httpx.Response]) -> bool:
    wrong = 0
    for step, one, other in zip(TOUR, proxied, direct, strict=True):
        found = differences(one, other)
        wrong += bool(found)
        for line in found:
            print(f"  {step.what} ({step.method} {step.path}): {line}")
    verdict = "all the same as on the bare node" if not wrong else f"{wrong} NOT the same as on the bare node"
    print(f"{tenant} (layout {layout}): {len(TOUR)} calls, {verdict}")
    return not wrong


def _serve_on(proxy: str) -> None:
    tenants = [tenant for _, tenant, _ in _tenants()]
    print("\nServing on; end with Ctrl-C. Try:\n")
    for tenant in tenants[:2]:
        print(f"  curl -s -H '{HEADER}: {tenant}' '{proxy}/_cat/indices?v'")
        print(f"  curl -s -H '{HEADER}: {tenant}' '{proxy}/books/_search?pretty&q=title:the'")
    print(
        f"  curl -s -H '{HEADER}: {tenants[0]}' -H 'content-type: application/json'"
        f" -XPUT '{proxy}/mine/_doc/1' -d '{{\"hello\": 1}}'"
    )
    signal.pause()


def _indent(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())
