"""Bodies of requests to pools, where rewriting them needs more than memory: lookups in other indices, fields not yet known."""

from __future__ import annotations

import json
from typing import Any

import orjson

from esproxy.api.kinds import Mark
from esproxy.catalogue.inference import new_fields
from esproxy.catalogue.store import Steps
from esproxy.errors import Failed, Refusal
from esproxy.procedures.pooled import Pooled
from esproxy.request import Plan
from esproxy.tenancy.metafields import MetaFields
from esproxy.tenancy.pool_rewrite import PoolResolver, check_search, lookups, places, rewrite_places, walk
from esproxy.tenancy.target import Target, request_bindings

TYPED = Mark.AGGS | Mark.SUGGEST
ROUNDS = 5


class DocumentResolver(PoolResolver):
    """For bodies that hold documents of one index. ``wanted``: fields that the index does not have yet."""

    def __init__(self, plan: Plan, target: Target) -> None:
        super().__init__(plan, [target])
        self.wanted: dict[str, dict[str, Any]] = {}

    def document(self, raw: bytes) -> bytes | None:
        document, index = physical(raw, self.targets[0], self.plan)
        self.wanted |= index
        return document


def physical(raw: bytes, target: Target, plan: Plan) -> tuple[bytes | None, dict[str, dict[str, Any]]]:
    """A document as it is stored; None with the fields that have to be there first. Raises Refusal for one that its index does
    not take."""
    if not raw.lstrip().startswith(b"{"):
        return raw, {}  # the node's to refuse
    index = target.index
    if not target.naming.inferred:
        return target.naming.document(raw), {}
    version = str(plan.cluster.info["version"]["number"])
    settings = {name.removeprefix("index."): value for name, value in index.settings.items()}
    wanted = new_fields(json.loads(raw), index.mapping, index.fields, plan.cluster.engine.name, version, settings)
    if any(definition.get("runtime") for definition in wanted.values()):
        raise Refusal("[dynamic: runtime] is not available yet for an index in a pool")
    if wanted:
        return None, wanted
    return target.naming.document(raw), {}


def document_body(request: Pooled, target: Target, state: int, body: bytes) -> Steps[tuple[bytes, Target]]:
    """A body with documents of the target, as it is sent; the fields it brings are there then."""
    for _ in range(ROUNDS):
        resolver = DocumentResolver(request.plan, target)
        out, run = walk(request.plan, state, body, resolver, request_bindings([target], filtered=False), request.pools.max_depth)
        if not run.misses:
            return out, target
        yield from request.add(target, resolver.wanted)
        target = yield from request.renewed(target)
    raise Failed("the fields of the index change too fast")


def search_body(request: Pooled, targets: list[Target], state: int, body: bytes, *, filtered: bool = True) -> Steps[bytes]:
    """A body with queries over the targets. ``filtered`` False: over one document whose scope is in the path."""
    plan = request.plan
    for anew in (False, True):
        resolver = PoolResolver(plan, targets)
        resolver.cursors = {token: cursor for cursor, token in request.cursors.items()}
        out, run = walk(plan, state, body, resolver, request_bindings(targets, filtered=filtered), request.pools.max_depth)
        stale = [target for target in targets if resolver.fields.lacks(target) and target.entry.n not in request.fresh]
        if anew or not stale:
            break
        for target in stale:
            yield from request.renewed(target)
        targets = [request.targets[target.scope] for target in targets]
    check_search(run.marks, body, resolver)
    if run.marks & TYPED and "typed_keys" in plan.endpoint.query and plan.query.get("typed_keys", "false") == "false":
        plan.typed = True
    if resolver.by_index:
        plan.meta = by_index(body)
    if resolver.named:
        out = yield from _with_places(request, targets, state, out)
    return out


def by_index(body: bytes) -> MetaFields:
    """Where the answer will hold names of indices. Names in the request at such places are not understood."""
    found = MetaFields.of_body(orjson.loads(body))
    if found.inputs and found.rewrite_inputs(orjson.loads(body), "~", lambda text, field: "~" + text) != orjson.loads(body):
        raise Refusal("values of the field [_index] in a sort or aggregation are not available for indices in a pool")
    return found


def _with_places(request: Pooled, targets: list[Target], state: int, body: bytes) -> Steps[bytes]:
    states = request.plan.cluster.engine.tables.states
    tree = orjson.loads(body)
    found = list(places(states, state, tree))
    elsewhere: dict[str, Target | str] = {}
    for name in lookups(found):
        if name not in elsewhere:
            elsewhere[name] = yield from request.lookup(name)
    rewrite_places(found, targets, elsewhere)
    return orjson.dumps(tree)
