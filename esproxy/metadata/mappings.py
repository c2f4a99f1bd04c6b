"""Mappings: the field types that a tenant may not have, because a node acts on their values with rights of its own.

A ``percolator`` field holds queries. While it indexes one, a node looks up what the query names (terms lookups, indexed shapes,
in any index) and keeps the values: tried on OpenSearch 3.8, a document in one index shows by percolation what a document of
another index holds. Documents pass unparsed here, so the type is refused until queries in documents are rewritten like any
other.

OpenSearch 3.8 never ends some writes under ``dynamic: false_allow_templates`` (``{"a.t": 1}`` where a template matches ``t``
alone).
"""

from __future__ import annotations

from typing import Any

from esproxy.errors import Refusal

UNSAFE = {"percolator": "its queries would be looked up with the cluster's rights"}


def refuse_unsafe_types(tree: Any) -> None:
    """Raises Refusal where a type of UNSAFE is asked for, at any depth, dynamic templates included."""
    if isinstance(tree, list):
        for item in tree:
            refuse_unsafe_types(item)
    elif isinstance(tree, dict):
        kind = tree.get("type")
        if isinstance(kind, str) and kind in UNSAFE:
            raise Refusal(f"No handler for type [{kind}] here: {UNSAFE[kind]}", type="mapper_parsing_exception")
        if tree.get("dynamic") == "false_allow_templates":
            raise Refusal("the value [false_allow_templates] of [dynamic] is not available here", type="mapper_parsing_exception")
        for value in tree.values():
            refuse_unsafe_types(value)
