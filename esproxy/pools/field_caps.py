"""``_field_caps`` over indices in pools.

A pool has other tenants' fields, and a field of the same name that one of this request's indices has may be in another's pool
without being that one's. So each pool is asked on its own for everything, its answer is cut down to the index's own fields under
their logical names, and what a node does with the answers of its indices is done here: capabilities of one type are joined, types
are kept apart, with the indices that have them.
"""

from __future__ import annotations

from typing import Any

import orjson

from esproxy.answer import encode, is_error
from esproxy.catalogue.store import Steps
from esproxy.errors import Failed
from esproxy.exchange import Answer, Calls, Large, Reply
from esproxy.pools import wide
from esproxy.pools.bodies import search_body
from esproxy.pools.pooled import Pooled
from esproxy.pools.reply import JSON, path, reply, template
from esproxy.pools.targets import some
from esproxy.rewriting.query import physical_query
from esproxy.rewriting.restore import PoolAnswer, client_headers, finish
from esproxy.tenancy.expressions import matching
from esproxy.tenancy.target import Target, filter_of

META = frozenset(
    (
        "_routing", "_doc_count", "_index", "_feature", "_ignored", "_seq_no", "_nested_path", "_field_names", "_tier", "_size",
        "_data_stream_timestamp", "_source", "_id", "_version", "_primary_term", "_inference_fields", "_ignored_source",
        "_index_mode", "_tsid", "_ts_routing_hash",
    )
)  # fmt: skip
POOLS_OWN = ("_routing", "_field_names")  # what every pool has values in, and an index of its own has not
BOTH = (("searchable", "non_searchable_indices"), ("aggregatable", "non_aggregatable_indices"))

Caps = dict[str, dict[str, Any]]  # type → its capabilities


def field_caps(request: Pooled) -> Steps[Reply | Large]:
    plan = request.plan
    targets = yield from some(request, request.parts.get("index", "_all"))
    tree = orjson.loads(request.body) if request.body else {}
    given = tree.get("fields") if isinstance(tree, dict) else None
    wanted = plan.query.get("fields", "").split(",") if "fields" in plan.query else given
    wanted = [wanted] if isinstance(wanted, str) else wanted
    query = physical_query(plan, targets, None)
    if not targets or not wanted or not all(wanted) or (given and "fields" in plan.query):
        assert plan.endpoint.request is not None
        body = request.body and (yield from search_body(request, targets, plan.endpoint.request, request.body))
        physical = [target.physical for target in targets]
        answer = yield from wide.ask(request, "POST", template(request), physical, query, body, request.media or JSON)
        return reply(request, answer, filtered=True)
    calls = []
    for target in targets:
        body = b""
        if request.body:
            assert plan.endpoint.request is not None
            body = yield from search_body(request, [target], plan.endpoint.request, request.body)
            body = orjson.dumps({key: value for key, value in orjson.loads(body).items() if key != "fields"})
        asked = {key: value for key, value in query.items() if key != "include_unmapped"} | {"fields": "*"}
        calls.append(request.send("POST", path(request, [target]), asked, body, request.media or JSON))
    answers: list[Answer] = yield Calls(calls)
    for answer in answers:
        if is_error(answer.status, answer.body):
            return reply(request, answer, filtered=True)
    defined = {**(tree.get("runtime_mappings") or {}), **(tree.get("derived") or {})} if isinstance(tree, dict) else {}
    made = {name: name for name in defined} | {sent: name for sent, name in plan.fields.items() if name in defined}
    found: dict[str, dict[str, Caps]] = {}  # index → field → capabilities
    for target, answer in zip(targets, answers, strict=True):
        there = orjson.loads(answer.body)
        if there.get("indices"):  # else none of its shards can match the filter
            found[target.name] = _own(target, there["fields"], wanted, made)
    if plan.query.get("include_empty_fields", "true") == "false":
        yield from _drop_empty(request, targets, found)
    told = {"indices": sorted(found), "fields": merged(found, plan.query.get("include_unmapped", "false") != "false")}
    headers = client_headers(plan, answers[0], PoolAnswer(plan, request.targets.values(), {}))
    return finish(plan, 200, headers, encode(plan, told))


def _own(target: Target, there: dict[str, Caps], wanted: list[str], made: dict[str, str]) -> dict[str, Caps]:
    """What a pool tells of the index's own fields that are asked for, and of the objects around them. ``made``: by the request
    itself, as they were sent → as the client named them."""
    logical = {}
    for physical in there:
        name = physical if physical in META else made.get(physical) or target.naming.owned(physical)
        if name is not None:
            logical[name] = there[physical]
    asked = {name for pattern in wanted for name in matching(pattern, list(logical))}
    around = {parent for name in asked if name not in META for parent in _parents(name)}
    return {name: logical[name] for name in logical if name in asked or name in around}


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:i]) for i in range(1, len(parts))]


def _drop_empty(request: Pooled, targets: list[Target], found: dict[str, dict[str, Caps]]) -> Steps[None]:
    """A node knows whether a pool has values in a field; here it must be the index."""
    for target in targets:
        own = found.get(target.name)
        if own is None:
            continue
        back = {target.naming.field(name): name for name in own if name not in META}
        nested = [name for name in own if "nested" in own[name]]
        leaves = {
            physical: name
            for physical, name in back.items()
            if not own[name].keys() & {"object", "nested"} and not any(name.startswith(parent + ".") for parent in nested)
        }
        filters = {physical: {"exists": {"field": physical}} for physical in leaves}
        body = {"size": 0, "query": filter_of([target]), "aggs": {"f": {"filters": {"filters": filters}}}} if filters else {}
        if filters:
            call = request.send("POST", [target.physical, "_search"], {}, orjson.dumps(body), JSON)
            answer = yield call
            if answer.status != 200:
                raise Failed("the fields with values could not be told")
            buckets = orjson.loads(answer.body)["aggregations"]["f"]["buckets"]
            for physical, name in leaves.items():
                if not buckets[physical]["doc_count"]:
                    for below in [one for one in own if one == name or one.startswith(name + ".")]:
                        del own[below]
        for name in POOLS_OWN:
            own.pop(name, None)
        for name in sorted(own, key=len, reverse=True):
            if "object" in own[name] and not any(one.startswith(name + ".") for one in own):
                del own[name]


def merged(found: dict[str, dict[str, Caps]], unmapped: bool) -> dict[str, Any]:
    """The capabilities of fields over all indices, as a node tells them."""
    out: dict[str, Any] = {}
    every = [caps for fields in found.values() for types in fields.values() for caps in types.values()]
    meta = {"metadata_field": False} if any("metadata_field" in caps for caps in every) else {}
    unknown = {"type": "unmapped", **meta, "searchable": False, "aggregatable": False}
    for name in dict.fromkeys(name for fields in found.values() for name in fields):
        types: dict[str, dict[str, dict[str, Any]]] = {}  # type → index → capabilities
        for index in sorted(found):
            if name in found[index]:
                for kind, caps in found[index][name].items():
                    types.setdefault(kind, {})[index] = caps
            elif unmapped:
                types.setdefault("unmapped", {})[index] = unknown
        out[name] = {kind: _joined(by_index, len(types) > 1) for kind, by_index in types.items()}
    return out


def _joined(by_index: dict[str, dict[str, Any]], told: bool) -> dict[str, Any]:
    """One type in several indices. ``told``: the field has others elsewhere."""
    out = dict(next(iter(by_index.values())))
    meta: dict[str, set[str]] = {}
    for caps in by_index.values():
        for key, values in caps.get("meta", {}).items():
            meta.setdefault(key, set()).update(values)
    out.pop("meta", None)
    for what, _ in BOTH:
        out[what] = all(caps[what] for caps in by_index.values())
    if told:
        out["indices"] = list(by_index)
    for what, without in BOTH:
        lacking = [index for index, caps in by_index.items() if not caps[what]]
        if lacking and len(lacking) < len(by_index):
            out[without] = lacking
    if meta:
        out["meta"] = {key: sorted(values) for key, values in meta.items()}
    return out
