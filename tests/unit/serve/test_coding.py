"""Content codings over every cut of the input."""

import gzip
import zlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esproxy.errors import Refusal
from esproxy.heads import Head
from esproxy.serve.coding import STEP, Deflater, Inflater, accepts_gzip, uncoded

PLAIN = b'{"index":{}}\n{"a":1}\n' * 3
JOINED = gzip.compress(PLAIN) + gzip.compress(b"") + gzip.compress(PLAIN)


def inflated(parts, growth=500):
    inflater = Inflater(growth)
    out = []
    for part in parts:
        inflater.feed(part)
        while taken := inflater.take():
            out.append(taken)
    inflater.check_end()
    return b"".join(out)


@pytest.mark.parametrize("cut", range(len(JOINED) + 1))
def test_gzip_inflates_the_same_over_every_cut(cut):
    assert inflated([JOINED[:cut], JOINED[cut:]]) == PLAIN * 2


def test_gzip_inflates_byte_by_byte():
    assert inflated([JOINED[i : i + 1] for i in range(len(JOINED))]) == PLAIN * 2


@pytest.mark.parametrize("end", range(1, len(gzip.compress(PLAIN))))
def test_gzip_that_ends_too_early_is_refused(end):
    with pytest.raises(Refusal) as caught:
        inflated([gzip.compress(PLAIN)[:end]])
    assert caught.value.reason == "the gzip body ends too early" and caught.value.status == 400


@pytest.mark.parametrize(
    "body", [b"plain", zlib.compress(PLAIN), gzip.compress(PLAIN, mtime=0) + b"x" * 20, b"\x1f\x8b\x08\xff" + b"\0" * 9]
)
def test_what_is_no_gzip_is_refused(body):
    with pytest.raises(Refusal) as caught:
        inflated([body])
    assert caught.value.status == 400


def test_broken_checksum_is_refused():
    body = bytearray(gzip.compress(PLAIN))
    body[-5] ^= 1
    with pytest.raises(Refusal, match="not valid gzip"):
        inflated([bytes(body)])


def test_empty_body_is_empty():
    assert inflated([b""]) == b"" and Inflater(10).whole


def test_bomb_is_refused_before_it_has_grown():
    inflater = Inflater(100)
    inflater.feed(gzip.compress(b" " * (64 << 20), 9))
    taken = 0
    with pytest.raises(Refusal) as caught:
        while out := inflater.take():
            taken += len(out)
    assert caught.value.status == 413 and caught.value.type == "content_too_long_exception" and taken < 16 << 20


def test_body_that_grows_within_measure_is_not_refused():
    plain = b" " * (900 << 10)
    assert inflated([gzip.compress(plain, 9)], growth=10) == plain


def test_step_bounds_what_is_handed_out():
    inflater = Inflater(1100)
    inflater.feed(gzip.compress(b" " * (4 << 20)))
    assert len(inflater.take()) == STEP and not inflater.whole


@given(st.binary(max_size=2000), st.lists(st.integers(0, 2000), max_size=5))
def test_deflated_parts_inflate_to_the_whole(plain, cuts):
    deflater = Deflater()
    bounds = [0, *sorted(min(cut, len(plain)) for cut in cuts), len(plain)]
    parts = [plain[a:b] for a, b in pairwise(bounds)]
    out = b"".join(deflater.feed(part, number == len(parts) - 1) for number, part in enumerate(parts))
    assert gzip.decompress(out) == plain


def head(*codings):
    return Head("POST", b"/", [(b"content-length", b"9"), *((b"content-encoding", coding) for coding in codings), (b"x", b"y")])


@pytest.mark.parametrize("coding", [b"gzip", b"x-gzip", b" GZIP "])
def test_head_of_a_gzip_body_reads_as_if_it_were_plain(coding):
    request = head(coding)
    assert uncoded(request, 10) is not None and request.headers == [(b"x", b"y")]


@pytest.mark.parametrize("coding", [b"identity", b""])
def test_identity_is_no_coding(coding):
    request = head(coding)
    assert uncoded(request, 10) is None and request.headers == [(b"content-length", b"9"), (b"x", b"y")]


@pytest.mark.parametrize("codings", [[b"br"], [b"deflate"], [b"gzip, gzip"], [b"gzip", b"gzip"], [b"identity", b"gzip"]])
def test_other_codings_are_refused(codings):
    with pytest.raises(Refusal) as caught:
        uncoded(head(*codings), 10)
    assert caught.value.status == 415


@pytest.mark.parametrize(
    ("value", "accepted"),
    [
        (b"gzip", True), (b"GZIP", True), (b"x-gzip", True), (b"deflate, gzip", True), (b"gzip;q=0.5", True), (b"gzip; q=1.0",
        True), (b"*", True), (b"br, *;q=0.1", True), (b"gzip;q=0", False), (b"gzip; q=0.0", False), (b"gzip;q=0.000, *",
        False), (b"*;q=0", False), (b"br", False), (b"identity", False), (b"", False), (b"*;q=0, gzip", True), (b"gzipped",
        False), (b"gzip;q=0.01", True),
    ],
)  # fmt: skip
def test_gzip_is_accepted_as_the_client_says(value, accepted):
    assert accepts_gzip([(b"accept-encoding", value)]) is accepted


def test_gzip_is_not_accepted_without_a_word():
    assert accepts_gzip([]) is False
