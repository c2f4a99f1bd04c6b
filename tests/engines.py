"""Which engines a test session runs on, and why not on others."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from esproxy.embedded import ENGINES, Engine, Missing, ProgressPrinter, engine_named, missing_tools

FAMILIES = ("opensearch", "elasticsearch")
MEMORY, MEMINFO = Path("/dev/shm"), Path("/proc/meminfo")
ROOM = 1 << 30  # bytes: several times what the tests of a session write to a node
NODE = 3 << 30  # of a node and the proxies, at most


@dataclass(frozen=True, slots=True)
class Choice:
    """The engines of a session by name, what is missing for which, and what has to be said about it."""

    names: list[str]
    missing: dict[str, list[Missing]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def none_runs(self) -> bool:
        return len(self.missing) == len(self.names)

    def why_not(self, name: str) -> str:
        return "; ".join(f"{what} is missing, install it with: {command}" for what, command in self.missing[name])


CHOICE = pytest.StashKey[Choice]()


def choose(
    asked: Sequence[str],
    client_major: int,
    environ: Mapping[str, str],
    missing: Callable[[Engine], list[Missing]] = missing_tools,
) -> Choice:
    """The engines for what was asked, in this order; nothing asked: of each family the newest that can be run.

    ``client_major`` is the official Elasticsearch client's major version, which refuses older servers: they are not picked.
    """
    notes: list[str] = []

    def lacking(engine: Engine) -> list[Missing]:
        return [] if upstream_of(engine.name, environ) else missing(engine)

    def newest(family: str) -> str:
        engines = [engine for engine in ENGINES.values() if engine.family == family]
        spoken_to = [engine for engine in engines if family != "elasticsearch" or client_major <= _major(engine.version)]
        wanted = spoken_to[0] if spoken_to else engines[0]
        runnable = next((engine for engine in spoken_to if not lacking(engine)), wanted)
        if runnable is not wanted:
            why = Choice([], {wanted.name: lacking(wanted)}).why_not(wanted.name)
            notes.append(f"{runnable.name} runs in place of {wanted.name}: {why}")
        return runnable.name

    names = list(dict.fromkeys(asked)) or [newest(family) for family in FAMILIES]
    return Choice(names, {name: lack for name in names if (lack := lacking(engine_named(name)))}, notes)


def upstream_of(engine: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """Address of a running node that the environment names for an engine."""
    return environ.get(f"ESPROXY_TEST_UPSTREAM_{engine.upper()}")


def memory_folder(environ: Mapping[str, str] = os.environ, place: Path = MEMORY, told: Path = MEMINFO) -> Path | None:
    """A file system in memory for the data of the session's node: what it writes is small and soon gone, and a disk that waits
    for each of its many writes makes the tests several times as long. None, and so the usual place, where the environment names
    one (TMPDIR), where memory is short, or where no program can be run, for a node unpacks some.
    """
    try:
        found = os.statvfs(place)
        free = int(dict(line.split(":") for line in told.read_text().splitlines())["MemAvailable"].split()[0]) << 10
    except (OSError, KeyError):
        return None  # not Linux
    closed = found.f_flag & (os.ST_RDONLY | os.ST_NOEXEC) or not os.access(place, os.W_OK)
    short = found.f_bavail * found.f_frsize < ROOM or free < ROOM + NODE
    return None if "TMPDIR" in environ or closed or short else place


def engines_in(environ: Mapping[str, str]) -> list[str]:
    return [engine_named(name.strip()).name for name in environ.get("ESPROXY_TEST_ENGINES", "").split(",") if name.strip()]


def client_major() -> int:
    return _major(version("elasticsearch"))


def progress_on_terminal(config: pytest.Config) -> ProgressPrinter:
    """Shows the fetch and the start of nodes in pytest's own terminal, past its capture."""
    return ProgressPrinter(_Terminal(config))


class _Terminal:
    """What ProgressPrinter needs of a stream."""

    def __init__(self, config: pytest.Config) -> None:
        self._reporter: pytest.TerminalReporter | None = config.pluginmanager.get_plugin("terminalreporter")
        self._capture: Any = config.pluginmanager.get_plugin("capturemanager")

    def isatty(self) -> bool:
        return False

    def write(self, text: str) -> None:
        with self._capture.global_and_fixture_disabled() if self._capture else nullcontext():
            if self._reporter is not None:
                self._reporter.ensure_newline()
                self._reporter.write(text, flush=True)
            else:  # one of several processes: their terminal is the first one's
                sys.stderr.write(text)
                sys.stderr.flush()

    def flush(self) -> None:
        """Each write is."""


def _major(text: str) -> int:
    return int(text.partition(".")[0])
