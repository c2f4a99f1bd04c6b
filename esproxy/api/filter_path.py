"""``filter_path``, applied by the proxy where a node would match it against physical names.

Elasticsearch's rules: a comma list of patterns; keys of a pattern are separated by dots (``\\.`` is a dot in a key); ``*``
matches within one key, ``**`` any number of levels; a pattern that begins with ``-`` leaves out; lists are transparent; with
only excluding patterns everything else stays. A pattern that ends above the leaves takes everything below.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Any

Pattern = tuple[str, ...]
_GONE = object()


class FilterPath:
    def __init__(self, text: str) -> None:
        patterns = [p for p in text.split(",") if p]
        self.takes = [_keys(p) for p in patterns if not p.startswith("-")]
        self.leaves = [_keys(p[1:]) for p in patterns if p.startswith("-")]

    def apply(self, tree: Any) -> Any:
        """What is left of ``tree``; when nothing is, an empty object of an object, None of a list: nodes send nothing then."""
        nothing = None if isinstance(tree, list) else {}
        if self.takes:
            tree = _take(tree, self.takes)
        if tree is not _GONE and self.leaves:
            tree = _leave(tree, self.leaves)
        return nothing if tree is _GONE or tree == [] else tree


def _keys(pattern: str) -> Pattern:
    return tuple(part.replace("\\.", ".") for part in re.split(r"(?<!\\)\.", pattern))


def _step(patterns: list[Pattern], key: str) -> tuple[list[Pattern], bool]:
    """The patterns that go on below ``key``, and whether one ends there."""
    further: list[Pattern] = []
    ends = False
    for pattern in patterns:
        head, rest = pattern[0], pattern[1:]
        if head == "**":
            further.append(pattern)
            if not rest:
                ends = True
                continue
            head, rest = rest[0], rest[1:]
        if _matches(key, head):
            if rest:
                further.append(rest)
            else:
                ends = True
    return further, ends


def _matches(key: str, pattern: str) -> bool:
    if "*" not in pattern:
        return key == pattern
    return fnmatchcase(key, pattern.replace("[", "[[]").replace("?", "[?]"))


def _take(tree: Any, patterns: list[Pattern]) -> Any:
    if isinstance(tree, list):
        kept = [item for item in (_take(item, patterns) for item in tree) if item is not _GONE]
        return kept if kept else _GONE
    if not isinstance(tree, dict):
        return _GONE
    out = {}
    for key, value in tree.items():
        further, ends = _step(patterns, key)
        if not ends:
            value = _take(value, further) if further else _GONE
        if value is not _GONE:
            out[key] = value
    return out if out else _GONE


def _leave(tree: Any, patterns: list[Pattern]) -> Any:
    if isinstance(tree, list):
        return [item for item in (_leave(item, patterns) for item in tree) if item is not _GONE]
    if not isinstance(tree, dict):
        return tree
    out = {}
    for key, value in tree.items():
        further, ends = _step(patterns, key)
        if ends:
            continue
        kept = _leave(value, further) if further else value
        if kept is not _GONE and not (kept == {} and value):
            out[key] = kept
    return out if out or not tree else _GONE
