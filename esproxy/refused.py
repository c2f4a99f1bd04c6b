"""What Elasticsearch says of a request beside its own answer, or in place of the proxy's: words that depend on the endpoint.

A refusal is made where a name is read, which knows nothing of endpoints; and of names that the client wrote a node warns only
where it gets them, and under a prefix none begins with a dot.
"""

from __future__ import annotations

from collections.abc import Iterable

from esproxy.errors import EsproxyError, Refusal
from esproxy.heads import Headers
from esproxy.plan import Plan

# Endpoints that could ask a remote cluster.
REMOTE = frozenset(
    ("search", "count", "msearch", "field_caps", "open_point_in_time", "indices.validate_query", "indices.resolve_index",
     "cat.count", "search_template", "msearch_template", "reindex")
)  # fmt: skip
LEGACY = "Legacy index templates are deprecated in favor of composable templates."
RESERVED = (
    "index name [{}] starts with a dot '.', in the next major version, index names starting with a dot are reserved for hidden"
    " indices and system indices"
)


def told(plan: Plan, error: EsproxyError) -> EsproxyError:
    """An error as it is told for this request."""
    if not plan.product:
        return error
    if error.type == "no_such_remote_cluster_exception" and plan.route.row.name not in REMOTE:
        remote = [term for term in plan.parts.get("index", "").split(",") if ":" in term]
        if remote:
            words = "Cross-cluster calls are not supported in this context but remote indices were requested"
            error = Refusal(f"{words}: [{', '.join(remote)}]")
    warned = [LEGACY] if plan.route.row.name == "indices.put_template" else []
    if "line" not in error.extra and "unrecognized parameter" not in error.reason:
        warned += names_warned_of(plan)
    error.headers = error.headers + warnings(plan, warned)
    return error


def names_warned_of(plan: Plan) -> list[str]:
    """For names that begin with a dot: of an index to be made, and patterns of a template."""
    names = [plan.parts["index"]] if plan.product and plan.route.row.name == "indices.create" else plan.dotted
    deprecated = "name begins with a dot (.), which is deprecated, and will not be allowed in a future Elasticsearch version."
    return [f"Index [{name}] {deprecated}" for name in names if name.startswith(".")]


def beside(plan: Plan, status: int, told: Headers) -> Headers:
    """The warnings of an answer of a node, and those that it would have given for the client's own names."""
    if not plan.dotted and (plan.route.row.name != "indices.create" or not plan.product):
        return told
    name = plan.parts.get("index", "")
    reserved = status < 400 and name.startswith(".") and not plan.hidden
    return [*warnings(plan, names_warned_of(plan)), *told, *warnings(plan, [RESERVED.format(name)] if reserved else [])]


def warnings(plan: Plan, texts: Iterable[str]) -> Headers:
    """As Elasticsearch writes them."""
    version = plan.cluster.info["version"]
    made_by = f"Elasticsearch-{version['number']}-{version.get('build_hash', 'Unknown')}"
    return [(b"warning", f'299 {made_by} "{text}"'.encode()) for text in texts]
