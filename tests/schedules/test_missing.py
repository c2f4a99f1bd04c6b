"""The catalogue or its members deleted under workers that run, and an intention taken back under its creator: by hand."""

from __future__ import annotations

from contextlib import suppress

import pytest

from esproxy.catalogue import names
from esproxy.catalogue.pools import Plan
from esproxy.catalogue.sight import Sight
from esproxy.catalogue.store import Missing
from esproxy.errors import Failed
from esproxy.procedures import follow
from esproxy.procedures.create import create, finish_creating
from esproxy.procedures.delete import delete
from tests.schedules.checker import TENANT
from tests.schedules.rules_off import off
from tests.schedules.test_directed import Hand, _to
from tests.schedules.world import TIMES

PLAN = Plan("shared")


# --- a write meets a catalogue that is gone -----------------------------------------------------------------


def _made_by_a_write() -> bool:
    """A has read the directory and is about to write it when the catalogue is deleted. Is there one afterwards?"""
    hand = Hand()
    a = hand.member()
    hand.run(follow.join(a))
    hand.run(create(a, TENANT, "kept", PLAN))
    creating = create(a, TENANT, "logs", PLAN)
    writing = hand.until(creating, _to("PUT", "_doc"))
    del hand.node.indices[names.CATALOGUE]
    with suppress(Failed):
        hand.finish(creating, writing)
    return names.CATALOGUE in hand.node.indices


def test_write_to_a_catalogue_that_is_gone_makes_none() -> None:
    assert not _made_by_a_write()


def test_write_to_a_catalogue_that_is_gone_without_its_rule_makes_one() -> None:
    with off("writes need the alias"):
        assert _made_by_a_write()


# --- a worker starts where the catalogue is gone --------------------------------------------------------------


def _begun_anew() -> bool:
    """The catalogue is deleted, but not the pools. Does a worker that runs or one that starts begin another?"""
    hand = Hand()
    a = hand.member()
    hand.run(follow.join(a))
    hand.run(create(a, TENANT, "logs", PLAN))
    del hand.node.indices[names.CATALOGUE]
    for member in (a, a, hand.member()):
        with suppress(Missing):
            hand.run(follow.poll(member))
    return names.CATALOGUE in hand.node.indices


def test_catalogue_that_is_gone_is_not_begun_anew_beside_pools() -> None:
    assert not _begun_anew()


def test_catalogue_that_is_gone_without_its_rule_is_begun_anew() -> None:
    with off("no catalogue beside pools of another"):
        assert _begun_anew()


def test_catalogue_that_is_gone_is_begun_anew_where_no_pool_is() -> None:
    hand = Hand()
    a = hand.member()
    hand.run(follow.join(a))
    del hand.node.indices[names.CATALOGUE]
    with pytest.raises(Missing):
        hand.run(follow.poll(a))
    assert not a.cache.held()
    hand.run(follow.poll(a))
    hand.time += TIMES.lease
    hand.run(follow.poll(a))
    assert hand.run(create(a, TENANT, "logs", PLAN)).physical in hand.node.indices


def test_catalogue_put_back_is_followed_again() -> None:
    hand = Hand()
    a = hand.member()
    hand.run(follow.join(a))
    hand.run(create(a, TENANT, "logs", PLAN))
    away = hand.node.indices.pop(names.CATALOGUE)
    for _ in range(3):
        with pytest.raises(Missing):
            hand.run(follow.poll(a))
        with pytest.raises(Missing):
            hand.run(Sight(a, TENANT).look())
    hand.node.indices[names.CATALOGUE] = away
    hand.run(follow.poll(a))
    hand.time += TIMES.lease
    hand.run(follow.poll(a))
    assert a.cache.held()
    assert hand.run(delete(a, TENANT, ["logs"]))


# --- the members are gone ------------------------------------------------------------------------------------------


def _believes_while_nobody_is_seen() -> bool:
    """A holds a lease and knows an index when the members are deleted. B joins and deletes the index. Does A still believe?"""
    hand = Hand()
    a, b = hand.member(), hand.member()
    hand.run(follow.join(a))
    hand.run(create(a, TENANT, "logs", PLAN))
    hand.run(follow.poll(a))
    del hand.node.indices[names.MEMBERS]
    hand.run(follow.join(b))
    hand.run(delete(b, TENANT, ["logs"]))
    return Sight(a, TENANT).believe(["logs"]) is not None


def test_members_that_are_gone_are_not_taken_for_nobody() -> None:
    assert not _believes_while_nobody_is_seen()


def test_members_that_are_gone_without_their_rule_are_taken_for_nobody() -> None:
    with off("a lease without members"):
        assert _believes_while_nobody_is_seen()


# --- an intention is taken back while its creator goes on -----------------------------------------------------------


@pytest.mark.parametrize("at", ["_create", "_doc"])
def test_intention_taken_back_leaves_nothing_of_its_creator_s(at: str) -> None:
    """A stops before it writes the index's document, or before it opens the entry; B takes it for dead and ends what it finds. A
    goes on, finds its number gone, and creates the index under another, or meets B's."""
    hand = Hand()
    a, b = hand.member(), hand.member()
    hand.run(follow.join(a))
    hand.run(follow.join(b))
    hand.run(create(a, TENANT, "kept", PLAN))
    creating = create(a, TENANT, "logs", PLAN)
    intending = hand.until(creating, _to("PUT", "directory"))
    held, _ = hand.go_on(creating, hand.call(intending.send), _to("PUT", f"{at}/index" if at == "_create" else f"{at}/directory"))
    number = hand.directory().indices["logs"].n
    ended = hand.run(finish_creating(b, TENANT, "logs", number))
    assert (ended is None) == (at == "_create"), "without its document it can only be withdrawn"
    opened = hand.finish(creating, held)
    assert hand.directory().indices["logs"] == opened and (opened.n == number) == (at == "_doc")
    documents = {id for id in hand.node.indices[names.CATALOGUE].docs if id.startswith("index:")}
    assert documents == {names.index_id(TENANT, entry.n) for entry in hand.directory().indices.values()}
