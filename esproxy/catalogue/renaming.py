"""Documents under physical field names, and back.

A field has a physical name of its own where its pool holds that name with another type (fields). Few entries have such fields;
``Renames.of`` gives None for all others, and their documents are not looked at.

What an entry does not know (nulls, empty arrays, what ``dynamic`` lets be ignored) keeps its name, since no pool gives a plain
name to a field that it could harm (fields). A name that looks like a physical one is escaped: ``a~2`` is ``a~2~1``. Only with
``hide_unknown``, for an index whose ``dynamic`` was changed after its pool was made, is every unknown name hidden: ``age~0`` is a
name that no pool ever gives to a field, and comes back as ``age``.

Names with dots are rewritten as they stand: ``{"a.b": 1}`` becomes ``{"a.b~2": 1}``. Beyond leaves nothing is walked: the
members of a geo point or a flattened field are values. A number keeps its digits, and members keep their order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from esproxy.catalogue.documents import Field
from esproxy.catalogue.dynamic_rules import OBJECTS, is_false
from esproxy.catalogue.fields import own_name, restored

ESCAPING = (b"~", b"\\u00")  # without these in a document no name in it has to be escaped or restored


@dataclass(slots=True)
class _Names:
    """What one object's members become; ``below`` by the name that comes in."""

    name: str
    walked: bool
    below: dict[str, _Names]


@dataclass(slots=True, frozen=True)
class Renames:
    """Both ways of one entry's fields, built once per version of it."""

    physical: _Names
    logical: _Names

    unknown: Callable[[str], str]
    every: bool  # has every document to be looked at?

    @classmethod
    def of(cls, known: Mapping[str, Field], hide_unknown: bool = False) -> Renames:
        every = hide_unknown or any(path != field.physical for path, field in known.items())
        trees = _tree(known, to_physical=True), _tree(known, to_physical=False)
        return cls(*trees, _hidden if hide_unknown else own_name, every)

    def physical_document(self, raw: bytes) -> bytes:
        """The very same bytes where nothing is called otherwise. Raises ValueError for two members of one name, which no node
        takes."""
        if not self.every and not any(text in raw for text in ESCAPING):
            return raw
        return _Rewrite(self.physical, self.unknown)(raw)

    def logical_document(self, raw: bytes) -> bytes:
        """A stored document as its tenant wrote it, also with fields that somebody has added since this was made: the first
        unknown name on a way is restored by its own spelling."""
        return _Rewrite(self.logical, restored)(raw) if any(text in raw for text in ESCAPING) else raw


def _hidden(name: str) -> str:
    return f"{name}~0"


def logical_path(physical: str) -> str:
    """The logical name of a physical path, as it stands in answers (``fields``, ``highlight``, ``sort``)."""
    return ".".join(restored(segment) for segment in physical.split(".")) if "~" in physical else physical


def _tree(known: Mapping[str, Field], to_physical: bool) -> _Names:
    root = _Names("", True, {})
    for path, field in sorted(known.items()):
        at = root
        sides = list(zip(path.split("."), field.physical.split("."), strict=True))
        for place, (logical, physical) in enumerate(sides):
            comes, goes = (logical, physical) if to_physical else (physical, logical)
            walked = place + 1 < len(sides) or (field.type.get("type") in OBJECTS and not is_false(field.type.get("enabled")))
            at = at.below.setdefault(comes, _Names(goes, walked, {}))
    return root


class _Members(list[tuple[str, Any]]):
    """An object's members in order."""


class _Number(str):
    """A number as it was written."""


@dataclass(slots=True)
class _Rewrite:
    names: _Names
    unknown: Callable[[str], str]  # what the first unknown name on a way becomes
    changed: bool = False

    def __call__(self, raw: bytes) -> bytes:
        # Pairs, not dicts: members of one name twice are seen. Numbers stay text.
        document = json.loads(raw, object_pairs_hook=_Members, parse_int=_Number, parse_float=_Number)
        self._value(document, self.names)
        return "".join(_written(document)).encode() if self.changed else raw

    def _value(self, value: Any, names: _Names) -> None:
        if isinstance(value, _Members):
            hidden: set[int] = set()
            keys = [key for key, _ in value]
            if len(set(keys)) != len(keys):
                raise ValueError(f"Duplicate field '{next(key for key in keys if keys.count(key) > 1)}'")
            for place, (key, below) in enumerate(value):
                found, name = self._followed(key, names)
                if name != key:
                    value[place] = name, below
                    self.changed = True
                    if found is None and key.endswith("~0"):
                        hidden.add(place)
                if found is not None and found.walked:
                    self._value(below, found)
            if hidden:  # a name that has become known since stands for what was hidden under it before
                seen = {key for place, (key, _) in enumerate(value) if place not in hidden}
                value[:] = [member for place, member in enumerate(value) if place not in hidden or member[0] not in seen]
        elif isinstance(value, list):
            for below in value:
                self._value(below, names)

    def _followed(self, key: str, names: _Names) -> tuple[_Names | None, str]:
        """A key, dots and all, as far as it is known."""
        at: _Names | None = names
        segments = []
        for segment in key.split("."):
            if at is None or not at.walked:  # within a leaf or below what is unknown
                at = None
                segments.append(segment)
                continue
            at = at.below.get(segment)
            segments.append(self.unknown(segment) if at is None else at.name)
        return at, ".".join(segments)


def _written(value: Any) -> list[str]:
    if isinstance(value, _Number):
        return [value]
    if isinstance(value, _Members):
        parts = ["{"]
        for place, (key, below) in enumerate(value):
            parts += [("," if place else "") + json.dumps(key, ensure_ascii=True) + ":", *_written(below)]
        return [*parts, "}"]
    if isinstance(value, list):
        parts = ["["]
        for place, below in enumerate(value):
            parts += ["," if place else "", *_written(below)]
        return [*parts, "]"]
    return [json.dumps(value)]
