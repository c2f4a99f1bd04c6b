"""Races played by hand, step by step: those that random schedules meet too rarely, each with its rule on and off."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pytest

from esproxy.catalogue import codec, names
from esproxy.catalogue.cache import Cache
from esproxy.catalogue.change import list_members
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import Directory, Index, Pool
from esproxy.catalogue.pools import Plan
from esproxy.catalogue.sight import Sight
from esproxy.catalogue.store import Store
from esproxy.errors import Refusal
from esproxy.exchange import Answer, Call, Send, Wait
from esproxy.procedures import drop_pool, follow, sweep, tend
from esproxy.procedures.create import create
from esproxy.procedures.delete import delete
from esproxy.procedures.fields import add_fields
from tests.schedules.clients import TENANT, write
from tests.schedules.model import Node
from tests.schedules.rules_off import off
from tests.schedules.world import TIMES

Steps = Generator[Any, Any, Any]


class Hand:
    """One node, one clock, and generators moved by hand."""

    def __init__(self) -> None:
        self.node = Node()
        self.time = 0.0
        self.ids = 0

    def member(self) -> Catalogue:
        store = Store("main", names.CATALOGUE, names.MEMBERS)
        return Catalogue(store, Cache(lambda: self.time), lambda: self.time, lambda: 1_000_000, self.new_id, TIMES)

    def new_id(self) -> str:
        self.ids += 1
        return f"u{self.ids}"

    def call(self, send: Send) -> Answer:
        result = self.node.begin(send)
        return result if isinstance(result, Answer) else result()

    def run(self, steps: Steps) -> Any:
        """To its end; waits pass time."""
        return self.go_on(steps, None, lambda call: False)[1]

    def until(self, steps: Steps, stop: Callable[[Call], bool]) -> Call:
        """Up to the call for which ``stop`` is true, which is not made yet."""
        call, _ = self.go_on(steps, None, stop)
        assert call is not None, "it ended before"
        return call

    def go_on(self, steps: Steps, answer: Any, stop: Callable[[Call], bool]) -> tuple[Call | None, Any]:
        while True:
            try:
                step = steps.send(answer)
            except StopIteration as end:
                return None, end.value
            answer = None
            if isinstance(step, Wait):
                self.time += step.seconds
            elif stop(step):
                return step, None
            else:
                answer = self.call(step.send)

    def finish(self, steps: Steps, call: Call) -> Any:
        """Make the call that was held back, and go on to the end."""
        return self.go_on(steps, self.call(call.send), lambda call: False)[1]

    def directory(self) -> Directory:
        return codec.decode(Directory, self.node.indices[names.CATALOGUE].docs[names.directory_id(TENANT)].source)


def _to(method: str, part: str) -> Callable[[Call], bool]:
    return lambda call: call.send.method == method and part in call.send.target.decode()


# --- a poll from before settling ------------------------------------------------------------------------


def _believes_after_a_delete() -> bool:
    """A is alone and has not polled since B came; it deletes without a wait just before its lease ends. Does B still believe?"""
    hand = Hand()
    a, b = hand.member(), hand.member()
    hand.run(follow.join(a))
    hand.run(create(a, TENANT, "logs", Plan("shared")))
    hand.time = 1.0
    hand.run(follow.poll(a))
    assert a.cache.alone()
    hand.time = 1.2
    hand.run(follow.join(b))
    hand.run(Sight(b, TENANT).look())
    hand.time = 4.8
    hand.run(follow.poll(b))
    hand.time = 4.9
    assert a.cache.alone()
    hand.run(delete(a, TENANT, ["logs"]))
    assert hand.time == 4.9, "alone, nothing waits"
    hand.time = 5.3
    assert b.cache.settled_from < hand.time < b.cache.lease_until
    return Sight(b, TENANT).believe(["logs"]) is not None


def test_poll_from_before_settling_is_not_believed() -> None:
    assert not _believes_after_a_delete()


def test_poll_from_before_settling_without_its_rule_is_believed() -> None:
    with off("no poll from before settling"):
        assert _believes_after_a_delete()


# --- a member that stops while it looks who is there --------------------------------------------------------


def _lives_after_a_stopped_look() -> bool:
    """A begins to list the members, is stopped for more than two leases, and goes on; B has renewed just before A's search. A
    lists once more. Is B still a member?"""
    hand = Hand()
    a, b = hand.member(), hand.member()
    hand.run(follow.join(a))
    hand.run(follow.join(b))
    looking = list_members(a)
    search = hand.until(looking, _to("POST", "_search"))
    hand.time += 2.5 * TIMES.lease
    hand.run(follow.poll(b))
    hand.finish(looking, search)
    hand.run(list_members(a))
    return names.member_id(b.uuid) in hand.node.indices[names.MEMBERS].docs


def test_member_stopped_while_it_looks_takes_nobody_for_dead() -> None:
    assert _lives_after_a_stopped_look()


def test_member_stopped_while_it_looks_without_its_rule_takes_the_living_for_dead() -> None:
    with off("a beat is as old as its answer"):
        assert not _lives_after_a_stopped_look()


# --- a pool dropped under a creation ----------------------------------------------------------------------


def _created_while_dropped() -> bool:
    """The dropper has found nobody; now an entry's creation reads the pool; then the dropper goes on. Is the entry in a pool?"""
    hand = Hand()
    a, b = hand.member(), hand.member()
    hand.run(follow.join(a))
    hand.run(create(a, TENANT, "logs", Plan("shared")))
    (number,) = hand.run(delete(a, TENANT, ["logs"]))
    hand.run(sweep.sweep(a, TENANT, [number]))
    hand.run(follow.join(b))
    hand.time += 2 * TIMES.lease
    hand.run(follow.poll(a))
    hand.run(follow.poll(b))

    family = names.pool_id(names.family_shared("logs", {}, {}))
    dropping = tend.drop_drained(b, [names.family_shared("logs", {}, {})])
    searched = False

    def before_writing(call: Call) -> bool:
        nonlocal searched
        searched = searched or _to("POST", "_search")(call)
        return searched and call.send.method == "PUT"

    put = hand.until(dropping, before_writing)
    creating = create(a, TENANT, "logs", Plan("shared"))
    opening = hand.until(creating, _to("HEAD", "pool~logs"))  # the pool's document has been read
    hand.finish(dropping, put)
    hand.run(follow.poll(a))
    hand.finish(creating, opening)
    entry = hand.directory().indices["logs"]
    pool = codec.decode(Pool, hand.node.indices[names.CATALOGUE].docs[family].source)
    return entry.physical in {g.physical for g in pool.generations} and entry.physical in hand.node.indices


def test_pool_dropped_while_an_entry_is_created_keeps_it() -> None:
    assert _created_while_dropped()


def test_pool_dropped_while_an_entry_is_created_without_seal_loses_it() -> None:
    with off("seal before search"):
        assert not _created_while_dropped()


# --- a late write to a dropped physical index -------------------------------------------------------------


def _made_anew_by_a_late_write() -> bool:
    """A write leaves late, for a pool that was swept and dropped; then the index is created again. Is its pool one we made?"""
    hand = Hand()
    cat = hand.member()
    hand.run(follow.join(cat))
    hand.run(create(cat, TENANT, "logs", Plan("shared")))
    late = hand.until(write(cat, "logs", "v1"), _to("PUT", "_doc/acme."))
    (number,) = hand.run(delete(cat, TENANT, ["logs"]))
    hand.run(sweep.sweep(cat, TENANT, [number]))
    assert hand.run(drop_pool.drop_drained(cat, [names.family_shared("logs", {}, {})]))
    hand.call(late.send)
    hand.run(follow.poll(cat))
    entry = hand.run(create(cat, TENANT, "logs", Plan("shared")))
    return hand.node.indices[entry.physical].body is not None and not hand.node.indices[entry.physical].docs


def test_late_write_to_a_dropped_pool_is_nobodys() -> None:
    assert _made_anew_by_a_late_write()


def test_late_write_to_a_dropped_pool_without_generations_is_met_again() -> None:
    with off("generations in names"):
        assert not _made_anew_by_a_late_write()


# --- fields -----------------------------------------------------------------------------------------------


def _two_definitions(tenants: tuple[str, str], definitions: tuple[dict[str, Any], dict[str, Any]]) -> bool:
    """Two writers add one field, each up to its put mapping before either puts. Does each index have on the node what it was
    promised?"""
    hand = Hand()
    cats = hand.member(), hand.member()
    hand.run(follow.join(cats[0]))
    hand.run(follow.join(cats[1]))
    hand.time = 20.0
    entries = []
    for cat, tenant in zip(cats, tenants, strict=True):
        hand.run(follow.poll(cat))
        entries.append(hand.run(create(cat, tenant, "logs", Plan("shared"), explicit=False)))
    assert entries[0].physical == entries[1].physical
    adding = [
        add_fields(cat, tenant, "logs", entry.n, entry.physical, {"k": definition})
        for cat, tenant, entry, definition in zip(cats, tenants, entries, definitions, strict=True)
    ]
    puts = [hand.until(steps, _to("PUT", "_mapping")) for steps in adding]
    kept = True
    for steps, put in zip(adding, puts, strict=True):
        try:
            hand.finish(steps, put)
        except Refusal:
            kept = False
    properties = hand.node.indices[entries[0].physical].properties
    for tenant, entry in zip(tenants, entries, strict=True):
        index = codec.decode(Index, hand.node.indices[names.CATALOGUE].docs[names.index_id(tenant, entry.n)].source)
        kept = kept and all(properties.get(f.physical) == f.type for f in index.fields.values()) and "k" in index.fields
    return kept


LONG, KEYWORD = {"type": "long"}, {"type": "keyword"}
SHORT_KEYWORD = {"type": "keyword", "ignore_above": 5}


@pytest.mark.parametrize("tenants", [("acme", "acme"), ("acme", "zenith")], ids=["one index", "two tenants"])
@pytest.mark.parametrize("second", [KEYWORD, SHORT_KEYWORD, LONG], ids=["keyword", "short keyword", "long"])
def test_field_with_two_definitions_keeps_both_promises(tenants: tuple[str, str], second: dict[str, Any]) -> None:
    assert _two_definitions(tenants, (KEYWORD, second))


@pytest.mark.parametrize("second", [SHORT_KEYWORD, LONG], ids=["merged silently", "refused"])
def test_field_with_two_definitions_without_claims_breaks_one(second: dict[str, Any]) -> None:
    with off("claims"):
        assert not _two_definitions(("acme", "zenith"), (KEYWORD, second))
