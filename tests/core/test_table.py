"""Tables and bindings: what is written wrongly is refused at start, with the place at fault."""

from __future__ import annotations

import pytest

from esproxy import _table, core
from esproxy.core import Action, Bindings, Kind, Mark, Op, Pass, Status, Table, rewrite
from tests.core.tables import BINDINGS, ROOTS, TABLE


def test_numbers_of_the_compiled_core_are_those_of_the_vocabulary():
    numbers = dict(_table.NUMBERS)
    assert numbers.pop("op") == {op.name: op for op in Op}
    assert numbers.pop("mark") == {"META_FIELD": Mark.META_FIELD}
    assert numbers == {name: Kind[name] for name in numbers}
    assert max(Kind) < 31, "the core's action table has 32 places, the last one its own"


def test_statuses_of_the_compiled_core_are_those_of_python():
    from esproxy import _memory

    assert _memory.STATUSES == {status.name: status for status in Status}


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"keyz": {}}, "unknown entries"),
        ({"kind": "NOPE"}, "NOPE"),
        ({"keys": {"a": 9}}, "no state 9"),
        ({"keys": {"a": -1}}, "no state -1"),
        ({"keys": {"a": True}}, "no state True"),
        ({"other": ["FIELD", 7]}, "no state 7"),
        ({"other": ["NOPE", 0]}, "NOPE"),
        ({"items": 7}, "no state 7"),
        ({"kind": "REFUSE"}, "go together"),
        ({"reason": 0}, "go together"),
        ({"kind": "REFUSE", "reason": 1}, "go together"),
        ({"tags": {"a": 0}}, "TAGGED"),
        ({"tags": {"a": 0}, "other": ["FIELD", 0]}, "TAGGED"),
        ({"ensure": ["a"]}, "ensured keys"),
        ({"unless": ["a"], "keys": {"b": 0}}, "ensured keys"),
        ({"mark": "NOPE"}, "NOPE"),
    ],
)
def test_table_with_a_mistake_is_refused(row, words):
    with pytest.raises(ValueError, match="state 1 of the rule table") as caught:
        Table([{"kind": "OPAQUE"}, row], ["a reason"])
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "action", "words"),
    [
        (Kind.REFUSE, Action(Op.COPY), "cannot be bound"),
        (Kind.INDEX, Action(Op.PREFIX, b'"'), "as it is"),
        (Kind.INDEX, Action(Op.PREFIX, b"\\"), "as it is"),
        (Kind.INDEX, Action(Op.PREFIX, "é".encode()), "as it is"),
        (Kind.INDEX, Action(Op.STRIP, b"\n"), "as it is"),
        (Kind.INDEX, Action(Op.WRAP, b"[", b"]"), "for objects"),
        (Kind.DOC, Action(Op.PREFIX, b"a"), "for names"),
        (Kind.QUERY, Action(Op.WRAP, b'{"a":', b""), "not JSON"),
        (Kind.QUERY, Action(Op.COPY, absent=b"{"), "not JSON"),
        (Kind.INDEX, Action(Op.PREFIX, "a"), "in bytes"),
    ],
)
def test_bindings_with_a_mistake_are_refused(kind, action, words):
    with pytest.raises((ValueError, TypeError), match=words):
        Bindings({kind: action})


def test_state_with_many_keys_finds_each_of_them():
    """More than fit the bits of a frame, of all lengths."""
    keys = {"k" * (n % 40) + str(n): 0 for n in range(500)}
    table = Table([{"kind": "OPAQUE"}, {"keys": keys}], [])
    body = b"{" + b",".join(b'"%s":1' % name.encode() for name in keys) + b"}"
    assert rewrite(table, 1, Bindings({}), body) is body
    for name in ("k", "k" * 39, "1", "kkk2"):
        with pytest.raises(core.BodyError, match="unknown field"):
            rewrite(table, 1, Bindings({}), b'{"%s":1}' % name.encode())
    twice = body[:-1] + b',"%s":1}' % list(keys)[400].encode()
    with pytest.raises(core.BodyError, match="twice"):
        rewrite(table, 1, Bindings({}), twice)


def test_table_and_bindings_outlive_their_makers():
    """A pass keeps what it points to."""

    def make():
        table = Table([{"kind": "OPAQUE"}, {"keys": {"index": 2}}, {"kind": "INDEX"}], [])
        return Pass(table, 1, Bindings({Kind.INDEX: Action(Op.PREFIX, b"".join([b"ac", b"me."]))}))

    one = make()
    garbage = [bytes(n) for n in range(1000)]
    assert one.feed(b'{"index":"a"}', True) == b'{"index":"acme.a"}'
    assert len(garbage) == 1000


@pytest.mark.parametrize("state", [-1, len(ROOTS), 10**6])
def test_state_that_is_none_is_refused(state):
    with pytest.raises(ValueError, match="no state"):
        Pass(TABLE, state, BINDINGS["copy"])
    with pytest.raises(ValueError, match="no state"):
        rewrite(TABLE, state, BINDINGS["copy"], b"{}")


@pytest.mark.parametrize("depth", [0, -1, 1001])
def test_depth_out_of_bounds_is_refused(depth):
    with pytest.raises(ValueError, match="max_depth"):
        Pass(TABLE, 0, BINDINGS["copy"], max_depth=depth)
