"""Whole bodies as they lie in a read: behind a head, and given behind one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esproxy.core import Action, Alone, Bindings, Kind, Op, Table

TABLE = Table([{"keys": {"i": 1}, "other": ["UNKNOWN", 0]}, {"kind": "INDEX"}], [])
STRIPPED = Alone(TABLE, 0, Bindings({Kind.INDEX: Action(Op.STRIP, b"acme.")}))
HEAD = b"HTTP/1.1 200 OK\r\nserver: s\r\n"
BODIES = st.sampled_from(
    [b"{}", b'{"i":"acme.logs"}', b'{"i":["acme.a","acme.b"],"x":1}', b'{"i":"zenith.logs"}', b"{", b"", b"5"]
)


@given(BODIES, st.binary(max_size=20), st.integers(-1, 40))
def test_body_behind_a_head_is_read_as_one_by_itself(body, before, most):
    alone = STRIPPED.rewritten(body)
    wanted = None if alone is None or len(alone) > most else alone
    assert STRIPPED.rewritten(before + body, len(before), None, most) == wanted
    told = None if wanted is None else HEAD + b"content-length: %d\r\n\r\n" % len(wanted) + wanted
    assert STRIPPED.rewritten(before + body, len(before), HEAD, most) == told


def test_body_without_a_change_is_the_very_same_object():
    body = b'{"x":"acme.logs"}'
    assert STRIPPED.rewritten(body) is body


@pytest.mark.parametrize("at", [-1, 3])
def test_place_outside_of_the_body_is_refused(at):
    with pytest.raises(ValueError, match="no such place"):
        STRIPPED.rewritten(b"{}", at)
