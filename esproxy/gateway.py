"""The life of a request, from its first byte to the last of its answer. No I/O; see docs/design/gateway.md.

    open          who: cluster, route, tenant, parameters             → refuse, wait for knowledge, or go on
    feed          the body, until it is whole                         → Send
                  a bulk beyond the window                            → Send, answer, Send, … Release
    open_answer   the node's head: which way to restore               → hold, or begin to write
    feed_answer   the node's body, restored and verified              → Reply when it fits the window, else Write …
    fail_answer   no (whole) answer                                   → 502, 503, 504, or Abort

States::

    BODY  ── whole, understood ──▶ SENT ── head ──▶ ANSWER ── last ──▶ DONE
      ▲ │                           │                  │
      │ └─ Need ─▶ BUSY ─ resume ─┐ └── failure ───────┴──▶ DONE
      └───────────────────────────┘
"""

from __future__ import annotations

import logging
import secrets
import tempfile
from enum import Enum
from io import BytesIO
from typing import TYPE_CHECKING

import orjson

from esproxy import answer as answers
from esproxy import bodies
from esproxy import request as requests
from esproxy.api.target import parse
from esproxy.bulkstream import BulkStream
from esproxy.catalogue.context import Catalogue
from esproxy.cluster import Cluster
from esproxy.errors import EsproxyError, Failed, Refusal, UpstreamFailed, Violation, json_headers, reply, too_large
from esproxy.exchange import ANSWER, BODY, Abort, AnswerHead, Head, Need, Onward, Outcome, Reply, Restorer, Send, Step, Write
from esproxy.metadata.cluster import info
from esproxy.procedures.cat import cat_table
from esproxy.procedures.discover import discover
from esproxy.procedures.health import cluster_health
from esproxy.procedures.pool_families import ELSEWHERE, served
from esproxy.procedures.pooled import Pooled, Pools, first_write, pooled
from esproxy.ready import heads_of
from esproxy.request import Plan
from esproxy.tenancy.cursors import Sealer
from esproxy.tenancy.identify import HeaderIdentity, PatternIdentity, Registry
from esproxy.tenancy.placement import DEDICATED, Placement
from esproxy.tenancy.tenant import Tenants
from esproxy.upstream.engine_api import Failure

if TYPE_CHECKING:
    from esproxy.config import Settings

SPOOL_IN_MEMORY = 1 << 20  # of a streamed bulk's answer; the rest is an unlinked file

log = logging.getLogger("esproxy.gateway")


class State(Enum):
    BODY = "body"
    BUSY = "busy"
    SENT = "sent"
    ANSWER = "answer"
    DONE = "done"


class Gateway:
    """What all exchanges share: settings, identity, tenants, and what is known of the clusters."""

    def __init__(self, settings: Settings, catalogue: Catalogue | None = None) -> None:
        """``catalogue``: needed when a placement rule can give a pool, see ``Placement.pools``."""
        self.settings = settings
        limits = settings.limits
        self.placement = Placement(settings.placement.layout, settings.placement.rules)
        bounds = limits.max_depth, limits.window, limits.max_body
        self.pools = Pools(catalogue, self.placement, *bounds) if catalogue is not None else None
        self.cluster_name = settings.placement.cluster
        self.clusters: dict[str, Cluster] = {}
        self.violations = 0
        self.unknown_keys = 0
        registry = Registry(settings.tenants.mode, settings.tenants.ids)
        identity = settings.identity
        self.pattern = PatternIdentity(identity.index_pattern, registry) if identity.index_pattern else None
        self.header = None if self.pattern else HeaderIdentity(identity.header, registry, identity.trusted_peers)
        self.sealer = Sealer([key.get_secret_value() for key in settings.secrets.keys] or [secrets.token_hex(32)])
        self.tenants = Tenants(settings.placement.separator, looked_at=self.pattern is not None)

    def pools_for(self, plan: Plan) -> Pools | None:
        """What a request needs whose tenant may have indices in pools; None for all others, and once it is known not to be for
        such."""
        if (
            plan.ready is not None
            or plan.apart
            or plan.pattern is not None
            or plan.route.row.name in ELSEWHERE
            or self.placement.layouts(plan.owner().id) == {DEDICATED}
        ):
            return None
        if self.pools is None:
            raise Failed("there is no catalogue for indices in pools")
        return self.pools

    @property
    def product(self) -> bool:
        """The upstream is Elasticsearch, as far as is known."""
        cluster = self.clusters.get(self.cluster_name)
        return cluster is not None and cluster.product

    def open(self, head: Head, chunk: bytes = b"", last: bool = False) -> tuple[Exchange, Step | None]:
        """Begin an exchange with its head and as much of the body as is there."""
        exchange = Exchange(self, head)
        return exchange, exchange.feed(chunk, last)


class Exchange:
    """One request and its answer. Not for two threads."""

    __slots__ = (
        "answer", "bulk", "gateway", "head", "media", "onward", "out", "out_size", "parts", "plan", "restore", "size", "state",
        "wants", "whole", "writing",
    )  # fmt: skip

    def __init__(self, gateway: Gateway, head: Head) -> None:
        self.gateway = gateway
        self.head = head
        self.state = State.BODY
        self.wants = BODY
        self.plan: Plan | None = None
        self.parts: list[bytes] = []
        self.size = 0
        self.whole = False
        self.restore: Restorer | None = None
        self.out: BytesIO | None = None  # of the answer, while it is held
        self.out_size = 0
        self.answer: AnswerHead | None = None
        self.writing = False
        self.onward: Onward | None = None  # the answer came through a procedure
        self.bulk: BulkStream | None = None  # the body is a bulk beyond the window
        self.media: bytes | None = None

    # --- the way in ----------------------------------------------------------------------------

    def feed(self, chunk: bytes, last: bool) -> Step | None:
        """The next part of the client's body."""
        if self.bulk is not None:
            return self._feed_bulk(self.bulk, chunk, last)
        assert self.state is State.BODY or self.state is State.BUSY, self.state
        if chunk:
            self.parts.append(chunk)
            self.size += len(chunk)
        self.whole = last
        if self.state is State.BUSY:
            return None
        try:
            return self._go_on()
        except EsproxyError as error:
            return self._refuse(error)

    def _go_on(self) -> Step | None:
        gateway = self.gateway
        cluster = gateway.clusters.get(gateway.cluster_name)
        if cluster is None:
            self.state, self.wants = State.BUSY, 0
            return Need(discover(gateway.cluster_name, gateway.clusters), key=("discover", gateway.cluster_name))
        if self.plan is None:
            self.plan = self._understand_head(cluster)
        pools = gateway.pools_for(self.plan)
        if self.size > gateway.settings.limits.window and self.plan.endpoint.framing == "bulk" and pools is None:
            return self._begin_bulk(self.plan)
        if self.size > gateway.settings.limits.max_body:
            raise too_large(gateway.settings.limits.max_body)
        if not self.whole:
            return None
        body = b"".join(self.parts) if len(self.parts) != 1 else self.parts[0]
        return self._pooled(self.plan, pools, body) if pools is not None else self._send(self.plan, body)

    def _pooled(self, plan: Plan, pools: Pools, body: bytes) -> Step:
        """A request for indices in pools is a procedure; so is making the index that its first write needs."""
        self.state, self.wants = State.BUSY, 0
        if plan.create is not None:
            name, plan.create = plan.create, None
            return Need(first_write(pools, plan, name), key=("create", plan.owner().id, name))
        found = served(plan.route.row.name)
        if "source" in plan.query:
            raise Refusal("a body is sent as a body, not in the parameters [source] and [source_content_type]")
        media = requests.media_type(plan) if body else None
        if body and plan.endpoint.body == "none":
            if plan.product:
                raise Refusal(f"request [{self.head.method} {plan.raw_path}] does not support having a body")
            body, media = b"", None
        return Need(pooled(Pooled(pools, plan, body, media), found.family, write=found.write))

    def _understand_head(self, cluster: Cluster) -> Plan:
        """The plan of this head: from memory, where the same has been understood before."""
        gateway = self.gateway
        if gateway.header is None:
            return self._understand(cluster)
        heads = heads_of(cluster, gateway.header)
        plan = heads.find(self.head)
        if plan is None:
            plan = self._understand(cluster)
            if gateway.pools_for(plan) is None:
                plan = heads.keep(plan)
        return plan

    def _understand(self, cluster: Cluster) -> Plan:
        """Everything that can be said from the head alone."""
        gateway, head = self.gateway, self.head
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

    def _send(self, plan: Plan, body: bytes) -> Step:
        if plan.pattern is not None and plan.route.row.name in ("info", "ping"):
            return self._static_info(plan)
        if not body and "source" in plan.query and plan.endpoint.body == "optional":
            body, media = self._body_from_query(plan)
            del plan.query["source"], plan.query["source_content_type"]
        else:
            media = requests.media_of(plan) if body else None
        if body:
            if plan.endpoint.body == "none":
                if plan.product:
                    raise Refusal(f"request [{self.head.method} {plan.raw_path}] does not support having a body")
                body, media = b"", None  # OpenSearch ignores it
            else:
                body = self._rewritten(plan, body)
        elif plan.pattern is None:
            plan.owner()
        if plan.route.row.answer == "health":
            self.parts.clear()
            self.state, self.wants = State.BUSY, 0
            return Need(cluster_health(plan))
        ready = plan.ready
        target = ready.target if ready is not None and len(plan.spelled) == ready.names else requests.physical_target(plan)
        if plan.typed:
            target += (b"&" if b"?" in target else b"?") + b"typed_keys=true"
        self.parts.clear()
        if plan.route.row.answer == "cat" and not plan.help:
            self.state, self.wants = State.BUSY, 0
            return Need(cat_table(plan, target))
        self.state, self.wants = State.SENT, ANSWER
        method = "GET" if self.head.method == "HEAD" else self.head.method  # its answer tells the length that a HEAD's has
        return Send(plan.cluster.name, method, target, requests.physical_headers(plan, media), body, True, method == "GET")

    def _rewritten(self, plan: Plan, body: bytes) -> bytes:
        if plan.pattern is not None and "index" in plan.parts:
            requests.physical_target(plan)  # the path tells the tenant before the body is read
        return bodies.physical_body(plan, body, self.gateway.settings.limits.max_depth)

    def _static_info(self, plan: Plan) -> Reply:
        """No index name tells a tenant in ``/``, so it says what it says to everybody."""
        self.state, self.wants = State.DONE, 0
        told = info(orjson.dumps(plan.cluster.info, option=orjson.OPT_INDENT_2) + b"\n", "")
        return Reply(200, json_headers(plan.product), told)

    @staticmethod
    def _body_from_query(plan: Plan) -> tuple[bytes, bytes]:
        media = plan.query.get("source_content_type")
        if media is None:
            words = "Validation Failed: 1: source and source_content_type parameters are required;"
            raise Refusal(words, type="validation_exception")
        if media.split(";")[0] not in requests.NDJSON_TYPES:
            raise Refusal(f"the source_content_type [{media}] is not supported")
        return plan.query["source"].encode(), media.encode("latin-1", "replace")

    def resume(self, outcome: Outcome | BaseException) -> Step | None:
        """A procedure that was needed has ended."""
        assert self.state is State.BUSY, self.state
        if isinstance(outcome, Reply):
            self.state, self.wants = State.DONE, 0
            return outcome
        try:
            if isinstance(outcome, BaseException):
                raise outcome
            if isinstance(outcome, Onward):
                return self._go_onward(outcome)
            if self.onward is not None:  # and it has been confirmed
                return self._end_writing()
            self.state, self.wants = State.BODY, 0 if self.whole else BODY
            return self._go_on()
        except EsproxyError as error:
            return self._withhold(error)

    # --- a bulk beyond the window ------------------------------------------------------------------

    def _begin_bulk(self, plan: Plan) -> Step | None:
        self.media = requests.media_type(plan)
        self.bulk = BulkStream(plan, self.gateway.settings.limits.max_depth, tempfile.SpooledTemporaryFile(SPOOL_IN_MEMORY))
        parts, self.parts = self.parts, []
        for i, part in enumerate(parts):
            self.bulk.feed(part, self.whole and i == len(parts) - 1)
        return self._next_bulk(self.bulk)

    def _feed_bulk(self, bulk: BulkStream, chunk: bytes, last: bool) -> Step | None:
        """What has been read is taken in, also while a sub-bulk is under way; only then nothing is asked for."""
        try:
            bulk.feed(chunk, last)
            return self._next_bulk(bulk) if self.state is State.BODY else None
        except EsproxyError as error:
            return self._refuse(error)

    def _next_bulk(self, bulk: BulkStream) -> Step | None:
        """The next sub-bulk, the end, or nothing for now."""
        assert self.plan is not None
        if not bulk.due():
            self.state, self.wants = State.BODY, BODY
            return None
        body = bulk.take()
        if body:
            self.state, self.wants = State.SENT, ANSWER
            target = requests.physical_target(self.plan)
            return Send(self.plan.cluster.name, self.head.method, target, requests.physical_headers(self.plan, self.media), body)
        if bulk.failed is not None:
            raise bulk.failed
        self.state, self.wants = State.DONE, 0
        return bulk.release(self.answer.status, self.answer.headers) if self.answer is not None else None

    def _bulk_answered(self, bulk: BulkStream, chunk: bytes, last: bool) -> Step | None:
        assert self.answer is not None
        refused = bulk.feed_answer(self.answer.status, chunk, last)
        if refused is not None:
            self.state, self.wants = State.DONE, 0
            bulk.spool.close()
            refused.headers = self.answer.headers + refused.headers
            return refused
        return self._next_bulk(bulk) if last else None

    # --- the way back --------------------------------------------------------------------------

    def may_send(self, now: float) -> bool:
        """Asked by the engine at each attempt, once it has a connection."""
        return self.state is State.SENT

    def open_answer(self, head: AnswerHead, attempt: int, chunk: bytes = b"", last: bool = False) -> Step | None:
        """The node's answer begins."""
        assert self.state is State.SENT, self.state
        assert self.plan is not None
        self.state = State.ANSWER
        try:
            self.answer = AnswerHead(head.status, answers.client_headers(self.plan, head), head.length)
            if self.bulk is not None:
                return self._bulk_answered(self.bulk, chunk, last)
            self.restore = self._way_back(self.plan, head)
            return self._restored(chunk, last)
        except EsproxyError as error:
            return self._withhold(error)

    def _way_back(self, plan: Plan, head: AnswerHead) -> answers.Walk | answers.Whole:
        row = plan.route.row
        if head.status >= 400 or row.answer is not None or plan.meta is not None or plan.filter_path is not None:
            return answers.Whole(plan, head)
        state = plan.answer_state()
        if state is None:
            raise Failed("the node sent an answer where none was expected", status=502)
        return answers.Walk(plan, state)

    def _go_onward(self, onward: Onward) -> Step | None:
        """A procedure's answer is larger than the window: it streams like any other from here on."""
        large = onward.answer
        self.onward, self.restore = onward, large.restore
        self.answer = AnswerHead(large.status, large.headers)
        self.state, self.wants = State.ANSWER, ANSWER
        return self._restored(large.first, False)

    def feed_answer(self, chunk: bytes, last: bool) -> Step | None:
        """The next part of the node's answer."""
        assert self.state is State.ANSWER, self.state
        try:
            if self.bulk is not None:
                return self._bulk_answered(self.bulk, chunk, last)
            return self._restored(chunk, last)
        except EsproxyError as error:
            return self._withhold(error)

    def _restored(self, chunk: bytes, last: bool) -> Step | None:
        assert self.answer is not None and self.plan is not None
        assert self.restore is not None
        out = self.restore.feed(chunk, last)
        if last and self.onward is not None and not self.onward.holds():
            self._hold(out)
            self.state, self.wants = State.BUSY, 0
            return Need(self.onward.confirm())
        if self.writing:
            if last:
                self.state, self.wants = State.DONE, 0
            return Write(out, last) if out or last else None
        if last and not self.out_size:
            return self._finish(out)
        self._hold(out)
        if last:
            return self._end_writing()
        if self.out_size <= self.gateway.settings.limits.window or self._stays_whole():
            return None
        self.writing = True
        return Write(self._held(), False, AnswerHead(self.answer.status, self.answer.headers, None))

    def _stays_whole(self) -> bool:
        return isinstance(self.restore, answers.Whole) or self.head.method == "HEAD"

    def _hold(self, out: bytes) -> None:
        self.out_size += len(out)
        if self.head.method != "HEAD":  # whose answer is only counted
            if self.out is None:
                self.out = BytesIO()
            self.out.write(out)

    def _held(self) -> bytes:
        """What has been held. A BytesIO gives it away without a copy."""
        if self.out is None:
            return b""
        held, self.out = self.out.getvalue(), None
        return held

    def _end_writing(self) -> Step:
        held = self._held()
        assert self.answer is not None
        self.state, self.wants = State.DONE, 0
        if self.head.method == "HEAD":
            return Write(b"", True, AnswerHead(self.answer.status, self.answer.headers, self.out_size))
        if not self.writing:
            return Reply(self.answer.status, self.answer.headers, held)
        return Write(held, True)

    def _finish(self, body: bytes) -> Reply:
        assert self.answer is not None and self.plan is not None
        self.state, self.wants = State.DONE, 0
        return Reply(self.answer.status, self.answer.headers, body)

    def fail_answer(self, failure: Failure) -> Step | None:
        """There is no (whole) answer."""
        assert self.state in (State.SENT, State.ANSWER), self.state
        return self._withhold(UpstreamFailed(failure.what, failure.detail))

    def close(self) -> None:
        """The client is gone, or has been told something else than what this exchange would have said."""
        self.state, self.wants = State.DONE, 0
        if self.bulk is not None:
            self.bulk.spool.close()
        self.parts.clear()
        self.out = None

    # --- refusing --------------------------------------------------------------------------------

    def _refuse(self, error: EsproxyError) -> Reply:
        self.state, self.wants = State.DONE, 0
        self.parts.clear()
        if self.bulk is not None:
            error.headers = error.headers + self.bulk.headers()
            self.bulk.spool.close()
        pretty = b"pretty" in self.head.target.partition(b"?")[2] if self.plan is None else self.plan.pretty
        opaque = self.head.get(b"x-opaque-id")
        if opaque is not None:
            error.headers = [*error.headers, (b"x-opaque-id", opaque)]
        return reply(error, product=self.gateway.product, pretty=pretty)

    def _withhold(self, error: EsproxyError) -> Step:
        """The answer cannot be given: an error instead while nothing of it has left, else cut the connection."""
        if isinstance(error, Violation):
            self.gateway.violations += 1
            log.error("violation: %s in the answer to %s", error.where, self.plan.route.row.name if self.plan else "?")
        if self.writing:
            self.state, self.wants = State.DONE, 0
            return Abort(str(error))
        self.out = None
        return self._refuse(error)
