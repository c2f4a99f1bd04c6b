"""A search over indices that call a field by different names, as one: for scrolls, whose place only a cursor of one search holds.

Each index's search is rewritten by itself, and they are put together: a document meets the query of its own index alone, since
each has the filter of its scope; what is to be given of a document is asked for by the names of all, of which it has its own.

What hits are sorted by is read by a script: a text that stands in the order of the values, in whichever of the fields the
document has. The client gets the values back (``Decoded``), on every page, so the token of the cursor says how.

What else differs from index to index cannot be put together and is refused, as where searches are merged.
"""

from __future__ import annotations

from typing import Any

import orjson

from esproxy import exact
from esproxy.catalogue.store import Steps
from esproxy.errors import Refusal
from esproxy.exchange import Large, Reply
from esproxy.pools import wide
from esproxy.pools.bodies import search_body
from esproxy.pools.pooled import Pooled
from esproxy.pools.reply import JSON, path, reply, template
from esproxy.rewriting.decoded import EMPTY, KINDS, SOURCE, Decoded
from esproxy.rewriting.query import physical_query, sort_of_text
from esproxy.rewriting.rewrite import PoolResolver
from esproxy.rewriting.undo import Undo
from esproxy.tenancy.fieldnames import Divided
from esproxy.tenancy.target import Target, search_routing

LISTS = ("fields", "docvalue_fields", "stored_fields", "_source")  # of names
NAMES = ("_source", "_source_includes", "_source_excludes", "docvalue_fields", "stored_fields")  # parameters with lists of names
SORT_OPTIONS = frozenset(("order", "missing", "unmapped_type"))


def together(request: Pooled, targets: list[Target], given: bytes, why: Divided) -> Steps[Reply | Large]:
    """``given``: the client's body. Raises Refusal."""
    plan = request.plan
    assert plan.endpoint.request is not None
    request.undo.clear()
    bodies, queries = [], []
    for target in targets:
        sent = yield from search_body(request, [target], plan.endpoint.request, given or b"{}")
        body, query = exact.loads(sent), physical_query(plan, [target], PoolResolver(plan, [target]))
        if request.filtered_by is not None:
            del query["search_pipeline"]
        if "sort" in query:
            body["sort"] = [*_listed(body.get("sort")), *map(sort_of_text, query.pop("sort").split(","))]
        bodies.append(body)
        queries.append(query)
    undo = request.undo[0]
    if any(other != undo for other in request.undo) or undo != Undo(bare=undo.bare):
        raise _refused("aggregations" if undo.globals or undo.meta or undo.shapes or undo.rewritten else "explain", why)
    merged = _merged(bodies, why)
    if "sort" in merged:
        merged["sort"], undo.sorts = yield from _sorts(request, targets, [_listed(body.get("sort")) for body in bodies], why)
    request.undo[:] = [undo]
    plan.meta = undo or None
    if plan.typed:
        queries[0]["typed_keys"] = "true"
    request.over(targets)
    sent = orjson.dumps(merged)
    query = _parameters(request, targets, queries)
    if wide.fits(template(request), targets, query):
        answer = yield request.send("POST", path(request, targets), query, sent, JSON, large=True)
    else:
        answer = yield from wide.by_alias(request, template(request), targets, query, sent)
    return reply(request, answer, filtered=True)


def _refused(what: str, why: Divided) -> Refusal:
    return Refusal(f"[{what}] is not available for several indices at once here: {why.reason}")


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


# --- one body -------------------------------------------------------------------------------------------


def _merged(bodies: list[dict[str, Any]], why: Divided) -> dict[str, Any]:
    """But for the order of hits."""
    out: dict[str, Any] = {}
    for key in dict.fromkeys(key for body in bodies for key in body):
        values = [body.get(key) for body in bodies]
        if key in ("query", "post_filter"):
            out[key] = {"bool": {"should": values, "minimum_should_match": 1}}  # each is for documents of its own index
        elif key == "sort" or all(value == values[0] for value in values):
            out[key] = values[0]
        elif key in LISTS:
            out[key] = _names(values, key, why)
        elif key == "highlight":
            out[key] = _highlight(values, why)
        else:
            raise _refused(key, why)
    return out


def _names(values: list[Any], key: str, why: Divided) -> Any:
    """What any of them names. The same things are asked for in each, so they have the same form."""
    if all(isinstance(value, dict) for value in values):
        return {name: _names([value[name] for value in values], key, why) for name in values[0]}
    if not all(isinstance(value, str | list) for value in values):
        raise _refused(key, why)
    out: list[Any] = []
    for item in (item for value in values for item in _listed(value)):
        if item not in out:
            out.append(item)
    return out


def _highlight(values: list[Any], why: Divided) -> dict[str, Any]:
    """The same but for the names of its fields."""
    fields: list[Any] = [value.get("fields") for value in values]
    rest = [{key: item for key, item in value.items() if key != "fields"} for value in values]
    if any(other != rest[0] for other in rest) or any("highlight_query" in orjson.dumps(one).decode() for one in fields):
        raise _refused("highlight", why)
    if all(isinstance(one, dict) for one in fields):
        return {**rest[0], "fields": {name: options for one in fields for name, options in one.items()}}
    return {**rest[0], "fields": [item for one in fields for item in _listed(one)]}


def _parameters(request: Pooled, targets: list[Target], queries: list[dict[str, str]]) -> dict[str, str]:
    out = dict(queries[0])
    for name in out.keys() & set(NAMES):
        out[name] = ",".join(dict.fromkeys(part for query in queries for part in query[name].split(",")))
    out.pop("routing", None)
    return out | search_routing(targets, request.plan.query.get("routing"))


# --- one order ------------------------------------------------------------------------------------------


def _sorts(
    request: Pooled, targets: list[Target], lists: list[list[Any]], why: Divided
) -> Steps[tuple[list[Any], list[Decoded | None]]]:
    """The entries as they are sent, and how the values that they give are read."""
    entries: list[Any] = []
    decoded: list[Decoded | None] = []
    for group in zip(*lists, strict=True):
        if all(entry == group[0] for entry in group):
            entries.append(group[0])
            decoded.append(None)
            continue
        fields = [next(iter(entry.items())) if isinstance(entry, dict) else (entry, {}) for entry in group]
        names, given = [name for name, _ in fields], fields[0][1]
        options = {"order": given} if isinstance(given, str) else given
        missing = options.get("missing", "_last") if isinstance(options, dict) else None
        if missing not in ("_first", "_last") or options.keys() - SORT_OPTIONS or any(one != given for _, one in fields):
            raise _refused("sort", why)
        found = yield from _kinds(request, targets, names, options.get("unmapped_type"))
        kind = found.pop()
        if found or kind is None:
            raise _refused("sort", why)
        descends = str(options.get("order", "asc")).lower() == "desc"
        bottom = (missing == "_first") != descends
        params = {"fields": names, "kind": kind, "last": descends, "missing": EMPTY[bottom]}
        script = {"lang": "painless", "source": SOURCE, "params": params}
        entries.append({"_script": {"type": "string", "order": "desc" if descends else "asc", "script": script}})
        decoded.append(Decoded(kind))
    return entries, decoded if any(decoded) else []


def _kinds(request: Pooled, targets: list[Target], names: list[str], unmapped: Any) -> Steps[set[str | None]]:
    """How the values of these fields, of one in each target, are read; None for a field that no script can stand for."""
    where = [wide.INDEX, "_mapping", "field", ",".join(dict.fromkeys(names))]
    answer = yield from wide.ask(request, "GET", where, [target.physical for target in targets], {})
    told = orjson.loads(answer.body) if answer.status in (200, 404) else {}
    found: set[str | None] = set()
    for target, name in zip(targets, names, strict=True):
        mapped = told.get(target.physical, {}).get("mappings", {}).get(name)
        definitions = list(mapped["mapping"].values()) if mapped else [{"type": unmapped}]
        found.add(KINDS.get(str(definitions[0].get("type"))) if len(definitions) == 1 else None)
    return found
