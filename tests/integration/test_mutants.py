"""Each binding, rewriting and verification of `dedicated` switched off is noticed: how good the oracle is, measured."""

from __future__ import annotations

from contextlib import closing

import pytest

from tests.integration.laboratory import Laboratory
from tests.oracle.mutants import FAULT, PROBE, UNREACHABLE, VERIFICATIONS, Mutant, mutants

HERE = pytest.mark.placement("dedicated")


@HERE
@pytest.mark.parametrize("mutant", mutants(), ids=str)
def test_mutant_is_caught(laboratory: Laboratory, mutant: Mutant) -> None:
    assert laboratory.caught_by(mutant) is not None


@HERE
@pytest.mark.parametrize("mutant", VERIFICATIONS, ids=str)
def test_verification_withholds_what_is_not_the_tenants(laboratory: Laboratory, mutant: Mutant) -> None:
    """The fault alone is withheld; without the verification it would have come through."""
    node = laboratory.cluster.neighbours.node
    method, _, target = mutant.first[0].partition(" ")
    body = b"{}" if method == "PUT" else None
    headers = {"content-type": "application/json"} if body else {}
    node.send("PUT", f"/{PROBE}", {}, None)
    try:
        with FAULT.make(), closing(laboratory.app()) as client:
            faulty = client.send(method, target, headers, body)
        with mutant.make(), closing(laboratory.app()) as client:
            through = client.send(method, target, headers, body)
    finally:
        node.send("DELETE", f"/{PROBE}", {}, None)
    assert faulty.status == 500
    assert b"failed verification" in faulty.body
    assert not laboratory.cluster.neighbours.canaries(faulty.everything())
    assert through.status in (200, 201)


def test_bindings_that_no_scenario_reaches_are_few_and_told() -> None:
    assert len(UNREACHABLE) <= 12
    assert all(UNREACHABLE.values())
