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

from functools import partial
from typing import Any

from esproxy.catalogue import names
from esproxy.catalogue.change import NoChange, change
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import Claims, Field, Index
from esproxy.catalogue.dynamic_rules import RUNTIME, is_false
from esproxy.catalogue.fields import as_created, for_node, held, nest, physical_path, place, size, split
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
    added = sum(map(size, missing.values()))
    if sum(size(field.type) for field in stored.doc.fields.values()) + added > limit:
        raise Refusal(f"Limit of total fields [{limit}] has been exceeded while adding new fields [{added}]")
    placed: dict[str, Field] = {}
    runtime = {path: definition for path, definition in missing.items() if RUNTIME in definition}  # of an index that is alone
    mapped = {path: definition for path, definition in missing.items() if path not in runtime}

    dotted = is_false(stored.doc.mapping.get("subobjects"))

    def claim(claims: Claims) -> None:
        before = len(claims.fields)
        placed.clear()
        common = stored.doc.mapping if as_created(stored.doc) else None
        placed.update(place(mapped, stored.doc.fields, claims.fields, common, alone=stored.doc.reason is not None, dotted=dotted))
        if len(claims.fields) == before:
            raise NoChange
        if len(claims.fields) > cat.caps.node_fields:
            raise Refusal(f"Limit of total fields [{limit}] has been exceeded while adding new fields [{added}]")

    claims = yield from change(cat, Claims, names.claims_id(physical), claim)
    if claims is None:
        raise Failed("a pool has no record of its fields")
    if len(claims.doc.fields) >= cat.caps.fields:
        yield from seal(cat, stored.doc.family, physical)
    try:
        made = {path: {key: value for key, value in each.items() if key != RUNTIME} for path, each in runtime.items()}
        root: dict[str, Any] = {"runtime": made} if made else {}
        if dotted:
            root["subobjects"] = False  # by which Elasticsearch 8 knows that a name with dots is one
        yield from cat.store.put_mapping(physical, nest(_definitions(placed, stored.doc.fields), subobjects=not dotted), root)
    except Refusal as error:
        for path, placing in placed.items():
            for sent, written in ((placing.physical, path), (placing.physical.rpartition(".")[2], path.rpartition(".")[2])):
                if sent != written:
                    error.reword(partial(_renamed, sent, written))
        raise

    def add(index: Index) -> None:
        new = {path: f for path, f in placed.items() if path not in index.fields}
        new = {path: f for path, f in new.items() if _fits(path, f, index.fields | new, dotted)}
        new |= {path: Field(each, path) for path, each in runtime.items() if path not in index.fields}
        if not new:
            raise NoChange
        index.fields |= new

    final = yield from change(cat, Index, id, add)
    if final is None:
        raise no_such_index(name)
    return final.doc.fields


def _fits(path: str, field: Field, fields: dict[str, Field], dotted: bool) -> bool:
    """Is its parent where this field was put? Another writer may have given the parent another name or type."""
    parent, _ = split(path, fields, dotted)
    return not parent or (parent in fields and field.physical.startswith(fields[parent].physical + "."))


def _definitions(placed: dict[str, Field], known: dict[str, Field]) -> dict[str, dict[str, Any]]:
    """Definitions by physical path, known parents included: a nested object must be named as such again."""

    def physical(path: str) -> str:
        return held(path, known) or held(path, placed) or physical_path(path)

    paths = {field.physical: for_node(field.type, physical) for field in placed.values()}
    for path in placed:
        while "." in path:
            path = path.rpartition(".")[0]
            if path in known:
                paths[known[path].physical] = for_node(known[path].type)
    return paths


def remove_fields(cat: Catalogue, tenant: str, number: int, added: dict[str, Field]) -> Steps[None]:
    """Take back fields that only refused documents brought. Whoever wrote a document with one of them meanwhile, by what was
    cached of the index, has it in the pool all the same; the next such document brings it back under the same name."""

    def remove(index: Index) -> None:
        gone = {path for path, field in added.items() if index.fields.get(path) == field}
        gone -= {path for path in gone if any(other.startswith(path + ".") for other in index.fields.keys() - gone)}
        if not gone:
            raise NoChange
        for path in gone:
            del index.fields[path]

    yield from change(cat, Index, names.index_id(tenant, number), remove)


def _renamed(sent: str, written: str, text: str) -> str:
    return text.replace(f"[{sent}]", f"[{written}]")
