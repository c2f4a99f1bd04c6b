"""The indices that the scenarios make in pools, each of them, however short it lives.

An index's document stays in the catalogue until its tombstone is swept, a lease and a grace after its deletion. So whoever looks
at the end of each scenario, which takes less, has seen all.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from esproxy.catalogue import codec
from esproxy.catalogue.documents import Directory, Entry, Index
from esproxy.catalogue.names import CATALOGUE, behind
from esproxy.catalogue.sharing import Sharing, measure
from tests.oracle.client import Client
from tests.oracle.neighbours import JSON, TENANT, physical_indices


@dataclass(slots=True)
class Made:
    """One tenant's creations, by number."""

    tenant: str = TENANT
    indices: dict[int, Index] = field(default_factory=dict)
    physical: dict[int, str] = field(default_factory=dict)

    def look(self, node: Client) -> None:
        """Take in what the catalogue knows now."""
        if behind(CATALOGUE) not in physical_indices(node):
            return
        for source in _sources(node, self.tenant):
            if source["kind"] == "index":
                index = codec.decode(Index, source)
                self.indices[index.n] = index
            elif source["kind"] == "directory":
                directory = codec.decode(Directory, source)
                held = [*directory.indices.values(), *directory.tombstones]
                self.physical |= {one.n: one.physical for one in held if one.physical}

    def sharing(self) -> Sharing:
        """As if all were there at once."""
        entries = {
            f"{index.name}.{n}": Entry(n, index.layout, index.family, self.physical[n])
            for n, index in self.indices.items()
            if n in self.physical  # the others' creation was refused
        }
        return measure([Directory(self.tenant, 0, indices=entries)], self.indices.values())


def _sources(node: Client, tenant: str) -> list[dict[str, Any]]:
    node.send("POST", f"/{CATALOGUE}/_refresh", {}, None)
    body = json.dumps({"size": 10_000, "query": {"terms": {"kind": ["index", "directory"]}}}).encode()
    raw = node.send("POST", f"/{CATALOGUE}/_search", JSON, body)
    if raw.status != 200:
        raise RuntimeError(f"the catalogue cannot be searched: {raw.status} {raw.body[:300]!r}")
    hits = json.loads(raw.body)["hits"]["hits"]
    return [hit["_source"] for hit in hits if hit["_source"]["tenant"] == tenant]
