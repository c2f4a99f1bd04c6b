"""What a node never comes to the end of: requests that hold a thread of it for good, and with it everybody's connections there.

Nodes of both engines read the ``filter`` of term vectors up to the next closing brace, whatever it is: where it is no object, and
so no brace comes, they read on past the end of the body (tried on Elasticsearch 9.4 and OpenSearch 3.8: one such
request takes a thread of the HTTP layer until the node is stopped). The body itself they read in the same way: one that is no
object has no such brace either.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from esproxy.errors import Refusal


def refuse_endless(tree: Any) -> None:
    """Of a body of ``_termvectors`` or ``_mtermvectors``. Raises Refusal."""
    if not isinstance(tree, dict):
        raise Refusal("failed to parse term vectors request: the body must be an object", type="parse_exception")
    for options in _options(tree):
        if not isinstance(options.get("filter", {}), dict):
            raise Refusal("failed to parse term vectors request. [filter] must be an object", type="parse_exception")


def _options(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        listed = tree.get("docs")
        docs = listed if isinstance(listed, list) else [listed]
        yield from (one for one in (tree, tree.get("parameters"), *docs) if isinstance(one, dict))
