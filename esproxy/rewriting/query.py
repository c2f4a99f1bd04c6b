"""Parameters of a request to a pool.

What says which indices are meant has been used by then and does not go upstream: the indices are concrete. A query in a
parameter (``q``) goes into the body, where the filter is put around it. ``routing`` of a search goes on where there are shards
to choose from; an operation on one document makes it itself.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from typing import Any

from esproxy import exact
from esproxy.api.filter_path import FilterPath
from esproxy.api.kinds import Kind
from esproxy.api.offered import offered
from esproxy.errors import Refusal, unknown_parameters
from esproxy.plan import Plan
from esproxy.request import refused_parameter
from esproxy.rewriting.patterns import Patterns
from esproxy.rewriting.rewrite import PoolResolver
from esproxy.tenancy.fieldnames import NONE
from esproxy.tenancy.target import Target, absent, search_routing

RESOLVED = frozenset(("ignore_unavailable", "allow_no_indices", "expand_wildcards"))
QUERY_STRING = ("df", "default_operator", "analyzer", "analyze_wildcard", "lenient")
DOCUMENT = ("get_source", "exists_source")  # whose answer is a document, which nodes do not filter
BODY_ALONE = ("count", "cat.count", "indices.validate_query", "explain")  # which read no query from parameters beside a body
BODY = ("source", "source_content_type")  # which the exchange has read, where there was no other
BESIDE = {"q": QUERY_STRING, "suggest_field": ("suggest_text", "suggest_size", "suggest_mode")}
QUIET = ("explain", "indices.validate_query")  # of Elasticsearch's, those that say no more than that they do not know them
MOST_SLICES = 1024
DEFAULT_FIELD = {"df": "default_field"}


def physical_query(
    plan: Plan, targets: list[Target], resolver: PoolResolver | None, omitted: Collection[str] = ()
) -> dict[str, str]:
    """What goes upstream, but for what is ``omitted``; ``targets``: of a search, for its ``routing``. Raises Refusal."""
    if not plan.query:
        return search_routing(targets, None)
    known = plan.endpoint.query
    unknown = [name for name in plan.query if name not in known and name not in ("format", *_in_path(plan))] + unread(plan)
    if unknown:
        there = offered(plan.route.row.name, known, product=plan.product, before_9=plan.cluster.before_9)
        raise unknown_parameters(plan.raw_path, unknown, there)
    out: dict[str, str] = {}
    in_body = moved(plan)
    for name, value in plan.query.items():
        if name in in_body or name in omitted or (name in BODY and plan.endpoint.body == "optional"):
            continue
        kind = known.get(name, Kind.COPY)
        if name == "filter_path":
            if plan.route.row.name not in DOCUMENT:
                plan.filter_path = FilterPath(value)
        elif name == "format":
            if value in ("cbor", "smile"):
                raise Refusal(f"the parameter [format] can only be [json] or [yaml] here, not [{value}]")
        elif name in RESOLVED or name in _in_path(plan) or kind is Kind.LUCENE or ("q" in known and name in QUERY_STRING):
            continue
        elif kind is Kind.ROUTING:
            continue
        elif kind in (Kind.FIELD, Kind.SOURCE):
            out[name] = _fields(name, value, resolver)
        elif kind is Kind.GROUP:
            out[name] = ",".join(target.id_front + group for group in value.split(",") for target in targets)
        elif kind in (Kind.PIPELINE, Kind.SEARCH_PIPELINE):
            out[name] = value if value == "_none" else absent(plan.owner().id, value)
        elif kind is Kind.REFUSE:
            raise refused_parameter(plan, name)
        elif kind is Kind.CURSOR:
            continue  # goes into the body
        elif name == "wait_for_completion" and value == "false":
            raise Refusal(
                "the parameter [wait_for_completion] can only be [true] here: there are no tasks to ask for the outcome"
            )
        elif name == "slices":
            check_slices(value)
            out[name] = value
        else:
            out[name] = value
    return out | search_routing(targets, plan.query.get("routing"))


def check_slices(value: str) -> None:
    """Raises Refusal for more than nodes take of one search: whoever makes so many parts pays for each before any is refused."""
    with suppress(ValueError):  # which the node says
        if int(value) > MOST_SLICES:
            told = f"The number of slices [{int(value)}] is too large. It must be less than [{MOST_SLICES}]"
            raise Refusal(f"{told}. This limit can be set by changing the [index.max_slices_per_scroll] index level setting.")


def unread(plan: Plan) -> list[str]:
    """Parameters that nodes read only beside another, which is not there. Raises Refusal where they say so."""
    found: list[str] = []
    for leading, others in BESIDE.items():
        if leading not in plan.endpoint.query or leading in plan.query:
            continue
        alone = [name for name in others if name in plan.query]
        if alone and plan.product and plan.route.row.name not in QUIET:
            missing = "query string parameter 'q'" if leading == "q" else f"'{leading}' parameter"
            raise Refusal(f"request [{plan.raw_path}] contains parameters [{', '.join(alone)}] but missing {missing}.")
        found += alone
    return found


def _in_path(plan: Plan) -> tuple[str, ...]:
    """The parameter that nodes read an expression from where the path has none."""
    return ("index",) if plan.route.with_index is not None else ()


def query_of_parameters(query: dict[str, str]) -> dict[str, Any] | None:
    """The query that ``q`` and its companions are; None without ``q``."""
    if "q" not in query:
        return None
    options: dict[str, Any] = {"query": query["q"]}
    for name in QUERY_STRING:
        if name in query:
            value = query[name]
            options[DEFAULT_FIELD.get(name, name)] = value != "false" if name in ("lenient", "analyze_wildcard") else value
    return {"query_string": options}


def body_with_query(plan: Plan, body: bytes) -> bytes:
    """The body with the query of the parameters in it, which goes before the body's own."""
    if not plan.query:
        return body
    query, in_body = query_of_parameters(plan.query), moved(plan)
    if body and plan.route.row.name in BODY_ALONE:
        unread = [name for name in ("q", *QUERY_STRING) if name in plan.query]
        if unread:
            raise unknown_parameters(plan.raw_path, unread, {})
    if query is None and not in_body:
        return body
    tree = exact.loads(body) if body else {}
    if not isinstance(tree, dict):
        return body
    if query is not None:
        tree["query"] = query
    if "sort" in in_body:
        given = tree.get("sort", [])
        tree["sort"] = [*(given if isinstance(given, list) else [given]), *map(sort_of_text, plan.query["sort"].split(","))]
    if "suggest_field" in in_body:
        tree["suggest"] = _suggestion(plan.query)
    if "stored_fields" in in_body:
        tree["stored_fields"] = plan.query["stored_fields"]
    return exact.dumps(tree)


def moved(plan: Plan) -> set[str]:
    """Parameters of a search that go into the body, because what they ask for is not asked of the node as it stands."""
    found: set[str] = set()
    if plan.route.row.name != "search":
        return found
    query = plan.query
    if any(name in ("_index", "_id") for name in (part.partition(":")[0] for part in query.get("sort", "").split(","))):
        found.add("sort")
    if "suggest_field" in query:
        found |= {name for name in query if name.startswith("suggest_")}
    sources = ("_source_includes", "_source_excludes")
    if query.get("stored_fields") == NONE and query.get("_source", "false") == "false" and not query.keys() & set(sources):
        found.add("stored_fields")
    return found


def _suggestion(query: dict[str, str]) -> dict[str, Any]:
    """Suggestions asked for by parameters."""
    field = query["suggest_field"]
    size = query.get("suggest_size", "5")
    term = {"field": field, "size": int(size) if size.isdigit() else size, "suggest_mode": query.get("suggest_mode", "missing")}
    return {field: {"text": query.get("suggest_text", query.get("q", "")), "term": term}}


def sort_of_text(text: str) -> Any:
    """An entry of the parameter ``sort``, as it would stand in a body."""
    field, colon, order = text.partition(":")
    return {field: {"order": order}} if colon else field


def _fields(parameter: str, value: str, resolver: PoolResolver | None) -> str:
    """Of stored ones a routing value may be among them, which stands beside the id in the answer anyway."""
    if resolver is None or value in ("true", "false"):
        return value
    out = []
    for name in value.split(","):
        bare, colon, order = name.partition(":")
        if parameter == "docvalue_fields" and "*" in bare and not resolver.own_terms:
            out += Patterns(resolver.fields, resolver.targets).matched(bare)
        else:
            kept = parameter == "stored_fields" and bare == "_routing"
            physical = resolver.fields.in_source if parameter.startswith("_source") else resolver.field
            out.append((bare if kept else physical(bare)) + colon + order)
    return ",".join(out)
