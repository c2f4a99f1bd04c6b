"""What an engine is to those who use it: ``start`` an upstream call, and be called back.

Two engines implement this: ``client.Engine`` (own connections over asyncio/uvloop with httptools) and
``plain.HttpxEngine`` (a stock httpx.AsyncClient), each other's reference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from esproxy.exchange import AnswerHead, Send

What = Literal["connect", "timeout", "broken", "refused", "overflow"]


@dataclass(slots=True, frozen=True)
class Failure:
    """Why an upstream call has no (whole) answer.

    ``connect``: no node could be reached. ``timeout``: a node did not answer in time. ``broken``: the connection
    ended early or the answer was no HTTP. ``refused``: the sink's ``may_send`` said no. ``overflow``: an answer
    above the caller's limit.
    """

    what: What
    detail: str = ""


class Sink(Protocol):
    """Who is called back. All calls come from the event loop's thread, none after ``cancel``, and after
    ``last`` or ``fail_answer`` no more."""

    def may_send(self, now: float) -> bool: ...
    def open_answer(self, head: AnswerHead, attempt: int, chunk: bytes = b"", last: bool = False) -> None: ...
    def feed_answer(self, chunk: bytes, last: bool) -> None: ...
    def fail_answer(self, failure: Failure) -> None: ...
    def writable(self, yes: bool) -> None: ...  # back-pressure of the upload


class Flight(Protocol):
    """One upstream call under way."""

    def more(self, data: bytes, last: bool) -> None: ...
    def pause(self) -> None: ...  # stop reading the answer
    def resume(self) -> None: ...
    def cancel(self) -> None: ...


class EngineLike(Protocol):
    def start(self, send: Send, sink: Sink) -> Flight: ...
    async def aclose(self) -> None: ...
