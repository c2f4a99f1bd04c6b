"""Reading Elastic's ``schema.json``: types as terms, several versions united.

The definitions describe JSON values by *types*: interfaces with properties, aliases, enums, generics, behaviours. For a
rule table most of that does not matter, so a type is read into a **term** of five forms:

    Leaf(kind)          a scalar (or a document, a settings object, any JSON) of that kind
    Ref(name, args)     a named type, "namespace:Name", with the arguments of its generics
    Var(name)           a generic's parameter, replaced when its owner is opened
    Dict(key, value)    an object with arbitrary keys
    Union(items)        any of them

Arrays vanish (a list and its element are one state; but see Items), and so do optionality, defaults, and which scalar it is.

A **TypeDef** is a named type: properties, parent, behaviours, what a bare value means (``shortcut``), and for aliases
the term behind the name. Uniting versions takes every type and property of all of them; where both know a property, it
is the union of both terms. Labels come and go between versions (27 of 1,466 between 8.19 and 9.5), so only the union is complete.

The newest definition goes first wherever an order matters.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from esproxy.api.kinds import Kind


@dataclass(frozen=True, slots=True)
class Leaf:
    kind: Kind
    reason: str = ""  # with REFUSE


@dataclass(frozen=True, slots=True)
class Ref:
    name: str
    args: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True)
class Var:
    name: str


@dataclass(frozen=True, slots=True)
class Dict:
    key: Term
    value: Term


@dataclass(frozen=True, slots=True)
class Union:
    items: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Items:
    """Elements of an array, where the same value may also be an object of another sort (named or anonymous filters)."""

    of: Term


@dataclass(frozen=True, slots=True)
class Root:
    """The term, standing where a query is run against the index on its own (see overrides.ROOTS)."""

    of: Term


Term = Leaf | Ref | Var | Dict | Union | Items | Root
SCALAR = Leaf(Kind.COPY)
ANY = Leaf(Kind.OPAQUE)


@dataclass(slots=True)
class TypeDef:
    """A named type.

    ``other``: keys beyond the properties. ``tagged``: a union whose members are named by the tag that ``typed_keys`` puts in
    front of a key; ``tag``: that name of a member; ``untagged``: what a value is under an unknown one. ``sole``: its keys are its
    own, even beside a member that takes any key. ``untagged``, ``sole``, ``mark``, ``ensure``, ``unless`` are set by overrides.
    """

    name: str
    generics: tuple[str, ...] = ()
    parents: tuple[Ref, ...] = ()
    properties: dict[str, Term] = field(default_factory=dict)
    aliases: dict[str, tuple[str, ...]] = field(default_factory=dict)
    other: Dict | None = None
    alias: Term | None = None
    shortcut: str | None = None
    tagged: bool = False
    untagged: Ref | None = None
    tag: str | None = None
    sole: bool = False
    mark: str | None = None
    ensure: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()


@dataclass(slots=True)
class EndpointDef:
    """An endpoint: URL forms and the terms of its parameters and bodies (None: no body)."""

    name: str
    urls: list[tuple[tuple[str, ...], str]]
    path: dict[str, Term]
    query: dict[str, Term]
    request: Term | None
    required: bool
    response: Term | None


@dataclass(slots=True)
class Schema:
    types: dict[str, TypeDef] = field(default_factory=dict)
    endpoints: dict[str, EndpointDef] = field(default_factory=dict)

    def terms(self, name: str, args: tuple[Term, ...] = ()) -> dict[str, Term]:
        """All properties of an interface, inherited ones included, under every name they may come by."""
        out: dict[str, Term] = {}
        for level, env in self.lineage(name, args):
            for prop, term in level.properties.items():
                for spelled in (prop, *level.aliases.get(prop, ())):
                    out.setdefault(spelled, substitute(term, env))
        return out

    def other(self, name: str, args: tuple[Term, ...] = ()) -> Dict | None:
        """What keys beyond the properties may be."""
        for level, env in self.lineage(name, args):
            if level.other is not None:
                return Dict(substitute(level.other.key, env), substitute(level.other.value, env))
        return None

    def lineage(self, name: str, args: tuple[Term, ...] = ()) -> Iterator[tuple[TypeDef, dict[str, Term]]]:
        """The type and its ancestors, the nearest first, each with what its parameters stand for."""
        todo = [Ref(name, args)]
        while todo:
            ref = todo.pop(0)
            level = self.types[ref.name]
            env = dict(zip(level.generics, ref.args, strict=True)) if ref.args else {}
            yield level, env
            for parent in level.parents:
                closed = substitute(parent, env)
                assert isinstance(closed, Ref)
                todo.append(closed)


def substitute(term: Term, env: dict[str, Term]) -> Term:
    """The term with its variables replaced; one that nothing is given for is a document's (TDocument and the like)."""
    if isinstance(term, Var):
        return env.get(term.name, term)
    if isinstance(term, Ref):
        return replace(term, args=tuple(substitute(arg, env) for arg in term.args)) if term.args else term
    if isinstance(term, Dict):
        return Dict(substitute(term.key, env), substitute(term.value, env))
    if isinstance(term, Union):
        return Union(tuple(substitute(item, env) for item in term.items))
    if isinstance(term, (Items, Root)):
        return type(term)(substitute(term.of, env))
    return term


def unite(*terms: Term) -> Term:
    """The union of terms, flat and without repetition, the first one first."""
    items: list[Term] = []
    for term in terms:
        for item in term.items if isinstance(term, Union) else (term,):
            if item not in items:
                items.append(item)
    return items[0] if len(items) == 1 else Union(tuple(items))


# --- reading one version ----------------------------------------------------------------------------


def read(path: Path) -> Schema:
    """One version's definitions."""
    raw = json.loads(path.read_bytes())
    schema = Schema()
    requests: dict[str, dict[str, Any]] = {}
    for entry in raw["types"]:
        name = _name(entry["name"])
        schema.types[name] = _type(name, entry)
        if entry["kind"] in ("request", "response"):
            requests[name] = entry
    for entry in raw["endpoints"]:
        if entry["request"] is None:  # named, not yet described
            continue
        endpoint = _endpoint(entry, requests, schema)
        schema.endpoints[endpoint.name] = endpoint
    return schema


def _name(entry: dict[str, str]) -> str:
    return f"{entry['namespace']}:{entry['name']}"


def _type(name: str, entry: dict[str, Any]) -> TypeDef:
    generics = tuple(g["name"] for g in entry.get("generics", ()))
    out = TypeDef(name, generics)
    if entry["kind"] == "type_alias":
        out.alias = _term(entry["type"], generics)
        out.tagged = entry.get("variants", {}).get("kind") == "external_tag"
        return out
    if entry["kind"] == "enum":
        out.alias = SCALAR
        return out
    parents = [_term({"kind": "instance_of", **entry["inherits"]}, generics)] if "inherits" in entry else []
    for behaviour in entry.get("behaviors", ()):
        args = [_term(g, generics) for g in behaviour.get("generics", ())]
        kind = behaviour["type"]["name"]
        if kind in ("AdditionalProperty", "AdditionalProperties"):
            out.other = Dict(args[0], args[1])
        elif kind not in ("OverloadOf", "CommonQueryParameters", "CommonCatQueryParameters"):
            raise ValueError(f"{name}: unknown behaviour {kind}")
    out.parents = tuple(parent for parent in parents if isinstance(parent, Ref))
    out.shortcut = entry.get("shortcutProperty")
    out.tag = entry.get("variantName")
    body = entry.get("body") or {}
    for prop in (*entry.get("properties", ()), *body.get("properties", ())):
        out.properties[prop["name"]] = _term(prop["type"], generics)
        if prop.get("aliases"):
            out.aliases[prop["name"]] = tuple(prop["aliases"])
    if body.get("kind") == "value":
        out.alias = _term(body["value"], generics)
    return out


def _term(entry: dict[str, Any], generics: tuple[str, ...]) -> Term:
    kind = entry["kind"]
    if kind == "instance_of":
        name, namespace = entry["type"]["name"], entry["type"]["namespace"]
        if namespace == "_builtins":
            return SCALAR
        if name in generics and namespace.count(".") and namespace[namespace.rfind(".") + 1 :][:1].isupper():
            return Var(name)
        return Ref(f"{namespace}:{name}", tuple(_term(g, generics) for g in entry.get("generics", ())))
    if kind == "array_of":
        return _term(entry["value"], generics)
    if kind == "union_of":
        items = [(item["kind"], _term(item, generics)) for item in entry["items"]]
        named = [term for form, term in items if form != "array_of"]
        split = any(isinstance(term, Dict) for term in named)
        return unite(*(Items(t) if split and f == "array_of" and t not in named and t != SCALAR else t for f, t in items))
    if kind == "dictionary_of":
        return Dict(_term(entry["key"], generics), _term(entry["value"], generics))
    if kind == "user_defined_value":
        return ANY
    if kind == "literal_value":
        return SCALAR
    raise ValueError(f"unknown kind of type: {kind}")


def _endpoint(entry: dict[str, Any], requests: dict[str, dict[str, Any]], schema: Schema) -> EndpointDef:
    request = requests[_name(entry["request"])]
    generics = tuple(g["name"] for g in request.get("generics", ()))
    query = {p["name"]: _term(p["type"], generics) for p in request["query"]}
    for behaviour in request.get("attachedBehaviors", ()):
        query |= schema.types[f"_spec_utils:{behaviour}"].properties
    answer = requests[_name(entry["response"])]
    return EndpointDef(
        entry["name"],
        [(tuple(url["methods"]), url["path"]) for url in entry["urls"]],
        {p["name"]: _term(p["type"], generics) for p in request["path"]},
        query,
        Ref(_name(request["name"])) if request["body"]["kind"] != "no_body" else None,
        entry.get("requestBodyRequired", False),
        Ref(_name(answer["name"])) if answer["body"]["kind"] != "no_body" else None,
    )


# --- uniting versions ---------------------------------------------------------------------------------


def unite_versions(versions: list[Schema]) -> Schema:
    """Everything that any version knows, the newest (first) before the others."""
    out = Schema()
    for version in versions:
        for name, new in version.types.items():
            known = out.types.get(name)
            out.types[name] = _unite_types(known, new) if known else new
        for name, endpoint in version.endpoints.items():
            there = out.endpoints.get(name)
            out.endpoints[name] = _unite_endpoints(there, endpoint) if there else endpoint
    return out


def _unite_types(new: TypeDef, old: TypeDef) -> TypeDef:
    merged = replace(new, properties=dict(new.properties), aliases=dict(new.aliases))
    if new.alias is not None and old.alias is not None:
        merged.alias = unite(new.alias, old.alias)
    for prop, term in old.properties.items():
        merged.properties[prop] = unite(merged.properties[prop], term) if prop in merged.properties else term
    for prop, names in old.aliases.items():
        merged.aliases[prop] = tuple(dict.fromkeys((*merged.aliases.get(prop, ()), *names)))
    merged.other = new.other or old.other
    merged.shortcut = new.shortcut or old.shortcut
    merged.tag = new.tag or old.tag
    return merged


def _unite_endpoints(new: EndpointDef, old: EndpointDef) -> EndpointDef:
    urls = list(new.urls)
    urls += [url for url in old.urls if url not in urls]
    return EndpointDef(
        new.name,
        urls,
        _unite_params(new.path, old.path),
        _unite_params(new.query, old.query),
        new.request or old.request,
        new.required and old.required,
        new.response or old.response,
    )


def _unite_params(new: dict[str, Term], old: dict[str, Term]) -> dict[str, Term]:
    return {name: unite(*(p[name] for p in (new, old) if name in p)) for name in (*new, *(n for n in old if n not in new))}
