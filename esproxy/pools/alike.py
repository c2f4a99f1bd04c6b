"""One name for a field of several indices in ``shared``, whatever their pools call it and whoever else has such a name there.

A request names a field once, for all of its indices. Their pools may call it differently, because of others; or an index does
not have it, and in its pool others do. Where the request can be made for each index and merged, it is (``pools.fan_out``). What
is one thing over all hits (aggregations, collapse, cursors) cannot; then each pool in which one of the indices has the field gets
a field alias for it, by a name that is made of the tenant and the path, and that no document, mapping or template can make. A
pool of an index without the field has no such name, whoever is in it: so the answer is what it would be if nobody else were
there.

An alias is claimed like a field, and stays. It is no field of an index: no index tells of it, no pattern reaches it.

Not for what no alias can stand for: objects, nested objects and what is in them, keys of ``flattened``; nor for an index that is
alone in its pool, whose patterns the node expands, or one of another layout.
"""

from __future__ import annotations

from esproxy.catalogue import names
from esproxy.catalogue.change import NoChange, change
from esproxy.catalogue.documents import Claims, Field
from esproxy.catalogue.fields import KEYED, alike
from esproxy.catalogue.store import Steps
from esproxy.errors import Failed, Refusal
from esproxy.pools.pooled import Pooled
from esproxy.tenancy.fieldnames import Divided
from esproxy.tenancy.target import Target

WITHOUT = KEYED | {"object", "nested", "alias", "join", "percolator", "completion", "passthrough", "semantic_text"}
VARIANTS = 20  # of a name: an index that was made anew may have got another field by the same path


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
        if (yield from _put_everywhere(request, name, wanted)):
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


def _put_everywhere(request: Pooled, name: str, wanted: dict[str, str]) -> Steps[bool]:
    """False where a pool has the name for another field."""
    cat = request.cat
    left = {physical: path for physical, path in wanted.items() if (physical, name, path) not in cat.alike}
    for physical, path in left.items():
        definition = {"type": "alias", "path": path}

        def claim(claims: Claims, definition: dict[str, str] = definition) -> None:
            if claims.fields.get(name, definition) != definition:
                raise Taken
            if name in claims.fields:
                raise NoChange
            if len(claims.fields) >= cat.caps.node_fields:
                raise Refusal("the pool of an index has become full of fields")
            claims.fields[name] = definition

        try:
            if (yield from change(cat, Claims, names.claims_id(physical), claim)) is None:
                raise Failed("a pool has no record of its fields")
        except Taken:
            return False
        yield from cat.store.put_mapping(physical, {name: definition})
        cat.alike.add((physical, name, path))
    return True


class Taken(Exception):
    """The name stands for another field in a pool."""
