"""Queries on ``_routing`` in searches over pools, where it holds the scope and then what the client gave.

``exists``, ``term``, ``terms`` and ``prefix`` become queries for what is stored. Nothing else on it is understood: whoever counts
how often a body speaks of the field, and how often it was dealt with here, knows whether there is more.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from esproxy.errors import Refusal
from esproxy.tenancy.target import Target, filter_of

FIELD = "_routing"
COMPARED = ("term", "terms", "prefix")


def rewrite_routing(tree: Any, targets: Sequence[Target]) -> int:
    """Replace every query on the field, in place; how many there were. Raises Refusal."""
    if isinstance(tree, list):
        return sum(rewrite_routing(item, targets) for item in tree)
    if not isinstance(tree, dict):
        return 0
    if len(tree) == 1:
        ((name, options),) = tree.items()
        replaced = _replaced(name, options, targets) if isinstance(options, dict) else None
        if replaced is not None:
            tree.clear()
            tree |= replaced
            return 1
    return sum(rewrite_routing(item, targets) for item in tree.values())


def _replaced(name: str, options: dict[str, Any], targets: Sequence[Target]) -> dict[str, Any] | None:
    told = {key: options[key] for key in ("boost", "_name") if key in options}
    if name == "exists" and options.get("field") == FIELD:
        return _either([_any_given(target, targets) for target in targets], told)
    given = options.get(FIELD)
    if name not in COMPARED or given is None or options.keys() - {FIELD, "boost", "_name"}:
        return None
    if name == "prefix" and any(options == {FIELD: target.id_front} for target in targets):
        return None  # the filter
    if isinstance(given, dict):
        if given.keys() - {"value", "boost", "_name"} or "value" not in given:
            return None
        told |= {key: given[key] for key in ("boost", "_name") if key in given}
        given = given["value"]
    values = [_text(value) for value in (given if isinstance(given, list) else [given])]
    if name == "prefix":
        return _either([_beginning(target, value) for target in targets for value in values], told)
    stored = [_stored(target, value) for target in targets for value in values if value]
    return {"terms": {FIELD: stored, **told}} if stored else {"match_none": told}


def _either(queries: list[dict[str, Any]], told: dict[str, Any]) -> dict[str, Any]:
    return {"bool": {"should": queries, "minimum_should_match": 1, **told}}


def _any_given(target: Target, targets: Sequence[Target]) -> dict[str, Any]:
    """A query for documents of the target with a routing of their client's. Without a scope, every routing looks like one."""
    given = {"regexp": {FIELD: {"value": _given(target)}}}
    return {"bool": {"filter": [filter_of([target]), given]}} if any(one.dedicated for one in targets) else given


def _given(target: Target) -> str:
    """A regular expression of Lucene's for routing values that a client gave."""
    return re.sub(r"([.\-])", r"\\\1", target.id_front) + ".+" + (":[0-9]+" if target.shards.count > 1 else "")


def _stored(target: Target, value: str) -> str:
    if target.shards.partition > 1:
        raise Refusal(f"a query on [{FIELD}] is not available for an index with [routing_partition_size] in a pool")
    return target.routing("", value)["routing"]


def _beginning(target: Target, value: str) -> dict[str, Any]:
    if target.shards.count > 1 or not value:
        raise Refusal(f"this query on [{FIELD}] is not available for an index in a pool: ask for whole values")
    return {"prefix": {FIELD: {"value": target.id_front + value}}}


def _text(value: Any) -> str:
    if isinstance(value, (dict, list)) or value is None:
        raise Refusal(f"a query on [{FIELD}] compares texts")
    return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
