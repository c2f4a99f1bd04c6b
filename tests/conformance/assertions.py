"""What can be asserted of an answer: one function for each word of the suite, which raises Failed.

Numbers are compared as numbers (1 is 1.0) and floats to the precision of 32 bits, for some fields have no more; a number is never
the text that spells it, nor 1 ``true``. A text between slashes is a pattern that must be *found* in the answer's text, read as
Java's COMMENTS mode reads it (white space and the rest of a line behind ``#`` mean nothing). What is expected to be null may
be absent. True is what is there and not null, empty, ``false`` or ``0``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime
from operator import ge, gt, le, lt
from typing import Any

from tests.conformance.values import ABSENT, Failed, Stash, Unplayable, at, shown

Assertion = Callable[[Any, Any, Stash], None]
SINGLE = 1e-6  # a 32-bit float's precision
_CLASSES = {"Alpha": "a-zA-Z", "Digit": "0-9", "Alnum": "a-zA-Z0-9"}


def pattern(text: str, comments: bool) -> re.Pattern[str] | None:
    """The pattern of a text between slashes; None for any other text."""
    bare = text.strip()
    if len(bare) < 2 or not (bare.startswith("/") and bare.endswith("/")):
        return None
    java = bare[1:-1]
    for name, members in _CLASSES.items():
        java = java.replace(rf"\p{{{name}}}", f"[{members}]")
    out, inside = [], False
    for token in re.findall(r"\\.|.", java, re.DOTALL):
        if inside and token == "[":
            token = r"\["  # Java nests classes; the suite means the character
        elif inside and comments and token.isspace():
            continue  # means nothing to Java within a class either
        inside = token == "[" or (inside and token != "]")
        out.append(token)
    try:
        return re.compile("".join(out), re.VERBOSE if comments else 0)
    except re.error as error:
        raise Unplayable(f"the pattern {shown(text)} cannot be read: {error}") from error


def same(expected: Any, found: Any) -> bool:
    if isinstance(expected, str) and not isinstance(found, dict | list):
        wanted = pattern(expected, comments=True)
        if wanted is not None:
            return wanted.search(found if isinstance(found, str) else json.dumps(found)) is not None
    if _number(expected) and _number(found):
        near = isinstance(expected, float) and abs(expected - found) <= SINGLE * max(abs(expected), abs(found))
        return expected == found or near
    if isinstance(expected, dict) and isinstance(found, dict):
        return expected.keys() == found.keys() and all(same(value, found[key]) for key, value in expected.items())
    if isinstance(expected, list) and isinstance(found, list):
        return len(expected) == len(found) and all(map(same, expected, found))
    return type(expected) is type(found) and expected == found


def true(value: Any) -> bool:
    return value is not ABSENT and value is not None and str(value).lower() not in ("", "false", "0")


def _each(word: str, holds: Callable[[Any, Any], bool]) -> Assertion:
    """An assertion ``{path: expected}``."""

    def check(answer: Any, argument: Any, stash: Stash) -> None:
        for path, expected in argument.items():
            wanted, found = stash.fill(expected), at(answer, path, stash)
            if not holds(wanted, found):
                raise Failed(f"{word} {path or '$body'}: expected {shown(wanted)}, found {shown(found)}")

    return check


def _of_path(word: str, holds: Callable[[Any], bool]) -> Assertion:
    """An assertion about a path alone."""

    def check(answer: Any, argument: Any, stash: Stash) -> None:
        found = at(answer, str(argument or ""), stash)
        if not holds(found):
            raise Failed(f"{word} {argument or '$body'}: found {shown(found)}")

    return check


def _matches(wanted: Any, found: Any) -> bool:
    return found in (None, ABSENT) if wanted is None else found is not ABSENT and same(wanted, found)


def _has_length(wanted: Any, found: Any) -> bool:
    return isinstance(found, dict | list | str) and len(found) == int(wanted)


def _contains(wanted: Any, found: Any) -> bool:
    """A text in a text, a key in an object, an item in a list; of an item that is an object, what is expected may be a part."""
    if isinstance(found, str):
        return str(wanted) in found
    if isinstance(found, dict):
        return wanted in found
    return isinstance(found, list) and any(same(wanted, one) or _part(wanted, one) for one in found)


def _part(wanted: Any, found: Any) -> bool:
    both = isinstance(wanted, dict) and isinstance(found, dict)
    return both and all(key in found and same(value, found[key]) for key, value in wanted.items())


def _close(wanted: Any, found: Any) -> bool:
    return _number(found) and abs(found - wanted["value"]) <= wanted["error"]


def _after(wanted: Any, found: Any) -> bool:
    return isinstance(found, str) and datetime.fromisoformat(found) > datetime.fromisoformat(str(wanted))


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def holds(wanted: Any, found: Any) -> bool:
        alike = (_number(wanted) and _number(found)) or (isinstance(wanted, str) and isinstance(found, str))
        return alike and compare(found, wanted)

    return holds


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


ASSERTIONS: dict[str, Assertion] = {
    "match": _each("match", _matches),
    "length": _each("length", _has_length),
    "contains": _each("contains", _contains),
    "close_to": _each("close_to", _close),
    "is_after": _each("is_after", _after),
    **{word: _each(word, _ordered(order)) for word, order in (("gt", gt), ("gte", ge), ("lt", lt), ("lte", le))},
    "is_true": _of_path("is_true", true),
    "is_false": _of_path("is_false", lambda value: not true(value)),
    "exists": _of_path("exists", lambda value: value not in (None, ABSENT)),
    "not_exists": _of_path("not_exists", lambda value: value in (None, ABSENT)),
}
