"""Bulk bodies against the oracle, in every cut; record boundaries, targets, limits. Single cases: tests/corpus/core/bulk.txt."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from esproxy.core import Action, Bindings, BulkPass, Kind, Op, Pass, Status, Table
from tests.core import bodies, reference
from tests.core.reference_bulk import bulk
from tests.core.run import check_cuts, echo, quoted, run
from tests.core.tables import ACTIONS, BINDINGS, ROOTS, STATES, TABLE

ACTION, UPDATE, DOC = ROOTS["action"], ROOTS["update"], ROOTS["doc"]


def make(name: str, doc: int | None = None, **options):
    return lambda resolver: BulkPass(TABLE, ACTION, UPDATE, doc, BINDINGS[name], resolver, **options)


def one_line(bodies_: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    return bodies_.map(lambda body: body.replace(b"\n", b" "))


@st.composite
def records(draw):
    verb = draw(st.sampled_from(["index", "index", "create", "update", "delete"]))
    meta = draw(bodies.objects(STATES, STATES[ROOTS["meta"]], 1, bodies.scalars))
    line = b'{"%s":%s}' % (verb.encode(), meta.replace(b"\n", b" "))
    end = draw(st.sampled_from([b"\n", b"\n", b"\r\n", b" \n", b"\n\n", b"\n \r\n"]))
    if verb == "delete":
        return line + end
    source = draw(one_line(bodies.fitting(STATES, UPDATE)) if verb == "update" else one_line(bodies.mutated(bodies.anything())))
    return line + b"\n" + source + end


bulks = st.lists(records(), max_size=4).map(b"".join)


def agree(body, name, doc, resolver):
    ours = run(make(name, doc), [body], resolver)
    theirs = bulk(body, STATES, ACTION, UPDATE, doc, ACTIONS[name], resolver)
    assert (ours.status, ours.offset) == (theirs.status, theirs.offset)
    assert ours.asked == theirs.asked
    counted, line, ops, broken = ours.extra
    assert line == theirs.line
    if ours.status is Status.OK:
        assert counted == len(theirs.records)
        assert ops == {verb: theirs.records.count(verb) for verb in ("index", "create", "update", "delete")}
        assert [n for n, _ in broken] == theirs.broken
        lines = ours.output.split(b"\n")[:-1]
        assert len(lines) == len(theirs.lines)
        for line_, expected in zip(lines, theirs.lines, strict=True):
            assert line_ == expected if type(expected) is bytes else reference.same(reference.tree(line_), expected)


CHOICES = st.sampled_from(
    [("dedicated", None), ("shared", None), ("shared", DOC), ("per-tenant", DOC), ("stops", DOC), ("copy", 0)]
)


@settings(max_examples=300, deadline=None)
@given(bulks, CHOICES, st.sampled_from([None, echo, quoted]))
def test_bulk_means_what_the_oracle_says(body, choice, resolver):
    agree(body, *choice, resolver)


@settings(max_examples=300, deadline=None)
@given(bodies.mutated(bulks), CHOICES)
def test_mutated_bulk_gets_the_oracles_verdict(body, choice):
    agree(body, *choice, None)


@settings(max_examples=60, deadline=None)
@given(bodies.mutated(bulks), CHOICES, st.sampled_from([None, quoted]))
def test_bulk_in_any_cuts_ends_the_same(body, choice, resolver):
    check_cuts(make(*choice), body, resolver)


@settings(max_examples=60, deadline=None)
@given(bulks, CHOICES, st.integers(1, 60))
def test_every_output_ends_between_records(body, choice, size):
    one = make(*choice)(None)
    left = 0
    for at in range(0, len(body), size):
        out = one.feed(body[at : at + size], False)
        if one.status is not Status.OK:
            return
        again = make("copy")(None)
        again.feed(out or b"\n", True)
        assert again.status is Status.OK
        left += again.records
        assert left == one.records


def test_bulk_without_an_edit_is_returned_itself():
    body = b'{"index":{"_id":"1"}}\n{"a":1}\n' * 10
    assert make("dedicated")(None).feed(body, True) is body


def test_record_that_is_held_is_searched_once():
    """A document of 2 MB in pieces of 5 bytes."""
    body = b'{"index":{"_index":"a"}}\n{"a":"' + b"x" * 2_000_000 + b'"}\n'
    one = make("dedicated")(None)
    out = b"".join([one.feed(body[i : i + 5], i + 5 >= len(body)) for i in range(0, len(body), 5)])
    assert out == body.replace(b'"_index":"', b'"_index":"zqp.')


def test_resolver_is_asked_once_however_often_the_record_is_cut():
    asked = []

    def ask(kind, token):
        asked.append(token)
        return token

    body = b'{"index":{"_index":"A"}}\n{"a":1}\n'
    one = BulkPass(TABLE, ACTION, UPDATE, None, BINDINGS["dedicated"], ask)
    b"".join([one.feed(body[i : i + 1], False) for i in range(len(body))])
    assert asked == [b'"A"']


def test_what_a_resolver_raises_leaves_feed():
    def refuse(kind, token):
        raise LookupError

    one = BulkPass(TABLE, ACTION, UPDATE, DOC, BINDINGS["stops"], refuse)
    with pytest.raises(LookupError):
        one.feed(b'{"index":{"_index":"A"}}\n{}\n', True)
    assert one.status is Status.RAISED


@pytest.mark.parametrize("root", ["search", "meta"])
def test_state_that_is_no_action_is_refused(root):
    with pytest.raises(ValueError, match="no bulk action"):
        BulkPass(TABLE, ROOTS[root], UPDATE, None, BINDINGS["copy"])


@pytest.mark.parametrize(("update", "doc"), [(-1, None), (10**6, None), (0, -1), (0, 10**6)])
def test_state_that_is_none_is_refused(update, doc):
    with pytest.raises(ValueError, match="no state"):
        BulkPass(TABLE, ACTION, update, doc, BINDINGS["copy"])


# --- targets --------------------------------------------------------------------------------------------------

POOL_ACTIONS = {
    Kind.INDEX: Action(Op.PREFIX, b"pool."),
    Kind.ID: Action(Op.PREFIX, b"t.1."),
    Kind.DOC: Action(Op.WRAP, b'{"n1":', b"}"),
}
POOL = Bindings(POOL_ACTIONS)


def to_pool(index):
    return (POOL, DOC) if index in (b'"pooled"', None) else (BINDINGS["dedicated"], None)


def test_target_decides_each_record():
    body = (
        b'{"index":{"_id":"1","_index":"pooled"}}\n{"a":1}\n{"index":{"_index":"own"}}\n{"a":1,}\n{"create":{"_id":2}}\n{"a":2}\n'
        b'{"delete":{"_index":"pooled","_id":"3"}}\n'
    )
    told = check_cuts(make("copy", target=to_pool), body)
    assert told.output == (
        b'{"index":{"_id":"t.1.1","_index":"pool.pooled"}}\n{"n1":{"a":1}}\n{"index":{"_index":"zqp.own"}}\n{"a":1,}\n'
        b'{"create":{"_id":"t.1.2"}}\n{"n1":{"a":2}}\n{"delete":{"_index":"pool.pooled","_id":"t.1.3"}}\n'
    )


def test_target_is_asked_when_the_token_changes():
    asked = []

    def target(index):
        asked.append(index)
        return to_pool(index)

    names = [b'"a"', b'"a"', b'"b"', b'"a"', b'"\\u0061"', b"5"]
    body = b"".join(b'{"delete":{"_index":%s}}\n' % name for name in names) + b'{"delete":{}}\n{"delete":{"_index":null}}\n'
    assert BulkPass(TABLE, ACTION, UPDATE, None, BINDINGS["copy"], echo, target=target).feed(body, True) != b""
    assert asked == [b'"a"', b'"b"', b'"a"', b'"\\u0061"', b"5", None]


PLAIN = [
    {"keys": {"index": 1, "delete": 1}},
    {"keys": {"_index": 2, "_id": 3, "v": 4}},
    {"kind": "INDEX"},
    {"kind": "ID"},
    {},
    {"kind": "DOC"},
]
ALIKE = st.sampled_from(
    [
        b'{"delete":{"_index":"a","_id":"1"}}', b'{"delete":{"_index":"a","_id":"1"}', b'{"delete":{"_index":"ab"}}',
        b'{"delete":{"_index":"a","_index":"b"}}', b'{"delete":{"_index":"a","_index":"a"}}', b'{"delete":{"_index":["a","b"]}}',
        b'{"delete":{"_index":["a"]}}', b'{"delete":[{"_index":"a"}]}', b'{"delete":[{"_index":"a"},{"_index":"a"}]}',
        b'{"delete":{"_index":"a"},"index":{"_index":"b"}}', b'{"delete":{"_index":"a"},"index":{}}',
        b'{"delete":{"_index":"a","x":1}}', b'{"index":{"_index":"a"}}',
        b'{"delete":{"_index":"a"}} x', b'{"delete":{"_index":"a","v":[{"_index":"b"}]}}', b'{"delete":{"_id":"1","_index":"a"}}',
        b'{"delete":{"_id":"1"}}', b'{"delete":{"_index":"b","v":{}}}', b'{"delete":{"_index":"a","_id":"\xff"}}',
    ]
)  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(st.lists(ALIKE, min_size=1, max_size=4), st.booleans(), st.integers(0, 80))
def test_line_that_opens_as_the_last_one_is_read_as_by_itself(lines, named, at):
    """Targets that are asked for each line, by the oracle, or where the token may be another."""
    states = PLAIN if named else [PLAIN[0], {"keys": {"_id": 3, "v": 4}}, *PLAIN[2:]]
    other = {**POOL_ACTIONS, Kind.INDEX: Action(Op.PREFIX, b"other.")}
    table, bindings = Table(states, []), {b'"a"': Bindings(POOL_ACTIONS)}
    body = b"".join(line + (b"\n{}\n" if line.startswith(b'{"index') else b"\n") for line in lines)

    def make_plain(resolver):
        aimed = lambda index: (bindings.get(index, Bindings(other)), 5)  # noqa: E731
        return BulkPass(table, 0, 5, 5, Bindings({}), resolver, target=aimed)

    ours = run(make_plain, [body[:at], body[at:]])
    theirs = bulk(body, states, 0, 5, 5, {}, None, lambda index: (POOL_ACTIONS if index == b'"a"' else other, 5))
    assert (ours.status, ours.offset) == (theirs.status, theirs.offset)
    if ours.status is Status.OK:
        for line, expected in zip(ours.output.split(b"\n")[:-1], theirs.lines, strict=True):
            assert reference.same(reference.tree(line), expected)


def test_target_that_misses_is_counted_and_the_pass_goes_on():
    one = BulkPass(TABLE, ACTION, UPDATE, None, BINDINGS["copy"], target=lambda index: None)
    assert one.feed(b'{"delete":{"_index":"a"}}\n{"delete":{"_index":"b"}}\n', True) == b""
    assert (one.misses, one.records, one.status) == (2, 2, Status.OK)


def test_action_with_two_indices_is_none():
    one = BulkPass(TABLE, ACTION, UPDATE, None, BINDINGS["copy"], target=to_pool)
    one.feed(b'{"delete":{"_index":["a","b"]}}\n', True)
    assert (one.status, one.offset) == (Status.ACTION, 25)


@pytest.mark.parametrize(
    ("answer", "error"), [(5, TypeError), ((5, None), TypeError), ((POOL, 10**6), ValueError), ((POOL,), ValueError)]
)
def test_target_that_answers_wrongly_is_a_mistake(answer, error):
    one = BulkPass(TABLE, ACTION, UPDATE, None, BINDINGS["copy"], target=lambda index: answer)
    with pytest.raises(error):
        one.feed(b'{"delete":{"_index":"a"}}\n', True)
    assert one.status is Status.RAISED


def test_bindings_of_a_target_live_until_their_edits_are_written():
    def target(index):
        return Bindings({Kind.INDEX: Action(Op.PREFIX, b"".join([b"p", index[1:-1], b"."]))}), None

    body = b"".join(b'{"delete":{"_index":"i%d"}}\n' % n for n in range(300))
    one = BulkPass(TABLE, ACTION, UPDATE, None, BINDINGS["copy"], target=target)
    out = b"".join([one.feed(body[i : i + 999], i + 999 >= len(body)) for i in range(0, len(body), 999)])
    assert out == b"".join(b'{"delete":{"_index":"pi%d.i%d"}}\n' % (n, n) for n in range(300))


@settings(max_examples=150, deadline=None)
@given(bulks)
@example(b'{"update":{"_id":"\\ud83d","_index":"\\ud83d"}}\n{}\n')
def test_bulk_with_targets_means_what_the_oracle_says(body):
    def actions(index):
        return (POOL_ACTIONS, DOC) if to_pool(index)[0] is POOL else (ACTIONS["dedicated"], None)

    ours = run(make("copy", target=to_pool), [body], echo)
    theirs = bulk(body, STATES, ACTION, UPDATE, None, {}, echo, target=actions)
    assert (ours.status, ours.offset) == (theirs.status, theirs.offset)
    if ours.status is Status.OK:
        assert len(ours.output.split(b"\n")) == len(theirs.lines) + 1
        for line, expected in zip(ours.output.split(b"\n")[:-1], theirs.lines, strict=True):
            assert line == expected if type(expected) is bytes else reference.same(reference.tree(line), expected)


def test_pass_and_bulk_agree_on_a_document():
    one = Pass(TABLE, DOC, BINDINGS["per-tenant"])
    document = one.feed(b'{"a":[1,{}]}', True)
    out = make("per-tenant", DOC)(None).feed(b'{"index":{}}\n{"a":[1,{}]}\n', True)
    assert out == b'{"index":{}}\n' + document + b"\n"
