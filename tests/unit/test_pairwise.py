"""The default run's combinations: all pairs are there, and the load is even."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import pytest

from tests.engines import FAMILIES
from tests.integration.proxy import SCENARIOS
from tests.oracle.attacks import ATTACKS
from tests.oracle.placements import PLACEMENTS
from tests.pairwise import HALVES, TRANSPORTS, plays, transport_of

CASES = {"scenarios": list(SCENARIOS), "attacks": [str(attack) for attack in ATTACKS]}


def rows(cases: list[str]) -> set[tuple[str, str, str, str]]:
    return {
        (case, family, placement, transport_of(family, placement))
        for case, family, placement in product(cases, FAMILIES, PLACEMENTS)
        if plays(case, family, placement)
    }


@pytest.mark.parametrize("kind", CASES)
def test_any_two_values_meet(kind: str) -> None:
    cases = CASES[kind]
    assert len(set(cases)) == len(cases) > 100
    played = rows(cases)
    for one, other in combinations(enumerate((cases, FAMILIES, PLACEMENTS, TRANSPORTS)), 2):
        (i, values), (j, others) = one, other
        assert {(row[i], row[j]) for row in played} == set(product(values, others))


@pytest.mark.parametrize("kind", CASES)
def test_each_case_is_played_once_in_each_placement(kind: str) -> None:
    assert Counter((case, placement) for case, _, placement, _ in rows(CASES[kind])) == Counter(product(CASES[kind], PLACEMENTS))


@pytest.mark.parametrize("kind", CASES)
def test_load_of_engines_and_placements_is_even(kind: str) -> None:
    load = Counter((family, placement) for _, family, placement, _ in rows(CASES[kind]))
    assert all(0.4 < load[one] / len(CASES[kind]) < 0.6 for one in product(FAMILIES, PLACEMENTS))


def test_tests_without_a_case_meet_all_pairs_of_family_placement_and_transport() -> None:
    played = {(family, placement, transport_of(family, placement)) for family, placement in product(FAMILIES, PLACEMENTS)}
    for (i, values), (j, others) in combinations(enumerate((FAMILIES, PLACEMENTS, TRANSPORTS)), 2):
        assert {(row[i], row[j]) for row in played} == set(product(values, others))
    assert len(HALVES) > 1
