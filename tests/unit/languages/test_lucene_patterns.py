"""Patterns of fields in query strings, written out; texts that nobody can read."""

from __future__ import annotations

import fnmatch

import pytest

from esproxy.languages import LanguageError
from esproxy.languages.lucene_patterns import MOST, may_name_fields, names, widen

FIELDS = ("title", "tags", "n")


def matching(pattern: str) -> list[str]:
    return [field for field in FIELDS if fnmatch.fnmatchcase(field, pattern)]


@pytest.mark.parametrize(
    ("text", "wide"),
    [
        ("t\\*:x", "(title:x OR tags:x)"),
        ("a +t\\*:(b c)^2 d", "a +(title:(b c)^2 OR tags:(b c)^2) d"),
        ("t\\*:[1 TO 2]", "(title:[1 TO 2] OR tags:[1 TO 2])"),
        ("t\\*:x~1^2", "(title:x~1^2 OR tags:x~1^2)"),
        ("ti\\*:x", "title:x"),
        ("s\\*:x", "esproxy\\~none:x"),
        ("*:x", "(title:x OR tags:x OR n:x)"),
        ("*:*", "*:*"),
        ("n:(t\\*:x)", "n:((title:x OR tags:x))"),
        ("title:x*", "title:x*"),
        ("foo*", "foo*"),
    ],
)
def test_clause_on_a_pattern_is_one_over_its_fields(text: str, wide: str) -> None:
    assert widen(text, matching) == wide


def test_too_many_patterns_are_refused() -> None:
    with pytest.raises(LanguageError):
        widen("*:x " * (MOST + 1), matching)


@pytest.mark.parametrize(
    ("text", "found"),
    [("a:x OR _exists_:b", {"a", "b"}), ("x y", set()), ("(a:x", set()), ("a.b:[1 TO 2] c:(d e:f)", {"a.b", "c", "e"})],
)
def test_names_in_a_text(text: str, found: set[str]) -> None:
    assert names(text) == found


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ('(title:"open', False), ("s*:x", False), ("(((", False), ("secret:(", True), ("*:(", True), ("_exists_:(", True),
        ("a\\:b(", True), ("x ^2secret:(", True), ("2n:(", True), ("_index:(", True), (":x", True), ("title:( secret:", True),
        ("title :(", False), ("xtitle:(", True), ("n:(title:", False),
    ],
)  # fmt: skip
def test_text_that_cannot_be_read_goes_on_where_it_can_name_no_other_field(text: str, may: bool) -> None:
    assert may_name_fields(text, lambda name: name in FIELDS) == may
