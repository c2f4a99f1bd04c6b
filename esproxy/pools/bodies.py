"""Bodies of requests to pools, where rewriting them needs more than memory: lookups in other indices, fields not yet known."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import cached_property
from typing import Any

import orjson

from esproxy import core, exact
from esproxy.api.kinds import Mark
from esproxy.bodies import refusal
from esproxy.catalogue.dynamic_rules import RUNTIME, DynamicRules, Unparsed, compile_rules
from esproxy.catalogue.inference import infer
from esproxy.catalogue.store import Steps
from esproxy.errors import Failed, Refusal, broken_document
from esproxy.plan import Plan
from esproxy.pools.lacking import check_lacking
from esproxy.pools.pooled import Pooled
from esproxy.pools.search_pipelines import through_pipeline
from esproxy.pools.stored import with_sources
from esproxy.pools.tree import needs_tree, rewrite, unwrapped_queries
from esproxy.rewriting.aggs import wrapping
from esproxy.rewriting.explain import asks_to_explain
from esproxy.rewriting.query import physical_query
from esproxy.rewriting.rewrite import PoolResolver, asks_for_profile, check_object, check_search, walk
from esproxy.rewriting.undo import Undo
from esproxy.tenancy.target import Target, request_bindings

TYPED = Mark.AGGS | Mark.SUGGEST
ROUNDS = 5


class DocumentResolver(PoolResolver):
    """For bodies that hold documents of one index. ``wanted``: fields that the index does not have yet. ``routed``: the client
    has given a routing, or need not; ``templates``: dynamic templates that it has given by path."""

    def __init__(self, plan: Plan, target: Target, *, routed: bool, templates: dict[str, str] | None = None) -> None:
        super().__init__(plan, [target])
        self.routed = routed
        self.templates = templates or {}
        self.wanted: dict[str, dict[str, Any]] = {}

    @cached_property
    def rules(self) -> DynamicRules:
        index, cluster = self.targets[0].index, self.plan.cluster
        settings = {name.removeprefix("index."): value for name, value in index.settings.items()}
        rules = compile_rules(index.mapping, settings, cluster.engine.name, str(cluster.info["version"]["number"]))
        return replace(rules, given=self.templates) if self.templates else rules

    def document(self, raw: bytes) -> bytes | None:
        """The document as it is stored; None when fields have to be there first. Raises Refusal for one that its index does not
        take."""
        target = self.targets[0]
        if not raw.lstrip().startswith(b"{"):
            return raw  # the node's to refuse
        if target.naming.inferred and not target.known.has_all(raw):
            new = self._new_fields(raw)
            if new:
                self.wanted |= new
                return None
        return _stored(raw, target, self.plan, self.routed)

    def _new_fields(self, raw: bytes) -> dict[str, dict[str, Any]]:
        index = self.targets[0].index
        try:
            new = infer(json.loads(raw), self.rules, index.fields)
        except Unparsed as error:
            raise error.at(raw) from None
        for path, definition in new.items():
            if RUNTIME in definition and (index.reason is None or path.startswith("_")):
                raise Refusal(f"[{path}] cannot be made a [runtime] field: an index in a pool is created with [dynamic: runtime]")
        return new


def _stored(raw: bytes, target: Target, plan: Plan, routed: bool) -> bytes:
    try:
        return target.stored(raw, routed=routed)
    except (ValueError, RecursionError) as error:
        raise broken_document(str(error), product=plan.product) from None


def no_document(run: core.Pass, raw: bytes, plan: Plan) -> bytes | Refusal:
    """What becomes of a document that ended the pass: the node is asked for its words where there is nothing to read."""
    assert run.error is not None
    if run.error.status is core.Status.EMPTY:
        return raw
    return broken_document(str(run.error), product=plan.product) if run.error.malformed else refusal(plan, run, raw)


class NeedsDocument(Exception):
    """The body would bring fields, if its document were there."""


def document_body(
    request: Pooled,
    target: Target,
    state: int,
    body: bytes,
    needs_document: Callable[[], bool] | None = None,
    routing: str | None = None,
) -> Steps[tuple[bytes, Target]]:
    """A body with documents of the target, as it is sent; the fields it brings are there then. Raises NeedsDocument instead of
    making fields where that is wanted. ``routing``: that its client gave."""
    whole = request.plan.cluster.engine.tables.states[state].get("kind") == "DOC"
    if not whole:
        body = yield from with_sources(request, state, body)
    for _ in range(ROUNDS):
        resolver = DocumentResolver(request.plan, target, routed=not whole or bool(routing))
        bindings = request_bindings([target], filtered=False)
        run = core.Pass(request.plan.cluster.engine.grammar, state, bindings, resolver, max_depth=request.pools.max_depth)
        out = run.feed(body, True)
        if not run.misses:
            if run.status is core.Status.OK:
                return out, target
            sent = no_document(run, body, request.plan) if whole else refusal(request.plan, run, body)
            if isinstance(sent, Refusal):
                raise sent
            return sent, target
        if needs_document is not None and needs_document():
            raise NeedsDocument
        yield from request.add(target, resolver.wanted)
        target = yield from request.renewed(target)
    raise Failed("the fields of the index change too fast")


def search_body(request: Pooled, targets: list[Target], state: int, body: bytes, *, filtered: bool = True) -> Steps[bytes]:
    """A body with queries over the targets; what its answer needs is appended to ``request.undo``. ``filtered`` False: over one
    document whose scope is in the path, or over none."""
    plan = request.plan
    request.undo.append(Undo())
    if filtered:
        check_object(plan, state, body, request.pools.max_depth)
    body = yield from through_pipeline(request, body)
    body = yield from with_sources(request, state, body)
    defined = frozenset() if request.product else derived(body)
    for anew in (False, True):
        resolver = _search_resolver(request, targets, defined)
        bindings = request_bindings(targets, filtered=filtered, defines=bool(defined))
        out, run = walk(plan, state, body, resolver, bindings, request.pools.max_depth)
        if not request.product and (resolver.wrapped or (b'"_id"' in body and b'"path"' in body)):
            request.undo[-1].rewritten = wrapping(orjson.loads(body))
        if resolver.wrapped:
            body = unwrapped_queries(plan, state, body)
            resolver = _search_resolver(request, targets, defined)
            out, run = walk(plan, state, body, resolver, bindings, request.pools.max_depth)
        stale = [target for target in targets if resolver.fields.lacks(target) and target.entry.n not in request.fresh]
        if anew or not stale:
            break
        for target in stale:
            yield from request.renewed(target)
        targets = [request.targets[target.scope] for target in targets]
    check_search(run.marks, body, resolver)
    if run.marks & TYPED and "typed_keys" in plan.endpoint.query and plan.query.get("typed_keys", "false") == "false":
        plan.typed = True
    request.undo[-1].explained = filtered and asks_to_explain(body, plan.query)
    if not resolver.alone and asks_for_profile(body):
        request.undo[-1].profiled = "own" if resolver.own_terms else "shared"
    if needs_tree(resolver, run.marks, body):
        out = yield from rewrite(request, targets, state, out, resolver, run.marks)
    yield from check_lacking(request, resolver.fields)
    return out


def parameters(
    request: Pooled, targets: list[Target], *, routed: bool = True, omitted: Collection[str] = ()
) -> Steps[dict[str, str]]:
    """The parameters of a request over the targets as they are sent. ``routed``: with the routing of a search over them;
    ``omitted``: what goes another way."""
    plan = request.plan
    resolver = PoolResolver(plan, targets)
    resolver.fields.alike = request.alike
    query = physical_query(plan, targets if routed else [], resolver, omitted)
    stale = [target for target in targets if resolver.fields.lacks(target) and target.entry.n not in request.fresh]
    if stale:
        for target in stale:
            yield from request.renewed(target)
        resolver = PoolResolver(plan, [request.targets[target.scope] for target in targets])
        resolver.fields.alike = request.alike
        query = physical_query(plan, targets if routed else [], resolver, omitted)
    yield from check_lacking(request, resolver.fields)
    if request.filtered_by is not None:
        query.pop("search_pipeline", None)
    return query


def derived(body: bytes) -> frozenset[str]:
    """The first parts of the names of fields that a search on OpenSearch derives: it does not find those with a dot in their
    names, so no object may be put in front of them. Not those that could hide a meta field."""
    if b'"derived"' not in body and b"\\u" not in body:
        return frozenset()
    try:
        tree = orjson.loads(body)
    except orjson.JSONDecodeError:
        return frozenset()  # which the core refuses
    given = tree.get("derived") if isinstance(tree, dict) else None
    names = given if isinstance(given, dict) else {}
    return frozenset(name.partition(".")[0] for name in names if not name.startswith("_"))


def _search_resolver(request: Pooled, targets: list[Target], defined: frozenset[str]) -> PoolResolver:
    resolver = PoolResolver(request.plan, targets)
    resolver.fields.defined = defined
    resolver.fields.alike = request.alike
    resolver.cursors = {token: cursor for cursor, token in request.cursors.items()}
    resolver.fields.routed = 0
    return resolver


def filter_body(request: Pooled, target: Target, limit: dict[str, Any]) -> Steps[dict[str, Any]]:
    """The filter of an alias, as the client wrote it, for the target."""
    state = request.plan.cluster.engine.tables.roots["msearch.body"]
    body = yield from search_body(request, [target], state, exact.dumps({"query": limit}), filtered=False)
    request.undo.pop()  # a query has no answer of its own
    query: dict[str, Any] = exact.loads(body)["query"]
    return query
