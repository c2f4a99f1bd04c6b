"""Places in a script that was edited, as places in the client's: against the edits themselves, and whole errors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esproxy.languages import Edits
from esproxy.languages.painless import edited
from esproxy.languages.script_places import MARK, put_right

THROWS = "def a = 1; throw new Exception(ctx._index)"


def _sent(source: str) -> Edits:
    return edited(source, lambda name: name, "acme.")


def _running(edits: Edits, statement: str, fault: str) -> dict[str, Any]:
    """As a node tells an error at ``fault`` in the script that was sent; its words are the client's already."""
    sent = edits.apply()
    whole = next(line for line in (sent[at:] for at in range(len(sent))) if line.startswith(fault))
    offset = len(sent) - len(whole)
    start = sent.index("throw")
    return {
        "reason": "runtime error",
        "script_stack": [statement, " " * (offset - start) + MARK],
        "script": edits.text,
        "position": {"offset": offset, "start": start, "end": len(sent)},
    }


SPANS = st.tuples(st.integers(0, 12), st.integers(0, 2), st.text("xy", max_size=3))


@given(st.text("ab", max_size=12), st.lists(SPANS, max_size=4))
def test_origin_of_what_was_not_edited_is_its_own_place(text: str, wanted: list[tuple[int, int, str]]) -> None:
    edits, at = Edits(text), 0
    for start, size, new in sorted(wanted):
        if at <= start and start + size <= len(text):
            edits.put(start, start + size, new)
            at = start + size
    written = edits.apply()
    for place, letter in enumerate(written):
        if letter in "ab":
            assert text[edits.origin(place)] == letter
    kept = [edits.origin(place) for place, letter in enumerate(written) if letter in "ab"]
    assert kept == sorted(set(kept))
    assert edits.origin(len(written)) == len(text)


def test_statement_at_fault_is_told_where_it_is_in_the_clients_script() -> None:
    edits = _sent(THROWS)
    error = _running(edits, "throw new Exception(ctx._index)", "throw")
    assert error["position"]["start"] > THROWS.index("throw")
    assert put_right({"error": {"caused_by": error}}, [edits], {})
    assert error["position"] == {"offset": 11, "start": 11, "end": len(THROWS)}
    assert error["script_stack"] == ["throw new Exception(ctx._index)", MARK]


def test_mark_is_moved_by_what_was_put_in_before_it() -> None:
    source = "throw new Exception(ctx._index + a.b)"
    edits = _sent(source)
    error = _running(edits, source, "a.b")
    assert put_right({"error": error}, [edits], {})
    assert error["script_stack"][1] == " " * source.index("a.b") + MARK
    assert error["position"] == {"offset": source.index("a.b"), "start": 0, "end": len(source)}


def test_compile_error_shows_what_is_near_in_the_clients_script() -> None:
    source = "def name = ctx._index; def other = 7 + ; return name"
    edits = _sent(source)
    offset = edits.apply().index("; return")
    error = {
        "reason": "compile error",
        "script_stack": ["... something", " " * 29 + MARK],
        "script": source,
        "position": {"offset": offset, "start": offset - 25, "end": len(edits.apply())},
    }
    own = source.index("; return")
    assert put_right({"error": {"root_cause": [error]}}, [edits], {})
    assert error["position"] == {"offset": own, "start": own - 25, "end": len(source)}
    assert error["script_stack"] == ["... " + source[own - 25 :], " " * 29 + MARK]


def test_script_that_was_run_by_name_is_known_by_it() -> None:
    edits = _sent(THROWS)
    error = {**_running(edits, "throw new Exception(ctx._index)", "throw"), "script": "mine"}
    assert put_right({"error": error}, [edits], {THROWS: "mine"})
    assert error["position"]["offset"] == 11


@pytest.mark.parametrize("of", ["another script", None, "zenith.secret"])
def test_error_of_another_script_stays(of: str | None) -> None:
    edits = _sent(THROWS)
    error = {**_running(edits, "throw new Exception(ctx._index)", "throw"), "script": of}
    before = repr(error)
    assert not put_right({"error": error}, [edits], {})
    assert repr(error) == before


def test_statement_that_does_not_stand_there_stays() -> None:
    edits = _sent(THROWS)
    error = _running(edits, "throw new Exception(1)", "throw")
    before = repr(error)
    assert not put_right({"error": error}, [edits], {})
    assert repr(error) == before


def test_document_that_looks_like_an_error_is_a_document() -> None:
    edits = _sent(THROWS)
    hit = {"_source": {"error": _running(edits, "throw new Exception(ctx._index)", "throw")}}
    assert not put_right({"_shards": {"failures": []}, "hits": {"hits": [hit]}}, [edits], {})
