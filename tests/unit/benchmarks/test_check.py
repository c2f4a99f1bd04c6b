"""What bench-check calls dearer, and whose stored results it takes."""

from __future__ import annotations

import argparse

import check
import core
import pytest
from cases import Wrong

MACHINE = {"cpu": "a cpu", "cores": 2, "system": "Linux", "python": "3.11.7"}
RESULTS = {
    "core": {"machine": MACHINE, "rows": {"simple": {"shared": {"to_orjson": 0.2}}}},
    "gateway": {"machine": MACHINE, "rows": {"get by id": {"shared": {"to_orjson": [1.5, 1.0, 2.0]}}}},
    "memory": {"machine": MACHINE, "figures": {"10,000 tenants": 12.0}},
    "scaling-nodes-dedicated": {"machine": MACHINE, "points": [{"at": 10, "ratio": [1.1, 1.0, 1.2]}], "layout": "dedicated"},
    "wire-shared": {"machine": MACHINE, "rows": {"get by id": {"direct": {}, "esproxy": {"cpu_to_nginx": [3.0, 2.0, 4.0]}}}},
}
RATIOS = {
    "core: simple, shared, × orjson": 0.2,
    "gateway: get by id, shared, × orjson": 1.5,
    "scaling-nodes-dedicated: 10, × the first point": 1.1,
    "wire-shared: get by id, esproxy, × nginx": 3.0,
}


def test_ratios_are_medians_by_benchmark_row_and_yardstick():
    assert check.ratios(RESULTS) == RATIOS


@pytest.mark.parametrize(("now", "dearer"), [(1.0, False), (1.1, False), (1.101, True), (0.5, False)])
def test_dearer_is_more_than_a_tenth_above(now, dearer):
    (one,) = check.compare({"a": 1.0}, {"a": now})
    assert one.is_dearer is dearer


def test_compare_takes_what_is_in_both_the_dearest_first():
    found = check.compare({"a": 1.0, "b": 1.0, "gone": 1.0}, {"a": 1.05, "b": 2.0, "new": 1.0})
    assert [(one.name, one.times) for one in found] == [("b", 2.0), ("a", 1.05)]


def test_better_is_the_smaller_of_two_measurements():
    assert check.better({"a": 2.0, "b": 1.0}, {"a": 1.5, "b": 3.0, "c": 4.0}) == {"a": 1.5, "b": 1.0, "c": 4.0}


def test_dearer_benchmarks_are_named_once_in_order():
    now = {name: value * (1 if name.startswith("gateway") else 2) for name, value in RATIOS.items()}
    assert check.dearer_benchmarks(check.compare(RATIOS, now)) == ["core", "wire", "scaling"]


def test_stored_results_are_those_of_the_same_machine():
    other = {"core": {"machine": MACHINE | {"cpu": "another"}}}
    assert check.stored_for(MACHINE | {"python": "3.11.9"}, {"a": other, "b": RESULTS}) is RESULTS
    for changed in ({"python": "3.12.1"}, {"cores": 4}, {"cpu": "a third"}):
        with pytest.raises(check.CannotCompare, match="no results are stored"):
            check.stored_for(MACHINE | changed, {"a": other, "b": RESULTS})


def test_commands_measure_the_layouts_that_are_stored():
    args = argparse.Namespace(upstream="http://node", quick=True, all=True)
    assert check.commands("core", RESULTS, args) == [["core.py", "--quick"]]
    (wire,) = check.commands("wire", RESULTS, args)
    assert wire[:3] == ["wire.py", "--layout", "shared"] and wire[-2:] == ["--upstream", "http://node"] and "--all" in wire
    assert check.commands("scaling", RESULTS, args)[0][:3] == ["scaling.py", "--layout", "dedicated"]


def row(name: str, least: float, correct: bool = True) -> dict:
    return {"name": name, "stats": {"min": least}, "extra_info": {"correct": correct, "bytes": 94, "wide": "avx2"}}


def test_core_divides_by_the_yardsticks_of_the_same_input():
    found = {"benchmarks": [
        row("test_rewrite[very complex-per-tenant]", 3e-6), row("test_yardstick_copy[very complex]", 1e-7),
        row("test_yardstick_orjson[very complex]", 6e-6), row("test_yardstick_orjson[simple]", 1e-6),
    ]}  # fmt: skip
    wanted = {"ns": 3000.0, "to_orjson": 0.5, "to_copy": 30.0, "bytes": 94}
    assert core.figures([found]) == {"very complex": {"per-tenant": wanted}}


def test_core_refuses_a_row_that_computed_something_wrong():
    with pytest.raises(Wrong, match="computed something wrong"):
        core.figures([{"benchmarks": [row("test_rewrite[simple-shared]", 1e-6, correct=False)]}])


def test_core_takes_the_least_of_all_rounds_on_either_side():
    rounds = [
        {"benchmarks": [
            row("test_rewrite[simple-shared]", each), row("test_yardstick_copy[simple]", 1e-7),
            row("test_yardstick_orjson[simple]", other),
        ]}
        for each, other in ((3e-6, 4e-6), (1e-6, 9e-6), (2e-6, 5e-6))
    ]  # fmt: skip
    assert core.figures(rounds)["simple"]["shared"]["to_orjson"] == 0.25
