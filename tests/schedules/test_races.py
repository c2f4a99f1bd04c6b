"""Each named race: closed by its rule, open without it."""

from __future__ import annotations

import pytest

from tests.schedules.races import CASES
from tests.schedules.rules_off import OFF, off

DIRECTED = {  # see test_directed and test_missing
    "seal before search",
    "generations in names",
    "no poll from before settling",
    "claims",
    "a beat is as old as its answer",
    "writes need the alias",
    "no catalogue beside pools of another",
    "a lease without members",
}


@pytest.mark.parametrize("name", CASES)
def test_race_with_its_rule_is_closed(name: str) -> None:
    case = CASES[name]
    for seed in range(case.seeds_on):
        assert not case.run(seed), f"seed {seed}"


@pytest.mark.parametrize("name", CASES)
def test_race_without_its_rule_is_found(name: str) -> None:
    case = CASES[name]
    with off(case.rule):
        assert any(_wrong(name, seed) for seed in range(case.seeds_off)), f"{case.seeds_off} seeds did not show it"


def test_rules_all_have_a_case() -> None:
    assert {case.rule for case in CASES.values()} | DIRECTED == set(OFF)


def _wrong(name: str, seed: int) -> bool:
    """A schedule without its rule may also come to no end, which counts as found."""
    try:
        return bool(CASES[name].run(seed))
    except AssertionError as error:
        return "no end after" in str(error)
