"""Several texts looked for at once are found where they are found one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esproxy.core import Texts

WORDS = st.binary(min_size=1, max_size=6) | st.text('"_ab{\\x', min_size=1, max_size=5).map(str.encode)
BODIES = st.binary(max_size=40) | st.text('"_ab{\\x', max_size=60).map(str.encode)


@given(st.lists(WORDS, min_size=1, max_size=8), BODIES)
def test_texts_of_any_body_are_found_as_one_by_one(words, body):
    assert Texts(words).are_in(body) is any(word in body for word in words)


@given(st.lists(WORDS, min_size=1, max_size=8), BODIES, BODIES, st.data())
def test_text_that_was_put_into_a_body_is_found(words, front, back, data):
    assert Texts(words).are_in(front + data.draw(st.sampled_from(words)) + back)


@pytest.mark.parametrize("body", [b"", b"xplain", b"explai", b"expl", b"exp lain"])
def test_body_that_ends_in_a_text_does_not_hold_it(body):
    assert not Texts([b"explain"]).are_in(body)


@pytest.mark.parametrize("texts", [[], [b"a", b""], [b"%d" % number for number in range(65)]])
def test_texts_that_cannot_be_looked_for_are_refused(texts):
    with pytest.raises(ValueError, match="there have to be"):
        Texts(texts)


def test_texts_tell_what_they_are():
    assert repr(Texts([b"a", b"b", b"a"])) == "Texts((b'a', b'b'))"
