"""The proxy in front of a test session's node: a process of its own, and the runs of the oracle that share it.

``proxies`` starts `esproxy serve` for a placement and a transport, once while it lasts. ``direct_runs`` are the scenarios
played on the bare node, before anything else lies there; ``cluster`` is that node with several tenants on it and the proxy in
front, one after another for each placement (``placement``, see tests/oracle/placements.py; ``transport``).
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from esproxy.embedded import Engine as EngineInfo
from tests.oracle.answer import Raw
from tests.oracle.client import WireClient
from tests.oracle.generated.rounds import Directly, directly
from tests.oracle.made import Made
from tests.oracle.neighbours import (
    ALIKE,
    EVERYTHING,
    OTHERS,
    SOME,
    TENANT,
    Decoys,
    Neighbour,
    Neighbours,
    State,
    clear,
    creations,
    machines,
)
from tests.oracle.placements import config
from tests.oracle.run import Run, Unplayable, engine_of, foreign_indices, play
from tests.oracle.scenario import Call, Engine, Scenario, load
from tests.pairwise import plays

BUSY = "busy"  # one whose state nobody compares: for tests in which another tenant makes and deletes indices
TENANTS = (TENANT, *OTHERS, BUSY)
GENERATED, SEED = 150, 1  # calls made by chance in each placement
SCENARIOS = {scenario.name: scenario for scenario in load()}
CONFIG = """
[listen]
host = "127.0.0.1"
port = {port}
admin_port = {admin}
[clusters.main]
nodes = ["{node}"]
{placement}[identity]
header = "x-tenant"
[tenants]
{tenants}
[upstream]
transport = "{transport}"
[secrets]
keys = ["{key}"]
"""


START_WITHIN = 90  # seconds; a machine with more to do than it has cores takes its time


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def config_text(
    node: str,
    ports: tuple[int, int],
    placement: str = "dedicated",
    transport: str = "engine",
    more: str = "",
    anybody: bool = False,
) -> str:
    """``ports``: for clients, and the admin's; ``more``: further sections; ``anybody``: not only TENANTS are let in."""
    port, admin = ports
    tenants = 'mode = "open"' if anybody else "ids = [" + ", ".join(f'"{tenant}"' for tenant in TENANTS) + "]"
    text = CONFIG.format(
        node=node, port=port, admin=admin, placement=config(placement), transport=transport, tenants=tenants, key="k" * 48
    )
    return text + more


@dataclass(slots=True)
class Served:
    """`esproxy serve` as a process."""

    url: str
    process: subprocess.Popen[bytes]
    log: Path
    admin: int  # port

    def client(self, tenant: str = TENANT) -> WireClient:
        return WireClient(self.url, {"x-tenant": tenant})

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise

    def defects(self) -> list[str]:
        """What it logged with a traceback."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines() if '"exception":' in line]
        return [f"{line['message']}\n{line['exception'][-1500:]}" for line in lines if line["level"] == "error"]


def serve(node: str, folder: Path, placement: str, transport: str, more: str = "", anybody: bool = False) -> Served:
    ports = free_port(), free_port()
    config, log = folder / "esproxy.toml", folder / "esproxy.log"
    config.write_text(config_text(node, ports, placement, transport, more, anybody))
    command = [sys.executable, "-m", "esproxy", "serve", "--config", str(config), "--workers", "1"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ESPROXY_")}
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment)
    served = Served(f"http://127.0.0.1:{ports[0]}", process, log, ports[1])
    deadline = time.monotonic() + START_WITHIN
    while process.poll() is None and time.monotonic() < deadline:
        client = served.client()
        try:
            if client.send("GET", "/", {}, None).status == 200:
                return served
        except OSError:
            pass  # not listening yet
        finally:
            client.close()
        time.sleep(0.1)
    process.kill()
    raise RuntimeError(f"the proxy did not start: {log.read_text()}")


@dataclass(slots=True)
class Proxies:
    """The proxies that run in front of the node, by placement and transport."""

    node: str
    folders: pytest.TempPathFactory
    running: dict[tuple[str, str, str], Served] = field(default_factory=dict)

    def get(self, placement: str, transport: str = "engine", more: str = "") -> Served:
        """A running proxy, the same one for the same arguments."""
        key = (placement, transport, more)
        if key not in self.running:
            self.running[key] = serve(self.node, self.folders.mktemp("proxy"), placement, transport, more)
        return self.running[key]

    def stop(self) -> None:
        """Raises AssertionError when one of them met a defect of its own, whatever it answered then."""
        failed: list[str] = []
        while self.running:
            served = self.running.popitem()[1]
            served.stop()
            failed += served.defects()
        assert not failed, f"{len(failed)} requests met a defect of the proxy\n" + "\n".join(failed[:5])


@pytest.fixture(scope="session")
def proxies(node_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxies]:
    running = Proxies(node_url, tmp_path_factory)
    yield running
    running.stop()


@dataclass(slots=True)
class Direct:
    """The bare node's answers; to generated calls, too, if a test is about them."""

    engine: Engine
    runs: dict[str, Run]
    generated: Directly | None = None


@pytest.fixture(scope="session")
def direct_runs(request: pytest.FixtureRequest, node_url: str) -> Direct:
    """All scenarios that this session's tests need, played on the bare node."""
    runs: dict[str, Run] = {}
    with closing(WireClient(node_url)) as node:
        left = foreign_indices(node)
        if left:
            pytest.fail(
                f"the oracle needs a node that holds nothing, and empties it; {node_url} holds {left[:10]}", pytrace=False
            )
        engine = engine_of(node)
        wait_for_license(node)
        for scenario in wanted(request.session.items):
            if scenario.runs_on(engine):
                runs[scenario.name] = play(scenario, node, engine)
                clear(node)
        generated = any("generated" in getattr(item, "fixturenames", ()) for item in request.session.items)
        return Direct(engine, runs, directly(node, GENERATED, SEED) if generated else None)


def wait_for_license(node: WireClient) -> None:
    """Elasticsearch gives itself one moments after it is ready, and until then says 404."""
    deadline = time.monotonic() + START_WITHIN
    while node.send("GET", "/_license", {}, None).status == 404 and time.monotonic() < deadline:
        time.sleep(0.1)


@pytest.fixture(scope="session")
def generated(direct_runs: Direct) -> Directly:
    """Generated calls as the bare node answers them."""
    assert direct_runs.generated is not None
    return direct_runs.generated


def wanted(items: list[pytest.Item]) -> list[Scenario]:
    """Scenarios that the selected tests are about: those that a test or a mutant names; all, if a test asks for that."""
    if any("all_scenarios" in getattr(item, "fixturenames", ()) for item in items):
        return list(SCENARIOS.values())
    parameters = [item.callspec.params for item in items if hasattr(item, "callspec")]
    named = {one.get("scenario") for one in parameters}
    named |= {name for one in parameters if "mutant" in one for name in one["mutant"].first}
    return [scenario for scenario in SCENARIOS.values() if scenario.name in named]


@pytest.fixture(scope="session")
def all_scenarios(direct_runs: Direct) -> Direct:
    """The same, for tests about all of them."""
    return direct_runs


def played(config: pytest.Config, case: str, family: str, placement: str) -> bool:
    """Whether a case is this session's in this placement: all are, where placements were asked for."""
    return bool(config.getoption("--placement")) or plays(case, family, placement)


@dataclass(slots=True)
class Leak:
    scenario: str
    call: str
    who: list[str]
    seen: bytes


@dataclass(slots=True)
class SharedCluster:
    """A node with several tenants, the proxy in front, and what the tenant under test has seen of it."""

    direct: Direct
    served: Served
    neighbours: Neighbours
    placement: str
    before: State
    scenarios: list[str]  # that this session plays here
    leaks: list[Leak] = field(default_factory=list)
    runs: dict[str, Run] = field(default_factory=dict)
    broken: dict[str, Unplayable] = field(default_factory=dict)
    made: Made = field(default_factory=Made)

    def run(self, name: str) -> Run:
        """The scenario as the tenant sees it; played once, also when it breaks off."""
        if name in self.broken:
            raise self.broken[name]
        if name not in self.runs:
            client = self.served.client()

            def watch(scenario: Scenario, call: Call, raw: Raw) -> None:
                who = self.neighbours.leaks(raw)
                if who:
                    self.leaks.append(Leak(scenario.name, str(call), who, raw.everything()[:600]))

            with closing(client):
                try:
                    self.runs[name] = play(SCENARIOS[name], client, self.direct.engine, watch=watch)
                except Unplayable as broken:
                    self.broken[name] = broken
                    raise
                finally:
                    own_clear(client)
                    self.made.look(self.neighbours.node)
        return self.runs[name]


def own_clear(client: WireClient) -> None:
    """Deletes what the tenant has, through the proxy; its neighbours' stays."""
    raw = client.send("DELETE", "/*?expand_wildcards=all", {}, None)
    if raw.status != 200:
        raise RuntimeError(f"cannot delete the tenant's indices: {raw.status} {raw.body[:300]!r}")


def settle(node: WireClient, proxy: Callable[[str], WireClient], runs: Iterable[Run]) -> Neighbours:
    """Other tenants with indices of the scenarios' names, loaded through the proxy; what each gets: see ``neighbours.py``."""
    made = creations(runs)
    neighbours = [Neighbour(tenant) for tenant in OTHERS]
    for neighbour in neighbours:
        with closing(proxy(neighbour.tenant)) as client:
            names = SOME | set(made) if neighbour.tenant == EVERYTHING else SOME
            neighbour.load(client, sorted(names), made if neighbour.tenant == ALIKE else {})
    decoys = Decoys()
    decoys.load(node, sorted(SOME))
    return Neighbours(node, [*neighbours, decoys], machines(node))


@pytest.fixture(scope="session")
def cluster(
    request: pytest.FixtureRequest,
    node_url: str,
    engine: EngineInfo,
    placement: str,
    transport: str,
    direct_runs: Direct,
    proxies: Proxies,
) -> Iterator[SharedCluster]:
    node = WireClient(node_url)
    served = proxies.get(placement, transport)
    try:
        neighbours = settle(node, served.client, direct_runs.runs.values())
        here = [name for name in direct_runs.runs if played(request.config, name, engine.family, placement)]
        yield SharedCluster(direct_runs, served, neighbours, placement, neighbours.state(), here)
    finally:
        proxies.stop()  # before the node is emptied: a proxy follows its catalogue
        Decoys.remove(node)
        clear(node)
        node.close()
