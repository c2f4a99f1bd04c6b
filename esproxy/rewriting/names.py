"""``_index`` and ``_id`` in searches over pools: what a node would compare, sort by or put into buckets is physical.

A **clause** on one of them (``term``, ``terms``, ``prefix``, …) becomes one that matches the same documents. A node takes a value
of ``_index`` for an index expression, aliases and all, and asks whether its own index is among what that comes to; which targets
these are is known here. A list of ids is asked for in every target; the filter of the search keeps apart what does not belong
together.

A **sort** or **aggregation** by one of them reads the client's value by a script: so order, ``search_after``, ``include`` and
keys are right without a look at the answer. Elasticsearch does not sort by ``_id`` and says so itself. The script's text is one
for all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

from esproxy.api.kinds import Kind
from esproxy.errors import Refusal
from esproxy.rewriting.places import NONE, lookup_keys, members
from esproxy.tenancy.fieldnames import Divided
from esproxy.tenancy.target import OURS, Target, filter_of

INDEX, ID = "_index", "_id"
VALUES = ("value", "query", "wildcard", "terms", "term")  # of a clause that is an object: what it compares with
INDEX_SOURCE = "params.names[doc['_index'].value]"
ID_SOURCE = "def v=doc['_id'].value;return v.substring(v.indexOf(':')+1)"
OPERATORS = frozenset('+|-"*()~\\ ')
READS_ONE = ("terms", "rare_terms")

Matching = Callable[[str], list[Target]]


class Clause(NamedTuple):
    """``holder[name][field]`` is compared with ``_index`` or ``_id``."""

    holder: dict[str, Any]
    name: str
    field: str


def clauses(states: list[dict[str, Any]], state: int, tree: Any) -> Iterator[Clause]:
    """Every clause of a tree under its rule table."""
    for holder, _, key, below in members(states, state, tree):
        known = states[below].get("keys", {})
        for field in (INDEX, ID) if lookup_keys(states, known) is None else ():
            kind = states[known[field]].get("kind") if field in known else None
            if kind is not None and Kind[kind] in (Kind.EXPR, Kind.INDEX, Kind.ID) and _compared(holder[key], field):
                yield Clause(holder, key, field)


def _compared(value: Any, field: str) -> bool:
    """Is there a value, and no lookup of a document?"""
    given = value.get(field) if isinstance(value, dict) else None
    if isinstance(given, dict):
        return "path" not in given and any(key in given for key in VALUES)
    return given is not None


def ours(clause: Clause) -> bool:
    """Is it the filter's, which has physical names already?"""
    given = clause.holder[clause.name][clause.field]
    return isinstance(given, list) and OURS in given


BESIDE = ("boost", "_name", "value_type")  # what stands beside the field


def rewrite_clause(clause: Clause, targets: list[Target], matching: Matching) -> None:
    """A clause over the targets; ``matching`` says which of them an index expression comes to."""
    holder, name, field = clause
    if holder[name].keys() - {field, *BESIDE}:
        return  # two fields: nodes refuse it
    options = holder[name][field]
    given: Any = options
    told = {key: holder[name][key] for key in ("boost", "_name") if key in holder[name]}
    if isinstance(options, dict):
        given = next(options[key] for key in VALUES if key in options)
        told |= {key: options[key] for key in ("boost", "_name") if key in options}
    values = [text_of(value) for value in (given if isinstance(given, list) else [given])]
    if isinstance(options, dict) and options.get("case_insensitive") is True:
        values = [value.lower() for value in values]  # as all names of indices are
    if field == INDEX and "" in values:
        return  # no expression: the node says so
    if _not_compared(field, name, options if isinstance(options, dict) else {}):
        return
    if name == "span_term":
        _name_in_span(clause, values[0], targets, matching)
        return
    if name == "common":
        replaced: dict[str, Any] = {"match_none": told}  # which counts terms, and these fields have none
    elif field == ID:
        replaced = {"terms": {ID: [target.id_front + value for value in values for target in targets], **told}}
    else:
        analyzed = name == "match_bool_prefix" and isinstance(options, dict) and "analyzer" in options
        asked = [value + "*" for value in values] if name == "prefix" or analyzed else values  # of a name as it is, no prefix
        reached = {target.scope for value in asked for target in matching(value)}
        replaced = index_query([target for target in targets if target.scope in reached], targets, told)
    del holder[name]
    holder |= replaced


def _name_in_span(clause: Clause, value: str, targets: list[Target], matching: Matching) -> None:
    """No node finds anything by it: OpenSearch says what it made of the name, which is by whether it is the index's own."""
    reached = {target.scope for target in matching(value)}
    found = [target.physical for target in targets if target.scope in reached]
    sent = found[0] if found else NONE if value in {target.physical for target in targets} else value
    options = clause.holder[clause.name][clause.field]
    if isinstance(options, dict):
        options[next(key for key in VALUES if key in options)] = sent
    else:
        clause.holder[clause.name][clause.field] = sent


def _not_compared(field: str, name: str, options: dict[str, Any]) -> bool:
    """Is it a comparison that the field does not know? The node says so, or finds nothing."""
    if field == ID and name == "match_bool_prefix" and not options.keys().isdisjoint(("analyzer", "fuzziness")):
        return True
    if field == ID and options.get("case_insensitive") is True:
        return True
    return name == "match" and "fuzziness" in options


def index_query(matched: list[Target], targets: list[Target], told: dict[str, Any]) -> dict[str, Any]:
    """The query for documents of these targets, in a search over all of them."""
    if not matched:
        return {"match_none": told}
    if len({target.physical for target in targets}) == len(targets):
        return {"terms": {INDEX: [target.physical for target in matched], **told}}
    return {"constant_score": {"filter": filter_of(matched), **told}}


def index_among_fields(tree: Any, targets: list[Target], matching: Matching) -> None:
    """Queries for a text in several fields, of which ``_index`` is one, in place. Raises Refusal."""
    if isinstance(tree, list):
        for item in tree:
            index_among_fields(item, targets, matching)
    elif isinstance(tree, dict):
        for name in ("multi_match", "simple_query_string"):
            options = tree.get(name)
            fields = options.get("fields") if isinstance(options, dict) else None
            rest = [field for field in fields if str(field).partition("^")[0] != INDEX] if isinstance(fields, list) else fields
            if rest != fields:
                text = text_of(options.get("query"))
                if name == "simple_query_string" and not set(text).isdisjoint(OPERATORS):
                    raise Refusal("a query string with operators on the field [_index] is not available for indices in a pool")
                own = index_query(matching(text), targets, {})
                del tree[name]
                tree |= {"dis_max": {"queries": [{name: {**options, "fields": rest}}, own]}} if rest else own
                return
        for value in tree.values():
            index_among_fields(value, targets, matching)


def exclude_liked(tree: Any, targets: list[Target], own: Collection[str]) -> None:
    """A node leaves out whatever has the id of a document to be like, in any index that is searched. In place, once ids are
    scoped. ``own``: the physical names of indices whose ids have no scope."""
    if isinstance(tree, list):
        for item in tree:
            exclude_liked(item, targets, own)
    elif isinstance(tree, dict):
        options = tree.get("more_like_this")
        if len(tree) == 1 and isinstance(options, dict):
            like = options.get("like")
            liked = [one for one in (like if isinstance(like, list) else [like]) if isinstance(one, dict) and one.get(ID)]
            ids = [
                target.id_front + (text_of(one[ID]) if one.get(INDEX) in own else text_of(one[ID]).partition(":")[2])
                for one in liked
                for target in targets
                if one.get(INDEX, target.physical) != target.physical  # which the node leaves out by itself
            ]
            if ids and str(options.get("include", "false")).lower() != "true":
                del tree["more_like_this"]
                tree["bool"] = {"must": [{"more_like_this": options}], "must_not": [{"terms": {ID: ids}}]}
            return
        for value in tree.values():
            exclude_liked(value, targets, own)


def text_of(value: Any) -> str:
    """An id or a name as a node reads it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)


# --- sorts and aggregations -----------------------------------------------------------------------------


def read_by_script(tree: dict[str, Any], targets: list[Target], product: bool) -> None:
    """Replace sorts by and buckets of ``_index`` and ``_id`` in a search body."""
    scripts = {INDEX: lambda: _index_script(targets)}
    if not product and not all(target.dedicated for target in targets):
        scripts[ID] = lambda: _id_script(targets)
    _sorts(tree, scripts)
    _inner_sorts(tree.get("query"), scripts)
    inner = (tree.get("collapse") or {}).get("inner_hits") if isinstance(tree.get("collapse"), dict) else None
    for hits in inner if isinstance(inner, list) else [inner]:
        _sorts(hits, scripts)
    _aggregations(tree, scripts)


Scripts = dict[str, Callable[[], dict[str, Any]]]


def _index_script(targets: list[Target]) -> dict[str, Any]:
    names = {target.physical: target.name for target in targets}
    if len(names) < len(targets):
        raise Divided("the field [_index] does not tell these indices apart")
    return {"source": INDEX_SOURCE, "params": {"names": names}}


def _id_script(targets: list[Target]) -> dict[str, Any]:
    if any(target.dedicated for target in targets):
        raise Divided("the field [_id] is read in different ways in these indices")
    return {"source": ID_SOURCE}


def _sorts(holder: Any, scripts: Scripts) -> None:
    if not isinstance(holder, dict) or "sort" not in holder:
        return
    given = holder["sort"]
    holder["sort"] = [_sort(entry, scripts) for entry in (given if isinstance(given, list) else [given])]


def _sort(entry: Any, scripts: Scripts) -> Any:
    if isinstance(entry, str) and entry in scripts:
        return {"_script": {"type": "string", "script": scripts[entry](), "order": "asc"}}
    if not isinstance(entry, dict) or entry.keys().isdisjoint(scripts):
        return entry
    if len(entry) != 1:
        raise Refusal("a sort by [_index] or [_id] stands alone in its object")
    ((field, how),) = entry.items()
    order = how.get("order", "asc") if isinstance(how, dict) else how
    return {"_script": {"type": "string", "script": scripts[field](), "order": order}}


def _inner_sorts(tree: Any, scripts: Scripts) -> None:
    if isinstance(tree, list):
        for item in tree:
            _inner_sorts(item, scripts)
    elif isinstance(tree, dict):
        for key, value in tree.items():
            if key == "inner_hits":
                _sorts(value, scripts)
            else:
                _inner_sorts(value, scripts)


def _aggregations(body: Any, scripts: Scripts) -> None:
    for key in ("aggs", "aggregations"):
        for definition in (body.get(key) or {}).values():
            if not isinstance(definition, dict):
                continue
            for kind in READS_ONE:
                _read(definition.get(kind), scripts)
            composite, multi = definition.get("composite"), definition.get("multi_terms")
            for source in composite.get("sources") or [] if isinstance(composite, dict) else []:
                for by in source.values() if isinstance(source, dict) else ():
                    _read(by.get("terms") if isinstance(by, dict) else None, scripts)
            for term in multi.get("terms") or [] if isinstance(multi, dict) else []:
                _read(term, scripts)
            _sorts(definition.get("top_hits"), scripts)
            _aggregations(definition, scripts)


def _read(options: Any, scripts: Scripts) -> None:
    if isinstance(options, dict) and options.get("field") in scripts and "script" not in options:
        options["script"] = scripts[options.pop("field")]()
        options.setdefault("value_type", "string")
