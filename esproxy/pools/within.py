"""Requests that the proxy makes for a client within one of the client's own, each as the client itself could have made it.

Such a request is an exchange of its own, from its head on: identified, resolved, rewritten, restored and verified like any, in
whichever layout its indices lie. So what is put together of several requests can do nothing that the client could not have done,
and knows nothing that it could not have been told. Only its answer is held whole, however large: it goes nowhere else.
"""

from __future__ import annotations

from typing import Any, Protocol, cast

from esproxy.api.target import build
from esproxy.catalogue.store import Steps
from esproxy.errors import EsproxyError, UpstreamFailed
from esproxy.exchange import Abort, Answer, Call, Calls, Need, Outcome, Procedure, Release, Reply, Send, Step, Write
from esproxy.heads import AnswerHead, Head
from esproxy.pools.pooled import Pooled
from esproxy.upstream.engine_api import Failure, What

# Of the body that the client sent, and of the answer that it wants.
LEFT_OUT = frozenset(
    (b"content-type", b"content-length", b"content-encoding", b"accept", b"accept-encoding", b"transfer-encoding", b"expect")
)


class Begun(Protocol):
    """An exchange."""

    def feed(self, chunk: bytes, last: bool) -> Step | None: ...
    def open_answer(self, head: AnswerHead, attempt: int, chunk: bytes = b"", last: bool = False) -> Step | None: ...
    def fail_answer(self, failure: Failure) -> Step | None: ...
    def resume(self, outcome: Outcome | BaseException) -> Step | None: ...
    def close(self) -> None: ...


def ask(
    request: Pooled,
    method: str,
    path: list[str],
    query: dict[str, str] | None = None,
    body: bytes = b"",
    media: bytes = b"application/json",
) -> Steps[tuple[int, bytes]]:
    """Status and body of what the client would be answered. Raises UpstreamFailed where it would have been cut, or is larger
    than is held."""
    headers = [(name, value) for name, value in request.plan.head.headers if name not in LEFT_OUT]
    if body:
        headers += [(b"content-type", media), (b"content-length", b"%d" % len(body))]
    head = Head(method, build(path, query or {}), headers, request.plan.head.peer)
    assert request.pools.begin is not None
    exchange = request.pools.begin(head)
    try:
        step = exchange.feed(body, True)
        while True:
            if isinstance(step, Need):
                step = exchange.resume((yield from _outcome(step.procedure)))
            elif isinstance(step, Send):
                step = yield from _answered(request, exchange, step)
            else:
                return _told(step)
    finally:
        exchange.close()


def _outcome(procedure: Procedure) -> Steps[Outcome | EsproxyError]:
    try:
        return (yield from _held(procedure))
    except EsproxyError as error:
        return _unless_too_large(error)


def _unless_too_large(error: EsproxyError) -> EsproxyError:
    """Who asked may ask for less."""
    if isinstance(error, UpstreamFailed) and error.what == "overflow":
        raise error
    return error


def _held(procedure: Procedure) -> Steps[Outcome]:
    """Run a procedure; no answer is given before it is whole, nor kept in account longer than it is read."""
    told: Any = None
    failed: EsproxyError | None = None
    try:
        while True:
            try:
                wish = procedure.send(told) if failed is None else procedure.throw(failed)
            except StopIteration as end:
                outcome: Outcome = end.value
                return outcome
            told, failed = None, None
            for call in [wish] if isinstance(wish, Call) else wish.calls if isinstance(wish, Calls) else []:
                call.window, call.tree = None, False
            try:
                told = yield wish  # type: ignore[misc]
            except EsproxyError as error:
                failed = error
    finally:
        procedure.close()


def _answered(request: Pooled, exchange: Begun, send: Send) -> Steps[Step | None]:
    try:
        answer: Answer = yield Call(send, request.pools.max_body, None, request.claim)
    except UpstreamFailed as error:
        _unless_too_large(error)
        return exchange.fail_answer(Failure(cast(What, error.what), error.detail))
    return exchange.open_answer(AnswerHead(answer.status, answer.headers), answer.attempt, answer.body, True)


def _told(step: Step | None) -> tuple[int, bytes]:
    if isinstance(step, Reply):
        return step.status, step.body
    if isinstance(step, Release):
        return step.status, b"".join(step.parts)
    if isinstance(step, Write) and step.last and step.head is not None:
        return step.head.status, step.data
    raise UpstreamFailed("broken", step.why if isinstance(step, Abort) else repr(type(step)))
