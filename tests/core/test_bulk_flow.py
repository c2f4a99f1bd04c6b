"""Bulks whose documents leave as they come: the same bytes, the same failures, nothing held of a large record."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esproxy.core import BulkPass, Status
from tests.core.tables import BINDINGS, ROOTS, TABLE
from tests.core.test_bulk import bulks

ACTION, UPDATE, DOC = ROOTS["action"], ROOTS["update"], ROOTS["doc"]
INDEX = b'{"index":{"_index":"logs","_id":"1"}}\n'


def make(name: str = "dedicated", doc: int | None = None, **options):
    return BulkPass(TABLE, ACTION, UPDATE, doc, BINDINGS[name], lambda kind, raw: raw, **options)


def fed(one: BulkPass, body: bytes, cut: int) -> list[bytes]:
    """The whole sub-bulks that the output is: cut wherever it ends between two records."""
    parts, open_part = [], b""
    for at in range(0, max(len(body), 1), cut):
        open_part += one.feed(body[at : at + cut], at + cut >= len(body))
        if one.status is not Status.OK:
            break
        if one.between:
            parts.append(open_part)
            open_part = b""
    assert one.status is not Status.OK or open_part == b""
    return parts


@given(body=bulks, cut=st.integers(1, 40))
@settings(deadline=None)
def test_flowing_bulk_gives_the_same_as_a_held_one(body, cut):
    held, flowing = make(), make(flow=1)
    whole = held.feed(body, True)
    parts = fed(flowing, body, cut)
    assert (flowing.status, flowing.offset, flowing.line) == (held.status, held.offset, held.line)
    if held.status is Status.OK:
        assert b"".join(parts) == whole and (flowing.records, flowing.ops) == (held.records, held.ops)
        for part in parts:
            assert make("copy").feed(part, True) == part or not part  # each is a bulk of its own


def test_flowing_document_leaves_at_once():
    one = make(flow=1)
    assert one.feed(INDEX[:10], False) == b"" and one.between
    first = one.feed(INDEX[10:] + b'{"a":"', False)
    assert first.endswith(b'{"a":"') and not one.between and one.records == 0
    assert one.feed(b"x" * 1000, False) == b"x" * 1000
    assert one.feed(b'"}\n' + INDEX[:5], False) == b'"}\n' and one.between and one.records == 1


@pytest.mark.parametrize("rest", [b'{"a":1', b"", b'{"a":1}\n'])
def test_flowing_document_without_a_line_feed_at_the_end(rest):
    one = make(flow=1)
    one.feed(INDEX + b'{"b":', False)
    one.feed(rest, True)
    assert one.status is (Status.OK if rest.endswith(b"\n") else Status.NO_NEWLINE)


@pytest.mark.parametrize("cut", [1, 10, 64, 1000])
def test_flowing_record_that_is_too_large_fails(cut):
    one = make(flow=1, max_record=200)
    fed(one, INDEX + b'{"a":"' + b"x" * 100 + b'"}\n' + INDEX + b'{"a":"' + b"x" * 300 + b'"}\n', cut)
    assert one.status is Status.TOO_LARGE and one.records <= 1


@pytest.mark.parametrize(("name", "doc"), [("shared", DOC), ("copy", 0)])
def test_parsed_documents_do_not_flow(name, doc):
    one = make(name, doc, flow=1)
    assert one.feed(b'{"index":{"_index":"logs","_id":"1"}}\n{"a":', False) == b"" and one.between


def test_small_records_leave_whole_all_the_same():
    one = make(flow=1000)
    assert one.feed(INDEX + b'{"a":"', False) == b"" and one.between
    assert one.feed(b"x" * 900, False) == b"" and one.between
    assert len(one.feed(b"x" * 900, False)) > 1800 and not one.between
    assert one.feed(b'"}\n' + INDEX + b'{"a":"' + b"x" * 500, False) == b'"}\n' and one.between


def test_update_bodies_do_not_flow():
    one = make(flow=1)
    assert one.feed(b'{"update":{"_index":"logs","_id":"1"}}\n{"doc":{"a":', False) == b"" and one.between
