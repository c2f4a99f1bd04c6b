"""What a member believes, and whom it counts with."""

from __future__ import annotations

from esproxy.catalogue.cache import Cache
from esproxy.catalogue.documents import Directory, Member
from esproxy.catalogue.members import Members
from esproxy.catalogue.store import Stored


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def _cache(**state: float) -> tuple[Cache, Clock]:
    clock = Clock()
    cache = Cache(clock, limit=2)
    for name, value in state.items():
        setattr(cache, name, value)
    return cache, clock


def _doc(seq_no: int, id: str = "directory:acme", term: int = 1) -> Stored[Directory]:
    return Stored(id, seq_no, term, Directory("acme", seq_no))


def test_lease_ends_when_its_time_is_over():
    cache, clock = _cache(settled_from=0.0)
    assert not cache.held()
    cache.grant(100.0, 5.0, alone=True)
    assert cache.held() and cache.alone()
    clock.now = 104.9
    assert cache.held()
    clock.now = 105.0
    assert not cache.held() and not cache.alone()


def test_lease_from_before_settling_is_not_held():
    cache, clock = _cache(settled_from=101.0)
    cache.grant(100.9, 5.0, alone=True)
    clock.now = 102.0
    assert not cache.held() and not cache.alone()
    cache.grant(101.5, 5.0, alone=False)
    assert cache.held() and not cache.alone()


def test_newest_version_stays():
    cache, _ = _cache()
    cache.put(_doc(5), cache.mark)
    cache.put(_doc(4), cache.mark)
    assert cache.get("directory:acme") == _doc(5)
    cache.put(_doc(3, term=2), cache.mark)
    assert cache.get("directory:acme") == _doc(3, term=2)


def test_read_from_before_a_poll_is_not_kept():
    cache, _ = _cache()
    mark = cache.mark
    cache.apply([_doc(6)], 6)
    assert cache.get("directory:acme") is None, "what is not cached is not followed"
    cache.put(_doc(5), mark)
    assert cache.get("directory:acme") is None
    cache.put(_doc(6), cache.mark)
    cache.apply([_doc(7)], 7)
    assert cache.get("directory:acme") == _doc(7)


def test_cache_keeps_its_limit():
    cache, _ = _cache()
    for tenant in "abc":
        cache.put(_doc(1, f"directory:{tenant}"), cache.mark)
    assert list(cache.docs) == ["directory:b", "directory:c"]


def _member(uuid: str, seq_no: int, followed: int = 0) -> Stored[Member]:
    return Stored(f"member:{uuid}", seq_no, 1, Member(uuid, seq_no, followed))


def test_quiet_ends_with_a_gap():
    members = Members(5.0)
    members.renewed(_member("me", 0))
    assert members.listed([_member("me", 0)], 0.0, 0.0) == []
    members.renewed(_member("me", 1))
    assert members.quiet == 1
    members.renewed(_member("me", 3))
    assert members.quiet is None, "change 2 was somebody else's"


def test_member_is_dead_after_two_leases_without_a_change():
    members = Members(5.0)
    members.renewed(_member("me", 0))
    assert members.listed([_member("you", 1)], 0.0, 0.0) == []
    assert members.listed([_member("you", 1)], 9.9, 9.9) == []
    assert members.listed([_member("you", 2)], 10.0, 10.0) == []
    assert members.listed([_member("you", 2)], 20.0, 20.0) == [_member("you", 2)]
    assert members.quiet is None, "it may live and renew before it is deleted"
    assert members.listed([], 21.0, 21.0) == [] and members.quiet == 0


def test_member_is_as_old_as_the_answer_that_showed_it():
    members = Members(5.0)
    assert members.listed([_member("you", 1)], 0.0, 30.0) == []
    assert members.listed([_member("you", 1)], 31.0, 60.0) == [], "asked too soon after the first answer"
    assert members.listed([_member("you", 1)], 40.0, 40.0) == [_member("you", 1)]


def test_followed_asks_every_other_member():
    members = Members(5.0)
    members.listed([_member("a", 1, 10), _member("b", 2, 9)], 0.0, 0.0)
    assert members.followed(9) and not members.followed(10)
    assert members.live("a") and not members.live("c") and not members.live(None)
