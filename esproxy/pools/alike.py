"""One name for a field of several indices in ``shared``, whatever their pools call it and whoever else has such a name there.

A request names a field once, for all of its indices. Their pools may call it differently, because of others; or an index does
not have it, and in its pool others do. Where the request can be made for each index and merged, it is (``pools.fan_out``). What
is one thing over all hits (aggregations, collapse, cursors) cannot; then each pool in which one of the indices has the field gets
a field alias for it, by a name that is made of the tenant and the path, and that no document, mapping or template can make. A
pool of an index without the field has no such name, whoever is in it: so the answer is what it would be if nobody else were
there.

An alias is claimed like a field, and stays. It is no field of an index: no index tells of it, no pattern reaches it. A tenant can
make many, by fields that come and go; so they only take of a pool what new indices would: one that takes no more of those, takes
no more aliases, and what is left up to the node's own limit is for fields of the indices in it.

Not for what no alias can stand for: objects, nested objects and what is in them, keys of ``flattened``; nor for an index that is
alone in its pool, whose patterns the node expands, or one of another layout. Indices in objects: ``pools.held_by_one``.
"""

from __future__ import annotations

from esproxy.catalogue import names
from esproxy.catalogue.change import NoChange, change
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import Claims, Field
from esproxy.catalogue.fields import KEYED, alike
from esproxy.catalogue.store import Steps
from esproxy.errors import Failed
from esproxy.pools.held_by_one import held_by_one
from esproxy.pools.pooled import Pooled
from esproxy.tenancy.fieldnames import Divided
from esproxy.tenancy.target import Target

WITHOUT = KEYED | {"object", "nested", "alias", "join", "percolator", "completion", "passthrough", "semantic_text"}
VARIANTS = 20  # of a name: an index that was made anew may have got another field by the same path
REMEMBERED = 100_000  # aliases that are not claimed again


def one_name(request: Pooled, targets: list[Target], given: bytes, why: Divided) -> Steps[bool]:
    """Has the field that divides the indices one name from now on? ``given``: the client's body."""
    return (yield from called_alike(request, targets, why)) or (yield from held_by_one(request, targets, given, why))


def called_alike(request: Pooled, targets: list[Target], why: Divided) -> Steps[bool]:
    """Has the field that divides the indices one name in their pools from now on?"""
    path = why.path
    if path is None or path in request.alike or any(target.entry.layout != "shared" for target in targets):
        return False
    having = [target for target in (request.targets.get(target.scope, target) for target in targets) if target.naming.has(path)]
    if any(target.index.reason is not None or not _can_be_alias(path, target.index.fields) for target in having):
        return False
    wanted: dict[str, str] = {}  # physical index → physical path
    for target in having:
        if wanted.setdefault(target.physical, target.naming.field(path)) != target.naming.field(path):
            return False
    for k in range(VARIANTS):
        name = alike(request.tenant, path, k)
        try:
            yield from put_everywhere(request.cat, name, wanted)
        except Taken:
            continue
        except Full:
            return False
        request.alike[path] = name
        return True
    return False


def _can_be_alias(path: str, fields: dict[str, Field]) -> bool:
    at = path
    while at not in fields:
        at = at.rpartition(".")[0]
    definition = fields[at].type
    if at != path:
        definition = (definition.get("fields") or {}).get(path[len(at) + 1 :], {"type": "object"})
    parts = path.split(".")
    around = {".".join(parts[:i]) for i in range(1, len(parts))} & fields.keys()
    nested = any(fields[parent].type.get("type") == "nested" for parent in around)
    return not nested and definition.get("type", "object") not in WITHOUT


def put_everywhere(cat: Catalogue, name: str, wanted: dict[str, str]) -> Steps[None]:
    """Make a field alias in pools. ``wanted``: physical index → physical path. Raises Taken or Full, in pools before which others
    may have it already."""
    left = {physical: path for physical, path in wanted.items() if (physical, name, path) not in cat.alike}
    for physical, path in left.items():
        definition = {"type": "alias", "path": path}

        def claim(claims: Claims, definition: dict[str, str] = definition) -> None:
            if claims.fields.get(name, definition) != definition:
                raise Taken
            if name in claims.fields:
                raise NoChange
            if len(claims.fields) >= cat.caps.fields:
                raise Full
            claims.fields[name] = definition

        if (yield from change(cat, Claims, names.claims_id(physical), claim)) is None:
            raise Failed("a pool has no record of its fields")
        yield from cat.store.put_mapping(physical, {name: definition})
        if len(cat.alike) >= REMEMBERED:
            cat.alike.clear()
        cat.alike.add((physical, name, path))


class Taken(Exception):
    """The name stands for another field in a pool."""


class Full(Exception):
    """A pool has no room for aliases."""
