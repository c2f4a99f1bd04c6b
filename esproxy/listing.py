"""The tables as text: ``esproxy routes``, ``esproxy rules``, and docs/endpoints.md (``python -m esproxy.listing``).

What decides is data, and here it can be read without the source: which requests there are and where they are served, or why
not, and what each position of a body means, with the reason where that was said by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from fnmatch import filter as fnfilter
from typing import Any

from esproxy.api import opensearch, overrides
from esproxy.api.endpoints import VIRTUAL
from esproxy.api.generate import TABLES
from esproxy.api.routes import ENDPOINTS
from esproxy.api.tables import Endpoint, load
from esproxy.api.verdicts import REFUSED, reason
from esproxy.pools.families import ELSEWHERE, FAMILIES

ENGINES = {"elasticsearch": "Elasticsearch", "opensearch": "OpenSearch"}
HEAD = """# Endpoints

<!-- made by `python -m esproxy.listing > docs/endpoints.md` from the rule tables and esproxy/api/{routes,verdicts}.py -->

Every endpoint that the definitions of Elasticsearch 8.19 and 9.5 and of OpenSearch 2.19 and 3.1 know is on this page: served,
or refused with a reason.

## Served

Every parameter and body key that the definitions or running nodes know has a verdict; anything else, and every path that no
definition knows, is refused in Elasticsearch's own words.

| endpoint | methods and paths | engines | layouts | made by | parameters that are refused |
|---|---|---|---|---|---|
"""
REFUSED_HEAD = """
## Refused

Answered with a 400 in Elasticsearch's shape, whose reason is what stands here. `name.*` is every endpoint of that namespace that
is not served, in brackets how many there are; `esproxy routes` lists them with their paths.

| reason | endpoints | engines |
|---|---|---|
"""


def routes(engine: str, word: str = "") -> Iterator[str]:
    """A line for each method and path that holds ``word``: the endpoint, and how and where it is served, or why not."""
    tables = load(engine)
    urls = {name: (endpoint.urls, _served(name)) for name, endpoint in tables.endpoints.items()}
    urls |= {name: (where, f"refused: {reason(name)}") for name, where in tables.refused.items()}
    for name in sorted(urls):
        for methods, path in urls[name][0]:
            line = f"{' '.join(sorted(methods))} {path}  {name}  {urls[name][1]}"
            if word in line:
                yield line


def _served(name: str) -> str:
    return f"{_maker(name)}, in {_layouts(name)}"


def _maker(name: str) -> str:
    return "made by the proxy" if name in VIRTUAL else "rewritten"


def _layouts(name: str) -> str:
    """Pools are both other layouts: what serves one serves the other."""
    return "every layout" if name in FAMILIES or name in ELSEWHERE else "dedicated"


# --- docs/endpoints.md ---------------------------------------------------------------------------------


def page() -> str:
    tables = {engine: load(engine) for engine in ENGINES}
    lines = []
    for name in sorted(ENDPOINTS):
        found = {engine: tables[engine].endpoints[name] for engine in ENGINES if name in tables[engine].endpoints}
        maker = "the proxy" if name in VIRTUAL else "a node"
        cells = (name, _paths(found.values()), _engines(found), _layouts(name), maker, _refused(found.values()))
        lines.append(f"| {' | '.join(cells)} |")
    refused = []
    for why, patterns in REFUSED.items():
        of = {engine: {name for name in tables[engine].refused if reason(name) == why} for engine in ENGINES}
        every = set().union(*of.values())
        told = ", ".join(f"`{one}`" + (f" ({len(fnfilter(every, one))})" if "*" in one else "") for one in patterns)
        refused.append(f"| {why} | {told} | {_engines([one for one in of if of[one]])} |")
    return HEAD + "\n".join(lines) + "\n" + REFUSED_HEAD + "\n".join(refused) + "\n"


def _engines(found: Iterable[str]) -> str:
    found = list(found)
    return "both" if len(found) == len(ENGINES) else ENGINES[found[0]]


def _paths(found: Iterable[Endpoint]) -> str:
    methods: dict[str, list[str]] = {}
    for endpoint in found:
        for verbs, path in endpoint.urls:
            known = methods.setdefault(path, [])
            known += [verb for verb in verbs if verb not in known]
    return "<br>".join(f"{' '.join(sorted(verbs))} `{path}`" for path, verbs in methods.items())


def _refused(found: Iterable[Endpoint]) -> str:
    names = sorted({name for endpoint in found if endpoint.body != "optional" for name in endpoint.refuse})
    return ", ".join(f"`{name}`" for name in names)


# --- rules -----------------------------------------------------------------------------------------------


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


if __name__ == "__main__":
    print(page(), end="")
