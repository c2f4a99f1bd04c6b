"""Tokens of Painless, and of Lucene expressions, whose tokens are among them.

Theory. Every character belongs to exactly one token, spaces and comments included, so the tokens' texts joined are the
source. Longest match wins, as in the nodes' generated lexer. What decides meaning, each checked against running nodes:

* ``/`` divides behind a name, a number, ``)`` and ``]``; anywhere else (behind a string, ``}``, a keyword, ``++``) it begins
  a regular expression;
* there, ``/*c*/l`` is a *regular expression* with a flag, being one character longer than the comment ``/*c*/``;
* ``//`` runs to LF or CR. Without either, at the end of the source, OpenSearch 3 takes it for a comment; Elasticsearch
  goes on as if it were not one. Where that could hide code from us (``x //a/.split(doc['f'].value)``) it is refused;
* a string may span lines and knows two escapes, its own quote and the backslash;
* directly behind a dot stands a name or a whole number (``a.0.1`` is two of them); names, even keywords, are plain there.

Outside strings, regular expressions and comments only ASCII is accepted, as on the nodes.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, NoReturn

from esproxy.languages import LanguageError

MAX_LENGTH = 1 << 18  # characters; nodes take 65,535 bytes unless told otherwise
DIGITS = frozenset("0123456789")
LETTERS = frozenset("_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
NAME = LETTERS | DIGITS
HEX = DIGITS | frozenset("abcdefABCDEF")
FLAGS = frozenset("cilmsUux")
KEYWORDS = frozenset(
    "if in else while do for continue break return new try catch throw this instanceof true false null"
    " boolean byte short char int long float double def".split()
)
OPERATORS = frozenset(
    "{ } [ ] ( ) $ . ?. , ; ! ~ * / % + - << >> >>> < <= > >= == === != !== & ^ | && || ? : ?: :: -> =~ ==~ ++ --"
    " = += -= *= /= %= &= ^= |= <<= >>= >>>=".split()
)


class Kind(Enum):
    SPACE = "space"
    COMMENT = "comment"
    STRING = "string"
    REGEX = "regular expression"
    NUMBER = "number"
    NAME = "name"
    KEYWORD = "keyword"
    OPERATOR = "operator"


class Token(NamedTuple):
    kind: Kind
    start: int
    end: int
    text: str


def tokenize(source: str) -> list[Token]:
    if len(source) > MAX_LENGTH:
        raise LanguageError(MAX_LENGTH, f"a script of more than {MAX_LENGTH} characters")
    tokens: list[Token] = []
    before: Token | None = None  # the last token that is neither space nor comment
    at = 0
    while at < len(source):
        kind, end = token_at(source, at, before)
        token = Token(kind, at, end, source[at:end])
        tokens.append(token)
        if kind is not Kind.SPACE and kind is not Kind.COMMENT:
            before = token
        at = end
    return tokens


def token_at(source: str, at: int, before: Token | None) -> tuple[Kind, int]:
    char = source[at]
    behind_dot = before is not None and before.text in (".", "?.")
    if char in LETTERS:
        end = run(source, at, NAME)
        return (Kind.KEYWORD if source[at:end] in KEYWORDS and not behind_dot else Kind.NAME), end
    if behind_dot and char not in DIGITS:
        fail(at, "a dot without a name")
    if char in " \t\n\r":
        return Kind.SPACE, run(source, at, " \t\n\r")
    if char in "'\"":
        return Kind.STRING, string_end(source, at)
    if char in DIGITS:
        return Kind.NUMBER, whole_end(source, at) if behind_dot else number_end(source, at)
    if char == "/":
        return slash(source, at, divides(before))
    for length in (4, 3, 2, 1):
        if source[at : at + length] in OPERATORS and at + length <= len(source):
            return Kind.OPERATOR, at + length
    fail(at, f"unexpected character [{char}]")


def divides(before: Token | None) -> bool:
    """Whether a slash behind ``before`` is a division."""
    return before is not None and (before.kind in (Kind.NAME, Kind.NUMBER) or before.text in (")", "]"))


def run(source: str, at: int, members: frozenset[str] | str) -> int:
    while at < len(source) and source[at] in members:
        at += 1
    return at


def string_end(source: str, start: int) -> int:
    quote, at = source[start], start + 1
    while at < len(source):
        char = source[at]
        if char == quote:
            return at + 1
        if char == "\\":
            at += 1
            if source[at : at + 1] not in (quote, "\\"):
                fail(at - 1, "a string knows no other escapes than its quote and the backslash")
        at += 1
    fail(start, "a string without its closing quote")


def number_end(source: str, at: int) -> int:
    after = source[at + 1 : at + 2]
    if source[at] == "0" and after and after in "xX" and source[at + 2 : at + 3] in HEX:
        return suffixed(source, run(source, at + 2, HEX), "lL")
    if source[at] == "0" and after and after in "01234567":
        return suffixed(source, run(source, at + 1, "01234567"), "lL")
    whole = end = whole_end(source, at)
    if source[end : end + 1] == "." and source[end + 1 : end + 2] in DIGITS:
        end = run(source, end + 1, DIGITS)
    if source[end : end + 1] in ("e", "E"):
        digits = end + 2 if source[end + 1 : end + 2] in ("+", "-") else end + 1
        after_digits = run(source, digits, DIGITS)
        end = after_digits if after_digits > digits else end
    return suffixed(source, end, "fFdDlL" if end == whole else "fFdD")


def whole_end(source: str, at: int) -> int:
    """A whole number has no leading zeros."""
    return at + 1 if source[at] == "0" else run(source, at, DIGITS)


def suffixed(source: str, end: int, suffixes: str) -> int:
    return end + 1 if end < len(source) and source[end] in suffixes else end


def slash(source: str, at: int, division: bool) -> tuple[Kind, int]:
    comment = comment_end(source, at, division)
    regex = 0 if division else regex_end(source, at)
    if regex > comment:
        return Kind.REGEX, regex
    if comment:
        return Kind.COMMENT, comment
    if not division:
        fail(at, "a regular expression without its end")
    return Kind.OPERATOR, at + 2 if source[at + 1 : at + 2] == "=" else at + 1


def comment_end(source: str, at: int, division: bool) -> int:
    """Where the comment at ``at`` ends; 0 when there is none."""
    if source.startswith("/*", at):
        end = source.find("*/", at + 2)
        if end < 0:
            fail(at, "a comment without its end")
        return end + 2
    if not source.startswith("//", at):
        return 0
    end = at
    while end < len(source) and source[end] not in "\n\r":
        end += 1
    if end < len(source):
        return end + 1
    if division and (source.find("/", at + 2) >= 0 or source.startswith("=", at + 2)):
        fail(at, "a comment at the end of the source that some nodes read as a division; end it with a line feed")
    return end


def regex_end(source: str, start: int) -> int:
    """Where the regular expression at ``start`` ends, flags included; 0 when it does not end in its line."""
    at = start + 1
    while at < len(source) and source[at] != "\n":
        if source[at] == "/":
            return run(source, at + 1, FLAGS) if at > start + 1 else 0
        at += 2 if source[at] == "\\" and source[at + 1 : at + 2] != "\n" else 1
    return 0


def fail(offset: int, reason: str) -> NoReturn:
    raise LanguageError(offset, reason)
