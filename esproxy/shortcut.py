"""The straight way of a request whose head has come before: what is sent for it and told of its answer, with nothing made anew.

Most requests differ from an earlier one in their body alone, and most bodies ask nothing: one pass of the core makes the node's
of the client's, and one the client's answer of the node's. A *shortcut* is all else that such an exchange needs, made once for a
``Head`` that a shell uses again, of what the general way (``esproxy/gateway.py``) uses: the ready plan, its target, the headers,
the rule tables' states and the tenant's bindings. So nothing is decided here, and nothing is left out: the same tables are
walked, and every name of an answer is verified by the same bindings.

The general way is taken, from the beginning, by all that is not plain (``of`` says which heads, ``sent`` which bodies), and by an
answer that is not: an error, one that needs a resolver, a violation, one whose headers hold names. For that an exchange can be
made at any time of a request that has been sent (``exchange``): it stands where one stands that has gone the general way. A pass
that fails here fails there again, and is worded, counted and logged there; it costs a second pass, so a head whose bodies or
answers are such goes the general way for the next ``REST`` requests.

Invariants

* A shortcut holds for one ``ReadyHeads``, that is for one ``Cluster``; ``holds`` is asked for each request.
* A body of which the pass changed the plan (its resolver was called, it has aggregations or asks for ``_index``) is not plain.
* A request without a body is one whose head says so: ``media`` is of the head, and a head that is known has one length.
* In pools a shortcut is built on the ``Form`` of ``esproxy/pools/straight.py`` that the general way made last. It is used while
  memory may be believed and the form stands, and its answers are given while the same is so (rule A in memory). For anything else
  an exchange goes on with the ``Straight`` of this form and the client's body: it confirms by a realtime get, or reads again.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal

import orjson

from esproxy import asyaml, bodies, core
from esproxy.answer import PASSED
from esproxy.budget import FREE
from esproxy.errors import EsproxyError, Refusal
from esproxy.exchange import ANSWER, Send
from esproxy.heads import AnswerHead, Head, Headers
from esproxy.holding import State
from esproxy.plan import Plan, Ready
from esproxy.pools.straight import FORMS, Form, Straight
from esproxy.procedures.made_id import wants_id
from esproxy.request import is_read, media_of, physical_headers

if TYPE_CHECKING:
    from esproxy.gateway import Exchange, Gateway
    from esproxy.pools.pooled import Pools
    from esproxy.ready import ReadyHeads

REST = 16  # requests
ASKING = bodies.TYPED | core.Mark.META_FIELD  # marks of bodies that say more than what they ask for


class Shortcut:
    """``send``: as it goes to the node, without its body. ``opaque``: what the client's answer has beside the node's headers."""

    __slots__ = ("bare", "gateway", "head", "heads", "limit", "opaque", "restore", "rests", "rewrite", "send")

    def __init__(
        self, gateway: Gateway, heads: ReadyHeads, head: Head, send: Send, rewrite: core.Alone | None, restore: core.Alone
    ) -> None:
        limits = gateway.settings.limits
        self.gateway = gateway
        self.heads = heads
        self.head = head
        self.send = send
        self.rewrite = rewrite  # None: bodies pass as they are
        self.restore = restore
        self.bare = is_bare(head)
        self.limit = min(FREE, limits.window, limits.max_body)
        self.rests = 0
        opaque = head.get(b"x-opaque-id")
        self.opaque: Headers = [] if opaque is None else [(b"x-opaque-id", opaque)]

    def plan(self) -> Plan:
        _, ready, id = self.head.ready
        plan: Plan = ready.twin(self.head, id)
        return plan

    def holds(self) -> bool:
        """Whether the general way would still understand the head as it did."""
        gateway = self.gateway
        return gateway.ready is self.heads and gateway.clusters.get(gateway.cluster_name) is self.heads.cluster

    def sent(self, body: bytes) -> bytes | None:
        """The node's body. None: this request goes the general way."""
        if self.rests:
            self.rests -= 1
            return None
        if not self.holds() or len(body) > self.limit or (not body) is not self.bare:
            return None
        out = self.rewritten(body)
        if out is None:
            self.rests = REST
        return out

    def rewritten(self, body: bytes) -> bytes | None:
        return body if self.rewrite is None or not body else self.rewrite.rewritten(body)

    def restored(
        self, head: AnswerHead, data: bytes, at: int = 0, front: bytes | None = None, most: int = sys.maxsize
    ) -> bytes | None:
        """The body of the client's answer, of the node's that stands from ``at`` on; with the head ``front`` all of that answer.
        None: the general way has to look at it, or it is longer than ``most``."""
        out = self.restore.rewritten(data, at, front, most) if head.told is not None or is_plain(head) else None
        if out is None:
            self.rests = REST
        elif self.restore.unknown:
            self.heads.cluster.unknown_keys += self.restore.unknown
            self.restore.unknown = 0
        return out

    def exchange(self, body: bytes) -> Exchange:
        """What the general way would have come to when the request was sent. ``body``: the client's."""
        exchange = self.gateway.begun(self.head)
        exchange.plan = self.plan()
        exchange.whole = True
        exchange.state, exchange.wants = State.SENT, ANSWER
        return exchange


class PoolShortcut(Shortcut):
    """Of a read of one index in a pool."""

    __slots__ = ("cache", "form", "pools")

    def __init__(self, gateway: Gateway, heads: ReadyHeads, head: Head, send: Send, pools: Pools, form: Form) -> None:
        super().__init__(gateway, heads, head, send, None, form.restore)
        self.pools = pools
        self.cache = pools.catalogue.cache
        self.form = form

    def sent(self, body: bytes) -> bytes | None:
        if not self.cache.held():
            return None
        if not self.form.stands(self.cache):
            self.head.shortcut = None  # another will be made, of the next form
            return None
        return super().sent(body)

    def rewritten(self, body: bytes) -> bytes | None:
        try:
            return self.form.sent(body)
        except (EsproxyError, orjson.JSONDecodeError):
            return None  # the procedure says it

    def restored(
        self, head: AnswerHead, data: bytes, at: int = 0, front: bytes | None = None, most: int = sys.maxsize
    ) -> bytes | None:
        if not (self.cache.held() and self.form.stands(self.cache)):
            return None
        try:
            return super().restored(head, data, at, front, most)
        except (EsproxyError, ValueError):
            self.rests = REST
            return None

    def exchange(self, body: bytes) -> Exchange:
        exchange = super().exchange(body)
        if body:
            exchange.parts, exchange.size = [body], len(body)
        assert exchange.plan is not None
        exchange.pools = self.pools
        exchange.onward = Straight(self.pools, exchange.plan, self.form, self.send)
        return exchange


def is_plain(head: AnswerHead) -> bool:
    """Whether the client gets the status as it is, a body that a table can restore, and no header with a name in it."""
    return 200 <= head.status < 300 and not any(name in (b"location", b"warning") for name, _ in head.headers)


def plain_headers(head: AnswerHead) -> Headers:
    """What any client gets of such an answer's headers."""
    return [pair for pair in head.headers if pair[0] in PASSED]


def is_bare(head: Head) -> bool:
    return int(head.get(b"content-length") or 0) == 0


def of(gateway: Gateway, head: Head) -> Shortcut | Literal[False] | None:
    """The shortcut of a head that has come before; None where there is none for now, False where there is none at all."""
    heads = gateway.ready
    if heads is None or head.ready is None or head.ready[0] is not heads:
        return None
    if not heads.identity.believes(head.peer) or asyaml.wanted(head) or head.method == "HEAD":
        return False
    _, ready, id = head.ready
    plan: Plan = ready.twin(head, id)
    if plan.answer_state() is None or plan.endpoint.framing is not None:
        return False
    try:
        return _of_index(gateway, heads, plan) if ready.target is not None else _of_pool(gateway, heads, plan, ready)
    except Refusal:
        return False  # it is said to each


def _of_index(gateway: Gateway, heads: ReadyHeads, plan: Plan) -> Shortcut | Literal[False]:
    """Of a tenant without pools. Raises Refusal."""
    head, endpoint, name, bare = plan.head, plan.endpoint, plan.route.row.name, is_bare(plan.head)
    if wants_id(plan) or name in bodies.CHECKS or name in bodies.CHANGES:
        return False
    if not bare and (endpoint.body == "none" or endpoint.request is None):
        return False
    assert plan.ready is not None
    target = plan.ready.sent(plan)
    headers = physical_headers(plan, None if bare else media_of(plan))
    if target is None:
        return False
    engine, owner, state = plan.cluster.engine, plan.owner(), plan.answer_state()
    assert state is not None
    rewrite = None
    if not bare and endpoint.request is not None and engine.tables.states[endpoint.request].get("kind") != "DOC":
        depth = gateway.settings.limits.max_depth
        rewrite = core.Alone(engine.grammar, endpoint.request, owner.request, max_depth=depth, marks=ASKING)
    send = Send(plan.cluster.name, head.method, target, headers, held=is_read(plan))
    return Shortcut(gateway, heads, head, send, rewrite, core.Alone(engine.grammar, state, owner.tagged_answer, max_depth=1000))


def _of_pool(gateway: Gateway, heads: ReadyHeads, plan: Plan, ready: Ready) -> Shortcut | Literal[False] | None:
    """Of one who may have some. Raises Refusal."""
    kind, pools = FORMS.get(plan.route.row.name), gateway.pools_for(plan)
    if pools is None or kind is None or kind.bare is not is_bare(plan.head):
        return False
    form: Any = ready.form
    if form is None or not form.stands(pools.catalogue.cache):
        return None
    send = form.call(plan)
    return False if send is None else PoolShortcut(gateway, heads, plan.head, send, pools, form)
