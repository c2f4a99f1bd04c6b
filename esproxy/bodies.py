"""Request bodies: one strict pass of the core under the endpoint's rule table, with what it stops at answered here.

Raises Refusal, with offset and key, for what the tables do not know; nothing has been sent by then. A body is rewritten as it
comes (``Rewriter``); one that is whole is a body whose first chunk is its last. NDJSON bodies come as a bulk, which the core
splits itself, or as an msearch: a header and a search body a line each, few enough to be handled one by one.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any, Protocol

import orjson

from esproxy import core, exact
from esproxy.api.kinds import Kind, Mark
from esproxy.bodyerrors import START, refusal
from esproxy.endless import refuse_endless
from esproxy.errors import Refusal, half_a_character
from esproxy.languages import Edits, LanguageError, painless
from esproxy.metadata import ingest, scripts
from esproxy.metadata.mappings import refuse_unsafe_types
from esproxy.metadata.nodes import node_id
from esproxy.metadata.settings import refuse_files, rewrite_settings, says_hidden
from esproxy.plan import Plan
from esproxy.request import NDJSON_TYPES, check_no_body, media_of, physical_target
from esproxy.tenancy.metafields import MetaFields, Restores, Several
from esproxy.tenancy.tenant import PATTERN_REQUEST

WRITING = frozenset(("bulk", "update", "update_by_query", "delete_by_query"))  # whose scripts have ctx
# What is checked in a body beside its names: endpoint → what refuses.
CHECKS: dict[str, Callable[[Any], None]] = {
    "indices.create": refuse_unsafe_types,
    "indices.put_mapping": refuse_unsafe_types,
    "indices.analyze": refuse_files,
    "indices.put_index_template": refuse_unsafe_types,
    "indices.simulate_template": refuse_unsafe_types,
    "indices.simulate_index_template": refuse_unsafe_types,
    "indices.put_template": refuse_unsafe_types,
    "cluster.put_component_template": refuse_unsafe_types,
    "indices.rollover": refuse_unsafe_types,
    "termvectors": refuse_endless,
    "mtermvectors": refuse_endless,
}
# Endpoints in whose bodies an expression chooses among the indices that the path, or a header, names.
QUERIES = frozenset(("search", "count", "msearch", "explain", "indices.validate_query", "delete_by_query", "update_by_query"))
WRAPPED_DEPTH = 50  # of the JSON in a wrapper; wrappers in wrappers are bounded by the growth of base64 and the body's limit
TYPED = Mark.AGGS | Mark.SUGGEST
COPY = core.Bindings({})
# What becomes of a body as a whole, where its names are not all that is rewritten: endpoint → what is sent for it.
CHANGES: dict[str, Callable[[Plan, Any], Any]] = {
    "put_script": scripts.to_store,
    "ingest.put_pipeline": ingest.to_store,
    "ingest.simulate": ingest.to_simulate,
}


def sent(plan: Plan, body: bytes, max_depth: int) -> tuple[bytes, bytes | None]:
    """The node's body for a whole one of the client's, and its media type."""
    if not body and "source" in plan.query and plan.endpoint.body == "optional":
        body, media = body_from_query(plan)
        del plan.query["source"], plan.query["source_content_type"]
    else:
        media = media_of(plan) if body else None
    if body and plan.endpoint.body == "none":
        check_no_body(plan)
        return b"", None
    if body:
        if plan.pattern is not None and "index" in plan.parts:
            physical_target(plan)  # the path tells the tenant before the body is read
        body = physical_body(plan, body, max_depth)
    elif plan.pattern is None:
        plan.owner()
    return body, media


class Rewriter(Protocol):
    """What makes the node's body of a client's, as it comes. Raises Refusal."""

    def feed(self, chunk: bytes, last: bool) -> bytes: ...

    @property
    def wants_whole(self) -> bool:
        """Whether ``end`` has something to do; known when the last bytes have been fed."""

    def end(self, out: bytes) -> bytes:
        """What is sent, of all that ``feed`` gave."""


def physical_body(plan: Plan, body: bytes, max_depth: int) -> bytes:
    """The node's body, of one that is whole."""
    if plan.endpoint.framing == "bulk":
        run = bulk_pass(plan, max_depth)
        out = run.feed(body, True)
        if run.status is not core.Status.OK:
            raise refusal(plan, run, body)
        return out
    rewrite = rewriter(plan, max_depth)
    return rewrite.end(rewrite.feed(body, True))


def rewriter(plan: Plan, max_depth: int) -> Rewriter:
    """For any body but a bulk's."""
    if plan.endpoint.framing == "msearch":
        return MsearchBody(plan, max_depth)
    if plan.endpoint.framing == "templates":
        return UNPARSED  # line by line, once they are rendered
    assert plan.endpoint.request is not None
    if plan.cluster.engine.tables.states[plan.endpoint.request].get("kind") == "DOC":
        return UNPARSED
    name = plan.route.row.name
    return JsonBody(plan, plan.endpoint.request, max_depth, check=CHECKS.get(name), change=CHANGES.get(name))


def bulk_pass(plan: Plan, max_depth: int, **options: Any) -> core.BulkPass:
    """A pass that rewrites a bulk's lines."""
    roots = plan.cluster.engine.tables.roots
    states = roots["bulk.action"], roots["bulk.update"], None
    bindings, resolver = _bindings(plan), RequestResolver(plan)
    return core.BulkPass(plan.cluster.engine.grammar, *states, bindings, resolver, max_depth=max_depth, **options)


def bulk_splitter(plan: Plan, max_depth: int, **options: Any) -> core.BulkPass:
    """A pass that changes nothing: it checks a bulk's lines and knows where records end."""
    roots = plan.cluster.engine.tables.roots
    states = roots["bulk.action"], roots["bulk.update"], None
    return core.BulkPass(plan.cluster.engine.grammar, *states, COPY, max_depth=max_depth, **options)


def _bindings(plan: Plan) -> core.Bindings:
    return plan.tenant.request if plan.tenant is not None else PATTERN_REQUEST


class Unparsed:
    """Documents pass unparsed: what is wrong with one, the node says best."""

    wants_whole = False

    def feed(self, chunk: bytes, last: bool) -> bytes:
        return chunk

    def end(self, out: bytes) -> bytes:
        return out


UNPARSED = Unparsed()


class JsonBody:
    """One JSON body under one state. ``check``: what looks at the whole of it once its names are rewritten; ``change``: what
    makes another of it then."""

    __slots__ = ("change", "check", "place", "plan", "run")

    def __init__(
        self,
        plan: Plan,
        state: int,
        max_depth: int,
        *,
        check: Callable[[Any], None] | None = None,
        change: Callable[[Plan, Any], Any] | None = None,
    ) -> None:
        self.plan = plan
        self.check = check
        self.change = change
        resolver = RequestResolver(plan)
        self.run = core.Pass(plan.cluster.engine.grammar, state, _bindings(plan), resolver, max_depth=max_depth)
        self.place = START

    def feed(self, chunk: bytes, last: bool) -> bytes:
        run, plan = self.run, self.plan
        out = run.feed(chunk, last)
        if run.status is not core.Status.OK:
            raise refusal(plan, run, chunk, self.place)
        if not last:
            self.place = self.place.behind(chunk)
        elif run.marks & TYPED and "typed_keys" in plan.endpoint.query and plan.query.get("typed_keys", "false") == "false":
            plan.typed = True
        return out

    @property
    def by_index(self) -> bool:
        return bool(self.run.marks & Mark.META_FIELD)

    @property
    def wants_whole(self) -> bool:
        return self.by_index or self.check is not None or self.change is not None

    def end(self, out: bytes) -> bytes:
        plan = self.plan
        if not self.wants_whole:
            return out
        try:
            tree = orjson.loads(out)
        except orjson.JSONDecodeError as error:
            if "surrogate" not in error.msg:
                raise
            raise half_a_character() from None
        if self.check is not None:
            self.check(tree)
        if self.by_index:
            plan.meta = meta = MetaFields.of_body(tree)
            if meta.inputs:
                out = exact.dumps(meta.rewrite_inputs(exact.loads(out), plan.owner().names.prefix, plan.lucene))
        return out if self.change is None else exact.dumps(self.change(plan, exact.loads(out)))


def rewritten(plan: Plan, state: int, body: bytes, max_depth: int) -> bytes:
    """One whole JSON body, or a line of one."""
    one = JsonBody(plan, state, max_depth)
    return one.end(one.feed(body, True))


def body_from_query(plan: Plan) -> tuple[bytes, bytes]:
    """The body that stands in the parameter ``source``, and its media type."""
    media = plan.query.get("source_content_type")
    if media is None:
        words = "source and source_content_type parameters are required"
        if not plan.product:
            raise Refusal(words, type="illegal_state_exception", status=500)
        raise Refusal(f"Validation Failed: 1: {words};", type="validation_exception")
    if media.split(";")[0] not in NDJSON_TYPES:
        raise Refusal(f"the source_content_type [{media}] is not supported")
    return plan.query["source"].encode(), media.encode("latin-1", "replace")


# --- msearch -----------------------------------------------------------------------------------------


class MsearchBody:
    """A header and a body a line each. A header without an index means the one in the path. Nodes leave out a last header
    without a body, and say themselves what they miss when nothing else is there."""

    wants_whole = False

    def __init__(self, plan: Plan, max_depth: int) -> None:
        self.plan = plan
        self.max_depth = max_depth
        self.rest: list[bytes] = []  # of the line that has not ended
        self.is_body = False  # the next line is a search body
        self.meta: list[Restores | None] = []  # of each search

    def feed(self, chunk: bytes, last: bool) -> bytes:
        at = chunk.rfind(b"\n") + 1
        if last and (at < len(chunk) or not (at or not self.rest)):
            raise Refusal("The msearch request must be terminated by a newline [\n]")
        if not at and not last:
            self.rest.append(chunk)
            return b""
        lines = b"".join([*self.rest, chunk[: at - 1]]).split(b"\n") if at else []
        self.rest = [chunk[at:]] if at < len(chunk) else []
        return b"".join([self._line(line) + b"\n" for line in lines])

    def _line(self, line: bytes) -> bytes:
        roots = self.plan.cluster.engine.tables.roots
        self.is_body = not self.is_body
        if not self.is_body:
            self.plan.meta = None
            out = rewritten(self.plan, roots["msearch.body"], line, self.max_depth)
            self.meta.append(self.plan.meta)
            return out
        if not line.strip():
            return line
        rewritten(self.plan, roots["msearch.header"], line, self.max_depth)  # for its strictness; the names are joined below
        return _msearch_header(self.plan, orjson.loads(line))

    def end(self, out: bytes) -> bytes:
        self.plan.meta = Several(self.meta) if any(meta is not None for meta in self.meta) else None
        return out


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
        if kind is Kind.KQL and b"_index" not in raw and b"\\" not in raw:
            return raw
        value = orjson.loads(raw)
        if kind is Kind.SETTINGS:
            if not isinstance(value, dict):
                return raw
            self.plan.hidden = self.plan.hidden or says_hidden(value)
            return orjson.dumps(rewrite_settings(value, self.plan.name, node_id(self.plan.cluster, self.plan.owner().id)))
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
            case Kind.PATTERN:
                return plan.pattern_name(text)
            case Kind.EXPR if not text and plan.route.row.name in QUERIES:
                return text  # compared with the index that is searched, which may be an error
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
            case Kind.STORED_SCRIPT:
                return plan.runs_stored(text)
        return plan.name(text)

    def _wrapped(self, text: str) -> str:
        """A query in base64 is a query: read like one, and sent in base64 again."""
        try:
            query = base64.b64decode(text, validate=True)
        except binascii.Error:
            raise Refusal("the query of [wrapper] is not base64", type="parsing_exception") from None
        state = self.plan.cluster.engine.tables.roots["query"]
        return base64.b64encode(rewritten(self.plan, state, query, WRAPPED_DEPTH)).decode()

    def _script(self, source: str) -> str:
        """Scripts see the logical name where they read ``_index``."""
        edits = Edits(source)
        try:
            if "_index" in source or "\\" in source:
                edits = painless.edited(source, _same, self.plan.owner().names.prefix, context=self._context())
            sent = edits.apply()
        except LanguageError as error:
            raise Refusal(f"the script cannot be understood: {error}", type="script_exception") from None
        self.plan.runs(sent, source, edits)
        return sent

    def _context(self) -> painless.Context:
        return painless.Context.WRITE if self.plan.route.row.name in WRITING else painless.Context.SEARCH


def _same(name: str) -> str:
    return name
