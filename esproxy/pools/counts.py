"""How many documents indices in pools have: filtered counts, all in one call.

A node's own figures are those of the physical index; these are what any figure of one index in it is made of
(``esproxy.metadata.figures``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from esproxy.catalogue import scopes
from esproxy.catalogue.fields import flatten
from esproxy.catalogue.store import Steps, parsed
from esproxy.errors import Failed
from esproxy.metadata.figures import Own
from esproxy.pools.pooled import Pooled
from esproxy.tenancy.target import Target

Tree = dict[str, Any]


def documents(request: Pooled, targets: Iterable[Target]) -> Steps[dict[str, int]]:
    """Scope → how many documents the index has."""
    listed = list(targets)
    found = yield from counted(request, [(target, None, None) for target in listed])
    return {target.scope: count for target, count in zip(listed, found, strict=True)}


def by_shard(request: Pooled, targets: Iterable[Target]) -> Steps[dict[tuple[str, int], int]]:
    """Scope and number of a shard → how many documents are there."""
    asked = [(target, shard) for target in targets for shard in range(target.shards.count)]
    found = yield from counted(request, [(target, None, shard) for target, shard in asked])
    return {(target.scope, shard): count for (target, shard), count in zip(asked, found, strict=True)}


def in_memory(request: Pooled, targets: Iterable[Target]) -> Steps[dict[str, Own]]:
    """Scope → how many documents each field has whose values lie in memory: completions, and texts with ``fielddata``. Of these
    a node has what was asked for since it loaded them; here they count as soon as they are there."""
    asked: list[tuple[Target, bool, str]] = []
    for target in targets:
        for path, definition in _fields(target).items():
            if definition.get("type") == "completion":
                asked.append((target, True, path))
            elif definition.get("type") == "text" and str(definition.get("fielddata")).lower() == "true":
                asked.append((target, False, path))
    found = yield from counted(request, [(target, path, None) for target, _, path in asked])
    out: dict[str, Own] = {}
    for (target, completes, path), count in zip(asked, found, strict=True):
        own = out.setdefault(target.scope, Own(0))
        if count:
            (own.completion if completes else own.fielddata)[path] = count
    return out


def _fields(target: Target) -> dict[str, Tree]:
    """Those of the mapping, and what documents brought, multi-fields among them."""
    found = flatten(target.index.mapping.get("properties") or {})
    found |= {path: field.type for path, field in target.index.fields.items()}
    for path, definition in list(found.items()):
        for name, other in (definition.get("fields") or {}).items():
            found[f"{path}.{name}"] = other
    return found


def counted(request: Pooled, asked: list[tuple[Target, str | None, int | None]]) -> Steps[list[int]]:
    """Documents of an index, of those that have a field, of those that are on a shard. Nobody's filters count here: figures are
    of the index, by whatever alias it was named. What is nested in a document is one more, as a node counts."""
    lines: list[bytes] = []
    for target, path, shard in asked:
        clauses: list[Tree] = [] if target.dedicated else [scopes.query([target.scope])]
        if path is not None:
            clauses.append({"exists": {"field": target.naming.field(path)}})
        header: Tree = {"index": target.physical} | ({} if shard is None else {"preference": f"_shards:{shard}"})
        body: Tree = {"size": 0, "track_total_hits": True, "query": {"bool": {"filter": clauses}}}
        nested = [name for name, definition in _fields(target).items() if definition.get("type") == "nested"]
        if path is None and nested:
            body["aggs"] = {f"n{place}": {"nested": {"path": target.naming.field(name)}} for place, name in enumerate(nested)}
        lines += [orjson.dumps(header), orjson.dumps(body)]
    if not lines:
        return []
    call = request.send("POST", ["_msearch"], {}, b"\n".join(lines) + b"\n", b"application/x-ndjson")
    found = parsed((yield call), 200)["responses"]
    if any("error" in one or one["_shards"]["failed"] for one in found):
        raise Failed("not all documents could be counted")
    within = (sum(part["doc_count"] for part in one.get("aggregations", {}).values()) for one in found)
    return [one["hits"]["total"]["value"] + more for one, more in zip(found, within, strict=True)]
