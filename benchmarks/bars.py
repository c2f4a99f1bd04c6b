"""Bars: what a stored figure has to be, as data. The page marks what is above, and a figure that is not there is no figure kept.

A bar names a benchmark by its key in a results file, a place in it, a limit and, in words, what is limited.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

LAYOUTS = ("dedicated", "shared", "per-tenant")
QUERIES = ("simple", "complex", "very complex")


@dataclass(frozen=True)
class Bar:
    benchmark: str
    where: tuple[str, ...]
    limit: float
    what: str

    def figure(self, results: dict[str, Any]) -> float | None:
        """The stored figure, its median where there is a spread; None when it was not measured."""
        value: Any = results.get(self.benchmark)
        for name in self.where:
            if not isinstance(value, dict) or name not in value:
                return None
            value = value[name]
        return value[0] if isinstance(value, list) else value


def _core() -> Iterator[Bar]:
    for layout in LAYOUTS:
        for query in QUERIES:
            yield Bar("core", ("rows", query, layout, "to_orjson"), 0.25, f"rewriting a query, {query}, {layout}: × orjson")
        yield Bar("core", ("rows", "empty", layout, "ns"), 150, f"rewriting an empty search, {layout}: ns")
        bulk = 0.1 if layout == "dedicated" else 0.25
        yield Bar("core", ("rows", "bulk 100", layout, "to_orjson"), bulk, f"a bulk of 100, {layout}: × orjson over its lines")
        if layout != "dedicated":
            yield Bar("core", ("rows", "document", layout, "to_orjson"), 0.3, f"a document, {layout}: × orjson")


def _wire() -> Iterator[Bar]:
    for row, target, limit in (
        ("search, 2 hits", "esproxy", 2.0),
        ("search, 2 hits", "under-uvicorn", 5.5),
        ("search, 100 hits", "esproxy", 2.5),
    ):
        where = ("rows", row, target, "cpu_to_nginx")
        yield Bar("wire-shared", where, limit, f"CPU of a proxied {row}, {target}, shared: × nginx")


def _memory() -> Iterator[Bar]:
    yield Bar("memory", ("figures", "10,000 tenants"), 40, "10,000 tenants: MiB")
    for layout in LAYOUTS:
        yield Bar("memory", ("figures", f"{layout} idle"), 80, f"an idle worker, {layout}: MiB")
        yield Bar("memory", ("figures", f"{layout} connection"), 16, f"an idle connection, {layout}: KiB")
        for stream in ("bulk", "search"):
            for kind in ("plain", "gzip", "slow"):
                what = f"growth while a {stream} streams, {kind}, {layout}: MiB"
                yield Bar("memory", ("figures", f"{layout} {stream} {kind}"), 48, what)


BARS = (*_core(), *_wire(), *_memory())
