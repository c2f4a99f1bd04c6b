"""What an answer tells of shards of several indices, in the order of their names.

A node tells of shards by their numbers and then by the names of their indices, and it knows physical ones. So an answer about
indices in several physical ones is put in order again once the names in it are the client's.
"""

from __future__ import annotations

from typing import Any

from esproxy import exact
from esproxy.answer import encode
from esproxy.plan import Plan

LISTS = ("failures", "failed_shards", "root_cause", "explanations")


def in_logical_order(plan: Plan, body: bytes) -> bytes:
    """A whole answer. What has nothing to be put in order stays as it came."""
    if not any(b'"%s"' % name.encode() in body for name in LISTS):
        return body
    tree = exact.loads(body)
    if not isinstance(tree, dict):
        return body
    for one in (tree, *(tree.get("responses") or ())):
        put_in_order(one)
    return encode(plan, tree)


def put_in_order(answer: dict[str, Any]) -> None:
    """The answer to one request, in place."""
    error = answer.get("error")
    for holder in (answer, error, answer.get("_shards")):
        if isinstance(holder, dict):
            _sort_lists(holder)


def _sort_lists(holder: dict[str, Any]) -> None:
    failed = holder.get("failed_shards")
    first = failed[0].get("reason") if failed else None
    for name in LISTS:
        items = holder.get(name)
        if isinstance(items, list) and all(isinstance(item, dict) and "id" not in item for item in items):  # none of a document
            holder[name] = sorted(items, key=_place)
    if first is not None and holder.get("caused_by") == first:
        holder["caused_by"] = holder["failed_shards"][0]["reason"]


def _place(item: dict[str, Any]) -> tuple[int, str]:
    """What is about no shard in particular goes first."""
    shard = item.get("shard")
    return (shard if isinstance(shard, int) else 0, str(item.get("index") or ""))
