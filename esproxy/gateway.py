"""The life of a request, from its first byte to the last of its answer. No I/O; see docs/design/gateway.md.

    open          who: cluster, route, tenant, parameters             → refuse, wait for knowledge, or go on
    feed          the body, until it is whole                         → Send
                  a bulk beyond the window                            → Send, answer, Send, … Release
                  any other body beyond the window goes to a file     → Send
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

from typing import TYPE_CHECKING, Literal

from esproxy import answer as answers
from esproxy import bodies, core
from esproxy import request as requests
from esproxy import shortcut as shortcuts
from esproxy.budget import FREE
from esproxy.bulkstream import BulkStream
from esproxy.cluster import Cluster
from esproxy.common import Common
from esproxy.errors import EsproxyError, Refusal, UpstreamFailed, too_large
from esproxy.exchange import ANSWER, BODY, Need, Onward, Outcome, Reply, Restorer, Send, Step
from esproxy.heads import AnswerHead, Head
from esproxy.holding import Holding, State, turn
from esproxy.largebody import LargeBody
from esproxy.metadata.cluster import static_info
from esproxy.plan import Plan
from esproxy.pools.families import served
from esproxy.pools.frame import first_write, pooled
from esproxy.pools.pooled import Pooled, Pools
from esproxy.pools.straight import Straight, straight
from esproxy.procedures.cat import cat_table
from esproxy.procedures.discover import discover
from esproxy.procedures.made import MADE, made
from esproxy.procedures.made_id import wants_id, with_made_id
from esproxy.ready import ReadyHeads
from esproxy.request import check_no_body, understand
from esproxy.shortcut import Shortcut
from esproxy.spool import Spool
from esproxy.upstream.engine_api import Failure
from esproxy.wayback import WayBack

if TYPE_CHECKING:
    from esproxy.catalogue.context import Catalogue
    from esproxy.config import Settings


class Gateway(Common):
    """Opens exchanges."""

    def __init__(self, settings: Settings, catalogue: Catalogue | None = None) -> None:
        super().__init__(settings, catalogue)
        if self.pools is not None:
            self.pools.begin = self.begun

    def open(self, head: Head, chunk: bytes = b"", last: bool = False) -> tuple[Exchange, Step | None]:
        """Begin an exchange with its head and as much of the body as is there."""
        exchange = Exchange(self, head)
        return exchange, exchange.feed(chunk, last)

    def begun(self, head: Head) -> Exchange:
        return Exchange(self, head)

    def shortcut(self, head: Head) -> Shortcut | Literal[False] | None:
        """The straight way of a head that has come before; None: not yet, False: there is none."""
        return shortcuts.of(self, head)


class Exchange(Holding):
    """One request and its answer. Not for two threads."""

    __slots__ = ()

    # --- the way in ----------------------------------------------------------------------------

    def feed(self, chunk: bytes, last: bool) -> Step | None:
        """The next part of the client's body. What has been read is taken in, whether it was asked for or not."""
        try:
            if self.bulk is not None:
                self.bulk.feed(chunk, last)
                return self._next_part(self.bulk) if self.state is State.BODY else None
            assert self.state is State.BODY or self.state is State.BUSY, self.state
            if self.large is not None:
                self.large.feed(chunk, last)
            elif chunk:
                self.parts.append(chunk)
                self.size += len(chunk)
            self.whole = last
            return self._go_on() if self.state is State.BODY else None
        except EsproxyError as error:
            return self._refuse(error)

    def _go_on(self) -> Step | None:
        gateway = self.gateway
        if self.plan is None:
            cluster = gateway.clusters.get(gateway.cluster_name)
            if cluster is None:
                self.state, self.wants = State.BUSY, 0
                return Need(discover(gateway.cluster_name, gateway.clusters), key=("discover", gateway.cluster_name))
            self.plan = self._understand(cluster)
        plan = self.plan
        self.pools = gateway.pools_for(plan)
        if self.part is not None:
            return self._send_part(plan, self.part)
        limits = gateway.settings.limits
        if self.size > min(limits.window, limits.max_body) and self.large is None:
            if plan.endpoint.framing == "bulk":
                return self._begin_bulk(plan)
            self._begin_large(plan)
        if not self.whole:
            return self._body_claim(plan) if self.size > FREE and self.claim is None and self.large is None else None
        if self.pools is not None:
            return self._pooled(plan, self.pools, self._body())
        return self._send(plan)

    def _body_claim(self, plan: Plan) -> Step | None:
        """There will be more of the body: it goes on when there is room."""
        told, coded = self.head.get(b"content-length"), self.head.get(b"content-encoding")
        window = self.gateway.settings.limits.window
        self.claim = self.gateway.bodies.claim(plan.tenant_id, window if told is None or coded else min(int(told), window))
        if self.claim.granted:
            return None
        self.state, self.wants = State.BUSY, 0
        return Need(turn(self.claim))

    def _body(self) -> bytes:
        """The client's body, which is whole."""
        if self.large is not None:
            return self.large.spool.whole()
        if len(self.parts) > 1:
            self.parts = [b"".join(self.parts)]
        return self.parts[0] if self.parts else b""

    def _begin_large(self, plan: Plan) -> None:
        limits = self.gateway.settings.limits
        if plan.endpoint.body == "none":
            check_no_body(plan)
        if int(self.head.get(b"content-length") or 0) > limits.max_body:
            raise too_large(limits.max_body)
        self.media = requests.media_type(plan)
        rewrite = None
        if self.pools is None and plan.endpoint.body != "none":
            if plan.pattern is not None and "index" in plan.parts:
                requests.physical_target(plan)
            rewrite = bodies.rewriter(plan, limits.max_depth)
        self.large = LargeBody(rewrite, limits.max_body)
        self._release()
        parts, self.parts = self.parts, []
        for i, part in enumerate(parts):
            self.large.feed(part, self.whole and i == len(parts) - 1)

    def _pooled(self, plan: Plan, pools: Pools, body: bytes) -> Step:
        """A request for indices in pools is a procedure, unless it goes straight; so is making the index that its first write
        needs."""
        if not self.yaml and (search := straight(pools, plan, body)) is not None:
            self.onward = search
            self.state, self.wants = State.SENT, ANSWER
            return search.send
        self.state, self.wants = State.BUSY, 0
        if plan.create is not None:
            name, plan.create = plan.create, None
            return Need(first_write(pools, plan, name), key=("create", plan.owner().id, name))
        found = served(plan.route.row.name)
        if not body and "source" in plan.query and plan.endpoint.body == "optional":
            body, media = bodies.body_from_query(plan)
        else:
            media = requests.media_of(plan) if body else None
        if body and plan.endpoint.body == "none":
            check_no_body(plan)
            body, media = b"", None
        return Need(pooled(Pooled(pools, plan, body, media), found.family, write=found.write))

    def _understand(self, cluster: Cluster) -> Plan:
        """The plan of this head: from memory, where the same has been understood before."""
        gateway = self.gateway
        if gateway.header is None:
            return understand(gateway, self.head, cluster)
        heads = gateway.ready
        if heads is None or heads.cluster is not cluster:
            heads = gateway.ready = ReadyHeads(cluster, gateway.header)
        plan = heads.find(self.head)
        if plan is None:
            plan = understand(gateway, self.head, cluster)
            plan = heads.keep(plan, pooled=gateway.pools_for(plan) is not None)
        return plan

    def _send(self, plan: Plan) -> Step:
        if plan.pattern is not None and plan.route.row.name in ("info", "ping"):
            self.state, self.wants = State.DONE, 0
            return static_info(plan)
        if self.large is not None and self.large.rewrite is not None:
            body, media = self.large.body(), self.media
        else:
            body, media = bodies.sent(plan, self._body(), self.gateway.settings.limits.max_depth)
        if plan.route.row.answer in MADE:
            self.parts.clear()
            self.state, self.wants = State.BUSY, 0
            return Need(made(plan, body, media, self.gateway.settings.limits))
        target = plan.ready.sent(plan) if plan.ready is not None else None
        if target is None:
            target = requests.physical_target(plan)
        if plan.typed:
            target += (b"&" if b"?" in target else b"?") + b"typed_keys=true"
        self.parts.clear()
        if plan.route.row.answer == "cat" and not plan.help:
            self.state, self.wants = State.BUSY, 0
            return Need(cat_table(plan, target))
        method = "GET" if self.head.method == "HEAD" else self.head.method  # its answer tells the length that a HEAD's has
        again = requests.is_read(plan)
        send = Send(plan.cluster.name, method, target, requests.physical_headers(plan, media), body, True, again)
        if wants_id(plan):
            self.state, self.wants = State.BUSY, 0
            return Need(with_made_id(plan, send, self.gateway.settings.limits.max_body))
        self.state, self.wants = State.SENT, ANSWER
        return send

    def resume(self, outcome: Outcome | BaseException) -> Step | None:
        """A procedure that was needed has ended."""
        assert self.state is State.BUSY, self.state
        try:
            if isinstance(outcome, BaseException):
                raise outcome
            if isinstance(outcome, Reply):
                return self._part_answered(self.bulk, outcome) if self.bulk is not None else self._ended(outcome)
            if isinstance(outcome, Onward):
                return self._go_onward(outcome)
            if self.kept is not None:
                return self._answer_goes_on(self.kept)
            if self.onward is not None and self.back is not None:  # and it has been confirmed
                if not self.onward.void:
                    return self._ended(self.back.end())
                self.onward = self.back = self.plan.ready = None
            self.state, self.wants = State.BODY, 0 if self.whole else BODY
            return self._go_on()
        except EsproxyError as error:
            return self._withhold(error)

    # --- a bulk beyond the window ------------------------------------------------------------------

    def _begin_bulk(self, plan: Plan) -> Step | None:
        if self.yaml:
            raise Refusal("the answer to a bulk as large as this one can only be JSON here", status=406)
        limits = self.gateway.settings.limits
        self.media = requests.media_type(plan)
        self.bulk = BulkStream(plan, limits, pooled=self.pools is not None)
        parts, self.parts = self.parts, []
        for part in parts:
            self.bulk.feed(part, False)
        self.bulk.feed(b"", self.whole)
        return self._next_part(self.bulk)

    def _next_part(self, bulk: BulkStream) -> Step | None:
        """The next part, the end, or nothing for now."""
        assert self.plan is not None
        if not bulk.due():
            self.state, self.wants = State.BODY, BODY
            return None
        self.part = bulk.take()
        if self.part is not None:
            return self._send_part(self.plan, self.part)
        if bulk.failed is not None:
            raise bulk.failed
        return self._ended(bulk.release())

    def _send_part(self, plan: Plan, part: Spool) -> Step:
        """A part that left the core rewritten; or one for pools; or one that turned out to be for none."""
        pools = self.gateway.pools_for(plan)
        if pools is not None:
            return self._pooled(plan, pools, part.whole())
        body = part.body()
        if plan.apart:
            body = bodies.physical_body(plan, part.whole(), self.gateway.settings.limits.max_depth)
        self.state, self.wants = State.SENT, ANSWER
        target = requests.physical_target(plan)
        return Send(plan.cluster.name, self.head.method, target, requests.physical_headers(plan, self.media), body)

    def _part_answered(self, bulk: BulkStream, answer: Reply | None) -> Step | None:
        """``answer``: a procedure's; None: the node's, which the bulk has been fed."""
        assert self.plan is not None and self.part is not None
        ends = bulk.answered(answer) if answer is not None else None
        self.part.close()
        self.part = None
        self.plan.apart = False
        return self._next_part(bulk) if ends is None else self._ended(ends)

    def _bulk_fed(self, bulk: BulkStream, chunk: bytes, last: bool) -> Step | None:
        refused = bulk.feed_answer(chunk, last)
        if refused is not None:
            return self._ended(refused)
        return self._part_answered(bulk, None) if last else None

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
            limits = self.gateway.settings.limits
            restore: Restorer
            if isinstance(self.onward, Straight):
                headers, restore = self.onward.way_back(head, limits.max_body, self._afford)
            else:
                headers = answers.client_headers(self.plan, head)
                if self.bulk is not None:
                    self.bulk.status, self.bulk.headers = head.status, headers
                    return self._bulk_fed(self.bulk, chunk, last)
                way = answers.Whole if self.yaml else answers.way_back
                restore = way(self.plan, head, limits.max_body, self._afford)
            self._release()
            window = None if isinstance(restore, answers.Whole) else limits.window
            told = AnswerHead(answers.client_status(self.plan, head.status), headers)
            self.back = WayBack(told, restore, window, counts=self.head.method == "HEAD")
            return self._restored(self.back, chunk, last)
        except EsproxyError as error:
            return self._withhold(error)

    def _go_onward(self, onward: Onward) -> Step | None:
        """A procedure's answer is larger than the window: it streams like any other from here on."""
        large, self.onward = onward.answer, onward
        self._release()
        self.claim, onward.claim = onward.claim, None
        window = self.gateway.settings.limits.window
        head = AnswerHead(large.status, large.headers)
        self.back = WayBack(head, large.restore, None if self.yaml else window, counts=self.head.method == "HEAD")
        self.state, self.wants = State.ANSWER, ANSWER
        first, large.first = large.first, b""
        at = 0
        while len(first) - at > core.SLICE:
            self.back.hold(large.restore.feed(first[at : at + core.SLICE], False))
            at += core.SLICE
        return self._restored(self.back, first[at:], False)

    def feed_answer(self, chunk: bytes, last: bool) -> Step | None:
        """The next part of the node's answer."""
        if self.kept is not None:
            self.kept.append((chunk, last))
            return None
        assert self.state is State.ANSWER, self.state
        try:
            if self.bulk is not None:
                return self._bulk_fed(self.bulk, chunk, last)
            assert self.back is not None
            return self._restored(self.back, chunk, last)
        except EsproxyError as error:
            return self._withhold(error)

    def _restored(self, back: WayBack, chunk: bytes, last: bool) -> Step | None:
        out = back.restore.feed(chunk, last)
        if not last:
            if back.writing:
                self._release()  # the client has taken what was held, else no more would have been read
            step = back.give(out, False)
            if self.yaml and back.size > self.gateway.settings.limits.max_body:
                raise UpstreamFailed("overflow", f"more than {self.gateway.settings.limits.max_body} bytes")
            back.fed += len(chunk)
            if not back.writing and back.fed > FREE and self.claim is None:
                return self._answer_claim()
            return step
        if self.onward is not None and not self.onward.holds():
            back.hold(out)
            self.state, self.wants = State.BUSY, 0
            return Need(self.onward.confirm(back.writing))
        step = back.give(out, True)
        assert step is not None
        return self._ended(step)

    def _answer_claim(self) -> Step | None:
        """There will be more of the answer: it goes on when there is room."""
        assert self.plan is not None
        self.claim = self.gateway.answers.claim(self.plan.tenant_id, self.gateway.settings.limits.window)
        if self.claim.granted:
            return None
        self.kept = []
        self.state, self.wants = State.BUSY, 0
        return Need(turn(self.claim))

    def _afford(self, size: int) -> None:
        """Memory for an answer that has to be whole, or a tree. What a write answers is told in any case: it has been done."""
        assert self.plan is not None
        if size <= self.gateway.settings.limits.window or not requests.is_read(self.plan):
            return
        if self.claim is None:
            self.claim = self.gateway.answers.take(self.plan.tenant_id, size)
        else:
            self.claim.grow(size)

    def _answer_goes_on(self, kept: list[tuple[bytes, bool]]) -> Step | None:
        assert self.back is not None
        self.kept = None
        self.state, self.wants = State.ANSWER, ANSWER
        if not kept:
            return None
        return self._restored(self.back, b"".join([chunk for chunk, _ in kept]), kept[-1][1])

    def fail_answer(self, failure: Failure) -> Step | None:
        """There is no (whole) answer."""
        assert self.state in (State.SENT, State.ANSWER) or self.kept is not None, self.state
        return self._withhold(UpstreamFailed(failure.what, failure.detail))
