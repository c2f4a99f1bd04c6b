"""Two proxies with two workers each on one cluster: clients create, delete, recreate, alias, write, read and search the same
names through any of them, while workers are stopped for longer than the lease, and killed. What they were told is judged by
tests/fleet/history, what is left at the end by tests/fleet/state.

``FLEET_SECONDS`` and ``FLEET_SEEDS`` make the long run (tox -e fleet).
"""

from __future__ import annotations

import collections
import os
import secrets
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from esproxy.config import LAYOUTS_AVAILABLE
from esproxy.embedded import EmbeddedCluster, ProgressPrinter
from tests.engines import memory_folder
from tests.fleet.history import EVERYTHING, Op, violations
from tests.fleet.players import ALIAS, NAMES, Player, carry_out, client
from tests.fleet.proxies import Fleet, Trouble
from tests.fleet.state import State
from tests.integration.proxy import free_port

SECONDS = float(os.environ.get("FLEET_SECONDS", "30"))
SEEDS = [int(seed) for seed in os.environ.get("FLEET_SEEDS", "1").split(",")]
AT_MOST = 4  # times as long, on a machine that is busy with other things
CLIENTS = 4  # of each tenant
PAUSE = (1.0, 3.0)  # seconds between two troubles
STOPPED = (5.5, 9.0)  # seconds that a worker is stopped: the lease is 5
QUIET = 90.0  # seconds until nothing is left to be done: a dead member, a lease, a sweep with its grace


@pytest.fixture(scope="module")
def own_node(engine_name: str, on_progress: ProgressPrinter) -> Iterator[str]:
    """A node of its own: all that its catalogue says is audited, and other tests leave work behind."""
    with EmbeddedCluster(engine_name, within=memory_folder(), on_progress=on_progress) as cluster:
        yield cluster.url


@pytest.fixture
def fleet(own_node: str, tmp_path: Path) -> Iterator[Fleet]:
    """Tenants with equal index names: two in the same pools, and one in each of the other layouts."""
    mark = secrets.token_hex(2)
    layouts = {f"north-{mark}": "shared", f"south-{mark}": "shared"}
    layouts |= {f"{layout}-{mark}": layout for layout in LAYOUTS_AVAILABLE if layout != "shared"}
    ports = [(free_port(), free_port()) for _ in range(2)]
    try:
        with Fleet(own_node, tmp_path, layouts, ports) as running:
            yield running
            for tenant in layouts:
                clean(running, tenant)
    finally:
        for name in NAMES:
            httpx.delete(f"{own_node}/dedicated-{mark}.{name}", timeout=60)


def clean(fleet: Fleet, tenant: str) -> None:
    with client(fleet.proxies[0].url, tenant) as http:
        for name in NAMES:
            http.delete(f"/{name}")


@pytest.mark.parametrize("seed", SEEDS)
def test_fleet_under_trouble_keeps_the_promise(seed: int, fleet: Fleet, own_node: str, tmp_path: Path) -> None:
    urls = [proxy.url for proxy in fleet.proxies]
    known: dict[str, list[tuple[str, str]]] = {tenant: [] for tenant in fleet.layouts}
    over = threading.Event()
    players = [Player(seed, tenant, n, urls, known[tenant], over) for tenant in fleet.layouts for n in range(CLIENTS)]
    trouble = Trouble(fleet, seed, PAUSE, STOPPED)
    for thread in (*players, trouble):
        thread.start()

    def played() -> list[Op]:
        return [op for player in players for op in player.ops]

    began = time.monotonic()
    while (age := time.monotonic() - began) < SECONDS or (age < AT_MOST * SECONDS and lacking(played(), trouble)):
        time.sleep(0.2)
    over.set()
    for player in players:
        player.join()
    trouble.stop()
    ops = played()
    failures = [player.failure for player in players if player.failure is not None]
    assert not failures, failures

    fleet.wait_until_ready()
    state = settled(own_node)
    ops += last_look(fleet)
    wrong = violations(ops)
    disagreements = state.disagreements()
    report = summary(seed, ops, trouble)
    print(report)
    history = tmp_path / "history"
    history.write_text("\n".join([*map(str, sorted(ops, key=lambda op: op.begin)), *trouble.log]))
    if wrong or disagreements:
        pytest.fail("\n".join([report, f"history: {history}", *wrong[:20], *disagreements[:20]]), pytrace=False)
    assert not lacking(ops, trouble), f"{lacking(ops, trouble)}\n{report}"
    assert "Traceback" not in fleet.logs(), fleet.logs()
    assert "violation" not in fleet.logs()


def settled(node: str) -> State:
    """The state when nothing is left to be done."""
    deadline = time.monotonic() + QUIET
    while True:
        state = State(node)
        if not state.busy() or time.monotonic() > deadline:
            return state
        time.sleep(1)


def last_look(fleet: Fleet) -> list[Op]:
    """Everything once more, in quiet, through each proxy: reads that the checker judges as the others."""
    found = []
    for proxy in fleet.proxies:
        for tenant in fleet.layouts:
            with client(proxy.url, tenant) as http:
                for name in (*NAMES, ALIAS, EVERYTHING):
                    op = Op("search", tenant, name, time.monotonic(), via=proxy.url)
                    carry_out(http, op)
                    op.end = time.monotonic()
                    found.append(op)
                    assert op.status in (200, 404), op
    return found


def lacking(ops: list[Op], trouble: Trouble) -> str:
    """Nobody passes by refusing: most of what was asked was done, of each kind a good many, and there was trouble."""
    done = collections.Counter(op.kind for op in ops if op.acknowledged)
    for kind in ("create", "delete", "write", "get", "search", "alias", "remove"):
        if done[kind] < SECONDS / 3:
            return f"hardly any {kind} was done"
    if len(ops) < 20 * SECONDS or sum(op.acknowledged or op.refused for op in ops) < 0.85 * len(ops):
        return "too little was done"
    if trouble.stops < SECONDS / 20 or trouble.kills < SECONDS / 30:
        return "too little happened"
    return ""


def summary(seed: int, ops: list[Op], trouble: Trouble) -> str:
    lines = [f"seed {seed}: {len(ops)} operations, {trouble.stops} stops, {trouble.kills} kills"]
    for kind in sorted({op.kind for op in ops}):
        mine = [op for op in ops if op.kind == kind]
        done = sorted(op.end - op.begin for op in mine if op.acknowledged)
        others = collections.Counter(f"{op.status or 'none'} {op.code}".strip() for op in mine if not op.acknowledged)
        slow = f", median {done[len(done) // 2]:.2f} s, longest {done[-1]:.2f} s" if done else ""
        lines.append(f"  {kind}: {len(done)} of {len(mine)} acknowledged{slow}; {dict(others)}")
    return "\n".join(lines)
