"""What workers do in the background: finish what was left, sweep tombstones; now and then seal and drop pools, and audit.

``busy`` tells what there is to do; ``tend`` does it for one tenant, and several may run at once: most of it is waiting. Every
worker does that, once a lease. ``upkeep`` is for one worker of all, the one that leads (``Members.leads``); if two take
themselves for it, they do it twice, which does no harm.
"""

from __future__ import annotations

import logging

from esproxy.catalogue import codec, names
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import Directory, Pool
from esproxy.catalogue.store import Steps
from esproxy.errors import EsproxyError
from esproxy.procedures.audit import audit
from esproxy.procedures.drop_pool import drop_drained, seal_if_full
from esproxy.procedures.finish import finish
from esproxy.procedures.sweep import sweep

logger = logging.getLogger("esproxy.catalogue")
NAMED = 20  # in one line of the log


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


def upkeep(cat: Catalogue) -> Steps[None]:
    """Aliases that were left, pools, then the audit; what is odd is logged."""
    yield from drop_aliases(cat)
    for physical in (yield from tend_pools(cat)):
        logger.info("[%s] was empty and is dropped", physical)
    found = yield from audit(cat)
    for physical, scope in found.scopes:
        logger.warning("[%s] held late documents of [%s], which is gone; they are removed", physical, scope)
    for physical, scope in found.strange:
        logger.error("[%s] holds documents of [%s], whose number was never given out; they are left alone", physical, scope)
    if found.foreign:
        some = ", ".join(found.foreign[:NAMED])
        what = "%d indices look like pools, but this catalogue never made them; they are left alone: %s"
        logger.error(what, len(found.foreign), some)


def drop_aliases(cat: Catalogue) -> Steps[None]:
    """Remove what stood for many pools during a call (``pools.wide``) that ended without removing it. A call reads an alias when
    it begins."""
    found = yield from cat.store.aliases(names.MANY + "*")
    for alias, indices in found.items():
        if cat.age((alias, "alias")) >= cat.times.upkeep:
            yield from cat.store.remove_alias(alias, indices)


def tend_pools(cat: Catalogue) -> Steps[list[str]]:
    """Seal what is full and drop what is drained. A family that cannot be tended is logged, and does not keep the others from
    it."""
    yield from cat.store.refresh(cat.store.catalogue)
    hits = yield from cat.store.find({"term": {"kind": "pool"}})
    pools = [pool for pool in (codec.decode(Pool, hit["_source"]) for hit in hits) if pool.generations]
    if not pools:
        return []
    sizes = yield from cat.store.sizes(cat.physical)
    for pool in pools:
        try:
            yield from seal_if_full(cat, pool, sizes)
        except EsproxyError as error:
            logger.warning("the pool [%s] could not be looked at: %s", pool.family, error.reason)
    return (yield from drop_drained(cat, [pool.family for pool in pools]))
