"""Real nodes for the integration tests: one per engine and session, at most one at a time.

``engine_name`` parametrises a test over the session's engines (see tests/conftest.py), ``placement`` over where indices lie (see
tests/oracle/placements.py). The node is shared: a test uses names of its own and removes what it makes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from esproxy.embedded import ENGINES, EmbeddedCluster, Engine, ProgressPrinter
from tests.engines import CHOICE, progress_on_terminal, upstream_of
from tests.integration.laboratory import laboratory  # noqa: F401  fixture
from tests.integration.proxy import all_scenarios, cluster, direct_runs, proxies  # noqa: F401  fixtures
from tests.oracle.placements import DEFAULT

_HERE = Path(__file__).parent
SHARING = pytest.StashKey[list[str]]()  # lines about how much is shared, for the end of the session
CONFORMANCE = pytest.StashKey[list[str]]()  # the suite directly beside the suite through the proxy


def pytest_configure(config: pytest.Config) -> None:
    config.stash[SHARING] = []
    config.stash[CONFORMANCE] = []


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for title, lines in (("conformance", config.stash[CONFORMANCE]), ("sharing", config.stash[SHARING])):
        if lines:
            terminalreporter.section(title)
            for line in lines:
                terminalreporter.write_line(line)


@pytest.hookimpl(trylast=True)  # after pytest itself has put the tests of one placement together
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark ours, and run them last: what fails quickly is to be seen quickly. One engine after the other, so that there is one
    node of each; on that first what needs it empty."""
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker(pytest.mark.integration)
    items.sort(key=_when)


def _when(item: pytest.Item) -> tuple[bool, int, bool]:
    engines: list[str] = item.config.stash[CHOICE].names
    engine = item.callspec.params.get("engine_name") if isinstance(item, pytest.Function) and hasattr(item, "callspec") else None
    which = engines.index(engine) if engine in engines else len(engines)
    return item.path.is_relative_to(_HERE), which, "direct_runs" not in getattr(item, "fixturenames", ())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    own = any("placement" in mark.args[0] for mark in metafunc.definition.iter_markers("parametrize"))
    if "placement" in metafunc.fixturenames and not own:
        metafunc.parametrize("placement", metafunc.config.getoption("--placement") or DEFAULT, scope="session")


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
        with EmbeddedCluster(engine_name, on_progress=on_progress) as cluster:
            yield cluster.url
