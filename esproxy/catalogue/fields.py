"""What a field of a logical index is called in its pool.

A pool knows each physical path with one definition (its Claims). A logical path keeps its own name where that name is free
there or has the same definition; otherwise the segment that clashes gets a name of its own: ``n~2``, ``n~3``, … A client's
own segment that already ends in ``~`` and digits is always escaped with one more (``a~2`` → ``a~2~1``), so stripping the last
``~digits`` always restores.

Objects are paths of their own, defined as ``{"type": "object"}`` with their parameters but without their properties.
"""

from __future__ import annotations

from typing import Any

from esproxy.catalogue.documents import Field
from esproxy.errors import Refusal

Definition = dict[str, Any]


def flatten(properties: dict[str, Any], prefix: str = "") -> dict[str, Definition]:
    """Every path of a mapping's properties, objects before what is in them."""
    paths: dict[str, Definition] = {}
    for name, definition in properties.items():
        if not isinstance(definition, dict):
            reason = f"Expected map for property [fields] on field [{name}] but got a {definition!r}"
            raise Refusal(reason, type="mapper_parsing_exception")
        below = definition.get("properties")
        here = {key: value for key, value in definition.items() if key != "properties"}
        if below is not None or "type" not in here:
            here.setdefault("type", "object")
        paths[prefix + name] = here
        if below:
            paths |= flatten(below, f"{prefix}{name}.")
    return paths


def nest(paths: dict[str, Definition]) -> dict[str, Any]:
    """The mapping properties of physical paths: the reverse of flatten. Parents that are not among them count as objects."""
    properties: dict[str, Any] = {}
    for path in sorted(paths):
        at = properties
        *parents, leaf = path.split(".")
        for parent in parents:
            at = at.setdefault(parent, {}).setdefault("properties", {})
        at.setdefault(leaf, {}).update(paths[path])
    return properties


def for_node(paths: dict[str, Definition]) -> dict[str, Definition]:
    """Definitions as a pool of ``shared`` gets them: an object's own ``dynamic`` is the proxy's to apply where it would let the
    node add fields by itself."""
    return {
        path: {k: v for k, v in d.items() if k != "dynamic" or str(v).lower() in ("false", "strict")} for path, d in paths.items()
    }


def restored(segment: str) -> str:
    """The logical name of a physical segment."""
    stem, tilde, digits = segment.rpartition("~")
    return stem if tilde and stem and digits.isascii() and digits.isdigit() else segment


def own_name(segment: str) -> str:
    """A logical segment's first choice."""
    return segment if restored(segment) == segment else f"{segment}~1"


def physical_properties(properties: dict[str, Any]) -> dict[str, Any]:
    """An explicit mapping as a new pool has it: every name its first choice."""
    return nest(for_node({physical_path(path): definition for path, definition in flatten(properties).items()}))


def physical_path(path: str) -> str:
    return ".".join(own_name(segment) for segment in path.split("."))


def first_fields(properties: dict[str, Any]) -> dict[str, Field]:
    """The fields of an index that is new in a pool of its own mapping."""
    return {path: Field(definition, physical_path(path)) for path, definition in flatten(properties).items()}


def place(wanted: dict[str, Definition], known: dict[str, Field], claims: dict[str, Definition]) -> dict[str, Field]:
    """A physical path for each wanted logical one, parents first; ``known`` are the index's own. Claims are added to."""
    placed: dict[str, Field] = {}
    for path in sorted(wanted, key=lambda p: p.count(".")):
        if path in known:
            continue
        parent, dot, leaf = path.rpartition(".")
        at = ""
        if dot:
            holder = known.get(parent) or placed.get(parent)
            if holder is None:
                placed |= place({parent: {"type": "object"}}, known | placed, claims)
                holder = placed[parent]
            if holder.type.get("type") not in ("object", "nested"):
                reason = f"object mapping for [{parent}] tried to parse field [{parent}] as object, but found a concrete value"
                raise Refusal(reason, type="mapper_parsing_exception")
            at = holder.physical + "."
        placed[path] = Field(wanted[path], _claim(at, leaf, wanted[path], claims))
    return placed


def _claim(at: str, leaf: str, definition: Definition, claims: dict[str, Definition]) -> str:
    candidate, k = at + own_name(leaf), 1
    while claims.get(candidate, definition) != definition:
        k += 1
        candidate = f"{at}{leaf}~{k}"
    claims[candidate] = definition
    return candidate
