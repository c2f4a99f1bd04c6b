"""Lucene's query syntax: tokens, names found, names written. The tables state what nodes do (checked there by
tests/integration/test_languages.py); hypothesis looks for texts that are cut or written differently."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esproxy.languages import LanguageError
from esproxy.languages.lucene import MAX_DEPTH, MAX_LENGTH, Form, escape, rewrite, split_boost, unescape
from esproxy.languages.lucene_lexer import SPACE, Kind, tokenize

PIECES = [
    *'abu1 \t\n\u3000+-!():^[]{}"~*?\\/.&|<>=é😀',
    "AND",
    "OR",
    "NOT",
    "TO",
    "&&",
    "||",
    "a:",
    "_exists_:",
    "_index:",
    "_routing:",
    "*:*",
    "\\u0061",
    "^2",
    "~1",
    '"a b"',
    "/a/",
    "[a TO b]",
    "{* TO 5]",
    "(a b)",
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


def prefixed(name: str) -> str:
    return f"p.{name}"


def physical(_field: str, text: str, form: Form) -> str:
    return f"acme\\.({text})" if form is Form.REGEX else f"acme.{text}"


def names_in(text: str) -> list[str]:
    found: list[str] = []
    rewrite(text, lambda name: found.append(name) or name)
    return found


def kinds(text: str) -> str:
    return " ".join(token.kind.name for token in tokenize(text)[:-1])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a AND b", "TERM AND TERM"),
        ("ANDa &&b", "TERM TERM"),
        ("+ a", "BARE TERM"),
        ("+a -b !c", "PLUS TERM MINUS TERM NOT TERM"),
        ("a-b+c", "TERM"),
        ("* ** a* a*b ?", "STAR WILDCARD PREFIX WILDCARD WILDCARD"),
        (r"a?\* a\?* \*", "WILDCARD PREFIX TERM"),
        ("a^2.5 b^1.c", "TERM CARAT NUMBER TERM CARAT NUMBER TERM"),
        ("a~1.5x", "TERM FUZZY"),
        (r'"a \" b"', "QUOTED"),
        (r"/a\/ b/c", "REGEX TERM"),
        (r"/a\/ b", "REGEX TERM"),
        ("[a TO b}", "RANGE GOOP TO GOOP RANGE_END"),
        ("[TO TO TO]", "RANGE TO TO TO RANGE_END"),
        ("[\ta TO b\t]", "RANGE GOOP TO GOOP RANGE_END"),
        (r'["a\" TO b" TO "]', "RANGE RANGE_QUOTED TO GOOP RANGE_END"),
        ('["a"b TO c]', "RANGE GOOP TO GOOP RANGE_END"),
        ("a\u00a0b a\u3000b", "TERM TERM TERM"),
    ],
)
def test_tokens_are_cut_as_lucene_cuts_them(text: str, expected: str) -> None:
    assert kinds(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a:b c", "p.a:b c"),
        ("a : b", "p.a : b"),
        (r"a\.b:c", "p.a.b:c"),
        (r"\u0061:x", "p.a:x"),
        (r"book.\*:x", r"p.book.\*:x"),
        (r"a\/b:/c/", r"p.a\u002fb:/c/"),
        ("-(+a:x !b:(y z))^2", "-(+p.a:x !p.b:(y z))^2"),
        ('a:[1 TO 2}^3 b:{* TO "x y"]', 'p.a:[1 TO 2}^3 p.b:{* TO "x y"]'),
        ("a:>=5", "p.a:>=5"),
        ("_exists_:f", "_exists_:p.f"),
        ('_exists_:(a OR "b c")', r'_exists_:(p.a OR "p.b\u0020c")'),
        ("_exists_:(a b)", r"_exists_:(p.a\u0020b)"),
        ("_exists_:(a b OR c)", "_exists_:(p.a p.b OR p.c)"),
        ("*:*", "*:*"),
        (r"\*:*", r"\*:*"),
        ("*", "*:*"),
        ("*:(* x)", r"p.\*:(*:* x)"),
        ("a~*:x", r"a~ p.\*:x"),
        ("f:*", "p.f:*"),
        ("a b *:x", r"a b^1 p.\*:x"),
    ],
)
def test_rewrite_renames_fields(text: str, expected: str) -> None:
    assert rewrite(text, prefixed, default="*") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("_index:logs", "_index:acme.logs"),
        ("_index:lo*", "_index:acme.lo*"),
        ("_index:l?g", "_index:acme.l?g"),
        ("_index:/a|b/", r"_index:/acme\.(a|b)/"),
        ('_index:"logs"~2', '_index:"acme.logs"~2'),
        ("_index:(a OR -b)", "_index:(acme.a OR -acme.b)"),
        ("_index:(a b)", r"_index:(acme.a\u0020b)"),
        ("_index:*", "_index:*"),
        ("_routing:[a TO *]", "_routing:[acme.a TO *]"),
        (r'_routing:["a b" TO "\*"]', r'_routing:["acme.a b" TO "\*"]'),
        ('_routing:["a" TO "b c"\t]', '_routing:["acme.a" TO "acme.b c"\t]'),
        ('_routing:""', '_routing:"acme."'),
        ("_routing:>=a", r"_routing:\>\=acme.a"),
        ("_routing:>", r"_routing:acme.\>"),
        ("_routing:a~1^2", "_routing:acme.a~1^2"),
        ("_index:- a", r"_index:acme.\- a"),
        (r"\_index:a", r"\_index:acme.a"),
        ("index:a", "index:a"),
    ],
)
def test_rewrite_edits_values_of_meta_fields(text: str, expected: str) -> None:
    assert rewrite(text, lambda name: name, physical) == expected


@pytest.mark.parametrize("text", ["a:b:c", "a AND", "x" * (MAX_LENGTH + 1)])
def test_rewrite_of_values_alone_leaves_texts_without_meta_fields_unread(text: str) -> None:
    assert rewrite(text, None, physical) is text


def test_rewrite_of_values_alone_reads_texts_that_may_hold_one() -> None:
    assert rewrite("a:b _index:c", None, physical) == "a:b _index:acme.c"
    assert rewrite(r"_inde\u0078:c", None, physical) == r"_inde\u0078:acme.c"
    assert rewrite("logs", None, physical, default="_index") == "acme.logs"
    assert rewrite("_index:c", None) == "_index:c"


def test_rewrite_with_a_meta_default_field_edits_bare_terms() -> None:
    assert rewrite("logs OR x:y", prefixed, physical, default="_index") == "acme.logs OR p.x:y"


@pytest.mark.parametrize("word", ["AND", "TO", "&&", "a b", 'a"/b', "*?", "\\", "😀", "\u3000", "-a", "NOT"])
def test_rewrite_escapes_what_it_is_given(word: str) -> None:
    rewritten = rewrite("a:b", lambda _name: word)
    assert names_in(rewritten) == [word]


@pytest.mark.parametrize(
    "text",
    [
        "a:b:c",
        "a*:b",
        "AND",
        "a AND",
        "(a",
        "a)",
        "()",
        "a:",
        '"a',
        "/a",
        "[a b]",
        "[a TO b",
        "a^",
        "a^ 2",
        "a\\",
        "a:+b",
        "a^2^3",
        r"\u00g0:a",
        r"\ud800:a",
        "a OR OR b",
    ],
)
def test_rewrite_refuses_what_lucene_refuses(text: str) -> None:
    with pytest.raises(LanguageError):
        rewrite(text, prefixed)


@pytest.mark.parametrize("text", ["_exists_:a*", "_exists_:[a TO b]", "_exists_:a~", "_exists_:*", "_exists_:/a/"])
def test_rewrite_of_a_field_called_exists_is_refused_only_if_renamed(text: str) -> None:
    assert rewrite(text, lambda name: name) is text
    with pytest.raises(LanguageError, match="takes the name of a field"):
        rewrite(text, prefixed)


def test_rewrite_refuses_depth_length_and_half_characters() -> None:
    deep = "(" * MAX_DEPTH + "a:b" + ")" * MAX_DEPTH
    assert rewrite(deep, lambda name: name) is deep
    for text in (f"({deep})", "a " * MAX_LENGTH, "a\ud800"):
        with pytest.raises(LanguageError):
            rewrite(text, lambda name: name)


def test_rewrite_that_would_be_read_differently_is_refused() -> None:
    with pytest.raises(LanguageError, match="read differently"):  # "-" and "a" would become one text
        rewrite("_index:(- a)", lambda name: name, physical)
    with pytest.raises(LanguageError, match="read differently"):
        rewrite("_index:/a/ b", lambda name: name, lambda *_: "a/ c:/x")


def test_error_tells_where_and_why() -> None:
    with pytest.raises(LanguageError, match="unexpected : at character 3") as caught:
        rewrite("a:b:c", prefixed)
    assert caught.value.offset == 3


@pytest.mark.parametrize(
    ("entry", "parts"), [("a^3", ("a", "^3")), ("na*", ("na*", "")), ("*", ("*", "")), ("a^2^3", ("a", "^2^3"))]
)
def test_split_boost_cuts_at_the_first_caret(entry: str, parts: tuple[str, str]) -> None:
    assert split_boost(entry) == parts


@given(TEXTS)
def test_tokens_are_ordered_and_skip_only_space(text: str) -> None:
    try:
        tokens = tokenize(text)
    except LanguageError:
        return
    at = 0
    for token in tokens:
        assert set(text[at : token.start]) <= SPACE
        assert token.end > token.start or token.kind is Kind.END
        at = token.end
    assert at == len(text)


@given(TEXTS)
def test_rewrite_to_the_same_names_is_identity(text: str) -> None:
    try:
        assert rewrite(text, lambda name: name, lambda _field, value, _form: value, default="*") is text
    except LanguageError:
        return


@given(TEXTS)
def test_names_show_when_read_again(text: str) -> None:
    try:
        rewritten = rewrite(text, prefixed)
    except LanguageError:
        return
    assert names_in(rewritten) == [prefixed(name) for name in names_in(text)]


@given(TEXTS)
def test_values_show_when_read_again(text: str) -> None:
    seen: list[tuple[str, str, Form]] = []
    again: list[tuple[str, str, Form]] = []

    def first(field: str, term: str, form: Form) -> str:
        seen.append((field, f"acme.{term}", form))
        return f"acme.{term}"

    def second(field: str, term: str, form: Form) -> str:
        again.append((field, term, form))
        return term

    try:
        rewritten = rewrite(text, lambda name: name, first)
    except LanguageError:
        return
    rewrite(rewritten, lambda name: name, second)
    assert again == seen


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_escape_is_undone_by_unescape_and_is_one_term(name: str) -> None:
    image = escape(name)
    assert unescape(image, 0) == name
    assert kinds(image) == "TERM"
    assert kinds(f'"{image}"') == "QUOTED"
    assert kinds(f"[{image} TO *]") == "RANGE GOOP TO GOOP RANGE_END"
