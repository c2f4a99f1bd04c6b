"""The tables as text: ``esproxy routes`` and ``esproxy rules``.

What decides is data, and here it can be read without the source: which requests there are and where they are served, and what
each position of a body means, with the reason where that was said by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from esproxy.api import opensearch, overrides
from esproxy.api.endpoints import VIRTUAL
from esproxy.api.generate import TABLES
from esproxy.api.routes import ENDPOINTS, Row
from esproxy.api.tables import load
from esproxy.pools.families import ELSEWHERE, FAMILIES

ENGINES = ("elasticsearch", "opensearch")


def routes(engine: str, word: str = "") -> Iterator[str]:
    """A line for each method and path that holds ``word``: the endpoint, and how and where it is served."""
    endpoints = load(engine).endpoints
    for name in sorted(ENDPOINTS.keys() & endpoints.keys()):
        for methods, path in endpoints[name].urls:
            line = f"{' '.join(sorted(methods))} {path}  {name}  {_served(ENDPOINTS[name])}"
            if word in line:
                yield line


def _served(row: Row) -> str:
    if row.refused:
        return f"refused: {row.refused}"
    how = "made by the proxy" if row.name in VIRTUAL else "rewritten"
    return f"{how}, in {'every layout' if row.name in FAMILIES or row.name in ELSEWHERE else 'dedicated'}"


def rules(engine: str, word: str = "") -> Iterator[str]:
    """A line for each property that holds ``word``: what its value is, or its keys are, and why where a correction says so."""
    labels: dict[str, str] = json.loads((TABLES / "labels.json").read_text())[engine]
    reasons: dict[str, list[str]] = {}
    for row in [*overrides.ROWS, *(opensearch.ROWS if engine == "opensearch" else ())]:
        for place in _places(row):
            reasons.setdefault(place, []).append(f"{type(row).__name__}: {row.why}")
    for place in sorted(labels.keys() | reasons.keys()):
        line = "  ".join((place, labels.get(place, "-"), *reasons.get(place, ())))
        if word in line:
            yield line


def _places(row: Any) -> list[str]:
    """The properties that a correction is about, or its type."""
    names = getattr(row, "properties", None) or getattr(row, "keys", None) or getattr(row, "property", None)
    if not names:
        return [row.type]
    return [f"{row.type}.{name}" for name in ([names] if isinstance(names, str) else names)]
