"""``_mget`` over indices in ``shared``: each document with the physical index, id and routing of its own index.

A document of an index that is not there is asked for under the tenant's own prefix, so that the node makes the error, in its
place.
"""

from __future__ import annotations

from typing import Any

import orjson

from esproxy.catalogue.store import Steps
from esproxy.errors import Refusal
from esproxy.exchange import Large, Reply
from esproxy.procedures.pool_documents import physical_id
from esproxy.procedures.pool_search import reply
from esproxy.procedures.pooled import Apart, Pooled
from esproxy.tenancy.expressions import concrete
from esproxy.tenancy.pool_query import physical_query
from esproxy.tenancy.pool_rewrite import PoolResolver, own_routing, text_of, walk
from esproxy.tenancy.target import UNFILTERED, Target


def mget(request: Pooled) -> Steps[Reply | Large]:
    plan = request.plan
    assert plan.endpoint.request is not None
    default = request.parts.get("index")
    resolver = PoolResolver(plan, [])
    body, _ = walk(plan, plan.endpoint.request, request.body, resolver, UNFILTERED, request.pools.max_depth)
    tree = orjson.loads(body)
    asked = _documents(tree, default)
    targets = yield from _targets(request, [name for name, _, _ in asked if name is not None])
    docs: list[dict[str, Any]] = []
    for name, id, options in asked:
        if name is None or id is None:
            docs.append(options)  # the node says what is missing
            continue
        target = targets[name]
        if isinstance(target, str):
            docs.append({**options, "_index": target, "_id": id})
            continue
        fields = PoolResolver(plan, [target])
        _rename(options, fields)
        docs.append({**options, "_index": target.physical, "_id": physical_id(target, id), "routing": target.scope})
    every = list(request.targets.values())
    query = physical_query(plan, [], PoolResolver(plan, every))
    answer = yield request.send("POST", ["_mget"], query, orjson.dumps({"docs": docs}), request.media, large=True)
    return reply(request, answer)


def _documents(tree: Any, default: str | None) -> list[tuple[str | None, str | None, dict[str, Any]]]:
    """(index, id, what else is said) of each document. Raises Refusal."""
    out: list[tuple[str | None, str | None, dict[str, Any]]] = []
    for doc in tree.get("docs") or []:
        if not isinstance(doc, dict):
            raise Refusal("docs array element should include an object")
        options = dict(doc)
        name, id = options.pop("_index", default), options.pop("_id", None)
        if any(options.pop(key, None) is not None for key in ("routing", "_routing")):
            raise own_routing()
        name = name[-1] if isinstance(name, list) and name else name
        out.append((name, None if id is None else text_of(id), options))
    ids = tree.get("ids") or []
    for id in ids if isinstance(ids, list) else [ids]:
        out.append((default, text_of(id), {}))
    return out


def _targets(request: Pooled, wanted: list[str]) -> Steps[dict[str, Target | str]]:
    directory = yield from request.directory(wanted)
    apart = {name for name in wanted if request.apart(name, directory)}
    if apart and apart == set(wanted):
        raise Apart
    out: dict[str, Target | str] = {}
    for name in wanted:
        if name not in out:
            dated = yield from request.dated(name, single=True)
            out[name] = (yield from request.one(dated)) if concrete(directory, dated) else request.sent_apart(dated)
    if apart:
        raise Refusal("documents of indices in pools and of others cannot be asked for in one request yet")
    return out


def _rename(options: dict[str, Any], fields: PoolResolver) -> None:
    if not fields.fields.any:
        return
    for key in ("_source", "stored_fields", "_source_includes", "_source_excludes"):
        value = options.get(key)
        if isinstance(value, str):
            options[key] = fields.field(value)
        elif isinstance(value, list):
            options[key] = [fields.field(str(item)) for item in value]
        elif isinstance(value, dict):
            options[key] = {
                k: [fields.field(str(item)) for item in (v if isinstance(v, list) else [v])] for k, v in value.items()
            }
