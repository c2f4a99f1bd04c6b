"""Seal generations that are full, and drop those that nobody is in.

    CAS sealed · wait a lease · refresh · search for entries that name it · CAS without it · delete the physical index

A creator reads the pool after its intention is written. So either it sees the seal, or the search sees its intention: an entry
that is being created names the family, one that is open names the physical index. A generation that nobody is in is sealed
and dropped whether it is full or not: what a family needs is made again in a moment, and a shard costs for as long as it lives.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from esproxy.catalogue import names, pools
from esproxy.catalogue.change import NoChange, change
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import OPEN, SEALED, Claims, Pool
from esproxy.catalogue.store import Steps
from esproxy.exchange import Wait


def seal_if_full(cat: Catalogue, pool: Pool, sizes: dict[str, tuple[int, int]]) -> Steps[bool]:
    """Close the newest generation to new entries when it has reached a cap; ``sizes`` are documents and bytes of physical
    indices. A pool of ``shared`` that is full of fields was sealed when it became so; in ``per-tenant`` the node adds them."""
    generation = pool.newest_open()
    if generation is None or generation.physical not in sizes:
        return False
    documents, size = sizes[generation.physical]
    claims = yield from cat.store.get(Claims, names.claims_id(generation.physical))
    if claims is not None:
        fields = len(claims.doc.fields)
    else:
        fields = pools.count_fields((yield from cat.store.mapping(generation.physical)))
    if not pools.full(fields, documents, size, cat.caps):
        return False
    yield from seal(cat, pool.family, generation.physical)
    return True


def seal(cat: Catalogue, family: str, physical: str) -> Steps[None]:
    def edit(pool: Pool) -> None:
        if not any(g.physical == physical and g.state == OPEN for g in pool.generations):
            raise NoChange
        pool.generations = [replace(g, state=SEALED) if g.physical == physical else g for g in pool.generations]

    yield from change(cat, Pool, names.pool_id(family), edit)


def drop_drained(cat: Catalogue, families: Iterable[str]) -> Steps[list[str]]:
    """Drop the generations of these families that no directory names. Returns the dropped physical names."""
    sealed: list[tuple[str, str]] = []
    yield from cat.store.refresh(cat.store.catalogue)
    for family in families:
        stored = yield from cat.store.get(Pool, names.pool_id(family))
        for generation in stored.doc.generations if stored is not None else []:
            if (yield from named(cat, family, generation.physical)):
                continue
            if generation.state == OPEN:
                yield from seal(cat, family, generation.physical)
            sealed.append((family, generation.physical))
    if not sealed:
        return []
    yield Wait(cat.outlast)
    yield from cat.store.refresh(cat.store.catalogue)
    dropped = []
    for family, physical in sealed:
        if not (yield from named(cat, family, physical)):
            yield from change(cat, Pool, names.pool_id(family), _without(physical))
            yield from remove_physical(cat, physical)
            dropped.append(physical)
    return dropped


def named(cat: Catalogue, family: str, physical: str) -> Steps[bool]:
    """Does any directory, as of the last refresh, hold an entry or tombstone in this generation, or a creation under way in its
    family?"""
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
