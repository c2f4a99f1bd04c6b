"""The rules that close the races, each with a switch that turns it off, in tests only: a patch of the one place where it
lives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from esproxy.catalogue import cache, change, documents, members, names, sight, store
from esproxy.catalogue.names import CATALOGUE
from esproxy.procedures import alias, audit, create, drop_pool, fields, follow, state, sweep, tend, two_phase

Patch = tuple[Any, str, Any]


def _nothing(*_: Any, **__: Any) -> Any:
    return None
    yield


def _two_phase() -> list[Patch]:
    return [(where, "followed", _nothing) for where in (two_phase, alias, state)]


def _answer_check() -> list[Patch]:
    return [(sight.Sight, "holds", lambda self: True)]


def _realtime_patterns() -> list[Patch]:
    believe = sight.Sight.believe
    return [(sight.Sight, "believe", lambda self, wanted, pattern=False: believe(self, wanted, False))]


def _numbers() -> list[Patch]:
    real = create.change_directory

    def reusing(cat: Any, tenant: str, edit: Any, known: Any = None) -> Any:
        def edit_and_rewind(directory: Any) -> None:
            edit(directory)
            directory.next = 1_000_000

        return real(cat, tenant, edit_and_rewind, known)

    return [(create, "change_directory", reusing)]


def _second_pass() -> list[Patch]:
    return [(sweep, "PASSES", 1), (audit, "_documents", _nothing)]


def _intention_names_family() -> list[Patch]:
    def open_only(self: Any) -> list[str]:
        return sorted({e.physical for e in self.indices.values() if e.physical} | {t.physical for t in self.tombstones})

    return [(documents.Directory, "names", open_only)]


def _seal_before_search() -> list[Patch]:
    """The pool is looked through, and dropped without a seal and a second look."""

    def hasty(cat: Any, families: Any) -> Any:
        dropped = []
        yield from cat.store.refresh(cat.store.catalogue)
        for family in families:
            stored = yield from cat.store.get(documents.Pool, names.pool_id(family))
            newest = stored.doc.newest_open() if stored is not None else None
            if newest is None or (yield from drop_pool.named(cat, family, newest.physical)):
                continue
            yield from change.change(cat, documents.Pool, names.pool_id(family), drop_pool._without(newest.physical))
            yield from drop_pool.remove_physical(cat, newest.physical)
            dropped.append(newest.physical)
        return dropped

    return [(tend, "drop_drained", hasty)]


def _generations() -> list[Patch]:
    return [(names, "physical", lambda family, generation: f"{family}-1")]


def _first_lease() -> list[Patch]:
    return [(cache.Cache, "held", lambda self: self.clock() < self.lease_until)]


def _believe_after_settling() -> list[Patch]:
    """The first lease is waited for, but a poll from before its end is believed."""
    return [(cache.Cache, "held", lambda self: self.settled_from <= self.clock() < self.lease_until)]


def _presence() -> list[Patch]:
    return [(create, "present", _nothing), (alias, "present", _nothing), (state, "present", _nothing)]


def _refresh_before_following() -> list[Patch]:
    real = store.Store.refresh

    def skip(self: Any, index: str) -> Any:
        if index == CATALOGUE:
            return True
            yield
        return (yield from real(self, index))

    def without(cat: Any, shard: Any) -> Any:
        refresh, store.Store.refresh = store.Store.refresh, skip
        try:
            generator = follow_really(cat, shard)
        finally:
            store.Store.refresh = refresh
        value = None
        while True:
            store.Store.refresh = skip
            try:
                step = generator.send(value)
            except StopIteration as end:
                return end.value
            finally:
                store.Store.refresh = refresh
            value = yield step

    follow_really = follow._follow
    return [(follow, "_follow", without)]


def _global_checkpoint() -> list[Patch]:
    real = store._primary

    def highest(indices: Any, name: str) -> Any:
        shard = real(indices, name)
        return store.Shard(shard.epoch, shard.max_seq_no, shard.max_seq_no)

    return [(store, "_primary", highest)]


def _mark() -> list[Patch]:
    real = cache.Cache.put
    return [(cache.Cache, "put", lambda self, stored, mark: real(self, stored, self.mark))]


def _slow_death() -> list[Patch]:
    real = members.Members.listed

    def hasty(self: Any, found: Any, began: float, ended: float) -> Any:
        lease, self.lease = self.lease, self.lease * 0.1
        try:
            return real(self, found, began, ended)
        finally:
            self.lease = lease

    return [(members.Members, "listed", hasty)]


def _age_of_a_beat() -> list[Patch]:
    """A beat counts as first seen when the question was asked."""
    real = members.Members.listed
    return [(members.Members, "listed", lambda self, found, began, ended: real(self, found, began, began))]


def _compare_and_set() -> list[Patch]:
    def blind(self: Any, old: Any, doc: Any, index: Any = None) -> Any:
        answer = yield self.call("PUT", names.path(index or self.catalogue, "_doc", old.id), store.codec.encode(doc))
        return store._written(answer, old.id, doc)

    return [(store.Store, "replace", blind)]


def _claims() -> list[Patch]:
    """Fields are put as they come: no claim decides who has a name."""
    real = fields.place
    return [(fields, "place", lambda wanted, known, claims, *rest, **more: real(wanted, known, {}, *rest, **more))]


def _alias_required() -> list[Patch]:
    """A write to a catalogue that is gone makes one."""
    real = store.Store.call

    def call(self: store.Store, method: str, target: bytes, body: bytes = b"") -> Any:
        return real(self, method, target.replace(b"?require_alias=true", b"").replace(b"&require_alias=true", b""), body)

    return [(store.Store, "call", call)]


def _no_second_catalogue() -> list[Patch]:
    """A worker that finds no catalogue begins one, whatever else there is."""

    def nothing(self: store.Store, pattern: str) -> Any:
        yield from ()
        return []

    return [(store.Store, "physical_indices", nothing)]


def _lease_without_members() -> list[Patch]:
    """Whoever finds the members' index missing makes it."""

    def ensure(cat: Any, lease: float) -> Any:
        if not (yield from cat.store.alias_exists(cat.store.members)):
            yield from follow._make_hidden(cat, cat.store.members, {})

    return [(follow, "_ensure_members", ensure)]


OFF: dict[str, Callable[[], list[Patch]]] = {
    "two-phase": _two_phase,
    "answer check": _answer_check,
    "realtime patterns": _realtime_patterns,
    "numbers": _numbers,
    "second pass and audit": _second_pass,
    "intention names its family": _intention_names_family,
    "seal before search": _seal_before_search,
    "generations in names": _generations,
    "first lease uncached": _first_lease,
    "no poll from before settling": _believe_after_settling,
    "presence before acknowledging": _presence,
    "refresh before following": _refresh_before_following,
    "global checkpoint": _global_checkpoint,
    "mark": _mark,
    "death after two leases": _slow_death,
    "a beat is as old as its answer": _age_of_a_beat,
    "compare-and-set": _compare_and_set,
    "claims": _claims,
    "writes need the alias": _alias_required,
    "no catalogue beside pools of another": _no_second_catalogue,
    "a lease without members": _lease_without_members,
}


@contextmanager
def off(rule: str) -> Iterator[None]:
    patches = OFF[rule]()
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in patches]
    for owner, name, value in patches:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)
