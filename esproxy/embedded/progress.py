"""What is shown while an engine is fetched and a node starts."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TextIO

Phase = Literal["wait", "fetch", "unpack", "start", "ready"]


@dataclass(frozen=True, slots=True)
class Progress:
    """One report. ``done`` and ``total`` are bytes and stand in phase ``fetch`` only; ``total`` is about right."""

    phase: Phase
    text: str
    seconds: float  # since this phase began
    done: int = 0
    total: int = 0

    def __str__(self) -> str:
        amount = f" {self.done / 1e6:.0f} of about {self.total / 1e6:.0f} MB" if self.total else ""
        return f"{self.text}{amount} ({self.seconds:.0f} s)"


OnProgress = Callable[[Progress], None]


def ignore_progress(progress: Progress) -> None:
    """Shows nothing."""


class ProgressPrinter:
    """Shows progress on a terminal as one line that changes, elsewhere as a line per phase and one every five seconds."""

    def __init__(self, stream: TextIO | None = None, *, every: float = 5.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._live = self._stream.isatty()
        self._every = every
        self._clock = clock
        self._phase: Phase | None = None
        self._shown = 0.0
        self._width = 0

    def __call__(self, progress: Progress) -> None:
        line, new_phase, now = str(progress), progress.phase != self._phase, self._clock()
        if self._live:
            start = "\n" if new_phase and self._phase not in (None, "ready") else "\r"
            end = "\n" if progress.phase == "ready" else ""
            self._stream.write(f"{start}{line.ljust(0 if start == chr(10) else self._width)}{end}")
            self._width = 0 if end else len(line)
        elif new_phase or now - self._shown >= self._every:
            self._stream.write(line + "\n")
            self._shown = now
        self._phase = progress.phase
        self._stream.flush()
