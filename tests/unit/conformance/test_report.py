"""The lists in the repository, and what a run comes to beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance import report
from tests.conformance.player import Outcome
from tests.conformance.report import comparison, judge, listed, misses, read_misses
from tests.oracle.placements import PLACEMENTS

MISSES = sorted(path.stem for path in (Path(report.__file__).parent / "misses").glob("*.txt"))


def outcomes(**status: str) -> dict[str, Outcome]:
    return {f"f/{name}": Outcome(f"f/{name}", one, "", 0.0, 1) for name, one in status.items()}


@pytest.mark.parametrize(("family", "count"), [("opensearch", 1273), ("elasticsearch", 958)])
def test_list_of_tests_is_the_fixed_one(family: str, count: int) -> None:
    assert len(listed(family)) == len(set(listed(family))) == count


@pytest.mark.parametrize("name", MISSES)
def test_misses_are_listed_tests_with_reasons(name: str) -> None:
    family, _, placement = name.partition("-")
    assert placement in PLACEMENTS
    known = misses(family, placement)
    assert known.keys() <= set(listed(family))
    assert all(len(reason) > 20 for reason in known.values())


def test_misses_have_the_reason_above_them() -> None:
    text = ["# one reason,", "# in two lines", "a :: x", "", "a :: y", "", "# another", "b :: z"]
    assert read_misses(text) == {
        "a :: x": "one reason, in two lines",
        "a :: y": "one reason, in two lines",
        "b :: z": "another",
    }


@pytest.mark.parametrize("text", [["a :: x"], ["# reason", "a :: x", "# other", "a :: x"]])
def test_misses_without_a_reason_or_twice_are_refused(text: list[str]) -> None:
    with pytest.raises(ValueError, match="a :: x"):
        read_misses(text)


def test_verdict_names_new_misses_and_healed_ones() -> None:
    bare = outcomes(good="pass", bad="pass", known="pass", healed="pass", never="fail", unasked="pass")
    here = outcomes(good="pass", bad="fail", known="fail", healed="pass", never="fail", unasked="fail")
    names = [key for key in bare if key != "f/unasked"]
    verdict = judge(names, bare, here, {"f/known": "why", "f/healed": "why"})
    assert [one.key for one in verdict.failed] == ["f/bad"]
    assert verdict.healed == ["f/healed"]
    assert [one.key for one in verdict.not_directly] == ["f/never"]
    assert (verdict.passed, verdict.asked, verdict.good) == (2, 5, False)


def test_verdict_is_good_when_all_is_as_listed() -> None:
    both = outcomes(good="pass")
    assert judge(both, both, both, {}).good
    assert not judge(both, both, outcomes(good="skip"), {}).good


def test_comparison_tells_folders_that_differ() -> None:
    told = list(comparison(["f/a", "f/b"], outcomes(a="pass", b="pass"), outcomes(a="pass", b="fail")))
    assert told[0].split() == ["f", "2", "directly", "1", "through", "the", "proxy"]
    assert told[-1] == "together 2 directly, 1 through the proxy, of 2"
