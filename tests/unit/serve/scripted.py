"""A Gateway that does what a test says, an engine that records, and a shell that keeps what it is given."""

from __future__ import annotations

from collections import deque
from typing import Any

from esproxy.exchange import ANSWER, BODY, Reply, Send, Step, Write
from esproxy.heads import AnswerHead, Head
from esproxy.serve.driver import Driver, Proxy
from esproxy.upstream.engine_api import Failure

SEND = Send("main", "GET", b"/x", [])
OK = AnswerHead(200, [(b"content-type", b"application/json")], 2)


class ScriptedExchange:
    """Answers each call with the next step of a script; an exception in it is raised. Calls are recorded."""

    def __init__(self, script: list[Any], wants: int = BODY | ANSWER) -> None:
        self.script = deque(script)
        self.wants = wants
        self.calls: list[tuple[Any, ...]] = []
        self.sendable = True

    def next(self, *call: Any) -> Step | None:
        self.calls.append(call)
        step = self.script.popleft()
        if callable(step):
            step = step(self)
        if isinstance(step, BaseException):
            raise step
        return step

    def feed(self, chunk: bytes, last: bool) -> Step | None:
        return self.next("feed", chunk, last)

    def may_send(self, now: float) -> bool:
        return self.sendable

    def open_answer(self, head: AnswerHead, attempt: int, chunk: bytes = b"", last: bool = False) -> Step | None:
        return self.next("open_answer", head.status, chunk, last)

    def feed_answer(self, chunk: bytes, last: bool) -> Step | None:
        return self.next("feed_answer", chunk, last)

    def fail_answer(self, failure: Failure) -> Step | None:
        return self.next("fail_answer", failure.what)

    def resume(self, outcome: Any) -> Step | None:
        return self.next("resume", outcome)

    def close(self) -> None:
        self.calls.append(("close",))


class ScriptedGateway:
    product = False
    violations = 0
    unknown_keys = 0

    def __init__(self, script: list[Any], wants: int = BODY | ANSWER) -> None:
        self.exchange = ScriptedExchange(script, wants)
        self.head: Head | None = None

    def open(self, head: Head, chunk: bytes = b"", last: bool = False) -> tuple[ScriptedExchange, Step | None]:
        self.head = head
        return self.exchange, self.exchange.next("open", chunk, last)

    def shortcut(self, head: Head) -> None:
        """All goes the general way here."""


class RecordedFlight:
    def __init__(self, send: Send, sink: Any) -> None:
        self.send = send
        self.sink = sink
        self.calls: list[tuple[Any, ...]] = []

    def more(self, data: bytes, last: bool) -> None:
        self.calls.append(("more", data, last))

    def pause(self) -> None:
        self.calls.append(("pause",))

    def resume(self) -> None:
        self.calls.append(("resume",))

    def cancel(self) -> None:
        self.calls.append(("cancel",))

    def answer(self, body: bytes = b"{}", status: int = 200) -> None:
        self.sink.open_answer(AnswerHead(status, OK.headers, len(body)), 1, body, True)


class RecordingEngine:
    """``at_once``: called with the sink inside ``start``, for what ends before ``start`` returns."""

    def __init__(self, at_once: Any = None) -> None:
        self.flights: list[RecordedFlight] = []
        self.at_once = at_once
        self.closed = False
        self.clusters: dict[str, Any] = {}

    def start(self, send: Send, sink: Any) -> RecordedFlight:
        flight = RecordedFlight(send, sink)
        self.flights.append(flight)
        if self.at_once is not None:
            self.at_once(sink)
        return flight

    async def aclose(self) -> None:
        self.closed = True


class Shell(Driver):
    """Keeps what it is given."""

    __slots__ = ("cuts", "held", "steps")

    def __init__(self, proxy: Proxy, method: str = "GET") -> None:
        super().__init__(proxy, method)
        self.steps: list[Write | Reply] = []
        self.cuts: list[str] = []
        self.held: list[bool] = []

    def deliver(self, step: Write | Reply) -> None:
        self.steps.append(step)

    def cut(self, why: str) -> None:
        self.cuts.append(why)

    def hold_body(self, yes: bool) -> None:
        self.held.append(yes)


def driven(script: list[Any], *, engine: RecordingEngine | None = None, wants: int = BODY | ANSWER, method: str = "GET") -> Shell:
    """A shell whose exchange follows the script."""
    return Shell(Proxy(ScriptedGateway(script, wants), engine or RecordingEngine()), method)


def head(method: str = "GET", target: bytes = b"/x", headers: list[tuple[bytes, bytes]] | None = None) -> Head:
    return Head(method, target, headers or [])
