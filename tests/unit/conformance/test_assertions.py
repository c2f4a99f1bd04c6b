"""What the words of the suite mean: each with what holds and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.assertions import ASSERTIONS, pattern
from tests.conformance.values import Failed, Stash

ANSWER = {
    "took": 3,
    "rate": 0.1,
    "name": "a quick fox",
    "no": False,
    "yes": True,
    "zero": 0,
    "empty": "",
    "nil": None,
    "when": "2026-01-02T00:00:00+00:00",
    "hits": [{"_id": "1", "n": {"a": 1, "b": 2}}, {"_id": "2"}],
    "a.b": {"c": "dotted"},
    "nodes": {"x7": {"ok": True}},
}
HOLDS: list[tuple[str, Any]] = [
    ("match", {"took": 3}),
    ("match", {"took": 3.0}),
    ("match", {"rate": 0.10000000149}),
    ("match", {"nil": None}),
    ("match", {"gone": None}),
    ("match", {"hits.0.n": {"b": 2, "a": 1}}),
    ("match", {"a\\.b.c": "dotted"}),
    ("match", {"$body": ANSWER}),
    ("match", {"name": "/quick/"}),
    ("match", {"name": "/ ^ a \\s quick \\s  # the end\n fox $/"}),
    ("match", {"took": "/^3$/"}),
    ("match", {"hits.0._id": "$one"}),
    ("match", {"hits.${place}._id": "2"}),
    ("match", {"hits.0.n": {"a": "$number", "${letter}": 2}}),
    ("match", {"nodes.$node.ok": True}),
    ("match", {"nodes._arbitrary_key_": "x7"}),
    ("length", {"hits": 2}),
    ("length", {"hits.0.n": 2}),
    ("length", {"name": 11}),
    ("is_true", "yes"),
    ("is_true", "hits"),
    ("is_false", "no"),
    ("is_false", "zero"),
    ("is_false", "empty"),
    ("is_false", "gone"),
    ("is_false", "hits.7"),
    ("gt", {"took": 2}),
    ("gte", {"took": 3}),
    ("lt", {"rate": 1}),
    ("lte", {"name": "b"}),
    ("close_to", {"took": {"value": 3.05, "error": 0.1}}),
    ("contains", {"hits": {"_id": "2"}}),
    ("contains", {"hits": {"n": {"a": 1, "b": 2}}}),
    ("contains", {"name": "quick"}),
    ("contains", {"nodes": "x7"}),
    ("exists", "no"),
    ("not_exists", "gone"),
    ("is_after", {"when": "2026-01-01T23:59:59+00:00"}),
]
FAILS: list[tuple[str, Any]] = [
    ("match", {"took": 4}),
    ("match", {"took": "3"}),
    ("match", {"took": True}),
    ("match", {"yes": 1}),
    ("match", {"rate": 0.1001}),
    ("match", {"took": None}),
    ("match", {"gone": "x"}),
    ("match", {"hits.0.n": {"a": 1}}),
    ("match", {"hits": [{"_id": "1"}]}),
    ("match", {"a.b.c": "dotted"}),
    ("match", {"name": "/^quick/"}),
    ("match", {"name": "quick"}),
    ("match", {"nodes": "/x7/"}),
    ("match", {"hits.-1._id": "2"}),
    ("length", {"hits": 3}),
    ("length", {"took": 1}),
    ("length", {"gone": 0}),
    ("is_true", "zero"),
    ("is_true", "empty"),
    ("is_true", "nil"),
    ("is_true", "gone"),
    ("is_false", "yes"),
    ("is_false", "hits.0"),
    ("gt", {"took": 3}),
    ("gte", {"took": "3"}),
    ("lt", {"took": 3}),
    ("lte", {"gone": 3}),
    ("close_to", {"took": {"value": 3.2, "error": 0.1}}),
    ("close_to", {"name": {"value": 3, "error": 9}}),
    ("contains", {"hits": {"_id": "3"}}),
    ("contains", {"hits": {"n": {"a": 1}}}),
    ("contains", {"name": "slow"}),
    ("contains", {"took": 3}),
    ("exists", "nil"),
    ("not_exists", "zero"),
    ("is_after", {"when": "2026-01-02T00:00:00+00:00"}),
]


def check(word: str, argument: Any) -> None:
    stash = Stash(one="1", place=1, number=1, letter="b", node="x7")
    ASSERTIONS[word](ANSWER, argument, stash)


@pytest.mark.parametrize(("word", "argument"), HOLDS, ids=str)
def test_assertion_that_holds_passes(word: str, argument: Any) -> None:
    check(word, argument)


@pytest.mark.parametrize(("word", "argument"), FAILS, ids=str)
def test_assertion_that_does_not_hold_fails(word: str, argument: Any) -> None:
    with pytest.raises(Failed, match=word):
        check(word, argument)


def test_cases_cover_every_word_both_ways() -> None:
    assert {word for word, _ in HOLDS} == {word for word, _ in FAILS} == ASSERTIONS.keys()


@pytest.mark.parametrize(
    ("text", "found", "absent"),
    [
        (r"/ [ab] [ \[ ] \s x /", "b[ x", "b x"),  # white space in a class means nothing, an escaped bracket itself
        (r"/[a[b]+/", "[", "c"),  # a bracket within a class is itself
        (r"/^\p{Alpha}\p{Digit}$/", "x7", "77"),
    ],
)
def test_pattern_of_java_is_read_as_java_does(text: str, found: str, absent: str) -> None:
    compiled = pattern(text, comments=True)
    assert compiled is not None
    assert compiled.search(found) and not compiled.search(absent)


def test_pattern_of_an_error_keeps_its_blanks() -> None:
    compiled = pattern("/no such index/", comments=False)
    assert compiled is not None
    assert compiled.search("no such index") and not compiled.search("nosuchindex")


@pytest.mark.parametrize("text", ["plain", "/", "/half"])
def test_pattern_without_its_slashes_is_a_text(text: str) -> None:
    assert pattern(text, comments=True) is None
