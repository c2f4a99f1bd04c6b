"""The lists of names, and what a run comes to beside them.

``lists/<family>.txt`` has one test a line and is fixed. ``misses/<family>-<layout>.txt`` has the same lines under comments, each
of which gives the reason of those below it; a test that is not listed has no business there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.player import Outcome

_HERE = Path(__file__).parent


def listed(family: str) -> list[str]:
    return (_HERE / "lists" / f"{family}.txt").read_text("utf-8").splitlines()


def misses(family: str, layout: str) -> dict[str, str]:
    """Test → reason; none where no file is."""
    path = _HERE / "misses" / f"{family}-{layout}.txt"
    return read_misses(path.read_text("utf-8").splitlines()) if path.exists() else {}


def read_misses(lines: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    reason: list[str] = []
    fresh = True  # whether a comment begins a new reason
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if line.startswith("#"):
            reason = [] if fresh else reason
            reason.append(line.lstrip("# "))
            fresh = False
            continue
        fresh = True
        if not reason:
            raise ValueError(f"line {number}: {line} stands under no reason")
        if line in found:
            raise ValueError(f"line {number}: {line} is listed twice")
        found[line] = " ".join(reason)
    return found


@dataclass(frozen=True, slots=True)
class Verdict:
    """``failed``: passes directly, does not here, and is not a known miss. ``healed``: a known miss that passes."""

    asked: int
    passed: int
    failed: list[Outcome]
    healed: list[str]
    not_directly: list[Outcome]  # listed, and does not pass on the bare node

    @property
    def share(self) -> float:
        return self.passed / self.asked if self.asked else 1.0

    @property
    def good(self) -> bool:
        return not self.failed and not self.healed


def judge(keys: Iterable[str], bare: Mapping[str, Outcome], here: Mapping[str, Outcome], known: Mapping[str, str]) -> Verdict:
    """Of the tests of ``keys`` that both runs played. What is listed counts, whatever the bare node did with it today."""
    asked = [key for key in keys if key in bare and key in here]
    passed = {key for key in asked if here[key].status == "pass"}
    return Verdict(
        len(asked),
        len(passed),
        [here[key] for key in asked if key not in passed and key not in known and bare[key].status == "pass"],
        [key for key in asked if key in passed and key in known],
        [bare[key] for key in asked if bare[key].status != "pass"],
    )


def comparison(keys: Iterable[str], bare: Mapping[str, Outcome], here: Mapping[str, Outcome]) -> Iterator[str]:
    """Folder by folder, how many pass directly and how many here; folders without a difference in one line."""
    asked = [key for key in keys if key in bare and key in here]
    directly = Counter(_folder(key) for key in asked if bare[key].status == "pass")
    passing = Counter(_folder(key) for key in asked if here[key].status == "pass")
    alike = [folder for folder, count in directly.items() if passing[folder] == count]
    for folder in sorted(directly.keys() - set(alike)):
        yield f"{folder:<34}{directly[folder]:>5} directly {passing[folder]:>5} through the proxy"
    yield f"alike in {len(alike)} folders with {sum(directly[folder] for folder in alike)} tests"
    yield f"together {directly.total()} directly, {passing.total()} through the proxy, of {len(asked)}"


def _folder(key: str) -> str:
    return key.partition("/")[0]
