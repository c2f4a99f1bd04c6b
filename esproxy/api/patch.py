"""The forms that a correction of the definitions can take, and how each is applied.

A row names one type (``namespace:Name``), as a rule one of its own properties, and its reason. A row that finds nothing, or that
changes nothing, is an error: either the definitions have learnt it (delete the row) or they have changed under it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from esproxy.api.kinds import Kind
from esproxy.api.schema import Dict, Leaf, Ref, Root, Schema, Term, TypeDef, Union


class PatchError(ValueError):
    """A row does not fit the definitions."""


@dataclass(frozen=True, slots=True)
class Is:
    """The property's value is this, whatever the definitions say."""

    type: str
    property: str
    term: Term
    why: str


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of the property's dictionary are of this kind (``property`` None: of the alias, or of the additional keys)."""

    type: str
    property: str | None
    kind: Kind
    why: str


@dataclass(frozen=True, slots=True)
class Also:
    """Properties that nodes know and the definitions do not."""

    type: str
    properties: dict[str, Term]
    why: str


@dataclass(frozen=True, slots=True)
class Gone:
    """Properties that no node this project speaks to knows."""

    type: str
    properties: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class QueryRoot:
    """The property's value is a query that runs against the index on its own."""

    type: str
    property: str
    why: str


@dataclass(frozen=True, slots=True)
class Ensure:
    """A layout may have to add ``keys``, except where one of ``unless`` holds an object."""

    type: str
    keys: tuple[str, ...]
    why: str
    unless: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Noted:
    """A value of this type sets a mark."""

    type: str
    mark: str
    why: str


@dataclass(frozen=True, slots=True)
class New:
    """A type that the definitions lack."""

    type: str
    properties: dict[str, Term]
    why: str
    other: Dict | None = None
    shortcut: str | None = None
    tag: str | None = None
    alias: Term | None = None
    parent: Ref | None = None


@dataclass(frozen=True, slots=True)
class Variant:
    """A copy of a type in which some properties are something else."""

    type: str
    of: str
    properties: dict[str, Term]
    why: str


@dataclass(frozen=True, slots=True)
class Alias:
    """The alias stands for this instead."""

    type: str
    term: Term
    why: str


@dataclass(frozen=True, slots=True)
class Others:
    """What keys beyond the properties are."""

    type: str
    other: Dict
    why: str


@dataclass(frozen=True, slots=True)
class Sole:
    """The type's keys are its own, even where another member of a union takes any key."""

    type: str
    why: str


@dataclass(frozen=True, slots=True)
class Untagged:
    """What a member of a tagged union is when its tag is none that we know."""

    type: str
    term: Ref
    why: str


@dataclass(frozen=True, slots=True)
class Member:
    """The union has one more member."""

    type: str
    term: Ref
    why: str


Row = Is | Keys | Also | Gone | QueryRoot | Ensure | Noted | New | Variant | Alias | Others | Sole | Untagged | Member


def apply(schema: Schema, rows: Sequence[Row]) -> None:
    """Apply rows in order. Raises PatchError that names every row at fault."""
    faults = []
    for row in rows:
        try:
            _apply(schema, row)
        except PatchError as error:
            faults.append(f"{type(row).__name__} {row.type}: {error} (row: {row.why})")
    if faults:
        raise PatchError("\n".join(faults))


def _apply(schema: Schema, row: Row) -> None:
    if isinstance(row, (New, Variant)):
        _make(schema, row)
        return
    type_ = schema.types.get(row.type)
    if type_ is None:
        raise PatchError("no such type")
    if isinstance(row, Is):
        _set(type_, row.property, row.term)
    elif isinstance(row, Keys):
        _set_keys(type_, row.property, row.kind)
    elif isinstance(row, Also):
        for name, term in row.properties.items():
            if name in schema.terms(row.type):
                raise PatchError(f"[{name}] is known already")
            type_.properties[name] = term
    elif isinstance(row, Gone):
        for name in row.properties:
            _own(type_, name)
            del type_.properties[name]
    elif isinstance(row, QueryRoot):
        _set(type_, row.property, Root(_own(type_, row.property)))
    elif isinstance(row, Ensure):
        missing = [key for key in (*row.keys, *row.unless) if key not in schema.terms(row.type)]
        if missing:
            raise PatchError(f"no such property: {missing}")
        type_.ensure, type_.unless = row.keys, row.unless
    elif isinstance(row, Noted):
        if type_.mark == row.mark:
            raise PatchError("is marked already")
        type_.mark = row.mark
    elif isinstance(row, Alias):
        if type_.alias is None or type_.alias == row.term:
            raise PatchError("is no alias, or stands for that already")
        type_.alias = row.term
    elif isinstance(row, Others):
        if type_.other == row.other:
            raise PatchError("has these already")
        type_.other = row.other
    elif isinstance(row, Sole):
        type_.sole = True
    elif isinstance(row, Untagged):
        if not type_.tagged:
            raise PatchError("has no tags")
        type_.untagged = row.term
    else:
        if not isinstance(type_.alias, Union) or row.term in type_.alias.items:
            raise PatchError("is no union, or has that member already")
        type_.alias = Union((*type_.alias.items, row.term))


def _make(schema: Schema, row: New | Variant) -> None:
    if row.type in schema.types:
        raise PatchError("exists already")
    if isinstance(row, New):
        made = TypeDef(
            row.type, properties=dict(row.properties), other=row.other, shortcut=row.shortcut, tag=row.tag, alias=row.alias
        )
        made.parents = (row.parent,) if row.parent else ()
    else:
        if row.of not in schema.types:
            raise PatchError(f"no such type: {row.of}")
        unknown = [name for name in row.properties if name not in schema.terms(row.of)]
        if unknown:
            raise PatchError(f"{row.of} has no {unknown}")
        made = replace(schema.types[row.of], name=row.type)
        made.properties = made.properties | row.properties
    schema.types[row.type] = made


def _own(type_: TypeDef, name: str) -> Term:
    if name not in type_.properties:
        raise PatchError(f"no property [{name}] of its own")
    return type_.properties[name]


def _set(type_: TypeDef, name: str, term: Term) -> None:
    if _own(type_, name) == term:
        raise PatchError(f"[{name}] is that already")
    type_.properties[name] = term


def _set_keys(type_: TypeDef, name: str | None, kind: Kind) -> None:
    if name is not None:
        _set(type_, name, _rekeyed(_own(type_, name), kind))
    elif type_.alias is not None:
        type_.alias = _rekeyed(type_.alias, kind)
    elif type_.other is not None:
        type_.other = Dict(Leaf(kind), type_.other.value)
    else:
        raise PatchError("has no keys of that sort")


def _rekeyed(term: Term, kind: Kind) -> Term:
    if isinstance(term, Dict):
        return Dict(Leaf(kind), term.value)
    if isinstance(term, Union) and any(isinstance(item, Dict) for item in term.items):
        return Union(tuple(dict.fromkeys(_rekeyed(item, kind) if isinstance(item, Dict) else item for item in term.items)))
    raise PatchError("is no dictionary")
