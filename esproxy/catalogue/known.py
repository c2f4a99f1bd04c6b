"""Whether a document has only fields that its index knows, told without walking it as its engine would (inference).

Nearly every document of a bulk has. ``Known`` says yes only where both engines' walks find nothing new: members under plain names
of fields that are mapped, with values, lists of values, or objects of which the same is true. What is rare (names with dots,
``copy_to``, runtime fields, ``subobjects``, a limit of depth of the index's own) it does not judge: no is the answer, and the
walk decides. What is known is a rule table, so the core's own pass is what tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from esproxy import core
from esproxy.catalogue.documents import Field
from esproxy.catalogue.dynamic_rules import OBJECTS, RUNTIME

VALUE = 1  # the state of what is no object
RARE = ("copy_to", "subobjects", RUNTIME)


class Known:
    """``table``: its state 0 is a document."""

    def __init__(self, mapping: Mapping[str, Any], settings: Mapping[str, Any], fields: Mapping[str, Field]) -> None:
        states: list[dict[str, Any]] = [{"keys": {}}, {}]
        if "subobjects" not in mapping and "index.mapping.depth.limit" not in settings:
            _add(states, fields)
        self.table = core.Table(states, [])
        self.documents = core.Documents(self.table)

    def has_all(self, raw: bytes) -> bool:
        """Of a document that may also be none, or no JSON: then not."""
        return self.documents.have(raw)


def _add(states: list[dict[str, Any]], fields: Mapping[str, Field]) -> None:
    objects = {"": 0}  # path → state
    for path in sorted(fields):  # an object before what is in it
        definition = fields[path].type
        parent, _, name = path.rpartition(".")
        around = objects.get(parent)
        if around is None or any(key in definition for key in RARE):
            continue
        if definition.get("type") in OBJECTS:
            objects[path] = len(states)
            states.append({"keys": {}})
        states[around]["keys"][name] = objects.get(path, VALUE)
