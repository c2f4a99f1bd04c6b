"""Fields of type ``join``: the ids of parents in documents, which get the scope as the ids themselves have it.

Parents and children meet by what a node stores for both: a parent's own ``_id``, and the text under ``parent`` in its children.
Who asks for the hidden fields that hold it (``jn#question``) would see scopes, so they cannot be asked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from esproxy import exact
from esproxy.errors import Refusal


class _Twice(ValueError):
    """Two members of one name: the node's to refuse."""


def join_paths(properties: Any, front: str = "") -> Iterator[str]:
    """The fields of type join in a mapping."""
    for name, definition in properties.items() if isinstance(properties, dict) else ():
        if isinstance(definition, dict):
            if definition.get("type") == "join":
                yield front + name
            yield from join_paths(definition.get("properties"), f"{front}{name}.")


def scoped(raw: bytes, paths: list[str], front: str, *, routed: bool) -> bytes:
    """A document as it is stored. ``routed``: its client has given a routing, or need not. Raises Refusal."""

    def put(path: str, parent: Any) -> Any:
        if not routed:
            cause = {"type": "illegal_argument_exception", "reason": f"[routing] is missing for join field [{path}]"}
            raise Refusal("failed to parse", type="mapper_parsing_exception", caused_by=cause)
        return parent if isinstance(parent, (dict, list)) or parent is None else front + _text(parent)

    return _changed(raw, paths, put)


def unscoped(raw: bytes, paths: list[str], front: str) -> bytes:
    return _changed(raw, paths, lambda path, parent: parent.removeprefix(front) if isinstance(parent, str) else parent)


def _changed(raw: bytes, paths: list[str], parent: Callable[[str, Any], Any]) -> bytes:
    if b'"parent"' not in raw and b"\\" not in raw:
        return raw
    try:
        tree = json.loads(raw, object_pairs_hook=_members, parse_int=exact.integer, parse_float=exact.decimal)
    except ValueError:
        return raw
    changed = [_change(tree, path, path, parent) for path in paths]
    return exact.dumps(tree) if any(changed) else raw


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Twice
    return found


def _change(tree: Any, at: str, path: str, parent: Callable[[str, Any], Any]) -> bool:
    if isinstance(tree, list):
        return bool([item for item in tree if _change(item, at, path, parent)])
    if not isinstance(tree, dict):
        return False
    if not at:
        if tree.get("parent") is None:
            return False
        tree["parent"] = parent(path, tree["parent"])
        return True
    below = [(key, at[len(key) + 1 :]) for key in tree if at == key or at.startswith(key + ".")]
    return bool([key for key, rest in below if _change(tree[key], rest, path, parent)])


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else exact.dumps(value).decode()
