"""Following the catalogue: join, poll, leave. One worker runs these, one after another, for as long as it lives.

The order inside a poll is what makes the lease true:

    start the clock · read the global checkpoint · refresh · search beyond what was followed · replace · renew the member
    document · lease

A change acknowledged before ``start`` is in the refreshed searcher, whatever the checkpoint says, and its number is beyond
the last one followed, because that was a checkpoint: everything up to it was there to be found by the search that followed
it. What is found above the checkpoint is replaced too, and found again next time. Without the refresh, a change below the
checkpoint may not yet be findable and is skipped for good.

An idle poll is the first call and the renewal. Being taken for dead (our document is gone) is joining anew.

Catalogue and members are reached by aliases, and written with ``require_alias``. When either is gone nothing is believed and
nothing written, so requests that need it fail, until it is back: then this worker joins anew.
"""

from __future__ import annotations

from typing import Any

from esproxy.catalogue import codec, names
from esproxy.catalogue.change import list_members
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import Claims, Directory, Index, Lease, Member, Pool
from esproxy.catalogue.members import Members
from esproxy.catalogue.store import Conflict, Missing, Shard, Steps, Stored
from esproxy.errors import Failed
from esproxy.exchange import Wait

HIDDEN = {"index": {"hidden": True, "number_of_shards": 1, "auto_expand_replicas": "0-1", "refresh_interval": -1}}
SEARCHED = {"kind": {"type": "keyword"}, "names": {"type": "keyword"}, "busy": {"type": "boolean"}}
KINDS = {"directory": Directory, "index": Index, "pool": Pool, "claims": Claims}
CACHED = ("directory", "index")


def join(cat: Catalogue) -> Steps[None]:
    """Become a member: the document first, so that others see it, then the first poll."""
    yield from _ensure_catalogue(cat)
    lease = yield from _agreed_lease(cat)
    yield from _ensure_members(cat, lease)
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
    try:
        catalogue, members = yield from cat.store.shards()
    except Missing:
        _forget_oneself(cat)  # and what is cached: it was of a catalogue that is gone
        raise
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
    _forget_oneself(cat)
    if own is not None:
        yield from cat.store.remove(own, cat.store.members)


def _forget_oneself(cat: Catalogue) -> None:
    cat.members.lost()
    cat.cache.settled_from = float("inf")


def _ensure_catalogue(cat: Catalogue) -> Steps[None]:
    """Begin one, where there is none and never was. Where pools lie there was: to begin anew would show every tenant that it has
    nothing, and what is put back later could not be reconciled with what was written meanwhile."""
    if (yield from cat.store.alias_exists(cat.store.catalogue)):
        return
    left = yield from cat.store.physical_indices(cat.physical)
    if left:
        what = f"but {len(left)} physical indices of one are there, [{left[0]}] among them"
        raise Missing(f"{what}; put it back from a snapshot, as an alias, or delete {cat.physical} to begin anew")
    yield from _make_hidden(cat, cat.store.members, {})  # first, so that a catalogue without members has lost them
    yield from _make_hidden(cat, cat.store.catalogue, SEARCHED)


def _ensure_members(cat: Catalogue, lease: float) -> Steps[None]:
    """Where the members' index was deleted, nobody can see who still holds a lease. Nobody can renew one either: after a lease
    there is nobody to be seen, and it can be made anew."""
    began = cat.clock()
    while not (yield from cat.store.alias_exists(cat.store.members)):
        if cat.clock() - began >= lease * cat.times.drift:
            return (yield from _make_hidden(cat, cat.store.members, {}))
        yield Wait(cat.times.look)


def _make_hidden(cat: Catalogue, alias: str, properties: dict[str, Any]) -> Steps[None]:
    mappings = {"dynamic": False, "properties": properties}
    body = {"settings": HIDDEN, "mappings": mappings, "aliases": {alias: {"is_hidden": True}}}
    yield from cat.store.create_index(names.behind(alias), body)


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
