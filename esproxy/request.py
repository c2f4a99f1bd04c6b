"""From a client's request to the node's: target and headers, rewritten for the tenant's layout; bodies are in ``esproxy.bodies``.

Everything here raises Refusal for what is not understood; nothing has been sent by then.
"""

from __future__ import annotations

import re
from typing import Protocol

from esproxy import asyaml
from esproxy.api.endpoints import REFUSED_WITH_BODY
from esproxy.api.filter_path import FilterPath
from esproxy.api.kinds import Kind
from esproxy.api.offered import offered
from esproxy.api.target import build, parse
from esproxy.cluster import Cluster
from esproxy.errors import Refusal, malformed_media, unknown_parameters, unsupported_media
from esproxy.heads import Head, Headers
from esproxy.plan import Plan
from esproxy.tenancy.cursors import Sealer
from esproxy.tenancy.identify import HeaderIdentity, PatternIdentity
from esproxy.tenancy.metafields import MetaFields
from esproxy.tenancy.tenant import Tenants

FORWARDED = (b"accept", b"traceparent", b"tracestate")
FORMS = (b"yaml", b"cbor", b"smile")  # in which nodes answer too
JSON_TYPES = frozenset(("application/json", "application/vnd.elasticsearch+json"))
NDJSON_TYPES = JSON_TYPES | {"application/x-ndjson", "application/vnd.elasticsearch+x-ndjson"}
# A node that refuses a header or a request line for its length reads nothing more from that connection, and does not close it:
# whoever was sent there next would wait in vain. So both stay well below the nodes' limits (16 KiB of headers, 4 KiB of line).
MEDIA_TYPE = re.compile(r"\s*[^\s/;]+/[^\s/;]+\s*(;.*)?")
MAX_HEADER = 1024
MAX_LINE = 4096 - len("DELETE  HTTP/1.1") - 64
# What is sent as a POST and changes nothing: it may be sent a second time when a connection breaks under it.
REPEATABLE = frozenset(
    (
        "search",
        "count",
        "msearch",
        "mget",
        "explain",
        "field_caps",
        "indices.validate_query",
        "termvectors",
        "mtermvectors",
        "rank_eval",
        "terms_enum",
    )
)
CAT_DRAWING = ("format", "v")
NEW = frozenset(("new_index", "target"))  # parts of a path that name an index to be made


class GatewayLike(Protocol):
    """What all requests share that a plan needs."""

    header: HeaderIdentity | None
    pattern: PatternIdentity | None
    tenants: Tenants
    sealer: Sealer


def understand(gateway: GatewayLike, head: Head, cluster: Cluster) -> Plan:
    """Everything that can be said from the head alone."""
    tenant = None
    if gateway.header is not None:
        tenant = gateway.tenants.get(gateway.header.tenant(head))
    target = parse(head.target)
    engine = cluster.engine
    uri = head.target.decode("ascii", "backslashreplace")
    path = uri if cluster.product else _path_of(target.path)
    if cluster.before_9 and len(target.raw) == 2:
        engine.router.check_typed(head.method, target, uri)
    route, parts = engine.router.match(head.method, target, uri, path, before_9=cluster.before_9)
    if route.row.refused:
        raise Refusal(route.row.refused)
    if route.row.required and route.with_index is not None and route.row.listed not in target.query:
        raise Refusal(f"Validation Failed: 1: {route.row.required};", type="action_request_validation_exception")
    endpoint = engine.tables.endpoints[route.row.name]
    return Plan(
        head, cluster, route, endpoint, parts, target.query, target.raw_path,
        tenant, gateway.pattern, gateway.tenants, gateway.sealer,
    )  # fmt: skip


def _path_of(segments: list[str]) -> str:
    """What OpenSearch takes for the path of a target: behind two slashes it reads a host."""
    own = segments[2:] if len(segments) > 1 and not segments[0] else segments
    return "/" + "/".join(own)


def as_another(plan: Plan, target: bytes, media: bytes | None) -> Plan:
    """Another request of the same client to this target, which the client did not write: a POST with a body of this media type,
    or a GET without one, whose answer is JSON."""
    left = (b"content-type", b"content-length", *(() if media else (b"accept",)))
    headers = [(name, value) for name, value in plan.head.headers if name not in left]
    method = "POST" if media else "GET"
    head = Head(method, target, [*headers, *([(b"content-type", media)] if media else [])], plan.head.peer)
    parsed = parse(target)
    uri = target.decode("ascii", "backslashreplace")
    route, parts = plan.cluster.engine.router.match(method, parsed, uri, uri)
    endpoint = plan.cluster.engine.tables.endpoints[route.row.name]
    return Plan(
        head, plan.cluster, route, endpoint, parts, parsed.query, parsed.raw_path,
        plan.tenant, plan.pattern, plan.tenants, plan.sealer,
    )  # fmt: skip


def check_no_body(plan: Plan) -> None:
    """There is a body where none is expected, which OpenSearch ignores."""
    if plan.product:
        raise Refusal(f"request [{plan.head.method} {plan.raw_path}] does not support having a body")


# --- target ---------------------------------------------------------------------------------------


def physical_target(plan: Plan) -> bytes:
    """The node's request target. Raises Refusal for an unknown parameter or a name that is none."""
    template, done = plan.route.template, ""
    listed = plan.route.row.listed
    if listed == "index" and "index" in plan.query and plan.route.with_index is not None:  # nodes read it there too
        template, plan.parts["index"] = plan.route.with_index, plan.query.pop("index")
    elif plan.route.row.all and plan.route.with_index is not None and not plan.pit and not _help(plan):
        template, done = plan.route.with_index, listed
        plan.parts[listed] = plan.owner().names.everything(plan.spelled)
    path: list[str] = []
    for part in template:
        if part[0] != "{":
            path.append(part)
            continue
        name = part[1:-1]
        value = plan.parts[name]
        kind = plan.endpoint.path.get(name, Kind.REFUSE)
        if kind is Kind.CURSOR and plan.pit:  # what a body says goes before what the path says
            continue
        path.append(value if name == done else _path_value(plan, kind, value, new=name in NEW))
    target = build(path, _physical_query(plan))
    if done:
        plan.path = target.partition(b"?")[0].decode()
    if len(target) > MAX_LINE:
        raise Refusal("An HTTP line is larger than 4096 bytes.", type="too_long_http_line_exception")
    return target


def _path_value(plan: Plan, kind: Kind, value: str, *, new: bool) -> str:
    if kind is Kind.INDEX:
        if plan.per_item:
            return plan.bulk_name(value)
        return plan.index(value, creatable=plan.route.row.write or new)
    if kind in (Kind.TEMPLATE, Kind.SEARCH_PIPELINE):
        return plan.names(value, kind)
    if kind is Kind.STORED_SCRIPT and plan.route.row.name == "put_script":
        return plan.stores(value)
    if kind in (Kind.STORED_SCRIPT, Kind.PIPELINE):
        return plan.script(value)
    if kind is Kind.EXPR:
        return plan.expression(value)
    if kind is Kind.ALIAS:
        if plan.head.method in ("PUT", "POST"):
            return plan.alias(value)
        beside = value == "_all" and plan.route.row.listed == "index"  # all aliases, of the indices that the path names
        return value if beside else plan.expression(value, aliases=plan.head.method in ("GET", "HEAD"))
    if kind is Kind.CURSOR:
        return plan.open_cursor(value)
    if kind is Kind.TASK:
        return plan.open_task(value) or value
    if kind in (Kind.ID, Kind.COPY, Kind.FIELD, Kind.NODE):
        return value
    raise Refusal(f"the path of [{plan.raw_path}] cannot be used here")


def _physical_query(plan: Plan) -> dict[str, str]:
    if not plan.query and plan.route.row.answer != "cat" and not _has_dot_pattern(plan):
        return {}
    known = plan.endpoint.query
    plan.help = _help(plan)
    cat = plan.route.row.answer == "cat" and not plan.help
    known_by_place = plan.endpoint.framing == "msearch"  # a filter leaves out answers, and then their places say nothing
    out: dict[str, str] = {}
    unknown = [name for name in plan.query if name not in known and name != "format"]
    if unknown:
        there = offered(plan.route.row.name, known, product=plan.product, before_9=plan.cluster.before_9)
        raise unknown_parameters(plan.raw_path, unknown, there)
    for name, value in plan.query.items():
        kind = known.get(name, Kind.COPY)
        if kind is Kind.CURSOR and plan.pit:
            continue
        if cat and name in CAT_DRAWING:
            plan.drawing[name] = value
        elif name == "filter_path" and (plan.route.row.keyed or cat or known_by_place):
            plan.filter_path = FilterPath(value)
        elif name == "format":
            if value in ("cbor", "smile"):
                raise Refusal(f"the parameter [format] can only be [json] or [yaml] here, not [{value}]")
            if plan.route.row.answer == "text":
                out[name] = value
        else:
            out[name] = _query_value(plan, kind, name, value)
    if cat:
        out["format"] = "json"
    if "_index" in plan.query.get("sort", ""):
        plan.meta = MetaFields.of_sort(plan.query["sort"])
    if plan.spelled and _has_dot_pattern(plan) and "expand_wildcards" in known:
        out["expand_wildcards"] = _with_hidden(out.get("expand_wildcards", "open"))
    return out


def _query_value(plan: Plan, kind: Kind, name: str, value: str) -> str:
    if kind is Kind.INDEX:
        return plan.index(value)
    if kind is Kind.EXPR:
        return plan.expression(value)
    if kind is Kind.PIPELINE or kind is Kind.SEARCH_PIPELINE:
        return plan.name(value)
    if kind is Kind.LUCENE:
        return plan.lucene(value)
    if kind is Kind.CURSOR:
        return plan.open_cursor(value)
    if kind is Kind.TASK:
        return plan.open_task(value) or value
    if kind is Kind.REFUSE:
        raise refused_parameter(plan, name)
    return value  # a layout that leaves documents, ids and fields as they are


def refused_parameter(plan: Plan, name: str) -> Refusal:
    bare = (plan.head.get(b"content-length") or b"0") == b"0" and plan.head.get(b"transfer-encoding") is None
    if bare and name in REFUSED_WITH_BODY:
        return Refusal("request body is required", type="parse_exception")
    return Refusal(f"the parameter [{name}] cannot be used here: {plan.endpoint.refuse[name]}")


def _help(plan: Plan) -> bool:
    return plan.route.row.answer in ("cat", "text") and plan.query.get("help", "false") != "false"


def _has_dot_pattern(plan: Plan) -> bool:
    """A pattern that begins with a dot also matches hidden names that do; under a prefix the node cannot see the dot."""
    return any(text.startswith(".") and "*" in text for text in plan.spelled.values())


def _with_hidden(value: str) -> str:
    return value if "hidden" in value or "all" in value or "none" in value else value + ",hidden"


# --- headers ---------------------------------------------------------------------------------------


def physical_headers(plan: Plan, media: bytes | None) -> Headers:
    """What goes upstream of the client's headers: the media types, the trace, and its own request id under the tenant, which
    tells whose a task is."""
    named = plan.head.by_name()
    if named is not None:
        out = [(name, named[name]) for name in FORWARDED if name in named]
    else:
        out = [(name, value) for name, value in plan.head.headers if name in FORWARDED]
    if media is not None:
        out.append((b"content-type", media))
    if plan.tenant is not None:
        opaque = plan.head.get(b"x-opaque-id")
        out.append((b"x-opaque-id", plan.tenant.mark if opaque is None else plan.tenant.mark + opaque))
    for name, value in out:
        if name == b"accept" and any(form in value.lower() for form in FORMS):
            if not asyaml.wanted(plan.head):
                told = value.decode("latin-1")
                raise Refusal(f"answers are JSON or YAML here: the Accept header [{told}] is not supported", status=406)
            out[out.index((name, value))] = (name, asyaml.JSON)
        if len(value) > MAX_HEADER:
            reason = f"the header [{name.decode()}] is larger than {MAX_HEADER} bytes"
            raise Refusal(reason, type="too_long_http_header_exception")
    return out


def media_of(plan: Plan) -> bytes:
    """The same, where it may be known already."""
    ready = plan.ready
    return media_type(plan) if ready is None or ready.media is None else ready.media


def media_type(plan: Plan) -> bytes:
    """The content type of a body that we can read. Raises Refusal (406) for any other, as nodes do for theirs."""
    values = plan.head.all(b"content-type")
    if values == [b"application/json"]:
        return values[0]
    if len(values) > 1:
        raise Refusal("only one Content-Type header should be provided", type="content_type_header_exception")
    text = values[0].decode("latin-1") if values else ""
    if values and not MEDIA_TYPE.fullmatch(text):
        raise malformed_media(text, product=plan.product)
    media, *options = [part.strip() for part in text.lower().split(";")]
    allowed = NDJSON_TYPES if plan.endpoint.framing else JSON_TYPES | {"application/x-ndjson"}
    if media not in allowed or not (plan.product or "vnd" not in media):
        raise unsupported_media(text)
    for option in options:
        name, _, value = option.partition("=")
        if (name == "compatible-with" and value not in ("8", "9")) or (name == "charset" and value not in ("utf-8", "utf8")):
            raise unsupported_media(text)
    return values[0]


def is_read(plan: Plan) -> bool:
    """Whether it changes nothing, and may be sent again."""
    return plan.head.method in ("GET", "HEAD") or plan.route.row.name in REPEATABLE
