"""Documents with the physical names of their fields, and back.

Only documents of indices with renamed fields, or with names that end in ``~`` and digits, come here. Numbers keep their
spelling: a document is what its tenant wrote.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from esproxy.catalogue.documents import Field
from esproxy.catalogue.fields import own_name, restored

Rename = Callable[[str, str], tuple[str, str]]  # (path of the object, key) → (new key, path of what is below)


class Spelled(str):
    """A number as it is written."""


def physical_document(raw: bytes, known: Mapping[str, Field]) -> bytes:
    """A document as it is stored; the same bytes when no name differs. A key with dots in it is a path."""

    def rename(at: str, key: str) -> tuple[str, str]:
        path = f"{at}.{key}" if at else key
        return _physical(path, at, known), path

    return _renamed(raw, rename)


def logical_document(raw: bytes) -> bytes:
    """A stored document as its tenant wrote it. What a physical name is made of says so itself, so no table is needed."""
    if b"~" not in raw and b"\\" not in raw:
        return raw
    return _renamed(raw, lambda at, key: (".".join(map(restored, key.split("."))), ""))


def _physical(path: str, at: str, known: Mapping[str, Field]) -> str:
    """The physical spelling of the last part of a path."""
    depth = at.count(".") + 1 if at else 0
    logical = path.split(".")
    for end in range(len(logical), depth, -1):
        field = known.get(".".join(logical[:end]))
        if field is not None:
            return ".".join([*field.physical.split(".")[depth:], *map(own_name, logical[end:])])
    return ".".join(map(own_name, logical[depth:]))


def _renamed(raw: bytes, rename: Rename) -> bytes:
    tree = json.loads(raw, parse_int=Spelled, parse_float=Spelled)
    changed = False

    def walk(value: Any, at: str) -> Any:
        nonlocal changed
        if isinstance(value, list):
            return [walk(item, at) for item in value]
        if not isinstance(value, dict):
            return value
        out = {}
        for key, below in value.items():
            new, path = rename(at, key)
            changed = changed or new != key
            out[new] = walk(below, path)
        return out

    tree = walk(tree, "")
    return _spelled(tree).encode() if changed else raw


def _spelled(value: Any) -> str:
    if isinstance(value, Spelled):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key, ensure_ascii=False)}:{_spelled(below)}" for key, below in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_spelled, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
