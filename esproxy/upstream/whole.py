"""A whole answer for one upstream call: what procedures and the control plane want.

``await call(engine, Call(send, limit))`` gives an Answer or raises UpstreamError with the Failure. An answer above the
limit is cut off as soon as that is known. Cancelling the awaiting task cancels the call, and the node sees us hang up.
"""

from __future__ import annotations

import asyncio

from esproxy.exchange import Answer, Call
from esproxy.heads import AnswerHead
from esproxy.upstream.engine_api import EngineLike, Failure, Flight


class UpstreamError(Exception):
    """An upstream call without a whole answer."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.what}: {failure.detail}" if failure.detail else failure.what)
        self.failure = failure


async def call(engine: EngineLike, what: Call) -> Answer:
    sink = _Whole(what.limit, asyncio.get_running_loop().create_future(), what.send.method == "HEAD")
    flight = sink.flight = engine.start(what.send, sink)
    try:
        return await sink.answer
    except asyncio.CancelledError:
        flight.cancel()
        raise


class _Whole:
    """Collects one answer. Nothing is told inside ``start``, so ``flight`` is set when it is needed."""

    flight: Flight

    def __init__(self, limit: int, answer: asyncio.Future[Answer], bodiless: bool) -> None:
        self.limit = limit
        self.answer = answer
        self.bodiless = bodiless
        self.head: AnswerHead | None = None
        self.parts: list[bytes] = []
        self.size = 0

    def may_send(self, now: float) -> bool:
        return True

    def open_answer(self, head: AnswerHead, attempt: int, chunk: bytes = b"", last: bool = False) -> None:
        self.head = head
        if not self.bodiless and head.length is not None and head.length > self.limit:
            self._overflow(last)
        else:
            self.feed_answer(chunk, last)

    def feed_answer(self, chunk: bytes, last: bool) -> None:
        self.size += len(chunk)
        if self.size > self.limit:
            self._overflow(last)
            return
        self.parts.append(chunk)
        if last and not self.answer.done():
            self.answer.set_result(Answer(self.head.status, self.head.headers, b"".join(self.parts)))

    def fail_answer(self, failure: Failure) -> None:
        if not self.answer.done():
            self.answer.set_exception(UpstreamError(failure))

    def writable(self, yes: bool) -> None:
        """The body is whole: there is nothing to hold back."""

    def _overflow(self, last: bool) -> None:
        if not last:
            self.flight.cancel()
        self.fail_answer(Failure("overflow", f"an answer above {self.limit} bytes"))
