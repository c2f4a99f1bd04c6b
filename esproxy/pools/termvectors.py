"""``_termvectors`` and ``_mtermvectors`` of indices in pools: the terms of documents, each found by its id, or brought along.

A node tells beside the terms how often they, and all of their field, are found in the physical index. Where others have terms
in the same fields those figures are theirs, too: none is asked for then, and what needs one is refused (the row ``term-figures``
of the deviations). Nor is a field shown that the index does not have: others may have made it below one of its own.

A document that is brought along meets no field that its index does not have: a node leaves such fields out, where a pool, whose
root is strict, would refuse them. It has no id, so the answer's index is told by its place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from esproxy import exact
from esproxy.catalogue.store import Steps
from esproxy.errors import Refusal
from esproxy.exchange import Large, Reply
from esproxy.pools.declared import declaration
from esproxy.pools.documents import physical_id
from esproxy.pools.mget import Errors, Refused, resolve_each
from esproxy.pools.pooled import Pooled
from esproxy.pools.reply import JSON, reply
from esproxy.procedures.made_id import new_id
from esproxy.rewriting.patterns import Patterns
from esproxy.rewriting.places import text_of
from esproxy.rewriting.query import physical_query
from esproxy.rewriting.rewrite import PoolResolver
from esproxy.tenancy.target import NOWHERE, Target

FIGURES = ("term_statistics", "field_statistics", "filter")
CLOSED = "index_closed_exception"
ROUTINGS = ("routing", "_routing")


@dataclass(slots=True)
class Shown:
    """What an answer may show, by the place of each document: fields of its index alone."""

    targets: dict[int, Target]
    errors: Errors = field(default_factory=lambda: Errors({}))

    def restore(self, tree: Any, name: Callable[[str], str]) -> Any:
        docs = tree["docs"] if "docs" in tree else [tree]
        for place, target in self.targets.items():
            if "_id" not in docs[place]:
                docs[place]["_index"] = target.name
            found = docs[place].get("term_vectors", {})
            if "_routing" in found and not target.dedicated:
                _restore_routing(found, target)
            for path in [path for path in found if not target.naming.own_terms and not target.naming.has(path)]:
                if not path.startswith("_"):
                    del found[path]
        return self.errors.restore(tree, name)


def _restore_routing(found: dict[str, Any], target: Target) -> None:
    """The client's own routing value as a term, nothing where it gave none. Its figures are the pool's. Raises Violation."""
    terms: dict[str, Any] = {}
    for stored, term in found.pop("_routing")["terms"].items():
        given = target.given_routing(stored)
        if given is not None:
            told = {key: value for key, value in term.items() if key in ("term_freq", "tokens")}
            terms[given] = {**told, **({"tokens": [_whole(given, one) for one in told["tokens"]]} if "tokens" in told else {})}
    if terms:
        found["_routing"] = {"terms": terms}


def _whole(term: str, token: dict[str, Any]) -> dict[str, Any]:
    return {**token, **({"end_offset": len(term)} if "end_offset" in token else {})}


def termvectors(request: Pooled) -> Steps[Reply | Large]:
    plan = request.plan
    target = yield from request.one(request.parts["index"])
    tree, query = _understood(request)
    options = _by_parameters(request)
    if "fields" in options and isinstance(tree.get("fields"), list):
        tree["fields"] += options["fields"]
    options |= tree
    id = request.parts.get("id")
    sent, routing = yield from _physical(request, target, id, options)
    path = [target.physical, "_termvectors", *([physical_id(target, id)] if id is not None else [])]
    plan.meta = Shown({0: request.targets[target.scope]})
    body = exact.dumps(sent) if sent or request.body else b""
    return reply(request, (yield request.send("POST", path, query | routing, body, request.media or JSON)))


def mtermvectors(request: Pooled) -> Steps[Reply | Large]:
    plan = request.plan
    tree, query = _understood(request)
    asked = _documents(request, tree)
    if not asked:  # refused, in the node's words
        nameless = {key: _without_index(value) for key, value in tree.items()}
        body = exact.dumps(nameless) if request.body else b""
        return reply(request, (yield request.send("POST", ["_mtermvectors"], query, body, request.media)))
    names = [options["_index"] for options in asked if isinstance(options.get("_index"), str)]
    targets = yield from resolve_each(request, names)
    docs: list[dict[str, Any]] = []
    shown = plan.meta = Shown({})
    for options in asked:
        name, id = options.pop("_index", None), options.pop("_id", None)
        target, id = targets.get(name), None if id is None else text_of(id)
        if isinstance(target, Target):
            sent, routing = yield from _physical(request, target, id, options)
            shown.targets[len(docs)] = targets[name] = request.targets[target.scope]
            own = {} if id is None else {"_id": physical_id(target, id)}
            docs.append({"_index": target.physical, **own, **routing, **sent})
        elif isinstance(target, Refusal) and (id is None or (target.type == CLOSED and not request.product)):
            raise target  # as a node does that tells it for no single document
        elif isinstance(target, Refusal):
            assert name is not None and id is not None
            shown.errors.refused[len(docs)] = Refused(name, id, target)
            docs.append({"_index": NOWHERE, "_id": "-"})
        else:  # no such index, or no name of one, which the node says
            docs.append({**options, **({"_index": target} if target else {}), **({} if id is None else {"_id": id})})
    if shown.errors.refused:
        request.sent_as[NOWHERE] = ""
    body = exact.dumps({"docs": docs})
    return reply(request, (yield request.send("POST", ["_mtermvectors"], query, body, request.media or JSON)))


def _without_index(value: Any) -> Any:
    return {key: item for key, item in value.items() if key != "_index"} if isinstance(value, dict) else value


def _understood(request: Pooled) -> tuple[dict[str, Any], dict[str, str]]:
    """The body after a strict pass, and the parameters that hold no name. Raises Refusal."""
    plan = request.plan
    query = physical_query(plan, [], PoolResolver(plan, []))
    for name in ("fields", "ids"):
        query.pop(name, None)
    if not request.body:
        return {}, query
    declaration(request)
    tree = exact.loads(request.body)
    return tree if isinstance(tree, dict) else {}, query


def _by_parameters(request: Pooled) -> dict[str, Any]:
    """What the parameters say of each document, and the body may say otherwise. Numbers and switches stay parameters, but for
    the figures, which are looked at for each."""
    query = request.plan.query
    out: dict[str, Any] = {name: query[name] for name in (*FIGURES[:2], "routing") if name in query}
    return {"fields": query["fields"].split(","), **out} if query.get("fields") else out


def _documents(request: Pooled, tree: dict[str, Any]) -> list[dict[str, Any]]:
    """What is asked of each document, in the node's order: those with options of their own, then the ids. ``parameters`` hold
    for what stands behind them. Raises Refusal."""
    default = _by_parameters(request)
    if "index" in request.parts:
        default["_index"] = request.parts["index"]
    given = request.plan.query.get("ids")
    ids = dict.fromkeys(given.split(",") if given else [])
    out: list[dict[str, Any]] = []
    for key, value in tree.items():
        if key == "parameters" and isinstance(value, dict):
            default |= value
        elif key == "docs" and isinstance(value, list):
            for doc in value:
                if not isinstance(doc, dict):
                    raise Refusal("docs array element should include an object")
                out.append({**default, **doc})
        elif key == "ids" and isinstance(value, list):
            ids |= dict.fromkeys(map(text_of, value))
    return out + [{**default, "_id": id} for id in ids]


def _physical(
    request: Pooled, target: Target, id: str | None, options: dict[str, Any]
) -> Steps[tuple[dict[str, Any], dict[str, str]]]:
    """What is sent for one document's options, and its routing. Raises Refusal."""
    out = dict(options)
    given = [out.pop(key) for key in ROUTINGS if key in out]
    routing = target.routing(id or new_id(), next((text_of(value) for value in given if value is not None), None))
    fields = PoolResolver(request.plan, [target])
    names = _named(out, fields, target)
    if fields.fields.lacks(target) and target.entry.n not in request.fresh:
        target = yield from request.renewed(target)
        names = _named(out, PoolResolver(request.plan, [target]), target)
    out |= names
    if "doc" in out:
        out["doc"] = _sample(target, out["doc"])
    if not target.naming.own_terms:
        for name in FIGURES:
            if out.pop(name, None) not in (None, False, "false"):
                raise Refusal(f"[{name}] is not available for indices in a pool: it is made of the terms of the whole pool")
        out["field_statistics"] = False
    return out, routing


def _named(options: dict[str, Any], fields: PoolResolver, target: Target) -> dict[str, Any]:
    """The options that name fields."""
    out: dict[str, Any] = {}
    patterns = Patterns(fields.fields, [target])
    if isinstance(options.get("fields"), list):
        wanted = [str(name) for name in options["fields"]]
        if not target.naming.own_terms:  # where nothing matches, that is all fields, as on a node
            wanted = [one for name in wanted for one in (patterns.logical(name) if "*" in name else [name])]
        out["fields"] = [fields.field(name) for name in wanted]
    if isinstance(options.get("per_field_analyzer"), dict):
        out["per_field_analyzer"] = {fields.field(name): one for name, one in options["per_field_analyzer"].items()}
    return out


def _sample(target: Target, doc: Any) -> Any:
    if not isinstance(doc, dict):
        return doc  # the node's to refuse
    try:
        return exact.loads(target.naming.sample(orjson.dumps(doc)))
    except ValueError as error:
        raise Refusal(f"the document cannot be understood: {error}") from None
