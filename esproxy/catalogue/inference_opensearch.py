"""How OpenSearch walks a document for new fields.

* Every value of a field that is new is judged by itself, and then all must agree: ``[1, 1.5]`` refuses the document.
* A name with dots makes its objects on the way to the last name; where one of them is a leaf, the node refuses the document.
* ``dynamic`` of an object that the same document made is true, whatever the objects above it say, unless it lies at the root.
* ``strict_allow_templates`` and ``false_allow_templates`` are ``strict`` and ``false`` for what no template matches. A name
  with dots under the latter, where only the last name has a template, never ends on a node; here nothing is mapped.
* Null under strict is refused only where the object around it says ``strict`` itself.
* ``copy_to`` brings values to fields that may be new, by the same rules, from the root.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from esproxy.catalogue.documents import Field
from esproxy.catalogue.dynamic_rules import (
    ARRAY_TYPES,
    FALSE,
    FALSE_ALLOW_TEMPLATES,
    METADATA,
    OBJECTS,
    STRICT,
    STRICT_ALLOW_TEMPLATES,
    TRUE,
    DynamicRules,
    document_error,
    dynamic_of,
    is_false,
    join,
    strict_error,
)
from esproxy.catalogue.dynamic_templates import Definition
from esproxy.catalogue.fields import flatten, size
from esproxy.errors import Refusal


@dataclass(slots=True, frozen=True)
class _At:
    """The object that is being walked; ``fresh`` is what it has when this document made it."""

    path: str
    dynamic: str | None
    fresh: dict[str, Definition] | None = None


@dataclass(slots=True)
class OpenSearchWalk:
    rules: DynamicRules
    known: Mapping[str, Field]
    seen: dict[str, list[Definition]] = field(default_factory=dict)  # path → what each of its values wants
    inside: set[str] = field(default_factory=set)  # paths that came as properties of an object's template
    copying: bool = False

    def document(self, document: dict[str, Any]) -> None:
        self._members(document, self._root(), 1)

    def _root(self) -> _At:
        return _At("", self.rules.dynamic)

    def _members(self, members: dict[str, Any], at: _At, depth: int) -> None:
        if depth > self.rules.depth:
            reason = f"The depth of the field has exceeded the allowed limit of [{self.rules.depth}]."
            hint = "This limit can be set by changing the [index.mapping.depth.limit] index level setting."
            raise document_error(self.rules, f"{reason} {hint}", "parse_exception")
        for key, value in members.items():
            names = self._names(key)
            if not self._within_disabled(names, at):
                self._field(names, key, value, at, depth)

    def _names(self, key: str) -> list[str]:
        if not key:
            raise document_error(self.rules, "field name cannot be an empty string")
        if "." not in key:
            return [key]
        names = key.rstrip(".").split(".")
        if names == [""]:
            raise document_error(self.rules, "field name cannot contain only the character [.]")
        for name in names:
            if not name:
                reason = f"object field starting or ending with a [.] makes object resolution ambiguous: [{key}]"
                raise document_error(self.rules, reason)
            if not name.strip():
                raise document_error(self.rules, f"object field cannot contain only whitespace: ['{key}']")
        return names

    def _field(self, names: list[str], key: str, value: Any, at: _At, depth: int) -> None:
        if not at.path and key in METADATA["opensearch"]:
            return
        found = self._mapper(names, key, at)
        if isinstance(value, dict):
            self._object(found, names, value, at, depth)
        elif isinstance(value, list):
            self._array(found, names, key, value, at, depth)
        elif value is None:
            if found is None and at.dynamic in (STRICT, STRICT_ALLOW_TEMPLATES):
                raise strict_error(at.dynamic, at.path, key)
        else:
            self._leaf(found, names, value, at)

    def _look(self, at: _At, path: str) -> Definition | None:
        if at.fresh is not None:
            return at.fresh.get(path)
        known = self.known.get(path)
        return None if known is None else known.type

    def _within_disabled(self, names: list[str], at: _At) -> bool:
        path = at.path
        for name in names[:-1]:
            path = join(path, name)
            definition = self._look(at, path)
            if definition is None or definition["type"] not in OBJECTS:
                return False
            if is_false(definition.get("enabled")):
                return True
        return False

    def _mapper(self, names: list[str], key: str, at: _At) -> tuple[str, Definition] | None:
        path = at.path
        for name in names[:-1]:
            path = join(path, name)
            definition = self._look(at, path)
            if definition is None or definition["type"] not in OBJECTS:
                return None
            if definition["type"] == "nested":
                reason = f"Cannot add a value for field [{key}] since one of the intermediate objects"
                raise document_error(self.rules, f"{reason} is mapped as a nested object: [{path}]", None)
        path = join(path, names[-1])
        definition = self._look(at, path)
        return None if definition is None else (path, definition)

    def _object(self, found: tuple[str, Definition] | None, names: list[str], value: dict[str, Any], at: _At, depth: int) -> None:
        if found is not None:
            path, definition = found
            if definition["type"] in OBJECTS and not is_false(definition.get("enabled")):
                self._members(value, _At(path, dynamic_of(definition), at.fresh), depth + 1)
            return
        parent = self._parent(names, at)
        if parent is None:
            return
        dynamic = self._dynamic(parent)
        if dynamic == STRICT:
            raise strict_error(dynamic, at.path, names[-1])
        if dynamic == FALSE:
            return
        definition = self._object_definition(names[-1], parent, dynamic, at.path)
        if definition is None:
            return
        made = self._see(parent.path, names[-1], definition)
        if definition["type"] in OBJECTS and not is_false(definition.get("enabled")):
            self._members(value, made, depth + 1)

    def _object_definition(self, name: str, parent: _At, dynamic: str, within: str) -> Definition | None:
        """What an object or array would be made; None where templates alone decide and none does."""
        template = self.rules.template(join(parent.path, name), name, "object")
        if template is not None:
            return self.rules.from_template(template, name, "object")
        if dynamic == STRICT_ALLOW_TEMPLATES:
            raise strict_error(dynamic, within, name)
        return None if dynamic == FALSE_ALLOW_TEMPLATES else {"type": "object"}

    def _parent(self, names: list[str], at: _At) -> _At | None:
        """The object of the last name, made where it is not there; None when nothing under it can be mapped."""
        for name in names[:-1]:
            path = join(at.path, name)
            known = self.known.get(path)
            if known is not None and known.type["type"] not in OBJECTS:
                return None
            if known is not None:
                at = _At(path, dynamic_of(known.type))
                continue
            dynamic = self._dynamic(at)
            if dynamic == STRICT:
                raise strict_error(dynamic, at.path, name)
            if dynamic == FALSE:
                return None
            definition = self._object_definition(name, at, dynamic, at.path)
            if definition is None:
                return None
            if definition["type"] != "object":
                reason = f"It is forbidden to create dynamic nested objects ([{path}]) through `copy_to` or dots in field names"
                raise document_error(self.rules, reason, None)
            at = self._see(at.path, name, definition)
        return at

    def _dynamic(self, at: _At) -> str:
        path, dynamic = at.path, at.dynamic
        while dynamic is None and "." in path:
            path = path.rpartition(".")[0]
            above = self.known.get(path)
            if above is None:
                return TRUE
            dynamic = dynamic_of(above.type)
        return dynamic or self.rules.dynamic or TRUE

    def _array(
        self, found: tuple[str, Definition] | None, names: list[str], key: str, values: list[Any], at: _At, depth: int
    ) -> None:
        if found is not None:
            if found[1]["type"] in ARRAY_TYPES:
                return
        else:
            parent = self._parent(names, at)
            if parent is None:
                return
            dynamic = self._dynamic(parent)
            if dynamic == STRICT:
                raise strict_error(dynamic, parent.path, names[-1])
            if dynamic == FALSE:
                return
            definition = self._object_definition(names[-1], parent, dynamic, parent.path)
            if definition is None:
                return
            if definition["type"] in ARRAY_TYPES:
                self._see(parent.path, names[-1], definition)
                return
            at, names, key = parent, names[-1:], names[-1]
        for value in values:
            self._field(names, key, value, at, depth)

    def _leaf(self, found: tuple[str, Definition] | None, names: list[str], value: Any, at: _At) -> None:
        definition = found[1] if found is not None else self._new_leaf(names, value, at)
        if definition is not None and "copy_to" in definition and not self.copying:
            self._copy(definition["copy_to"], value)

    def _new_leaf(self, names: list[str], value: Any, at: _At) -> Definition | None:
        parent, name = self._parent(names, at), names[-1]
        if parent is None:
            return None
        dynamic = self._dynamic(parent)
        if dynamic == STRICT:
            raise strict_error(dynamic, parent.path, name)
        if dynamic == FALSE:
            return None
        kind, form = self.rules.kind(value)
        template = self.rules.template(join(parent.path, name), name, kind)
        if template is None:
            if dynamic == STRICT_ALLOW_TEMPLATES:
                raise strict_error(dynamic, parent.path, name)
            if dynamic == FALSE_ALLOW_TEMPLATES:
                return None
            definition = self.rules.default(kind, form)
        else:
            definition = self.rules.from_template(template, name, kind, form)
            if definition["type"] in OBJECTS:
                reason = f"object mapping for [{join(parent.path, name)}] tried to parse field [{name}] as object"
                raise document_error(self.rules, f"{reason}, but found a concrete value", None)
        self._see(parent.path, name, definition)
        return definition

    def _copy(self, copy_to: str | list[str], value: Any) -> None:
        self.copying = True
        for target in [copy_to] if isinstance(copy_to, str) else copy_to:
            if target not in self.known:
                self._leaf(None, self._names(target), value, self._root())
        self.copying = False

    def _see(self, parent: str, name: str, definition: Definition) -> _At:
        path = join(parent, name)
        made = {path: definition}
        if definition["type"] in OBJECTS:
            made = flatten({name: definition}, join(parent, ""))
        for below, each in made.items():
            if below != path and below not in self.seen:
                self.inside.add(below)
            self.seen.setdefault(below, []).append(each)
        return _At(path, dynamic_of(definition), made)

    @property
    def new(self) -> dict[str, Definition]:
        """The fields, when all that was seen agrees and the limits hold."""
        for number, path in enumerate(sorted(self.seen, key=lambda path: path.encode("utf-16-be", "surrogatepass"))):
            _agree(path, self.seen[path], number == 0 or path in self.inside)
        new = {path: definitions[0] for path, definitions in self.seen.items()}
        for path, definition in new.items():
            if definition["type"] in OBJECTS and path.count(".") + 2 > self.rules.depth:
                raise Refusal(f"Limit of mapping depth [{self.rules.depth}] has been exceeded due to object field [{path}]")
        total = sum(size(known.type) for known in self.known.values()) + sum(size(definition) for definition in new.values())
        if new and total > self.rules.total_fields:
            raise Refusal(f"Limit of total fields [{self.rules.total_fields}] has been exceeded")
        return new


def _agree(path: str, wanted: list[Definition], held: bool) -> None:
    """Do all values of a field want the same? The node merges into what its update ``holds``, its first field of all; each later
    definition takes in the one before; and an object waits until everything else has been seen."""
    first, *others = wanted
    waits = held and others != [] and _is_object(others[0]) and not _is_object(first)
    if held and others and not waits and others[0] != first:
        raise Refusal(_clash(path, first, others[0]))
    before = others[0] if held and others else first
    for other in others[1:] if held else others:
        if other != before:
            raise Refusal(_clash(path, other, before))
    if waits:
        raise Refusal(f"can't merge a non object mapping [{path}] with an object mapping")


def _is_object(definition: Definition) -> bool:
    return definition["type"] in OBJECTS


def _clash(path: str, into: Definition, merged: Definition) -> str:
    if _is_object(into):
        return f"can't merge a non object mapping [{path}] with an object mapping"
    if into["type"] != merged["type"]:
        word = "ObjectMapper" if _is_object(merged) else merged["type"]
        return f"mapper [{path}] cannot be changed from type [{into['type']}] to [{word}]"
    told = [f"Mapper for [{path}] conflicts with existing mapper:"]
    for key, without in (("format", "strict_date_optional_time||epoch_millis"), ("print_format", "strict_date_optional_time")):
        before, after = into.get(key, without), merged.get(key, without)
        if before != after:
            told.append(f"Cannot update parameter [{key}] from [{before}] to [{after}]")
    return "\n\t".join(told)
