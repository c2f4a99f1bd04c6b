"""docs/endpoints.md: every endpoint that is served, from the same rows that the router reads.

python -m esproxy.api.page > docs/endpoints.md
"""

from __future__ import annotations

from esproxy.api.routes import ENDPOINTS
from esproxy.api.tables import Endpoint, load

ENGINES = {"elasticsearch": "Elasticsearch", "opensearch": "OpenSearch"}
HEAD = """# Endpoints

<!-- made by `python -m esproxy.api.page > docs/endpoints.md` from the rule tables and esproxy/api/routes.py -->

What is served. Every parameter and body key that the definitions or running nodes know has a verdict; anything else, and
every path that is not here, is refused in Elasticsearch's own words.

| endpoint | methods and paths | engines | what is refused: parameters, or all of it for a reason |
|---|---|---|---|
"""


def page() -> str:
    tables = {engine: load(engine) for engine in ENGINES}
    lines = []
    for name in sorted(ENDPOINTS):
        found = {engine: tables[engine].endpoints[name] for engine in ENGINES if name in tables[engine].endpoints}
        if found:
            engines = "both" if len(found) == len(ENGINES) else ENGINES[next(iter(found))]
            lines.append(f"| {name} | {_paths(found)} | {engines} | {ENDPOINTS[name].refused or _refused(found)} |")
    return HEAD + "\n".join(lines) + "\n"


def _paths(found: dict[str, Endpoint]) -> str:
    methods: dict[str, list[str]] = {}
    for endpoint in found.values():
        for verbs, path in endpoint.urls:
            known = methods.setdefault(path, [])
            known += [verb for verb in verbs if verb not in known]
    return "<br>".join(f"{' '.join(sorted(verbs))} `{path}`" for path, verbs in methods.items())


def _refused(found: dict[str, Endpoint]) -> str:
    names = sorted({name for endpoint in found.values() if endpoint.body != "optional" for name in endpoint.refuse})
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    print(page(), end="")
