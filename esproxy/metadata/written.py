"""Filters of aliases as nodes write them: a node reads one into queries of its own, and writes these, with what is understood.

That is done here for what filters of aliases are made of: terms, ids, ranges, existence, and these in a ``bool``. What is not
among them stays as its creator wrote it. Elasticsearch writes fewer of the values that nobody gave than OpenSearch.
"""

from __future__ import annotations

from typing import Any

Tree = dict[str, Any]
CLAUSES = ("must", "filter", "must_not", "should")
BOUNDS = ("gte", "gt", "lte", "lt")


class _Unlearnt(Exception):
    """How nodes write it is not known."""


def as_written(filter: Any, product: bool) -> Any:
    try:
        return _query(filter, product)
    except _Unlearnt:
        return filter


def of_several(filters: list[Any], product: bool) -> Any:
    """The filter of an index that was reached by several aliases, each with its own."""
    if len(filters) == 1:
        return as_written(filters[0], product)
    return {"bool": {"should": [as_written(one, product) for one in filters], **_pure(product), "boost": 1.0}}


def _pure(product: bool) -> Tree:
    return {} if product else {"adjust_pure_negative": True}


def _query(query: Any, product: bool) -> Tree:
    if not isinstance(query, dict) or len(query) != 1:
        raise _Unlearnt
    ((kind, given),) = query.items()
    if not isinstance(given, dict):
        raise _Unlearnt
    if kind == "bool":
        return {kind: _bool(given, product)}
    if kind in ("match_all", "match_none"):
        return {kind: _with(given, {}, ())}
    if kind == "exists":
        return {kind: _with(given, {"field": given.get("field")}, ("field",))}
    if kind == "ids":
        values = given.get("values")
        return {kind: _with(given, {"values": [str(value) for value in _listed(values)]}, ("values",))}
    if kind == "terms":
        fields = [key for key in given if key not in ("boost", "_name")]
        if len(fields) != 1 or not isinstance(given[fields[0]], list):
            raise _Unlearnt
        return {kind: _with(given, {fields[0]: given[fields[0]]}, fields)}
    if kind in ("term", "prefix") and len(given) == 1:
        ((field, value),) = given.items()
        value = value if isinstance(value, dict) else {"value": value}
        return {kind: {field: _with(value, {"value": value.get("value")}, ("value",), quiet=product and kind == "term")}}
    if kind == "range" and len(given) == 1 and product:
        ((field, value),) = given.items()
        if not isinstance(value, dict):
            raise _Unlearnt
        return {kind: {field: _with(value, {key: value[key] for key in BOUNDS if key in value}, BOUNDS)}}
    raise _Unlearnt


def _bool(given: Tree, product: bool) -> Tree:
    out: Tree = {key: [_query(one, product) for one in _listed(given[key])] for key in CLAUSES if key in given}
    out |= _pure(product)
    if "minimum_should_match" in given:
        out["minimum_should_match"] = str(given["minimum_should_match"])
    return _with(given, out, (*CLAUSES, "minimum_should_match"))


def _with(given: Tree, out: Tree, known: Any, *, quiet: bool = False) -> Tree:
    """With boost and name. ``quiet``: a boost of one is not written."""
    if given.keys() - {*known, "boost", "_name"} or None in out.values():
        raise _Unlearnt
    boost = float(given.get("boost", 1))
    if boost != 1 or not quiet:
        out["boost"] = boost
    if "_name" in given:
        out["_name"] = given["_name"]
    return out


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
