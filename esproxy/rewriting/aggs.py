"""Aggregations that look past the hits of their search, which in a pool are others' documents and terms.

``global`` leaves the query, not the pool: what is below it goes into a ``filter`` for the search's own scopes, and the answer is
put together again as if that were not there.

``min_doc_count: 0`` of ``terms`` makes empty buckets of all terms of the physical index. Which of them the scopes have is asked
first; the aggregation then names them (``include``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from esproxy.errors import Refusal

OWN = "esproxy~own"
MOST = 10_000  # terms of one aggregation that empty buckets are made of
COPIED = ("field", "script", "include", "exclude", "format", "missing", "value_type")
# What takes its terms from the dictionary, or all documents, and no list of them.
NO_LIST = ("multi_terms", "significant_terms", "significant_text")


# --- global ---------------------------------------------------------------------------------------------


def scope_globals(tree: dict[str, Any], scope: dict[str, Any]) -> list[str]:
    """Put the filter into every global aggregation; their names. They stand on the first level only, or the node refuses
    them: one right below another stays there, so that the node tells of the names that the client gave."""
    found = []
    for key in ("aggs", "aggregations"):
        for name, definition in (tree.get(key) or {}).items():
            if isinstance(definition, dict) and "global" in definition:
                below = {**(definition.pop("aggs", None) or {}), **(definition.pop("aggregations", None) or {})}
                wrong = {inner: one for inner, one in below.items() if isinstance(one, dict) and "global" in one}
                below = {inner: one for inner, one in below.items() if inner not in wrong}
                scope_globals({"aggs": wrong}, scope)
                definition["aggs"] = wrong | {OWN: {"filter": scope, **({"aggs": below} if below else {})}}
                found.append(name)
    for key in ("aggs", "aggregations"):
        for definition in (tree.get(key) or {}).values():
            _lengthen_paths(definition, found)
    return found


def _lengthen_paths(definition: Any, names: list[str]) -> None:
    """Pipeline aggregations beside a global one name what is in it by a path."""
    for options in definition.values() if isinstance(definition, dict) else ():
        if isinstance(options, dict) and "buckets_path" in options:
            paths = options["buckets_path"]
            if isinstance(paths, dict):
                options["buckets_path"] = {key: _longer(path, names) for key, path in paths.items()}
            else:
                options["buckets_path"] = [_longer(p, names) for p in paths] if isinstance(paths, list) else _longer(paths, names)


def _longer(path: Any, names: list[str]) -> Any:
    for name in names:
        if isinstance(path, str) and (path == name or path.startswith((name + ">", name + "."))):
            return f"{name}>{OWN}{path[len(name) :]}"
    return path


def unscope_globals(answer: Any, names: list[str]) -> None:
    """Undo ``scope_globals`` in an answer's aggregations, tagged (``global#all``) or not."""
    if not isinstance(answer, dict):
        return
    for key, value in answer.items():
        if any(key == name or key.endswith("#" + name) for name in names) and isinstance(value, dict):
            own = next((inner for inner in value if inner.rpartition("#")[2] == OWN), None)
            if own is not None:
                value |= value.pop(own)


# --- backgrounds ----------------------------------------------------------------------------------------


def own_background(tree: Any, every: dict[str, Any]) -> None:
    """Where nobody else has documents, the background of significant terms is what the client says, or the whole index, documents
    within documents too: those have no metadata, so a filter for the scope leaves them out. ``every``: the query of the scope."""
    if isinstance(tree, list):
        for item in tree:
            own_background(item, every)
    elif isinstance(tree, dict):
        for key, value in tree.items():
            if key in ("significant_terms", "significant_text") and isinstance(value, dict):
                given = value.get("background_filter")
                if given == every:
                    del value["background_filter"]
                elif isinstance(given, dict) and _is_wrapped(given, every):
                    value["background_filter"] = given["bool"]["must"][0]
            own_background(value, every)


def _is_wrapped(query: dict[str, Any], every: dict[str, Any]) -> bool:
    inside = query.get("bool")
    return isinstance(inside, dict) and inside.get("filter") == [every["constant_score"]["filter"]]


# --- meta -----------------------------------------------------------------------------------------------

QUERIED = ("filter", "filters", "adjacency_matrix")
SIGNIFICANT = ("significant_terms", "significant_text")


class Shape(NamedTuple):
    """An aggregation of the client's. ``told``: an empty ``meta`` of it may be as on a node, since it has a query of its own that
    a shard may rewrite, or the client has given one."""

    told: bool
    below: dict[str, Shape]

    @property
    def may_be_told(self) -> bool:
        return self.told or any(shape.may_be_told for shape in self.below.values())


def shapes(tree: dict[str, Any], every: dict[str, Any]) -> dict[str, Shape]:
    """``every``: the query of the scope, which stands where the client gave no background."""
    out = {}
    for key in ("aggs", "aggregations"):
        for name, definition in (tree.get(key) or {}).items():
            if isinstance(definition, dict):
                kinds = [definition.get(kind) for kind in SIGNIFICANT]
                backgrounds = [kind.get("background_filter") for kind in kinds if isinstance(kind, dict)]
                told = "meta" in definition or any(kind in definition for kind in QUERIED) or backgrounds not in ([], [every])
                out[name] = Shape(told, shapes(definition, every))
    return out


def without_made_meta(answer: Any, known: dict[str, Shape]) -> bool:
    """OpenSearch tells an empty ``meta`` of each aggregation that a shard has rewritten, and of those around it: it goes where
    only a query that was put in here was rewritten. Is one left?"""
    left = False
    for key, value in answer.items() if isinstance(answer, dict) else ():
        shape = known.get(key.rpartition("#")[2])
        if shape is None or not isinstance(value, dict):
            continue
        below = [without_made_meta(part, shape.below) for part in _parts(value)]
        if value.get("meta") == {} and not shape.told and not (any(below) if below else shape.may_be_told):
            del value["meta"]
        left = left or "meta" in value
    return left


def wrapping(tree: dict[str, Any]) -> dict[str, Any]:
    """The aggregations with a query in base64, or ids that are looked up, in them or below: name → those below. A shard rewrites
    such a one whatever it finds; here both are read before it is sent."""
    out: dict[str, Any] = {}
    if not isinstance(tree, dict):
        return out
    for key in ("aggs", "aggregations"):
        for name, definition in (tree.get(key) or {}).items():
            if isinstance(definition, dict):
                below = wrapping(definition)
                if below or any(_is_read_before(definition.get(kind)) for kind in (*QUERIED, *SIGNIFICANT)):
                    out[name] = below
    return out


def _is_read_before(query: Any) -> bool:
    if isinstance(query, list):
        return any(map(_is_read_before, query))
    if not isinstance(query, dict):
        return False
    ids = query.get("_id")
    looked_up = isinstance(ids, dict) and "index" in ids and "path" in ids
    return looked_up or isinstance(query.get("wrapper"), dict) or any(map(_is_read_before, query.values()))


def tell_meta(answer: Any, rewritten: dict[str, Any]) -> None:
    """The empty ``meta`` of the aggregations that a shard would have rewritten (``wrapping``), and of those around them."""
    for key, value in answer.items() if isinstance(answer, dict) else ():
        below = rewritten.get(key.rpartition("#")[2])
        if below is None or not isinstance(value, dict):
            continue
        told = {"meta": {}, **value}
        value.clear()
        value |= told
        for part in _parts(value):
            tell_meta(part, below)


def _parts(answer: dict[str, Any]) -> list[Any]:
    """The buckets of an aggregation, or itself."""
    buckets = answer.get("buckets", [answer])
    return list(buckets.values()) if isinstance(buckets, dict) else buckets


# --- empty buckets --------------------------------------------------------------------------------------


class Empty(NamedTuple):
    """An aggregation that wants buckets without documents; ``nested``: the path of the documents it sees."""

    options: dict[str, Any]
    nested: str | None


def empty_buckets(tree: Any, nested: str | None = None) -> Iterator[Empty]:
    """Every aggregation over terms with ``min_doc_count: 0``. Raises Refusal for one that takes no list of terms."""
    for key in ("aggs", "aggregations"):
        for definition in (tree.get(key) or {}).values():
            if not isinstance(definition, dict):
                continue
            for kind in NO_LIST:
                if _wants_empty(definition.get(kind)):
                    raise Refusal(f"[min_doc_count] of [{kind}] can only be 1 or more for indices in a pool")
            if _wants_empty(definition.get("terms")):
                yield Empty(definition["terms"], nested)
            below = nested
            if isinstance(definition.get("nested"), dict):
                below = definition["nested"].get("path")
            elif isinstance(definition.get("reverse_nested"), dict):
                below = definition["reverse_nested"].get("path")
            yield from empty_buckets(definition, below)


def _wants_empty(options: Any) -> bool:
    if not isinstance(options, dict):
        return False
    least = options.get("min_doc_count", 1)
    return isinstance(least, bool) or not isinstance(least, int) or least < 1


def question(found: list[Empty], tree: dict[str, Any], scope: dict[str, Any]) -> dict[str, Any]:
    """The search for the terms that the scope has."""
    aggs: dict[str, Any] = {}
    for place, (options, nested) in enumerate(found):
        terms: dict[str, Any] = {key: options[key] for key in COPIED if key in options}
        asked: dict[str, Any] = {"terms": {**terms, "size": MOST, "order": {"_key": "asc"}}}
        aggs[str(place)] = asked if nested is None else {"nested": {"path": nested}, "aggs": {"t": asked}}
    defined = {key: tree[key] for key in ("runtime_mappings", "derived") if key in tree}
    return {"size": 0, "track_total_hits": False, "query": scope, "aggs": aggs, **defined}


def name_terms(found: list[Empty], answer: dict[str, Any]) -> None:
    """Let each aggregation name the terms that the scope has, of an answer to the question. Raises Refusal for too many."""
    for place, (options, nested) in enumerate(found):
        terms = answer["aggregations"][str(place)]
        terms = terms if nested is None else terms["t"]
        if terms["sum_other_doc_count"]:
            raise Refusal(f"[min_doc_count] can only be 1 or more in a pool for a field with more than [{MOST}] values")
        options.pop("exclude", None)
        options["include"] = [bucket.get("key_as_string", bucket["key"]) for bucket in terms["buckets"]]


def without_empty(found: list[Empty]) -> None:
    """The node refused the question, and will refuse the aggregation: in its own words."""
    for options, _ in found:
        options["min_doc_count"] = 1
