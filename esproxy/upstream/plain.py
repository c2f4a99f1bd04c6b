"""The same engine over a stock ``httpx.AsyncClient``: ``[upstream] transport = "httpx"``, and the reference twin.

Far slower (a task, a request and a response object per call), and able to do what ours cannot: HTTP/2 and forward
proxies. Targets stay raw: httpx would normalise a URL, so the request gets a URL that knows its target. ``may_send`` is asked
from httpcore's trace, at the moment when a connection is there and the head is about to leave.

What differs, beyond the price: httpx trusts the node more (bytes that come with the end of an answer are the next answer to
it; ours closes the connection); an early answer is seen only once the upload has ended or failed, and lost when the node has
hung up on a large one; an answer's head is always told before its first part; connections are httpx's own, so a node's
report shows calls and not connections.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx

from esproxy.exchange import Send
from esproxy.heads import AnswerHead
from esproxy.spool import Spool
from esproxy.upstream.engine_api import Failure, Sink
from esproxy.upstream.node import Node
from esproxy.upstream.nodes import NodeSet, NoNode
from esproxy.upstream.request import OURS, header_lines
from esproxy.upstream.spec import ClusterSpec

PENDING = 64 << 10


class Refused(Exception):
    """The sink does not want it sent any more."""


class RawURL(httpx.URL):
    """A URL with the target as it is to be sent. (The ``target`` extension would end up in a proxy's CONNECT.)"""

    target: bytes

    @property
    def raw_path(self) -> bytes:
        return self.target


class PlainCluster:
    def __init__(self, name: str, spec: ClusterSpec, clock: Callable[[], float]) -> None:
        self.name = name
        self.spec = spec
        self.nodes = NodeSet(spec, clock)
        for node in self.nodes:
            node.max_connections = sys.maxsize  # httpx keeps the limit and the queue
        own = spec.own_headers()
        self.own = own
        self.ours = OURS | {name for name, _ in own}
        self.retries = 0
        wait = spec.answer_timeout
        self.client = httpx.AsyncClient(
            verify=spec.ssl_context() or False,  # None: no node is reached by TLS
            http2=spec.http2,
            proxy=spec.proxy,
            trust_env=False,
            timeout=httpx.Timeout(connect=spec.connect_timeout, read=wait, write=wait, pool=wait),
            limits=httpx.Limits(
                max_connections=spec.max_connections * len(spec.nodes),
                max_keepalive_connections=spec.max_connections * len(spec.nodes),
                keepalive_expiry=spec.idle_timeout,
            ),
        )

    def report(self) -> dict[str, Any]:
        nodes = [node.report() for node in self.nodes]
        return {"retries": self.retries, "waiting": 0, "in_flight": sum(node.load for node in self.nodes), "nodes": nodes}


class HttpxEngine:
    """``EngineLike`` over httpx."""

    def __init__(self, clusters: dict[str, ClusterSpec], clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.clusters = {name: PlainCluster(name, spec, clock) for name, spec in clusters.items()}
        self._flights: set[PlainFlight] = set()
        self._closing = False

    def start(self, send: Send, sink: Sink) -> PlainFlight:
        if self._closing:
            raise RuntimeError("the engine is closed")
        flight = PlainFlight(self, self.clusters[send.cluster], send, sink)
        self._flights.add(flight)
        flight.task.add_done_callback(lambda _: self._flights.discard(flight))
        return flight

    def prepared(self, send: Send) -> None:
        """Connections are httpx's."""

    async def aclose(self) -> None:
        self._closing = True
        flights = list(self._flights)
        for flight in flights:
            flight.end(Failure("broken", "the engine is closing"))
        await asyncio.gather(*(flight.task for flight in flights), return_exceptions=True)
        for cluster in self.clusters.values():
            await cluster.client.aclose()


async def _spooled(spool: Spool) -> AsyncIterator[bytes]:
    for part in spool.parts():
        yield part


class PlainFlight:
    """One call: a task, which sends, tells the sink, and repeats where that is allowed."""

    def __init__(self, engine: HttpxEngine, cluster: PlainCluster, send: Send, sink: Sink) -> None:
        header_lines(send, cluster.ours)  # the same sends are refused as by the other engine
        self.engine = engine
        self.cluster = cluster
        self.send = send
        self.sink = sink
        self.attempt = 0
        self.opened = self.done = False
        self.reading = asyncio.Event()
        self.reading.set()
        self.upload: deque[bytes] = deque([send.body] if type(send.body) is bytes and send.body else [])
        self.upload_size = 0
        self.upload_done = send.last
        self.upload_news = asyncio.Event()
        self.blocked = False
        self.task = asyncio.get_running_loop().create_task(self._run())

    # --- the caller's side

    def more(self, data: bytes, last: bool) -> None:
        if self.done or self.upload_done:
            return
        if data:
            self.upload.append(data)
            self.upload_size += len(data)
        self.upload_done = last
        self.upload_news.set()
        if self.upload_size > PENDING and not self.blocked and not last:
            self.blocked = True
            self.sink.writable(False)

    def pause(self) -> None:
        self.reading.clear()

    def resume(self) -> None:
        self.reading.set()

    def cancel(self) -> None:
        """From inside the sink, the task itself looks at ``done``: a cancel would hit its clean-up."""
        if not self.done:
            self.done = True
            if asyncio.current_task() is not self.task:
                self.task.cancel()

    def end(self, why: Failure) -> None:
        """Cancel, and say why."""
        if not self.done:
            self.cancel()
            self.sink.fail_answer(why)

    # --- the task

    async def _run(self) -> None:
        tried: tuple[Node, ...] = ()
        try:
            async with asyncio.timeout(self.cluster.spec.total_timeout):
                while (failure := await self._try(tried)) is not None:
                    if isinstance(failure, Node):
                        tried += (failure,)
                        continue
                    if failure.what == "broken" and self.send.held and self.attempt == 1 and not self.opened:
                        self.cluster.retries += 1
                        continue
                    self._fail(failure)
                    return
        except TimeoutError:
            self._fail(Failure("timeout", f"not done after {self.cluster.spec.total_timeout} s"))
        except Exception as error:  # the sink's, or a bug: the call is lost, the error is not
            self._fail(Failure("broken", type(error).__name__))
            asyncio.get_running_loop().call_exception_handler({"message": "an upstream call failed", "exception": error})

    def _fail(self, failure: Failure) -> None:
        if not self.done:
            self.done = True
            self.sink.fail_answer(failure)

    async def _try(self, tried: tuple[Node, ...]) -> Failure | Node | None:
        """One attempt: None when all is said, the Node when it cannot be connected to, else what went wrong."""
        try:
            node = self.cluster.nodes.choose(self.engine.clock(), tried)
        except NoNode:
            return Failure("connect", ", ".join(f"{node.address.url}: {node.last_error}" for node in tried))
        assert node is not None  # the limit is httpx's
        where = node.address.url
        node.opening += 1
        try:
            await self._talk(node)
            node.mark_live()
            return None
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            node.mark_dead(str(error) or type(error).__name__)
            return node
        except httpx.PoolTimeout:
            return Failure("timeout", f"no free connection for {self.cluster.spec.answer_timeout} s")
        except httpx.TimeoutException:
            node.timeouts += 1
            return Failure("timeout", f"{where}: nothing moved for {self.cluster.spec.answer_timeout} s")
        except Refused:
            return Failure("refused", "the sink does not want it sent any more")
        except httpx.HTTPError as error:
            node.broken += 1
            return Failure("broken", f"{where}: {error}")
        finally:
            node.opening -= 1

    async def _talk(self, node: Node) -> None:
        response = await self.cluster.client.send(self._request(node), stream=True)
        try:
            headers = [(name.lower(), value) for name, value in response.headers.raw]
            length = response.headers.get("content-length")
            coding = response.headers.get("transfer-encoding", "chunked")
            if coding.lower() != "chunked":
                raise httpx.RemoteProtocolError("an answer with a transfer-encoding other than chunked")
            self.upload_done = self.opened = True
            self._writable()
            head = AnswerHead(response.status_code, headers, None if length is None else int(length))
            self.sink.open_answer(head, self.attempt)
            await self.reading.wait()
            if not self.done:
                await self._read(response, node)
        finally:
            await response.aclose()
        if not self.done:
            self.done = True
            self.sink.feed_answer(b"", True)

    async def _read(self, response: httpx.Response, node: Node) -> None:
        async for data in response.aiter_raw():
            node.bytes_read += len(data)
            self.sink.feed_answer(data, False)
            await self.reading.wait()
            if self.done:
                return

    def _request(self, node: Node) -> httpx.Request:
        send, address = self.send, node.address
        kept = [pair for pair in send.headers if pair[0] not in self.cluster.ours]
        content: bytes | AsyncIterator[bytes] | None = self._parts()
        framing: list[tuple[bytes, bytes]] = []
        if type(send.body) is not bytes:
            content = _spooled(send.body)
            framing = [(b"content-length", b"%d" % len(send.body))]
        elif send.last:
            content = send.body if send.body else None
        extensions = {"trace": self._trace(node), "timeout": self.cluster.client.timeout.as_dict()}
        headers = [(b"host", address.netloc.encode()), *self.cluster.own, *kept, *framing]
        url = RawURL(scheme=address.scheme, host=address.host, port=address.port)
        url.target = address.prefix.encode() + send.target
        request = httpx.Request(send.method, url, headers=headers, content=content, extensions=extensions)
        request.url = url  # the constructor makes a plain one of it
        return request

    def _trace(self, node: Node) -> Callable[[str, dict[str, Any]], Any]:
        async def trace(event: str, info: dict[str, Any]) -> None:
            if event.endswith("send_request_headers.started") and info["request"].method != b"CONNECT":
                if not self.sink.may_send(self.engine.clock()) or self.done:
                    raise Refused
                self.attempt += 1
                node.attempts += 1

        return trace

    async def _parts(self) -> AsyncIterator[bytes]:
        """The body as it comes. The sink may go on when what it gave has been taken."""
        while True:
            while self.upload:
                yield self.upload.popleft()
            self.upload_size = 0
            self._writable()
            if self.upload_done:
                return
            self.upload_news.clear()
            await self.upload_news.wait()

    def _writable(self) -> None:
        if self.blocked:
            self.blocked = False
            self.sink.writable(True)
