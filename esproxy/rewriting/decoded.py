"""Values to sort by as a text that stands in the same order, made by a script: for fields that have another name in each index.

In front of each stands a letter, so that what is missing can go before all or behind all. Whole numbers are sixteen digits of
base 16 with their sign turned; so are the bits of a floating point number, turned where it is below zero.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import orjson

VALUE = "m"
EMPTY = {True: "a", False: "z"}  # what stands for a missing value: at the bottom, at the top
TOP = 1 << 63
# Types of fields → how the script reads one, and what a node says of a missing one.
KINDS = {
    "long": "long",
    "integer": "int",
    "short": "int",
    "byte": "int",
    "double": "double",
    "date": "date",
    "keyword": "text",
}
SOURCE = """
for (def name : params.fields) {
  if (doc.containsKey(name) && doc[name].size() > 0) {
    def all = doc[name];
    def value = all.get(params.last ? all.size() - 1 : 0);
    if (params.kind == 'text') { return 'm' + value; }
    long bits = 0L;
    if (params.kind == 'double') { bits = Double.doubleToLongBits(value); bits = bits ^ ((bits >> 63) & Long.MAX_VALUE); }
    else if (params.kind == 'date') { bits = value.toInstant().toEpochMilli(); }
    else { bits = value; }
    String text = Long.toHexString(bits ^ Long.MIN_VALUE);
    return 'm' + '0000000000000000'.substring(text.length()) + text;
  }
}
return params.missing;
"""


@dataclass(frozen=True, slots=True)
class Decoded:
    """How a value of one entry of a sort is read."""

    kind: str

    def value(self, text: str) -> Any:
        """What the node would say."""
        if text in EMPTY.values():
            return self._missing(text == EMPTY[True])
        if self.kind == "text":
            return text.removeprefix(VALUE)
        bits = int(text.removeprefix(VALUE), 16) ^ TOP
        signed = bits - 2 * TOP if bits >= TOP else bits
        if self.kind != "double":
            return signed
        turned = signed ^ (TOP - 1) if signed < 0 else signed
        return _written(struct.unpack(">d", struct.pack(">q", turned))[0])

    def _missing(self, bottom: bool) -> Any:
        if self.kind == "text":
            return None
        if self.kind == "double":
            return "-Infinity" if bottom else "Infinity"
        width = 31 if self.kind == "int" else 63
        return -(1 << width) if bottom else (1 << width) - 1


def _written(value: float) -> Any:
    """A floating point number as nodes write it."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return value
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    text = "".join(map(str, digits)).rstrip("0")
    power = int(exponent) + len(digits) - 1
    return orjson.Fragment(f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{power}")


def decode_sorts(hits: Any, sorts: list[Decoded | None]) -> None:
    """The values of hits, in place."""
    for hit in hits.get("hits") or [] if isinstance(hits, dict) else []:
        values = hit.get("sort") or []
        for place, how in enumerate(sorts[: len(values)]):
            if how is not None and isinstance(values[place], str):
                values[place] = how.value(values[place])
