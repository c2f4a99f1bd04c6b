"""Documents that are stored without a question: which they are, and that all others are read as if nothing had been tried."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esproxy.core import Action, Bindings, BulkPass, Documents, Kind, Op, Status, Table

KNOWN: dict[str, Any] = {"a": None, "bc": None, "o": {"x": None, "p": {"y": None}}}
DOCUMENT_STATES = [{"keys": {"a": 1, "bc": 1, "o": 2}}, {}, {"keys": {"x": 1, "p": 3}}, {"keys": {"y": 1}}]
BULK = Table(
    [{"keys": {"index": 1, "delete": 1}}, {"keys": {"_index": 2, "_id": 3}}, {"kind": "INDEX"}, {"kind": "ID"}, {"kind": "DOC"}],
    [],
)
ASKED = Bindings({Kind.DOC: Action(Op.STOP)})
NAMES = st.sampled_from(["a", "bc", "o", "x", "p", "y", "new", ""])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('a~\\"é', max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
DOCUMENTS = st.dictionaries(NAMES, VALUES, max_size=4)


def brings_nothing(known: dict[str, Any] | None, value: Any) -> bool:
    if isinstance(value, list):
        return all(brings_nothing(known, inside) for inside in value)
    if not isinstance(value, dict):
        return True
    return known is not None and all(name in known and brings_nothing(known[name], inside) for name, inside in value.items())


@given(DOCUMENTS | VALUES, st.sampled_from([None, 1]))
def test_documents_are_those_whose_members_are_known(document, indent):
    raw = json.dumps(document, indent=indent).encode()
    known = isinstance(document, dict) and brings_nothing(KNOWN, document)
    assert Documents(Table(DOCUMENT_STATES, [])).have(raw) is known
    assert Documents().have(raw) is isinstance(document, dict)
    assert Documents(odd=(b"~", b"\\u00")).have(raw) is (isinstance(document, dict) and not (b"~" in raw or b"\\u00" in raw))


def bulk(documents: Documents | None, body: bytes, at: int) -> tuple[bytes, list[bytes], Any]:
    """The output, the documents that were asked about, and how it ended."""
    asked: list[bytes] = []

    def resolver(kind: Kind, raw: bytes) -> bytes:
        asked.append(raw)
        return b'{"asked":%b}' % raw

    run = BulkPass(BULK, 0, 4, 4, ASKED, resolver, target=lambda raw: (ASKED, 4, documents))
    out = run.feed(body[:at], False) + run.feed(body[at:], True)
    return out, asked, (run.status, run.records, [(number, str(error)) for number, error in run.broken])


RAW = DOCUMENTS.map(lambda one: json.dumps(one).encode()) | st.sampled_from([b"{", b"5"])
LINES = st.lists(st.tuples(st.sampled_from([b"l", b"m"]), RAW), min_size=1, max_size=4)


@given(LINES, st.integers(0, 200), st.sampled_from(["known", "nested", "any"]))
def test_bulk_with_documents_asks_about_the_others_alone(lines, at, kind):
    body = b"".join(b'{"index":{"_index":"%b","_id":"1"}}\n%b\n' % line for line in lines)
    documents = {
        "known": Documents(Table(DOCUMENT_STATES, []), odd=(b"~",)),
        "nested": Documents(front=b'{"n7":', odd=(b"~", b"\\")),
        "any": Documents(),
    }[kind]
    out, asked, end = bulk(documents, body, at)
    _, every, general = bulk(None, body, at)
    assert asked == [raw for raw in every if not documents.have(raw)] and end == general
    wanted = []
    for _, raw in lines:
        try:
            is_json = bool(json.loads(raw)) or True
        except ValueError:
            is_json = False
        own = b'{"n7":%b}' % raw if kind == "nested" else raw
        wanted.append((own if documents.have(raw) else b'{"asked":%b}' % raw) if is_json else b"{")
    assert out.split(b"\n")[1::2] == wanted


def test_documents_of_each_target_are_its_own():
    found = {b'"l"': Documents(front=b'{"n1":'), b'"m"': Documents(Table(DOCUMENT_STATES, [])), b'"n"': None}
    run = BulkPass(BULK, 0, 4, 4, ASKED, lambda kind, raw: b"7", target=lambda raw: (ASKED, 4, found[raw]))
    body = b"".join(b'{"index":{"_index":"%b"}}\n{"a":1}\n' % name for name in (b"l", b"m", b"n", b"l", b"m"))
    out = run.feed(body, True).split(b"\n")[1::2]
    assert out == [b'{"n1":{"a":1}}', b'{"a":1}', b"7", b'{"n1":{"a":1}}', b'{"a":1}'] and run.status is Status.OK


def test_what_a_target_answers_is_checked():
    run = BulkPass(BULK, 0, 4, 4, ASKED, target=lambda raw: (ASKED, 4, b"{}"))
    with pytest.raises(TypeError, match="a target is"):
        run.feed(b'{"delete":{"_index":"l"}}\n', True)


def test_front_goes_with_any_document_only():
    with pytest.raises(ValueError, match="around any"):
        Documents(Table(DOCUMENT_STATES, []), b'{"n7":')
