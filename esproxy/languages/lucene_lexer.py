"""Tokens of Lucene's classic query syntax, as its generated lexer cuts them.

Theory. Lucene's grammar (QueryParser.jj, the same text from 7 to 10) has three lexical states. In each the *longest*
match wins and, among equals, the rule that stands first:

    DEFAULT   AND && OR || NOT !  + -  ( )  : *  ^ → BOOST   [ { → RANGE   "…"  /…/  ~…   terms, prefixes, wildcards
    BOOST     a number, nothing else, → DEFAULT
    RANGE     TO   ] } → DEFAULT   "…"   anything up to a space, ] or }

Consequences that a reader would not guess, each checked against running nodes:

* white space is space, tab, LF, CR and U+3000, no other;
* ``+ ``, ``- ``, ``! `` (with white space behind) are *terms* (BARE), not operators;
* ``a*`` is a prefix, ``a*b`` and ``*b`` are wildcards, and neither can name a field;
* inside ``/…/`` and inside a range's ``"…"`` a backslash is an ordinary character too, so both extend to the *last*
  delimiter that is reachable over delimiters preceded by a backslash;
* in a range a tab or a newline belongs to the bound it touches; only a space separates.

Invariants: spans ascend and do not overlap; between them is white space only; every character is read a bounded
number of times (the scan for a last delimiter runs to the end at most once, as it leaves no delimiter behind).
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, NoReturn

from esproxy.languages import LanguageError

SPACE = frozenset(" \t\n\r\u3000")
DIGITS = frozenset("0123456789")
HEX = DIGITS | frozenset("abcdefABCDEF")
TERM_STOP = SPACE | frozenset('+-!():^[]"{}~*?\\/')  # what cannot begin a term, unless escaped
OPERATORS = {"AND": "AND", "&&": "AND", "OR": "OR", "||": "OR", "NOT": "NOT"}


class Kind(Enum):
    AND = "AND"
    OR = "OR"
    NOT = "NOT"
    PLUS = "+"
    MINUS = "-"
    BARE = "bare operator"
    OPEN = "("
    CLOSE = ")"
    COLON = ":"
    STAR = "*"
    CARAT = "^"
    NUMBER = "number"
    QUOTED = "phrase"
    TERM = "term"
    FUZZY = "~"
    PREFIX = "prefix"
    WILDCARD = "wildcard"
    REGEX = "regular expression"
    RANGE = "[ or {"
    TO = "TO"
    GOOP = "bound"
    RANGE_QUOTED = "quoted bound"
    RANGE_END = "] or }"
    END = "end of text"


SINGLE = {"(": Kind.OPEN, ")": Kind.CLOSE, ":": Kind.COLON, "^": Kind.CARAT, "[": Kind.RANGE, "{": Kind.RANGE}
SIGNS = {"+": Kind.PLUS, "-": Kind.MINUS, "!": Kind.NOT}


class Token(NamedTuple):
    kind: Kind
    start: int
    end: int


def tokenize(text: str) -> list[Token]:
    """All tokens and an END at the end."""
    tokens: list[Token] = []
    at, length = 0, len(text)
    state = Kind.END  # END stands for DEFAULT; CARAT and RANGE for the states these tokens lead to
    while True:
        if state is not Kind.CARAT:
            while at < length and text[at] in SPACE and not (state is Kind.RANGE and bound_end(text, at) > at + 1):
                at += 1
        if at == length:
            tokens.append(Token(Kind.END, length, length))
            return tokens
        if state is Kind.CARAT:
            token = number(text, at)
            state = Kind.END
        elif state is Kind.RANGE:
            token = range_token(text, at)
            state = Kind.END if token.kind is Kind.RANGE_END else Kind.RANGE
        else:
            token = default_token(text, at)
            state = token.kind if token.kind in (Kind.CARAT, Kind.RANGE) else Kind.END
        tokens.append(token)
        at = token.end


def default_token(text: str, at: int) -> Token:
    char = text[at]
    if char in SINGLE:
        return Token(SINGLE[char], at, at + 1)
    if char in SIGNS:
        bare = at + 1 < len(text) and text[at + 1] in SPACE
        return Token(Kind.BARE, at, at + 2) if bare else Token(SIGNS[char], at, at + 1)
    if char == '"':
        return Token(Kind.QUOTED, at, phrase_end(text, at))
    if char == "/":
        return Token(Kind.REGEX, at, last_delimiter(text, at, least=0) or fail(at, "a regular expression without its end"))
    if char == "~":
        return Token(Kind.FUZZY, at, word_end(text, at + 1, wild=False, begun=True)[0])
    if char in "]}":
        fail(at, f"[{char}] closes no range")
    end, stars = word_end(text, at, wild=True, begun=False)
    if not stars:
        word = text[at:end]
        return Token(Kind[OPERATORS[word]] if word in OPERATORS else Kind.TERM, at, end)
    if end == at + 1 and char == "*":
        return Token(Kind.STAR, at, end)
    return Token(Kind.PREFIX if stars == 1 and ends_in_star(text, at, end) else Kind.WILDCARD, at, end)


def ends_in_star(text: str, at: int, end: int) -> bool:
    """Whether the last character is a wildcard ``*``, and not an escaped one as in ``a?\\*``."""
    if text[end - 1] != "*":
        return False
    backslashes = 0
    while end - 2 - backslashes >= at and text[end - 2 - backslashes] == "\\":
        backslashes += 1
    return backslashes % 2 == 0


def word_end(text: str, at: int, *, wild: bool, begun: bool) -> tuple[int, int]:
    """Where the run of term characters ends, and how many unescaped ``*`` and ``?`` are in it. ``+`` and ``-`` continue a
    word but begin none."""
    wilds, length = 0, len(text)
    while at < length:
        char = text[at]
        if char == "\\":
            if at + 1 == length:
                fail(at, "a backslash that escapes nothing")
            at += 1
        elif char in "*?":
            if not wild:
                break
            wilds += 1
        elif char in TERM_STOP and not (begun and char in "+-"):
            break
        at += 1
        begun = True
    return at, wilds


def phrase_end(text: str, at: int) -> int:
    start = at
    at += 1
    while at < len(text):
        if text[at] == '"':
            return at + 1
        at += 2 if text[at] == "\\" else 1
    fail(start, "a phrase without its closing quote")


def last_delimiter(text: str, at: int, *, least: int) -> int:
    """The end of the longest token that begins and ends with ``text[at]``, has at least ``least`` characters within, and
    has that delimiter within only behind a backslash; 0 when there is none."""
    end = 0
    found = text.find(text[at], at + 1)
    while found >= 0:
        if found - at - 1 >= least:
            end = found + 1
        if found == at + 1 or text[found - 1] != "\\":
            break
        found = text.find(text[at], found + 1)
    return end


def number(text: str, at: int) -> Token:
    end = at
    while end < len(text) and text[end] in DIGITS:
        end += 1
    if end == at:
        fail(at, "a boost that is no number")
    after = end + 1
    if end < len(text) and text[end] == ".":
        while after < len(text) and text[after] in DIGITS:
            after += 1
        end = after if after > end + 1 else end
    return Token(Kind.NUMBER, at, end)


def bound_end(text: str, at: int) -> int:
    while at < len(text) and text[at] not in " ]}":
        at += 1
    return at


def range_token(text: str, at: int) -> Token:
    if text[at] in "]}":
        return Token(Kind.RANGE_END, at, at + 1)
    end = bound_end(text, at)
    if text[at] == '"':
        quoted = last_delimiter(text, at, least=1)
        if quoted >= end:
            return Token(Kind.RANGE_QUOTED, at, quoted)
    return Token(Kind.TO if text[at:end] == "TO" else Kind.GOOP, at, end)


def unescape(image: str, offset: int) -> str:
    """What Lucene makes of a term: ``\\x`` is ``x``, but ``\\uXXXX`` a UTF-16 unit."""
    if "\\" not in image:
        return image
    out: list[str] = []
    at, length = 0, len(image)
    while at < length:
        if image[at] != "\\":
            out.append(image[at])
            at += 1
            continue
        if at + 1 == length:
            raise LanguageError(offset + at, "a backslash that escapes nothing")
        if image[at + 1] != "u":
            out.append(image[at + 1])
            at += 2
            continue
        digits = image[at + 2 : at + 6]
        if len(digits) < 4 or not HEX.issuperset(digits):
            raise LanguageError(offset + at, "a broken \\u escape")
        out.append(chr(int(digits, 16)))
        at += 6
    joined = "".join(out)
    try:  # units of a surrogate pair become one character, as in Java; a lone one has no UTF-8
        return joined if joined.isascii() else joined.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise LanguageError(offset, "half of a surrogate pair") from None


def escape(name: str, *, spaces: bool = False) -> str:
    """``name`` as one term, wherever a term, a phrase's text or a bound may stand. ``spaces`` keeps spaces: what tells a
    quoted bound from one that merely begins with a quote is that it has a space within."""
    if name in OPERATORS or name == "TO":
        return f"\\u{ord(name[0]):04x}{name[1:]}"
    return "".join(" " if spaces and char == " " else escape_char(char) for char in name)


def escape_char(char: str) -> str:
    if char.isalnum() or char in "_." or (char > "\u007f" and char.isprintable()):
        return char
    if char in '/" ]}\\' or char < " " or char > "~":  # never as themselves: they can move a boundary
        units = char.encode("utf-16-be")
        return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
    return "\\" + char


def fail(offset: int, reason: str) -> NoReturn:
    raise LanguageError(offset, reason)
