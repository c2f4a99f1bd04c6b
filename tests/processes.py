"""What a test run in several processes (`pytest -n 2`) needs beyond pytest-xdist: who plays what, and one report of all.

All tests of one engine stand on one node, which its scenarios want empty first; so they are one group, played by one process.
What needs none is another group. The files of all other tests go to whoever is free, and come first, as in a run without ``-n``.
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


def report(config: pytest.Config, title: str, *lines: str) -> None:
    """Show lines under one of TITLES when the session ends."""
    config.stash[REPORTS][title] += lines


def group_of(id: str) -> str:
    """Of a test: those of one group are played by one process."""
    if not id.startswith("tests/integration/"):
        return id.partition("::")[0]
    parameters = id.partition("[")[2].removesuffix("]").split("-")
    return next((one for one in parameters if one in ENGINES), "nodes")


class Scheduling(LoadScopeScheduling):  # type: ignore[misc,valid-type]
    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


class Processes:
    """A plugin of pytest: hooks in the process that is started, and in those that it starts."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Scheduling:
        config.option.loadscopereorder = False
        return Scheduling(config, log)

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
