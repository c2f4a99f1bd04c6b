"""Find what no directory knows, and remove it.

Four things can be left behind: documents of a number whose tombstone is gone (a write that landed after both passes of its
sweep), index documents of intentions that were withdrawn, physical indices that a creator made after its pool was
dropped or that a late write made anew, and the claims of such.

**Only what this catalogue itself has given out is removed.** A number that its directory does not hold, although it has given
out higher ones, is dead for good: an entry is in the directory before anything is written under it, and numbers never come
back. A generation that its pool does not hold, between the first and the last it gave out, likewise. A number or generation
that was never given out here is not ours to judge: another deployment's catalogue may have lain in this cluster before ours,
or ours may have been lost or put back from a snapshot. It is reported and left alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from esproxy.catalogue import codec, names
from esproxy.catalogue.change import read_directory
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import Claims, Directory, Index, Pool
from esproxy.catalogue.store import Conflict, Steps, Stored
from esproxy.procedures.drop_pool import remove_physical
from esproxy.procedures.sweep import purge


@dataclass(slots=True)
class Found:
    """What an audit removed, and what it does not understand."""

    scopes: list[tuple[str, str]] = field(default_factory=list)  # physical index, scope
    documents: list[str] = field(default_factory=list)
    physical: list[str] = field(default_factory=list)
    strange: list[tuple[str, str]] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)  # physical indices of another catalogue


def audit(cat: Catalogue) -> Steps[Found]:
    found = Found()
    # Both lists are older than the pools read next, and a pool's document is written before its index and its claims.
    existing = yield from cat.store.physical_indices(cat.physical)
    yield from cat.store.refresh(cat.store.catalogue)
    claimed = [_stored(Claims, hit) for hit in (yield from cat.store.find({"term": {"kind": "claims"}}))]
    yield from cat.store.refresh(cat.store.catalogue)
    hits = yield from cat.store.find({"term": {"kind": "pool"}})
    pools = {pool.family: pool for pool in (codec.decode(Pool, hit["_source"]) for hit in hits)}
    held = {g.physical for pool in pools.values() for g in pool.generations}
    for physical in existing:
        if _dropped(pools, physical):
            yield from remove_physical(cat, physical)
            found.physical.append(physical)
        elif physical not in held:
            found.foreign.append(physical)
    for claims in claimed:
        if claims.doc.physical not in existing and _dropped(pools, claims.doc.physical):
            yield from _remove(cat, claims, found)
    for physical in sorted(held & set(existing)):
        yield from _documents(cat, physical, found)
    yield from _index_documents(cat, found)
    return found


def _dropped(pools: dict[str, Pool], physical: str) -> bool:
    """Is this a generation that one of our pools gave out, and does not have any more?"""
    parts = names.parse_physical(physical)
    pool = pools.get(parts[0]) if parts is not None else None
    return parts is not None and pool is not None and pool.gave(parts[1]) and all(g.g != parts[1] for g in pool.generations)


def _documents(cat: Catalogue, physical: str, found: Found) -> Steps[None]:
    yield from cat.store.refresh(cat.store.catalogue)
    hits = yield from cat.store.find({"term": {"names": physical}})
    directories = [codec.decode(Directory, hit["_source"]) for hit in hits]
    scopes = [names.scope(d.tenant, e.n) for d in directories for e in d.indices.values()]
    scopes += [names.scope(d.tenant, t.n) for d in directories for t in d.tombstones]
    if not (yield from cat.store.refresh(physical)):
        return
    for scope in sorted((yield from cat.store.foreign_scopes(physical, scopes))):
        owner = names.parse_scope(scope)
        stored = (yield from read_directory(cat, owner[0])) if owner is not None else None
        if owner is None or stored is None or owner[1] >= stored.doc.next:
            found.strange.append((physical, scope))
        elif not any(e.n == owner[1] and e.physical == physical for e in stored.doc.indices.values()):
            if not any(t.n == owner[1] for t in stored.doc.tombstones):
                yield from purge(cat, physical, scope)
                found.scopes.append((physical, scope))


def _index_documents(cat: Catalogue, found: Found) -> Steps[None]:
    for index in [_stored(Index, hit) for hit in (yield from cat.store.find({"term": {"kind": "index"}}))]:
        stored = yield from read_directory(cat, index.doc.tenant)
        if stored is None or stored.doc.knows(index.doc.n) or index.doc.n >= stored.doc.next:
            continue  # known, or never given out here
        yield from _remove(cat, index, found)


def _remove(cat: Catalogue, stored: Stored[Index] | Stored[Claims], found: Found) -> Steps[None]:
    try:
        yield from cat.store.remove(stored)
        found.documents.append(stored.id)
    except Conflict:
        pass  # it was changed just now: the next audit looks again


def _stored(kind, hit):  # type: ignore[no-untyped-def]
    return Stored(hit["_id"], hit["_seq_no"], hit["_primary_term"], codec.decode(kind, hit["_source"]))
