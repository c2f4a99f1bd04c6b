"""What a failure says."""

from __future__ import annotations

import pytest

from esproxy.core import MALFORMED, BodyError, Pass, Status, rewrite
from tests.core.tables import BINDINGS, ROOTS, TABLE


@pytest.mark.parametrize("status", Status)
def test_every_status_has_words_and_an_offset(status):
    error = BodyError(status, 17, b"a_key")
    where = " [a_key], at byte 17" if status is Status.UNKNOWN_KEY else ", at byte 17 under the key [a_key]"
    assert error.words == status.words + where
    assert error.malformed == (status in MALFORMED)


def test_reason_of_a_refusal_comes_first():
    with pytest.raises(BodyError) as caught:
        rewrite(TABLE, ROOTS["search"], BINDINGS["copy"], b'{"secret":1}')
    assert str(caught.value) == "this key is not for tenants, at byte 10 under the key [secret]"


def test_reason_of_a_binding_comes_first():
    with pytest.raises(BodyError, match=r"^no cursors, at byte 7"):
        rewrite(TABLE, ROOTS["search"], BINDINGS["shared"], b'{"pit":1}')


def test_key_that_is_no_text_is_shown_all_the_same():
    error = BodyError(Status.ENCODING, 1, b"\xff")
    assert "�" in str(error)


@pytest.mark.parametrize("size", [1, 64, 65, 1000])
def test_key_outlives_the_body_and_a_long_one_is_cut(size):
    one = Pass(TABLE, ROOTS["search"], BINDINGS["copy"])
    one.feed(bytes(bytearray(b'{"' + b"k" * size + b'":1}')), True)
    assert one.key == b"k" * min(size, 64)


def test_key_at_which_a_resolver_raised_outlives_the_body():
    def refuse(kind, token):
        raise LookupError

    one = Pass(TABLE, ROOTS["search"], BINDINGS["stops"], refuse)
    with pytest.raises(LookupError):
        one.feed(bytes(bytearray(b'{"query":{},"size":1,"index":"a"}')), True)
    assert (one.status, one.key, one.offset) == (Status.RAISED, b"query", 9)


def test_key_of_a_pass_that_is_well_is_none():
    one = Pass(TABLE, ROOTS["search"], BINDINGS["copy"])
    one.feed(b'{"ext":{"a":1}}', True)
    assert one.key == b""


def test_key_of_an_array_is_known_again_behind_an_object_in_it():
    with pytest.raises(BodyError) as caught:
        rewrite(TABLE, ROOTS["search"], BINDINGS["copy"], b'{"knn":[{"k":1},{]}')
    assert caught.value.key == b"knn"


def test_of_takes_the_failure_from_a_pass():
    one = Pass(TABLE, ROOTS["search"], BINDINGS["copy"])
    with pytest.raises(AssertionError, match="no error"):
        BodyError.of(one)
    one.feed(b"[", True)
    assert BodyError.of(one).status is Status.TRUNCATED
