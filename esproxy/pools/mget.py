"""``_mget`` over indices in ``shared``: each document with the physical index, id and routing of its own index.

A document of an index that is not there is asked for under the tenant's own prefix, so that the node makes the error, in its
place. One that is refused here goes where no index can be, and what is said in its place is replaced by the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from esproxy.catalogue.store import Steps
from esproxy.errors import Refusal
from esproxy.exchange import Large, Reply
from esproxy.pools.bodies import parameters
from esproxy.pools.documents import physical_id
from esproxy.pools.pooled import Apart, Pooled
from esproxy.pools.reply import reply
from esproxy.rewriting.places import text_of
from esproxy.rewriting.rewrite import PoolResolver, walk
from esproxy.tenancy.expressions import concrete
from esproxy.tenancy.names import FORBIDDEN
from esproxy.tenancy.one_name import missing
from esproxy.tenancy.target import NOWHERE, UNFILTERED, Target

OF_FIELDS = ("_source", "_source_includes", "_source_excludes", "stored_fields")


def mget(request: Pooled) -> Steps[Reply | Large]:
    plan = request.plan
    assert plan.endpoint.request is not None
    default = request.parts.get("index")
    if not request.body:
        return reply(request, (yield request.send("POST", ["_mget"], {}, b"", request.media)))  # refused, in the node's words
    resolver = PoolResolver(plan, [])
    body, _ = walk(plan, plan.endpoint.request, request.body, resolver, UNFILTERED, request.pools.max_depth)
    tree = orjson.loads(body)
    asked = _documents(tree, default, plan.query.get("routing"))
    targets = yield from resolve_each(request, [name for name, _, _ in asked if name is not None])
    several = len({target.scope for target in targets.values() if isinstance(target, Target)}) > 1
    defaults = _defaults(plan.query) if several else {}
    docs: list[dict[str, Any]] = []
    refused: dict[int, Refused] = {}
    for name, id, options in asked:
        if name is None or id is None:  # the node says what is missing
            docs.append({key: value for key, value in (("_index", name and NOWHERE), ("_id", id)) if value is not None})
            continue
        target = targets[name]
        if isinstance(target, Refusal):
            refused[len(docs)] = Refused(name, id, target)
            docs.append({"_index": NOWHERE, "_id": "-"})
        elif isinstance(target, str):
            docs.append({**options, "_index": target, "_id": id})
        else:
            given = {**defaults, **options}
            options = dict(given)
            fields = PoolResolver(plan, [target])
            _rename(options, fields)
            if fields.fields.lacks(target) and target.entry.n not in request.fresh:
                target = targets[name] = yield from request.renewed(target)
                options = given
                _rename(options, PoolResolver(plan, [target]))
            routing = target.routing(id, options.pop("routing", None))
            docs.append({**options, "_index": target.physical, "_id": physical_id(target, id), **routing})
    every = list(request.targets.values())
    query = yield from parameters(request, every, routed=False, omitted=OF_FIELDS if several else ())
    sent = orjson.dumps({"docs": docs, **({"ids": tree["ids"]} if isinstance(tree.get("ids"), (str, int, float)) else {})})
    if refused:
        request.sent_as[NOWHERE] = ""
        plan.meta = Errors(refused)
    answer = yield request.send("POST", ["_mget"], query, sent, request.media, large=not refused)
    return reply(request, answer)


class Refused(NamedTuple):
    name: str
    id: str
    error: Refusal


@dataclass(slots=True)
class Errors:
    """Documents of an answer, by place, that the node was made to refuse: what is said of them instead."""

    refused: dict[int, Refused]

    def restore(self, tree: Any, name: Callable[[str], str]) -> Any:
        for place, (index, id, error) in self.refused.items():
            tree["docs"][place] = {"_index": index, "_id": id, "error": error.payload()["error"]}
        return tree


def _documents(tree: Any, default: str | None, routing: str | None) -> list[tuple[str | None, str | None, dict[str, Any]]]:
    """(index, id, what else is said) of each document. Raises Refusal."""
    out: list[tuple[str | None, str | None, dict[str, Any]]] = []
    for key, listed in tree.items():  # in their order, for a body may have both
        if key == "docs":
            out += _listed(listed or [], default, routing)
        elif key == "ids" and isinstance(listed, list):  # the node says what it thinks of anything else
            out += [(default, text_of(id), {"routing": routing} if routing else {}) for id in listed]
    return out


def _listed(docs: Any, default: str | None, routing: str | None) -> list[tuple[str | None, str | None, dict[str, Any]]]:
    out: list[tuple[str | None, str | None, dict[str, Any]]] = []
    for doc in docs:
        if not isinstance(doc, dict):
            raise Refusal("docs array element should include an object")
        options = dict(doc)
        name, id = options.pop("_index", default), options.pop("_id", None)
        given = [options.pop(key) for key in ("routing", "_routing") if key in options]
        if routing or any(given):
            options["routing"] = next((text_of(value) for value in given if value is not None), routing)
        name = name[-1] if isinstance(name, list) and name else name
        out.append((name, None if id is None else text_of(id), options))
    return out


def resolve_each(request: Pooled, wanted: list[str]) -> Steps[dict[str, Target | str | Refusal]]:
    directory = yield from request.directory(wanted)
    apart = {name for name in wanted if request.apart(name, directory)}
    if apart and apart == set(wanted):
        raise Apart
    out: dict[str, Target | str | Refusal] = {}
    for name in wanted:
        if name in out:
            continue
        try:
            dated = yield from request.dated(name, single=True)
            if concrete(directory, dated):
                out[name] = yield from request.one(dated)
            elif dated == "_all" or dated.startswith("-") or any(c in dated for c in FORBIDDEN):
                out[name] = missing(dated, request.product, request.plan.cluster.before_9)
            else:
                out[name] = (yield from request.outside(dated, directory)) if request.mixture else request.sent_apart(dated)
        except Refusal as error:
            out[name] = error
    return out


def _defaults(query: dict[str, str]) -> dict[str, Any]:
    """Parameters about fields as each document says them: indices can have other names for one field."""
    out: dict[str, Any] = {"stored_fields": query["stored_fields"].split(",")} if "stored_fields" in query else {}
    source = query.get("_source")
    if source in ("true", "false"):
        out["_source"] = source == "true"
    listed = {"includes": query.get("_source_includes", source), "excludes": query.get("_source_excludes")}
    parts = {key: value.split(",") for key, value in listed.items() if value and value not in ("true", "false")}
    if parts and source != "false":
        out["_source"] = parts
    return out


def _rename(options: dict[str, Any], fields: PoolResolver) -> None:
    if not fields.fields.any:
        return
    for key in OF_FIELDS:
        value, physical = options.get(key), fields.field if key == "stored_fields" else fields.fields.in_source
        if isinstance(value, str):
            options[key] = physical(value)
        elif isinstance(value, list):
            options[key] = [physical(str(item)) for item in value]
        elif isinstance(value, dict):
            options[key] = {k: [physical(str(item)) for item in (v if isinstance(v, list) else [v])] for k, v in value.items()}
