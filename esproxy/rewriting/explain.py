"""Explanations of scores, without what the filter around the client's query adds to them.

Lucene explains a ``bool`` with one scoring clause and a filter as the sum of both, the filter with a value of nothing. A query
that is nothing but the filter is explained as a constant, where a node says that it matches everything. What speaks of
``_routing`` is the filter: no client's query can.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

OWN = "_routing:"
FILTER = "match on required clause, product of:"


def asks_to_explain(body: bytes, query: dict[str, str]) -> bool:
    if query.get("explain", "false") != "false" or b"explain" in body:
        return True
    return b"\\u" in body and b'"explain"' in orjson.dumps(orjson.loads(body))


def explain_without_filter(tree: Any) -> None:
    """Every explanation in the answer to one search. A sum of a single clause and the filter is the clause alone, unless other
    documents show that the query has several: they stand beside the filter, and one that no other joins is a sum of one."""
    found = list(_explanations(tree))
    several = any(len(_rest(holder["_explanation"])) > 1 for holder in found if _is_wrapped(holder["_explanation"]))
    for holder in found:
        holder["_explanation"] = _bare(holder["_explanation"], several)


def _explanations(tree: Any) -> Iterator[dict[str, Any]]:
    """What holds an explanation."""
    if isinstance(tree, list):
        for item in tree:
            yield from _explanations(item)
    elif isinstance(tree, dict):
        for key, value in tree.items():
            if key == "_explanation" and isinstance(value, dict):
                yield tree
            elif key != "_source":
                yield from _explanations(value)


def _bare(node: dict[str, Any], several: bool = False) -> dict[str, Any]:
    details = node.get("details") or []
    if not details and OWN in node["description"] and node["description"].startswith("ConstantScore("):
        return {**node, "description": "*:*"}
    rest = _rest(node)
    if len(rest) == 1 < len(details) and not several:
        return _bare(rest[0])
    return {**node, "details": [_bare(item) for item in rest]} if details else node


def _rest(node: dict[str, Any]) -> list[dict[str, Any]]:
    """What an explanation consists of, but for the filter."""
    return [item for item in node.get("details") or [] if item["description"] != FILTER or not _speaks_of_filter(item)]


def _is_wrapped(node: dict[str, Any]) -> bool:
    return len(_rest(node)) < len(node.get("details") or [])


def _speaks_of_filter(node: dict[str, Any]) -> bool:
    return OWN in node["description"] or any(map(_speaks_of_filter, node.get("details") or []))
