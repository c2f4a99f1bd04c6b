"""Paths into answers, and the stash: what a test keeps of one answer to use it in the next call.

A path is names and places parted by dots, ``hits.hits.0._id``; ``\\.`` is a dot within a name, ``$body`` or nothing the whole
answer, ``_arbitrary_key_`` the first key of an object. ``$name`` and ``${name}`` stand for what was stashed, in paths, in
values and in the keys of objects: alone for the value itself, within a text for its text.
"""

from __future__ import annotations

import json
import re
from typing import Any

ABSENT = type("Absent", (), {"__repr__": lambda self: "<absent>"})()
WHOLE = ("", "$body")
_ALONE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_WITHIN = re.compile(r"\$\{(\w+)\}")


class Failed(Exception):
    """Something that the test says must hold does not."""


class Unplayable(Exception):
    """The test asks for what this player does not know: a defect of the player, never of the target."""


class Stash(dict[str, Any]):
    def fill(self, value: Any) -> Any:
        """The value with what is stashed in the place of its names, deeply. Names that nothing was stashed under stay."""
        if isinstance(value, dict):
            return {self.fill_text(key): self.fill(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self.fill(one) for one in value]
        return self.fill_whole(value) if isinstance(value, str) else value

    def fill_whole(self, text: str) -> Any:
        alone = _ALONE.fullmatch(text)
        name = (alone[1] or alone[2]) if alone else None
        return self[name] if name in self else self.fill_text(text)

    def fill_text(self, text: str) -> str:
        if alone := _ALONE.fullmatch(text):
            return _text(self.get(alone[1] or alone[2], text))
        return _WITHIN.sub(lambda found: _text(self.get(found[1], found[0])), text)


def at(answer: Any, path: str, stash: Stash) -> Any:
    """The value at a path of an answer, ABSENT where there is none."""
    value = answer
    for part in [] if path in WHOLE else split(path):
        if part == "$body":
            continue
        name = stash.fill_text(part)
        if isinstance(value, dict):
            if name == "_arbitrary_key_" and value:
                value = next(iter(value))
            elif name in value:
                value = value[name]
            else:
                return ABSENT
        elif isinstance(value, list) and name.isascii() and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            return ABSENT
    return value


def split(path: str) -> list[str]:
    return [part.replace("\\.", ".") for part in re.split(r"(?<!\\)\.", path) if part]


def shown(value: Any, most: int = 200) -> str:
    """For messages."""
    text = value if isinstance(value, str) else repr(value) if value is ABSENT else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= most else text[: most - 1] + "…"


def listed(value: Any) -> list[Any]:
    """What may stand alone or as a list."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
