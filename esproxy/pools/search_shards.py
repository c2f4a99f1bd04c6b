"""``_search_shards`` for indices in pools: the shards of the physical indices, told as those of each index in them.

A shard is picked by the routing that a client gives, as in a search. The filter of an alias is told as nodes write the common
ones (``metadata.written``), and else as its creator wrote it.
"""

from __future__ import annotations

from typing import Any

import orjson

from esproxy.answer import is_error
from esproxy.catalogue.documents import Directory
from esproxy.catalogue.store import Steps
from esproxy.exchange import Answer, Large, Reply
from esproxy.metadata.figures import digest
from esproxy.metadata.written import of_several
from esproxy.pools import wide
from esproxy.pools.declared import declaration, node_answer
from esproxy.pools.pooled import Pooled
from esproxy.pools.reply import JSON
from esproxy.pools.reply import reply as node_reply
from esproxy.pools.targets import some
from esproxy.rewriting.query import physical_query
from esproxy.rewriting.restore import PoolAnswer, restore
from esproxy.tenancy.expressions import matching
from esproxy.tenancy.target import Target

Tree = dict[str, Any]


def search_shards(request: Pooled) -> Steps[Reply | Large]:
    plan = request.plan
    expression = yield from request.dated(request.parts.get("index", "_all"))
    options = request.options()
    options.ignore_unavailable = plan.query.get("ignore_unavailable") != "false"  # nodes ask here whom they find
    targets = yield from some(request, expression, options)
    wanted = declaration(request) if request.body else {}
    body = orjson.dumps({"slice": wanted["slice"]}) if "slice" in wanted else b""  # of all the body, that is read
    query, physical = physical_query(plan, targets, None), [target.physical for target in targets]
    path = [wide.INDEX, "_search_shards"]
    told = yield from wide.ask(request, "POST", path, physical, query, body, JSON if body else None)
    if is_error(told.status, told.body) or not targets:
        return node_reply(request, told)
    tree = orjson.loads(told.body)
    shards: list[list[Tree]] = []
    for target in targets:
        own = [copies for copies in tree["shards"] if any(copy["index"] == target.physical for copy in copies)]
        shards += _restored(request, told, target, own)
    shards.sort(key=lambda copies: (copies[0]["shard"], copies[0]["index"]))
    everything = not request.product and expression in ("_all", "")  # of which OpenSearch says no more
    terms = [] if everything else request.terms(expression)
    nodes = _nodes(request, told, tree)
    indices = {target.name: _index(request.seen, target, terms, request.product) for target in targets}
    return node_answer(request, told, {"nodes": nodes, "indices": indices, "shards": shards})


def _restored(request: Pooled, told: Answer, target: Target, shards: list[list[Tree]]) -> list[list[Tree]]:
    """Shards of a physical index as those of one index in it."""
    reader = PoolAnswer(request.plan, [target], {})
    part = orjson.dumps({"nodes": {}, "indices": {}, "shards": shards})
    out: list[list[Tree]] = orjson.loads(restore(request.plan, Answer(told.status, told.headers, part), reader))["shards"]
    for copy in (copy for copies in out for copy in copies):
        if "allocation_id" in copy and not target.dedicated:
            copy["allocation_id"] = {"id": digest(target.uuid, copy["allocation_id"].get("id"))}
    return out


def _nodes(request: Pooled, told: Answer, tree: Tree) -> Tree:
    part = orjson.dumps({"nodes": dict(list(tree["nodes"].items())[:1]), "indices": {}, "shards": []})
    reader = PoolAnswer(request.plan, [], {})
    nodes: Tree = orjson.loads(restore(request.plan, Answer(told.status, told.headers, part), reader))["nodes"]
    return nodes


def _index(directory: Directory, target: Target, terms: list[str], product: bool) -> Tree:
    """With the aliases that were named, too, and their filter where the index was not reached by itself."""
    aliases = sorted(
        name for name, alias in directory.aliases.items() if target.name in alias.now and any(matching(t, [name]) for t in terms)
    )
    filters = [directory.aliases[name].now[target.name].get("filter") for name in aliases]
    out: Tree = {"aliases": aliases} if aliases else {}
    if filters and None not in filters and not any(matching(term, [target.name]) for term in terms):
        out["filter"] = of_several(filters, product)
    return out
