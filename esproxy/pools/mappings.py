"""Mappings of indices in pools: put, and told by field.

In ``per-tenant`` a mapping is the node's to change and to judge, in the index's object. In ``shared`` what it says of its root
(``dynamic`` and the like) the proxy applies, and it is changed in the index document. New fields go the way of fields that
documents bring. A known field keeps its definition: what is put is laid over it, and where that changes anything the change is
the node's to make and to judge for an index that is alone in its pool; else it is refused, because the physical field may be
that of others too.
"""

from __future__ import annotations

from typing import Any

import orjson

from esproxy.catalogue import names
from esproxy.catalogue.change import NoChange, change
from esproxy.catalogue.documents import Claims, Field, Index
from esproxy.catalogue.dynamic_rules import is_false
from esproxy.catalogue.fields import flatten, for_node, nest
from esproxy.catalogue.pools import JUDGED, ROOT
from esproxy.catalogue.store import Steps
from esproxy.errors import Refusal
from esproxy.exchange import Answer, Large, Reply
from esproxy.metadata.mappings import refuse_unsafe_types
from esproxy.pools import wide
from esproxy.pools.declared import acknowledged, declaration, known_parameters, node_answer
from esproxy.pools.field_caps import META
from esproxy.pools.pooled import Pooled
from esproxy.pools.reply import reply as node_reply
from esproxy.pools.targets import some
from esproxy.rewriting.query import physical_query
from esproxy.rewriting.rewrite import refuse_lookup
from esproxy.tenancy.expressions import matching
from esproxy.tenancy.target import Target

Definition = dict[str, Any]
Refused = Reply | Large | None  # the node's answer when it refuses
UNSAID: dict[str, dict[str, Any]] = {
    "_source": {"enabled": True, "includes": [], "excludes": []},
    "_field_names": {"enabled": True},
    "_data_stream_timestamp": {"enabled": False},
}
DYNAMIC = {  # by product
    True: ("true", "false", "strict", "runtime"),
    False: ("true", "false", "strict", "strict_allow_templates"),
}


def check_mapping(mapping: dict[str, Any], product: bool) -> None:
    """What the node is not told of a mapping, in its words. And a field made by a script hides a meta field of its name, and the
    pool's filter is on one. Raises Refusal."""
    dynamic = str(mapping.get("dynamic", "true")).lower()
    if dynamic not in DYNAMIC[product]:
        cause = Refusal(f"Failed to parse value [{mapping['dynamic']}] as only [true] or [false] are allowed.").cause()
        raise Refusal("Could not convert [dynamic.dynamic] to boolean", caused_by=cause)
    if not product and "" in (mapping.get("properties") or {}):
        raise Refusal("name cannot be empty string")  # OpenSearch looks for it at the root alone, and an object is none
    _check_types(mapping.get("properties") or {})
    refuse_unsafe_types(mapping)
    for kind in ("runtime", "derived"):
        if any(name.startswith("_") for name in mapping.get(kind) or {}):
            raise Refusal(f"a [{kind}] field cannot have a name that begins with an underscore in a pool")
        for name, definition in (mapping.get(kind) or {}).items():
            refuse_lookup(name, definition)
    for template in mapping.get("dynamic_templates") or []:
        for name, definition in template.items() if isinstance(template, dict) else ():
            refuse_lookup(name, definition.get("runtime") if isinstance(definition, dict) else None)


def check_new_mapping(mapping: dict[str, Any], product: bool) -> None:
    """The same of an index that is created."""
    try:
        check_mapping(mapping, product)
    except Refusal as error:
        told = f"Failed to parse mapping{'' if product else ' [_doc]'}: {error.reason}"
        raise Refusal(told, type="mapper_parsing_exception", caused_by=error.cause()) from None


def _check_types(properties: Any) -> None:
    for name, definition in properties.items() if isinstance(properties, dict) else ():
        if not isinstance(definition, dict):
            continue
        if "type" not in definition and "properties" not in definition and list(definition) != ["enabled"]:
            raise Refusal(f"No type specified for field [{name}]", type="mapper_parsing_exception")
        _check_types(definition.get("properties") or {})


# Parameters of fields that no node changes, and of those that it keeps elsewhere than in the field.
FIXED = frozenset("store index doc_values term_vector index_options format null_value normalizer analyzer index_prefixes".split())
APART = frozenset(("copy_to", "path", "properties", "script"))

# --- put -----------------------------------------------------------------------------------------------


def put_mapping(request: Pooled) -> Steps[Reply | Large]:
    known_parameters(request)
    tree = declaration(request, required=True)
    check_mapping(tree, request.product)
    wanted = flatten(tree.get("properties") or {})
    root = {key: value for key, value in tree.items() if key != "properties"}
    targets = yield from some(request, request.parts["index"])
    claiming = []
    for target in targets:
        addition = target.naming.addition(tree)
        if addition is None:
            claiming.append(target)
            continue
        refused = yield from _put(request, target, addition)
        if refused is not None:
            return refused
        if not target.dedicated:
            yield from _keep(request, target, root, {})
    refused = yield from _put_shared(request, claiming, root, wanted)
    return acknowledged(request) if refused is None else refused


def _put_shared(request: Pooled, targets: list[Target], root: dict[str, Any], wanted: dict[str, Definition]) -> Steps[Refused]:
    changed = [_changes(target, wanted) for target in targets]
    for target, definitions in zip(targets, changed, strict=True):
        _check(target, root, definitions)
    for target in targets:
        unsaid = _unsaid(target, wanted)
        refused = (yield from _put(request, target, _physical(target, {}, unsaid))) if unsaid else None
        if refused is not None:
            return refused
    for target, definitions in zip(targets, changed, strict=True):
        of_pool = {key: value for key, value in root.items() if key not in ROOT["shared"] or key in JUDGED}
        if of_pool or definitions:
            refused = yield from _on_node(request, target, of_pool, definitions)
            if refused is not None:
                return refused
        new = {path: d for path, d in wanted.items() if path not in target.index.fields}
        if new:
            yield from request.add(target, new)
        if root or definitions:
            yield from _keep(request, target, root, definitions)
    return None


def _changes(target: Target, wanted: dict[str, Definition]) -> dict[str, Definition]:
    """Known fields that would not be what they are. Raises Refusal for another type, in a node's words."""
    changed: dict[str, Definition] = {}
    for path, definition in wanted.items():
        known = target.index.fields.get(path)
        if known is None:
            continue
        was, new = known.type.get("type", "object"), definition.get("type", "object")
        if was != new:
            if "object" in (was, new) or "nested" in (was, new):
                raise Refusal(_not_merged(path, was, new))
            raise Refusal(f"mapper [{path}] cannot be changed from type [{was}] to [{new}]")
        merged = _merged(known.type, definition)
        if merged != known.type:
            changed[path] = merged
    return changed


def _unsaid(target: Target, wanted: dict[str, Definition]) -> dict[str, Definition]:
    """Known fields without parameters that they have and that cannot be changed: for a node that is the default, which conflicts
    unless it is what they have. What else they have is said, so that nothing changes."""
    found: dict[str, Definition] = {}
    for path, definition in wanted.items():
        known = target.index.fields.get(path)
        if known is None or not known.type.keys() & FIXED - definition.keys() or known.type.keys() & APART:
            continue
        said = {key: value for key, value in known.type.items() if key in definition or key not in FIXED}
        if all(said.get(key) == value for key, value in definition.items() if key != "fields"):
            found[path] = said
    return found


def _not_merged(path: str, was: str, new: str) -> str:
    if {was, new} == {"object", "nested"}:
        return f"cannot change object mapping from {'nested' if was == 'nested' else 'non-nested'} to " + (
            "nested" if new == "nested" else "non-nested"
        )
    return f"can't merge a non object mapping [{path}] with an object mapping"


def _merged(known: Definition, new: Definition) -> Definition:
    """A definition with another laid over it: multi-fields are added to, what is not said stays."""
    merged = {**known, **new}
    if "fields" in known or "fields" in new:
        below, over = known.get("fields") or {}, new.get("fields") or {}
        merged["fields"] = {name: _merged(below.get(name, {}), over.get(name, {})) for name in below | over}
    return merged


def _check(target: Target, root: dict[str, Any], definitions: dict[str, Definition]) -> None:
    if target.index.reason is not None:
        return
    for path, definition in definitions.items():
        known = target.index.fields[path].type
        if definition != {**known, "fields": {**(definition.get("fields") or {}), **(known.get("fields") or {})}}:
            raise Refusal(f"the parameters of [{path}] cannot be changed for an index in a pool")
    apart = sorted(key for key in root.keys() - ROOT["shared"] if _differs(key, target.index.mapping.get(key), root[key]))
    if apart:
        raise Refusal(f"{apart} of a mapping can only be set when the index is created, for an index in a pool")


def _differs(key: str, known: Any, new: Any) -> bool:
    """Would a parameter of the root be another than it is? Of some, nodes take what is not said for what they do without it."""
    if not isinstance(new, dict) or not isinstance(known or {}, dict):
        return bool(new != known)
    there = {**UNSAID.get(key, {}), **(known or {})}
    return {**UNSAID.get(key, there), **new} != there


def _on_node(request: Pooled, target: Target, root: dict[str, Any], definitions: dict[str, Definition]) -> Steps[Refused]:
    """Change the mapping of a pool: of one, or with what is only added to it; the node's answer when it refuses."""
    fields = target.index.fields

    def claim(claims: Claims) -> None:
        for path, definition in definitions.items():
            there = claims.fields[fields[path].physical]
            below, new = there.get("fields") or {}, definition.get("fields") or {}
            if target.index.reason is None:
                if any(below.get(name, wanted) != wanted for name, wanted in new.items()):
                    raise Refusal(f"the multi-fields of [{path}] are others in the pool that the index is in")
                definition = {**there, "fields": {**below, **new}}
            claims.fields[fields[path].physical] = definition

    if target.index.reason is None and definitions:
        yield from change(request.cat, Claims, names.claims_id(target.physical), claim)
    refused = yield from _put(request, target, _physical(target, root, definitions))
    if refused is not None:
        return refused
    if target.index.reason is not None and definitions:
        yield from change(request.cat, Claims, names.claims_id(target.physical), claim)
    return None


def _physical(target: Target, root: dict[str, Any], definitions: dict[str, Definition]) -> dict[str, Any]:
    """A mapping with these fields by their names in the pool."""
    fields = target.index.fields
    paths = {fields[path].physical: definition for path, definition in definitions.items()}
    for path in definitions:  # a nested object must be named as such again
        while "." in path:
            path = path.rpartition(".")[0]
            if path in fields:  # not the front of a name with dots
                paths.setdefault(fields[path].physical, for_node(fields[path].type))
    dotted = is_false(target.index.mapping.get("subobjects"))
    return {**root, "properties": nest(paths, subobjects=not dotted)}


def _put(request: Pooled, target: Target, mapping: dict[str, Any]) -> Steps[Refused]:
    """The node's answer when it refuses."""
    told = yield request.send("PUT", [target.physical, "_mapping"], {}, orjson.dumps(mapping), b"application/json")
    return None if told.status == 200 else node_reply(request, told)


def _keep(request: Pooled, target: Target, root: dict[str, Any], definitions: dict[str, Definition]) -> Steps[None]:
    def edit(index: Index) -> None:
        mapping = {**index.mapping, **root}
        fields = {path: Field(definition, index.fields[path].physical) for path, definition in definitions.items()}
        if mapping == index.mapping and not fields:
            raise NoChange
        index.mapping = mapping
        index.fields |= fields

    yield from change(request.cat, Index, names.index_id(request.tenant, target.entry.n), edit)
    request.fresh.pop(target.entry.n, None)


# --- told by field -------------------------------------------------------------------------------------


def get_field_mapping(request: Pooled) -> Steps[Reply | Large]:
    """Every field of the pool is asked for, for which every line is long enough; the index's own are told, by their own names."""
    targets = yield from some(request, request.parts.get("index", "_all"))
    targets = yield from request.freshest(targets)
    query = physical_query(request.plan, [], None)
    where = [wide.INDEX, "_mapping", "field", "*"]
    told = yield from wide.ask(request, "GET", where, [target.physical for target in targets], query)
    if told.status != 200:
        body = told.body.replace(b"/_mapping/field/*]", f"/_mapping/field/{request.parts['fields']}]".encode())
        return node_reply(request, Answer(told.status, told.headers, body))
    physical = orjson.loads(told.body)
    patterns = request.parts["fields"].split(",")
    told_of = {target.name: _own(target, physical[target.physical]["mappings"], patterns) for target in targets}
    return node_answer(request, told, {name: {"mappings": own} for name, own in told_of.items()})


def _own(target: Target, physical: dict[str, Any], patterns: list[str]) -> dict[str, Any]:
    """Of the fields of a pool, those of one index that match."""
    found: dict[str, Any] = {}
    for path, told in physical.items():
        logical = path if path in META else target.naming.owned(path)
        if logical is not None:
            leaf = logical.rpartition(".")[2]
            definition = next((target.naming.definition(own) for own in told["mapping"].values()), None)
            found[logical] = {"full_name": logical, "mapping": {} if definition is None else {leaf: definition}}
    if "_routing" in found and "_routing" not in target.index.mapping:
        found["_routing"]["mapping"] = {}  # what it says is the pool's
    chosen = {name for pattern in patterns for name in matching("*" if pattern == "_all" else pattern, list(found))}
    return {name: told for name, told in found.items() if name in chosen}
