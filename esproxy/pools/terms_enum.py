"""``_terms_enum`` of indices in pools: each index is asked by itself, and what they have is put together.

Where all terms of a field are the index's own (``per-tenant``, an index that is alone) the node lists them. Where others have
terms in the same field it would list theirs, whatever the filter, since it reads the dictionary: there the terms are those of an
aggregation over the index's own documents. ``index_filter`` is refused there: it chooses shards, by the least and the greatest
value of a whole shard.
"""

from __future__ import annotations

from typing import Any

import orjson

from esproxy import exact
from esproxy.answer import encode, is_error
from esproxy.catalogue.fields import unheld
from esproxy.catalogue.store import Steps
from esproxy.errors import Refusal
from esproxy.exchange import Answer, Call, Calls, Large, Reply
from esproxy.pools.bodies import search_body
from esproxy.pools.declared import declaration
from esproxy.pools.pooled import Pooled
from esproxy.pools.reply import JSON, nothing, reply
from esproxy.pools.targets import some
from esproxy.replies import json_headers
from esproxy.rewriting.query import physical_query
from esproxy.rewriting.restore import finish
from esproxy.rewriting.rewrite import PoolResolver
from esproxy.tenancy.target import Target, filter_of

KEYED = "key of flattened"
LISTED = frozenset(("keyword", "constant_keyword", KEYED, "ip", "version"))  # types whose terms a node lists
MOST = 10_000  # terms of one index that are looked at
SIZE = 10
OPTIONS = {"string": str, "search_after": str, "size": int, "case_insensitive": bool, "timeout": str}
SPECIAL = frozenset('.?+*|{}[]()"\\#@&<>~^$-')  # in regular expressions of nodes


def terms_enum(request: Pooled) -> Steps[Reply | Large]:
    plan = request.plan
    targets = yield from some(request, request.parts["index"])
    query = physical_query(plan, [], PoolResolver(plan, []))
    declaration(request)
    tree = exact.loads(request.body) if request.body else {}
    aggregated = not all(target.naming.own_terms for target in targets)
    if not targets or not isinstance(tree.get("field"), str) or (aggregated and not _is_plain(tree)):
        # nobody's terms; or refused, in the node's words
        body = exact.dumps({key: value for key, value in tree.items() if key != "index_filter"}) if request.body else b""
        answer = yield request.send("POST", [nothing(request), "_terms_enum"], query, body, request.media)
        if targets and not is_error(answer.status, answer.body):
            raise Refusal("the options of a list of terms have to be given as what they are: text, a number, true or false")
        return reply(request, answer)
    calls: list[Call] = []
    for target in targets:
        calls.append((yield from (_listed if target.naming.own_terms else _aggregated)(request, target, tree)))
    answers: list[Answer] = yield Calls(calls)
    terms: list[list[str]] = []
    shards, complete = {"total": 0, "successful": 0, "failed": 0}, True
    for answer in answers:
        if is_error(answer.status, answer.body):
            return reply(request, answer)
        told = orjson.loads(answer.body)
        for key in shards:
            shards[key] += told["_shards"][key]
        complete = complete and _is_whole(told)
        terms.append(told["terms"] if "terms" in told else _terms(told, tree))
    found = terms[0] if len(terms) == 1 else sorted({term for one in terms for term in one}, key=str.encode)
    whole = {"_shards": shards, "terms": found[: _size(tree)], "complete": complete}
    headers = json_headers(plan.product, plan.head.get(b"accept"))
    return finish(plan, 200, headers, encode(plan, whole))


def _is_plain(tree: dict[str, Any]) -> bool:
    """Has each option the type that it is of, and so needs no node to understand it?"""
    return all(type(tree[name]) is kind for name, kind in OPTIONS.items() if name in tree)


def _size(tree: dict[str, Any]) -> int:
    """None is one, to a node. Where it is told in another way than as a number, the node itself has cut its list."""
    size = tree.get("size", SIZE)
    return max(size, 1) if isinstance(size, int) else MOST


def _listed(request: Pooled, target: Target, tree: dict[str, Any]) -> Steps[Call]:
    """The node's own list."""
    state = request.plan.endpoint.request
    assert state is not None
    body = yield from search_body(request, [target], state, exact.dumps(_asked(tree)))
    request.undo.pop()
    return request.send("POST", [target.physical, "_terms_enum"], {}, body, JSON, held=True)


def _asked(tree: dict[str, Any]) -> dict[str, Any]:
    """Meta fields are asked for by a name that none has: nodes list no terms of most, and in a pool of none."""
    return tree | {"field": unheld("") if tree["field"].startswith("_") else tree["field"]}


def _aggregated(request: Pooled, target: Target, tree: dict[str, Any]) -> Steps[Call]:
    """The terms of the index's own documents. Raises Refusal."""
    if "index_filter" in tree:
        raise Refusal("[index_filter] is not available for indices in a pool: it is about the values of the whole pool")
    name, kind = _asked(tree)["field"], _type(target, tree["field"])
    fields = PoolResolver(request.plan, [target])
    physical = fields.field(name)
    if fields.fields.lacks(target) and target.entry.n not in request.fresh:
        target = yield from request.renewed(target)
        physical, kind = PoolResolver(request.plan, [target]).field(name), _type(target, tree["field"])
    body: dict[str, Any] = {"size": 0, "query": filter_of([target]), "aggs": {}}
    if kind in LISTED:
        wanted = {"field": physical, "size": MOST, "order": {"_key": "asc"}}
        prefix = tree.get("string")
        if kind == "keyword" and prefix:
            wanted["include"] = _pattern(prefix, tree.get("case_insensitive") is True)
        body["aggs"]["terms"] = {"terms": wanted}
    if "timeout" in tree:
        body["timeout"] = tree["timeout"]
    return request.send("POST", [target.physical, "_search"], {}, exact.dumps(body), JSON, held=True)


def _type(target: Target, path: str) -> str | None:
    """The type of a field, or of one that is made below it."""
    fields = target.index.fields
    field, below = fields.get(path), ""
    if field is None:
        parent, _, below = path.rpartition(".")
        while parent and parent not in fields:
            parent, _, _ = parent.rpartition(".")
        field = fields.get(parent)
        if field is None:
            return None
        if field.type.get("type") == "flattened":
            return KEYED
        inner = (field.type.get("fields") or {}).get(below) or {}
        return str(inner.get("type"))
    aliased = fields.get(str(field.type.get("path"))) if field.type.get("type") == "alias" else field
    return None if aliased is None else str(aliased.type.get("type"))


def _pattern(prefix: str, fold: bool) -> str:
    def one(char: str) -> str:
        if fold and char.isascii() and char.isalpha():
            return f"[{char.lower()}{char.upper()}]"
        return "\\" + char if char in SPECIAL else char

    return "".join(map(one, prefix)) + ".*"


def _is_whole(told: dict[str, Any]) -> bool:
    if "complete" in told:
        return told["complete"] is True
    cut = told.get("aggregations", {}).get("terms", {}).get("sum_other_doc_count", 0)
    return not told.get("timed_out") and not cut and not told["_shards"]["failed"]


def _terms(told: dict[str, Any], tree: dict[str, Any]) -> list[str]:
    """What an aggregation found, as far as it is asked for."""
    aggs = told.get("aggregations", {})
    found = [str(bucket.get("key_as_string", bucket["key"])) for bucket in aggs.get("terms", {}).get("buckets", ())]
    prefix, after = tree.get("string"), tree.get("search_after")
    if prefix:
        fold = _folded if tree.get("case_insensitive") else str
        found = [term for term in found if fold(term).startswith(fold(prefix))]
    return [term for term in found if after is None or term.encode() > after.encode()]


def _folded(text: str) -> str:
    return "".join(char.lower() if char.isascii() else char for char in text)
