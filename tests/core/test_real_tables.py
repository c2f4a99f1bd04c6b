"""The tables that are shipped: they load, and bodies made from each of their endpoints mean what the oracle says."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esproxy.core import Action, Bindings, BulkPass, Kind, Op, Status, Table
from tests.core import bodies, reference
from tests.core.run import check_cuts, echo, passes, quoted, run
from tests.core.tables import ABSENT, ACTIONS, BEFORE, BEHIND, PREFIX

ENGINES = ("elasticsearch", "opensearch")
FILES = {engine: json.loads(files("esproxy.api").joinpath(f"tables/{engine}.json").read_text()) for engine in ENGINES}
TABLES = {engine: Table(content["states"], content["reasons"]) for engine, content in FILES.items()}
EVERYTHING = {  # each operation at some kind
    **ACTIONS["per-tenant"],
    Kind.ALIAS: Action(Op.PREFIX, PREFIX),
    Kind.ROUTING: Action(Op.DROP, absent=b'"zqr"'),
    Kind.QUERY: Action(Op.WRAP, BEFORE, BEHIND, ABSENT),
    Kind.SETTINGS: Action(Op.STOP),
    Kind.KQL: Action(Op.STOP),
}
CHOICES = {"dedicated": ACTIONS["dedicated"], "restore": ACTIONS["restore"], "everything": EVERYTHING}
BINDINGS = {name: Bindings(actions) for name, actions in CHOICES.items()}


def roots(engine: str) -> list[int]:
    content = FILES[engine]
    found = set(content["roots"].values())
    for endpoint in content["endpoints"].values():
        found |= {endpoint["request"], endpoint["response"]}
    return sorted(found - {None})


@st.composite
def cases(draw, broken: bool):
    engine = draw(st.sampled_from(ENGINES))
    state = draw(st.sampled_from(roots(engine)))
    body = bodies.fitting(FILES[engine]["states"], state)
    return (
        engine,
        state,
        draw(st.sampled_from(sorted(CHOICES))),
        draw(bodies.mutated(body) if broken else body),
        draw(st.sampled_from([None, echo, quoted])),
    )


def agree(engine, state, name, body, resolver):
    ours = run(passes(TABLES[engine], state, BINDINGS[name]), [body], resolver)
    theirs = reference.meaning(body, FILES[engine]["states"], state, CHOICES[name], resolver)
    assert (ours.status, ours.offset, ours.asked) == (theirs.status, theirs.offset, theirs.asked)
    if ours.status is Status.OK:
        assert (ours.marks, ours.unknown) == (theirs.marks, theirs.unknown)
        assert reference.same(reference.tree(ours.output), theirs.tree), ours.output


@settings(max_examples=300, deadline=None)
@given(cases(broken=False))
def test_fitting_body_means_what_the_oracle_says(case):
    agree(*case)


@settings(max_examples=300, deadline=None)
@given(cases(broken=True))
def test_mutated_body_gets_the_oracles_verdict(case):
    agree(*case)


@settings(max_examples=40, deadline=None)
@given(cases(broken=True))
def test_body_in_any_cuts_ends_the_same(case):
    engine, state, name, body, resolver = case
    check_cuts(passes(TABLES[engine], state, BINDINGS[name]), body, resolver)


@pytest.mark.parametrize("engine", ENGINES)
def test_bulk_states_fit_the_splitter(engine):
    content = FILES[engine]["roots"]
    one = BulkPass(TABLES[engine], content["bulk.action"], content["bulk.update"], None, BINDINGS["dedicated"])
    out = one.feed(b'{"index":{"_index":"a","_id":"1"}}\n{}\n{"update":{"_id":"1"}}\n{"doc":{}}\n{"delete":{"_id":"1"}}\n', True)
    assert out.startswith(b'{"index":{"_index":"zqp.a"')
    assert one.ops == {"index": 1, "create": 0, "update": 1, "delete": 1}


@pytest.mark.parametrize("engine", ENGINES)
def test_every_kind_and_mark_of_the_tables_is_known(engine):
    """A Table refuses what it does not know; this says that the shipped ones hold what the tests lean on."""
    states = FILES[engine]["states"]
    assert states[0] == {"kind": "OPAQUE"}
    assert {"QUERY", "DOC", "INDEX", "EXPR", "FIELD"} <= {state.get("kind", "COPY") for state in states}
