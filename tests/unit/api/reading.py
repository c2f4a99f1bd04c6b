"""A rule table's meaning in plain Python: walks a body and tells what stands where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from esproxy.api.tables import Tables

WHOLE = ("DOC", "SETTINGS")


class Refused(Exception):
    """The table does not let the body through; the message has the path at fault."""


def read(tables: Tables, state: int, value: Any, path: str = "") -> Iterator[str]:
    """``KIND text`` for every position that is more than a copy, in the order of the body; whole objects by kind alone."""
    row = tables.states[state]
    kind = row.get("kind", "COPY")
    if kind == "REFUSE":
        raise Refused(f"{path}: {tables.reasons[row['reason']]}")
    if kind == "OPAQUE":
        return
    if kind in WHOLE:
        yield kind
    elif isinstance(value, list):
        for item in value:
            yield from read(tables, row.get("items", state), item, f"{path}[]")
    elif isinstance(value, dict):
        if kind == "QUERY":
            yield kind
        yield from _members(tables, row, value, path)
    elif value is not None and kind != "COPY":
        yield f"{kind} {_text(value)}"


def _members(tables: Tables, row: dict[str, Any], value: dict[str, Any], path: str) -> Iterator[str]:
    if "keys" not in row and "other" not in row:
        raise Refused(f"{path}: an object")
    for key, member in value.items():
        where = f"{path}.{key}"
        if key in row.get("keys", {}):
            yield from read(tables, row["keys"][key], member, where)
            continue
        if "other" not in row:
            raise Refused(f"{where}: unknown key")
        kind, target = row["other"]
        tag, sharp, _ = key.partition("#")
        if kind == "TAGGED" and sharp and tag in row["tags"]:
            target = row["tags"][tag]
        elif kind not in ("COPY", "TAGGED"):
            yield f"{kind} {key}"
        yield from read(tables, target, member, where)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
