"""Real nodes for the integration tests: one per engine and session, one at a time in each process.

``engine_name`` parametrises a test over the session's engines (see tests/conftest.py), ``placement`` over where indices lie (see
tests/oracle/placements.py) and ``transport`` over how the proxy speaks to the node; which of their combinations are played is
said in tests/pairwise.py. The node is shared: a test uses names of its own and removes what it makes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from esproxy.embedded import ENGINES, EmbeddedCluster, Engine, ProgressPrinter
from tests.engines import CHOICE, memory_folder, progress_on_terminal, upstream_of
from tests.integration.laboratory import laboratory  # noqa: F401  fixture
from tests.integration.proxy import all_scenarios, cluster, direct_runs, generated, played, proxies  # noqa: F401  fixtures
from tests.oracle.placements import PLACEMENTS
from tests.pairwise import TRANSPORTS, transport_of

_HERE = Path(__file__).parent
SCRIPTS = {"script.max_compilations_rate": "100000/1m"}  # a node compiles few by default, and all tests share one


@pytest.hookimpl(trylast=True)  # after pytest itself has put the tests of one placement together
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark ours, leave out what the pairs do not ask for, and run ours last: what fails quickly is to be seen quickly. One
    engine after the other, so that there is one node of each; on that first what needs it empty, then one placement after the
    other."""
    left_out = [item for item in items if not _meant(item)]
    if left_out:
        left_out[0].config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if _meant(item)]
    for item in items:
        if _ours(item):
            item.add_marker(pytest.mark.integration)
    items.sort(key=_when)


def _ours(item: pytest.Item) -> bool:
    return item.path.is_relative_to(_HERE)


def _params(item: pytest.Item) -> dict[str, Any]:
    """Of one of ours: other tests may mean something else by these names."""
    return item.callspec.params if _ours(item) and isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}


def _meant(item: pytest.Item) -> bool:
    params = _params(item)
    case, place = params.get("scenario") or params.get("attack"), params.get("placement")
    if item.get_closest_marker("dealt") and "layout" in params:
        rest = sorted((name, str(value)) for name, value in params.items() if name not in ("layout", "engine_name"))
        case, place = f"{item.originalname} {rest}", params["layout"]  # type: ignore[attr-defined]
    if case is None or place is None:
        return True
    return played(item.config, str(case), ENGINES[params["engine_name"]].family, place)


def _when(item: pytest.Item) -> tuple[bool, int, bool, int]:
    engines: list[str] = item.config.stash[CHOICE].names
    params = _params(item)
    engine = params.get("engine_name")
    which = engines.index(engine) if engine in engines else len(engines)
    place = PLACEMENTS.index(params["placement"]) if "placement" in params else -1
    return _ours(item), which, "direct_runs" not in getattr(item, "fixturenames", ()), place


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Engine, placement and transport at once, for not every transport goes with each two of the others."""
    if "placement" not in metafunc.fixturenames:
        return
    names = [name for name in ("engine_name", "placement", "transport") if name in metafunc.fixturenames]
    rows = list(dict.fromkeys(row[: len(names)] for row in _combinations(metafunc)))
    metafunc.parametrize(names, rows, indirect=["engine_name"], ids=["-".join(row) for row in rows], scope="session")


def _combinations(metafunc: pytest.Metafunc) -> Iterator[tuple[str, str, str]]:
    config = metafunc.config
    asked, carried = config.getoption("--placement"), config.getoption("--transport")
    own = next((mark.args for mark in metafunc.definition.iter_markers("placement")), None)
    for engine, placement in product(config.stash[CHOICE].names, PLACEMENTS):
        if placement in (own or asked or PLACEMENTS):
            usual = TRANSPORTS[0] if asked else transport_of(ENGINES[engine].family, placement)
            transports = [transport for transport in TRANSPORTS if transport in (carried or [usual])]
            for transport in transports[:1] if own else transports:
                yield engine, placement, transport


@pytest.fixture(scope="session")
def engine_name(request: pytest.FixtureRequest) -> str:
    """Name of the engine under test, one that can be run here."""
    choice, name = request.config.stash[CHOICE], request.param
    if name in choice.missing:
        why = f"{name}: {choice.why_not(name)}"
        if choice.none_runs:
            pytest.fail(f"no engine can be run here; {why}", pytrace=False)
        pytest.skip(why)
    return name


@pytest.fixture(scope="session")
def engine(engine_name: str) -> Engine:
    """What is known of the engine under test: family, version, …"""
    return ENGINES[engine_name]


@pytest.fixture(scope="session")
def on_progress(request: pytest.FixtureRequest) -> ProgressPrinter:
    """For the tests that start nodes themselves; shown in pytest's terminal."""
    return progress_on_terminal(request.config)


@pytest.fixture(scope="session")
def node_url(engine_name: str, on_progress: ProgressPrinter) -> Iterator[str]:
    """Address of the session's node, without a slash at its end."""
    if (running := upstream_of(engine_name)) is not None:
        yield running.rstrip("/")
    else:
        with EmbeddedCluster(engine_name, settings=SCRIPTS, within=memory_folder(), on_progress=on_progress) as cluster:
            yield cluster.url
