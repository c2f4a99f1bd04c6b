"""Every endpoint that the pinned definitions of an engine know, and where it is: what there must be a verdict on.

Of Elasticsearch these are the endpoints of ``schema.json`` and those that only its ``rest-api-spec`` names; of OpenSearch
those of its ``rest-api-spec``, in both versions, and those of its own that are described by hand.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from esproxy.api import fetch, opensearch
from esproxy.api.schema import Schema

Urls = list[tuple[tuple[str, ...], str]]


def known(engine: str, schema: Schema, cache: Path | None = None) -> dict[str, Urls]:
    """Endpoint → its methods and paths. ``schema``: with OpenSearch's own endpoints, for that engine. A path that one endpoint
    has is no other's, whatever a second file calls it."""
    names = sorted(schema.endpoints) if engine == "elasticsearch" else opensearch.ENDPOINTS
    out: dict[str, Urls] = {name: list(schema.endpoints[name].urls) for name in names}
    taken = {_place(method, path) for urls in out.values() for methods, path in urls for method in methods}
    for file in fetch.specs(engine, cache).values():
        for name, definition in json.loads(file.read_text()).items():
            for entry in definition["url"]["paths"]:
                methods = tuple(method for method in entry["methods"] if _place(method, entry["path"]) not in taken)
                if methods:
                    out.setdefault(name, []).append((methods, entry["path"]))
                    taken |= {_place(method, entry["path"]) for method in methods}
    return dict(sorted(out.items()))


def _place(method: str, path: str) -> tuple[str, str]:
    return method, re.sub(r"\{[^}]*\}", "{}", path)
