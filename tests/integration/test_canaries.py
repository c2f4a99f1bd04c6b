"""Nothing of other tenants shows, whatever the tenant under test asks; and nothing of theirs changes."""

from __future__ import annotations

from contextlib import closing, suppress

import pytest

from tests.integration.proxy import SCENARIOS, Direct, SharedCluster
from tests.oracle.answer import Raw
from tests.oracle.neighbours import SOME, Neighbour, differing
from tests.oracle.run import Unplayable


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenario_shows_no_canary_and_no_physical_name(cluster: SharedCluster, scenario: str) -> None:
    if scenario not in cluster.direct.runs:
        pytest.skip(f"{scenario} is for other engines")
    with suppress(Unplayable):  # what was seen until then was looked at
        cluster.run(scenario)
    leaks = [leak for leak in cluster.leaks if leak.scenario == scenario]
    assert not leaks, "\n".join(f"{leak.call}: {leak.who}: {leak.seen!r}" for leak in leaks[:10])


def test_canaries_are_found_where_they_are(cluster: SharedCluster) -> None:
    """The search itself: each neighbour sees its own canary, and only that, through the same proxy."""
    for neighbour in (one for one in cluster.neighbours.all if isinstance(one, Neighbour)):
        names = ",".join(sorted({*SOME, f"{neighbour.canary}-own"}))  # all of them make a line too long for a node, in pools
        with closing(cluster.served.client(neighbour.tenant)) as client:
            raw = client.send("GET", f"/{names}/_search?size=500", {}, None)
        assert raw.status == 200
        assert neighbour.canary.encode() in raw.body
        others = [one.canary for one in cluster.neighbours.all if one is not neighbour]
        assert not any(canary.encode() in raw.body for canary in others)
        assert neighbour.tenant in cluster.neighbours.leaks(raw)


def test_canary_in_a_header_is_found(cluster: SharedCluster) -> None:
    canary = cluster.neighbours.all[0].canary
    assert cluster.neighbours.leaks(Raw(201, [("Location", f"/{canary}-own/_doc/1")], b""))
    assert cluster.neighbours.leaks(Raw(404, [], b"no such index [acme.books]"))
    assert not cluster.neighbours.leaks(Raw(200, [("Location", "/books/_doc/1")], b"{}"))


def test_neighbours_are_as_they_were(cluster: SharedCluster, all_scenarios: Direct) -> None:
    """Last in this file: after all scenarios, the others' mappings, settings, aliases and documents are unchanged."""
    assert cluster.scenarios
    for name in cluster.scenarios:
        with suppress(Unplayable):
            cluster.run(name)
    assert differing(cluster.before, cluster.neighbours.state()) == []
