"""What the catalogue says at the end, beside what is physically on the node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx

from esproxy.catalogue import codec, names
from esproxy.catalogue.documents import OPEN, Claims, Directory, Index, Pool
from esproxy.catalogue.fields import flatten
from esproxy.catalogue.scopes import END

KINDS = {"directory": Directory, "index": Index, "pool": Pool, "claims": Claims}


class State:
    """Everything of the catalogue, and of the physical indices that it made, as of now."""

    def __init__(self, node: str) -> None:
        with httpx.Client(base_url=node, timeout=60) as http:
            self.documents: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
            for hit in everything(http, names.CATALOGUE):
                kind = hit["_source"]["kind"]
                if kind in KINDS:
                    self.documents[kind][hit["_id"]] = codec.decode(KINDS[kind], hit["_source"])
            listed = http.get(f"/{names.PHYSICAL}/_mapping?expand_wildcards=all").raise_for_status().json()
            self.mappings = {name: body["mappings"] for name, body in listed.items()}
            self.scopes: dict[str, dict[str, int]] = {}  # physical index → scope → documents
            self.astray: list[str] = []
            for name in self.mappings:
                found = self.scopes.setdefault(name, {})
                for hit in everything(http, name):
                    scope = hit.get("_routing", "").partition(END)[0]
                    found[scope] = found.get(scope, 0) + 1
                    if not hit["_id"].startswith(scope):
                        self.astray.append(f"{hit['_id']} in {name} is routed to {scope!r}")

    @property
    def directories(self) -> list[Directory]:
        return list(self.documents["directory"].values())

    def busy(self) -> list[str]:
        return [directory.tenant for directory in self.directories if directory.busy()]

    def disagreements(self) -> list[str]:
        return [*self.astray, *self._entries(), *self._pools(), *self._documents(), *self._index_documents()]

    def _entries(self) -> Iterator[str]:
        held = {g.physical for pool in self.documents["pool"].values() for g in pool.generations}
        for directory in self.directories:
            if directory.busy():
                yield f"something is left undone for {directory.tenant}: {directory}"
            for name, entry in directory.indices.items():
                if entry.physical not in held:
                    yield f"{directory.tenant}/{name} lies in {entry.physical}, which is in no pool"
                if entry.physical not in self.mappings:
                    yield f"{directory.tenant}/{name} lies in {entry.physical}, which is not there"
            for name, alias in directory.aliases.items():
                if not set(alias.now) <= directory.indices.keys():
                    yield f"the alias {directory.tenant}/{name} points at {sorted(alias.now)}"

    def _pools(self) -> Iterator[str]:
        pools = {pool.family: pool for pool in self.documents["pool"].values()}
        for physical, mapping in self.mappings.items():
            family, generation = names.parse_physical(physical) or ("", 0)
            pool = pools.get(family)
            if pool is None or not any(g.g == generation for g in pool.generations):
                yield f"{physical} is in no pool"
                continue
            claims = self.documents["claims"].get(names.claims_id(physical))
            if claims is not None:  # ``shared``: what the node knows has been claimed, with this type
                for path, definition in flatten(mapping.get("properties", {})).items():
                    claimed = claims.fields.get(path)
                    if claimed is None or claimed.get("type", "object") != definition.get("type", "object"):
                        yield f"{physical} has {path} as {definition}, claimed as {claimed}"
        for claims in self.documents["claims"].values():
            if claims.physical not in self.mappings:
                yield f"claims are left of {claims.physical}"
        for pool in pools.values():
            if sum(g.state == OPEN for g in pool.generations) > 1:
                yield f"{pool.family} has more than one open generation"

    def _documents(self) -> Iterator[str]:
        """Every document's scope is an entry of a directory, in that physical index."""
        known = {
            (entry.physical, names.scope(directory.tenant, entry.n))
            for directory in self.directories
            for entry in directory.indices.values()
        }
        for physical, scopes in self.scopes.items():
            for scope, count in scopes.items():
                if (physical, scope) not in known:
                    yield f"{count} documents of {scope!r} in {physical} belong to nobody"

    def _index_documents(self) -> Iterator[str]:
        entries = {names.index_id(d.tenant, e.n): (name, e) for d in self.directories for name, e in d.indices.items()}
        for id in entries.keys() - self.documents["index"].keys():
            yield f"{id} is missing"
        for id, index in self.documents["index"].items():
            if id not in entries:
                directory = self.documents["directory"].get(names.directory_id(index.tenant))
                if directory is None or index.n < directory.next:
                    yield f"{id} is left"
                continue
            name, entry = entries[id]
            if (index.name, index.layout, index.family) != (name, entry.layout, entry.family):
                yield f"{id} speaks of {index.name} in {index.family}, its entry of {name} in {entry.family}"
            claims = self.documents["claims"].get(names.claims_id(entry.physical))
            for path, one in index.fields.items() if claims is not None else ():
                if claims.fields.get(one.physical) != one.type:
                    yield f"{id}: {path} is {one}, claimed as {claims.fields.get(one.physical)}"


def everything(http: httpx.Client, index: str) -> Iterator[dict[str, Any]]:
    http.post(f"/{index}/_refresh").raise_for_status()
    after: list[Any] | None = None
    body: dict[str, Any] = {"size": 5000, "query": {"match_all": {}}, "sort": [{"_seq_no": "asc"}], "_source": True}
    while True:
        if after is not None:
            body["search_after"] = after
        hits = http.post(f"/{index}/_search", json=body).raise_for_status().json()["hits"]["hits"]
        yield from hits
        if not hits:
            return
        after = hits[-1]["sort"]
