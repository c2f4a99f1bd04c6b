"""What came back from one call, parsed without losing what a client could see.

Numbers keep their spelling (``1.0`` is not ``1``), objects their duplicate keys (an answer with one is an error of
whoever made it), text its line ends. The order of keys is not kept: nodes answer from hash maps.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

KEPT_HEADERS = (  # headers a client acts on; the rest (date, length of a body that is compared anyway) is transport
    "content-type",
    "location",
    "warning",
    "x-elastic-product",
    "x-opaque-id",
    "allow",
    "www-authenticate",
    "content-encoding",
    "deprecation",
)


@dataclass(frozen=True, slots=True)
class Number:
    """A JSON number as it was spelled."""

    text: str

    def __repr__(self) -> str:
        return self.text

    __str__ = __repr__


@dataclass(slots=True)
class Raw:
    """An answer as bytes: everything the client could see."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def everything(self) -> bytes:
        """All bytes of the answer, for the search of canaries."""
        head = "".join(f"{name}: {value}\n" for name, value in self.headers)
        return head.encode("latin-1", "replace") + b"\n" + self.body


@dataclass(slots=True)
class Answer:
    """An answer as it is compared."""

    status: int
    headers: dict[str, list[str]]
    body: Any  # JSON value with Number leaves, or text
    layout: str  # "none", "text", "compact", "pretty": how the body is set
    saved: dict[str, str] = field(default_factory=dict)  # values by the names of the scenario's `save`


class DuplicateKey(ValueError):
    """A JSON object with a key twice: no node makes one."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise DuplicateKey(key)
        found[key] = value
    return found


def parse_json(text: str) -> Any:
    return json.loads(text, parse_float=Number, parse_int=Number, parse_constant=Number, object_pairs_hook=_object)


def parse(raw: Raw, method: str) -> Answer:
    """The comparable form. Raises ValueError when a body that calls itself JSON is none."""
    headers: dict[str, list[str]] = {}
    for name, value in raw.headers:
        name = name.lower()
        if name in KEPT_HEADERS or (name == "content-length" and method == "HEAD"):
            headers.setdefault(name, []).append(value)
    media = headers.get("content-type", [""])[0]
    if not raw.body:
        return Answer(raw.status, headers, None, "none")
    text = raw.body.decode("utf-8")
    if "json" not in media:
        return Answer(raw.status, headers, text, "text")
    layout = ("pretty" if text[:2] in ("{\n", "[\n") else "compact") + ("+newline" if text.endswith("\n") else "")
    return Answer(raw.status, headers, parse_json(text), layout)
