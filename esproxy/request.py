"""From a client's request to the node's: target and headers, rewritten for the tenant's layout; bodies are in ``esproxy.bodies``.

A ``Plan`` is one request, understood: all that the answer's way back (``esproxy.answer``) needs to know. Everything here raises
Refusal for what is not understood; nothing has been sent by then.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from esproxy.api.filter_path import FilterPath
from esproxy.api.kinds import Kind
from esproxy.api.routes import Route
from esproxy.api.tables import Endpoint
from esproxy.api.target import build, parse
from esproxy.cluster import Cluster
from esproxy.errors import Refusal, unknown_parameters, unsupported_media
from esproxy.exchange import Head, Headers
from esproxy.languages import LanguageError, lucene
from esproxy.tenancy.cursors import Sealer
from esproxy.tenancy.identify import HeaderIdentity, PatternIdentity
from esproxy.tenancy.metafields import MetaFields, Restores
from esproxy.tenancy.tenant import Tenant, Tenants
from esproxy.tenancy.text import restore_text

if TYPE_CHECKING:
    from esproxy.ready import Ready

FORWARDED = (b"accept", b"traceparent", b"tracestate")
FORMS = (b"yaml", b"cbor", b"smile")  # in which nodes answer too; a cat table is text or JSON
JSON_TYPES = frozenset(("application/json", "application/vnd.elasticsearch+json"))
NDJSON_TYPES = JSON_TYPES | {"application/x-ndjson", "application/vnd.elasticsearch+x-ndjson"}
# A node that refuses a header or a request line for its length reads nothing more from that connection, and does not close it:
# whoever was sent there next would wait in vain. So both stay well below the nodes' limits (16 KiB of headers, 4 KiB of line).
MAX_HEADER = 1024
MAX_LINE = 4096 - len("DELETE  HTTP/1.1") - 64
# What is sent as a POST and changes nothing: it may be sent a second time when a connection breaks under it.
REPEATABLE = frozenset(("search", "count", "msearch", "mget", "explain", "field_caps", "indices.validate_query"))
CAT_DRAWING = ("format", "v")
NEW = frozenset(("new_index", "target"))  # parts of a path that name an index to be made
# Endpoints that say what aliases indices get that are not there yet.
MAKES_ALIASES = frozenset(
    ("indices.put_template", "indices.put_index_template", "indices.simulate_template", "indices.simulate_index_template",
     "cluster.put_component_template")
)  # fmt: skip


class GatewayLike(Protocol):
    """What all requests share that a plan needs."""

    header: HeaderIdentity | None
    pattern: PatternIdentity | None
    tenants: Tenants
    sealer: Sealer


@dataclass
class Plan:
    """One request, understood. ``spelled`` maps what is sent as an index name to what the client wrote.

    Without slots, because ``twin`` copies a dict at once."""

    head: Head
    cluster: Cluster
    route: Route
    endpoint: Endpoint
    parts: dict[str, str]
    query: dict[str, str]
    raw_path: str
    tenant: Tenant | None
    pattern: PatternIdentity | None
    tenants: Tenants
    sealer: Sealer
    spelled: dict[str, str] = field(default_factory=dict)
    path: str = ""  # as it is sent, where it says what the client's leaves out
    typed: bool = False  # typed_keys is asked for by us, not by the client
    filter_path: FilterPath | None = None
    drawing: dict[str, str] = field(default_factory=dict)  # what the client said about the look of a cat table
    meta: Restores | None = None
    help: bool = False  # the columns of a cat table are asked for, which say nothing of anybody
    apart: bool = False  # of a tenant who may have pools, but for indices that are in none
    create: str | None = None  # an index in a pool that is to be made before this goes on
    pit: bool = False  # the search names no index: its point in time does
    ready: Ready | None = None  # it was understood before, see esproxy.ready

    def twin(self, head: Head) -> Plan:
        """The same plan for another request with the same head. Path and query are shared, and not to be changed."""
        plan = object.__new__(Plan)
        plan.__dict__.update(self.__dict__)
        plan.head = head
        plan.spelled = self.spelled.copy()
        return plan

    @property
    def product(self) -> bool:
        return self.cluster.product

    @property
    def pretty(self) -> bool:
        return self.query.get("pretty", "false") != "false"

    def answer_state(self) -> int | None:
        """The rule table of the answer; a HEAD's is that of the GET it stands for."""
        row = self.route.row
        return self.cluster.engine.tables.endpoints[row.head_of].response if row.head_of else self.endpoint.response

    def owner(self) -> Tenant:
        """The tenant, known by now. Raises Refusal when nothing in the request told it."""
        if self.tenant is None:
            raise Refusal("nothing in the request tells the tenant")
        return self.tenant

    @property
    def tenant_id(self) -> str:
        """Empty while nothing has told it."""
        return "" if self.tenant is None else self.tenant.id

    def index(self, name: str, *, creatable: bool = False) -> str:
        self._adopt(name)
        return self.owner().names.one(name, self.spelled, product=self.product, creatable=creatable)

    @property
    def per_item(self) -> bool:
        """An index name that is none is the error of one item, not of the request."""
        return self.route.row.name in ("bulk", "mget")

    def alias(self, name: str) -> str:
        """The physical name of an alias to be made or removed. Raises Refusal for what only the prefix would make legal."""
        if self.route.row.name in MAKES_ALIASES and "{index}" in name:  # which the index's physical name is put for
            if not name.startswith("{index}"):
                raise Refusal(f"Invalid alias name [{name}]: the placeholder {{index}} can only begin it here")
            return name
        if name.startswith(("_", "-", "+")) and name != "_all":
            raise Refusal(
                f"Invalid alias name [{name}]: must not start with '_', '-', or '+'", type="invalid_alias_name_exception"
            )
        return self.expression(name)

    def bulk_name(self, name: str) -> str:
        """An illegal name is its item's error, said by the node. What the prefix would make legal goes without it: no index
        can have such a name. ``_all`` alone means something to a node, and gets a second underscore."""
        if not name or name[0] in "_-+":
            sent = "__all" if name == "_all" else name
        elif ":" in name and name[0] != "<":
            sent = "_" + name  # no colon may follow a prefix: a node could look for a remote cluster
        else:
            self._adopt(name)
            sent = ("<" + self.owner().names.prefix + name[1:]) if name[0] == "<" else self.owner().names.prefix + name
        self.spelled[sent] = name
        return sent

    def pattern_name(self, pattern: str) -> str:
        """The physical form of a pattern that a template matches. Raises Refusal for what only the prefix would make legal."""
        if pattern.startswith("_"):
            raise self._no_template(f"index_pattern [{pattern}] must not start with '_'")
        return self._spell(self.owner().names.prefix + pattern, pattern)

    def _no_template(self, why: str) -> Refusal:
        words = f"index_template [{self.parts.get('name', '')}] invalid, cause [Validation Failed: 1: {why};]"
        return Refusal(words, type="invalid_index_template_exception")

    def _spell(self, sent: str, name: str) -> str:
        self.spelled[sent] = name
        return sent

    def expression(self, text: str) -> str:
        if self.pattern is not None:
            for term in text.split(","):
                self._adopt(term.removeprefix("-"))
        return self.owner().names.expression(text, self.spelled, product=self.product)

    def name(self, name: str) -> str:
        """The physical name of a pipeline, script or template."""
        return name if name == "_none" else self._spell(self.owner().names.prefix + name, name)

    def names(self, text: str, kind: Kind) -> str:
        """The physical names of a path: one to be made, or a list of names and patterns. Raises Refusal."""
        if self.head.method in ("PUT", "POST"):
            if text.startswith("_") and kind is Kind.TEMPLATE:
                raise self._no_template("name must not start with '_'")
            return self._spell(self.owner().names.prefix + text, text)
        sent = ",".join(self.owner().names.prefix + term for term in text.split(","))
        return self._spell(sent, text)

    def restored(self, text: str) -> str:
        """A node's words with names as the client knows them."""
        prefix = self.owner().names.prefix
        if self.path:
            text = text.replace(f"[{self.path}]", f"[{self.raw_path}]")
        return restore_text(text, prefix, self.spelled, anywhere=self.route.row.names is not None)

    def lucene(self, text: str, default: str | None = None) -> str:
        """Query-string text with the index names in it made physical; ``default`` is its default field. Raises Refusal."""
        try:
            return lucene.rewrite(text, None, self._lucene_value, default=default)
        except LanguageError as error:
            raise Refusal(f"Failed to parse query [{text}]: {error}", type="query_shard_exception") from None

    def _lucene_value(self, name: str, text: str, form: lucene.Form) -> str:
        if name != "_index":
            return text
        self._adopt(text)
        prefix = self.owner().names.prefix
        return prefix.replace(".", "\\.") + f"({text})" if form is lucene.Form.REGEX else prefix + text

    def open_cursor(self, token: str) -> str:
        """The node's cursor for a client's token. Raises Refusal as a node does for an id that is none."""
        kind = self.route.row.cursor
        cursor = self.sealer.open(token, tenant=self.owner().id, kind=kind, cluster=self.cluster.name)
        if cursor is None:
            raise Refusal("Cannot parse scroll id" if kind == "scroll" else f"invalid id: [{token}]")
        return cursor

    def seal_cursor(self, cursor: str) -> str:
        """The client's token for a node's cursor."""
        kind = "scroll" if "scroll" in self.query else self.route.row.cursor
        return self.sealer.seal(cursor, tenant=self.owner().id, kind=kind, cluster=self.cluster.name)

    def _adopt(self, name: str) -> None:
        """In index-pattern mode a name tells the tenant, and all names must tell the same."""
        if self.pattern is None:
            return
        tenant = self.pattern.tenant_of(name.removeprefix("<").removesuffix(">"))
        if self.tenant is None:
            self.tenant = self.tenants.get(tenant)
        elif self.tenant.id != tenant:
            raise Refusal("the request names indices of more than one tenant")


def understand(gateway: GatewayLike, head: Head, cluster: Cluster) -> Plan:
    """Everything that can be said from the head alone."""
    tenant = None
    if gateway.header is not None:
        tenant = gateway.tenants.get(gateway.header.tenant(head))
    target = parse(head.target)
    engine = cluster.engine
    uri = head.target.decode("ascii", "backslashreplace") if cluster.product else "/" + "/".join(filter(None, target.path))
    route, parts = engine.router.match(head.method, target, uri)
    endpoint = engine.tables.endpoints[route.row.name]
    return Plan(
        head, cluster, route, endpoint, parts, target.query, target.raw_path,
        tenant, gateway.pattern, gateway.tenants, gateway.sealer,
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
    elif plan.route.row.required and plan.route.with_index is not None:
        words = f"Validation Failed: 1: {listed} is missing;"
        raise Refusal(words, type="action_request_validation_exception")
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
    if kind is Kind.TEMPLATE:
        return plan.names(value, kind)
    if kind is Kind.EXPR:
        return plan.expression(value)
    if kind is Kind.ALIAS:
        if plan.head.method in ("PUT", "POST"):
            return plan.alias(value)
        beside = value == "_all" and plan.route.row.listed == "index"  # all aliases, of the indices that the path names
        return value if beside else plan.expression(value)
    if kind is Kind.CURSOR:
        return plan.open_cursor(value)
    if kind in (Kind.ID, Kind.COPY, Kind.FIELD):
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
        raise unknown_parameters(plan.raw_path, unknown, known)
    for name, value in plan.query.items():
        kind = known.get(name, Kind.COPY)
        if kind is Kind.CURSOR and plan.pit:
            continue
        if cat and name in CAT_DRAWING:
            plan.drawing[name] = value
        elif name == "filter_path" and (plan.route.row.keyed or cat or known_by_place):
            plan.filter_path = FilterPath(value)
        elif name == "format":
            if value in ("yaml", "cbor", "smile"):
                raise Refusal(f"the parameter [format] can only be [json] here, not [{value}]")
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
    if name == "wait_for_completion" and value == "false":
        raise Refusal("the parameter [wait_for_completion] can only be [true] here: there are no tasks to ask for the outcome")
    if kind is Kind.REFUSE:
        raise Refusal(f"the parameter [{name}] cannot be used here: {plan.endpoint.refuse[name]}")
    return value  # a layout that leaves documents, ids and fields as they are


def _help(plan: Plan) -> bool:
    return plan.route.row.answer in ("cat", "text") and plan.query.get("help", "false") != "false"


def _has_dot_pattern(plan: Plan) -> bool:
    """A pattern that begins with a dot also matches hidden names that do; under a prefix the node cannot see the dot."""
    return any(text.startswith(".") and "*" in text for text in plan.spelled.values())


def _with_hidden(value: str) -> str:
    return value if "hidden" in value or "all" in value or "none" in value else value + ",hidden"


# --- headers ---------------------------------------------------------------------------------------


def physical_headers(plan: Plan, media: bytes | None) -> Headers:
    """What goes upstream of the client's headers: the media types, the trace, and its own request id under the tenant."""
    named = plan.head.by_name()
    if named is not None:
        out = [(name, named[name]) for name in FORWARDED if name in named]
    else:
        out = [(name, value) for name, value in plan.head.headers if name in FORWARDED]
    if media is not None:
        out.append((b"content-type", media))
    opaque = plan.head.get(b"x-opaque-id")
    if opaque is not None:
        out.append((b"x-opaque-id", plan.owner().id.encode() + b"/" + opaque))
    for name, value in out:
        if name == b"accept" and any(form in value.lower() for form in FORMS):
            told = value.decode("latin-1")
            raise Refusal(f"answers are JSON here: the Accept header [{told}] is not supported", status=406)
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
    if len(values) > 1:
        raise Refusal("only one Content-Type header should be provided", type="content_type_header_exception")
    text = values[0].decode("latin-1") if values else ""
    if values and not text.strip():
        kind = "media_type_header_exception" if plan.product else "content_type_header_exception"
        raise Refusal("Invalid media-type value on headers [Content-Type]", type=kind)
    media, *options = [part.strip() for part in text.lower().split(";")]
    allowed = NDJSON_TYPES if plan.endpoint.framing else JSON_TYPES | {"application/x-ndjson"}
    if media not in allowed or not (plan.product or "vnd" not in media):
        raise unsupported_media(text)
    for option in options:
        name, _, value = option.partition("=")
        if (name == "compatible-with" and value not in ("8", "9")) or (name == "charset" and value not in ("utf-8", "utf8")):
            raise unsupported_media(text)
    return values[0]
