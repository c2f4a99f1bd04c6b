"""An index that is filled before anybody sees it is there as a whole or not at all, wherever its worker stops."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import orjson
import pytest

from esproxy.catalogue import names, scopes
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import FILLING, OPEN
from esproxy.catalogue.pools import Plan
from esproxy.catalogue.sight import footprint
from esproxy.catalogue.store import JSON, parsed
from esproxy.errors import Failed, Refusal
from esproxy.exchange import Call, Send, Wait
from esproxy.procedures import follow, tend
from esproxy.procedures.create import create
from esproxy.procedures.delete import delete
from esproxy.procedures.fill import Fill, Filling
from tests.schedules.clients import TENANT, search
from tests.schedules.test_directed import Hand
from tests.schedules.world import TIMES

Steps = Generator[Any, Any, Any]


def filled(cat: Catalogue, values: list[str], pause: float = 0.0, broken: bool = False, beats: bool = True) -> Fill:
    """Writes these, with a pause before each."""

    def fill(filling: Filling) -> Steps:
        assert filling.entry is not None
        for value in values:
            yield Wait(pause)
            if beats:
                yield from filling.beat()
            at = scopes.routing(names.scope(TENANT, filling.entry.n), scopes.Shards(), value, None)
            target = names.path(filling.entry.physical, "_doc", f"{at}~{value}") + f"?routing={at}&refresh=true".encode()
            parsed((yield Call(Send("main", "PUT", target, JSON, orjson.dumps({"value": value})))), 200, 201)
        if broken:
            raise Failed("the source is gone")

    return fill


def make(cat: Catalogue, fill: Fill) -> Steps:
    return create(cat, TENANT, "copy", Plan("shared"), fill=fill)


def joined(hand: Hand, count: int) -> list[Catalogue]:
    cats = [hand.member() for _ in range(count)]
    for cat in cats:
        hand.run(follow.join(cat))
    return cats


def writes(count: int) -> Callable[[Call], bool]:
    """The call before which so many documents have been written."""
    seen = 0

    def stop(call: Call) -> bool:
        nonlocal seen
        if call.send.method == "PUT" and "_doc/acme." in call.send.target.decode():
            seen += 1
        return seen > count

    return stop


def documents(hand: Hand) -> list[str]:
    pools = [index for name, index in hand.node.indices.items() if name.startswith("pool~")]
    return sorted(doc.source["value"] for index in pools for doc in index.docs.values())


def given_up(hand: Hand, cat: Catalogue) -> None:
    """Time goes by, and whoever tends does what there is to do."""
    for _ in range(5):
        hand.time += 1.5 * TIMES.lease
        hand.run(follow.poll(cat))
        for directory in hand.run(tend.busy(cat)):
            hand.run(tend.tend(cat, directory))


def test_copy_is_seen_when_it_is_whole() -> None:
    hand = Hand()
    cat, other = joined(hand, 2)
    steps = make(cat, filled(cat, ["a", "b"]))
    second = hand.until(steps, writes(1))
    entry = hand.directory().indices["copy"]
    assert entry.state == FILLING and documents(hand) == ["a"] and footprint(hand.directory(), "copy") == ()
    hand.run(follow.poll(other))
    assert hand.run(search(other, "*")) == {}
    for refused in (search(other, "copy"), delete(other, TENANT, ["copy"])):
        with pytest.raises(Refusal, match="no such index"):
            hand.run(refused)
    made = hand.finish(steps, second)
    assert made.state == OPEN and made.n == entry.n and hand.run(search(cat, "copy")) == {"copy": ["a", "b"]}


def test_copy_that_fails_leaves_nothing() -> None:
    hand = Hand()
    (cat,) = joined(hand, 1)
    with pytest.raises(Failed, match="gone"):
        hand.run(make(cat, filled(cat, ["a", "b"], broken=True)))
    assert not hand.directory().indices and [t.n for t in hand.directory().tombstones] == [1_000_000]
    made = hand.run(make(cat, filled(cat, ["c"])))
    assert made.n == 1_000_001 and hand.run(search(cat, "copy")) == {"copy": ["c"]}
    given_up(hand, cat)
    assert documents(hand) == ["c"] and not hand.directory().tombstones


@pytest.mark.parametrize("written", [0, 1])
def test_copy_whose_worker_stops_is_given_up(written: int) -> None:
    hand = Hand()
    cat, other = joined(hand, 2)
    hand.until(make(cat, filled(cat, ["a", "b"])), writes(written))  # and never goes on
    given_up(hand, other)
    assert not hand.directory().indices and not hand.directory().tombstones and not documents(hand)


def test_copy_stopped_before_it_has_a_place_is_withdrawn() -> None:
    hand = Hand()
    cat, other = joined(hand, 2)
    hand.until(make(cat, filled(cat, ["a"])), lambda call: call.send.method == "HEAD")
    assert hand.directory().indices["copy"].physical == ""
    given_up(hand, other)
    assert not hand.directory().indices and not hand.directory().tombstones


def test_copy_given_up_meanwhile_has_failed() -> None:
    hand = Hand()
    cat, other = joined(hand, 2)
    steps = make(cat, filled(cat, ["a", "b"]))
    second = hand.until(steps, writes(1))
    given_up(hand, other)
    with pytest.raises(Failed, match="too long"):
        hand.finish(steps, second)
    hand.run(follow.poll(other))
    hand.run(tend.audit(other))
    assert not hand.directory().indices and not documents(hand)


def _survives(beats: bool) -> bool:
    """Another worker looks what is left while a copy takes far longer than two leases. Is it there in the end?"""
    hand = Hand()
    cat, other = joined(hand, 2)
    steps = make(cat, filled(cat, list("abcdefgh"), pause=0.7 * TIMES.lease, beats=beats))
    step, answer = steps.send(None), None
    while True:
        if isinstance(step, Wait):
            hand.time += step.seconds
            for one in (cat, other):
                hand.run(follow.poll(one))
            for directory in hand.run(tend.busy(other)):
                tend_steps = tend.finish(other, directory.tenant)
                hand.run(tend_steps)
            answer = None
        else:
            answer = hand.call(step.send)
        try:
            step = steps.send(answer)
        except StopIteration as end:
            return bool(end.value.state == OPEN)
        except Failed:
            return False


def test_copy_that_takes_long_is_left_alone() -> None:
    assert _survives(beats=True)


def test_copy_that_takes_long_without_beats_is_given_up() -> None:
    assert not _survives(beats=False)


def test_name_of_a_copy_is_taken_until_it_is_given_up() -> None:
    hand = Hand()
    cat, other = joined(hand, 2)
    hand.until(make(cat, filled(cat, ["a"])), writes(0))
    copying, began = hand.directory().indices["copy"].n, hand.time
    hand.until(create(other, TENANT, "copy", Plan("shared"), explicit=False), lambda call: b"_create/index" in call.send.target)
    assert hand.directory().indices["copy"].n == copying + 1 and hand.time - began >= 2 * TIMES.lease
    assert [t.n for t in hand.directory().tombstones] == [copying]
