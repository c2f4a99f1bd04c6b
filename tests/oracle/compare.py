"""Two answers to one call → what differs, by path."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from esproxy.api.deviations import STATISTICS, Deviation, rows_of
from tests.oracle.answer import Number
from tests.oracle.normalise import matches, normalise
from tests.oracle.placements import layouts_in
from tests.oracle.run import Played, Run
from tests.oracle.scenario import Call

MISSING = "<missing>"


@dataclass(frozen=True, slots=True)
class Difference:
    """``direct`` is what the bare node says, ``proxied`` what the tenant sees. ``place``: which call of the scenario."""

    scenario: str
    place: int
    call: Call
    path: str
    direct: Any
    proxied: Any

    def __str__(self) -> str:
        head = f"{self.scenario}: {_short(self.call.line())}\n    at {self.path}"
        return f"{head}\n    direct:  {_short(self.direct)}\n    proxied: {_short(self.proxied)}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) < 600 else text[:600] + "…"


def compare_runs(direct: Run, proxied: Run, placement: str) -> list[Difference]:
    """All differences of a scenario. Both runs have played the same calls, unless a proxied one was refused as a row says."""
    found: list[Difference] = []
    layouts = layouts_in(placement)
    for place, (ours, theirs) in enumerate(zip(direct.played, proxied.played, strict=not proxied.ended)):
        found += compare((direct.scenario.name, place), ours, theirs, layouts)
    return found


def compare(where: tuple[str, int], direct: Played, proxied: Played, layouts: Collection[str]) -> list[Difference]:
    rows = rows_of(layouts)
    call = direct.call
    everywhere = [row for row in rows if row.everywhere]
    if call.differs is not None:
        named = [row for row in rows if row.name in call.differs.split()]
        alone = len(layouts) == 1  # in a mixture, the indices may lie elsewhere
        refusing = next((row for row in named if row.refused), None)
        told = refusing is not None and refusing.masks and direct.answer.status == proxied.answer.status
        if refusing is not None and not told and (alone or str(proxied.answer.status) in refusing.refused.split("|")):
            return _refused(where, call, proxied, refusing)
        everywhere += named
    left, right = normalise(direct.answer, str(call), layouts), normalise(proxied.answer, str(call), layouts)
    for row in everywhere:
        _same_order(row, left.body, right.body)
    parts = {
        "status": (left.status, right.status),
        "headers": (left.headers, right.headers),
        "layout": (left.layout, right.layout),
        "body": (left.body, right.body),
    }
    return [
        Difference(*where, call, "/".join(path), ours, theirs)
        for part, (one, two) in parts.items()
        for path, ours, theirs in _differences(one, two, (part,))
        if not any(_allows(row, path, ours, theirs) for row in everywhere)
    ]


def _refused(where: tuple[str, int], call: Call, proxied: Played, row: Deviation) -> list[Difference]:
    """A row that says the proxy refuses the call: then it does, in Elasticsearch's shape; of several searches in one, some."""
    answer = proxied.answer
    each = answer.body.get("responses", [answer.body]) if isinstance(answer.body, dict) else []
    statuses = {str(answer.status) if one is answer.body else str(one.get("status")) for one in each if "error" in one}
    if proxied.call.method == "HEAD":
        statuses = {str(answer.status)}
    if statuses & set(row.refused.split("|")):
        return []
    return [Difference(*where, call, "status", f"refused with {row.refused} ({row.name})", (answer.status, answer.body))]


ORDERS = ("unordered", "ties", "scored")


def _same_order(row: Deviation, one: Any, two: Any) -> None:
    """Lists whose order a row lets differ are put in one order, on both sides."""
    for pattern, text in row.masks:
        order, _, key = text.partition(":")
        if order in ORDERS:
            for side in (one, two):
                for path, items in _lists(side, ("body",)):
                    if matches(pattern, path):
                        parts = runs(items, order)
                        items[:] = [
                            item
                            for run in parts
                            for item in sorted(run, key=lambda item: [str(item.get(k)) for k in key.split(",")])
                        ]


def _lists(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    """All lists of objects, with their paths."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from _lists(item, (*path, str(key)))
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        yield path, value


def runs(items: list[Any], order: str) -> list[list[Any]]:
    """Neighbours that stand in no order of their own: all; those sorted by equal values; those in the order of scores that
    statistics made."""

    def rank(item: dict[str, Any]) -> Any:
        if order == "unordered":
            return None
        if "sort" in item:
            return repr(item["sort"])
        score = str(item.get("_score"))
        return "<statistics>" if order == "scored" and re.fullmatch(STATISTICS, score) else score

    return [list(run) for _, run in groupby(items, rank)]


def _allows(row: Deviation, path: tuple[str, ...], ours: Any, theirs: Any) -> bool:
    for pattern, text in row.masks:
        if matches(pattern, path):
            if not text:
                return True
            if text == "absent":
                return ours is MISSING or theirs is MISSING
            if text.partition(":")[0] in ORDERS:
                continue
            if isinstance(ours, (str, Number)) and type(ours) is type(theirs):
                if re.sub(text, "<>", str(ours)) == re.sub(text, "<>", str(theirs)):
                    return True
    return False


def _differences(one: Any, two: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    if isinstance(one, dict) and isinstance(two, dict):
        for key in [*one, *(key for key in two if key not in one)]:
            yield from _differences(one.get(key, MISSING), two.get(key, MISSING), (*path, key))
    elif isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        for place, (left, right) in enumerate(zip(one, two, strict=True)):
            yield from _differences(left, right, (*path, str(place)))
    elif one != two or type(one) is not type(two):
        yield path, one, two
