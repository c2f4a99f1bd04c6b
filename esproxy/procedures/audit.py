"""Find what no directory knows, and remove it.

Three things can be left behind: documents of a number whose tombstone is gone (a write that landed after both passes of its
sweep), index documents whose creator died before its intention, and physical indices that a creator made after its pool was
dropped or that a late write made anew.

A number that its directory does not hold, although it has given out higher ones, is dead for good: an entry is in the
directory before anything is written under it, and numbers never come back. One that is not yet given out is nobody's to
judge, and is reported.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from esproxy.catalogue import codec, names
from esproxy.catalogue.change import read_directory
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import Directory, Index, Pool
from esproxy.catalogue.store import Conflict, Steps, Stored
from esproxy.procedures.drop_pool import remove_physical
from esproxy.procedures.sweep import purge

MADE_HERE = "pool~*,own~*,one~*"


@dataclass(slots=True)
class Found:
    """What an audit removed, and what it does not understand."""

    scopes: list[tuple[str, str]] = field(default_factory=list)  # physical index, scope
    documents: list[str] = field(default_factory=list)
    physical: list[str] = field(default_factory=list)
    strange: list[tuple[str, str]] = field(default_factory=list)


def audit(cat: Catalogue) -> Steps[Found]:
    found = Found()
    existing = yield from cat.store.physical_indices(MADE_HERE)
    yield from cat.store.refresh(cat.store.catalogue)
    pools = [codec.decode(Pool, hit["_source"]) for hit in (yield from cat.store.find({"term": {"kind": "pool"}}))]
    known = {g.physical for pool in pools for g in pool.generations}
    for physical in existing:
        # The list of indices is older than the pools read here, and a pool's document is written before its index is made.
        if physical not in known:
            yield from remove_physical(cat, physical)
            found.physical.append(physical)
    for physical in sorted(known & set(existing)):
        yield from _documents(cat, physical, found)
    yield from _index_documents(cat, found)
    return found


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
    hits = yield from cat.store.find({"term": {"kind": "index"}})
    for hit in hits:
        index = codec.decode(Index, hit["_source"])
        stored = yield from read_directory(cat, index.tenant)
        if stored is None or stored.doc.knows(index.n) or index.n >= stored.doc.next:
            continue  # known, or its creator is between its first two steps
        try:
            yield from cat.store.remove(Stored(hit["_id"], hit["_seq_no"], hit["_primary_term"], index))
            found.documents.append(hit["_id"])
        except Conflict:
            continue  # it was changed just now: the next audit looks again
