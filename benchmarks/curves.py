"""Curves of the scaling benchmark: what a point says in a line, whether the axis keeps its bar, and the plot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

KEPT, MISSED, UNSURE = "kept", "MISSED", "not sure: the spread crosses the bar"
WORDS = {
    "tenants": "tenants, asked for by Zipf's law",
    "indices": "indices per tenant",
    "nodes": "nodes",
    "connections": "open connections, 16 of them asking",
    "busy": "open connections, all of them asking",
    "workers": "workers",
}


def shown(point: dict[str, Any]) -> str:
    middle, least, most = point["ratio"]
    return f"{point['cpu_us'][0]:.1f} µs, × {middle:.2f} ({least:.2f} to {most:.2f}), {point['requests']} requests"


def verdict(bar: float, points: list[dict[str, Any]]) -> str:
    """Of the point with the largest median. Not sure is one whose median keeps the bar while some round did not."""
    worst = max(points, key=lambda point: point["ratio"][0])["ratio"]
    if worst[0] > bar:
        return MISSED
    return UNSURE if max(point["ratio"][2] for point in points) > bar else KEPT


def plot(path: Path, name: str, result: dict[str, Any]) -> None:
    """An SVG, the same bytes for the same figures."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = name
    from matplotlib import pyplot

    at = [point["at"] for point in result["points"]]
    middle, least, most = zip(*(point["ratio"] for point in result["points"]), strict=True)
    below = [a - b for a, b in zip(middle, least, strict=True)]
    above = [b - a for a, b in zip(middle, most, strict=True)]
    figure, axes = pyplot.subplots(figsize=(6.4, 3.6), layout="constrained")
    axes.errorbar(at, middle, yerr=(below, above), marker="o", capsize=4, label="median, least and most of rounds")
    axes.axhline(result["bar"], linestyle="--", color="tab:red", label=f"bar: {result['bar']} times")
    axes.set_xscale("log")
    axes.set_xticks(at, [f"{value:,}" for value in at])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_xlabel(WORDS[name])
    axes.set_ylabel("CPU per request, × the first point")
    axes.set_title(f"{result['layout']}: {result['verdict']} ({result['machine']['cpu']}, {result['date']})", fontsize=9)
    axes.legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
