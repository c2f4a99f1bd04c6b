"""The processes of the wire benchmark: a node, the stub in front of it, nginx and the proxies in front of the stub.

    wrk ─▶ direct ─────────────────────▶ stub (replay.py) ─▶ node
    wrk ─▶ nginx (proxy_pass) ─────────▶   "
    wrk ─▶ esproxy serve (one worker) ─▶   "

All of them are children of this process, listen on free ports of the loopback address, and end with the ``with`` block. nginx is
set up to do as little as it can: one worker, no log, kept connections on both sides that are never renewed, buffers that hold
whatever the rows send, so that nothing touches a file.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from cases import HEADER, TENANTS, Wrong

from esproxy.embedded import EmbeddedCluster, EmbeddedError, ProgressPrinter, default_engine, free_ports, missing_tools

REPLAY = Path(__file__).with_name("replay.py")
RELAY = Path(__file__).with_name("relay.py")
PATIENCE = 30.0  # seconds for a process to become ready
# Children run what is installed, as we do, and not what lies in the folder we stand in.
ENVIRONMENT = {**os.environ, "PYTHONSAFEPATH": "1"}

NGINX = """
{user}worker_processes 1;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    client_body_buffer_size 1m;
    client_max_body_size 100m;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    upstream stub {{ server {stub}; keepalive 64; keepalive_requests 1000000000; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://stub;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_buffer_size 16k;
            proxy_buffers 16 64k;
        }}
    }}
}}
"""

ESPROXY = """
[listen]
port = {port}
admin_port = {admin}
workers = {workers}
shell = "{shell}"
[clusters.main]
nodes = {nodes}
[placement]
layout = "{layout}"
[identity]
header = "{header}"
[tenants]
ids = {tenants}
[upstream]
transport = "{transport}"
[secrets]
keys = ["{key}"]
[log]
level = "warning"
"""


class Failed(Exception):
    """The stage cannot be set."""


def status_of(name: str, run: Callable[[ExitStack], bool | None]) -> int:
    """The exit status of a benchmark: 1 where a bar is missed or an answer wrong, 2 where it could not be run."""
    try:
        with ExitStack() as stack:
            return 1 if run(stack) is False else 0
    except Wrong as wrong:
        print(f"{name}: WRONG: {wrong}", file=sys.stderr)
        return 1
    except (EmbeddedError, Failed, httpx.ConnectError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2


@dataclass(frozen=True)
class Target:
    """What is loaded. ``pid`` is its tree's root. ``physical``: it changes nothing, so it is asked what the proxy asks."""

    name: str
    url: str
    pid: int | None
    physical: bool


def find(program: str) -> str | None:
    return shutil.which(program, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"]))


@contextmanager
def node(upstream: str | None, engine: str | None) -> Iterator[str]:
    """The URL of a node: the one given, or one of our own."""
    if upstream is not None:
        yield upstream.rstrip("/")
        return
    engine = engine or default_engine()
    if missing := missing_tools(engine):
        raise Failed("\n  ".join(["to start a node this machine still needs:", *(f"{what}: {how}" for what, how in missing)]))
    with EmbeddedCluster(engine, on_progress=ProgressPrinter()) as cluster:
        yield cluster.url


class Stub:
    """The recording stub's process, and its orders."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None and process.stdout is not None
        self.orders, self.answers = process.stdin, process.stdout
        self.urls = self._line().decode().split()
        self.url = self.urls[0]

    def record(self) -> None:
        self.order("record")

    def replay(self) -> list[dict[str, str]]:
        """The calls since ``record``, which are answered from memory from now on."""
        return self.order("replay")

    def order(self, word: str) -> Any:
        """The stub's answer to a line."""
        self.orders.write(word.encode() + b"\n")
        self.orders.flush()
        return json.loads(self._line())

    def _line(self) -> bytes:
        line = self.answers.readline()
        if not line:
            raise Failed("the stub has ended")
        return line


@contextmanager
def stub(node_url: str, program: Path = REPLAY, *options: str) -> Iterator[Stub]:
    command = [sys.executable, str(program), "--node", node_url, *options]
    path = os.pathsep.join([str(program.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = ENVIRONMENT | {"PYTHONPATH": path}  # stubs stand on one another
    with ended(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)) as process:
        yield Stub(process)


@contextmanager
def nginx(program: str, stub_url: str, folder: Path) -> Iterator[Target]:
    folder = folder / "nginx"
    folder.mkdir()
    port = free_ports(1)[0]
    user = "user root;\n" if os.geteuid() == 0 else ""  # its worker has to reach a folder that is ours alone
    config = folder / "nginx.conf"
    config.write_text(NGINX.format(user=user, folder=folder, stub=stub_url.removeprefix("http://"), port=port))
    command = [program, "-c", str(config), "-p", str(folder), "-e", str(folder / "error.log")]
    with ended(subprocess.Popen(command)) as process:
        url = f"http://127.0.0.1:{port}"
        wait_until_ready(process, lambda: httpx.get(url, trust_env=False).status_code == 200, "nginx")
        yield Target("nginx", url, process.pid, physical=True)


@contextmanager
def relay(stub_url: str) -> Iterator[Target]:
    port = free_ports(1)[0]
    command = [sys.executable, str(RELAY), str(port), stub_url.removeprefix("http://")]
    with ended(subprocess.Popen(command, env=ENVIRONMENT)) as process:
        url = f"http://127.0.0.1:{port}"
        wait_until_ready(process, lambda: httpx.get(url, trust_env=False).status_code == 200, "relay")
        yield Target("relay", url, process.pid, physical=True)


@contextmanager
def serve(
    name: str,
    stub_url: str,
    folder: Path,
    *,
    layout: str,
    transport: str = "engine",
    shell: str = "protocol",
    tenants: Sequence[str] = TENANTS,
    workers: int = 1,
    nodes: Sequence[str] = (),
) -> Iterator[Target]:
    """``esproxy serve``; ``nodes``: these instead of the stub's URL alone."""
    port, admin = free_ports(2)
    values = {"port": port, "admin": admin, "layout": layout, "transport": transport, "shell": shell, "workers": workers}
    config = write_config(folder / f"{name}.toml", nodes or [stub_url], tenants, **values)
    command = [sys.executable, "-m", "esproxy", "serve", "--config", str(config)]
    with ended(subprocess.Popen(command, env=ENVIRONMENT)) as process:
        ready = f"http://127.0.0.1:{admin}/-/ready"
        wait_until_ready(process, lambda: httpx.get(ready, trust_env=False).status_code == 200, name)
        yield Target(name, f"http://127.0.0.1:{port}", process.pid, physical=False)


@contextmanager
def uvicorn(name: str, stub_url: str, folder: Path, *, layout: str) -> Iterator[Target]:
    """The same application under plain uvicorn."""
    port, admin = free_ports(2)
    values = {"port": port, "admin": admin, "layout": layout, "transport": "engine", "shell": "asgi", "workers": 1}
    config = write_config(folder / f"{name}.toml", [stub_url], TENANTS, **values)
    command = [sys.executable, "-m", "uvicorn", "esproxy.serve.asgi:app", "--port", str(port), "--no-access-log"]
    command += ["--log-level", "warning", "--loop", "uvloop", "--http", "httptools", "--ws", "none"]
    environment = {**ENVIRONMENT, "ESPROXY_CONFIG": str(config)}
    with ended(subprocess.Popen(command, env=environment)) as process:
        url = f"http://127.0.0.1:{port}"
        headers = {HEADER: TENANTS[0]}
        wait_until_ready(process, lambda: httpx.get(url, headers=headers, trust_env=False).status_code == 200, name)
        yield Target(name, url, process.pid, physical=False)


def write_config(path: Path, nodes: Sequence[str], tenants: Sequence[str], **values: object) -> Path:
    lists = {"nodes": json.dumps(list(nodes)), "tenants": json.dumps(list(tenants))}
    path.write_text(ESPROXY.format(header=HEADER, key=secrets.token_hex(32), **lists, **values))
    return path


@contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that ends with the block."""
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_until_ready(process: subprocess.Popen[bytes], is_ready: Callable[[], bool], name: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise Failed(f"{name} ended with status {process.returncode} before it was ready")
        try:
            if is_ready():
                return
        except httpx.TransportError:
            pass  # it does not listen yet
        time.sleep(0.05)
    raise Failed(f"{name} was not ready after {PATIENCE:g} s")
