"""What a field of a logical index is called in its pool.

A pool knows each physical path with one definition (its Claims). A logical path keeps its own name where that name is free
there or has the same definition; otherwise the segment that clashes gets a name of its own: ``n~2``, ``n~3``, … A client's
own segment that already ends in ``~`` and digits is always escaped with one more (``a~2`` → ``a~2~1``), so stripping the last
``~digits`` always restores.

**Documents keep the names that their index does not know** (nulls, empty arrays, what ``dynamic`` lets be ignored), and a pool's
node ignores what it does not know. So that such a name never meets another tenant's field, a field goes by its plain name only
where a name that is not known can do no harm: it is in the mapping that all of the pool's indices declare, or no index of the
pool ignores values there and emptiness means nothing to its type. Any other field gets ``n~2`` from the first.

**A name that an index does not have** is another tenant's in its pool, perhaps. So it is sent as one that nothing in a pool
can have (``unheld``): its first segment ends in ``~00``, and the digits behind the last tilde of a physical segment are a
number from 1 on, or the 0 of what documents hide (renaming).

**One name for a field in several pools** is a field alias there (``alike``), of one tenant, for requests over indices whose pools
call the field differently (pools.alike). It ends in ``~000``, for the same reason.

Objects are paths of their own, defined as ``{"type": "object"}`` with their parameters but without their properties.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from esproxy.catalogue import names
from esproxy.catalogue.documents import Field, Index
from esproxy.errors import Refusal

Definition = dict[str, Any]
REFERENCES = ("path", "copy_to")  # parameters of a definition that name other fields
# Types whose parsers refuse a null or an empty array.
NEVER_EMPTY = frozenset("geo_point geo_shape point shape xy_point xy_shape completion dense_vector knn_vector".split())
KEYED = frozenset(("flattened", "flat_object", "rank_features"))  # types that have a field for each key of a value
UNHELD = "~00"
IGNORING = ("false", "runtime", "false_allow_templates")  # dynamic, where documents may have what is not mapped


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


def nest(paths: dict[str, Definition], *, subobjects: bool = True) -> dict[str, Any]:
    """The mapping properties of physical paths: the reverse of flatten. Parents that are not among them count as objects; below
    one without ``subobjects`` (or a root that has none) names keep their dots."""
    properties: dict[str, Any] = {}
    for path in sorted(paths):
        at, front, leaf, whole = properties, "", path, not subobjects
        while "." in leaf and not whole:
            parent, _, leaf = leaf.partition(".")
            at = at.setdefault(parent, {}).setdefault("properties", {})
            front = f"{front}.{parent}" if front else parent
            whole = str(paths.get(front, {}).get("subobjects")).lower() == "false"
        at.setdefault(leaf, {}).update(paths[path])
    return properties


def size(definition: Definition) -> int:
    """How many fields a definition counts for: its multi-fields too."""
    return 1 + len(definition.get("fields", ()))


def for_node(definition: Definition, physical: Callable[[str], str] | None = None) -> Definition:
    """A definition as a pool of ``shared`` gets it: ``dynamic`` is the proxy's to apply, and other fields are named as they
    are called there (``physical``, by default their first choice)."""
    made = {key: value for key, value in definition.items() if key != "dynamic"}
    for key in REFERENCES:
        named = made.get(key)
        if isinstance(named, str):
            made[key] = (physical or physical_path)(named)
        elif isinstance(named, list):
            made[key] = [(physical or physical_path)(str(name)) for name in named]
    return made


def restored(segment: str) -> str:
    """The logical name of a physical segment."""
    stem, tilde, digits = segment.rpartition("~")
    return stem if tilde and stem and digits.isascii() and digits.isdigit() else segment


def own_name(segment: str) -> str:
    """A logical segment's first choice."""
    return segment if restored(segment) == segment else f"{segment}~1"


def unheld(path: str) -> str:
    """What is sent for a path that an index does not have. No document, no mapping and no template makes such a name."""
    first, dot, rest = path.partition(".")
    return f"{first or 'esproxy'}{UNHELD}{dot}{rest}"


def alike(tenant: str, path: str, k: int) -> str:
    """What a path of a tenant's is called in each pool where it has that field. ``k``: where it was another field before."""
    return f"{path.rpartition('.')[2]}~{names.digest(tenant, path, k)}~000"


def is_below(definition: Definition, rest: str) -> bool:
    """Does a definition itself make the path ``rest`` below its field: a multi-field, a key, what its type needs?"""
    kind, first = definition.get("type", "object"), rest.partition(".")[0]
    return kind not in ("object", "nested") and (first[:1] == "_" or kind in KEYED or first in (definition.get("fields") or {}))


def held(path: str, fields: Mapping[str, Field]) -> str | None:
    """The physical path of one that an index with these fields has."""
    at = path
    while at not in fields:
        at = at.rpartition(".")[0]
        if not at:
            return None
    rest = path[len(at) :]
    return fields[at].physical + rest if not rest or is_below(fields[at].type, rest[1:]) else None


def strangers(mapping: Mapping[str, Any]) -> set[str]:
    """What the fields of a mapping, and those that its templates make, are copied to and is not in the mapping."""
    paths = flatten(mapping.get("properties") or {})
    templates = [one for one in mapping.get("dynamic_templates") or [] if isinstance(one, dict)]
    made = [each.get("mapping") for one in templates for each in one.values() if isinstance(each, dict)]
    named: set[str] = set()
    for definition in [*paths.values(), *(each for each in made if isinstance(each, dict))]:
        given = definition.get("copy_to") or []
        named |= set(map(str, given if isinstance(given, list) else [given]))
    return named - paths.keys()


def is_there(path: str, definitions: Mapping[str, Definition]) -> bool:
    """Has a pool with these fields something at this physical path?"""
    at = path
    while at and at not in definitions:
        at = at.rpartition(".")[0]
    return at == path or (bool(at) and is_below(definitions[at], path[len(at) + 1 :]))


def physical_properties(properties: dict[str, Any]) -> dict[str, Any]:
    """An explicit mapping as a new pool has it."""
    return nest(first_claims(properties))


def first_claims(properties: dict[str, Any]) -> dict[str, Definition]:
    """The fields of a new pool, every name its first choice."""
    return {physical_path(path): for_node(definition) for path, definition in flatten(properties).items()}


def physical_path(path: str) -> str:
    return ".".join(own_name(segment) for segment in path.split("."))


def first_fields(properties: dict[str, Any]) -> dict[str, Field]:
    """The fields of an index that is new in a pool of its own mapping."""
    return {path: Field(definition, physical_path(path)) for path, definition in flatten(properties).items()}


def as_created(index: Index) -> bool:
    """Has an index of a pool with others still the mapping that they were made with?"""
    return index.reason is None and names.family_shared(index.name, index.mapping, index.settings) == index.family


def hides(index: Index) -> bool:
    """Must what the index ignores be hidden from the fields of others? Not where they all ignore it (``place``)."""
    if index.reason is not None or as_created(index):
        return False
    declared = (index.mapping, *(field.type for field in index.fields.values()))
    return any(str(definition.get("dynamic", True)).lower() in IGNORING for definition in declared)


def split(path: str, fields: Mapping[str, Field], dotted: bool) -> tuple[str, str]:
    """The object that a field is in, "" for the root, and its name there: with dots where that object has no subobjects."""
    if dotted:
        return "", path
    parent, _, leaf = path.rpartition(".")
    at = parent
    while at:
        if at in fields and str(fields[at].type.get("subobjects")).lower() == "false":
            parent, leaf = at, path[len(at) + 1 :]
        at = at.rpartition(".")[0]
    return parent, leaf


def place(
    wanted: dict[str, Definition],
    known: dict[str, Field],
    claims: dict[str, Definition],
    common: Mapping[str, Any] | None = MappingProxyType({}),
    *,
    alone: bool = False,
    dotted: bool = False,
) -> dict[str, Field]:
    """A physical path for each wanted logical one, parents first and what names other fields last; ``known`` are the index's
    own. Claims are added to. ``common``: the mapping that all indices of the pool were made with, None when this one's was
    changed since; ``alone``: nobody else is in the pool; ``dotted``: names at the root keep their dots."""
    placed: dict[str, Field] = {}

    def physical(path: str) -> str:
        there = held(path, known) or held(path, placed)
        if there is None and not alone:
            raise Unheld(path)
        return there or physical_path(path)

    for path in sorted(wanted, key=lambda p: (any(key in wanted[p] for key in REFERENCES), p.count("."))):
        if path in known or path in placed:
            continue
        parent, leaf = split(path, known | placed, dotted)
        at = ""
        if parent:
            holder = known.get(parent) or placed.get(parent)
            if holder is None:
                placed |= place({parent: wanted.get(parent, {"type": "object"})}, known | placed, claims, common, alone=alone)
                holder = placed[parent]
            if holder.type.get("type") not in ("object", "nested"):
                reason = f"object mapping for [{parent}] tried to parse field [{parent}] as object, but found a concrete value"
                raise Refusal(reason, type="mapper_parsing_exception")
            at = holder.physical + "."
        try:
            definition = for_node(wanted[path], physical)
        except Unheld as error:
            raise _no_reference(path, wanted[path], error.path) from None
        harmless = common is not None and not _means_something_empty(definition)
        plain = alone or (harmless and not _ignores(parent, known | placed, common or {}))
        placed[path] = Field(wanted[path], _claim(at, leaf, definition, claims, plain))
    return placed


class Unheld(Exception):
    """A definition names a field that the index does not have."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


def _no_reference(path: str, definition: Definition, named: str) -> Refusal:
    if definition.get("type") == "alias":
        wrong = "an alias must refer to an existing field in the mappings."
        if named == path:
            wrong = "an alias cannot refer to itself."
        return Refusal(f"Invalid [path] value [{named}] for field alias [{path}]: {wrong}", type="mapper_parsing_exception")
    return Refusal(f"[{path}] cannot be copied to [{named}], which is not in the mapping, for an index in a pool: declare both")


def _claim(at: str, leaf: str, definition: Definition, claims: dict[str, Definition], plain: bool) -> str:
    candidate, k = at + physical_path(leaf), 1
    while claims.get(candidate, definition) != definition or (k == 1 and candidate not in claims and not plain):
        k += 1
        candidate = f"{at}{leaf}~{k}"
    claims[candidate] = definition
    return candidate


def _means_something_empty(definition: Definition) -> bool:
    """Does a null or an empty array say something to this type?"""
    below = definition.get("fields", {}).values()
    return definition.get("type") in NEVER_EMPTY or any("null_value" in each for each in (definition, *below))


def _ignores(parent: str, fields: Mapping[str, Field], mapping: Mapping[str, Any]) -> bool:
    """May documents of this index have what is not mapped in this object?"""
    while parent:
        declared = fields[parent].type.get("dynamic") if parent in fields else None
        if declared is not None:
            return str(declared).lower() in IGNORING
        parent = parent.rpartition(".")[0]
    return str(mapping.get("dynamic", True)).lower() in IGNORING
