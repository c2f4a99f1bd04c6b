"""What a tenant sees through the proxy equals what it would see on a cluster of its own; and how good that test is."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from esproxy.api.deviations import DEVIATIONS, LIMITS, page
from esproxy.catalogue.pools import REASONS
from esproxy.catalogue.sharing import lines
from tests.integration.proxy import SCENARIOS, Direct, SharedCluster
from tests.oracle.compare import compare_runs
from tests.oracle.coverage import coverage, leave_out, measure
from tests.oracle.known import KNOWN, known, rows_in
from tests.oracle.placements import layouts_in
from tests.oracle.run import Unplayable, as_expected
from tests.oracle.scenario import Call, Engine, Scenario
from tests.processes import report

# Measured shares of the rule tables' transitions that the scenarios exercise in calls answered 2xx, of those that the nodes at
# hand can answer so; the others are in tests/oracle/unknown_<engine>.json, each with its reason. A floor is never lowered.
FLOORS = {
    "es": {"url": 0.95, "parameter": 0.95, "request": 0.95},
    "os": {"url": 0.95, "parameter": 0.95, "request": 0.95},
}
NO_PROCESSOR = "Invalid processor type"
YOUNG_FLOORS = {"url": 0.5, "parameter": 0.1, "request": 0.5}

SHARED = 0.8  # of the indices that the scenarios make in pools, and that nothing keeps from sharing
MADE = 40  # of them in each layout, at least, when all scenarios are played; otherwise the same part of it


def runs_here(direct: Direct, scenario: str) -> None:
    if scenario not in direct.runs:
        pytest.skip(f"{scenario} is for other engines")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_bare_node_answers_as_the_scenario_expects(direct_runs: Direct, scenario: str) -> None:
    runs_here(direct_runs, scenario)
    wrong = [
        f"{played.call}: expected {played.call.expected(direct_runs.engine)}, got {played.raw.status} {played.raw.body[:300]!r}"
        for played in direct_runs.runs[scenario].played
        if not as_expected(played, direct_runs.engine)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_tenant_sees_what_a_bare_node_shows(cluster: SharedCluster, scenario: str) -> None:
    runs_here(cluster.direct, scenario)
    engine, layouts = cluster.direct.engine, {cluster.placement, *layouts_in(cluster.placement)}
    try:
        run = cluster.run(scenario)
    except Unplayable:
        if known(scenario, "", engine, layouts) is None:  # all of it is known to differ, also what it goes on with
            raise
        return
    differences = compare_runs(cluster.direct.runs[scenario], run, cluster.placement)
    unknown = [found for found in differences if known(scenario, found.call.line(), engine, layouts) is None]
    assert not unknown, f"{len(unknown)} differences\n" + "\n".join(map(str, unknown[:20]))
    here = rows_in(scenario, engine, {cluster.placement})  # in a mixture, another row's index may lie elsewhere
    mended = here - {known(scenario, found.call.line(), engine, layouts) for found in differences}
    assert not mended, "no longer different, take them off the list: " + ", ".join(str(KNOWN[i]) for i in mended)


def test_indices_of_the_scenarios_are_pooled(
    cluster: SharedCluster, all_scenarios: Direct, request: pytest.FixtureRequest, engine_name: str
) -> None:
    """Of those that nothing keeps from sharing, nearly all; what keeps the others is reported at the end of the session."""
    pools = layouts_in(cluster.placement) - {"dedicated"}
    if not pools:
        pytest.skip("nothing is pooled here")
    for scenario in cluster.scenarios:
        with suppress(Unplayable):  # what it made until then, it made
            cluster.run(scenario)
    found, least = cluster.made.sharing(), MADE * len(cluster.scenarios) // len(all_scenarios.runs)
    shared = (f"{engine_name}, the scenarios in {cluster.placement}: {line}" for line in lines(found))
    report(request.config, "sharing", *shared)
    assert found.layouts.keys() == pools
    for layout in found.layouts.values():
        assert layout.logical >= least and layout.share >= SHARED
        assert layout.alone.keys() <= REASONS.keys()


def for_later(engine: Engine) -> list[Call]:
    """Calls that the newest version of this node's kind is sent, and this one not."""
    newest = Engine(engine.kind, (999,), engine.has)

    def sent(to: Engine, scenario: Scenario, call: Call) -> bool:
        return scenario.runs_on(to) and to.is_one_of(call.engines)

    return [
        call
        for scenario in SCENARIOS.values()
        for call in scenario.calls
        if sent(newest, scenario, call) and not sent(engine, scenario, call)
    ]


def test_scenarios_cover_the_tables(all_scenarios: Direct) -> None:
    """The share of what can be exercised, and that nothing is called impossible that is possible."""
    found = coverage(all_scenarios.engine.kind)
    measure(found, list(all_scenarios.runs.values()))
    leave_out(found, for_later(all_scenarios.engine))
    for what, floor in FLOORS[all_scenarios.engine.kind].items():
        seen, possible = found.possible(what)
        print(f"{what}: {seen} of {possible} that can be, of {found.share(what)[1]} in all")
        assert seen / possible >= floor, f"{what}: {seen} of {possible}, the floor is {floor}; missing: " + "; ".join(
            found.describe(one) for one in found.rest() if one[0] == what
        )
    assert all(found.unknown.values())
    young = coverage(all_scenarios.engine.kind, young=True)
    measure(young, list(all_scenarios.runs.values()))
    for what, floor in YOUNG_FLOORS.items():
        seen, known = young.share(what)
        assert seen / known >= floor, f"{what} of young endpoints: {seen} of {known}, the floor is {floor}"
    built_out = NO_PROCESSOR if "processors" in all_scenarios.engine.has else "nothing"  # of the smaller build alone
    shown = sorted(
        what for what in map(found.describe, found.seen) if not found.unknown.get(what, built_out).startswith(built_out)
    )
    if all_scenarios.engine.is_one_of(["es<9"]):  # which still can what the newest, of which the lists are, no longer does
        return
    assert not shown, f"possible after all, take them off the list: {shown}"


def test_deviations_are_few_and_named() -> None:
    for layout, limit in LIMITS.items():
        names = [row.name for row in DEVIATIONS if layout in row.layouts]
        assert len(names) <= limit
        assert len(set(names)) == len(names)
    known = {row.name for row in DEVIATIONS}
    used = {name for scenario in SCENARIOS.values() for call in scenario.calls for name in (call.differs or "").split()}
    assert used <= known
    assert {row.name for row in DEVIATIONS if not row.everywhere} <= used, "a row that no call shows is no row"


def test_deviations_page_is_current() -> None:
    file = Path(__file__).parents[2] / "docs" / "deviations.md"
    assert file.read_text() == page(), "run: python -m esproxy.api.deviations > docs/deviations.md"
    made = subprocess.run([sys.executable, "-m", "esproxy.api.deviations"], capture_output=True, text=True, check=True)
    assert made.stdout == page()
