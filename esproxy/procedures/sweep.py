"""Remove the documents of a retired number, and then its tombstone.

    wait a lease · claim · refresh, delete by query, refresh, count = 0 · grace · once more · delete the index document ·
    drop the tombstone

The lease lets reads end that still believe the number. A write that was under way when its number died may land after the
first pass has counted zero; the second pass takes it, and one that is later still is the audit's. A claim only saves work: a
sweep done twice does no harm.
"""

from __future__ import annotations

from dataclasses import replace

from esproxy.catalogue import names
from esproxy.catalogue.change import NoChange, change_directory
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import Directory, Index, Tombstone
from esproxy.catalogue.store import Conflict, Steps
from esproxy.errors import Failed
from esproxy.exchange import Wait

PASSES = 2
ROUNDS = 10_000


def sweep(cat: Catalogue, tenant: str, numbers: list[int]) -> Steps[None]:
    """Sweep these tombstones of a tenant together; those that another member has claimed are left to it."""
    youngest = min((cat.age((tenant, n, "tombstone")) for n in numbers), default=cat.outlast)
    if youngest < cat.outlast:
        yield Wait(cat.outlast - youngest)
    mine = yield from _claim(cat, tenant, numbers)
    for n in range(PASSES if mine else 0):
        if n:
            yield Wait(cat.times.grace)
        for tombstone in mine:
            yield from purge(cat, tombstone.physical, names.scope(tenant, tombstone.n))
    swept = set()
    for tombstone in mine:
        id = names.index_id(tenant, tombstone.n)
        meta = yield from cat.store.get(Index, id)
        try:
            if meta is not None:
                yield from cat.store.remove(meta)
            swept.add(tombstone.n)
        except Conflict:
            continue  # a late change of its fields: the next sweep takes it
        cat.cache.forget(id)

    def drop(directory: Directory) -> None:
        if not any(t.n in swept for t in directory.tombstones):
            raise NoChange
        directory.tombstones = [t for t in directory.tombstones if t.n not in swept]

    yield from change_directory(cat, tenant, drop)


def _claim(cat: Catalogue, tenant: str, numbers: list[int]) -> Steps[list[Tombstone]]:
    def claim(directory: Directory) -> None:
        free = {t.n for t in directory.tombstones if t.n in numbers and t.by != cat.uuid and _free(cat, tenant, t)}
        if not free:
            raise NoChange
        directory.tombstones = [replace(t, by=cat.uuid) if t.n in free else t for t in directory.tombstones]

    stored = yield from change_directory(cat, tenant, claim)
    return [t for t in stored.doc.tombstones if t.n in numbers and t.by == cat.uuid] if stored is not None else []


def _free(cat: Catalogue, tenant: str, tombstone: Tombstone) -> bool:
    return tombstone.by is None or cat.abandoned(tombstone.by, (tenant, tombstone.n, tombstone.by))


def purge(cat: Catalogue, physical: str, scope: str) -> Steps[None]:
    """Delete until a count proves zero. A physical index that is gone has nothing left."""
    for _ in range(ROUNDS):
        if not (yield from cat.store.refresh(physical)):
            return
        yield from cat.store.delete_scope(physical, scope)
        yield from cat.store.refresh(physical)
        if (yield from cat.store.count_scope(physical, scope)) == 0:
            return
    raise Failed(f"the sweep of [{scope}] does not come to an end")
