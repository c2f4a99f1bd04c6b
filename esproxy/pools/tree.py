"""The second pass over a search body for pools, as a tree: for what the core does not do at one position.

The core's pass was strict and has put the filter at every query root. What is left depends on what stands beside it, or on what
only the catalogue or the node knows: names of indices and ids (``rewriting.names``, ``rewriting.places``), lookups of documents
in other indices, aggregations that look past their search (``rewriting.aggs``), hits without metadata (``rewriting.undo``),
query strings (``text_queries``). Common bodies have none of it and are not read again.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Any

import orjson

from esproxy import exact
from esproxy.api.kinds import Kind, Mark
from esproxy.catalogue.store import Steps
from esproxy.errors import Failed, Refusal, Violation
from esproxy.plan import Plan
from esproxy.pools import wide
from esproxy.pools.pooled import Pooled
from esproxy.rewriting.aggs import empty_buckets, name_terms, own_background, question, scope_globals, shapes, without_empty
from esproxy.rewriting.names import clauses, exclude_liked, index_among_fields, ours, read_by_script, rewrite_clause, text_of
from esproxy.rewriting.patterns import Patterns, made_by
from esproxy.rewriting.places import Place, lookups, places, rewrite_places
from esproxy.rewriting.rewrite import PoolResolver
from esproxy.rewriting.routing import rewrite_routing
from esproxy.rewriting.text_queries import rewrite_texts, wanted, without_fields
from esproxy.rewriting.undo import ask_for_metadata, unscored
from esproxy.tenancy.expressions import Options
from esproxy.tenancy.fieldnames import Divided
from esproxy.tenancy.metafields import MetaFields
from esproxy.tenancy.target import Target, filter_of

LENIENT = Options(ignore_unavailable=True)
JSON = b"application/json"
SEARCHING = ("aggs", "aggregations", "knn", "retriever", "rank", "sub_searches")  # what makes nodes search, beside a query
MOST_FOUND = 10_000  # documents that a node finds for a search, unless the index says otherwise
DEEPEST = 20  # wrappers in one another


def needs_tree(resolver: PoolResolver, marks: int, body: bytes) -> bool:
    """Is there anything for this pass?"""
    if resolver.patterned and not resolver.own_terms:
        return True
    if resolver.named or resolver.read_meta or resolver.fields.none or resolver.fields.routed or wanted(body, resolver):
        return True
    if marks & Mark.SUGGEST:
        return True
    escaped = b"\\u" in body  # a key may be spelled otherwise
    if escaped or (b"inner_hits" in body and b"collapse" in body):
        return True
    if resolver.alone or (b"significant_" in body and not resolver.plan.product):
        return b"significant_" in body
    return bool(marks & Mark.GLOBAL) or (bool(marks & Mark.AGGS) and not resolver.own_terms and b"min_doc_count" in body)


def rewrite(request: Pooled, targets: list[Target], state: int, body: bytes, resolver: PoolResolver, marks: int) -> Steps[bytes]:
    """The body as it is sent; what its answer needs is noted in ``request.undo``."""
    tree, undo = exact.loads(body), request.undo[-1]
    if resolver.fields.shared and (resolver.patterned or without_fields(tree)):
        fresh = yield from request.freshest(targets)
        resolver.fields.targets = fresh
        defined = made_by(tree, resolver.fields.sent)
        shown = request.plan.route.row.name == "indices.validate_query"
        Patterns(resolver.fields, fresh, defined, shown=shown).expand(request.plan.cluster.engine.tables.states, state, tree)
    if wanted(body, resolver):
        rewrite_texts(request.plan.cluster.engine.tables.states, state, tree, resolver)
    if marks & Mark.SUGGEST and tree.keys().isdisjoint(SEARCHING) and tree["query"] == no_query(targets):
        del tree["query"]  # the client gave none, and a node that only suggests runs none
    if resolver.fields.routed and rewrite_routing(tree, targets) != resolver.fields.routed:
        raise Refusal("the field [_routing] cannot be used in this way for an index in a pool")
    if resolver.named:
        yield from _names(request, targets, state, tree)
    if resolver.read_meta:
        index_among_fields(tree, targets, lambda expression: reached(request, targets, expression))
        read_by_script(tree, targets, request.product)
        undo.meta = _buckets_of_index(tree)
    if resolver.alone:
        if not any(target.filters for target in targets):
            own_background(tree, no_query(targets))
    else:
        if not request.product and (marks & Mark.GLOBAL or b"significant_" in body):
            undo.shapes = shapes(tree, no_query(targets))
        found = [] if resolver.own_terms else list(empty_buckets(tree))
        if found:
            asked = orjson.dumps(question(found, tree, filter_of(targets)))
            answer = yield from wide.search(request, [wide.INDEX, "_search"], targets, {}, asked)
            if answer.status >= 500:
                raise Failed("the terms of the index could not be told")
            if answer.status == 200:
                name_terms(found, orjson.loads(answer.body))
            else:
                without_empty(found)
        if marks & Mark.GLOBAL:
            undo.globals = scope_globals(tree, filter_of(targets))
    undo.unscored = unscored(tree, no_query(targets))
    if resolver.fields.none:
        ask_for_metadata(tree, undo)
        undo.below = {targets[0].naming.logical(name) for name in undo.below}
    return exact.dumps(tree)


def no_query(targets: list[Target]) -> dict[str, Any]:
    """What the core puts in where the client gives no query."""
    return {"constant_score": {"filter": filter_of(targets)}}


def _buckets_of_index(tree: dict[str, Any]) -> MetaFields | None:
    """Aggregations that take no script: their keys are restored. Names among their options are not understood."""
    found = MetaFields.of_body(tree)
    if not found.aggs:
        return None
    found.queries = False
    before = exact.dumps(tree)
    if exact.dumps(found.rewrite_inputs(exact.loads(before), "~", lambda text, field: text)) != before:
        raise Refusal("values of the field [_index] in this aggregation are not available for indices in a pool")
    return found


# --- names and ids --------------------------------------------------------------------------------------


def _names(request: Pooled, targets: list[Target], state: int, tree: Any) -> Steps[None]:
    states = request.plan.cluster.engine.tables.states
    if isinstance(tree, dict) and "indices_boost" in tree:
        tree["indices_boost"] = _boosts(request, targets, tree["indices_boost"])
    compared = list(clauses(states, state, tree))
    dealt_with = {id(clause.holder[clause.name]) for clause in compared}
    dealt_with |= {id(clause.holder[clause.name][clause.field]) for clause in compared}
    boosts = tree.get("indices_boost") or [] if isinstance(tree, dict) else []
    dealt_with |= {id(boost) for boost in (boosts if isinstance(boosts, list) else [boosts])}
    found = [place for place in places(states, state, tree) if id(place.holder) not in dealt_with]
    looked_up = [place for place in found if _gives_ids(place)]
    yield from _looked_up_ids(request, targets, looked_up)
    elsewhere: dict[str, Target | str] = {}
    for name in lookups(found):
        if name not in elsewhere:
            elsewhere[name] = yield from request.lookup(name)
    within = _in_lookups(found, elsewhere)
    asked = [(place, elsewhere.get(str(place.holder.get(place.lookup.index)))) for place in looked_up if place.lookup is not None]

    def over(holder: dict[str, Any]) -> list[Target]:
        return within.get(id(holder), targets)

    rewrite_places(found, over, elsewhere)
    for clause in compared:
        if ours(clause):
            continue
        there = over(clause.holder)
        rewrite_clause(clause, there, lambda expression, there=there: reached(request, there, expression))
    yield from _found_ids(request, targets, asked)
    own = {one.physical for one in (*targets, *elsewhere.values()) if isinstance(one, Target) and one.dedicated}
    exclude_liked(tree, targets, own)


def _in_lookups(found: list[Place], elsewhere: dict[str, Target | str]) -> dict[int, list[Target]]:
    """The objects in queries of lookups (by their ids), which are over the index that is looked into."""
    within: dict[int, list[Target]] = {}
    for place in found:
        query = place.holder.get("query") if place.lookup is not None else None
        target = elsewhere.get(str(place.holder.get(place.lookup.index))) if place.lookup is not None else None
        if isinstance(query, dict) and isinstance(target, Target):
            within |= {key: [target] for key in _objects(query)}
    return within


def _objects(tree: Any) -> Iterator[int]:
    if isinstance(tree, dict):
        yield id(tree)
    for item in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _objects(item)


def reached(request: Pooled, targets: list[Target], expression: str) -> list[Target]:
    """Which of the targets an index expression comes to. What is no expression comes to none."""
    directory = request.seen
    try:
        found = request.evaluated(directory, expression, LENIENT)
    except Refusal:
        return []
    request.sight.use(found.used)
    return [target for target in targets if target.name in found.found]


def _boosts(request: Pooled, targets: list[Target], given: Any) -> Any:
    """``indices_boost`` by physical names: the first that an index matches counts. A name that is not there goes up for the node
    to miss, unless that may be."""
    entries = [given] if isinstance(given, dict) else given
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return given
    if len({target.physical for target in targets}) < len(targets):
        raise Divided("[indices_boost] does not tell these indices apart")
    lenient = Options.of(request.plan.query).ignore_unavailable
    out: dict[str, Any] = {}
    for entry in entries:
        for name, boost in entry.items():
            there = reached(request, targets, name)
            for target in there:
                out.setdefault(target.physical, boost)
            if not there and not lenient and not _known(request, name):
                out.setdefault(request.sent_apart(name), boost)
    return out if isinstance(given, dict) else [{name: boost} for name, boost in out.items()]


def _known(request: Pooled, name: str) -> bool:
    """Does a name or pattern need nothing to be there, or is there something?"""
    directory = request.seen
    return "*" in name or name in directory.indices or name in directory.aliases


def _gives_ids(place: Place) -> bool:
    """Is it a lookup whose terms are compared with ``_id``?"""
    above = place.above
    return place.lookup is not None and above is not None and above[1] == "_id" and isinstance(above[0].get("_id"), dict)


def _looked_up_ids(request: Pooled, targets: list[Target], found: list[Place]) -> Steps[None]:
    """``terms`` over ``_id`` with the ids in a document: what it holds are the client's ids, so it is read here."""
    for place in found:
        lookup, holder = place.lookup, place.holder
        assert lookup is not None and place.above is not None
        if "query" in holder or holder.get(lookup.index) is None or not isinstance(place.above[0].get("_id"), dict):
            continue
        target = yield from request.lookup(text_of(holder[lookup.index]))
        if isinstance(target, str) or holder.get(lookup.id) is None:
            continue  # the node's to refuse
        id = text_of(holder[lookup.id])
        path = targets[0].naming.logical(text_of(holder.get("path", "")))
        where = [target.physical, "_doc", target.id_front + id]
        given = holder.get("routing")
        answer = yield request.send("GET", where, target.routing(id, None if given is None else text_of(given)))
        if answer.status not in (200, 404):
            raise Failed("the document with the ids could not be read")
        source = orjson.loads(target.source(orjson.dumps(orjson.loads(answer.body).get("_source") or {})))
        values = [text_of(value) for value in _values_at(source, path)]
        place.above[0]["_id"] = [own.id_front + value for value in values for own in targets]


def _found_ids(request: Pooled, targets: list[Target], asked: list[tuple[Place, Target | str | None]]) -> Steps[None]:
    """The same with the ids in documents of a target that a query finds, which is physical by now."""
    for place, target in asked:
        holder = place.holder
        assert place.above is not None
        if "query" not in holder or not isinstance(target, Target) or not isinstance(place.above[0].get("_id"), dict):
            continue
        path = text_of(holder.get("path", ""))
        query = {"bool": {"must": [holder["query"]], "filter": [filter_of([target])]}}
        body = exact.dumps({"query": query, "_source": [path], "size": MOST_FOUND})
        answer = yield request.send("POST", [target.physical, "_search"], {}, body, JSON)
        if answer.status >= 500:
            raise Failed("the documents with the ids could not be read")
        if answer.status != 200:
            continue  # the node's to refuse
        hits = orjson.loads(answer.body)["hits"]["hits"]
        if not all(hit["_id"].startswith(target.id_front) for hit in hits):
            raise Violation("an id")
        values = [text_of(value) for hit in hits for value in _values_at(hit.get("_source"), path)]
        place.above[0]["_id"] = [own.id_front + value for value in values for own in targets]


def _values_at(source: Any, path: str) -> list[Any]:
    """The values at a path of a document, lists on the way or not, dots in names or not."""
    if isinstance(source, list):
        return [value for item in source for value in _values_at(item, path)]
    if not path:
        return [] if isinstance(source, dict) or source is None else [source]
    if not isinstance(source, dict):
        return []
    found = []
    for key, value in source.items():
        if key == path:
            found += _values_at(value, "")
        elif path.startswith(key + "."):
            found += _values_at(value, path[len(key) + 1 :])
    return found


# --- queries in base64 ----------------------------------------------------------------------------------


def unwrapped_queries(plan: Plan, state: int, body: bytes) -> bytes:
    """The body with every ``wrapper`` query replaced by the query in it, wrappers in that too."""
    tree = exact.loads(body)
    _unwrap(plan.cluster.engine.tables.states, state, tree, 0)
    return exact.dumps(tree)


def _unwrap(states: list[dict[str, Any]], state: int, tree: Any, depth: int) -> None:
    row = states[state]
    if isinstance(tree, list):
        for item in tree:
            _unwrap(states, row.get("items", state), item, depth)
    elif isinstance(tree, dict):
        keys: dict[str, int] = row.get("keys", {})
        other = row.get("other", ("COPY", 1))[1]
        wrapper = tree.get("wrapper")
        inner = states[states[keys["wrapper"]]["keys"]["query"]] if "wrapper" in keys and "bool" in keys else {}
        if inner.get("kind") == Kind.WRAPPER.name and isinstance(wrapper, dict) and isinstance(wrapper.get("query"), str):
            if depth >= DEEPEST:
                raise Refusal("too many [wrapper] queries in one another", type="parsing_exception")
            del tree["wrapper"]
            tree |= _decoded(wrapper["query"])
            _unwrap(states, state, tree, depth + 1)
            return
        for key, value in tree.items():
            _unwrap(states, keys.get(key, other), value, depth)


def _decoded(text: str) -> dict[str, Any]:
    try:
        query = exact.loads(base64.b64decode(text, validate=True))
    except binascii.Error:
        raise Refusal("the query of [wrapper] is not base64", type="parsing_exception") from None
    except (ValueError, RecursionError):
        raise Refusal("the query of [wrapper] is not JSON", type="parsing_exception") from None
    if not isinstance(query, dict):
        raise Refusal("the query of [wrapper] is no query", type="parsing_exception")
    return query
