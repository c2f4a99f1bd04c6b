"""Mutants in this process: the app is built anew under each, in front of the session's cluster, and its answers compared."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from esproxy.config import load, with_keys
from esproxy.serve.asgi import DataApp
from tests.integration.proxy import SCENARIOS, SharedCluster, config_text, own_clear
from tests.oracle.answer import Raw
from tests.oracle.client import AsgiClient
from tests.oracle.compare import compare_runs
from tests.oracle.mutants import Mutant
from tests.oracle.neighbours import SOME, TENANT, Decoys, physical_indices
from tests.oracle.patches import BELIEVED
from tests.oracle.run import Unplayable, play
from tests.oracle.scenario import Call, Scenario


@dataclass(slots=True)
class Laboratory:
    """Builds the app in this process, plays scenarios as the tenant, and knows what the unmutated app gives."""

    cluster: SharedCluster
    config: Path
    known: dict[str, set[str]] = field(default_factory=dict)

    def app(self) -> AsgiClient:
        return AsgiClient(DataApp(settings=with_keys(load(self.config))), {"x-tenant": TENANT})

    def observe(self, mutant: Mutant | None, name: str) -> set[str]:
        """Differences from the bare node and leaks, as text; a scenario that breaks off is one too. The app is gone before what
        it made is deleted: it follows nothing while nothing is sent through it, and a deletion waits for all who follow."""
        seen: set[str] = set()

        def watch(scenario: Scenario, call: Call, raw: Raw) -> None:
            seen.update(f"{call}: {who}" for who in self.cluster.neighbours.leaks(raw))
            if self.cluster.neighbours.shows_a_machine(raw):
                seen.add(f"{call}: a machine")

        try:
            with BELIEVED(), mutant.make() if mutant else nullcontext(), closing(self.app()) as client:
                run = play(SCENARIOS[name], client, self.cluster.direct.engine, watch=watch)
        except (Unplayable, ValueError, ConnectionError) as broken:
            return {*seen, f"broke off: {type(broken).__name__}"}
        finally:
            with closing(self.cluster.served.client()) as sane:
                own_clear(sane)
        found = compare_runs(self.cluster.direct.runs[name], run, self.cluster.placement)
        return seen | {f"{one.call} {one.path}" for one in found}

    def unmutated(self, name: str) -> set[str]:
        if name not in self.known:
            self.known[name] = self.observe(None, name)
        return self.known[name]

    def caught_by(self, mutant: Mutant) -> str | None:
        """The first scenario that notices, those named by the mutant first."""
        if not self.cluster.direct.engine.is_one_of(list(mutant.engines)):
            pytest.skip(f"{mutant} is for other engines")
        here = self.cluster.direct.runs
        first = [name for name in mutant.first if name in here]
        for name in [*first, *(name for name in SAFE if name in here and name not in first)]:
            if self.observe(mutant, name) - self.unmutated(name):
                return name
        return None


# Scenarios that delete nothing by pattern: a mutant's pattern would delete everybody's.
SAFE = [
    name
    for name, scenario in SCENARIOS.items()
    if not any(call.method == "DELETE" and any(sign in call.target for sign in ("*", "_all", ",")) for call in scenario.calls)
]


@pytest.fixture(scope="module")
def laboratory(cluster: SharedCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    config = tmp_path_factory.mktemp("mutants") / "esproxy.toml"
    node = f"http://{cluster.neighbours.node.host}"  # type: ignore[attr-defined]
    config.write_text(config_text(node, (8080, 0), cluster.placement))
    yield Laboratory(cluster, config)
    # What mutants have made and spoiled without a prefix is nobody's: away with it, and the decoys anew.
    node_client = cluster.neighbours.node
    for name in physical_indices(node_client):
        if "." not in name.lstrip(".") and "~" not in name:
            node_client.send("DELETE", f"/{name}", {}, None)
    for one in cluster.neighbours.all:
        if isinstance(one, Decoys):
            one.load(node_client, sorted(SOME))
