"""The ASGI shell: ``uvicorn esproxy.serve.asgi:app`` and any other ASGI server.

``app`` is a Starlette application without routes: its default handler is the data endpoint. Requests go to it straight from
``__call__`` unless somebody has added middleware or routes, because Starlette's stack costs more per request than the proxy
itself. The lifespan makes everything from the configuration that ``ESPROXY_CONFIG`` names.

A request is one ``Responder``, which is its driver (``driver.py``). Its coroutine reads the first part of the body, begins,
waits for steps and writes them; one whose head has come before can go straight (``asgi_short.py``). The common request has no
task beside the server's own. Only a longer body has a *reader* task, which feeds the rest and then waits for the client to leave;
for a short one the ``Patrol`` starts a reader when the answer takes longer than a round of it, so that a client that leaves ends
what runs upstream for it.

The raw target is used, never the decoded path. ``Expect: 100-continue`` is the server's: it answers 100 when the body is
first asked for, which is after the Gateway has seen the head. An answer is cut by an exception after the response has
started. HTTP/1.0 clients cannot tell a cut answer from a whole one (no chunks), so theirs is spooled and sent with its
length.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.types import Message, Receive, Scope, Send

from esproxy.config import Limits, Settings
from esproxy.errors import Failed, Refusal
from esproxy.exchange import Release, Reply, Write
from esproxy.heads import AnswerHead, Head
from esproxy.known import KnownHeads
from esproxy.replies import reply
from esproxy.serve.asgi_short import ScopeHeads, go
from esproxy.serve.coding import Inflater, uncoded
from esproxy.serve.driver import Driver, Proxy
from esproxy.serve.framing import MAX_HEAD, close_spool, size_of, too_long
from esproxy.serve.lifespan import lifespan
from esproxy.serve.responses import AnswerCut, Response
from esproxy.spool import NoRoom

if TYPE_CHECKING:
    from esproxy.serve.sweeper import Sweeper

HIGH, LOW = 512 << 10, 128 << 10  # bytes that wait for a slow client: upstream reading stops, and goes on
ROUND = 0.05  # seconds


class Responder(Driver):
    """One request: a shell's object and its driver."""

    __slots__ = ("app", "cut_off", "gate", "gone", "queued", "reader", "receive", "steps", "wake")

    def __init__(self, app: DataApp, proxy: Proxy, method: str, receive: Receive) -> None:
        super().__init__(proxy, method)
        self.app = app
        self.receive = receive
        self.steps: deque[Write | Reply | Release] = deque()
        self.queued = 0  # bytes in steps
        self.wake: asyncio.Future[None] | None = None  # the writer waits for a step
        self.gate: asyncio.Future[None] | None = None  # the reader waits until the body is wanted
        self.reader: asyncio.Task[None] | None = None
        self.gone = False  # the client is
        self.cut_off: str | None = None

    async def respond(self, scope: Scope, send: Send) -> None:
        head, plain = self.app.heads.of(scope)
        response = Response(head, scope, send, self.app)
        try:
            await self.receive_first(head, plain)
            await self.write_out(response)
        except asyncio.CancelledError:  # the server ends and waits no longer
            if self.gone:
                raise
            self.refuse(Failed("the proxy is stopping"))
            await self.write_out(response)
        finally:
            if self.reader is not None:
                self.reader.cancel()
            response.close()
            for step in self.steps:
                if isinstance(step, Release):
                    close_spool(step)
            self.leave()  # nothing, unless something was raised

    # --- the body ----------------------------------------------------------------------------------

    async def receive_first(self, head: Head, plain: bool) -> None:
        """Begin with the first part of the body; leave the rest to a reader. ``plain``: the head needs no closer look."""
        inflater: Inflater | None = None
        expects = False
        if not plain:
            if size_of(head) > MAX_HEAD:
                return self.refuse(too_long())
            for name, _ in head.headers:
                if name == b"content-encoding" and inflater is None:
                    try:
                        inflater = uncoded(head, self.app.limits.max_inflate)
                    except Refusal as error:
                        return self.refuse(error)
                elif name == b"expect":
                    expects = True
        chunk, last = b"", False
        if not expects:
            message = await self.receive()
            if message["type"] != "http.request":
                return self.disconnected()
            chunk, last = message.get("body", b""), not message.get("more_body", False)
        if inflater is None:
            if not (plain and last and go(self, head, chunk)):
                self.begin(head, chunk, last)
            rest = not last
        else:
            try:
                inflater.feed(chunk)
                chunk = inflater.take()
            except Refusal as error:
                return self.refuse(error)
            whole = last and inflater.whole
            self.begin(head, chunk, whole)
            rest = not whole
        if self.over:
            return
        if rest:
            self.reader = asyncio.create_task(self.read(inflater, last))
        else:
            self.app.patrol.add(self)

    async def read(self, inflater: Inflater | None, last: bool) -> None:
        """The reader: the rest of the body, then the end of the client."""
        try:
            if inflater is not None:
                await self.feed_inflated(inflater, last)
            while not last:
                await self.body_wanted()
                message = await self.receive()
                if message["type"] != "http.request":
                    return self.disconnected()
                chunk, last = message.get("body", b""), not message.get("more_body", False)
                if inflater is None:
                    self.feed(chunk, last)
                else:
                    inflater.feed(chunk)
                    await self.feed_inflated(inflater, last)
            await self.watch()
        except Refusal as error:
            self.refuse(error)
        except Exception as bug:
            self.broken(bug)

    async def feed_inflated(self, inflater: Inflater, last: bool) -> None:
        """Feed what has been read so far, a step at a time."""
        if self.uploaded:
            return
        while True:
            await self.body_wanted()
            chunk = inflater.take()
            if last and inflater.whole:
                return self.feed(chunk, True)
            if not chunk:
                if last:
                    inflater.check_end()
                return
            self.feed(chunk, False)

    async def body_wanted(self) -> None:
        while self.body_held and not self.over:
            self.gate = asyncio.get_running_loop().create_future()
            await self.gate

    def hold_body(self, yes: bool) -> None:
        if not yes and self.gate is not None and not self.gate.done():
            self.gate.set_result(None)

    async def watch(self) -> None:
        """Wait until the client leaves. The server's word for it also comes after the answer, when it means nothing."""
        while (await self.receive())["type"] == "http.request":
            pass
        self.disconnected()

    def watch_from_now(self) -> None:
        if self.reader is None and not self.over:
            self.reader = asyncio.create_task(self.read(None, True))

    def disconnected(self) -> None:
        self.gone = True
        self.leave()
        self.wake_writer()

    # --- the answer ----------------------------------------------------------------------------------

    def deliver(self, step: Write | Reply | Release) -> None:
        self.steps.append(step)
        if isinstance(step, Write) and not step.last:
            self.queued += len(step.data)
            if self.queued > HIGH and not self.stalled:
                self.stall(True)
        self.wake_writer()

    def cut(self, why: str) -> None:
        self.cut_off = why
        self.wake_writer()

    def wake_writer(self) -> None:
        if self.wake is not None and not self.wake.done():
            self.wake.set_result(None)

    async def write_out(self, response: Response) -> None:
        """Write steps as they come, until the last one, the end of the client, or a cut."""
        steps = self.steps
        while True:
            while not steps and not self.gone and self.cut_off is None:
                self.wake = asyncio.get_running_loop().create_future()
                await self.wake
            if self.cut_off is not None:
                return await response.cut(self.cut_off, self.error_reply())
            if self.gone:
                return
            step = steps.popleft()
            if isinstance(step, Reply):
                return await response.whole(step.status, step.headers, step.body, self.uploaded)
            if isinstance(step, Release):
                return await response.release(step, self.uploaded)
            if step.last and step.head is not None:
                return await response.whole(step.head.status, step.head.headers, step.data, self.uploaded, step.head.length)
            try:
                await response.part(step, self.uploaded)
            except NoRoom as error:
                if self.over:
                    return await response.cut(error.reason, self.error_reply())
                self.refuse(error)
                continue
            if step.last:
                return
            self.queued -= len(step.data)
            if self.stalled and self.queued <= LOW:
                self.stall(False)


class Patrol:
    """Starts to watch the clients of requests that take longer than a round. Costs nothing while there are none."""

    def __init__(self) -> None:
        self.new: set[Responder] = set()
        self.old: set[Responder] = set()
        self.timer: asyncio.TimerHandle | None = None

    def add(self, responder: Responder) -> None:
        self.new.add(responder)
        if self.timer is None:
            self.timer = asyncio.get_running_loop().call_later(ROUND, self.walk)

    def discard(self, responder: Responder) -> None:
        self.new.discard(responder)
        self.old.discard(responder)

    def walk(self) -> None:
        for responder in self.old:
            responder.watch_from_now()
        self.old, self.new = self.new, set()
        self.timer = asyncio.get_running_loop().call_later(ROUND, self.walk) if self.old else None


class DataApp(Starlette):
    """The data plane as an ASGI application. Without ``proxy`` the lifespan makes one from ``settings`` or ``ESPROXY_CONFIG``."""

    def __init__(
        self,
        proxy: Proxy | None = None,
        settings: Settings | None = None,
        lifespan: Callable[[DataApp], AbstractAsyncContextManager[Any]] = lifespan,
    ) -> None:
        super().__init__(lifespan=lifespan)
        self.proxy = proxy
        self.settings = settings
        self.limits = settings.limits if settings is not None else Limits()
        self.heads = ScopeHeads()
        self.patrol = Patrol()
        self.sweeper: Sweeper | None = None  # where esproxy's own protocol class serves
        self.known: KnownHeads[Head] = KnownHeads()  # of clients, there
        self.draining = False  # answers tell clients to close their connection
        self.router.default = self.serve

    @property
    def bare(self) -> bool:
        """Nobody has added anything to the data endpoint."""
        return not self.user_middleware and not self.router.routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self.bare:
            await self.serve(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The data endpoint."""
        if scope["type"] != "http":
            return await refuse_websocket(send)
        if self.proxy is None:
            return await without_proxy(scope, send)
        responder = Responder(self, self.proxy, scope["method"], receive)
        try:
            await responder.respond(scope, send)
        finally:
            self.patrol.discard(responder)


async def without_proxy(scope: Scope, send: Send) -> None:
    """The server runs no lifespan, or has not finished it."""
    answer = reply(Failed("the proxy has not started"), product=False, head=scope["method"] == "HEAD")
    await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
    await send({"type": "http.response.body", "body": answer.body})


async def refuse_websocket(send: Callable[[Message], Any]) -> None:
    await send({"type": "websocket.close", "code": 1000})


app = DataApp()

__all__ = ["AnswerCut", "AnswerHead", "DataApp", "Patrol", "Responder", "app"]
