"""Explanations of scores, without what the filter around the client's query adds to them.

Lucene explains a ``bool`` with one scoring clause and a filter as the sum of both, the filter with a value of nothing. A query
that is nothing but the filter is explained as a constant, where a node says that it matches everything. What speaks of
``_routing`` is the filter: no client's query can.
"""

from __future__ import annotations

from typing import Any

import orjson

OWN = "_routing:"
FILTER = "match on required clause, product of:"


def asks_to_explain(body: bytes, query: dict[str, str]) -> bool:
    if query.get("explain", "false") != "false" or b"explain" in body:
        return True
    return b"\\u" in body and b'"explain"' in orjson.dumps(orjson.loads(body))


def explain_without_filter(tree: Any) -> None:
    """Every explanation in an answer."""
    if isinstance(tree, list):
        for item in tree:
            explain_without_filter(item)
    elif isinstance(tree, dict):
        for key, value in tree.items():
            if key == "_explanation" and isinstance(value, dict):
                tree[key] = _bare(value)
            elif key != "_source":
                explain_without_filter(value)


def _bare(node: dict[str, Any]) -> dict[str, Any]:
    details = node.get("details") or []
    if not details and OWN in node["description"] and node["description"].startswith("ConstantScore("):
        return {**node, "description": "*:*"}
    rest = [item for item in details if item["description"] != FILTER or not _speaks_of_filter(item)]
    if len(rest) == 1 < len(details):
        return _bare(rest[0])
    return {**node, "details": [_bare(item) for item in rest]} if details else node


def _speaks_of_filter(node: dict[str, Any]) -> bool:
    return OWN in node["description"] or any(map(_speaks_of_filter, node.get("details") or []))
