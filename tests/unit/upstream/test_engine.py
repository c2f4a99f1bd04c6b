"""What only our own engine promises: its queue without the sweeper's help, its races, its doubts about a connection."""

from __future__ import annotations

import asyncio
import gc
import socket
import weakref

import pytest

from esproxy.exchange import Call, Send
from esproxy.upstream.client import Engine
from esproxy.upstream.spec import ClusterSpec
from esproxy.upstream.whole import call
from tests.stub import Peer, Stub, answer, refusing_url

OK = answer(200, b"ok")


def without_sweeper(engine):
    """The sweeper serves the queue too; what must not depend on it is tested without."""
    engine.sweep = lambda: None
    return engine


def only_node(engine):
    return engine.clusters["main"].nodes.nodes[0]


async def finish(*sinks) -> None:
    for sink in sinks:
        await asyncio.wait_for(sink.done.wait(), 10)


# --- the queue


@pytest.mark.parametrize("headers", [(), (("connection", "close"),)], ids=["keep-alive", "close"])
async def test_queue_is_served_when_a_connection_is_released_or_lost(own, stub: Stub, recorder, headers):
    stub.default = answer(200, b"ok", *headers)
    engine = without_sweeper(own.engine(stub.url, max_connections=1))
    sinks = [recorder() for _ in range(5)]
    for sink in sinks:
        engine.start(own.send(), sink)
    await finish(*sinks)
    assert [sink.failure for sink in sinks] == [None] * 5


async def test_queue_is_served_when_a_call_is_cancelled(own, stub: Stub, recorder):
    async def silent(peer: Peer) -> None:
        await peer.gone()

    stub.on("/silent", silent)
    engine = without_sweeper(own.engine(stub.url, max_connections=1))
    second = recorder()
    flight = engine.start(own.send("GET", "/silent"), recorder())
    engine.start(own.send(), second)
    await asyncio.sleep(0.02)
    flight.cancel()
    await finish(second)
    assert second.failure is None


async def test_queue_is_served_when_a_connect_has_failed(own, recorder):
    engine = without_sweeper(own.engine(refusing_url(), max_connections=1))
    sinks = [recorder() for _ in range(3)]
    for sink in sinks:
        engine.start(own.send(), sink)
    await finish(*sinks)
    assert [sink.failure.what for sink in sinks] == ["connect"] * 3


async def test_queue_is_served_when_a_nodes_backoff_has_passed(own, stub: Stub, recorder):
    async def silent(peer: Peer) -> None:
        await peer.gone()

    async with Stub() as other:
        stub.on("/silent", silent)
        engine = own.engine(stub.url, other.url, max_connections=1, dead_node_backoff_factor=0.05, answer_timeout=2)
        dead = engine.clusters["main"].nodes.nodes[1]
        dead.mark_dead("down")
        flight = engine.start(own.send("GET", "/silent"), recorder())
        sink = recorder()
        engine.start(own.send(), sink)
        await finish(sink)
        assert sink.failure is None and len(other.requests) == 1 and dead.consecutive_failures == 0
        flight.cancel()


async def test_cancelled_calls_leave_the_queue(own, stub: Stub, recorder):
    async def silent(peer: Peer) -> None:
        await peer.gone()

    stub.on("/silent", silent)
    engine = own.engine(stub.url, max_connections=1)
    flights = [engine.start(own.send("GET", "/silent"), recorder()) for _ in range(10)]
    for flight in flights[2:]:
        flight.cancel()
    engine.sweep()
    assert list(engine.clusters["main"].queue) == [flights[1]]
    flights[1].cancel()
    flights[0].cancel()


# --- races


async def test_connection_lost_before_it_is_used_is_a_failed_connect(own, stub: Stub, recorder):
    """The node hangs up between the handshake and our task's turn: connection_lost has been and will not come again."""
    engine = own.engine(stub.url)

    class SlowLoop:
        def __init__(self, loop) -> None:
            self._loop = loop

        def __getattr__(self, name: str):
            return getattr(self._loop, name)

        async def create_connection(self, *args, **rest):
            transport, protocol = await self._loop.create_connection(*args, **rest)
            transport.abort()
            while not protocol.lost:
                await asyncio.sleep(0)
            return transport, protocol

    sink = recorder()
    engine.start(own.send(), sink)
    engine.loop = SlowLoop(engine.loop)
    await finish(sink)
    assert sink.failure.what == "connect"
    assert (only_node(engine).open, only_node(engine).failed_connects) == (0, 1)


async def test_idle_connection_whose_stream_has_just_ended_is_not_used(own, stub: Stub, recorder):
    engine = own.engine(stub.url)
    await own.ask(engine)
    (connection,) = only_node(engine).idle
    connection.eof_received()
    sink = recorder()
    engine.start(own.send(), sink)
    await finish(sink)
    assert (sink.failure, sink.attempt, stub.connections) == (None, 1, 2)


async def test_answer_that_ends_on_a_paused_connection_does_not_return_it(own, stub: Stub, recorder):
    """A transport may hand over what it had read before the pause."""

    async def silent(peer: Peer) -> None:
        await peer.gone()

    stub.on("/x", silent)
    engine = own.engine(stub.url)
    sink = recorder()
    flight = engine.start(own.send("GET", "/x"), sink)
    async with asyncio.timeout(10):
        while not stub.requests:
            await asyncio.sleep(0.005)
    flight.pause()
    flight.connection.data_received(OK)
    assert sink.done.is_set() and sink.body == b"ok"
    assert (await own.ask(engine)).failure is None
    assert stub.connections == 2


async def test_answer_in_the_socket_is_read_when_a_write_fails(own, stub: Stub, recorder):
    """We are not reading, the node answers and resets, our write fails: the answer lies in the socket."""

    async def script(peer: Peer) -> None:
        peer.stop_reading()
        await asyncio.sleep(0.05)
        peer.write(answer(413, b"no"))
        peer.close()

    stub.on("/_bulk", script)
    sink = recorder()
    flight = own.engine(stub.url).start(own.send("POST", "/_bulk", b"x" * 1000, last=False), sink)
    flight.pause()
    async with asyncio.timeout(10):
        while not sink.done.is_set():
            flight.more(b"x" * 1000, False)
            await asyncio.sleep(0.01)
    assert (sink.failure, sink.head and sink.head.status, sink.body) == (None, 413, b"no")


async def test_lost_connection_whose_answer_was_read_from_the_socket_is_not_returned(own, stub: Stub, recorder):
    async def script(peer: Peer) -> None:
        peer.stop_reading()
        await asyncio.sleep(0.05)
        peer.write(OK)
        peer.close()

    stub.on("/_bulk", script)
    engine = own.engine(stub.url)
    sink = recorder()
    flight = engine.start(own.send("POST", "/_bulk", b"x" * (30 << 20)), sink)
    async with asyncio.timeout(10):
        while flight.connection is None:
            await asyncio.sleep(0)
    flight.connection.transport.pause_reading()
    await finish(sink)
    assert (sink.failure, sink.body) == (None, b"ok")
    assert (only_node(engine).idle, only_node(engine).open) == ([], 0)


async def test_answer_before_all_has_left_does_not_return_the_connection(own, stub: Stub):
    """The body is whole, the node answers and does not read it: what is left of it must not precede another request."""

    async def script(peer: Peer) -> None:
        peer.stop_reading()
        peer.write(answer(413, b"no"))
        await asyncio.sleep(0.05)
        peer.go_on_reading()

    stub.on("/_bulk", script)
    engine = own.engine(stub.url)
    got = await own.ask(engine, "POST", "/_bulk", b"x" * (30 << 20))
    assert got.head.status == 413
    assert (await own.ask(engine)).failure is None
    assert stub.connections == 2


async def test_sink_that_raises_at_the_end_harms_no_other_call(own, stub: Stub, recorder):
    """By then its connection carries the queue's next call."""
    reported = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: reported.append(context["exception"]))
    engine = own.engine(stub.url, max_connections=1)
    first, second = recorder(), recorder()

    def bad(*args) -> None:
        raise RuntimeError("bug")

    first.open_answer = bad
    engine.start(own.send(), first)
    engine.start(own.send(), second)
    await finish(second)
    assert (second.failure, second.attempt, stub.connections) == (None, 1, 1)
    assert [str(error) for error in reported] == ["bug"]


async def test_answer_of_a_node_believed_dead_makes_it_live(own, stub: Stub, recorder):
    go = asyncio.Event()

    async def slow(peer: Peer) -> None:
        await go.wait()
        peer.write(OK)

    stub.on("/x", slow)
    engine = own.engine(stub.url)
    sink = recorder()
    engine.start(own.send("GET", "/x"), sink)
    async with asyncio.timeout(10):
        while not stub.requests:
            await asyncio.sleep(0.005)
    only_node(engine).mark_dead("down")
    go.set()
    await finish(sink)
    assert only_node(engine).report()["live"] is True


# --- bounds


async def test_head_without_end_is_broken_in_bounded_memory(own, stub: Stub):
    async def endless(peer: Peer) -> None:
        peer.write(b"HTTP/1.1 200 OK\r\n")
        while not peer.is_gone:
            peer.write(b"x-more: %b\r\n" % (b"y" * 1000))
            await peer.drain()
            await asyncio.sleep(0)

    stub.on("/x", endless)
    engine = own.engine(stub.url)
    got = await own.ask(engine, "GET", "/x")
    assert got.failure.what == "broken" and "head" in got.failure.detail
    assert only_node(engine).bytes_read < 2 << 20


async def test_node_that_reads_slowly_but_reads_is_no_timeout(own, stub: Stub):
    async def slow(peer: Peer) -> None:
        peer.read_slowly(0.02)
        peer.write(answer(200, b"%d" % len(await peer.body())))

    engine = own.engine(stub.url, answer_timeout=0.25)
    await own.ask(engine)
    (connection,) = only_node(engine).idle
    connection.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 15)
    stub.on("/x", slow)
    size = 4 << 20
    got = await own.ask(engine, "POST", "/x", b"x" * size)
    assert (got.failure, got.body) == (None, b"%d" % size)


def test_lost_connection_needs_no_garbage_collector():
    """Connections hold their parser and the parser holds them: a lost connection must not wait for the collector."""

    async def main() -> weakref.ref:
        async with Stub() as stub:
            engine = Engine({"main": ClusterSpec([stub.url])})
            await call(engine, Call(Send("main", "GET", b"/", [])))
            (connection,) = only_node(engine).idle
            watch = weakref.ref(connection)
            del connection
            await engine.aclose()
            await asyncio.sleep(0)
            return watch

    gc.collect()
    gc.disable()
    try:
        watch = asyncio.run(main())
        assert watch() is None
    finally:
        gc.enable()
