"""Answers about several indices as one, when each was asked by itself.

All are restored and verified by then: what is merged is the client's own. Hits come in the order of the request's sort, of scores
without one; equal ones in the order of their indices' names, as on a node whose indices have one shard each. What is computed
over hits (aggregations, suggestions, collapsed groups) cannot be merged, nor can what goes on from one request to the next.
"""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any

import orjson

from esproxy import exact
from esproxy.errors import Refusal
from esproxy.tenancy.fieldnames import Divided

WHOLE = ("aggs", "aggregations", "collapse", "suggest", "profile", "slice", "knn", "retriever", "rank")
SUMS = ("total", "updated", "created", "deleted", "version_conflicts", "noops", "throttled_millis", "count")
WINDOW = 10_000  # hits that a node counts unless it is told otherwise
Restored = tuple[int, dict[str, Any]]


def merge(restored: list[Restored]) -> Restored:
    """Counts, validations and calls by query."""
    failed = [one for one in restored if "error" in one[1] and "valid" not in one[1]]
    if failed:
        return _all_failed(failed)
    trees = [tree for _, tree in restored]
    out = dict(trees[0])
    for key in SUMS:
        if key in out:
            out[key] = sum(tree[key] for tree in trees)
    for key in ("failures", "explanations"):
        if any(key in tree for tree in trees):
            out[key] = [item for tree in trees for item in tree.get(key, [])]
    if "took" in out:
        out["took"] = sum(tree["took"] for tree in trees)
    if "retries" in out:
        out["retries"] = {key: sum(tree["retries"][key] for tree in trees) for key in out["retries"]}
    if "timed_out" in out:
        out["timed_out"] = any(tree["timed_out"] for tree in trees)
    if "valid" in out:
        out["valid"] = all(tree["valid"] for tree in trees)
    if "_shards" in out:
        out["_shards"] = _shards([tree["_shards"] for tree in trees])
    return max(status for status, _ in restored), out


def merge_searches(restored: list[Restored], page: Page) -> Restored:
    """A failure of all shards of one index is one of some shards of all, unless all indices have failed."""
    found = [tree for _, tree in restored if "error" not in tree]
    broken = [one for one in restored if "error" in one[1]]
    if broken and (not found or any("failed_shards" not in tree["error"] for _, tree in broken)):
        return _all_failed(broken)
    shards = _shards([tree["_shards"] for tree in found])
    for _, tree in broken:
        failures = tree["error"]["failed_shards"]
        shards["failures"] = [*shards.get("failures", []), *failures]
        for key in ("total", "failed"):
            shards[key] += len(failures)
    hits = [hit for tree in found for hit in tree["hits"]["hits"]]
    hits.sort(key=cmp_to_key(page.compare))
    scored = [tree for tree in found if tree["hits"]["hits"]] or found  # one where nothing can be found has a score of nothing
    scores = [tree["hits"]["max_score"] for tree in scored if tree["hits"].get("max_score") is not None]
    merged = {"hits": hits[page.first : page.first + page.size], "max_score": max(scores, key=exact.number, default=None)}
    totals = [tree["hits"]["total"] for tree in found if "total" in tree["hits"]]
    if totals:
        merged = {"total": page.total(totals), **merged}
    out = {**found[0], "took": max(tree["took"] for tree in found), "timed_out": any(tree["timed_out"] for tree in found)}
    if any("terminated_early" in tree for tree in found):
        out["terminated_early"] = any(tree.get("terminated_early") for tree in found)
    return 200, {**out, "_shards": shards, "hits": {key: merged[key] for key in found[0]["hits"] if key in merged}}


def _all_failed(broken: list[Restored]) -> Restored:
    """The errors of shards of several indices as one; else the first error."""
    status, first = broken[0]
    if not all("failed_shards" in tree["error"] for _, tree in broken):
        return next(one for one in broken if "failed_shards" not in one[1]["error"])
    lists = {key: [item for _, tree in broken for item in tree["error"][key]] for key in ("root_cause", "failed_shards")}
    return status, {**first, "error": {**first["error"], **lists}}


def _shards(parts: list[dict[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {key: sum(part[key] for part in parts) for key in parts[0] if key != "failures"}
    failures = [failure for part in parts for failure in part.get("failures", [])]
    return {**out, "failures": failures} if failures else out


def whole(query: dict[str, str], body: dict[str, Any]) -> list[str]:
    """What of a search cannot be merged."""
    return [key for key in WHOLE if body.get(key)] + (["scroll"] if "scroll" in query else [])


class Page:
    """Which hits are wanted, in which order. ``orders``: of each sort value, whether it descends and whether what lacks it comes
    first; none: by score."""

    def __init__(self, first: int, size: int, orders: list[tuple[bool, bool]], limit: int | None) -> None:
        self.first, self.size, self.orders, self.limit = first, size, orders, limit

    @classmethod
    def of(cls, query: dict[str, str], body: dict[str, Any], why: Divided) -> Page:
        """Raises Refusal for a search that cannot be merged."""
        found = whole(query, body)
        if found:
            raise Refusal(f"[{found[0]}] is not available for several indices at once here: {why.reason}")
        first, size = (int(query.get(key, body.get(key) or default)) for key, default in (("from", 0), ("size", 10)))
        if "size" not in query and body.get("size") == 0:
            size = 0
        counted = query.get("track_total_hits", body.get("track_total_hits", WINDOW))
        exact = counted is True or str(counted).lower() == "true"
        limit = None if exact or str(counted).lower() in ("false", "-1") else int(counted)
        sort: Any = query["sort"].split(",") if "sort" in query else body.get("sort")
        entries = sort if isinstance(sort, list) else [] if sort is None else [sort]
        orders = [_order(entry) for entry in entries]
        return cls(first, size, [] if entries in (["_score"], [{"_score": {}}]) else orders, limit)

    def body(self, tree: dict[str, Any]) -> bytes:
        """The body for one index: whatever of it may be on this page."""
        if self.first < 0 or self.size < 0:
            return orjson.dumps({**tree, "from": self.first, "size": self.size})  # the node's to refuse
        return orjson.dumps({**tree, "from": 0, "size": self.first + self.size})

    def compare(self, a: dict[str, Any], b: dict[str, Any]) -> int:
        if not self.orders:
            return _compare(a.get("_score"), b.get("_score"), True, False)
        for (descends, nulls_first), x, y in zip(self.orders, a["sort"], b["sort"], strict=False):
            if found := _compare(x, y, descends, nulls_first):
                return found
        more = slice(len(self.orders), None)  # what nodes add, of a point in time: the place of a document
        rest = zip(a["sort"][more], b["sort"][more], strict=False)
        return next((found for x, y in rest if (found := _compare(x, y, False, False))), 0)

    def total(self, totals: list[Any]) -> Any:
        if isinstance(totals[0], int):
            return -1 if min(totals) < 0 else sum(totals)  # not counted
        value, counted = sum(one["value"] for one in totals), all(one["relation"] == "eq" for one in totals)
        if self.limit is not None and value > self.limit:
            value, counted = self.limit, False
        return {"value": value, "relation": "eq" if counted else "gte"}


def _order(entry: Any) -> tuple[bool, bool]:
    if isinstance(entry, str):
        name, _, order = entry.partition(":")
        return (order or ("desc" if name == "_score" else "asc")) == "desc", False
    name, options = next(iter(entry.items())) if isinstance(entry, dict) and entry else ("", {})
    if isinstance(options, str):
        return options.lower() == "desc", False
    options = options if isinstance(options, dict) else {}
    order = str(options.get("order", "desc" if name == "_score" else "asc")).lower()
    return order == "desc", options.get("missing") == "_first"


def _compare(x: Any, y: Any, descends: bool, nulls_first: bool) -> int:
    x, y = exact.number(x), exact.number(y)
    if x is None or y is None:
        return 0 if x is y else (-1 if (x is None) == nulls_first else 1)
    if isinstance(x, str) != isinstance(y, str):
        raise Refusal("the field to sort by has types in these indices that cannot be compared")
    if x == y:
        return 0
    return -1 if (x < y) != descends else 1
