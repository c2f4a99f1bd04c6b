"""Queries whose text is a language or that need not name fields: ``query_string``, ``simple_query_string``, ``multi_match``.

Their meaning hangs on options beside the text (which field is the default), so they are dealt with in the tree, under the rule
table, behind the core's pass: the fields that they name are physical by then. A text that we cannot read is put beside one
that no node can: so a node says what is wrong with it, and where it finds nothing wrong, the search fails all the same. Where
they name none, and the index is not alone in its physical one, they get the index's own fields; nodes are lenient about types
exactly when the default is all fields, and that has to be said then.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from esproxy.errors import Refusal
from esproxy.rewriting.patterns import BY_DEFAULT as NAMES
from esproxy.rewriting.patterns import DEFAULT_FIELD
from esproxy.rewriting.places import members
from esproxy.rewriting.rewrite import PoolResolver
from esproxy.tenancy.fieldnames import Divided
from esproxy.tenancy.target import Target

QUERY_STRING = "query_string"
HINTS = tuple(name.encode() for name in NAMES)


UNREAD = "what cannot be read is not searched for ("  # which no node reads


class Text(NamedTuple):
    holder: dict[str, Any]
    name: str
    options: dict[str, Any]


def texts(states: list[dict[str, Any]], state: int, tree: Any) -> Iterator[Text]:
    """Every such query of a tree. Its options may be changed."""
    for holder, keys, key, _ in members(states, state, tree):
        if key in NAMES and QUERY_STRING in keys and "bool" in keys and isinstance(holder[key], dict):
            yield Text(holder, key, holder[key])


def wanted(body: bytes, resolver: PoolResolver) -> bool:
    """Has the body, which the core has been through, such queries with something to do?"""
    if resolver.texts and (resolver.fields.any or resolver.read_meta or resolver.meta_texts):
        return True
    if not resolver.fields.shared and not resolver.nested:
        return False
    return b"\\u" in body or (any(hint in body for hint in HINTS) and without_fields(orjson.loads(body)))


def without_fields(tree: Any) -> bool:
    """Is there a query that names no fields? It need not be one, where it reads like one."""
    if isinstance(tree, list):
        return any(map(without_fields, tree))
    if not isinstance(tree, dict):
        return False
    for name in NAMES:
        options = tree.get(name)
        if isinstance(options, dict) and not options.get("fields") and options.get("default_field") is None:
            return True
    return any(map(without_fields, tree.values()))


def rewrite_texts(states: list[dict[str, Any]], state: int, tree: Any, resolver: PoolResolver) -> None:
    """In place. Raises Refusal."""
    met = 0
    for holder, name, options in list(texts(states, state, tree)):
        default = _default(name, options, resolver)
        if name == QUERY_STRING and isinstance(options.get("query"), str):
            met += 1
            if not options.get("escape"):
                read = resolver.lucene(options["query"], default)
                if read is None:
                    beside = {QUERY_STRING: {"query": UNREAD}}
                    holder["bool"] = {"must": [{QUERY_STRING: holder.pop(QUERY_STRING)}, beside]}
                else:
                    options["query"] = read
    if met != resolver.texts:
        raise Refusal("a query string is not available at this place for indices in a pool")


def _default(name: str, options: dict[str, Any], resolver: PoolResolver) -> str | None:
    """The client's name for the default field of a query, None where there are several; physical ones are put in where it says
    nothing of fields."""
    fields = options.get("fields") or None
    if fields is None and options.get("default_field") is None:
        fields = _defaults(resolver)
        if fields == ["*"]:
            return "*"
        options["fields"] = fields
        if all(field.endswith("*") for field in fields):
            options.setdefault("lenient", True)
    elif fields is None:
        fields = [str(options["default_field"])]
        if name == QUERY_STRING and any(fields[0] == target.naming.every for target in resolver.targets):
            options.setdefault("lenient", True)
    if isinstance(fields, list) and len(fields) != 1:
        return None
    only = str(fields[0] if isinstance(fields, list) else fields).partition("^")[0]
    return next((target.naming.logical(only) for target in resolver.targets), only)


def _defaults(resolver: PoolResolver) -> list[str]:
    """The physical fields of a query that names none."""
    found = {tuple(_of(target)) for target in resolver.targets}
    if len(found) > 1:
        raise Divided("the default fields of these indices have different names in their pools: search them one by one")
    return list(found.pop()) if found else ["*"]


def _of(target: Target) -> list[str]:
    declared = target.index.settings.get(DEFAULT_FIELD, "*")
    if declared == "*" or target.naming.root is None:
        return [target.naming.every]
    if not isinstance(declared, (str, list)):
        raise Refusal(f"the setting [{DEFAULT_FIELD}] is no list of fields")
    return [target.naming.field(str(name)) for name in (declared.split(",") if isinstance(declared, str) else declared)]
