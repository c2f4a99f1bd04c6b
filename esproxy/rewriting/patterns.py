"""Patterns of fields: in a pool that others share a pattern would reach their fields, too. They hold nothing for the
client's documents, but errors would name them, and a node counts them against its limits. So a pattern becomes the index's own
fields that it matches.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from esproxy.catalogue.dynamic_rules import OBJECTS
from esproxy.rewriting.places import members
from esproxy.tenancy.expressions import matching
from esproxy.tenancy.target import Target

LISTS = ("docvalue_fields", "fields")
NOTHING = "esproxy~none"  # a field that there is not: for a query, an empty list would mean all fields


def expand_patterns(states: list[dict[str, Any]], state: int, tree: Any, targets: list[Target], defined: Collection[str]) -> None:
    """In place. ``defined``: fields that the request itself makes."""
    for holder, _, key, below in members(states, state, tree):
        value = holder.get(key)
        if key not in LISTS:
            continue
        items = states[states[below].get("items", below)]
        if isinstance(value, list) and items.get("kind") == "FIELD":
            holder[key] = [one for part in value for one in _expanded(part, targets, defined)] or [NOTHING]
        elif items.get("other", ("COPY", 1))[0] == "FIELD":  # of highlights, one object or several
            parts = value if isinstance(value, list) else [value]
            made = [_by_name(part, targets, defined) if isinstance(part, dict) else part for part in parts]
            holder[key] = made if isinstance(value, list) else made[0]


def _expanded(part: Any, targets: list[Target], defined: Collection[str]) -> Iterator[Any]:
    name = part.get("field") if isinstance(part, dict) else part
    if not isinstance(name, str) or "*" not in name or name.startswith("_"):
        yield part
        return
    pattern, boosted, boost = name.partition("^")
    for found in sorted({*own_fields(pattern, targets), *matching(pattern, list(defined))}):
        yield {**part, "field": found} if isinstance(part, dict) else found + boosted + boost


def _by_name(part: dict[str, Any], targets: list[Target], defined: Collection[str]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, options in part.items():
        for found in _expanded(name, targets, defined):
            out.setdefault(found, options)
    return out


def made_by(tree: dict[str, Any]) -> Iterator[str]:
    """The runtime fields that a request makes, those in composites among them."""
    for name, definition in (tree.get("runtime_mappings") or {}).items():
        yield name
        yield from (f"{name}.{inner}" for inner in (definition or {}).get("fields") or {})


def own_fields(pattern: str, targets: list[Target]) -> list[str]:
    """The physical names of the fields that a pattern matches."""
    return sorted({target.naming.field(path) for target in targets for path in matching(pattern, list(_leaves(target)))})


def _leaves(target: Target) -> Iterator[str]:
    """The index's fields that hold values, by their logical names, with the fields below them."""
    for path, field in target.index.fields.items():
        if field.type.get("type", "object") not in OBJECTS:
            yield path
            yield from (f"{path}.{name}" for name in field.type.get("fields") or {})
