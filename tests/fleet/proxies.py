"""Several proxies with several workers each in front of one cluster, and trouble for their workers.

``Fleet`` starts `esproxy serve` as an operator would, with a layout per tenant. ``Trouble`` stops workers for longer than a
lease, lets them go on, and kills them; the supervisors start others.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx

CONFIG = """
[listen]
port = {port}
admin_port = {admin}
workers = {workers}
drain_timeout = 5
[clusters.main]
nodes = ["{node}"]
[placement]
layout = "shared"
cluster = "main"
{rules}
[identity]
header = "x-tenant"
[tenants]
ids = [{tenants}]
[log]
format = "text"
[secrets]
keys = ["kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"]
"""
RULE = '[[placement.rules]]\ntenants = ["{tenant}"]\nlayout = "{layout}"\n'
READY = 60.0  # seconds that a proxy may take to have all its workers


@dataclass(slots=True)
class Proxy:
    url: str
    admin: str
    process: subprocess.Popen[bytes]
    log: Path

    def workers(self) -> list[int]:
        """Process ids of the workers, stopped ones among them."""
        listed = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True, check=False).stdout
        return sorted(int(line) for line in listed.split())

    def ready(self) -> bool:
        try:
            return httpx.get(f"{self.admin}/-/ready", timeout=5).status_code == 200
        except httpx.TransportError:
            return False


@dataclass(slots=True)
class Fleet:
    """``layouts``: tenant → layout. A context manager: when it begins, all workers are ready."""

    node: str
    folder: Path
    layouts: dict[str, str]
    ports: list[tuple[int, int]]  # of clients and operators, one pair per proxy
    workers: int = 2
    proxies: list[Proxy] = field(default_factory=list)

    def __enter__(self) -> Fleet:
        try:
            for port, admin in self.ports:
                self.proxies.append(self._start(port, admin))
            self.wait_until_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for proxy in self.proxies:
            for pid in proxy.workers():
                send(pid, signal.SIGCONT)
            proxy.process.terminate()
        for proxy in self.proxies:
            try:
                proxy.process.wait(30)
            except subprocess.TimeoutExpired:
                proxy.process.kill()
                proxy.process.wait()
                raise

    def _start(self, port: int, admin: int) -> Proxy:
        rules = "".join(RULE.format(tenant=tenant, layout=layout) for tenant, layout in self.layouts.items())
        tenants = ", ".join(f'"{tenant}"' for tenant in self.layouts)
        config, log = self.folder / f"{port}.toml", self.folder / f"{port}.log"
        config.write_text(
            CONFIG.format(port=port, admin=admin, workers=self.workers, node=self.node, rules=rules, tenants=tenants)
        )
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ESPROXY_")}
        command = [sys.executable, "-m", "esproxy", "serve", "--config", str(config)]
        with log.open("wb") as out:
            process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment)
        return Proxy(f"http://127.0.0.1:{port}", f"http://127.0.0.1:{admin}", process, log)

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + READY
        for proxy in self.proxies:
            while not (proxy.ready() and len(proxy.workers()) == self.workers):
                if proxy.process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"a proxy is not ready: {proxy.log.read_text()[-3000:]}")
                time.sleep(0.1)

    def logs(self) -> str:
        return "\n".join(proxy.log.read_text() for proxy in self.proxies)


def send(pid: int, number: signal.Signals) -> bool:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


class Trouble(threading.Thread):
    """Until ``stop``: picks a worker now and then, and stops it for a while or kills it. At most half of them are stopped at
    once. The choices, though not which process they meet, come from the seed alone."""

    def __init__(self, fleet: Fleet, seed: int, pause: tuple[float, float], stopped: tuple[float, float]) -> None:
        super().__init__(name="trouble", daemon=True)
        self.fleet = fleet
        self.random = random.Random(f"trouble {seed}")
        self.pause = pause
        self.stopped = stopped
        self.over = threading.Event()
        self.asleep: dict[int, float] = {}  # process → when it goes on
        self.log: list[str] = []
        self.stops = self.kills = 0

    def run(self) -> None:
        next_at = time.monotonic() + self.random.uniform(*self.pause)
        while not self.over.wait(0.05):
            now = time.monotonic()
            self.wake(now)
            if now >= next_at:
                self.strike(now)
                next_at = time.monotonic() + self.random.uniform(*self.pause)
        self.wake(float("inf"))

    def wake(self, now: float) -> None:
        for pid in [pid for pid, until in self.asleep.items() if until <= now]:
            del self.asleep[pid]
            self.note(f"worker {pid} goes on" if send(pid, signal.SIGCONT) else f"worker {pid} was gone")

    def strike(self, now: float) -> None:
        proxy = self.random.choice(self.fleet.proxies)
        place, kind, seconds = self.random.random(), self.random.random(), self.random.uniform(*self.stopped)
        workers = proxy.workers()
        if not workers:
            return
        pid = workers[int(place * len(workers))]
        if kind < 0.3:
            self.kills += send(pid, signal.SIGKILL)
            self.asleep.pop(pid, None)
            self.note(f"worker {pid} is killed")
        elif pid not in self.asleep and len(self.asleep) * 2 < len(self.fleet.proxies) * self.fleet.workers:
            seconds = seconds if kind < 0.85 else seconds / 5
            if send(pid, signal.SIGSTOP):
                self.stops += 1
                self.asleep[pid] = now + seconds
                self.note(f"worker {pid} is stopped for {seconds:.1f} s")

    def note(self, text: str) -> None:
        self.log.append(f"{time.monotonic():.3f} {text}")

    def stop(self) -> None:
        self.over.set()
        self.join()
