"""How a pool calls the fields of one logical index and holds its documents: all in which pooled layouts differ.

``Shared``: a path keeps its name unless its pool already had that name with another type (``esproxy.catalogue.fields``), so
there is something to do only for targets with such fields; documents are stored as they are, but for those names.

``Nested`` (the layout ``per-tenant``): everything is in an object named by the index's number, ``n17``. The core puts ``n17.`` in
front of plain names and the object around documents by itself; here is the rest: patterns, texts, mappings, and what comes back.

``Alone``: an index of ``per-tenant`` that has a physical one to itself, for a reason in the catalogue. Nothing is renamed.

Names are handed in without ``^boost`` or ``:order``, and never those of meta fields.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, Protocol

import orjson

from esproxy import exact
from esproxy.api.kinds import Kind, Op
from esproxy.catalogue import names
from esproxy.catalogue.documents import Index
from esproxy.catalogue.dynamic_rules import is_false
from esproxy.catalogue.fields import flatten, held, hides, is_below, nest, unheld
from esproxy.catalogue.objects import logical_definition, logical_object, logical_text, object_mapping
from esproxy.catalogue.pools import ROOT
from esproxy.catalogue.renaming import ESCAPING, Renames, logical_path
from esproxy.core import Action
from esproxy.errors import Refusal, Violation
from esproxy.tenancy.expressions import matching
from esproxy.tenancy.text import quoted

SPACE = b" \t\r\n"
DOC_COUNT = "_doc_count"
# Members that no document may have, on any engine.
META_MEMBERS = frozenset(
    ("_id", "_index", "_source", "_routing", "_field_names", "_ignored", "_nested_path", "_seq_no", "_version")
)  # fmt: skip


class Naming(Protocol):
    """What a layout does to names of fields and to documents of one index."""

    request: dict[Kind, Action]  # what the core does at a kind by itself, for a request over this index alone

    @property
    def any(self) -> bool:
        """Has some field another name in the pool?"""

    @property
    def inferred(self) -> bool:
        """Are the fields that documents bring the proxy's to add, not the node's?"""

    @property
    def own_terms(self) -> bool:
        """Has no document of another index terms in this one's fields?"""

    @property
    def root(self) -> str | None:
        """The object that a document is in."""

    front: bytes  # what is put before a document, a bracket behind it; one without it that holds no ``~`` is as it was written

    @property
    def odd(self) -> tuple[bytes, ...] | None:
        """Texts: a document that holds none of them is stored as it is, or inside of ``front``. None: any is looked at."""

    @property
    def every(self) -> str:
        """The pattern for all of the index's fields."""

    @property
    def answer(self) -> dict[Kind, Action]:
        """What the core does at a kind by itself, for an answer about this index alone."""

    def field(self, name: str) -> str:
        """The physical path; for a path that the index does not have, one that nothing in the pool has. A pattern is left to be
        expanded where others have fields."""

    def has(self, name: str) -> bool:
        """Has the index this path, or is every path its own?"""

    def in_source(self, name: str) -> str:
        """The path or pattern in documents as they are stored. Raises Refusal."""

    def logical(self, physical: str) -> str:
        """The client's name of a path in an answer."""

    def owned(self, physical: str) -> str | None:
        """The client's name of a path in the pool; None for one that is not this index's."""

    def document(self, raw: bytes) -> bytes:
        """A document as it is stored."""

    def sample(self, raw: bytes) -> bytes:
        """A document that is only looked at: nothing in it meets a field that the index does not have. Raises ValueError."""

    def source(self, raw: bytes) -> bytes:
        """A stored document, or the part of it that a node gives, as the client wrote it."""

    def text(self, text: str) -> str:
        """A node's words, which may quote names of fields."""

    def mapping(self, physical: dict[str, Any]) -> dict[str, Any]:
        """The index's mapping, of a node's answer about the physical one."""

    def definition(self, physical: dict[str, Any]) -> dict[str, Any]:
        """One field's definition, of a node's answer."""

    def addition(self, mapping: dict[str, Any]) -> dict[str, Any] | None:
        """What the node is sent for an addition to the mapping; None where fields are claimed first. Raises Refusal."""


def naming_of(layout: str, index: Index) -> Naming:
    if layout == "shared":
        return Shared(index)
    if layout == "dedicated":
        return Whole(index)
    return Nested(index) if index.reason is None else Alone(index)


def required(mapping: dict[str, Any]) -> bool:
    """Must a document have a routing value of its client's?"""
    return str((mapping.get("_routing") or {}).get("required")).lower() == "true"


class Shared:
    inferred = True
    root = None
    front = b""
    every = "*"

    def __init__(self, index: Index) -> None:
        self.request: dict[Kind, Action] = {}
        self.index = index
        self.own_terms = index.reason is not None

    @cached_property
    def any(self) -> bool:
        return bool(self.renamed)

    @cached_property
    def answer(self) -> dict[Kind, Action]:
        return {Kind.FIELD: Action(Op.STOP)} if self.any else {}

    @cached_property
    def renamed(self) -> dict[str, str]:
        """Logical path → physical, for the fields that have a physical name of their own."""
        return {path: field.physical for path, field in self.index.fields.items() if field.physical != path}

    @cached_property
    def renames(self) -> Renames:
        """How its documents are stored."""
        return Renames.of(self.index.fields, hides(self.index))

    @property
    def odd(self) -> tuple[bytes, ...] | None:
        return None if self.renames.every else ESCAPING

    def field(self, name: str) -> str:
        if self.own_terms:
            return self.in_source(name)
        if "*" in name:
            return name
        return held(name, self.index.fields) or unheld(name)

    def has(self, name: str) -> bool:
        return held(name, self.index.fields) is not None

    def in_source(self, name: str) -> str:
        exact = self.renamed.get(name)
        if exact is not None:
            return exact
        if "*" in name and not name.endswith("*"):
            if any(path in self.renamed for path in matching(name, list(self.index.fields))):
                raise Refusal(f"the pattern [{name}] is not available for an index with renamed fields")
            return name
        parent = name
        while "." in parent:  # a multi-field, or a field below one that is renamed
            parent = parent.rpartition(".")[0]
            if parent in self.renamed:
                return self.renamed[parent] + name[len(parent) :]
        return name

    def logical(self, physical: str) -> str:
        return logical_path(physical)

    @cached_property
    def paths(self) -> dict[str, str]:
        """Physical path → logical."""
        return {field.physical: path for path, field in self.index.fields.items()}

    def owned(self, physical: str) -> str | None:
        at = physical
        while at not in self.paths:  # below a leaf: a multi-field, or what a type makes for itself
            at = at.rpartition(".")[0]
            if not at:
                return None
        path = self.paths[at]
        if at != physical and not is_below(self.index.fields[path].type, physical[len(at) + 1 :]):
            return None  # another's multi-field
        return path + physical[len(at) :]

    def document(self, raw: bytes) -> bytes:
        return self.renames.physical_document(raw)

    def sample(self, raw: bytes) -> bytes:
        return Renames.of(self.index.fields, True).physical_document(raw)

    def source(self, raw: bytes) -> bytes:
        return self.renames.logical_document(raw)

    def text(self, text: str) -> str:
        for path, name in self.renamed.items():
            text = quoted(text, name, path)
            own, logical = name.rpartition(".")[2], path.rpartition(".")[2]
            if own != logical:
                text = text.replace(f'"{own}"', f'"{logical}"')  # a document that is quoted
        return text

    def mapping(self, physical: dict[str, Any]) -> dict[str, Any]:
        """The index's part of a physical mapping, as the node writes it, with the root parameters that the client declared."""
        there = flatten(physical.get("properties", {}))
        fields = self.index.fields
        own = {path: dict(there[field.physical]) for path, field in fields.items() if field.physical in there}
        parents = {path.rpartition(".")[0] for path in own}
        for path, definition in own.items():
            if "dynamic" in fields[path].type:
                definition["dynamic"] = str(fields[path].type["dynamic"]).lower()  # which the node was not told
            if "fields" in definition:  # others' multi-fields are not the index's
                declared = fields[path].type.get("fields") or {}
                definition["fields"] = {name: field for name, field in definition["fields"].items() if name in declared}
                if not definition["fields"]:
                    del definition["fields"]
            if definition.get("type") == "object" and path in parents:
                del definition["type"]
        declared = {*self.index.mapping, "runtime"}  # which documents bring, too
        root = {key: value for key, value in physical.items() if key in declared and key not in ROOT["shared"]}
        for key, value in self.index.mapping.items():
            if key != "properties" and key in ROOT["shared"]:
                root[key] = str(value).lower() if key == "dynamic" else value
        if "_routing" in root and not required(self.index.mapping):
            del root["_routing"]  # nodes do not tell of what they do anyway
        properties = nest(own, subobjects=not is_false(self.index.mapping.get("subobjects")))
        return {**root, "properties": properties} if properties else root

    def definition(self, physical: dict[str, Any]) -> dict[str, Any]:
        return physical

    def addition(self, mapping: dict[str, Any]) -> dict[str, Any] | None:
        return None


class Nested:
    any = True
    inferred = False
    own_terms = True
    odd = (b'"_', b"\\")

    def __init__(self, index: Index) -> None:
        self.index = index
        self.root = names.object_name(index.n)
        self.prefix = self.root + "."
        self.every = self.prefix + "*"
        prefix, self.front = self.prefix.encode(), b'{"%b":' % self.root.encode()
        self.request = {
            Kind.FIELD: Action(Op.PREFIX, prefix),
            Kind.SOURCE: Action(Op.PREFIX, prefix),
        }
        self.answer = {Kind.FIELD: Action(Op.STRIP, prefix)}

    def field(self, name: str) -> str:
        return self.prefix + name

    def has(self, name: str) -> bool:
        return True

    def in_source(self, name: str) -> str:
        return self.prefix + name

    def logical(self, physical: str) -> str:
        return physical.removeprefix(self.prefix)

    def owned(self, physical: str) -> str | None:
        return physical.removeprefix(self.prefix) if physical.startswith(self.prefix) else None

    def document(self, raw: bytes) -> bytes:
        """What the node reads of a document's root it does not read below: a member with the name of a meta field, which it
        refuses, goes up as it is to be refused; a count of documents goes beside the object."""
        if any(text in raw for text in self.odd):
            members = orjson.loads(raw).keys()
            if not members.isdisjoint(META_MEMBERS):
                return raw
            if DOC_COUNT in members:
                return self._counted(raw)
        return self.front + raw + b"}"

    def sample(self, raw: bytes) -> bytes:
        return self.document(raw)

    def _counted(self, raw: bytes) -> bytes:
        tree = exact.loads(raw)
        count = tree.pop(DOC_COUNT)
        return exact.dumps({self.root: tree, DOC_COUNT: count})

    def source(self, raw: bytes) -> bytes:
        """What is not in the object is a part that a node took out: an inner hit's, or nothing at all."""
        if raw.startswith(self.front):
            inner = raw[len(self.front) : -1]
        else:
            found = re.match(rb'\{\s*"%b"\s*:\s*' % self.root.encode(), raw)  # as ``pretty`` writes it
            if found is None:
                return raw
            inner = raw[found.end() : -1].rstrip(SPACE)
        if inner.endswith(b"}"):
            return inner
        tree = exact.loads(raw)  # with a count beside the object
        own = tree.pop(self.root)
        if not isinstance(own, dict):
            raise Violation("a document")
        return exact.dumps(own | tree)

    def text(self, text: str) -> str:
        return logical_text(text, self.index.n)

    def mapping(self, physical: dict[str, Any]) -> dict[str, Any]:
        return logical_object(self.index.mapping, physical, self.index.n)

    def definition(self, physical: dict[str, Any]) -> dict[str, Any]:
        return logical_definition(physical, self.index.n)

    def addition(self, mapping: dict[str, Any]) -> dict[str, Any] | None:
        return {"properties": object_mapping(mapping, self.index.n, new=False)}


class Alone:
    any = False
    inferred = False
    own_terms = True
    root = None
    front = b""
    odd = ()
    every = "*"

    def __init__(self, index: Index) -> None:
        self.index = index
        self.request: dict[Kind, Action] = {}
        self.answer: dict[Kind, Action] = {}

    def field(self, name: str) -> str:
        return name

    def has(self, name: str) -> bool:
        return True

    def in_source(self, name: str) -> str:
        return name

    def logical(self, physical: str) -> str:
        return physical

    def owned(self, physical: str) -> str | None:
        return physical

    def document(self, raw: bytes) -> bytes:
        return raw

    def sample(self, raw: bytes) -> bytes:
        return raw

    def source(self, raw: bytes) -> bytes:
        return raw

    def text(self, text: str) -> str:
        return text

    def mapping(self, physical: dict[str, Any]) -> dict[str, Any]:
        """``_routing`` is the pool's own, unless it was declared as well."""
        return {key: value for key, value in physical.items() if key != "_routing" or required(self.index.mapping)}

    def definition(self, physical: dict[str, Any]) -> dict[str, Any]:
        return physical

    def addition(self, mapping: dict[str, Any]) -> dict[str, Any] | None:
        return mapping


class Whole(Alone):
    """An index of its own, which no pool has changed anything of."""

    def mapping(self, physical: dict[str, Any]) -> dict[str, Any]:
        return physical
