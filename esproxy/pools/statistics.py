"""``_stats``, ``_segments``, ``_recovery`` and ``_shard_stores`` of indices in pools.

The node is asked about the physical indices, so it judges the parameters and shows the form of an answer. What it tells of an
index that is alone in its physical one is that index's own, and is restored; for each of those that share one the answer is made
(``esproxy.metadata.figures``).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import orjson

from esproxy.answer import is_error
from esproxy.catalogue.documents import CLOSED
from esproxy.catalogue.store import Steps, parsed
from esproxy.exchange import Answer, Large, Reply
from esproxy.metadata import figures
from esproxy.metadata.figures import Own
from esproxy.metadata.nodes import node_id
from esproxy.pools import wide
from esproxy.pools.counts import by_shard, documents, in_memory
from esproxy.pools.declared import node_answer
from esproxy.pools.health import HEALTH
from esproxy.pools.pooled import Pooled
from esproxy.pools.reply import nothing, template
from esproxy.pools.reply import reply as node_reply
from esproxy.pools.targets import some
from esproxy.rewriting.query import physical_query
from esproxy.rewriting.restore import PoolAnswer, restore
from esproxy.tenancy.expressions import index_closed, matching
from esproxy.tenancy.target import Target

Tree = dict[str, Any]
LEVELS = ("cluster", "indices", "shards")
NO_FIELD = "~"  # a name that no field has: the node shows where fields are told, and none of them


def stats(request: Pooled) -> Steps[Reply | Large]:
    plan = request.plan
    targets = yield from named(request, closed=plan.query.get("forbid_closed_indices") == "false")
    query = physical_query(plan, [], None)
    if "groups" in query:
        patterns = query["groups"].split(",")
        query["groups"] = ",".join(target.id_front + pattern for target in targets for pattern in patterns)
    if all(alone(target) for target in targets) and wide.fits(_path(request), targets, query):
        told = yield from _ask(request, targets, query)
        return node_reply(request, _ungrouped(told, targets))
    query["groups"] = "*" if any(target.dedicated for target in targets) else f"{request.tenant}.*"  # of all its scopes
    level = query.get("level", "indices")
    for name in ("fields", "completion_fields", "fielddata_fields"):
        if name in query:
            query[name] = NO_FIELD
    told = yield from _ask(request, targets, {**query, "level": "shards" if level in LEVELS else level})
    if is_error(told.status, told.body):
        return node_reply(request, told)
    tree = orjson.loads(told.body)
    pooled = [target for target in targets if not alone(target)]
    counts = yield from documents(request, pooled)
    shards = (yield from by_shard(request, pooled)) if level == "shards" else {}
    memory = (yield from in_memory(request, pooled)) if {"completion", "fielddata"} & tree["_all"]["total"].keys() else {}
    own = _restored(request, told, tree, "indices", targets)
    indices: Tree = {}
    for target in targets:
        if target.name in own:
            indices[target.name] = own[target.name]
            _name_groups(own[target.name], target.id_front, plan.query.get("groups", ""))
            continue
        parts = {number: shards.get((target.scope, number), 0) for number in range(target.shards.count)}
        known = replace(memory.get(target.scope, Own(0)), docs=counts[target.scope])
        indices[target.name] = _index(request, target, tree["indices"][target.physical], known, parts)
    for index in indices.values() if level != "shards" else ():
        index.pop("shards", None)
    made: Tree = {"_shards": (yield from _shards(request, targets, tree))}
    made["_all"] = {part: figures.summed(index[part] for index in indices.values()) for part in ("primaries", "total")}
    if level != "cluster":
        made["indices"] = indices
    return node_answer(request, told, made)


def _index(request: Pooled, target: Target, told: Tree, known: Own, parts: dict[int, int]) -> Tree:
    """One index of a pool. ``known``: of the index; ``parts``: documents of each shard."""
    plan = request.plan
    node = node_id(plan.cluster, request.tenant)
    patterns = {name: plan.query.get(name, plan.query.get("fields", "")) for name in ("completion_fields", "fielddata_fields")}
    fields = (
        _matching(patterns["completion_fields"], known.completion),
        _matching(patterns["fielddata_fields"], known.fielddata),
    )
    files = plan.query.get("include_segment_file_sizes", "false") != "false"
    if target.entry.state == CLOSED:
        unloaded = plan.query.get("include_unloaded_segments", "false") != "false"
        known = Own(known.docs if unloaded else 0, known.shards)
    copies = [copy for shard in told["shards"].values() for copy in shard]
    first = sum(1 for copy in copies if copy["routing"]["primary"])
    out: Tree = {"uuid": target.uuid} | {key: told[key] for key in ("health",) if key in told}
    if "status" in told:
        out["status"] = "close" if target.entry.state == CLOSED else "open"
    for part, count in (("primaries", first), ("total", len(copies))):
        times = count // first if first else 0
        own = Own(known.docs * times, count, _times(known.completion, times), _times(known.fielddata, times))
        groups = _groups(request, target, told[part])
        searches = figures.largest(groups.values())
        named = {name: one for name, one in groups.items() if name in _matching(plan.query.get("groups", ""), groups)}
        out[part] = figures.told(told[part], replace(own, searches=searches), fields, files=files, groups=named)
    out["shards"] = {
        number: [_copy(copy, Own(parts[int(number)]), target, number, node, fields, files) for copy in shard]
        for number, shard in told["shards"].items()
    }
    return out


def _copy(copy: Tree, own: Own, target: Target, number: str, node: str, fields: tuple[list[str], list[str]], files: bool) -> Tree:
    plain = {key: value for key, value in copy.items() if isinstance(value, dict) and key not in NO_FIGURES}
    made = figures.told(plain, own, fields, files=files)
    return figures.shard(copy, own, f"{target.uuid}/{number}", node, target.index.created, made)


def _groups(request: Pooled, target: Target, told: Tree) -> dict[str, Tree]:
    """The groups of an index's own searches."""
    found = told.get("search", {}).get("groups", {})
    return {name.removeprefix(target.id_front): one for name, one in found.items() if name.startswith(target.id_front)}


def _ungrouped(told: Answer, targets: list[Target]) -> Answer:
    """The groups of indices that are alone by the names that the client gave them."""
    if is_error(told.status, told.body) or b'"groups"' not in told.body:
        return told
    fronts = sorted((target.id_front for target in targets), key=len, reverse=True)
    tree = orjson.loads(told.body)
    for search in _searches(tree):
        groups = search.pop("groups", {})
        search["groups"] = {_bare(name, fronts): one for name, one in groups.items()}
    return Answer(told.status, told.headers, orjson.dumps(tree))


def _name_groups(index: Tree, front: str, asked: str) -> None:
    """Of an index that is alone, beside others that are not: for their sake more groups were asked for."""
    for search in list(_searches(index)):
        groups = {name.removeprefix(front): one for name, one in search.pop("groups").items()}
        named = {name: groups[name] for name in _matching(asked, groups)}
        if named:
            search["groups"] = named


def _searches(tree: Tree) -> Iterator[Tree]:
    """The figures of searches, at every level."""
    for key, value in tree.items():
        if key == "search" and isinstance(value, dict) and "groups" in value:
            yield value
        elif isinstance(value, dict):
            yield from _searches(value)
        elif isinstance(value, list):
            for one in value:
                yield from _searches(one) if isinstance(one, dict) else ()


def _bare(name: str, fronts: list[str]) -> str:
    return next((name[len(front) :] for front in fronts if name.startswith(front)), name)


NO_FIGURES = ("routing", "commit", "seq_no", "retention_leases", "shard_path")


def _times(fields: Any, times: int) -> dict[str, int]:
    return {path: count * times for path, count in fields.items()}


def _matching(patterns: str, fields: Any) -> list[str]:
    """In the order of their names."""
    found = {path for pattern in patterns.split(",") for path in matching("*" if pattern == "_all" else pattern, list(fields))}
    return sorted(found)


def _shards(request: Pooled, targets: list[Target], tree: Tree) -> Steps[Tree]:
    """The copies of shards that there are to be, and that there are, each index counted by itself."""
    if len({target.physical for target in targets}) == len(targets):
        told: Tree = tree["_shards"]
        return told
    asked = yield from wide.ask(request, "GET", HEALTH, [target.physical for target in targets], {"level": "indices"})
    known = parsed(asked, 200)["indices"]
    whole = [known[target.physical] for target in targets if target.physical in known]
    total = sum(one["number_of_shards"] * (1 + one["number_of_replicas"]) for one in whole)
    return {"total": total, "successful": sum(one["active_shards"] for one in whole), "failed": 0}


# --- where shards are, and how they got there -----------------------------------------------------------


def segments(request: Pooled) -> Steps[Reply | Large]:
    targets = yield from named(request, closed=False)
    return (yield from _made(request, targets, "indices", _segments_of))


def _segments_of(request: Pooled, target: Target, told: Tree, parts: dict[int, int]) -> Tree:
    node = node_id(request.plan.cluster, request.tenant)
    return {
        "shards": {
            number: [figures.segments(copy, Own(parts[int(number)]), node) for copy in shard]
            for number, shard in told["shards"].items()
        }
    }


def recovery(request: Pooled) -> Steps[Reply | Large]:
    targets = yield from named(request, closed=True)
    return (yield from _made(request, targets, None, _recovery_of))


def _recovery_of(request: Pooled, target: Target, told: Tree, parts: dict[int, int]) -> Tree:
    node = node_id(request.plan.cluster, request.tenant)
    created = target.index.created
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(created / 1000)) + f".{created % 1000:03d}Z"
    closed = target.entry.state == CLOSED
    return {"shards": [figures.recovery(copy, node, created, stamp, closed) for copy in told["shards"]]}


def shard_stores(request: Pooled) -> Steps[Reply | Large]:
    targets = yield from named(request, closed=True)
    return (yield from _made(request, targets, "indices", _stores_of))


def _stores_of(request: Pooled, target: Target, told: Tree, parts: dict[int, int]) -> Tree:
    """As the node tells them, but for what a copy of a shard is called, which those who share it could compare."""
    reader = PoolAnswer(request.plan, [target], {})
    body = orjson.dumps({"indices": {target.physical: told}})
    out: Tree = orjson.loads(restore(request.plan, Answer(200, [], body), reader))["indices"][target.name]
    for shard in out.get("shards", {}).values():
        for store in shard.get("stores", []):
            store["allocation_id"] = figures.digest(target.uuid, store["allocation_id"])
    return out


def upgrade(request: Pooled) -> Steps[Reply | Large]:
    """Of the whole pool, as merges are."""
    targets = yield from named(request, closed=False)
    return (yield from _made(request, targets, "upgraded_indices", lambda request, target, told, parts: told))


def upgrade_status(request: Pooled) -> Steps[Reply | Large]:
    """What is to be upgraded of a pool is so of all that lies in it."""
    targets = yield from named(request, closed=False)
    told, tree = yield from _told(request, targets)
    if tree is None:
        return node_reply(request, told)
    counts = yield from documents(request, [target for target in targets if not alone(target)])
    own = _restored(request, told, tree, "indices", targets)
    indices: Tree = {}
    for target in targets:
        sizes = tree["indices"].get(target.physical, {})
        size = figures.DOCUMENT * counts.get(target.scope, 0)
        made = {key: size if value else 0 for key, value in sizes.items() if isinstance(value, int)}
        indices[target.name] = own.get(target.name, {**made, "size_in_bytes": size})
    whole = {key: sum(one.get(key, 0) for one in indices.values()) for key, value in tree.items() if isinstance(value, int)}
    return node_answer(request, told, {**whole, "indices": indices})


def _made(request: Pooled, targets: list[Target], key: str | None, make: Any) -> Steps[Reply | Large]:
    """The node's answer, with the part of each index made of that of its physical one. ``key``: where these are; None: at the
    root."""
    told, tree = yield from _told(request, targets)
    if tree is None:
        return node_reply(request, told)
    pooled = [target for target in targets if not alone(target)]
    shards = (yield from by_shard(request, pooled)) if make is _segments_of else {}
    listed = tree if key is None else tree[key]
    own = _restored(request, told, tree, key, targets)
    indices: Tree = {}
    for target in targets:
        if target.name in own:
            indices[target.name] = own[target.name]
        elif target.physical in listed:
            parts = {number: shards.get((target.scope, number), 0) for number in range(target.shards.count)}
            indices[target.name] = make(request, target, listed[target.physical], parts)
    made = indices if key is None else {key: indices}
    if "_shards" in tree:
        made = {"_shards": (yield from _shards(request, targets, tree)), **made}
    return node_answer(request, told, made)


def alone(target: Target) -> bool:
    """Is what a node measures of the physical index the index's own?"""
    return target.dedicated or target.index.reason is not None


def named(request: Pooled, *, closed: bool) -> Steps[list[Target]]:
    """The indices of the expression. Raises Refusal for one that is closed, unless it may be."""
    options = request.options()
    options.closed = closed
    targets = yield from some(request, request.parts.get("index", "_all"), options)
    for target in targets if not closed else ():
        if target.entry.state == CLOSED:
            raise index_closed(target.name, target.uuid)
    return targets


def _ask(request: Pooled, targets: list[Target], query: dict[str, str]) -> Steps[Answer]:
    path = _path(request)
    physical = [target.physical for target in targets]
    answer = yield from wide.ask(request, request.plan.head.method, path, physical, query)
    if not is_error(answer.status, answer.body):
        return answer
    written, body = f"[{request.plan.raw_path}]", answer.body
    for expression in wide.lines(path, physical, query) or [nothing(request)]:
        sent = "/".join(expression if part == wide.INDEX else part for part in path)
        body = body.replace(f"[/{sent}]".encode(), written.encode())  # in errors about parameters
    return Answer(answer.status, answer.headers, body)


def _path(request: Pooled) -> list[str]:
    places = {f"{{{name}}}": value for name, value in request.parts.items() if name != "index"}
    return [places.get(part, part) for part in template(request)]


def _told(request: Pooled, targets: list[Target]) -> Steps[tuple[Answer, Tree | None]]:
    """The node's answer, and what is in it; None where it is the client's but for its names."""
    told = yield from _ask(request, targets, physical_query(request.plan, [], None))
    if is_error(told.status, told.body) or all(alone(target) for target in targets):
        return told, None
    return told, orjson.loads(told.body)


def _restored(request: Pooled, told: Answer, tree: Tree, key: str | None, targets: list[Target]) -> Tree:
    """What the node tells of those that are alone, by their names."""
    listed = tree if key is None else tree[key]
    own = {target.physical: listed[target.physical] for target in targets if alone(target) and target.physical in listed}
    if not own:
        return {}
    part = own if key is None else {key: own}
    reader = PoolAnswer(request.plan, request.targets.values(), request.sent_as)
    restored: Tree = orjson.loads(restore(request.plan, Answer(told.status, told.headers, orjson.dumps(part)), reader))
    return restored if key is None else restored[key]
