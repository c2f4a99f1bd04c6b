"""JSON as a tree and back, with every number as it was written.

For bodies and answers that have to be changed as a tree. ``orjson`` alone reads ``1.0E10`` as another text of the same number,
and an integer beyond 64 bit as a float; here a number that would not come back as it was stays the text it is. Code that computes
with a number asks for its type first.
"""

from __future__ import annotations

import json
from typing import Any

import orjson

LONGEST = 18  # digits that surely fit into 64 bit


def loads(raw: bytes) -> Any:
    return json.loads(raw, parse_int=integer, parse_float=decimal)


def dumps(tree: Any) -> bytes:
    return orjson.dumps(tree)


def pretty(tree: Any) -> bytes:
    """As a node indents, to the blank: the length of an answer shows in that of a HEAD."""
    return _indented(tree, "\n").encode() + b"\n"


def _indented(value: Any, margin: str) -> str:
    below = margin + "  "
    if isinstance(value, dict):
        members = [f"{below}{orjson.dumps(key).decode()} : {_indented(item, below)}" for key, item in value.items()]
        return "{" + ",".join(members) + margin + "}" if members else "{ }"
    if isinstance(value, list):
        return "[" + ",".join(below + _indented(item, below) for item in value) + margin + "]" if value else "[ ]"
    return orjson.dumps(value).decode()


def number(value: Any) -> Any:
    """A value of such a tree to compute with: numbers that stayed text as numbers, all else as it is."""
    return json.loads(orjson.dumps(value)) if isinstance(value, orjson.Fragment) else value


def integer(text: str) -> Any:
    return int(text) if len(text) <= LONGEST and text != "-0" else orjson.Fragment(text)


def decimal(text: str) -> Any:
    value = float(text)
    return value if repr(value) == text else orjson.Fragment(text)
