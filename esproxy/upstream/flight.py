"""One upstream call of the engine, from ``start`` to the last word to its sink.

    WAITING ── a connection is there, may_send ──▶ SENT ── the answer's head ──▶ ANSWERING ── last ──▶ DONE
       ▲                                            │ broken, held, first attempt
       └────────────────────────────────────────────┘            any state ── failure, cancel ──▶ DONE

* ``attempt`` counts how often the request has been handed to a connection: 1, or 2 when it was repeated.
* A repeat needs ``held``, takes a fresh connection (an idle one may be as dead as the first), and never follows a timeout.
* A connect that failed has sent nothing, so it is no attempt: the call tries another node, whatever it is.
* What ``more`` brings while WAITING is kept; above PENDING bytes the sink is told to stop.
* An answer before the end of the upload ends the upload: further parts are dropped, the connection is not used again.
* Inside ``start`` the sink is asked ``may_send`` and may be told ``writable``, nothing else. After DONE it is told nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from esproxy.exchange import Send
from esproxy.heads import AnswerHead
from esproxy.upstream.engine_api import Failure, Sink
from esproxy.upstream.node import Node
from esproxy.upstream.request import header_lines

if TYPE_CHECKING:
    from esproxy.upstream.client import Cluster, Engine
    from esproxy.upstream.connection import Connection

PENDING = 64 << 10
WAITING, SENT, ANSWERING, DONE = range(4)


class EngineFlight:
    __slots__ = (
        "attempt", "blocked", "cluster", "connection", "engine", "lines", "method", "paused", "pending",
        "pending_size", "send", "sink", "started", "state", "tried", "uploaded",
    )  # fmt: skip

    def __init__(self, engine: Engine, cluster: Cluster, send: Send, sink: Sink, now: float) -> None:
        self.engine = engine
        self.cluster = cluster
        self.send = send
        self.sink = sink
        self.method = send.method
        self.lines = header_lines(send, cluster.ours)
        self.state = WAITING
        self.connection: Connection | None = None
        self.attempt = 0
        self.tried: tuple[Node, ...] = ()  # nodes that could not be connected to
        self.started = now
        self.paused = False
        self.uploaded = send.last
        self.pending: list[tuple[bytes, bool]] | None = None
        self.pending_size = 0
        self.blocked = False  # the sink has been told to stop

    def unfold(self) -> EngineFlight:
        """What a short call becomes, see ``esproxy/serve/short.py``."""
        return self

    # --- the caller's side

    def more(self, data: bytes, last: bool) -> None:
        if self.state == DONE or self.uploaded:
            return
        if self.state == WAITING:
            if self.pending is None:
                self.pending = []
            self.pending.append((data, last))
            self.pending_size += len(data)
            if self.pending_size > PENDING:
                self.upload_writable(False)
            return
        self.uploaded = last
        self.connection.write(data, last)

    def pause(self) -> None:
        self.paused = True
        if self.connection is not None:
            self.connection.pause()

    def resume(self) -> None:
        self.paused = False
        if self.connection is not None:
            self.connection.resume()

    def cancel(self) -> None:
        connection, self.connection = self.connection, None
        self.state = DONE
        self.pending = None
        if connection is not None:
            connection.drop()

    # --- the engine's side

    def take_off(self, connection: Connection) -> bool:
        """Ask the sink, send on this connection. False: the connection is free for others."""
        if self.state == DONE:
            return False
        if not self._may_send():
            self.engine.loop.call_soon(self.fail, Failure("refused", "the sink does not want it sent any more"))
            return False
        if self.state == DONE:  # may_send is free to cancel
            return False
        self.attempt += 1
        self.state = SENT
        self.connection = connection
        connection.node.attempts += 1
        connection.begin(self)
        if self.pending is not None:
            pending, self.pending = self.pending, None
            for data, last in pending:
                self.more(data, last)
            if not connection.write_blocked:
                self.upload_writable(True)
        return True

    def _may_send(self) -> bool:
        try:
            return self.sink.may_send(self.engine.clock())
        except Exception as error:
            self.engine.loop.call_exception_handler({"message": "may_send failed", "exception": error})
            return False

    def upload_writable(self, yes: bool) -> None:
        if self.blocked is yes and not self.uploaded:
            self.blocked = not yes
            self.sink.writable(yes)

    # --- the connection's side

    def told(self, head: AnswerHead, data: bytes, at: int) -> None:
        """All of the answer: a head that is known, and the body that stands from there on."""
        self.answered(head, data[at:], True)

    def answered(self, head: AnswerHead, data: bytes, last: bool) -> None:
        """A part of the answer, the first one with its head."""
        first = self.state == SENT
        connection = self.connection
        if last:
            self.state = DONE
            self.connection = None
        else:
            self.state = ANSWERING
        if not first:
            if data or last:
                self.sink.feed_answer(data, last)
            return
        if not self.uploaded:
            connection.early = True
            self.upload_writable(True)
            self.uploaded = True
        self.sink.open_answer(head, self.attempt, data, last)

    def broke(self, why: str) -> None:
        """The connection ended before the answer did."""
        node = self.connection.node
        node.broken += 1
        self.connection = None
        if self.state == SENT and self.send.held and self.attempt == 1:
            self.state = WAITING
            self.cluster.retries += 1
            self.engine.place(self)
        else:
            self.fail(Failure("broken", f"{node.address.url}: {why}"))

    def fail(self, failure: Failure) -> None:
        if self.state != DONE:
            self.state = DONE
            self.connection = None
            self.pending = None
            self.sink.fail_answer(failure)
