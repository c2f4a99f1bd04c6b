"""What an engine is to those who use it: ``start`` an upstream call, and be called back.

Two engines implement this: ``client.Engine`` (own connections over asyncio/uvloop with httptools) and
``plain.HttpxEngine`` (a stock httpx.AsyncClient), each other's reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from esproxy.exchange import Send
from esproxy.heads import AnswerHead

if TYPE_CHECKING:
    from esproxy.upstream.prepared import Prepared

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
    ``last`` or ``fail_answer`` no more. Inside ``start`` only ``may_send`` and ``writable`` are called.

    ``attempt`` is 1, or 2 when the request was sent a second time. ``head.length`` and the headers are as the node
    sent them; the answers to HEAD, 204 and 304 have no body whatever their length says. An answer may open before
    the upload is done (an early 413): what ``more`` brings after that is dropped. A sink that raises loses its call:
    the connection is closed and the error goes to the loop's exception handler."""

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


class ReportsLike(Protocol):
    def report(self) -> dict[str, Any]: ...  # counters and node states, ready for JSON


class EngineLike(Protocol):
    @property
    def clusters(self) -> Mapping[str, ReportsLike]: ...

    """``start`` raises KeyError for an unknown cluster, ValueError for a Send that cannot be written as HTTP (an
    unknown method, a line break in a header). Of a Send's headers those that are the engine's are left out: Host,
    framing, connection handling, and whatever the cluster's own credentials and headers name."""

    def start(self, send: Send, sink: Sink) -> Flight: ...

    def prepared(self, send: Send) -> Prepared | None:
        """For calls that differ in their body alone, see ``esproxy/serve/short.py``. None: there is no shorter way here."""

    async def aclose(self) -> None: ...
