"""Request bodies: one strict pass of the core under the endpoint's rule table, with what it stops at answered here.

Raises Refusal, with offset and key, for what the tables do not know; nothing has been sent by then. NDJSON bodies come as a bulk,
which the core splits itself, or as an msearch: a header and a search body a line each, few enough to be handled one by one.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

import orjson

from esproxy import core, exact
from esproxy.api.kinds import Kind, Mark
from esproxy.errors import Refusal
from esproxy.languages import LanguageError, painless
from esproxy.metadata.mappings import refuse_unsafe_types
from esproxy.metadata.settings import rewrite_settings
from esproxy.request import Plan
from esproxy.tenancy.metafields import MetaFields
from esproxy.tenancy.tenant import PATTERN_REQUEST

WRITING = frozenset(("bulk", "update", "update_by_query", "delete_by_query"))  # whose scripts have ctx
MAPPING = frozenset(("indices.create", "indices.put_mapping"))
WRAPPED_DEPTH = 50  # of the JSON in a wrapper; wrappers in wrappers are bounded by the growth of base64 and the body's limit
TYPED = Mark.AGGS | Mark.SUGGEST


def physical_body(plan: Plan, body: bytes, max_depth: int) -> bytes:
    """The node's body."""
    if plan.endpoint.framing == "msearch":
        return _msearch(plan, body, max_depth)
    if plan.endpoint.framing == "bulk":
        run = bulk_pass(plan, max_depth)
        out = run.feed(body, True)
        if run.status is not core.Status.OK:
            raise refusal(plan, run, body)
        return out
    assert plan.endpoint.request is not None
    if plan.cluster.engine.tables.states[plan.endpoint.request].get("kind") == "DOC":
        return body  # documents pass unparsed: what is wrong with one, the node says best
    out = _walk(plan, plan.endpoint.request, body, max_depth)
    if plan.route.row.name in MAPPING:
        refuse_unsafe_types(orjson.loads(body))
    return out


def bulk_pass(plan: Plan, max_depth: int) -> core.BulkPass:
    """A pass over a bulk's lines."""
    roots = plan.cluster.engine.tables.roots
    states = roots["bulk.action"], roots["bulk.update"], None
    return core.BulkPass(plan.cluster.engine.grammar, *states, _bindings(plan), RequestResolver(plan), max_depth=max_depth)


def _bindings(plan: Plan) -> core.Bindings:
    return plan.tenant.request if plan.tenant is not None else PATTERN_REQUEST


def _walk(plan: Plan, state: int, body: bytes, max_depth: int) -> bytes:
    """One JSON body under one state."""
    run = core.Pass(plan.cluster.engine.grammar, state, _bindings(plan), RequestResolver(plan), max_depth=max_depth)
    out = run.feed(body, True)
    if run.status is not core.Status.OK:
        raise refusal(plan, run, body)
    marks = run.marks
    if marks & TYPED and "typed_keys" in plan.endpoint.query and plan.query.get("typed_keys", "false") == "false":
        plan.typed = True
    if marks & Mark.META_FIELD and plan.endpoint.framing is None:
        plan.meta = meta = MetaFields.of_body(orjson.loads(body))
        if meta.inputs:
            out = exact.dumps(meta.rewrite_inputs(exact.loads(out), plan.owner().names.prefix, plan.lucene))
    return out


def refusal(plan: Plan, run: core.Pass | core.BulkPass, body: bytes) -> Refusal:
    """What a pass that ended early means, in a node's terms. ``body`` is not needed for a bulk, whose pass counts lines."""
    error = run.error
    if run.status is core.Status.NO_NEWLINE:
        return Refusal("The bulk request must be terminated by a newline [\\n]")
    if isinstance(run, core.BulkPass):
        return Refusal(f"Malformed action/metadata line or update body in line [{run.line}]: {error}")
    line = body.count(b"\n", 0, error.offset) + 1
    col = error.offset - body.rfind(b"\n", 0, error.offset)
    kind = "parsing_exception"
    if error.malformed:
        kind = "x_content_parse_exception" if plan.product else "parse_exception"
    return Refusal(str(error), type=kind, line=line, col=col)


# --- msearch -----------------------------------------------------------------------------------------


def _msearch(plan: Plan, body: bytes, max_depth: int) -> bytes:
    """A header and a body a line each. A header without an index means the one in the path."""
    if not body.endswith(b"\n"):
        raise Refusal("The msearch request must be terminated by a newline [\n]")
    roots = plan.cluster.engine.tables.roots
    lines = body[:-1].split(b"\n")
    if len(lines) % 2:
        raise Refusal(
            "Validation Failed: 1: every header must be followed by a search body;", type="action_request_validation_exception"
        )
    out: list[bytes] = []
    for header, search in zip(lines[::2], lines[1::2], strict=True):
        if header.strip():
            _walk(plan, roots["msearch.header"], header, max_depth)  # for its strictness; the names are joined below
            header = _msearch_header(plan, orjson.loads(header))
        out += (header, _walk(plan, roots["msearch.body"], search, max_depth))
    return b"\n".join(out) + b"\n"


def _msearch_header(plan: Plan, header: dict[str, Any]) -> bytes:
    for key in ("index", "indices"):
        if key in header:
            value = header[key]
            terms = value if isinstance(value, list) else [] if value is None else [value]
            text = ",".join(str(term) for term in terms)
            header[key] = plan.expression(text if text else "_all").split(",")
    return orjson.dumps(header)


# --- stops ---------------------------------------------------------------------------------------------


class RequestResolver:
    """Answers the core's stops in a request: names that are not plain, settings, cursors, texts in a language."""

    __slots__ = ("plan",)

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def __call__(self, kind: Kind, raw: bytes) -> bytes | None:
        if kind in (Kind.SCRIPT, Kind.KQL) and b"_index" not in raw and b"\\" not in raw:
            return raw
        value = orjson.loads(raw)
        if kind is Kind.SETTINGS:
            return orjson.dumps(rewrite_settings(value, self.plan.name)) if isinstance(value, dict) else raw
        if kind in (Kind.SCRIPT, Kind.LUCENE, Kind.KQL) and not isinstance(value, str):
            return raw
        text = value if isinstance(value, str) else raw.decode()
        sent = self._text(kind, text)
        return raw if sent is text else orjson.dumps(sent)

    def _text(self, kind: Kind, text: str) -> str:
        plan = self.plan
        match kind:
            case Kind.LUCENE:
                return plan.lucene(text)
            case Kind.SCRIPT:
                return self._script(text)
            case Kind.KQL:
                if "_index" in text:
                    raise Refusal("a kql query cannot name the field [_index] here: use a term query on it")
                return text
            case Kind.ALIAS:
                return plan.alias(text)
            case Kind.EXPR if not text:
                return plan.owner().names.prefix  # names nothing, as an empty name does
            case Kind.EXPR:
                return "-" + plan.expression(text[1:]) if text[:1] == "-" and "," not in text else plan.expression(text)
            case Kind.INDEX:
                return plan.bulk_name(text) if plan.per_item else plan.index(text)
            case Kind.WRAPPER:
                return self._wrapped(text)
            case Kind.CURSOR:
                plan.pit = True
                return plan.open_cursor(text)
        return plan.name(text)

    def _wrapped(self, text: str) -> str:
        """A query in base64 is a query: read like one, and sent in base64 again."""
        try:
            query = base64.b64decode(text, validate=True)
        except binascii.Error:
            raise Refusal("the query of [wrapper] is not base64", type="parsing_exception") from None
        state = self.plan.cluster.engine.tables.roots["query"]
        return base64.b64encode(_walk(self.plan, state, query, WRAPPED_DEPTH)).decode()

    def _script(self, source: str) -> str:
        """Scripts see the logical name where they read ``_index``."""
        try:
            return painless.rewrite(source, _same, self.plan.owner().names.prefix, context=self._context())
        except LanguageError as error:
            raise Refusal(f"the script cannot be understood: {error}", type="script_exception") from None

    def _context(self) -> painless.Context:
        return painless.Context.WRITE if self.plan.route.row.name in WRITING else painless.Context.SEARCH


def _same(name: str) -> str:
    return name
