"""Sorting by and aggregating over ``_index``: the few answers whose meaning depends on what was asked.

Everywhere else a position in an answer says by itself what it holds. Sort values and bucket keys do not: they hold physical
names exactly when the request named the field ``_index`` there. The core watches for that field in requests (it is rare) and
only then is the body read as a tree, on both ways:

* ``search_after``, ``after``, ``include``, ``exclude``, ``missing`` and the texts of queries at such places are rewritten,
* sort values, bucket keys, composite keys and ``after_key`` are restored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from esproxy.errors import Refusal

INDEX = "_index"
TEXT_QUERIES = frozenset(("multi_match", "query_string", "simple_query_string", "combined_fields"))
SINGLE = ("terms", "rare_terms", "significant_terms")
Restore = Callable[[str], str]


class Restores(Protocol):
    """What is left to do to the tree of an answer."""

    def restore(self, tree: Any, name: Restore) -> Any: ...


@dataclass(slots=True)
class Aggregation:
    """One aggregation on the way to, or on, ``_index``: which parts of its keys are names, and what is below."""

    single: bool = False
    sources: list[str] = field(default_factory=list)  # composite sources by name
    places: list[int] = field(default_factory=list)  # multi_terms positions
    sort: list[int] = field(default_factory=list)  # of top_hits
    below: dict[str, Aggregation] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.single or self.sources or self.places or self.sort or self.below)


@dataclass(slots=True)
class MetaFields:
    """Where a request uses ``_index`` as a field."""

    sort: list[int] = field(default_factory=list)
    aggs: dict[str, Aggregation] = field(default_factory=dict)
    queries: bool = False  # a query over a list of fields has it among them
    inputs: bool = False  # the body holds values at such places

    @classmethod
    def of_sort(cls, text: str) -> MetaFields:
        """For the URL parameter ``sort``."""
        return cls(sort=_sort_places([part.partition(":")[0] for part in text.split(",")]))

    @classmethod
    def of_body(cls, body: Any) -> MetaFields:
        """For a search body that has passed its rule table."""
        if not isinstance(body, dict):
            return cls()
        found = cls(sort=_sort_places(body.get("sort")), aggs=_aggregations(body))
        found.queries = any(True for _ in _text_queries(body))
        found.inputs = bool(found.aggs) or found.queries or bool(found.sort and "search_after" in body)
        return found

    def rewrite_inputs(self, body: dict[str, Any], prefix: str, lucene: Callable[[str, str], str]) -> dict[str, Any]:
        """The body with the values at such places made physical. ``lucene`` rewrites a query string with a default field. Raises
        Refusal where ``_index`` is one of several fields: one text cannot mean a logical and a physical name."""
        for holder, kind in list(_text_queries(body)):
            query = holder[kind]
            fields = query.get("fields", [query.get("default_field")])
            fields = [fields] if isinstance(fields, str) else fields
            others = [name for name in fields if str(name).partition("^")[0] != INDEX]
            if others:
                _apart(holder, kind, fields, others, prefix)
            elif isinstance(query.get("query"), str):
                query["query"] = lucene(query["query"], INDEX) if kind == "query_string" else prefix + query["query"]
        after = body.get("search_after")
        if isinstance(after, list):
            body["search_after"] = [prefix + v if i in self.sort and isinstance(v, str) else v for i, v in enumerate(after)]
        _rewrite_aggs(body, self.aggs, prefix)
        return body

    def restore(self, tree: Any, name: Restore) -> Any:
        """A search answer with the values at such places made logical. ``name`` raises Violation for a foreign name."""
        if isinstance(tree, dict):
            _restore_sort(tree.get("hits"), self.sort, name)
            _restore_aggs(tree.get("aggregations"), self.aggs, name)
        return tree


@dataclass(slots=True)
class Several:
    """For the answers of an msearch, in order."""

    each: list[Restores | None]

    def restore(self, tree: Any, name: Restore) -> Any:
        for one, answer in zip(self.each, tree.get("responses", []), strict=True):
            if one is not None:
                one.restore(answer, name)
        return tree


def _apart(holder: dict[str, Any], kind: str, fields: list[str], others: list[str], prefix: str) -> None:
    """A query over ``_index`` and other fields, taken apart: the best field counts, which is what ``best_fields`` means."""
    query = holder[kind]
    if kind != "multi_match" or query.get("type", "best_fields") != "best_fields" or not isinstance(query.get("query"), str):
        raise Refusal(f"a [{kind}] query cannot have the field [_index] beside others here: ask for it in a query of its own")
    boost = next(str(name).partition("^")[2] for name in fields if name not in others)
    term = {"term": {INDEX: {"value": prefix + query["query"], "boost": float(boost or 1) * float(query.get("boost", 1))}}}
    del holder[kind]
    holder["dis_max"] = {"queries": [{kind: {**query, "fields": others}}, term], "tie_breaker": query.get("tie_breaker", 0.0)}


def _text_queries(tree: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Every query over a list of fields that has ``_index`` in it: what holds it, and its kind."""
    if isinstance(tree, list):
        for item in tree:
            yield from _text_queries(item)
    elif isinstance(tree, dict):
        for key, value in tree.items():
            if key in TEXT_QUERIES and isinstance(value, dict):
                fields = value.get("fields", value.get("default_field"))
                if any(str(name).partition("^")[0] == INDEX for name in (fields if isinstance(fields, list) else [fields])):
                    yield tree, key
                    continue
            yield from _text_queries(value)


def _sort_places(sort: Any) -> list[int]:
    entries = sort if isinstance(sort, list) else [sort]
    return [i for i, e in enumerate(entries) if e == INDEX or (isinstance(e, dict) and INDEX in e)]


def _aggregations(body: dict[str, Any]) -> dict[str, Aggregation]:
    found = {}
    for key in ("aggs", "aggregations"):
        for name, definition in (body.get(key) or {}).items():
            if isinstance(definition, dict):
                aggregation = _aggregation(definition)
                if aggregation:
                    found[name] = aggregation
    return found


def _aggregation(definition: dict[str, Any]) -> Aggregation:
    out = Aggregation(below=_aggregations(definition))
    for kind in SINGLE:
        if isinstance(definition.get(kind), dict) and definition[kind].get("field") == INDEX:
            out.single = True
    composite = definition.get("composite")
    if isinstance(composite, dict):
        for source in composite.get("sources") or []:
            for name, by in source.items() if isinstance(source, dict) else ():
                if any(isinstance(options, dict) and options.get("field") == INDEX for options in by.values()):
                    out.sources.append(name)
    multi = definition.get("multi_terms")
    if isinstance(multi, dict):
        out.places = [
            i for i, term in enumerate(multi.get("terms") or []) if isinstance(term, dict) and term.get("field") == INDEX
        ]
    top = definition.get("top_hits")
    if isinstance(top, dict):
        out.sort = _sort_places(top.get("sort"))
    return out


def _rewrite_aggs(body: dict[str, Any], aggs: dict[str, Aggregation], prefix: str) -> None:
    for key in ("aggs", "aggregations"):
        for name, definition in (body.get(key) or {}).items():
            aggregation = aggs.get(name)
            if aggregation is None:
                continue
            for kind in SINGLE if aggregation.single else ():
                for option in ("include", "exclude", "missing"):
                    options = definition.get(kind, {})
                    if option in options:
                        options[option] = _rewritten(options[option], prefix, pattern=option != "missing")
            after = definition.get("composite", {}).get("after", {})
            for source in aggregation.sources:
                if isinstance(after.get(source), str):
                    after[source] = prefix + after[source]
            _rewrite_aggs(definition, aggregation.below, prefix)


def _rewritten(value: Any, prefix: str, *, pattern: bool) -> Any:
    if isinstance(value, list):
        return [prefix + v if isinstance(v, str) else v for v in value]
    if not isinstance(value, str):
        return value  # a partition
    return f"{prefix.replace('.', chr(92) + '.')}({value})" if pattern else prefix + value


def _restore_sort(hits: Any, places: list[int], name: Restore) -> None:
    if not places or not isinstance(hits, dict):
        return
    for hit in hits.get("hits") or []:
        values = hit.get("sort") or []
        for place in places:
            if place < len(values) and isinstance(values[place], str):
                values[place] = name(values[place])


def _restore_aggs(answer: Any, aggs: dict[str, Aggregation], name: Restore) -> None:
    if not aggs or not isinstance(answer, dict):
        return
    for key, value in answer.items():
        aggregation = aggs.get(key.rpartition("#")[2])
        if aggregation is None or not isinstance(value, dict):
            continue
        for source in aggregation.sources:
            if isinstance(value.get("after_key"), dict):
                _restore_key(value["after_key"], source, name)
        _restore_sort(value.get("hits"), aggregation.sort, name)
        buckets = value.get("buckets")
        for bucket in buckets.values() if isinstance(buckets, dict) else buckets or []:
            _restore_bucket(bucket, aggregation, name)
        _restore_aggs(value, aggregation.below, name)  # single-bucket aggregations


def _restore_bucket(bucket: dict[str, Any], aggregation: Aggregation, name: Restore) -> None:
    if aggregation.single:
        _restore_key(bucket, "key", name)
    for source in aggregation.sources:
        _restore_key(bucket["key"], source, name)
    for place in aggregation.places:
        physical = bucket["key"][place]
        bucket["key"][place] = name(physical)
        parts = bucket.get("key_as_string", "").split("|")
        if len(parts) == len(bucket["key"]):
            parts[place] = bucket["key"][place]
            bucket["key_as_string"] = "|".join(parts)
    _restore_aggs(bucket, aggregation.below, name)


def _restore_key(holder: dict[str, Any], key: str, name: Restore) -> None:
    if isinstance(holder.get(key), str):
        holder[key] = name(holder[key])
