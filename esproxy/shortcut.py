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
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from esproxy import asyaml, bodies, core
from esproxy.answer import PASSED
from esproxy.budget import FREE
from esproxy.errors import Refusal
from esproxy.exchange import ANSWER, Send
from esproxy.heads import AnswerHead, Head, Headers
from esproxy.holding import State
from esproxy.plan import Plan
from esproxy.procedures.made_id import wants_id
from esproxy.request import is_read, media_of, physical_headers

if TYPE_CHECKING:
    from esproxy.gateway import Exchange, Gateway
    from esproxy.ready import ReadyHeads

REST = 16  # requests
ASKING = bodies.TYPED | core.Mark.META_FIELD  # marks of bodies that say more than what they ask for


class Shortcut:
    """``send``: as it goes to the node, without its body. ``opaque``: what the client's answer has beside the node's headers."""

    __slots__ = ("bare", "gateway", "head", "heads", "limit", "opaque", "restore", "rests", "rewrite", "send")

    def __init__(self, gateway: Gateway, heads: ReadyHeads, head: Head, send: Send, rewrite: core.Alone | None) -> None:
        limits = gateway.settings.limits
        self.gateway = gateway
        self.heads = heads
        self.head = head
        self.send = send
        self.rewrite = rewrite  # None: bodies pass as they are
        self.bare = int(head.get(b"content-length") or 0) == 0
        self.limit = min(FREE, limits.window, limits.max_body)
        self.rests = 0
        opaque = head.get(b"x-opaque-id")
        self.opaque: Headers = [] if opaque is None else [(b"x-opaque-id", opaque)]
        plan = self.plan()
        state = plan.answer_state()
        assert state is not None
        self.restore = core.Alone(plan.cluster.engine.grammar, state, plan.owner().tagged_answer, max_depth=1000)

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
        if self.rewrite is None or not body:
            return body
        out = self.rewrite.rewritten(body)
        if out is None:
            self.rests = REST
        return out

    def restored(self, head: AnswerHead, body: bytes) -> bytes | None:
        """The body of the client's answer. None: the general way has to look at it."""
        out = self.restore.rewritten(body) if is_plain(head) else None
        if out is None:
            self.rests = REST
        return out

    def exchange(self) -> Exchange:
        """What the general way would have come to when the request was sent."""
        exchange = self.gateway.begun(self.head)
        exchange.plan = self.plan()
        exchange.whole = True
        exchange.state, exchange.wants = State.SENT, ANSWER
        return exchange


def is_plain(head: AnswerHead) -> bool:
    """Whether the client gets the status as it is, a body that a table can restore, and no header with a name in it."""
    return 200 <= head.status < 300 and not any(name in (b"location", b"warning") for name, _ in head.headers)


def plain_headers(head: AnswerHead) -> Headers:
    """What any client gets of such an answer's headers."""
    return [pair for pair in head.headers if pair[0] in PASSED]


def of(gateway: Gateway, head: Head) -> Shortcut | None:
    """The shortcut of a head that has come before; None where there is none for now, or none at all."""
    heads = gateway.ready
    if heads is None or head.ready is None or head.ready[0] is not heads or not heads.identity.believes(head.peer):
        return None
    _, ready, id = head.ready
    if ready.target is None or asyaml.wanted(head) or head.method == "HEAD":
        return None
    plan: Plan = ready.twin(head, id)
    endpoint, name = plan.endpoint, plan.route.row.name
    if plan.answer_state() is None or endpoint.framing is not None or wants_id(plan):
        return None
    if name in bodies.CHECKS or name in bodies.CHANGES:
        return None
    bare = int(head.get(b"content-length") or 0) == 0
    if not bare and (endpoint.body == "none" or endpoint.request is None):
        return None
    target = ready.sent(plan)
    try:
        headers = physical_headers(plan, None if bare else media_of(plan))
    except Refusal:
        return None  # it is said to each
    if target is None:
        return None
    rewrite = None
    if not bare and endpoint.request is not None and plan.cluster.engine.tables.states[endpoint.request].get("kind") != "DOC":
        depth = gateway.settings.limits.max_depth
        rewrite = core.Alone(plan.cluster.engine.grammar, endpoint.request, plan.owner().request, max_depth=depth, marks=ASKING)
    send = Send(plan.cluster.name, head.method, target, headers, held=is_read(plan))
    return Shortcut(gateway, heads, head, send, rewrite)
