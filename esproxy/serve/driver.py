"""The driver: carries out what an exchange asks for, the same for every shell.

    shell ── begin(head, chunk, last), feed(chunk, last), leave(), stall(yes) ─▶ Driver ─▶ exchange, engine, procedures
    shell ◀─ deliver(Write | Reply | Release), cut(why), hold_body(yes) ─────────────────── Driver ◀─ engine (as its Sink), runs

One driver is one exchange. A shell's object per request *is* the driver and the engine's sink, by inheritance, so that the
common request (whole body in one chunk, Send, whole answer in one chunk) passes through three calls, with no further object,
task or queue.

Invariants

* After ``deliver`` of a last Write, a Reply or a Release, after ``cut`` and after ``leave``, the driver is over: nothing is
  called any more.
* ``flight`` is the upstream call under way. Send, Reply, Abort and a last Write end it; Need does not: while a procedure runs,
  ``wants`` alone says whether its answer is read.
* What has been read is accepted. Reading is paused where ``wants`` (read after each call that leaves something open), the
  upstream (``writable``) or the client (``stall``) cannot take more.
* Never silence: an exception inside the Gateway is a 500, or a cut connection when bytes have left; so is an exchange that
  wants nothing, has nothing under way and has not answered.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Literal, Protocol

from esproxy.errors import EsproxyError
from esproxy.exchange import ANSWER, BODY, Abort, More, Need, Outcome, Release, Reply, Send, Step, Write
from esproxy.heads import AnswerHead, Head
from esproxy.replies import reply
from esproxy.serve.procedures import Procedures, Run
from esproxy.serve.stats import Stats
from esproxy.upstream.engine_api import EngineLike, Failure, Flight

if TYPE_CHECKING:
    from esproxy.pools.pooled import Pools
    from esproxy.serve.follower import Follower
    from esproxy.shortcut import Shortcut

logger = logging.getLogger("esproxy.serve")
NOTE_EVERY = 1.0  # seconds


class ExchangeLike(Protocol):
    wants: int

    def feed(self, chunk: bytes, last: bool) -> Step | None: ...
    def may_send(self, now: float) -> bool: ...
    def open_answer(self, head: AnswerHead, attempt: int, chunk: bytes = b"", last: bool = False) -> Step | None: ...
    def feed_answer(self, chunk: bytes, last: bool) -> Step | None: ...
    def fail_answer(self, failure: Failure) -> Step | None: ...
    def resume(self, outcome: Outcome | BaseException) -> Step | None: ...
    def close(self) -> None: ...


class GatewayLike(Protocol):
    violations: int  # answers that held what is not the tenant's, ever
    unknown_keys: int  # keys in answers that no definition knows, ever
    pools: Pools | None  # what there is where tenants can have indices in pools

    @property
    def product(self) -> bool: ...  # the upstream is Elasticsearch, whose clients look for its header on every answer

    def open(self, head: Head, chunk: bytes = b"", last: bool = False) -> tuple[ExchangeLike, Step | None]: ...
    def shortcut(self, head: Head) -> Shortcut | Literal[False] | None: ...


class Proxy:
    """What all exchanges of a process share."""

    def __init__(self, gateway: GatewayLike, engine: EngineLike, stats: Stats | None = None) -> None:
        self.gateway = gateway
        self.engine = engine
        self.procedures = Procedures(engine)
        self.stats = Stats() if stats is None else stats

        self.follower: Follower | None = None  # where there can be pools
        self.noted: dict[str, float] = {}
        self.seen = (0, 0)  # what the last report told of the gateway

    def note(self, failure: Failure) -> None:
        """Log a failed upstream call, each kind once a second at most: an outage fails them all."""
        now = time.monotonic()
        if now - self.noted.get(failure.what, -NOTE_EVERY) >= NOTE_EVERY:
            self.noted[failure.what] = now
            logger.warning("an upstream call failed: %s: %s", failure.what, failure.detail)

    def report(self) -> dict[str, Any]:
        """What happened since the last report, and how the clusters' connections are; ready for JSON."""
        seen, self.seen = self.seen, (self.gateway.violations, self.gateway.unknown_keys)
        return {
            **self.stats.take(),
            "violations": self.seen[0] - seen[0],
            "unknown_keys": self.seen[1] - seen[1],
            "clusters": {name: cluster.report() for name, cluster in self.engine.clusters.items()},
        }

    async def aclose(self) -> None:
        if self.follower is not None:
            await self.follower.stop()
        self.procedures.close()
        await self.engine.aclose()


class Driver:
    """One exchange. Abstract in ``deliver``, ``cut`` and ``hold_body``."""

    __slots__ = (
        "answered", "began", "blocked", "body_held", "call", "exchange", "flight", "method", "over",
        "paused", "proxy", "run", "stalled", "uploaded",
    )  # fmt: skip

    def __init__(self, proxy: Proxy, method: str) -> None:
        self.proxy = proxy
        self.method = method
        self.began = time.monotonic()
        self.exchange: ExchangeLike | None = None
        self.flight: Flight | None = None
        self.run: Run | None = None  # the procedure that the exchange waits for
        self.call = 0  # counts upstream calls begun and ended, to know one that ended inside ``start``
        self.answered = 0  # the status, once a head has been delivered
        self.uploaded = False  # the request's body has been fed to its end
        self.blocked = False  # the upstream takes no more of the body for now
        self.stalled = False  # the client takes no more of the answer for now
        self.paused = False  # so the flight's answer is not read
        self.body_held = False  # so the request's body is not read
        self.over = False
        proxy.stats.in_flight += 1

    # --- to the shell ------------------------------------------------------------------------------

    def deliver(self, step: Write | Reply | Release) -> None:
        """Bytes for the client. The first Write carries a head."""
        raise NotImplementedError

    def cut(self, why: str) -> None:
        """End the connection so that the client cannot take what it has for a whole answer."""
        raise NotImplementedError

    def hold_body(self, yes: bool) -> None:
        """Stop, or go on, reading the request's body. What is on its way is accepted all the same."""
        raise NotImplementedError

    # --- from the shell ----------------------------------------------------------------------------

    def begin(self, head: Head, chunk: bytes, last: bool) -> None:
        self.uploaded = last
        try:
            self.exchange, step = self.proxy.gateway.open(head, chunk, last)
        except Exception as bug:
            return self.broken(bug)
        self.carry_out(step)

    def feed(self, chunk: bytes, last: bool) -> None:
        """The next part of the body. After the answer it is dropped."""
        if self.over:
            return
        self.uploaded = last
        try:
            step = self.exchange.feed(chunk, last)
        except Exception as bug:
            return self.broken(bug)
        self.carry_out(step)

    def stall(self, yes: bool) -> None:
        """The client takes no more of the answer for now, or takes it again."""
        self.stalled = yes
        if not self.over:
            self.balance()

    def leave(self) -> None:
        """The client is gone: end all that is under way for it alone."""
        if not self.over:
            self.proxy.stats.disconnects += 1
            self.finish(499)
            self.close_exchange()

    def refuse(self, error: EsproxyError) -> None:
        """The shell itself cannot take the request, or the rest of it."""
        if self.over:
            return
        self.close_exchange()
        if self.answered:
            self.abort(error.reason)
        else:
            self.answer(reply(error, product=self.proxy.gateway.product, head=self.method == "HEAD"))

    # --- steps ---------------------------------------------------------------------------------------

    def carry_out(self, step: Step | None) -> None:
        if isinstance(step, Send):
            self.start(step)
            if self.uploaded and self.flight is not None:
                return
        elif isinstance(step, (Reply, Release)):
            return self.answer(step)
        elif isinstance(step, Write):
            if step.head is not None:
                self.answered = step.head.status
            if step.last:
                self.finish(self.answered)
            self.deliver(step)
            if step.last:
                return
        elif isinstance(step, More):
            if self.flight is not None:  # an answer that came early has ended the upload
                self.flight.more(step.data, step.last)
        elif isinstance(step, Need):
            self.run = run = self.proxy.procedures.find(step)
            run.join(self)
        elif isinstance(step, Abort):
            return self.abort(step.why)
        elif step is not None:
            return self.broken(TypeError(f"{step!r} is not a step"))
        if not self.over:
            self.balance()

    def start(self, send: Send) -> None:
        self.end_flight()
        self.call += 1
        call = self.call
        self.paused = False
        self.blocked = False
        try:
            flight = self.proxy.engine.start(send, self)
        except Exception as bug:
            return self.broken(bug)
        if self.call == call:
            self.flight = flight

    def answer(self, step: Reply | Release) -> None:
        """A whole answer, unless part of another one has left."""
        if self.answered:
            return self.broken(RuntimeError(f"a whole answer of {step.status} after bytes of another answer have left"))
        self.answered = step.status
        self.finish(step.status)
        self.deliver(step)

    def abort(self, why: str) -> None:
        if not self.answered:
            logger.error("an answer is withheld: %s", why)
            return self.answer(self.error_reply())
        logger.error("an answer is cut: %s", why)
        self.proxy.stats.aborts += 1
        self.finish(self.answered)
        self.cut(why)

    def broken(self, bug: BaseException) -> None:
        """Something inside the proxy failed, which is no fault of the client's."""
        if self.over:
            logger.error("an exchange failed after its end", exc_info=bug)
            return
        logger.error("an exchange failed", exc_info=bug)
        self.proxy.stats.bugs += 1
        self.close_exchange()
        if self.answered:
            self.proxy.stats.aborts += 1
            self.finish(self.answered)
            self.cut("an internal error")
        else:
            self.answer(self.error_reply())

    def error_reply(self) -> Reply:
        error = EsproxyError("the proxy failed; its log says why")
        return reply(error, product=self.proxy.gateway.product, head=self.method == "HEAD")

    # --- from procedures -----------------------------------------------------------------------------

    def resumed(self, outcome: Outcome | BaseException, flight: Flight | None = None) -> None:
        """``flight``: the procedure's call whose answer goes on here; it is paused."""
        self.run = None
        if self.over:
            return
        if flight is not None:
            self.flight, self.paused = flight, True
            self.call += 1
        try:
            step = self.exchange.resume(outcome)
        except Exception as bug:
            return self.broken(bug)
        self.carry_out(step)

    # --- from the engine: its Sink ---------------------------------------------------------------------

    def may_send(self, now: float) -> bool:
        try:
            return self.exchange.may_send(now)
        except Exception:
            logger.exception("an exchange failed when it was asked whether it may be sent")
            return False

    def open_answer(self, head: AnswerHead, attempt: int, chunk: bytes = b"", last: bool = False) -> None:
        if last:
            self.flight = None
            self.call += 1
        try:
            step = self.exchange.open_answer(head, attempt, chunk, last)
        except Exception as bug:
            return self.broken(bug)
        self.carry_out(step)

    def feed_answer(self, chunk: bytes, last: bool) -> None:
        if self.over:
            return
        if last:
            self.flight = None
            self.call += 1
        try:
            step = self.exchange.feed_answer(chunk, last)
        except Exception as bug:
            return self.broken(bug)
        self.carry_out(step)

    def fail_answer(self, failure: Failure) -> None:
        if self.over:
            return
        self.flight = None
        self.call += 1
        self.proxy.note(failure)
        try:
            step = self.exchange.fail_answer(failure)
        except Exception as bug:
            return self.broken(bug)
        self.carry_out(step)

    def writable(self, yes: bool) -> None:
        self.blocked = not yes
        if not self.over and self.flight is not None:  # inside ``start`` it is not there yet
            self.balance()

    # --- what follows from all that --------------------------------------------------------------------

    def balance(self) -> None:
        """Read what is wanted and can be taken, pause the rest, and find out an exchange that fell silent."""
        wants = self.exchange.wants
        flight = self.flight
        if flight is not None:
            paused = self.stalled or not wants & ANSWER
            if paused is not self.paused:
                self.paused = paused
                if paused:
                    flight.pause()
                else:
                    flight.resume()
        elif self.run is None and (self.uploaded or not wants & BODY):
            return self.broken(RuntimeError("the exchange fell silent: it wants nothing and has nothing under way"))
        if not self.uploaded:
            held = self.blocked or not wants & BODY
            if held is not self.body_held:
                self.body_held = held
                self.hold_body(held)

    def end_flight(self) -> None:
        if self.flight is not None:
            flight, self.flight = self.flight, None
            self.call += 1
            flight.cancel()

    def finish(self, status: int) -> None:
        """The exchange is over; what is under way for it ends."""
        self.over = True
        self.end_flight()
        if self.run is not None:
            run, self.run = self.run, None
            run.leave(self)
        stats = self.proxy.stats
        stats.in_flight -= 1
        stats.ended(self.method, status, time.monotonic() - self.began)

    def close_exchange(self) -> None:
        """Tell the exchange that it ends before its time."""
        if self.exchange is not None:
            try:
                self.exchange.close()
            except Exception:
                logger.exception("an exchange failed while it was closed")
