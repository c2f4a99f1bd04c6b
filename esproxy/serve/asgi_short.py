"""The straight way in the ASGI shell: heads that have come before, and the call that stands where a request's flight does.

    Responder ── go ─▶ Prepared.connection ─▶ Connection.begin_short ─▶ node
    Responder ◀─ answer(Reply) ── told ◀─ Connection.data_received: an answer whose head is known, in one read ◀─ node

A server makes a scope of each request, so a head is known again by what the scope says: the method, the raw target, the headers
in their order, who asks. Equal ones are one ``Head``, which remembers its ready plan and its way (``short.py``), as the one does
that esproxy's own protocol class knows by its bytes. Kept are heads up to ``LONGEST`` bytes that need no closer look: no
``Expect``, no coding of the content or the transfer.

The ``Responder`` is there on either way, because its coroutine waits and writes. On the straight way an ``AsgiCall`` is its
flight, and its exchange is made only if anything else happens than a plain answer; whatever ends the request early ends its
flight, which is all that is under way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.types import Scope

from esproxy.exchange import Reply
from esproxy.heads import AnswerHead, Head
from esproxy.known import KEPT, LONGEST
from esproxy.recent import Recent
from esproxy.serve.framing import size_of
from esproxy.serve.short import Call, way_of
from esproxy.shortcut import plain_headers
from esproxy.upstream.flight import EngineFlight

if TYPE_CHECKING:
    from esproxy.serve.asgi import Responder

SPECIAL = frozenset({b"expect", b"content-encoding", b"transfer-encoding"})


class ScopeHeads:
    """Heads of requests, by what their scopes say."""

    __slots__ = ("recent",)

    def __init__(self) -> None:
        self.recent: Recent[tuple[Any, ...], Head] = Recent(KEPT)

    def of(self, scope: Scope) -> tuple[Head, bool]:
        """The head of a request, and whether it needs no closer look."""
        client, query, headers = scope.get("client"), scope["query_string"], scope["headers"]
        peer = client[0] if client else None
        key = (scope["method"], scope["raw_path"], query, peer, *headers)
        try:
            head = self.recent.get(key)
        except TypeError:  # a server whose headers are lists
            return self.made(scope, peer), False
        if head is not None:
            return head, True
        head = self.made(scope, peer)
        plain = size_of(head) <= LONGEST and not any(name in SPECIAL for name, _ in head.headers)
        if plain:
            self.recent.put(key, head)
        return head, plain

    @staticmethod
    def made(scope: Scope, peer: str | None) -> Head:
        query = scope["query_string"]
        target = scope["raw_path"] + b"?" + query if query else scope["raw_path"]
        return Head(scope["method"], target, list(scope["headers"]), peer)  # the list is the server's, and others may change it


def go(responder: Responder, head: Head, body: bytes) -> bool:
    """Send a whole request. False: it goes the general way, and nothing has happened."""
    way = head.shortcut
    if way is None:
        way = way_of(responder.proxy, head)
    out = way.shortcut.sent(body) if way else None
    connection = way.prepared.connection() if out is not None else None
    if out is None or connection is None:
        return False
    responder.uploaded = True
    call = AsgiCall(responder, way, body, out, connection)
    responder.flight = call  # type: ignore[assignment]  # it has all of one that a request can ask for while it waits
    connection.begin_short(call, way.prepared.text(connection.node.preamble, out))
    return True


class AsgiCall(Call):
    """Of a ``Responder``, which has it for its flight."""

    __slots__ = ()

    def told(self, head: AnswerHead, data: bytes, at: int) -> None:
        responder, way = self.client, self.way
        out = self.restored(head, data, at)
        if out is None:
            return self.unfold().told(head, data, at)
        responder.flight = None
        way.proxy.stats.short += 1
        responder.answer(Reply(head.status, plain_headers(head) + way.shortcut.opaque, out))

    def unfold(self) -> EngineFlight:
        return self.flight_of(self.client)

    def cancel(self) -> None:
        """The request ends before its answer."""
        self.connection.drop()
