"""What a test run in several processes (`pytest -n 2`) needs beyond pytest-xdist: who plays what, and one report of all.

All tests of one engine stand on one node, which its scenarios want empty first; so they are one group, played by one process.
What starts nodes of its own is another group. All other tests go to whoever is free, and come first, as in a run without ``-n``.

Lines for the end of the session are put down with ``report`` by whichever process has them.
"""

from __future__ import annotations

from typing import Any

import pytest

Reports = dict[str, list[str]]
REPORTS = pytest.StashKey[Reports]()  # title → lines
TITLES = ("conformance", "sharing")  # in this order


def report(config: pytest.Config, title: str, *lines: str) -> None:
    """Show lines under one of TITLES when the session ends."""
    config.stash[REPORTS][title] += lines


class Processes:
    """A plugin of pytest: hooks in the process that is started, and in those that it starts."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> None:
        if config.getoption("numprocesses", None):
            config.option.dist, config.option.loadscopereorder = "loadgroup", False

    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[REPORTS] = {title: [] for title in TITLES}

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if config.getoption("dist", "no") != "loadgroup":
            return
        for item in items:
            if item.path.parent.name == "integration":
                params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
                item.add_marker(pytest.mark.xdist_group(params.get("engine_name", "nodes")))

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
