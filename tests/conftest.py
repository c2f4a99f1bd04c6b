"""Which engines the tests run on.

    pytest --engine es9 --engine os3        or ESPROXY_TEST_ENGINES=es9,os3
    pytest --placement shared               everything with the tenants' indices placed so, see tests/oracle/placements.py
    pytest --transport httpx                how the proxy speaks to the node; without these two: all pairs, see tests/pairwise.py
    ESPROXY_TEST_UPSTREAM_OS3=http://…      a node that runs already, instead of an embedded one

By default the newest OpenSearch and the newest Elasticsearch; where no JDK is found for one of them, the next older one that
can be run. An engine that was asked for and cannot be run is skipped aloud, with the command that installs what is missing;
when none can be run, the tests that need one fail.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from esproxy.embedded import ENGINES
from tests.engines import CHOICE, choose, client_major, engines_in, upstream_of
from tests.oracle.placements import PLACEMENTS
from tests.pairwise import TRANSPORTS
from tests.processes import Processes

# No time limits, and a failure prints what reproduces it. `--hypothesis-profile` picks another: fuzz for the long run.
settings.register_profile("esproxy", deadline=None, print_blob=True)
settings.register_profile("fuzz", settings.get_profile("esproxy"), max_examples=10_000)
settings.load_profile("esproxy")


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.register(Processes())
    parser.addoption(
        "--engine",
        action="append",
        choices=list(ENGINES),
        help="run integration tests on this engine, may be given again (default: the newest of each family that runs here)",
    )
    parser.addoption(
        "--placement",
        action="append",
        choices=PLACEMENTS,
        help="run all of the oracle and what stands on it with indices placed so, may be given again (default: pairwise)",
    )
    parser.addoption(
        "--transport",
        action="append",
        choices=TRANSPORTS,
        help=f"the same with this transport, may be given again (default: pairwise; with --placement: {TRANSPORTS[0]})",
    )
    parser.addoption("--conformance", action="store_true", help="play the official suite in the placements that are asked for")
    parser.addoption("--wide", action="store_true", help="run also what takes many minutes: mutants of pools, nodes that break")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[CHOICE] = choose(config.getoption("--engine") or engines_in(os.environ), client_major(), os.environ)


def pytest_report_header(config: pytest.Config) -> list[str]:
    choice = config.stash[CHOICE]
    named = [f"{name} ({upstream_of(name) or ENGINES[name].title})" for name in choice.names]
    return [f"engines: {', '.join(named)}", *(f"engines: {note}" for note in choice.notes)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "engine_name" in metafunc.fixturenames and "placement" not in metafunc.fixturenames:  # see tests/integration/conftest.py
        # Of session scope: all tests of one engine run together, and its node is gone before the next one starts.
        metafunc.parametrize("engine_name", metafunc.config.stash[CHOICE].names, indirect=True, scope="session")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    choice = config.stash[CHOICE]
    lines = [*choice.notes, *(f"skipped engine {name}: {choice.why_not(name)}" for name in choice.missing)]
    if lines:
        terminalreporter.section("engines that did not run", yellow=True)
        for line in lines:
            terminalreporter.write_line(line)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for name in ("wide", "conformance"):
        if not config.getoption(f"--{name}"):
            skip = pytest.mark.skip(reason=f"takes many minutes: --{name} runs it, as `tox -e {name}` does")
            for item in items:
                if item.get_closest_marker(name):
                    item.add_marker(skip)
