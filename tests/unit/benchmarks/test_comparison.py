"""What is made of locust's samples, on samples whose figures are known."""

from __future__ import annotations

from typing import Any

import comparison
import pytest


def slices(added: list[float], *, good: bool = True, cpu: float = 0.5) -> list[dict[str, Any]]:
    """A pair for each: direct takes 1 to 100 ms, proxied so much more."""
    return [
        {"target": name, "pair": number, "seconds": 1.0, "cpu": [cpu, 0.0], "samples": [
            ["get" if n % 2 else "search", n + 1 + (more if name == "proxied" else 0), good] for n in range(100)
        ]}
        for number, more in enumerate(added) for name in ("direct", "proxied")
    ]  # fmt: skip


@pytest.mark.parametrize(("part", "wanted"), [(0.5, 50), (0.99, 99), (1.0, 100), (0.0, 1), (0.001, 1)])
def test_percentile_of_a_hundred(part, wanted):
    assert comparison.percentile(range(100, 0, -1), part) == wanted


def test_percentile_of_one():
    assert comparison.percentile([7.0], 0.99) == 7.0


def test_added_is_the_median_over_pairs_with_least_and_most():
    found = comparison.compared(slices([2.0, 10.0, 3.0]), 2, ["search", "get", "bulk"])
    assert found["rows"]["all"]["p50_added_ms"] == [3.0, 2.0, 10.0]
    assert found["rows"]["all"]["p99_direct_ms"] == [99.0, 99.0, 99.0]
    assert found["rows"]["get"]["p50_direct_ms"] == [50.0, 50.0, 50.0]
    assert "bulk" not in found["rows"]
    assert (found["pairs"], found["requests"], found["errors"]) == (3, 600, 0)
    assert found["share"]["direct"] == [0.25, 0.25, 0.25]


def test_misses_names_what_failed_was_busy_or_slow():
    def missed(made, real_node=True):
        return comparison.misses(comparison.compared(made, 2, ["get"]), real_node=real_node)

    assert missed(slices([1.0, 2.0])) == []
    assert missed(slices([3.0, 4.0]))[0].startswith("3.50 ms are added to the median request, more than 2.50")
    assert missed(slices([1.0]), real_node=False)[0].startswith("1.00 ms are added to the median request, more than 0.30")
    assert missed(slices([1.0], good=False)) == ["200 of 200 requests failed"]
    assert [miss.partition(":")[0] for miss in missed(slices([1.0], cpu=0.7))] == ["direct", "proxied"]


def test_unsteady_when_pairs_differ_by_more_than_the_bar():
    def unsteady(added):
        return comparison.is_unsteady(comparison.compared(slices(added), 2, []), real_node=True)

    assert unsteady([0.0, 3.0]) and not unsteady([1.0, 2.0])


def test_verdict_is_none_where_pairs_differ_too_much():
    assert comparison.verdict({"missed": [], "unsteady": False}) == "every bar was met"
    assert comparison.verdict({"missed": [], "unsteady": True}).startswith("no verdict")
    assert comparison.verdict({"missed": ["a"], "unsteady": True}).startswith("MISSED: a\nno verdict")


@pytest.mark.parametrize(("direct", "bar"), [(1.0, 0.3), (6.0, 0.3), (10.0, 0.5)])
def test_allowed_is_a_part_of_direct_or_a_third_of_a_millisecond(direct, bar):
    assert comparison.allowed(direct, real_node=True) == pytest.approx(bar)
    assert comparison.allowed(direct, real_node=False) == comparison.ADDED_MS


def test_table_has_a_row_for_each_kind():
    lines = comparison.table(comparison.compared(slices([0.5, 0.75]), 2, ["get"])).splitlines()
    assert lines[2].startswith("| all | 50.00 | 50.62 | +0.62 (+0.50 to +0.75) | 99.00 |")
    assert [line.split("|")[1].strip() for line in lines] == ["requests", "---", "all", "get"]


def test_median_rate_is_that_of_the_dearer_target_and_has_a_limit():
    assert comparison.median_rate(slices([1.0]), 2, 0.24, 400.0) == pytest.approx(0.48 / 0.005)
    assert comparison.median_rate(slices([1.0]), 2, 0.24, 50.0) == 50.0
