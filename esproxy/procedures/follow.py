"""Following the catalogue: join, poll, leave. One worker runs these, one after another, for as long as it lives.

The order inside a poll is what makes the lease true:

    start the clock · read the global checkpoint · refresh · search beyond what was followed · replace · renew the member
    document · lease

A change acknowledged before ``start`` is in the refreshed searcher, whatever the checkpoint says, and its number is beyond
the last one followed, because that was a checkpoint: everything up to it was there to be found by the search that followed
it. What is found above the checkpoint is replaced too, and found again next time. Without the refresh, a change below the
checkpoint may not yet be findable and is skipped for good.

An idle poll is the first call and the renewal. Being taken for dead (our document is gone) is joining anew.
"""

from __future__ import annotations

from typing import Any

from esproxy.catalogue import codec, names
from esproxy.catalogue.change import list_members
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import Claims, Directory, Index, Lease, Member, Pool
from esproxy.catalogue.members import Members
from esproxy.catalogue.store import Conflict, Shard, Steps, Stored
from esproxy.errors import Failed

HIDDEN = {"index": {"hidden": True, "number_of_shards": 1, "auto_expand_replicas": "0-1", "refresh_interval": -1}}
SEARCHED = {"kind": {"type": "keyword"}, "names": {"type": "keyword"}, "busy": {"type": "boolean"}}
KINDS = {"directory": Directory, "index": Index, "pool": Pool, "claims": Claims}
CACHED = ("directory", "index")


def join(cat: Catalogue) -> Steps[None]:
    """Become a member: the document first, so that others see it, then the first poll."""
    mappings = {"dynamic": False, "properties": SEARCHED}
    yield from cat.store.create_index(cat.store.catalogue, {"settings": HIDDEN, "mappings": mappings})
    yield from cat.store.create_index(cat.store.members, {"settings": HIDDEN, "mappings": {"dynamic": False}})
    lease = yield from _agreed_lease(cat)
    cat.uuid = cat.new_id()
    cat.members = Members(lease)
    cat.cache.settled_from = float("inf")
    own = yield from cat.store.create(names.member_id(cat.uuid), Member(cat.uuid, 0, -1), cat.store.members)
    cat.members.renewed(own)
    cat.cache.settled_from = cat.clock() + lease
    catalogue, _ = yield from cat.store.shards()
    cat.cache.reset(catalogue.epoch, catalogue.checkpoint)
    yield from list_members(cat)
    if not cat.members.others:
        cat.cache.settled_from = float("-inf")  # nobody was here first: whoever comes waits for us
    yield from poll(cat)


def poll(cat: Catalogue) -> Steps[None]:
    """Renew the lease; raises Failed when any part did not go well, and the lease runs out as it was."""
    if cat.members.own is None:
        return (yield from join(cat))
    start = cat.clock()
    catalogue, members = yield from cat.store.shards()
    yield from _follow(cat, catalogue)
    alone = members.max_seq_no == cat.members.quiet
    if not (yield from _renew(cat)):
        return (yield from join(cat))
    if not alone and cat.clock() - cat.members.listed_at >= cat.lease / 2:
        yield from list_members(cat)
        alone = not cat.members.others
    cat.cache.grant(start, cat.lease, alone)


def leave(cat: Catalogue) -> Steps[None]:
    """Stop being counted with; for a worker that acknowledges nothing any more."""
    own = cat.members.own
    cat.members.lost()
    cat.cache.settled_from = float("inf")
    if own is not None:
        yield from cat.store.remove(own, cat.store.members)


def _follow(cat: Catalogue, shard: Shard) -> Steps[None]:
    cache = cat.cache
    if shard.epoch != cache.epoch or shard.checkpoint < cache.followed:
        cache.reset(shard.epoch, shard.checkpoint)
        return
    if shard.max_seq_no == cache.followed:
        return
    yield from cat.store.refresh(cat.store.catalogue)
    hits = yield from cat.store.beyond(cache.followed)
    changes: list[Stored[Any]] = []
    for hit in hits:
        kind = hit["_id"].partition(":")[0]
        if kind in CACHED and hit["_id"] in cache.docs:
            changes.append(Stored(hit["_id"], hit["_seq_no"], hit["_primary_term"], codec.decode(KINDS[kind], hit["_source"])))
    cache.apply(changes, shard.checkpoint)


def _renew(cat: Catalogue) -> Steps[bool]:
    """Show that we live and how far we followed. False: we were taken for dead."""
    for _ in range(2):
        own = cat.members.own
        assert own is not None
        doc = Member(cat.uuid, own.doc.beat + 1, cat.cache.followed)
        try:
            cat.members.renewed((yield from cat.store.replace(own, doc, cat.store.members)))
            return True
        except Conflict:
            # Gone, or an earlier renewal of ours landed whose answer was lost.
            found = yield from cat.store.get(Member, names.member_id(cat.uuid), cat.store.members)
            if found is None:
                cat.members.lost()
                return False
            cat.members.renewed(found)
    raise Failed("somebody else writes this worker's member document")


def _agreed_lease(cat: Catalogue) -> Steps[float]:
    try:
        return (yield from cat.store.create(names.LEASE, Lease(cat.times.lease))).doc.seconds
    except Conflict:
        stored = yield from cat.store.get(Lease, names.LEASE)
    if stored is None:
        raise Failed("the catalogue's lease is gone")
    return stored.doc.seconds
