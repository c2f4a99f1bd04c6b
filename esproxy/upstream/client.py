"""The engine: calls to the nodes of clusters over connections of our own.

    start ─▶ place ─▶ an idle connection of the chosen node ─▶ flight.take_off
               │  └─▶ room for one more: connect (the only task there is), then take_off
               └────▶ neither: the cluster's queue, first come first served

On the happy path there is no task and no timer per call: the parser's callbacks drive the sink, and one sweeper per
engine looks at all connections a few times per timeout. So a timeout comes up to a quarter late, which is what it is
worth. The clock is injected; the sweeper can be called by hand.

Whatever frees room (a connection released, lost, or a node's back-off that has passed) serves the queue's head.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from esproxy.exchange import Send
from esproxy.heads import AnswerHead
from esproxy.known import KnownHeads
from esproxy.upstream.chunks import Chunks
from esproxy.upstream.connection import Connection
from esproxy.upstream.engine_api import Failure, Sink
from esproxy.upstream.flight import DONE, EngineFlight
from esproxy.upstream.node import Node
from esproxy.upstream.nodes import NodeSet, NoNode
from esproxy.upstream.prepared import Prepared
from esproxy.upstream.request import OURS
from esproxy.upstream.spec import ClusterSpec


class Cluster:
    """A cluster's nodes, its queue and its counters."""

    def __init__(self, name: str, spec: ClusterSpec, clock: Callable[[], float]) -> None:
        if spec.http2 or spec.proxy is not None:
            raise ValueError(f"cluster [{name}]: http2 and proxy need the httpx transport")
        self.name = name
        self.spec = spec
        self.nodes = NodeSet(spec, clock)
        self.ssl = spec.ssl_context()
        self.ours = OURS | {name for name, _ in spec.own_headers()}
        self.queue: deque[EngineFlight] = deque()
        self.retries = 0
        self.known: KnownHeads[AnswerHead] = KnownHeads()  # of its nodes' answers
        self.chunks = Chunks()  # of answers with such heads

    def report(self) -> dict[str, Any]:
        waiting = sum(flight.state != DONE for flight in self.queue)
        nodes = [node.report() for node in self.nodes]
        return {"retries": self.retries, "waiting": waiting, "in_flight": sum(n.load for n in self.nodes), "nodes": nodes}


class Engine:
    """``EngineLike`` over asyncio or uvloop. Belongs to the event loop in which it is first used."""

    def __init__(self, clusters: dict[str, ClusterSpec], clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.clusters = {name: Cluster(name, spec, clock) for name, spec in clusters.items()}
        self.loop: asyncio.AbstractEventLoop | None = None
        self._connecting: dict[asyncio.Task[None], EngineFlight] = {}
        self._sweeper: asyncio.TimerHandle | None = None
        self._tick = min((self._tick_of(spec) for spec in clusters.values()), default=1.0)
        self.closing = False

    @staticmethod
    def _tick_of(spec: ClusterSpec) -> float:
        shortest = min(spec.answer_timeout, spec.idle_timeout, spec.total_timeout)
        return min(max(shortest / 4, 0.005), 1.0)

    def start(self, send: Send, sink: Sink) -> EngineFlight:
        """Raises KeyError for an unknown cluster and ValueError for a Send that cannot be written as HTTP."""
        if self.closing:
            raise RuntimeError("the engine is closed")
        if self._sweeper is None:
            self.loop = asyncio.get_running_loop()
            self._sweeper = self.loop.call_later(self._tick, self._sweep_on)
        cluster = self.clusters[send.cluster]
        flight = EngineFlight(self, cluster, send, sink, self.clock())
        self.place(flight)
        return flight

    def prepared(self, send: Send) -> Prepared:
        """For calls that differ in their body alone. Raises what ``start`` raises."""
        return Prepared(self, self.clusters[send.cluster], send)

    @property
    def started(self) -> bool:
        return self._sweeper is not None

    async def aclose(self) -> None:
        """Fail what is under way, close all connections, and wait until they are closed."""
        self.closing = True
        if self._sweeper is not None:
            self._sweeper.cancel()
        why = Failure("broken", "the engine is closing")
        for task, flight in list(self._connecting.items()):
            flight.fail(why)
            task.cancel()
        await asyncio.gather(*self._connecting, return_exceptions=True)
        for cluster in self.clusters.values():
            while cluster.queue:
                cluster.queue.popleft().fail(why)
            for connection in [c for node in cluster.nodes for c in node.connections]:
                self._end(connection, why)
        while any(node.connections for cluster in self.clusters.values() for node in cluster.nodes):
            await asyncio.sleep(0)

    # --- finding a connection

    def place(self, flight: EngineFlight) -> None:
        if not self._place(flight):
            flight.cluster.queue.append(flight)

    def _place(self, flight: EngineFlight) -> bool:
        """Give the flight a connection, or see to it that it gets one. False: there is no room."""
        try:
            node = flight.cluster.nodes.choose(self.clock(), flight.tried)
        except NoNode:
            tried = ", ".join(f"{node.address.url}: {node.last_error}" for node in flight.tried)
            flight.fail(Failure("connect", tried))
            return True
        if node is None:
            return False
        fresh = flight.attempt > 0
        while node.idle and not fresh:
            connection = node.idle.pop()
            if connection.transport.is_closing():
                continue
            if not flight.take_off(connection):
                node.idle.append(connection)
            return True
        if node.open >= node.max_connections:
            if not node.idle:
                return False
            oldest = node.idle[0]  # a fresh one is wanted, and idle ones take all the room
            self.forget(oldest)
            oldest.drop()
        node.opening += 1
        task = self.loop.create_task(self._connect(flight, node))
        self._connecting[task] = flight
        task.add_done_callback(self._connecting.pop)
        return True

    async def _connect(self, flight: EngineFlight, node: Node) -> None:
        cluster, address = flight.cluster, node.address
        connection = Connection(self, cluster, node)
        tls = cluster.ssl if address.scheme == "https" else None
        try:
            async with asyncio.timeout(cluster.spec.connect_timeout):
                await self.loop.create_connection(lambda: connection, address.host, address.port, ssl=tls)
            if connection.lost:
                raise ConnectionResetError("the node hung up at once")
        except (OSError, ValueError) as error:  # a timeout and what TLS finds are OSErrors; a name that is none is a ValueError
            node.opening -= 1
            node.mark_dead(str(error) or type(error).__name__)
            flight.tried += (node,)
            if flight.state != DONE:
                self.place(flight)
            self.room(cluster)
        else:
            node.opening -= 1
            node.connects += 1
            node.mark_live()
            node.connections.add(connection)
            if not flight.take_off(connection):
                self.released(connection)

    # --- what connections report

    def released(self, connection: Connection) -> None:
        """A connection that can be used again."""
        node = connection.node
        node.idle.append(connection)
        if node.consecutive_failures:
            node.mark_live()
        if connection.cluster.queue:
            self.room(connection.cluster)

    def forget(self, connection: Connection) -> None:
        node = connection.node
        node.connections.discard(connection)
        if connection in node.idle:
            node.idle.remove(connection)

    def room(self, cluster: Cluster) -> None:
        """There may be room: serve the queue."""
        queue = cluster.queue
        while queue:
            flight = queue.popleft()
            if flight.state != DONE and not self._place(flight):
                queue.appendleft(flight)
                return

    # --- time

    def _sweep_on(self) -> None:
        self._sweeper = self.loop.call_later(self._tick, self._sweep_on)
        self.sweep()

    def sweep(self) -> None:
        """End what has waited for too long."""
        now = self.clock()
        for cluster in self.clusters.values():
            patience = cluster.spec.answer_timeout
            self._sweep_queue(cluster, now, patience)
            for connection in [c for node in cluster.nodes for c in node.connections]:
                self._look_at(connection, cluster.spec, now)
            self.room(cluster)

    @staticmethod
    def _sweep_queue(cluster: Cluster, now: float, patience: float) -> None:
        waiting = list(cluster.queue)
        for flight in waiting:
            if now - flight.started > patience:
                flight.fail(Failure("timeout", f"no free connection for {patience} s"))
        if any(flight.state == DONE for flight in waiting):  # these, and the cancelled ones
            kept = [flight for flight in cluster.queue if flight.state != DONE]
            cluster.queue.clear()
            cluster.queue.extend(kept)

    def _look_at(self, connection: Connection, spec: ClusterSpec, now: float) -> None:
        flight, url = connection.flight, connection.node.address.url
        if connection.lost:
            return
        if flight is None:
            if now - connection.touched > spec.idle_timeout:
                self.forget(connection)
                connection.drop()
        elif connection.stalled(now, spec.answer_timeout):
            connection.node.timeouts += 1
            self._end(connection, Failure("timeout", f"{url}: nothing moved for {spec.answer_timeout} s"))
        elif now - flight.started > spec.total_timeout:
            connection.node.timeouts += 1
            self._end(connection, Failure("timeout", f"{url}: not done after {spec.total_timeout} s"))

    @staticmethod
    def _end(connection: Connection, why: Failure) -> None:
        flight = connection.flight
        connection.drop()
        if flight is not None:
            flight.fail(why)
