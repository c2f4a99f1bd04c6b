"""The compiled core against the oracle, over bodies that fit a table and bodies that are broken."""

from __future__ import annotations

import json

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from esproxy.core import Action, Bindings, BodyError, Kind, Op, Pass, Status, rewrite
from tests.core import bodies, reference
from tests.core.run import check_cuts, echo, miss, passes, quoted, run
from tests.core.tables import ABSENT, ACTIONS, BEFORE, BEHIND, BINDINGS, PREFIX, ROOTS, STATES, TABLE

REQUESTS = ("copy", "dedicated", "shared", "per-tenant", "stops", "drops")
PLACES = [
    *[(root, name) for root in ("search", "meta", "update") for name in REQUESTS],
    *[("answer", name) for name in ("copy", "restore", "verify", "stops", "drops", "per-tenant")],
]
places = st.sampled_from(PLACES)
resolvers = st.sampled_from([None, echo, quoted, miss])
ADDED = [b'"query":' + ABSENT, b'"filter":' + ABSENT]
INSERTED = [BEFORE, BEHIND, *(b"," + added for added in ADDED), *ADDED, ABSENT, PREFIX]
NAMED = (Kind.INDEX, Kind.EXPR, Kind.ID, Kind.FIELD)
FORTH = Bindings(dict.fromkeys(NAMED, Action(Op.PREFIX, PREFIX)))
BACK = Bindings(dict.fromkeys(NAMED, Action(Op.STRIP, PREFIX)))


@st.composite
def cases(draw, broken: bool):
    root, name = draw(places)
    fitting = bodies.fitting(STATES, ROOTS[root])
    return ROOTS[root], name, draw(bodies.mutated(fitting) if broken else fitting), draw(resolvers)


def agree(state, name, body, resolver, max_depth=100):
    """The compiled core and the oracle say the same of a body. Returns both."""
    ours = run(passes(TABLE, state, BINDINGS[name], max_depth=max_depth), [body], resolver)
    theirs = reference.meaning(body, STATES, state, ACTIONS[name], resolver, max_depth)
    assert (ours.status, ours.offset) == (theirs.status, theirs.offset)
    assert ours.asked == theirs.asked
    if ours.status is Status.OK:
        assert (ours.marks, ours.unknown, ours.misses) == (theirs.marks, theirs.unknown, theirs.misses)
        if not ours.misses:
            assert reference.same(reference.tree(ours.output), theirs.tree), ours.output
    return ours, theirs


@settings(max_examples=600, deadline=None)
@given(cases(broken=False))
def test_fitting_body_means_what_the_oracle_says(case):
    agree(*case)


@settings(max_examples=1500, deadline=None)
@given(cases(broken=True))
def test_mutated_body_gets_the_oracles_verdict(case):
    agree(*case)


@settings(max_examples=150, deadline=None)
@given(cases(broken=True))
def test_body_in_any_cuts_ends_the_same(case):
    state, name, body, resolver = case
    check_cuts(passes(TABLE, state, BINDINGS[name]), body, resolver)


@settings(max_examples=200, deadline=None)
@given(cases(broken=True), st.integers(1, 6))
def test_depth_is_bounded_where_the_oracle_says(case, max_depth):
    agree(*case, max_depth=max_depth)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(["search", "answer", "update"]), st.data())
def test_bytes_outside_of_insertions_are_unchanged(root, data):
    """What the bindings insert occurs in no body: taken out of the output it leaves the input, white space included."""
    body = data.draw(bodies.fitting(STATES, ROOTS[root], leaves=bodies.strings).filter(lambda body: b"zq" not in body))
    try:
        out = rewrite(TABLE, ROOTS[root], BINDINGS["per-tenant"], body, echo)
    except BodyError:
        return
    for marker in INSERTED:
        out = out.replace(marker, b"")
    assert out == body


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(["search", "answer", "meta"]), st.data())
def test_rewriting_and_restoring_is_identity(root, data):
    body = data.draw(bodies.fitting(STATES, ROOTS[root], leaves=bodies.strings))
    try:
        there = rewrite(TABLE, ROOTS[root], FORTH, body, lambda kind, token: b'"' + PREFIX + token[1:])
    except BodyError:
        return
    assert rewrite(TABLE, ROOTS[root], BACK, there) == body


@settings(max_examples=200, deadline=None)
@given(places.filter(lambda place: place[1] == "copy"), st.data())
def test_body_without_an_edit_is_returned_itself(place, data):
    body = data.draw(bodies.fitting(STATES, ROOTS[place[0]]))
    one = Pass(TABLE, ROOTS[place[0]], BINDINGS["copy"])
    out = one.feed(body, True)
    if one.status is Status.OK:
        assert out is body
        assert rewrite(TABLE, ROOTS[place[0]], BINDINGS["copy"], body) is body
    else:
        assert out == b""


@settings(max_examples=300, deadline=None)
@given(bodies.mutated(bodies.anything()))
def test_oracle_accepts_what_two_other_parsers_accept(body):
    """The oracle's own grammar, held against orjson and json: it may not drift with the code it judges."""
    try:
        value = reference.tree(body)
        accepted = True
    except reference.Failed:
        accepted = False
    try:
        text = body.decode()
        other = json.loads(text, parse_constant=_no_constant)
        other_accepts = True
    except ValueError:
        other_accepts = False
    assert accepted == other_accepts
    if accepted and b"\\u" not in body:
        assert plain(value) == other
        try:
            orjson.loads(body)
        except orjson.JSONDecodeError as error:
            assert "number" in str(error)  # 1E+400 is grammar, but no float


def plain(value):
    if isinstance(value, reference.Object):
        return {key: plain(inside) for key, inside in value}
    return [plain(inside) for inside in value] if isinstance(value, list) else json.loads(value)


def _no_constant(word):
    raise ValueError(word)
