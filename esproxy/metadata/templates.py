"""Templates of a tenant: what is its own in what a node says of all that match, and what they come to for a new index.

A tenant's templates have its prefix in their names and in every pattern, so no other tenant's index can match them, and none of
another's can match its indices. An operator's may: what they put into a new index is the tenant's to see, their names are not.

For an index in a pool no node works out which template applies (no physical index has the client's name), so that is done here,
on what the nodes keep: of the index templates that match the one of highest priority, over its components; where none
matches, all legacy ones that do, by their order. What the creator wrote goes over everything. Settings and aliases are taken over
whole; mappings are merged as nodes do it, which is another way for each of the two kinds of template.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from esproxy.errors import Refusal

Tree = dict[str, Any]
MATCH_ALL = "*"
OBJECTS = ("object", "nested")


def without_foreign(simulated: Tree, prefix: str) -> Tree:
    """The answer of a simulation without the templates that overlap and are the operator's; the others by name, as nodes list
    them in the order of a hash of it."""
    found = simulated.get("overlapping")
    if isinstance(found, list):
        own = [one for one in found if str(one.get("name", "")).startswith(prefix)]
        simulated["overlapping"] = sorted(own, key=lambda one: one["name"])
    return simulated


@dataclass(slots=True)
class Templates:
    """All of a tenant's, as the client knows them: the answers of a node to the three requests for them."""

    composable: list[Tree] = field(default_factory=list)  # {"name": …, "index_template": …}
    components: dict[str, Tree] = field(default_factory=dict)  # name → {"template": …}
    legacy: dict[str, Tree] = field(default_factory=dict)

    def winner(self, index: str, *, hidden: bool) -> Tree | None:
        """The index template that applies. A hidden index is for none that matches everything."""
        found = [one for one in self.composable if matches(one["index_template"].get("index_patterns"), index, hidden=hidden)]
        return max(found, key=lambda one: int(one["index_template"].get("priority") or 0), default=None)

    def layers(self, winner: Tree) -> list[Tree]:
        """What an index template comes to, from the bottom to the top. A component that is not there may be missing."""
        template = winner["index_template"]
        named = [self.components[name]["template"] for name in template.get("composed_of") or () if name in self.components]
        return [*named, template.get("template") or {}]

    def legacy_layers(self, index: str, *, hidden: bool) -> list[Tree]:
        found = [one for one in self.legacy.values() if matches(one.get("index_patterns"), index, hidden=hidden)]
        return sorted(found, key=lambda one: int(one.get("order") or 0))


def matches(patterns: Iterable[str] | None, index: str, *, hidden: bool) -> bool:
    return any(_matches(pattern, index) for pattern in patterns or () if not (hidden and pattern == MATCH_ALL))


def _matches(pattern: str, name: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name, re.DOTALL) is not None


def aliases(layer: Tree, index: str) -> Tree:
    """The aliases of a template for this index, whose name stands for a placeholder."""
    return {name.replace("{index}", index): properties or {} for name, properties in (layer.get("aliases") or {}).items()}


# --- mappings: of index templates ----------------------------------------------------------------------


def laid_over(base: Tree, over: Tree, product: bool) -> Tree:
    """A mapping over another: objects are merged, any other field is taken over whole."""
    out = {**base, **over}
    if "properties" in base and "properties" in over:
        out["properties"] = _fields(base["properties"], over["properties"], product)
    for kind in ("runtime", "_meta"):
        if isinstance(base.get(kind), dict) and isinstance(over.get(kind), dict):
            out[kind] = _deep(base[kind], over[kind]) if kind == "_meta" else {**base[kind], **over[kind]}
    if "dynamic_templates" in base and "dynamic_templates" in over:
        named = {name: one for rules in (base, over) for entry in rules["dynamic_templates"] for name, one in entry.items()}
        out["dynamic_templates"] = [{name: one} for name, one in named.items()]
    return out


def _fields(base: Tree, over: Tree, product: bool) -> Tree:
    out = dict(base)
    for name, definition in over.items():
        known = base.get(name)
        if not (isinstance(known, dict) and isinstance(definition, dict) and _merge(name, known, definition, product)):
            out[name] = definition
            continue
        kept = {key: known[key] for key in ("properties", "subobjects") if key in known} if product else known
        out[name] = {**kept, **definition}
        if "properties" in known and "properties" in definition:
            out[name]["properties"] = _fields(known["properties"], definition["properties"], product)
    return out


def _merge(name: str, known: Tree, definition: Tree, product: bool) -> bool:
    """Are both objects, nested ones among them? OpenSearch changes none into anything else. Raises Refusal."""
    kinds = [one.get("type", "object") for one in (known, definition)]
    objects = [kind in OBJECTS for kind in kinds]
    if not product and len(set(objects)) == 2:
        raise Refusal(f"can't merge a non object mapping [{name}] with an object mapping")
    if not product and all(objects) and kinds[0] != kinds[1]:
        was, now = ("nested" if kind == "nested" else "non-nested" for kind in kinds)
        raise Refusal(f"cannot change object mapping from {was} to {now}")
    return all(objects)


def _deep(base: Tree, over: Tree) -> Tree:
    out = {**base, **over}
    for key in base.keys() & over.keys():
        if isinstance(base[key], dict) and isinstance(over[key], dict):
            out[key] = _deep(base[key], over[key])
    return out


# --- mappings: of legacy templates ---------------------------------------------------------------------


def with_defaults(given: Tree, defaults: Tree) -> Tree:
    """A mapping with what a legacy template adds, at any depth: parameters of one field, too."""
    out = dict(given)
    for key, value in defaults.items():
        if key not in out:
            out[key] = value
        elif isinstance(out[key], dict) and isinstance(value, dict):
            out[key] = with_defaults(out[key], value)
        elif isinstance(out[key], list) and isinstance(value, list):
            out[key] = _lists(out[key], value)
    return out


def _lists(given: list[Any], defaults: list[Any]) -> list[Any]:
    if all(isinstance(one, dict) and len(one) == 1 for one in (*given, *defaults)):
        out = {name: {name: value} for entry in given for name, value in entry.items()}
        for entry in defaults:
            for name, value in entry.items():
                out[name] = with_defaults(out[name], entry) if name in out else {name: value}
        return list(out.values())
    return [*defaults, *(one for one in given if one not in defaults)]
