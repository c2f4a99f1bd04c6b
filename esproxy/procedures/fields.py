"""Add fields to a logical index in ``shared``.

    GET index document · CAS claims of the pool · put mapping · CAS index document · go on

The claims come first because the node merges some differences silently (``ignore_above`` of a keyword, say): what two
tenants put must be decided before either puts it. The index document comes last, so that it never promises a field that the
pool does not have. Which of two writers decides a field's type is the compare-and-set of the index document; what the other
one claimed stays unused in the pool.

A claim is never taken back, not even when the node refuses the definition: others may rest on it already. A pool that has
become full of fields is sealed: from then on it takes no new index.
What type a value has is not decided here: ``wanted`` holds definitions, made by the type table or by the client's own mapping.
"""

from __future__ import annotations

from typing import Any

from esproxy.catalogue import names
from esproxy.catalogue.change import NoChange, change
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import Claims, Field, Index
from esproxy.catalogue.fields import for_node, nest, place
from esproxy.catalogue.store import Steps
from esproxy.errors import Failed, Refusal, no_such_index
from esproxy.procedures.drop_pool import seal


def add_fields(
    cat: Catalogue, tenant: str, name: str, number: int, physical: str, wanted: dict[str, dict[str, Any]], limit: int = 1000
) -> Steps[dict[str, Field]]:
    """The fields of the index, with those wanted among them: with the type that was first, when another writer was."""
    id = names.index_id(tenant, number)
    stored = yield from cat.store.get(Index, id)
    if stored is None:
        raise no_such_index(name)
    missing = {path: d for path, d in wanted.items() if path not in stored.doc.fields}
    if not missing:
        return stored.doc.fields
    if len(stored.doc.fields) + len(missing) > limit:
        raise Refusal(f"Limit of total fields [{limit}] has been exceeded while adding new fields [{len(missing)}]")
    placed: dict[str, Field] = {}

    def claim(claims: Claims) -> None:
        before = len(claims.fields)
        placed.clear()
        placed.update(place(missing, stored.doc.fields, claims.fields))
        if len(claims.fields) == before:
            raise NoChange
        if len(claims.fields) > cat.caps.node_fields:
            raise Refusal(f"Limit of total fields [{limit}] has been exceeded while adding new fields [{len(missing)}]")

    claims = yield from change(cat, Claims, names.claims_id(physical), claim)
    if claims is None:
        raise Failed("a pool has no record of its fields")
    if len(claims.doc.fields) >= cat.caps.fields:
        yield from seal(cat, stored.doc.family, physical)
    yield from cat.store.put_mapping(physical, nest(for_node(_with_parents(placed, stored.doc.fields))))

    def add(index: Index) -> None:
        new = {path: f for path, f in placed.items() if path not in index.fields}
        new = {path: f for path, f in new.items() if _fits(path, f, index.fields | new)}
        if not new:
            raise NoChange
        index.fields |= new

    final = yield from change(cat, Index, id, add)
    if final is None:
        raise no_such_index(name)
    return final.doc.fields


def _fits(path: str, field: Field, fields: dict[str, Field]) -> bool:
    """Is its parent where this field was put? Another writer may have given the parent another name or type."""
    parent, dot, _ = path.rpartition(".")
    return not dot or (parent in fields and field.physical.startswith(fields[parent].physical + "."))


def _with_parents(placed: dict[str, Field], known: dict[str, Field]) -> dict[str, dict[str, Any]]:
    """Definitions by physical path, known parents included: a nested object must be named as such again."""
    paths = {field.physical: field.type for field in placed.values()}
    for path in placed:
        while "." in path:
            path = path.rpartition(".")[0]
            if path in known:
                paths[known[path].physical] = known[path].type
    return paths
