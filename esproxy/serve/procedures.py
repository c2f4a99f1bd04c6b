"""Runs procedures: generators that yield upstream calls and waits, and end with an outcome.

A ``Run`` is one procedure under way. It is advanced from the engine's callbacks and the loop's timers; there is no task.
Exchanges *join* a run and are told its outcome by ``resumed``. A run with a key is shared by all who need the same and
outlives them, so a client that leaves does not stop what others will need; a run without one ends with its client.

An answer above a call's window goes on after the procedure: its collector pauses the call and gives what came; when the procedure
ends with ``Onward``, the one who joined becomes the call's sink, and any other end or call cancels it.

States of a run: NEW → RUNNING → OVER. At its end a run first leaves the table of shared runs and only then tells those who
joined: whoever needs the same again starts anew. An exception that leaves the generator is the outcome of all who joined.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Hashable
from io import BytesIO
from typing import Protocol, TypeVar

from esproxy.budget import FREE, Claim, tree_cost
from esproxy.catalogue.store import Steps
from esproxy.errors import EsproxyError, Failed, Refusal, UpstreamFailed
from esproxy.exchange import GO, Answer, Call, Calls, Go, Need, Onward, Outcome, Procedure, Reply, Send, Until, Wait
from esproxy.heads import AnswerHead
from esproxy.upstream.engine_api import EngineLike, Failure, Flight, Sink

logger = logging.getLogger("esproxy.serve")
T = TypeVar("T")


class Waiter(Sink, Protocol):
    def resumed(self, outcome: Outcome | BaseException, flight: Flight | None = None) -> None: ...


class Procedures:
    """All runs of a process."""

    def __init__(self, engine: EngineLike) -> None:
        self.engine = engine
        self.shared: dict[Hashable, Run] = {}

    def find(self, need: Need) -> Run:
        """The run for a need: the one under way with the same key, or a new one, which starts when it is joined."""
        if need.key is None:
            return Run(self, need.procedure, None)
        run = self.shared.get(need.key)
        if run is None:
            run = self.shared[need.key] = Run(self, need.procedure, need.key)
        elif run.procedure is not need.procedure:
            need.procedure.close()
        return run

    def close(self) -> None:
        """End the shared runs; the others end with their exchanges."""
        for run in list(self.shared.values()):
            run.cancel()


class Run:
    __slots__ = ("calls", "key", "over", "paused", "procedure", "procedures", "started", "timer", "trees", "waiters")

    def __init__(self, procedures: Procedures, procedure: Procedure, key: Hashable | None) -> None:
        self.procedures = procedures
        self.procedure = procedure
        self.key = key
        self.waiters: list[Waiter] = []
        self.calls: list[Collector] = []
        self.trees: list[Collector] = []  # that hold a claim until the procedure has ended
        self.paused: Collector | None = None  # there is more of its answer
        self.timer: asyncio.TimerHandle | None = None
        self.started = False
        self.over = False

    def join(self, waiter: Waiter) -> None:
        self.waiters.append(waiter)
        if not self.started:
            self.started = True
            self.advance(None)

    def leave(self, waiter: Waiter) -> None:
        """The client is gone."""
        if waiter in self.waiters:
            self.waiters.remove(waiter)
        if self.key is None and not self.over:
            self.cancel()

    def cancel(self) -> None:
        """End the procedure where it stands, with what it has under way. Nobody is told."""
        self.over = True
        self.forget()
        self.waiters.clear()
        if self.timer is not None:
            self.timer.cancel()
        for call in self.calls:
            call.cancel()
        self.drop_trees()
        self.drop_rest()
        try:
            self.procedure.close()
        except Exception:
            logger.exception("a procedure failed while it was ended")

    def forget(self) -> None:
        if self.key is not None and self.procedures.shared.get(self.key) is self:
            del self.procedures.shared[self.key]

    def drop_trees(self) -> None:
        for call in self.trees:
            call.release()
        self.trees.clear()

    def drop_rest(self) -> None:
        if self.paused is not None:
            paused, self.paused = self.paused, None
            paused.cancel()

    def advance(self, value: object) -> None:
        """Give the procedure what it asked for, and do what it asks for next."""
        try:
            wish = self.procedure.throw(value) if isinstance(value, BaseException) else self.procedure.send(value)
        except StopIteration as end:
            outcome = end.value
            if not isinstance(outcome, (Reply, Go)) and not (isinstance(outcome, Onward) and self.paused and self.key is None):
                outcome = TypeError(f"a procedure cannot end with {outcome!r}")
            return self.end(outcome)
        except Exception as error:
            return self.end(error)
        try:
            self.carry_out(wish)
        except Exception as error:  # a wish that is none, a call that the engine does not take: the procedure hears of it
            self.advance(error)

    def carry_out(self, wish: object) -> None:
        if isinstance(wish, Call):
            self.start([wish], lambda answers: answers[0])
        elif isinstance(wish, Calls):
            if wish.calls:
                self.start(wish.calls, lambda answers: answers)
            else:
                self.advance([])
        elif isinstance(wish, Until):
            loop = asyncio.get_running_loop()
            wish.tell(lambda: loop.call_soon(self.told))  # whoever calls is in the middle of something else
        elif isinstance(wish, Wait):
            self.timer = asyncio.get_running_loop().call_later(wish.seconds, self.wait_is_over)
        else:
            raise TypeError(f"a procedure cannot yield {wish!r}")

    def told(self) -> None:
        if not self.over:
            self.advance(None)

    def wait_is_over(self) -> None:
        self.timer = None
        self.advance(None)

    def start(self, wanted: list[Call], shape: Callable[[list[Answer]], object]) -> None:
        """Start calls; when all have ended, go on with their answers, or with the first failure among them."""
        waiting = len(wanted)

        def ended() -> None:
            nonlocal waiting
            waiting -= 1
            if waiting or self.over:
                return
            self.calls = []
            failure = next((call.failure for call in calls if call.failure is not None), None)
            refusal = next((call.refusal for call in calls if call.refusal is not None), None)
            if failure is not None:
                self.advance(UpstreamFailed(failure.what, failure.detail))
            elif refusal is not None:
                self.advance(refusal)
            else:
                self.trees += [call for call in calls if call.tree]
                if len(calls) == 1 and calls[0].more:
                    self.drop_rest()
                    self.paused = calls[0]
                self.advance(shape([call.answer() for call in calls]))

        calls = self.calls = [Collector(call, ended, alone=len(wanted) == 1) for call in wanted]
        try:
            for call, one in zip(calls, wanted, strict=True):
                if not self.over:
                    call.start(self.procedures.engine, one.send)
        except Exception:
            for call in calls:
                call.cancel()
            raise

    def end(self, outcome: Outcome | BaseException) -> None:
        self.over = True
        self.forget()
        if isinstance(outcome, BaseException) and not isinstance(outcome, EsproxyError):
            logger.error("a procedure failed: %s", self.procedure.__qualname__, exc_info=outcome)
        elif isinstance(outcome, Failed) and not isinstance(outcome, UpstreamFailed) and outcome.detail:
            logger.warning("a procedure failed: %s: %s: %s", self.procedure.__qualname__, outcome, outcome.detail)
        waiters, self.waiters = self.waiters, []
        if isinstance(outcome, Onward) and waiters:
            assert self.paused is not None
            return self.paused.hand_over(waiters[0], outcome)
        self.drop_rest()
        self.drop_trees()
        for waiter in waiters:
            waiter.resumed(outcome)


async def carry_out(procedures: Procedures, steps: Steps[T]) -> T:
    """Run these steps, which are no exchange's, and return their value. Cancelling it ends them."""
    done = _Done()
    values: list[T] = []

    def procedure() -> Procedure:
        values.append((yield from steps))
        return GO

    run = procedures.find(Need(procedure()))
    run.join(done)
    try:
        await done.future
    except asyncio.CancelledError:
        run.leave(done)
        raise
    return values[0]


class _Done:
    """Waits for one run, as a coroutine."""

    def __init__(self) -> None:
        self.future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def resumed(self, outcome: Outcome | BaseException, flight: Flight | None = None) -> None:
        if self.future.done():
            return
        if isinstance(outcome, BaseException):
            self.future.set_exception(outcome)
        else:
            self.future.set_result(None)


class Collector:
    """The sink of one call of a procedure: gathers a whole answer up to a limit, or what comes first of a larger one.

    GATHER ── last ──▶ OVER
       └── beyond the window: ``more``, the call is paused ──▶ hand_over: everything goes to another sink
    """

    __slots__ = (
        "attempt", "body", "claim", "ended", "failure", "first", "flight", "head", "kept", "limit", "make_claim", "more",
        "over", "refusal", "sink", "size", "tree", "window",
    )  # fmt: skip

    def __init__(self, call: Call, ended: Callable[[], None], *, alone: bool) -> None:
        self.make_claim = call.claim
        self.claim: Claim | None = None
        self.tree = call.tree
        self.limit = call.limit
        self.window = call.window if alone else None
        self.ended = ended
        self.flight: Flight | None = None
        self.head: AnswerHead | None = None
        self.attempt = 1
        self.first = b""
        self.body: BytesIO | None = None  # with the first piece, once there is another
        self.size = 0
        self.failure: Failure | None = None
        self.refusal: EsproxyError | None = None  # there is no memory for it
        self.over = False
        self.more = False
        self.kept: list[tuple[bytes, bool]] = []  # that came while the call was being paused
        self.sink: Waiter | None = None

    def start(self, engine: EngineLike, send: Send) -> None:
        flight = engine.start(send, self)
        if not self.over:
            self.flight = flight

    def cancel(self) -> None:
        self.release()
        if not self.over:
            self.over = True
            if self.flight is not None:
                self.flight.cancel()

    def release(self) -> None:
        if self.claim is not None:
            claim, self.claim = self.claim, None
            claim.release()

    def answer(self) -> Answer:
        """What came, given away without a copy. Where there is more, it goes on under the same claim, as a tree does."""
        assert self.head is not None
        body = self.first if self.body is None else self.body.getvalue()
        self.first, self.body = b"", None
        if not self.more and not self.tree:
            self.release()
        return Answer(self.head.status, self.head.headers, body, self.more, self.attempt)

    def hand_over(self, sink: Waiter, outcome: Onward) -> None:
        """From here on the call is the sink's, and what has come meanwhile is told it."""
        self.sink = sink
        outcome.claim, self.claim = self.claim, None
        kept, self.kept = self.kept, []
        sink.resumed(outcome, self.flight)
        for chunk, last in kept:
            sink.feed_answer(chunk, last)
        if self.failure is not None:
            sink.fail_answer(self.failure)

    # the engine's Sink

    def may_send(self, now: float) -> bool:
        return True

    def open_answer(self, head: AnswerHead, attempt: int, chunk: bytes = b"", last: bool = False) -> None:
        self.head, self.attempt = head, attempt
        self.first, self.body, self.size = b"", None, 0
        self.feed_answer(chunk, last)

    def feed_answer(self, chunk: bytes, last: bool) -> None:
        if self.sink is not None:
            return self.sink.feed_answer(chunk, last)
        self.over = last
        if self.more:
            self.kept.append((chunk, last))
            return
        self.gather(chunk)
        if last:
            if self.size > self.limit:
                return self.fail_answer(Failure("overflow", f"more than {self.limit} bytes"))
            if self.tree and self.claim is not None and self.body is not None:
                self.afford(tree_cost(self.body.getvalue()))
            self.ended()
        elif self.window is not None and self.size > self.window and self.is_good() and self.flight is not None:
            self.more = True
            self.flight.pause()
            self.ended()
        elif self.make_claim is not None and self.claim is None and self.size > FREE and self.flight is not None:
            self.claim = self.make_claim()
            if not self.claim.granted:
                loop = asyncio.get_running_loop()
                self.flight.pause()
                self.claim.tell(lambda: loop.call_soon(self.go_on))
        elif self.size > self.limit:
            if self.flight is not None:
                self.flight.cancel()
            self.fail_answer(Failure("overflow", f"more than {self.limit} bytes"))
        elif self.tree and self.claim is not None and self.size > self.claim.size and not self.afford(2 * self.size):
            if self.flight is not None:
                self.flight.cancel()
            self.over = True
            self.ended()

    def gather(self, chunk: bytes) -> None:
        """Small answers come in one piece, which is kept as it is."""
        if not self.size:
            self.first = chunk
        else:
            if self.body is None:
                self.body = BytesIO()
                self.body.write(self.first)
                self.first = b""
            self.body.write(chunk)
        self.size += len(chunk)

    def afford(self, size: int) -> bool:
        """Let the claim grow, or note why it cannot."""
        assert self.claim is not None
        try:
            self.claim.grow(size)
        except Refusal as refusal:
            self.release()
            self.refusal = refusal
        return self.refusal is None

    def go_on(self) -> None:
        """The claim is granted."""
        if not self.over and not self.more and self.flight is not None:
            self.flight.resume()

    def is_good(self) -> bool:
        """Errors are restored whole."""
        assert self.head is not None
        return self.head.status < 300

    def fail_answer(self, failure: Failure) -> None:
        if self.sink is not None:
            return self.sink.fail_answer(failure)
        self.release()
        self.failure = failure
        self.over = True
        if not self.more:
            self.ended()

    def writable(self, yes: bool) -> None:
        """The whole body is in the Send: there is nothing to hold back."""
