"""What a worker does in the background, once a lease: finish what was left, sweep tombstones; now and then drop pools and audit.

``busy`` tells what there is to do; ``tend`` does it for one tenant, and several may run at once: most of it is waiting.
"""

from __future__ import annotations

from esproxy.catalogue import codec
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import Directory, Pool
from esproxy.catalogue.store import Steps
from esproxy.procedures.drop_pool import drop_drained, seal_if_full
from esproxy.procedures.finish import finish
from esproxy.procedures.sweep import sweep


def busy(cat: Catalogue) -> Steps[list[Directory]]:
    """The directories in which something is left to do, as of now; what is seen here first begins to age."""
    yield from cat.store.refresh(cat.store.catalogue)
    hits = yield from cat.store.find({"term": {"busy": True}})
    directories = [codec.decode(Directory, hit["_source"]) for hit in hits]
    for directory in directories:
        for tombstone in directory.tombstones:
            cat.age((directory.tenant, tombstone.n, "tombstone"))
    return directories


def tend(cat: Catalogue, directory: Directory) -> Steps[None]:
    yield from finish(cat, directory.tenant)
    if directory.tombstones:
        yield from sweep(cat, directory.tenant, [t.n for t in directory.tombstones])


def tend_pools(cat: Catalogue, empty: bool = False) -> Steps[list[str]]:
    """Seal what is full and drop what is drained. ``empty``: also open generations without entries."""
    yield from cat.store.refresh(cat.store.catalogue)
    hits = yield from cat.store.find({"term": {"kind": "pool"}})
    dropped = []
    for hit in hits:
        pool = codec.decode(Pool, hit["_source"])
        yield from seal_if_full(cat, pool.family)
        dropped += yield from drop_drained(cat, pool.family, empty)
    return dropped
