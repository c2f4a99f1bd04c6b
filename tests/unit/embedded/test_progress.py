from __future__ import annotations

import io

from esproxy.embedded import Progress, ProgressPrinter


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_shows_bytes_when_there_are_some() -> None:
    assert str(Progress("fetch", "fetching it", 2.4, 43_000_000, 96_000_000)) == "fetching it 43 of about 96 MB (2 s)"
    assert str(Progress("start", "starting it", 2.6)) == "starting it (3 s)"


def test_printer_off_a_terminal_writes_a_line_per_phase_and_one_now_and_then() -> None:
    now, out = 0.0, io.StringIO()
    printer = ProgressPrinter(out, every=5.0, clock=lambda: now)

    for now in (0.0, 1.0, 4.9, 5.0, 6.0):
        printer(Progress("start", "starting", now))
    printer(Progress("ready", "ready", 6.0))

    assert out.getvalue().splitlines() == ["starting (0 s)", "starting (5 s)", "ready (6 s)"]


def test_printer_on_a_terminal_overwrites_its_line_whole() -> None:
    out = Terminal()
    printer = ProgressPrinter(out)

    printer(Progress("start", "a long text", 0.0))
    printer(Progress("start", "short", 1.0))
    printer(Progress("ready", "done", 1.0))

    assert out.getvalue() == "\ra long text (0 s)\rshort (1 s)      \ndone (1 s)\n"
