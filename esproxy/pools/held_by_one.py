"""A field that one of several indices of ``per-tenant`` has, and no other: what aggregations over all of them call it.

A request names a field once, for all of its indices, and in ``per-tenant`` each lies in an object of its own. Where only one
index has the field, the name in its object says it for all: a document of another index has nothing there, as one of an index in
which the field is not mapped. Where none has it, it goes by a name that nobody can have. What several have is several fields,
which aggregations cannot take together (``docs/design/per-tenant.md``).

Only where a node makes no difference between an index that has not mapped a field and documents without it: in aggregations that
read values themselves, and in queries that find nothing then. Elsewhere the shards of such an index fail (a sort, a script, a
path of nested objects), and these are the shards of one physical index here.

Which index has the field its mapping tells, asked for after the request came: it knows of every write that was answered by then.
Where several have mapped it alike, it is asked which of them have documents with values there: one without is like one without
the field, and what becomes visible after that is seen by the next search.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from esproxy.catalogue.fields import flatten, is_there, unheld
from esproxy.catalogue.store import Steps, parsed
from esproxy.pools.counts import counted
from esproxy.pools.pooled import Pooled
from esproxy.tenancy.fieldnames import Divided
from esproxy.tenancy.target import Target

AGGS = ("aggs", "aggregations")
LEAVES = frozenset(
    (
        "exists", "fuzzy", "ids", "match", "match_all", "match_bool_prefix", "match_none", "match_phrase", "match_phrase_prefix",
        "prefix", "range", "regexp", "term", "terms", "wildcard",
    )
)  # fmt: skip
CLAUSES = {
    "bool": ("must", "should", "must_not", "filter"),
    "boosting": ("positive", "negative"),
    "constant_score": ("filter",),
    "dis_max": ("queries",),
}
VALUES = frozenset(
    (
        "auto_date_histogram", "avg", "cardinality", "composite", "date_histogram", "date_range", "extended_stats", "filter",
        "filters", "geo_bounds", "geo_centroid", "geohash_grid", "geotile_grid", "global", "histogram", "ip_range", "max",
        "median_absolute_deviation", "min", "missing", "multi_terms", "percentile_ranks", "percentiles", "range", "rare_terms",
        "sampler", "significant_terms", "stats", "sum", "terms", "value_count", "variable_width_histogram", "weighted_avg",
    )
)  # fmt: skip
BESIDE = frozenset(("fields", "copy_to", "meta"))  # of a definition, what its own values do not depend on
WITHOUT_VALUES = ("object", "nested", "alias")
SORTED = frozenset(("script", "sort"))  # what fails where a field is not mapped


def held_by_one(request: Pooled, targets: list[Target], given: bytes, why: Divided) -> Steps[bool]:
    """Has the field that divides the indices a name for all of them from now on? ``given``: the client's body."""
    path = why.path
    if path is None or path in request.alike or "scroll" in request.plan.query:
        return False
    if any(target.entry.layout != "per-tenant" for target in targets):
        return False
    if not _only_read(orjson.loads(given or b"{}"), path) or any(path in value for value in request.plan.query.values()):
        return False
    fields: dict[str, dict[str, Any]] = {}
    for physical in dict.fromkeys(target.physical for target in targets):
        here = [target for target in targets if target.physical == physical]
        wanted = ",".join(f"*.mappings.properties.{target.naming.root or '*'}" for target in here) + ",*.mappings.runtime"
        answer = yield request.send("GET", [physical, "_mapping"], {"filter_path": wanted})
        mapping = parsed(answer, 200).get(physical, {}).get("mappings", {})
        if "runtime" in mapping:
            return False
        for target in here:
            root, properties = target.naming.root, mapping.get("properties", {})
            fields[target.name] = flatten(properties if root is None else properties.get(root, {}).get("properties", {}))
    having = [target for target in targets if is_there(path, fields[target.name])]
    if len(having) > 1:
        having = yield from _with_values(request, having, fields, path)
    if len(having) > 1:
        return False
    name = having[0].naming.field(path) if having else unheld(path)
    others = [target for target in targets if target.naming.root is None and target not in having]
    if _in_an_object(path) or any(is_there(name, fields[target.name]) for target in others):
        return False  # what is an object's here is a name of a field there
    request.alike[path] = name
    return True


def _with_values(request: Pooled, having: list[Target], fields: dict[str, dict[str, Any]], path: str) -> Steps[list[Target]]:
    """Those of the indices that have documents with values there, or else one: where all have mapped the field alike, a node
    makes no difference between one without values and one without the field."""
    definitions = [fields[target.name].get(path) for target in having]
    mapped = [None if one is None else {key: value for key, value in one.items() if key not in BESIDE} for one in definitions]
    if mapped[0] is None or mapped[0].get("type") in (None, *WITHOUT_VALUES) or any(one != mapped[0] for one in mapped):
        return having
    counts = yield from counted(request, [(target, path, None) for target in having])
    return [target for target, count in zip(having, counts, strict=True) if count] or having[:1]


def _in_an_object(path: str) -> bool:
    """Is it what a field of an index in an object is called?"""
    first = path.partition(".")[0]
    return first[:1] == "n" and first[1:].isdigit()


def _only_read(tree: dict[str, Any], path: str) -> bool:
    """Does the path stand only where a field that is not mapped counts as one without values?"""
    rest = {key: value for key, value in tree.items() if key not in ("query", *AGGS)}
    if _names(rest, path) or not _harmless(tree.get("query"), path):
        return False
    return all(_read(agg, path) for key in AGGS for agg in (tree.get(key) or {}).values())


def _read(agg: Any, path: str) -> bool:
    if not _names(agg, path):
        return True
    below = [one for key in AGGS for one in (agg.get(key) or {}).values()]
    for kind, body in agg.items():
        if kind in AGGS or not _names(body, path):
            continue
        if kind not in VALUES or not SORTED.isdisjoint(_keys(body)):
            return False
        if kind in ("filter", "filters"):
            given = body.get("filters", body) if kind == "filters" else body
            queries = given if isinstance(given, list) else list(given.values()) if kind == "filters" else [given]
            if not all(_harmless(query, path) for query in queries):
                return False
    return all(_read(one, path) for one in below)


def _harmless(query: Any, path: str) -> bool:
    if not _names(query, path):
        return True
    if not isinstance(query, dict):
        return False
    for kind, body in query.items():
        if kind in CLAUSES and isinstance(body, dict):
            for clause in CLAUSES[kind]:
                given = body.get(clause)
                if not all(_harmless(one, path) for one in (given if isinstance(given, list) else [given])):
                    return False
        elif kind not in LEAVES or (kind == "terms" and any(isinstance(one, dict) for one in body.values())):
            return False  # a lookup names a field of another index
    return True


def _names(tree: Any, path: str) -> bool:
    """Can it be that the path stands in there? In a text it may have others around it."""
    if isinstance(tree, str):
        return path in tree
    if isinstance(tree, list):
        return any(_names(one, path) for one in tree)
    if isinstance(tree, dict):
        return any(key.partition("^")[0] == path or _names(one, path) for key, one in tree.items())
    return False


def _keys(tree: Any) -> Iterator[str]:
    if isinstance(tree, dict):
        yield from tree
    for one in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _keys(one)
