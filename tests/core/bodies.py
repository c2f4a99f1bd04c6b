"""Hypothesis strategies: bodies that fit a rule table, written in every way JSON allows, and bodies that are damaged."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

SPACES = st.sampled_from([b"", b"", b"", b" ", b"\n  ", b"\t", b" \r\n" + b" " * 20])
TEXTS = [
    "logs",
    "_index",
    "a",
    "",
    "acme.logs",
    "zqp.logs",
    "zqp.",
    "sterms#x",
    "top_hits#y#z",
    "nope#x",
    "LOGS*",
    "-x",
    "a,b",
    "naïve",
    "日本語",
    "😀",
    'quote"d',
    "back\\slash",
    "line\nfeed",
    "\x00",
    "0",
    "a_key_of_more_than_sixteen_bytes",
    "x" * 40,
    "é" * 9,
    "x" * 15 + "\t",
]
NUMBERS = [b"0", b"-0", b"5", b"10", b"-1", b"1.5", b"1e3", b"1E+400", b"0.1e-7", b"123456789012345678901234567890", b"-12.50"]
BROKEN = [
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xc0\xaf",
    b"\xf4\x90\x80\x80",
    b"\x00",
    b"\n",
    b'"',
    b"\\",
    b"\\u12",
    b"\\ud800",
    b"\\x",
    b",",
    b":",
    b"{",
    b"}",
    b"[",
    b"]",
    b"0",
    b"-",
    b".",
    b"e",
    b"NaN",
    b"tru",
    b"//",
    b"/* */",
    b"'",
    b"\xef\xbb\xbf",
    b"\xe2\x82",
    b" ",
    b"1",
    b"null",
]


@st.composite
def spelled(draw: Any, text: str) -> bytes:
    """A JSON string of the text, some characters escaped that need not be."""
    how = draw(st.sampled_from(["plain", "plain", "plain", "ascii", "mixed"]))
    if how == "plain":
        return json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass")
    if how == "ascii":
        return json.dumps(text).encode()
    return b'"' + b"".join(b"\\u%04x" % ord(c) if ord(c) < 0x10000 else json.dumps(c).encode()[1:-1] for c in text) + b'"'


strings = st.one_of(st.sampled_from(TEXTS).flatmap(spelled), st.text(max_size=12).flatmap(spelled))
scalars = st.one_of(strings, st.sampled_from(NUMBERS), st.sampled_from([b"true", b"false", b"null", b'"\\ud83d"']))


@st.composite
def anything(draw: Any, depth: int = 2) -> bytes:
    shape = draw(st.sampled_from(["scalar", "scalar", "array", "object"])) if depth else "scalar"
    if shape == "scalar":
        return draw(scalars)
    space = draw(SPACES)
    inside = draw(st.lists(anything(depth - 1), max_size=3))
    if shape == "array":
        return b"[" + space + (b"," + space).join(inside) + space + b"]"
    keys = [draw(spelled(draw(st.sampled_from(TEXTS)))) for _ in inside]
    return b"{" + space + (b"," + space).join(key + space + b":" + value for key, value in zip(keys, inside, strict=True)) + b"}"


@st.composite
def fitting(draw: Any, states: list[dict], state: int, depth: int = 4, leaves: st.SearchStrategy[bytes] = scalars) -> bytes:
    """A body whose value fits the state: mostly its objects, sometimes arrays of them, sometimes scalars."""
    row = states[state]
    walked = "keys" in row or "other" in row
    shapes = ["object"] * 6 + ["array", "scalar"] if walked and depth else ["scalar"] * 6 + ["array", "anything"]
    shape = draw(st.sampled_from(shapes))
    if shape == "scalar":
        return draw(leaves)
    if shape == "array":
        items = row.get("items", state)
        values = draw(st.lists(fitting(states, items, max(0, depth - 1), leaves), max_size=2))
        return b"[" + draw(SPACES) + b",".join(values) + draw(SPACES) + b"]"
    if shape == "anything":
        return draw(anything()) if row.get("kind") in ("OPAQUE", "DOC", "SETTINGS", "QUERY") else draw(leaves)
    return draw(objects(states, row, depth, leaves))


@st.composite
def objects(draw: Any, states: list[dict], row: dict, depth: int, leaves: st.SearchStrategy[bytes]) -> bytes:
    keys = row.get("keys", {})
    known = draw(st.lists(st.sampled_from(sorted(keys)), max_size=4, unique=True)) if keys else []
    members = [(name, keys[name]) for name in known]
    if "other" in row:
        others = draw(st.lists(st.one_of(st.sampled_from(TEXTS), st.text(max_size=8)), max_size=3, unique=True))
        tags = [f"{tag}#{name}" for tag in sorted(row.get("tags", {})) for name in others[:1]]
        members += [(name, row["other"][1]) for name in others if name not in keys]
        members += [(name, row["tags"][name.partition("#")[0]]) for name in tags if name not in others]
    out = []
    for name, target in members:
        space = draw(SPACES)
        out.append(space + draw(spelled(name)) + space + b":" + space + draw(fitting(states, target, depth - 1, leaves)) + space)
    return b"{" + b",".join(out) + b"}"


@st.composite
def mutated(draw: Any, bodies: st.SearchStrategy[bytes]) -> bytes:
    """A body with up to three things done to it, any of which may leave it whole."""
    body = draw(bodies)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(body)))
        upto = min(len(body), at + draw(st.integers(0, 3)))
        match draw(st.sampled_from(["put", "cut", "cut short", "double", "change"])):
            case "put":
                body = body[:at] + draw(st.sampled_from(BROKEN)) + body[at:]
            case "cut":
                body = body[:at] + body[upto:]
            case "cut short":
                body = body[:at]
            case "double":
                body = body[:upto] + body[at:]
            case "change":
                body = body[:at] + draw(st.binary(min_size=1, max_size=2)) + body[upto:]
    return body
