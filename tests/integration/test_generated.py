"""Calls made by chance (``tests/oracle/generated``) are answered to a tenant as on a bare node.

The default run plays a few beside the tenants that the session has; ``--wide`` plays ten thousand as one of twenty tenants, on a
node of its own. What is known to differ and why is in ``tests/oracle/generated/known.py``.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from esproxy.embedded import EmbeddedCluster, ProgressPrinter
from tests.engines import memory_folder
from tests.integration.conftest import SCRIPTS
from tests.integration.proxy import SEED, SharedCluster, serve
from tests.oracle.client import WireClient
from tests.oracle.generated.known import unknown
from tests.oracle.generated.rounds import Directly, Played, directly, through
from tests.oracle.generated.tenants import settle
from tests.processes import report

TAKEN = 0.6  # of the calls, by the bare node
MANY = 10_000


def check(found: Played) -> None:
    verdicts = found.verdicts
    assert not found.leaks, found.leaks[:5]
    assert not found.changed, found.changed
    assert verdicts.taken >= TAKEN * verdicts.calls, verdicts.report()[0]
    left = unknown(verdicts.causes, found.judge.placement, found.judge.material.engine)
    assert not left, "\n".join([*verdicts.report(), *(f"{cause}\n{several[0]}" for cause, several in left.items())])


def test_generated_calls_are_answered_as_on_a_bare_node(cluster: SharedCluster, generated: Directly) -> None:
    check(through(generated, cluster.served.client(), cluster.neighbours, cluster.placement))


@pytest.mark.wide
def test_many_generated_calls_are_answered_as_on_a_bare_node(
    request: pytest.FixtureRequest, engine_name: str, placement: str, tmp_path: Path, on_progress: ProgressPrinter
) -> None:
    started = EmbeddedCluster(engine_name, settings=SCRIPTS, within=memory_folder(), on_progress=on_progress)
    with started as running, closing(WireClient(running.url)) as node:
        bare = directly(node, MANY, SEED)
        served = serve(running.url, tmp_path, placement, "engine", anybody=True)
        try:
            found = through(bare, served.client(), settle(node, served.client, bare.material.engine), placement)
        finally:
            served.stop()
    report(request.config, "generated", *(f"{engine_name}, {placement}: {line}" for line in found.verdicts.report()[:2]))
    check(found)
