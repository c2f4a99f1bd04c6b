"""A tenant of ``per-tenant`` whose indices are objects in one physical index, and what nodes answer about it."""

from __future__ import annotations

from typing import Any

import orjson

from esproxy.catalogue import names
from esproxy.catalogue.documents import OPEN, Directory, Entry, Index
from esproxy.exchange import Send
from tests.unit.pools.pool_gate import Gate, gate, hit

OWN = "own~acme-1-1"


def nested(engine: str = "opensearch", **mappings: dict[str, Any]) -> Gate:
    """acme has ``logs`` (17) and ``books`` (18) in one physical index, and ``lone`` (19) in one of its own."""
    it = gate(engine, layout="per-tenant")
    where = {"logs": (17, OWN, None), "books": (18, OWN, None), "lone": (19, "one~acme-19-1", "analysis")}
    entries = {name: Entry(n, "per-tenant", physical[:-2], physical, OPEN) for name, (n, physical, _) in where.items()}
    it.put(names.directory_id("acme"), Directory("acme", 100, indices=entries))
    for name, (n, physical, reason) in where.items():
        index = Index("acme", name, n, "per-tenant", physical[:-2], mappings.get(name, {}), {}, reason=reason)
        it.put(names.index_id("acme", n), index)
    return it


def index_of(send: Send) -> int:
    """The number of the index that a search is for, by its filter."""
    (filtered,) = orjson.loads(send.body)["query"]["bool"]["filter"]
    return int(filtered["prefix"]["_routing"][:-1].rpartition(".")[2])


def found(number: int, id: str, score: float | None = 1.0, **more: Any) -> dict[str, Any]:
    physical = OWN if number < 19 else "one~acme-19-1"
    return hit(
        physical, f"acme.{number}:{id}", {f"n{number}": {"a": 1}} if number < 19 else {"a": 1}, **{"_score": score, **more}
    )
