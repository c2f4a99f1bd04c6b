"""How Elasticsearch walks a document for new fields.

* A name with dots is the same as objects in objects; where ``subobjects`` is off, objects are the same as names with dots.
* A field is new once per document: its first value decides, and what comes after is parsed by it. Null and ``[]`` decide
  nothing.
* An array that makes a field ``float`` and holds 128 to 4096 values makes it a ``dense_vector`` instead, whatever else is in
  it.
* Before 9, every value of a new field is asked what the field would be, and a document of two minds is refused. An array after
  which there have been 128 to 4096 values, those of other arrays too, makes the vector, and a value after that is of another
  mind. The document is then read anew, and each array says the dimensions by all that is in it; where they do not agree on
  a number that can be, the field has none and the document is refused.
* Under ``dynamic: runtime`` leaves become runtime fields, and objects are passed through without being mapped.
* ``copy_to`` brings values to fields that may be new, by the same rules, from the root.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from esproxy.catalogue.dates import DEFAULT
from esproxy.catalogue.documents import Field
from esproxy.catalogue.dynamic_rules import (
    ARRAY_TYPES,
    FALSE,
    METADATA,
    OBJECTS,
    RUNTIME,
    STRICT,
    TRUE,
    DynamicRules,
    document_error,
    dynamic_of,
    is_false,
    join,
    strict_error,
)
from esproxy.catalogue.dynamic_templates import RUNTIME_TYPE_OF, Definition
from esproxy.catalogue.fields import flatten, size
from esproxy.errors import Failed, Refusal

VECTOR_SINCE = (8, 11)
FIRST_DECIDES_SINCE = (9,)
VECTOR_DIMS = range(128, 4097)
_CLOSES = object()  # the end of an array among its values
# Types whose value may be an object: where subobjects are off, an object under any other leaf is more names with dots.
OBJECT_VALUES = ARRAY_TYPES | frozenset(
    "flattened histogram aggregate_metric_double exponential_histogram rank_features sparse_vector percolator join semantic_text"
    " integer_range long_range float_range double_range date_range ip_range".split()
)


@dataclass(slots=True, frozen=True)
class _At:
    """The object that is being walked."""

    path: str
    dynamic: str
    subobjects: bool
    mapped: bool = True  # not one that only dynamic: runtime passes through


class ElasticsearchWalk:
    def __init__(self, rules: DynamicRules, known: Mapping[str, Field]) -> None:
        self._rules = rules
        self._known = known
        self._root = _At("", rules.dynamic or TRUE, rules.subobjects)
        self._fields_before = sum(size(field.type) for field in known.values()) + len(rules.runtime - known.keys())
        self._fields_added = 0
        self._not_vectors: set[str] = set()  # new fields that came from a template or a copy
        self._copying = False
        self._guessed: Counter[str] = Counter()  # new fields by how many values of this document have been asked for the type
        self._arrays: dict[str, list[Any]] = {}  # before 9, those of new fields
        self._open: set[str] = set()
        self._every_value_decides = rules.version < FIRST_DECIDES_SINCE
        self.new: dict[str, Definition] = {}

    def document(self, document: dict[str, Any]) -> None:
        self._members(document, self._root)
        if self._every_value_decides:
            self._dimensions()

    def _members(self, members: dict[str, Any], at: _At, front: str = "") -> None:
        for key, value in members.items():
            if not at.subobjects:
                self._field(front + key, value, at)
                continue
            first, *rest = self._names(key, at)
            for name in reversed(rest):
                value = {name: value}
            self._field(first, value, at)

    def _names(self, key: str, at: _At) -> list[str]:
        """The names that a key is made of; the reasons are worded as the node's, whose two texts are swapped."""
        if "." not in key:
            if not key:
                raise document_error(self._rules, "field name cannot be an empty string", key=key)
            if not key.strip():
                reason = f"Field name cannot contain only whitespace: [{join(at.path, key)}]"
                raise document_error(self._rules, reason, None, key=key)
            return [key]
        names = key.rstrip(".").split(".")
        if names == [""]:
            raise document_error(self._rules, "field name cannot contain only dots", key=key)
        for name in names:
            if not name:
                raise document_error(self._rules, f"field name cannot contain only whitespace: ['{key}']", key=key)
            if not name.strip():
                reason = f"field name starting or ending with a [.] makes object resolution ambiguous: [{key}]"
                raise document_error(self._rules, reason, key=key)
        return names

    def _field(self, name: str, value: Any, at: _At) -> None:
        path = join(at.path, name)
        if not at.path and name in METADATA["elasticsearch"]:
            return
        if isinstance(value, dict):
            self._object(path, name, value, at)
        elif isinstance(value, list):
            self._array(path, name, value, at)
        elif value is not None:
            self._leaf(path, name, value, at)
        elif at.dynamic == STRICT and self._leaf_mapper(path) is None:
            raise strict_error(STRICT, at.path, name, key=name)

    def _mapper(self, path: str) -> Definition | None:
        """What is mapped under properties."""
        field = self._known.get(path)
        definition = self.new.get(path) if field is None else field.type
        return None if definition is None or RUNTIME in definition else definition

    def _leaf_mapper(self, path: str) -> Definition | None:
        """What takes a value: mapped, or a runtime field, for which values are not indexed."""
        definition = self._mapper(path)
        if definition is None and (path in self._known or path in self.new or path in self._rules.runtime):
            return {"type": "", RUNTIME: True}
        return definition

    def _object(self, path: str, name: str, value: dict[str, Any], at: _At) -> None:
        mapper = self._mapper(path)
        if mapper is not None:
            if mapper["type"] in OBJECTS:
                self._enter(path, mapper, value, at)
            elif not at.subobjects and mapper["type"] not in OBJECT_VALUES:
                self._members(value, at, f"{name}.")
            elif path in self._guessed and self._every_value_decides:
                raise _no_merge(path)
            return
        if at.dynamic == STRICT:
            raise strict_error(STRICT, at.path, name, key=name)
        if at.dynamic == FALSE:
            return
        if at.dynamic == RUNTIME:
            self._members(value, _At(path, RUNTIME, at.subobjects, mapped=False))
            return
        template = self._rules.template(path, name, "object")
        definition = {"type": "object"} if template is None else self._rules.from_template(template, name, "object")
        if not at.subobjects and definition["type"] == "object":
            self._members(value, at, f"{name}.")
            return
        if not at.subobjects and definition["type"] == "nested":
            reason = f"Tried to add nested object [{name}] to object [{at.path}] which does not support subobjects"
            raise document_error(self._rules, reason, None)
        self._add(path, name, definition)
        if definition["type"] in OBJECTS:
            self._enter(path, definition, value, at)
        else:
            self._not_vectors.add(path)

    def _enter(self, path: str, definition: Definition, value: dict[str, Any], at: _At) -> None:
        if is_false(definition.get("enabled")):
            return
        dynamic = dynamic_of(definition) or at.dynamic
        self._members(value, _At(path, dynamic, not is_false(definition.get("subobjects"))))

    def _array(self, path: str, name: str, values: list[Any], at: _At) -> None:
        mapper = self._leaf_mapper(path)
        if mapper is None:
            if at.dynamic == STRICT:
                raise strict_error(STRICT, at.path, name, key=name)
            if at.dynamic == FALSE:
                return
            template = self._rules.template(path, name, "object")
            if template is not None:
                definition = self._rules.from_template(template, name, "object")
                if definition["type"] in ARRAY_TYPES:
                    self._add(path, name, definition)
                    self._not_vectors.add(path)
                    return
        elif mapper["type"] in ARRAY_TYPES and not (self._every_value_decides and path in self._guessed):
            return
        outermost = path not in self._open
        if outermost and self._every_value_decides:
            self._open.add(path)
            self._arrays.setdefault(path, []).append(values)
        for value in values:
            self._field(name, value, at)
        if outermost:
            self._open.discard(path)
        if self.new.get(path) == {"type": "float"} and path not in self._not_vectors and self._rules.version >= VECTOR_SINCE:
            here = sum(value is not None and not isinstance(value, dict | list) for value in values)
            dims = self._guessed[path] if self._every_value_decides else here
            if dims in VECTOR_DIMS:
                self.new[path] = {"type": "dense_vector", "dims": dims, "index": True, "similarity": "cosine"}

    def _dimensions(self) -> None:
        """What new vectors have before 9."""
        for path, definition in self.new.items():
            if definition["type"] == "dense_vector" and path not in self._not_vectors:
                told = {dims for values in self._arrays[path] for dims in _runs(values)}
                definition.pop("dims")
                if len(told) == 1 and max(told) in range(1, VECTOR_DIMS.stop):
                    definition["dims"] = told.pop()

    def _leaf(self, path: str, name: str, value: Any, at: _At) -> None:
        mapper = self._leaf_mapper(path)
        if mapper is None:
            if at.dynamic == STRICT:
                raise strict_error(STRICT, at.path, name, key=name)
            if at.dynamic == FALSE:
                return
            mapper = self._new_leaf(path, name, value, at)
        elif self._every_value_decides and path in self._guessed:
            self._check_alike(path, name, value, mapper)
        elif self._every_value_decides and path in self.new and mapper["type"] in OBJECTS:
            raise _no_merge(path)
        if "copy_to" in mapper and not self._copying:
            self._copy(mapper["copy_to"], value)

    def _check_alike(self, path: str, name: str, value: Any, mapper: Definition) -> None:
        """Raises Refusal for a value that would make another field than the one that is new."""
        kind, form = self._rules.kind(value)
        template = self._rules.template(path, name, kind)
        other = self._rules.default(kind, form) if template is None else self._rules.from_template(template, name, kind, form)
        self._guessed[path] += 1
        if RUNTIME in mapper:
            return
        if mapper["type"] != other["type"]:
            raise Refusal(f"mapper [{path}] cannot be changed from type [{mapper['type']}] to [{other['type']}]")
        if mapper["type"] in ("date", "date_nanos"):
            usual = {"format": DEFAULT, "locale": "en"}
            differ = [(key, mapper.get(key, text), other.get(key, text)) for key, text in usual.items()]
            told = [f"\n\tCannot update parameter [{key}] from [{was}] to [{now}]" for key, was, now in differ if was != now]
            if told:
                raise Refusal(f"Mapper for [{path}] conflicts with existing mapper:{''.join(told)}")

    def _new_leaf(self, path: str, name: str, value: Any, at: _At) -> Definition:
        kind, form = self._rules.kind(value)
        template = self._rules.template(path, name, kind)
        if template is not None:
            definition = self._rules.from_template(template, name, kind, form)
            if definition["type"] in OBJECTS:
                reason = f"object mapping for [{path}] tried to parse field [{name}] as object, but found a concrete value"
                raise document_error(self._rules, reason, None)
            if not at.mapped and not template.runtime:
                raise Failed(f"Missing intermediate object {at.path}", status=500, type="illegal_state_exception")
            self._not_vectors.add(path)
        elif at.dynamic == RUNTIME:
            definition = {"type": RUNTIME_TYPE_OF[kind], RUNTIME: True}
            if form is not None:
                definition |= {key: text for key, text in self._rules.default(kind, form).items() if key == "format"}
        else:
            definition = self._rules.default(kind, form)
        if self._copying:
            self._not_vectors.add(path)
        self._add(path, name, definition)
        self._guessed[path] += 1
        return definition

    def _copy(self, copy_to: str | list[str], value: Any) -> None:
        self._copying = True
        for target in [copy_to] if isinstance(copy_to, str) else copy_to:
            self._members({target: value}, self._root)
            self._not_vectors.add(target)
        self._copying = False

    def _add(self, path: str, name: str, definition: Definition) -> None:
        front = path.removesuffix(name)
        added = flatten({name: definition}, front) if definition["type"] in OBJECTS else {path: definition}
        for below, each in added.items():
            if each.get("type") in OBJECTS and below.count(".") + 2 > self._rules.depth:
                reason = f"Limit of mapping depth [{self._rules.depth}] has been exceeded due to object field [{below}]"
                raise document_error(self._rules, reason)
        self._fields_added += sum(size(each) for each in added.values())
        if self._fields_before + self._fields_added > self._rules.total_fields:
            reason = f"Limit of total fields [{self._rules.total_fields}] has been exceeded while adding new fields"
            raise document_error(self._rules, f"{reason} [{self._fields_added}]", key=name, value=True)
        self.new |= added


def _runs(values: list[Any]) -> Iterator[int]:
    """How many dimensions the reader of vectors counts: whatever comes before the next bracket that closes, brackets that open
    among it. What comes after that is another vector to it."""
    counted: int | None = 0
    for token in _tokens(values):
        if token is _CLOSES:
            if counted is not None:
                yield counted
            counted = None
        elif counted is not None:
            counted += 1
        elif token is not None:
            counted = 0


def _tokens(values: list[Any]) -> Iterator[Any]:
    for value in values:
        yield value
        if isinstance(value, list):
            yield from _tokens(value)
    yield _CLOSES


def _no_merge(path: str) -> Refusal:
    return Refusal(f"can't merge a non object mapping [{path}] with an object mapping")
