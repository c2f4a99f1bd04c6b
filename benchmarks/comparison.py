"""From locust's samples to what the proxy adds: figures, verdicts, a table.

Slices come in pairs, one of each target, with the same requests at the same moments. What is added is the difference of the two
percentiles *of one pair*; the figure is the median over pairs, with least and most beside it. So what slows the machine for
a while slows both sides of a pair, and what it slows unevenly shows in the spread.

Bars: at the median request, what is added to a real node is at most 5 % of direct's or 0.3 ms, whichever is more (a stub answers
at once, so there only the milliseconds count); no request fails; what we start takes at most 30 % of the machine.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from typing import Any

from report import spread

SHARE, ADDED_MS, ADDED_PART = 0.30, 0.3, 0.05
WHOLE = "all"


def percentile(values: Iterable[float], part: float) -> float:
    """The smallest value that at least so large a part of them does not exceed."""
    ranked = sorted(values)
    return ranked[max(0, -int(-len(ranked) * part // 1) - 1)]


def compared(slices: list[dict[str, Any]], cores: int, kinds: Iterable[str]) -> dict[str, Any]:
    """Figures of a run: milliseconds by kind of request, errors, and the part of the machine that each target's slices took."""
    pairs = [
        {one["target"]: one for one in slices if one["pair"] == number} for number in sorted({one["pair"] for one in slices})
    ]
    kinds = [WHOLE, *kinds]
    rows = {kind: row for kind in kinds if (row := _row(pairs, kind)) is not None}
    return {
        "pairs": len(pairs),
        "requests": sum(len(one["samples"]) for one in slices),
        "errors": sum(not good for one in slices for _, _, good in one["samples"]),
        "share": {name: spread([_share(pair[name], cores) for pair in pairs]) for name in ("direct", "proxied")},
        "rows": rows,
    }


def _share(one: dict[str, Any], cores: int) -> float:
    spent: float = sum(one["cpu"])
    return spent / one["seconds"] / cores


def _row(pairs: list[dict[str, dict[str, Any]]], kind: str) -> dict[str, Any] | None:
    """One kind's figures; None when a slice had no such request."""
    found: dict[str, list[float]] = {}
    for pair in pairs:
        times = {name: [ms for what, ms, _ in one["samples"] if kind in (what, WHOLE)] for name, one in pair.items()}
        if not all(times.values()):
            return None
        for part in (50, 99):
            direct, proxied = (percentile(times[name], part / 100) for name in ("direct", "proxied"))
            for name, value in (("direct", direct), ("proxied", proxied), ("added", proxied - direct)):
                found.setdefault(f"p{part}_{name}_ms", []).append(value)
    return {name: spread(values) for name, values in found.items()}


def misses(figures: dict[str, Any], *, real_node: bool) -> list[str]:
    """What is not as it has to be, in words."""
    found = []
    if figures["errors"]:
        found.append(f"{figures['errors']} of {figures['requests']} requests failed")
    for name, (share, _, _) in figures["share"].items():
        if share > SHARE:
            found.append(f"{name}: {share:.0%} of the machine was in use, more than {SHARE:.0%}")
    row = figures["rows"][WHOLE]
    added, bar = row["p50_added_ms"][0], allowed(row["p50_direct_ms"][0], real_node=real_node)
    if added > bar:
        found.append(f"{added:.2f} ms are added to the median request, more than {bar:.2f}")
    return found


def is_unsteady(figures: dict[str, Any], *, real_node: bool) -> bool:
    """Whether pairs differ by more than the bar, so that the median says little."""
    row = figures["rows"][WHOLE]
    _, least, most = row["p50_added_ms"]
    return bool(most - least > allowed(row["p50_direct_ms"][0], real_node=real_node))


def verdict(results: dict[str, Any]) -> str:
    """Lines: what was missed, and whether that, or that nothing was, means much."""
    lines = [f"MISSED: {miss}" for miss in results["missed"]]
    if results["unsteady"]:
        lines.append("no verdict on what is added: its spread is wider than its bar; measure again when the machine is quiet")
    return "\n".join(lines) or "every bar was met"


def allowed(direct_ms: float, *, real_node: bool) -> float:
    """Milliseconds that may be added to a median request."""
    return max(ADDED_MS, direct_ms * ADDED_PART) if real_node else ADDED_MS


def table(figures: dict[str, Any]) -> str:
    """Markdown: a row for all requests and one for each kind."""
    lines = [
        "| requests | p50 direct ms | p50 proxied ms | p50 added | p99 direct ms | p99 proxied ms | p99 added |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for kind, row in figures["rows"].items():
        cells = [_shown(row[f"p{part}_{name}_ms"], name) for part in (50, 99) for name in ("direct", "proxied", "added")]
        lines.append(f"| {kind} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _shown(values: list[float], name: str) -> str:
    middle, least, most = values
    return f"{middle:+.2f} ({least:+.2f} to {most:+.2f})" if name == "added" else f"{middle:.2f}"


def median_rate(slices: list[dict[str, Any]], cores: int, share: float, limit: float) -> float:
    """Requests a second at which the dearer target's slices would take ``share`` of the machine; no more than ``limit``."""
    costs: dict[str, list[float]] = {}
    for one in slices:
        costs.setdefault(one["target"], []).append(sum(one["cpu"]) / max(1, len(one["samples"])))
    return min(limit, share * cores / max(statistics.median(values) for values in costs.values()))
