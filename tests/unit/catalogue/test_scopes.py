"""Scopes in routing: which documents a query for them matches, and which shard a document is on."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esproxy.catalogue import scopes
from esproxy.catalogue.scopes import Shards

SHARDS = st.builds(
    lambda count, splits: Shards.of({"index.number_of_shards": str(count), "index.number_of_routing_shards": count << splits}),
    st.integers(1, 8),
    st.integers(1, 6),
)


def matches(query: dict[str, Any], routing: str) -> bool:
    """As a node would."""
    (kind, what), *_ = query.items()
    if kind == "prefix":
        return routing.startswith(what["_routing"])
    if kind == "regexp":
        return re.fullmatch(what["_routing"], routing) is not None
    return kind == "bool" and any(matches(one, routing) for one in what["should"])


@pytest.mark.parametrize("several", [0, 1, 2, scopes.FEW, scopes.FEW + 1, 5000])
def test_query_matches_its_scopes_alone(several: int) -> None:
    query = scopes.query([f"ac-me.{number}" for number in range(several)])
    assert [matches(query, f"ac-me.{number}:x") for number in (0, 1, 4999)] == [several > 0, several > 1, several > 4999]
    others = ["ac-me.5000:", "ac-me.00:", "ac-me.0", "ac-mex0:", "zenith.0:", "xac-me.0:", ":ac-me.0:"]
    assert not any(matches(query, routing) for routing in others)


@given(SHARDS, st.text(min_size=1), st.none() | st.text())
def test_routing_is_given_back_and_picks_the_shard_of_the_clients_own(shards: Shards, id: str, routing: str | None) -> None:
    stored = scopes.routing("acme.17", shards, id, routing)
    assert scopes.given(stored, "acme.17", shards) == (routing or None)
    assert shards.picked(stored, f"acme.17:{id}") == shards.picked(routing or id, id)
    for other in ("acme.1", "acme.170", "zenith.17"):
        with pytest.raises(ValueError):
            scopes.given(stored, other, shards)


def test_routing_spread_over_a_partition_picks_the_shard_of_the_clients_own() -> None:
    shards = Shards.of({"index.number_of_shards": 7, "index.routing_partition_size": 3})
    for id in map(str, range(50)):
        stored = scopes.routing("acme.17", shards, id, "r")
        assert shards.picked(stored, f"acme.17:{id}") == shards.picked("r", id)


@pytest.mark.parametrize(
    ("text", "hashed"), [("hell", 0x5A0CB7C3), ("hello", 0xD7C31989), ("hello w", 0x22AB2984), ("hello wo", 0xDF0CA123)]
)
def test_hash_is_the_nodes(text: str, hashed: int) -> None:
    assert scopes.murmur3(text) & 0xFFFFFFFF == hashed
