"""Whether a document has only fields that its index knows, told without walking it as its engine would (inference).

Nearly every document of a bulk has. ``Known.has_all`` says yes only where both engines' walks find nothing new: members under
plain names of fields that are mapped, with values, lists of values, or objects of which the same is true. What is rare (names
with dots, ``copy_to``, runtime fields, ``subobjects``, lists in lists, a limit of depth of the index's own) it does not judge: no
is the answer, and the walk decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from esproxy.catalogue.documents import Field
from esproxy.catalogue.dynamic_rules import OBJECTS, RUNTIME

Members = dict[str, "Members | None"]  # name → what is in the object of that name; None: no object
RARE = ("copy_to", "subobjects", RUNTIME)


class Known:
    def __init__(self, mapping: Mapping[str, Any], settings: Mapping[str, Any], fields: Mapping[str, Field]) -> None:
        self.members: Members = {}
        if "subobjects" in mapping or "index.mapping.depth.limit" in settings:
            return
        objects: dict[str, Members] = {"": self.members}
        for path in sorted(fields):  # an object before what is in it
            definition = fields[path].type
            parent, _, name = path.rpartition(".")
            around = objects.get(parent)
            if around is None or any(key in definition for key in RARE):
                continue
            if definition.get("type") in OBJECTS:
                around[name] = objects[path] = {}
            else:
                around[name] = None

    def has_all(self, document: Any) -> bool:
        return isinstance(document, dict) and _has_all(self.members, document)


def _has_all(known: Members, members: dict[str, Any]) -> bool:
    for name, value in members.items():
        if name not in known:
            return False
        kind = type(value)
        if kind is dict:
            below = known[name]
            if below is None or not _has_all(below, value):
                return False
        elif kind is list and not _has_each(known[name], value):
            return False
    return True


def _has_each(below: Members | None, values: list[Any]) -> bool:
    for value in values:
        kind = type(value)
        if kind is list or (kind is dict and (below is None or not _has_all(below, value))):
            return False
    return True
