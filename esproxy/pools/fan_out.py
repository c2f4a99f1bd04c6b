"""A request that means something else in each of its indices, made once for each and merged.

So it is where a name of a field stands for other fields in each (objects of ``per-tenant``, renamed fields of ``shared``), or an
id for other ids. Searches, counts and validations go out at once; calls by query one after the other, since each may change what
the next one finds, and the first that does not end well ends all. Every answer is restored and verified by itself, as that of its
one index; what is merged is the client's own already.

How answers become one, and what cannot be merged and is refused: ``pools.merge``.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cmp_to_key
from typing import Any, NamedTuple

import orjson

from esproxy import exact
from esproxy.answer import encode, is_error
from esproxy.catalogue.store import Steps, parsed
from esproxy.errors import Refusal
from esproxy.exchange import Answer, Call, Calls, Reply
from esproxy.pools.bodies import parameters, search_body
from esproxy.pools.merge import Page, merge, merge_searches, whole
from esproxy.pools.pooled import Pooled
from esproxy.rewriting.restore import PoolAnswer, client_headers, finish, restore, unwrapped
from esproxy.rewriting.undo import Undo
from esproxy.tenancy.fieldnames import Divided
from esproxy.tenancy.target import Target

JSON = b"application/json"
BATCH = 1_000  # documents that a call by query takes at once unless it is told otherwise


def fan_out(
    request: Pooled, targets: list[Target], given: bytes, why: Divided, *, filtered: bool = True, pit: bool = False
) -> Steps[Reply]:
    """``given``: the client's body, with the query of its parameters. ``pit``: it says where, by a point in time, which is one
    for all."""
    plan = request.plan
    name = plan.route.row.name
    tree = orjson.loads(given) if given else {}
    targets = sorted(targets, key=lambda target: target.name)
    request.undo.clear()
    answers: list[Answer] = []
    if name == "search":
        page = Page.of(plan.query, tree, why)
        calls = []
        for target in targets:
            calls.append((yield from _call(request, target, page.body(tree), filtered, drop=("from", "size"), pit=pit)))
        answers = yield Calls(calls)
        if pit:
            answers = [without_others(*one) for one in zip(answers, targets, strict=True)]
    elif name in ("count", "indices.validate_query"):
        calls = []
        for target in targets:
            calls.append((yield from _call(request, target, given, filtered)))
        answers = yield Calls(calls)
    elif name in ("delete_by_query", "update_by_query"):
        answers = yield from _one_by_one(request, targets, tree, why)
    else:
        raise why
    restored = [_restored(request, *one) for one in zip(targets, answers, request.undo, strict=False)]
    if name == "search":
        status, merged = merge_searches(restored, page)
    else:
        status, merged = merge(restored)
        if "batches" in merged:  # of one search over all
            merged["batches"] = -(-merged["total"] // int(plan.query.get("scroll_size", BATCH)))
            if isinstance(tree.get("slice"), dict):
                merged.setdefault("slice_id", tree["slice"].get("id"))
    reader = PoolAnswer(plan, targets, {})
    return finish(plan, status, client_headers(plan, answers[0], reader), encode(plan, merged))


def can_merge(request: Pooled, given: bytes) -> bool:
    """Can the request be made once for each index?"""
    plan = request.plan
    name = plan.route.row.name
    if name == "search":
        return not whole(plan.query, orjson.loads(given) if given else {})
    return name in ("count", "indices.validate_query")


def _call(
    request: Pooled,
    target: Target,
    body: bytes,
    filtered: bool,
    drop: tuple[str, ...] = (),
    pit: bool = False,
    more: dict[str, str] | None = None,
) -> Steps[Call]:
    plan = request.plan
    assert plan.endpoint.request is not None
    sent = yield from search_body(request, [target], plan.endpoint.request, body or b"{}", filtered=filtered)
    query = yield from parameters(request, [target])
    for key in (*drop, "routing") if pit else drop:
        query.pop(key, None)
    template = plan.route.template if pit else plan.route.with_index or plan.route.template
    path = [target.physical if part == "{index}" else part for part in template]
    call = request.send("POST", path, query | (more or {}), sent, request.media or JSON)
    call.tree = plan.route.row.name == "search"
    return call


def without_others(answer: Answer, target: Target) -> Answer:
    """A search of a point in time is made on the shards of all its physical indices: what those of others say of fields that are
    this index's alone is left out."""
    if b'"failures"' not in answer.body and b'"failed_shards"' not in answer.body:
        return answer
    tree = exact.loads(answer.body)
    shards, error = tree.get("_shards") or {}, tree.get("error") or {}
    for holder, key in ((shards, "failures"), (error, "failed_shards"), (error, "root_cause")):
        if key in holder:
            holder[key] = [one for one in holder[key] if one.get("index", target.physical) == target.physical]
    if error.get("failed_shards") and (error.get("caused_by") or {}).get("index", target.physical) != target.physical:
        error["caused_by"] = error["failed_shards"][0]["reason"]
    if "failures" in shards:
        shards["failed"] = len(shards["failures"])
        shards["total"] = shards["successful"] + shards["failed"]
        if not shards["failed"]:
            del shards["failures"]
    return replace(answer, body=exact.dumps(tree))


class Part(NamedTuple):
    """What of a call by query one index gets. ``shards``: of the index, where not all."""

    body: dict[str, Any]
    shards: str | None = None

    def preference(self) -> dict[str, str]:
        return {} if self.shards is None else {"preference": f"_shards:{self.shards}"}


def _one_by_one(request: Pooled, targets: list[Target], tree: dict[str, Any], why: Divided) -> Steps[list[Answer]]:
    """Calls by query: of which the first that does not end well ends all. ``targets`` loses those that are not called."""
    asked = request.plan.query.get("max_docs", tree.get("max_docs"))
    left = None if asked is None else int(asked)
    parts = yield from _sliced(request, targets, tree)
    targets[:] = [target for target in targets if target.name in parts]
    if left is not None and "sort" in tree:
        parts = yield from _first(request, targets, parts, left, why)
    answers: list[Answer] = []
    for target in targets:
        if left == 0:
            break
        part = parts[target.name]
        body = part.body if left is None else {**part.body, "max_docs": left}
        call = yield from _call(request, target, orjson.dumps(body), True, drop=("max_docs",), more=part.preference())
        answer = yield call
        answers.append(answer)
        if answer.status != 200:
            break
        if left is not None:
            left -= orjson.loads(answer.body).get("total", 0)
    return answers


def _sliced(request: Pooled, targets: list[Target], tree: dict[str, Any]) -> Steps[dict[str, Part]]:
    """What each index gets of which there is something in the slice. Elasticsearch deals the shards of all out to the slices, and
    cuts one in as many as are left for it; OpenSearch cuts each index by itself."""
    given = tree.get("slice")
    id, most = (given.get("id"), given.get("max")) if isinstance(given, dict) else (None, None)
    cut = isinstance(id, int) and isinstance(most, int) and 0 <= id < most and most > 1  # else the node says what is wrong
    if not cut or not request.product or "preference" in request.plan.query:
        return {target.name: Part(tree) for target in targets}
    assert isinstance(id, int) and isinstance(most, int) and isinstance(given, dict)
    counts = {target.name: target.shards.count for target in targets if not target.dedicated}
    for target in targets:
        if target.dedicated:
            counts[target.name] = yield from _shard_count(request, target)
    shards = sorted((shard, name) for name, count in counts.items() for shard in range(count))
    whole_shards = {key: value for key, value in tree.items() if key != "slice"}
    if most < len(shards):
        mine = shards[id::most]
        found = {name: ",".join(str(shard) for shard, of in mine if of == name) for _, name in mine}
        return {name: Part(whole_shards, numbers) for name, numbers in found.items()}
    place = id % len(shards)
    within = most // len(shards) + (most % len(shards) > place)
    shard, name = shards[place]
    body = {**whole_shards, "slice": {**given, "id": id // len(shards), "max": within}} if within > 1 else whole_shards
    return {name: Part(body, str(shard))}


def _shard_count(request: Pooled, target: Target) -> Steps[int]:
    """Of an index of its own, of which only the node knows."""
    answer = yield request.send("GET", [target.physical, "_settings", "index.number_of_shards"], {})
    settings = parsed(answer, 200)[target.physical]["settings"]
    return int(settings["index"]["number_of_shards"])


def _first(request: Pooled, targets: list[Target], parts: dict[str, Part], most: int, why: Divided) -> Steps[dict[str, Part]]:
    """The parts limited to the documents that come first in the order of all: a search says which."""
    root = request.plan.cluster.engine.tables.roots["msearch.body"]
    calls = []
    for target in targets:
        part = parts[target.name]
        asked = {key: part.body[key] for key in ("query", "sort", "slice") if key in part.body}
        sent = yield from search_body(request, [target], root, orjson.dumps({**asked, "size": most, "_source": False}))
        scrolled = {"scroll": "1m"} if "slice" in asked else {}  # else nodes take no slice
        calls.append(request.send("POST", [target.physical, "_search"], part.preference() | scrolled, sent, JSON))
    answers: list[Answer] = yield Calls(calls)
    request.undo.clear()
    opened = [orjson.loads(answer.body).get("_scroll_id") for answer in answers if answer.status == 200]
    if any(opened):
        yield request.send("DELETE", ["_search", "scroll"], {}, orjson.dumps({"scroll_id": opened}), JSON)
    hits = []
    for target, answer in zip(targets, answers, strict=True):
        if answer.status != 200:
            raise Refusal("which documents come first cannot be told: leave [sort] or [max_docs] out")
        hits += [{**hit, "target": target} for hit in orjson.loads(answer.body)["hits"]["hits"]]
    hits.sort(key=cmp_to_key(Page.of({}, {"sort": asked["sort"], "size": most}, why).compare))
    limited = {}
    for target in targets:
        body, shards = parts[target.name]
        first = [hit["_id"].removeprefix(target.id_front) for hit in hits[:most] if hit["target"] is target]
        only = {"must": [body.get("query", {"match_all": {}})], "filter": [{"ids": {"values": first}}]}
        limited[target.name] = Part({**body, "query": {"bool": only}}, shards)
    return limited


def _restored(request: Pooled, target: Target, answer: Answer, undo: Undo) -> tuple[int, dict[str, Any]]:
    plan = request.plan
    reader = PoolAnswer(plan, [target], request.sent_as)
    reader.seal = request.seal
    tree = exact.loads(unwrapped(restore(plan, answer, reader)))
    if undo and not is_error(answer.status, answer.body):
        tree = undo.restore(tree, reader.name)
    return answer.status, tree
