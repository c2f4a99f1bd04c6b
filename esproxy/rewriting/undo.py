"""What the answer to a search of a pool owes to the way it was asked: undone here, on the tree, when the rest is restored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from esproxy.errors import Refusal
from esproxy.rewriting.aggs import Shape, tell_meta, unscope_globals, without_made_meta
from esproxy.rewriting.decoded import Decoded, decode_sorts
from esproxy.rewriting.explain import explain_without_filter
from esproxy.rewriting.profile import without_queries
from esproxy.tenancy.metafields import MetaFields

NONE = ("_none_", ["_none_"])


@dataclass(slots=True)
class Undo:
    """For one search."""

    globals: list[str] = field(default_factory=list)  # names of global aggregations that got a filter
    shapes: dict[str, Shape] = field(default_factory=dict)  # of the aggregations, where a query was put into some
    rewritten: dict[str, Any] = field(default_factory=dict)  # aggregations of which a node would tell that a shard rewrote them
    bare: bool = False  # the client wants hits without metadata, which the proxy asked for to verify them
    below: set[str] = field(default_factory=set)  # names of inner hits and top hits that are bare
    meta: MetaFields | None = None  # buckets of ``_index``
    unscored: list[str] = field(default_factory=list)  # names of inner hits of a collapse that no query has scored
    error: Refusal | None = None  # of a search that was not made: one for nothing was sent in its place
    sorts: list[Decoded | None] = field(default_factory=list)  # of values that hits are sorted by, those that a script made
    explained: bool = False  # explanations speak of the filter, too
    profiled: Literal["own", "shared"] | None = None  # the profile draws the filter, and terms that may be others'

    def __bool__(self) -> bool:
        owed = (
            self.globals,
            self.shapes,
            self.rewritten,
            self.bare,
            self.below,
            self.meta,
            self.unscored,
            self.error,
            self.sorts,
            self.explained,
            self.profiled,
        )
        return any(map(bool, owed))

    def restore(self, tree: Any, name: Callable[[str], str]) -> Any:
        """The answer of this search, with names and ids already restored but those of ``meta``."""
        if isinstance(tree, dict) and self.error is not None:
            tree.clear()
            tree |= self.error.payload()
        elif isinstance(tree, dict):
            unscope_globals(tree.get("aggregations"), self.globals)
            if self.shapes:
                without_made_meta(tree.get("aggregations"), self.shapes)
            tell_meta(tree.get("aggregations"), self.rewritten)
            if self.meta is not None:
                self.meta.restore(tree, name)
            if self.explained:
                explain_without_filter(tree)
            if self.profiled:
                without_queries(tree.get("profile"), own_terms=self.profiled == "own")
            if self.unscored:
                _without_scores(tree, self.unscored)
            if self.sorts:
                decode_sorts(tree.get("hits"), self.sorts)
            if self.bare:
                _strip(tree.get("hits"))
            if self.below:
                _strip_below(tree, self.below)
        return tree


def ask_for_metadata(tree: dict[str, Any], undo: Undo) -> None:
    """Hits without an id could not be verified. Where the client has disabled stored fields, an empty list of them gives the same
    hits with ids. What else needs stored fields beside that is left for the node to refuse."""
    if tree.get("stored_fields") in NONE and not tree.get("fields") and tree.get("_source") in (None, False, "false"):
        tree["stored_fields"] = []
        undo.bare = True
    _disabled_below(tree, undo)


def _disabled_below(tree: Any, undo: Undo, name: str = "") -> None:
    if isinstance(tree, list):
        for item in tree:
            _disabled_below(item, undo, name)
    elif isinstance(tree, dict):
        for key, value in tree.items():
            if key in ("inner_hits", "top_hits"):
                for hits in value if isinstance(value, list) else [value]:
                    if isinstance(hits, dict) and hits.get("stored_fields") in NONE and not hits.get("fields"):
                        hits["stored_fields"] = []
                        undo.below.add(hits.get("name") or tree.get("path") or tree.get("type") or tree.get("field") or name)
            _disabled_below(value, undo, key)


def unscored(tree: dict[str, Any], every: dict[str, Any]) -> list[str]:
    """Names of inner hits that are scored by the query for the scope, where a node has none to score them by."""
    collapse = tree.get("collapse")
    if tree.get("query") != every or not isinstance(collapse, dict):
        return []
    given = collapse.get("inner_hits")
    inner = [one for one in (given if isinstance(given, list) else [given]) if isinstance(one, dict)]
    return [str(one.get("name") or collapse.get("field")) for one in inner]


def _without_scores(tree: dict[str, Any], names: list[str]) -> None:
    hits = tree.get("hits")
    for hit in hits.get("hits") or [] if isinstance(hits, dict) else []:
        for name in names:
            found = (hit.get("inner_hits") or {}).get(name)
            if found is not None:
                for holder, key in [(found["hits"], "max_score"), *((one, "_score") for one in found["hits"]["hits"])]:
                    if holder.get(key) is not None:
                        holder[key] = 0.0


def _strip(hits: Any) -> None:
    for hit in hits.get("hits") or [] if isinstance(hits, dict) else []:
        hit.pop("_id", None)
        hit.pop("_routing", None)


def _strip_below(tree: Any, names: set[str]) -> None:
    if isinstance(tree, list):
        for item in tree:
            _strip_below(item, names)
    elif isinstance(tree, dict):
        for key, value in tree.items():
            if key == "_source":
                continue
            if key.rpartition("#")[2] in names and isinstance(value, dict):
                _strip(value.get("hits"))
            _strip_below(value, names)
