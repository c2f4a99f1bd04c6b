"""The official suite on a real node, directly and as one tenant among eleven: with ``--conformance``, as `tox -e conformance`."""

from __future__ import annotations

import pytest

from esproxy.catalogue.sharing import lines
from esproxy.embedded import Engine
from tests.conformance import calls, fetch, reading, runs
from tests.conformance.player import Outcome
from tests.conformance.report import comparison, judge, listed, misses
from tests.processes import report

pytestmark = pytest.mark.conformance


@pytest.fixture(scope="session")
def definitions(engine: Engine) -> calls.Definitions:
    return calls.load(fetch.definitions(engine.family))


@pytest.fixture(scope="session")
def suite(engine: Engine) -> list[reading.Test]:
    names = set(listed(engine.family))
    return [one for one in reading.load(fetch.suite()) if one.key in names]


@pytest.fixture(scope="session")
def bare(node_url: str, suite: list[reading.Test], definitions: calls.Definitions) -> dict[str, Outcome]:
    """How the listed tests end on the bare node."""
    return runs.direct(node_url, suite, definitions, print).by_key()


def test_suite_holds_every_listed_test(engine: Engine, suite: list[reading.Test]) -> None:
    assert {one.key for one in suite} == set(listed(engine.family))


def test_listed_tests_pass_directly(bare: dict[str, Outcome]) -> None:
    assert [str(one) for one in bare.values() if one.status != "pass"] == []


def test_tenant_passes_all_but_known_misses_and_touches_nobody(
    request: pytest.FixtureRequest,
    engine: Engine,
    node_url: str,
    placement: str,
    suite: list[reading.Test],
    definitions: calls.Definitions,
    bare: dict[str, Outcome],
) -> None:
    run, made = runs.proxied(node_url, placement, suite, definitions, print)
    here, names = run.by_key(), listed(engine.family)
    verdict = judge(names, bare, here, misses(engine.family, placement))
    told = [f"{verdict.passed} of {verdict.asked} ({verdict.share:.2%})", *comparison(names, bare, here), *run.left]
    report(request.config, "conformance", *(f"{engine.title}, {placement}: {line}" for line in told))
    report(request.config, "sharing", *(f"{engine.title}, the suite in {placement}: {line}" for line in lines(made.sharing())))
    assert run.leaks == []
    assert run.changes == []
    assert [str(one) for one in verdict.failed] == []
    assert verdict.healed == [], "these pass: take them off the list of misses"
