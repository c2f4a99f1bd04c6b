"""Seal generations that are full, and drop those that nobody is in.

    CAS sealed · wait a lease · refresh · search for entries that name it · CAS without it · delete the physical index

A creator reads the pool after its intention is written. So either it sees the seal, or the search sees its intention: an entry
that is being created names the family, one that is open names the physical index. A family's last generation is kept while
it takes entries.
"""

from __future__ import annotations

from dataclasses import replace

from esproxy.catalogue import names, pools
from esproxy.catalogue.change import NoChange, change
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import OPEN, SEALED, Claims, Pool
from esproxy.catalogue.store import Steps
from esproxy.exchange import Wait


def seal_if_full(cat: Catalogue, family: str) -> Steps[bool]:
    """Close the newest generation to new entries when it has reached a cap."""
    stored = yield from cat.store.get(Pool, names.pool_id(family))
    generation = stored.doc.newest_open() if stored is not None else None
    if generation is None or not (yield from cat.store.exists(generation.physical)):
        return False
    claims = yield from cat.store.get(Claims, names.claims_id(generation.physical))
    documents, size = yield from cat.store.sizes(generation.physical)
    if not pools.full(len(claims.doc.fields) if claims is not None else 0, documents, size, cat.caps):
        return False
    yield from seal(cat, family, generation.physical)
    return True


def seal(cat: Catalogue, family: str, physical: str) -> Steps[None]:
    def edit(pool: Pool) -> None:
        if not any(g.physical == physical and g.state == OPEN for g in pool.generations):
            raise NoChange
        pool.generations = [replace(g, state=SEALED) if g.physical == physical else g for g in pool.generations]

    yield from change(cat, Pool, names.pool_id(family), edit)


def drop_drained(cat: Catalogue, family: str, empty: bool = False) -> Steps[list[str]]:
    """Drop the sealed generations that no directory names; with ``empty`` the open one too. Returns the dropped physical
    names."""
    if empty:
        stored = yield from cat.store.get(Pool, names.pool_id(family))
        newest = stored.doc.newest_open() if stored is not None else None
        if newest is None or (yield from named(cat, family, newest.physical)):
            return []
        yield from seal(cat, family, newest.physical)
    stored = yield from cat.store.get(Pool, names.pool_id(family))
    sealed = [g.physical for g in stored.doc.generations if g.state == SEALED] if stored is not None else []
    if not sealed:
        return []
    yield Wait(cat.outlast)
    dropped = []
    for physical in sealed:
        if (yield from named(cat, family, physical)):
            continue
        yield from change(cat, Pool, names.pool_id(family), _without(physical))
        yield from remove_physical(cat, physical)
        dropped.append(physical)
    return dropped


def named(cat: Catalogue, family: str, physical: str) -> Steps[bool]:
    """Does any directory hold an entry or tombstone in this generation, or a creation under way in its family?"""
    yield from cat.store.refresh(cat.store.catalogue)
    return bool((yield from cat.store.find({"terms": {"names": [physical, family]}})))


def remove_physical(cat: Catalogue, physical: str) -> Steps[None]:
    yield from cat.store.drop_index(physical)
    claims = yield from cat.store.get(Claims, names.claims_id(physical))
    if claims is not None:
        yield from cat.store.remove(claims)


def _without(physical: str):  # type: ignore[no-untyped-def]
    def edit(pool: Pool) -> None:
        if not any(g.physical == physical for g in pool.generations):
            raise NoChange
        pool.generations = [g for g in pool.generations if g.physical != physical]

    return edit
