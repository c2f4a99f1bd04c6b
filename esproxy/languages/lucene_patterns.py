"""Names and patterns of fields in Lucene's query-string text, for indices whose physical one has others' fields too.

A clause on a pattern is as if it stood there once for each field that matches. It is written so, by the client's names: what
comes out is an ordinary text, which ``lucene.rewrite`` reads like any other, so a mistake here finds other documents of the
client's own and no others.
"""

from __future__ import annotations

from collections.abc import Callable

from esproxy.languages import LanguageError
from esproxy.languages.lucene import MAX_LENGTH, META, rewrite
from esproxy.languages.lucene_lexer import Kind, Token, escape, tokenize, unescape

NO_FIELD = "esproxy~none"  # for a pattern that matches none
NO_NAME = tuple('*?()[]{}"^~!:/ \t\r\n\u3000')  # what is in no term, unless escaped
MOST = 50  # patterns in one text


def names(text: str) -> set[str]:
    """The names of fields in it; none where it cannot be read."""
    found: set[str] = set()

    def seen(name: str) -> str:
        found.add(name)
        return name

    try:
        rewrite(text, seen)
    except LanguageError:
        return set()
    return found


def widen(text: str, matching: Callable[[str], list[str]]) -> str:
    """``text`` with every clause on a pattern of fields (``title.\\*:x``, ``*:x``, but not ``*:*``) as one over the fields that
    ``matching`` has for it: a group of alternatives. A text that is not understood stays: ``rewrite`` says so."""
    for _ in range(MOST):
        if "*" not in text or ":" not in text or len(text) > MAX_LENGTH:
            return text
        tokens = tokenize(text)
        for at in range(len(tokens) - 2):
            name = _pattern(text, tokens, at)
            if name is not None:
                break
        else:
            return text
        start, end = tokens[at + 2].start, _clause_end(tokens, at + 2)
        clause = text[start:end]
        parts = [f"{escape(field)}:{clause}" for field in matching(name)] or [f"{escape(NO_FIELD)}:{clause}"]
        text = text[: tokens[at].start] + (parts[0] if len(parts) == 1 else f"({' OR '.join(parts)})") + text[end:]
    raise LanguageError(0, f"more than {MOST} patterns of fields")


def may_name_fields(text: str, own: Callable[[str], bool]) -> bool:
    """Could a text, which need not be one of the language, name a field that is not ``own``, or a meta field, to whoever reads it
    otherwise? A name stands before a colon, and is a term or a single star."""
    if "_exists_" in text or any(name in text for name in META) or "\\" in text:
        return True
    return any(_names_another(part.rstrip(), own) for part in text.split(":")[:-1])


def _names_another(front: str, own: Callable[[str], bool]) -> bool:
    if front.endswith("*"):
        return not front[:-1][-1:].isalnum()
    name = front[max(map(front.rfind, NO_NAME)) + 1 :]
    if not name:
        return not front
    return name[0].isdigit() or not all(char.isalnum() or char in "_." for char in name) or not own(name)


def _pattern(text: str, tokens: list[Token], at: int) -> str | None:
    """The pattern of fields that a clause begins with here."""
    token, colon, value = tokens[at : at + 3]
    if colon.kind is not Kind.COLON or token.kind not in (Kind.TERM, Kind.STAR) or value.kind is Kind.END:
        return None
    name = unescape(text[token.start : token.end], token.start)
    return None if "*" not in name or (name == "*" and value.kind is Kind.STAR) else name


def _clause_end(tokens: list[Token], at: int) -> int:
    """Where what begins at a token ends, with what is fuzzy about it and its boost."""
    depth = 0
    while tokens[at].kind is not Kind.END:
        depth += (tokens[at].kind in (Kind.OPEN, Kind.RANGE)) - (tokens[at].kind in (Kind.CLOSE, Kind.RANGE_END))
        if depth <= 0:
            break
        at += 1
    while tokens[at].kind is not Kind.END and tokens[at + 1].kind in (Kind.FUZZY, Kind.CARAT, Kind.NUMBER):
        at += 1
    return tokens[at].end
