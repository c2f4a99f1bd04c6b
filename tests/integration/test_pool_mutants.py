"""Each binding, rewriting and verification of pools switched off is noticed."""

from __future__ import annotations

from contextlib import closing

import pytest

from tests.integration.laboratory import Laboratory
from tests.integration.proxy import own_clear
from tests.oracle import path_mutants
from tests.oracle.mutants import Mutant
from tests.oracle.pool_mutants import UNREACHABLE, VERIFICATIONS, Verification, mutants, unnoticed

pytestmark = pytest.mark.wide
HERE = pytest.mark.placement("shared")


@HERE
@pytest.mark.parametrize("mutant", mutants(), ids=str)
def test_mutant_of_a_pool_is_caught(laboratory: Laboratory, mutant: Mutant) -> None:
    assert laboratory.caught_by(mutant) is not None


@pytest.mark.placement("per-tenant")
@pytest.mark.parametrize("mutant", path_mutants.of_objects(), ids=str)
def test_mutant_of_an_object_is_caught(laboratory: Laboratory, mutant: Mutant) -> None:
    assert laboratory.caught_by(mutant) is not None


@HERE
@pytest.mark.parametrize("mutant", unnoticed(), ids=str)
def test_mutant_that_is_told_to_change_nothing_changes_nothing(laboratory: Laboratory, mutant: Mutant) -> None:
    """All at once in whatever is played here: what one of these did would be a difference."""
    assert laboratory.caught_by(mutant) is None


@HERE
@pytest.mark.parametrize("verification", VERIFICATIONS, ids=str)
def test_verification_withholds_what_is_not_the_tenants(laboratory: Laboratory, verification: Verification) -> None:
    """The fault is withheld; without the verification it would have come through."""
    method, _, target = verification.call.partition(" ")
    body = verification.body
    headers = {"content-type": "application/x-ndjson" if target.endswith("_bulk") else "application/json"} if body else {}
    with closing(laboratory.cluster.served.client()) as client:
        made = client.send("PUT", "/books/_doc/1?refresh=true", {"content-type": "application/json"}, b'{"a":{"own":1}}')
        assert made.status in (200, 201)
    with verification.with_it(), closing(laboratory.app()) as client:
        faulty = [client.send(method, target, headers, body) for _ in range(2)][-1]  # from memory
    with verification.without_it(), closing(laboratory.app()) as client:
        through = [client.send(method, target, headers, body) for _ in range(2)][-1]
    with closing(laboratory.cluster.served.client()) as client:
        own_clear(client)
    assert faulty.status == 500
    assert b"failed verification" in faulty.body
    assert not laboratory.cluster.neighbours.canaries(faulty.everything())
    assert through.status == 200


def test_bindings_of_pools_that_no_scenario_reaches_are_few_and_told() -> None:
    assert len(UNREACHABLE) <= 15
    assert len(path_mutants.UNREACHABLE) <= 1
    assert all((*UNREACHABLE.values(), *path_mutants.UNREACHABLE.values()))
