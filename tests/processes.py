"""What a test run in several processes (`pytest -n 2`) needs beyond pytest-xdist: who plays what, and one report of all.

All tests of one engine stand on one node, which its scenarios want empty first; so they are one group, played by one process.
Files whose tests start nodes of their own are groups by engine, and the files of unit tests are one each. What takes longest
comes first, so that nobody waits long for the last one; in a run without ``-n`` unit tests come first.
A test's engine stands in its id. (Marks of groups, pytest-xdist's own way, are not seen by its 3.8 with pytest 9.2.)

Lines for the end of the session are put down with ``report`` by whichever process has them.
"""

from __future__ import annotations

from typing import Any

import pytest

from esproxy.embedded import ENGINES

try:
    from xdist.scheduler import LoadScopeScheduling
except ImportError:  # runs of other environments, which have one process
    LoadScopeScheduling = object

Reports = dict[str, list[str]]
REPORTS = pytest.StashKey[Reports]()  # title → lines
TITLES = ("conformance", "sharing")  # in this order
INTEGRATION = "tests/integration/"
OWN_NODES = ("test_embedded.py", "test_faults.py", "test_fleet.py")


def report(config: pytest.Config, title: str, *lines: str) -> None:
    """Show lines under one of TITLES when the session ends."""
    config.stash[REPORTS][title] += lines


def group_of(id: str) -> str:
    """Of a test: those of one group are played by one process."""
    file, _, name = id.partition("::")
    if not file.startswith(INTEGRATION):
        return file
    parameters = name.partition("[")[2].removesuffix("]").split("-")
    engine = next((one for one in parameters if one in ENGINES), "nodes")
    return f"{file}-{engine}" if file.removeprefix(INTEGRATION) in OWN_NODES else engine


def turn_of(id: str) -> int:
    """When the group of a test has its turn."""
    group = group_of(id)
    return 0 if group in ENGINES else 1 if group.startswith(INTEGRATION) else 2


class Scheduling(LoadScopeScheduling):  # type: ignore[misc,valid-type]
    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


class Processes:
    """A plugin of pytest: hooks in the process that is started, and in those that it starts."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Scheduling:
        config.option.loadscopereorder = False
        return Scheduling(config, log)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if hasattr(config, "workerinput"):
            items.sort(key=lambda item: turn_of(item.nodeid))

    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[REPORTS] = {title: [] for title in TITLES}

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if (told := getattr(session.config, "workeroutput", None)) is not None:
            told["reports"] = session.config.stash[REPORTS]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        for title, lines in node.workeroutput.get("reports", {}).items() if hasattr(node, "workeroutput") else ():
            report(node.config, title, *lines)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        for title, lines in config.stash[REPORTS].items():
            if lines:
                terminalreporter.section(title)
                for line in lines:
                    terminalreporter.write_line(line)
