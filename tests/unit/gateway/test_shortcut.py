"""The comparison of both ways that runs under these tests does compare."""

from __future__ import annotations

import pytest

from esproxy.shortcut import Shortcut
from tests import both_ways
from tests.unit.gateway.whole import gateway, sent

MATCH = b'{"query":{"match":{"a":"b"}}}'
FOUND = b'{"hits":{"hits":[{"_index":"acme.books","_id":"1"}]}}'


def test_both_ways_are_compared_for_a_head_that_has_been_understood():
    gate, before = gateway(), dict(both_ways.counts)
    for _ in range(3):
        sent(gate, "POST", "/books/_search", MATCH).answer(FOUND)
    assert {name: count - before[name] for name, count in both_ways.counts.items()} == {"sent": 3, "told": 3}


@pytest.mark.parametrize("name", ["sent", "restored"])
def test_difference_between_the_ways_is_noticed(monkeypatch, name):
    ours = getattr(Shortcut, name)
    monkeypatch.setattr(Shortcut, name, lambda *args: ours(*args) + b" ")
    with pytest.raises(AssertionError):
        sent(gateway(), "POST", "/books/_search", MATCH).answer(FOUND)
