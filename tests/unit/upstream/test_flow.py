"""Who waits for whom: early answers, back-pressure both ways, cancelling, closing."""

from __future__ import annotations

import asyncio

import pytest

from tests.stub import Peer, Stub, answer

OK = answer(200, b"ok")
TOO_LARGE = answer(413, b'{"error":"too large"}')


async def until(condition, seconds: float = 10) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.005)


# --- early answers


async def test_early_answer_ends_the_upload_and_the_connection(own, stub: Stub, recorder):
    async def script(peer: Peer) -> None:
        peer.write(TOO_LARGE)
        await peer.gone()

    stub.on("/_bulk", script)
    engine = own.engine(stub.url)
    sink = recorder()
    flight = engine.start(own.send("POST", "/_bulk", b"a" * 1000, last=False), sink)
    await asyncio.wait_for(sink.done.wait(), 10)
    assert (sink.head.status, sink.body, sink.failure) == (413, b'{"error":"too large"}', None)
    flight.more(b"dropped", False)
    flight.more(b"dropped", True)
    await until(lambda: not stub.open)
    assert (await own.ask(engine)).failure is None
    assert stub.connections == 2 and not stub.requests[0].whole


async def test_early_answer_in_parts_ends_the_connection_too(own, stub: Stub, recorder):
    async def script(peer: Peer) -> None:
        peer.write(TOO_LARGE[:-5])
        await asyncio.sleep(0.02)
        peer.write(TOO_LARGE[-5:])
        await peer.gone()

    stub.on("/_bulk", script)
    sink = recorder()
    flight = own.engine(stub.url).start(own.send("POST", "/_bulk", b"a", last=False), sink)
    await asyncio.wait_for(sink.opened.wait(), 10)
    flight.more(b"dropped", True)
    await asyncio.wait_for(sink.done.wait(), 10)
    assert (sink.head.status, sink.body) == (413, b'{"error":"too large"}')
    await until(lambda: not stub.open)
    assert stub.requests[0].body == b"a"


async def test_early_answer_lets_a_blocked_sink_go(own, stub: Stub, recorder):
    go = asyncio.Event()

    async def script(peer: Peer) -> None:
        peer.stop_reading()
        await go.wait()
        peer.write(TOO_LARGE)
        await peer.gone()

    stub.on("/_bulk", script)
    sink = recorder()
    flight = own.engine(stub.url).start(own.send("POST", "/_bulk", b"a", last=False), sink)
    await until(lambda: stub.requests)
    await fill(flight, sink)
    assert sink.can_write == [False]
    go.set()
    await asyncio.wait_for(sink.done.wait(), 10)
    assert sink.can_write == [False, True] and sink.head.status == 413


async def hang_up_with_an_answer(peer: Peer) -> None:
    peer.stop_reading()
    peer.write(TOO_LARGE)
    peer.close()


async def test_answer_of_a_node_that_hangs_up_is_not_lost(runner, stub: Stub):
    stub.on("/_bulk", hang_up_with_an_answer)
    got = await runner.ask(runner.engine(stub.url), "POST", "/_bulk", b"x" * 100)
    assert (got.failure, got.head.status, got.body) == (None, 413, b'{"error":"too large"}')


async def test_answer_of_a_node_that_hangs_up_in_the_upload_is_not_lost(own, stub: Stub):
    """The node answers and closes, which resets: the answer lies in our socket while our write fails."""
    stub.on("/_bulk", hang_up_with_an_answer)
    for _ in range(5):
        got = await own.ask(own.engine(stub.url), "POST", "/_bulk", b"x" * (30 << 20))
        assert (got.failure, got.head and got.head.status, got.body) == (None, 413, b'{"error":"too large"}')


# --- back-pressure


async def fill(flight, sink, limit: int = 64 << 20) -> int:
    """Give parts until the sink is told to stop; how many bytes that took."""
    part, given = b"x" * 65536, 0
    while not sink.can_write or sink.can_write[-1]:
        flight.more(part, False)
        given += len(part)
        assert given < limit
        await asyncio.sleep(0)
    return given


async def test_paused_answer_is_not_read_and_goes_on_whole(runner, stub: Stub, recorder):
    size = 40 << 20
    stub.on("/big", answer(200, b"x" * size))
    engine = runner.engine(stub.url)
    sink = recorder()
    received = []
    flight = None

    def pause_once(_) -> None:
        received.append(len(sink.body))
        sink.body = b""
        if len(received) == 1:
            flight.pause()

    sink.on_body = pause_once
    flight = engine.start(runner.send("GET", "/big"), sink)
    await until(lambda: received)
    await asyncio.sleep(0.05)
    read = engine.clusters["main"].report()["nodes"][0]["bytes_read"]
    assert read <= 1 << 20
    assert len(received) == 1
    flight.resume()
    await asyncio.wait_for(sink.done.wait(), 20)
    assert sum(received) + len(sink.body) == size


async def test_flight_paused_before_it_has_a_connection_reads_nothing(own, stub: Stub, recorder):
    stub.on("/", OK)
    sink = recorder()
    flight = own.engine(stub.url).start(own.send(), sink)
    flight.pause()
    await until(lambda: stub.requests)
    await asyncio.sleep(0.02)
    assert sink.head is None
    flight.resume()
    await asyncio.wait_for(sink.done.wait(), 10)
    assert sink.body == b"ok"


async def test_connection_of_a_flight_that_paused_at_its_end_can_be_used_again(own, stub: Stub, recorder):
    engine = own.engine(stub.url)
    sink = recorder()
    flight = engine.start(own.send(), sink)
    await asyncio.wait_for(sink.done.wait(), 10)
    flight.pause()
    assert (await own.ask(engine)).failure is None
    sink = recorder()
    sink.open_answer = lambda *args: (flight.pause(), recorder.open_answer(sink, *args))
    flight = engine.start(own.send(), sink)
    await asyncio.wait_for(sink.done.wait(), 10)
    assert (await own.ask(engine)).failure is None
    assert stub.connections == 1


async def test_upload_waits_for_a_node_that_reads_slowly(runner, stub: Stub, recorder):
    go = asyncio.Event()

    async def script(peer: Peer) -> None:
        peer.stop_reading()
        await go.wait()
        peer.go_on_reading()
        body = await peer.body()
        peer.write(answer(200, b"%d" % len(body)))

    stub.on("/_bulk", script)
    sink = recorder()
    flight = runner.engine(stub.url).start(runner.send("POST", "/_bulk", b"first", last=False), sink)
    await until(lambda: stub.requests)
    given = await fill(flight, sink) + len(b"first")
    assert stub.bytes_read < given
    go.set()
    await until(lambda: sink.can_write[-1])
    assert sink.can_write == [False, True]
    flight.more(b"", True)
    await asyncio.wait_for(sink.done.wait(), 10)
    assert (sink.failure, sink.body) == (None, b"%d" % given)


async def test_upload_waits_for_a_connection(own, stub: Stub, recorder):
    engine = own.engine(stub.url, max_connections=1)

    async def slow(peer: Peer) -> None:
        await asyncio.sleep(0.05)
        peer.write(OK)

    stub.on("/slow", slow)
    first, second = recorder(), recorder()
    engine.start(own.send("GET", "/slow"), first)
    flight = engine.start(own.send("POST", "/x", last=False), second)
    flight.more(b"x" * 40_000, False)
    assert second.can_write == []
    flight.more(b"x" * 40_000, False)
    assert second.can_write == [False]
    await until(lambda: second.can_write == [False, True])
    flight.more(b"x", True)
    await asyncio.wait_for(second.done.wait(), 10)
    assert len(stub.requests[1].body) == 80_001


# --- cancel and close


async def test_cancel_while_the_node_works_hangs_up(runner, stub: Stub, recorder):
    async def script(peer: Peer) -> None:
        await peer.body()
        await peer.gone()

    stub.on("/x", script)
    engine = runner.engine(stub.url)
    sink = recorder()
    flight = engine.start(runner.send("GET", "/x", held=True), sink)
    await until(lambda: stub.requests)
    sink.silent = True
    flight.cancel()
    await asyncio.wait_for(stub.scripts[0], 10)
    await until(lambda: not stub.open)
    assert len(stub.requests) == 1 and engine.clusters["main"].report()["in_flight"] == 0
    flight.cancel()
    flight.pause()
    flight.resume()
    flight.more(b"x", True)


async def test_cancel_inside_the_answer_hangs_up(runner, stub: Stub, recorder):
    async def script(peer: Peer) -> None:
        peer.write(answer(200, b"x" * 100)[:-50])
        await peer.gone()

    stub.on("/x", script)
    sink = recorder()

    def cancel(_) -> None:
        sink.silent = True
        flight.cancel()

    sink.on_body = cancel
    flight = runner.engine(stub.url).start(runner.send("GET", "/x"), sink)
    await until(lambda: sink.silent)
    await until(lambda: not stub.open)


async def test_cancel_in_an_upload_hangs_up(runner, stub: Stub, recorder):
    sink = recorder()
    flight = runner.engine(stub.url).start(runner.send("POST", "/x", b"part", last=False), sink)
    await until(lambda: stub.requests)
    sink.silent = True
    flight.cancel()
    await until(lambda: not stub.open)
    assert not stub.requests[0].whole


async def test_cancel_before_there_is_a_connection_sends_nothing(runner, stub: Stub, recorder):
    engine = runner.engine(stub.url)
    sink = recorder()
    sink.silent = True
    engine.start(runner.send("GET", "/x"), sink).cancel()
    await asyncio.sleep(0.02)
    assert (stub.requests, sink.asked) == ([], 0)
    assert (await runner.ask(engine)).failure is None


async def test_cancel_when_asked_sends_nothing(own, stub: Stub, recorder):
    engine = own.engine(stub.url)
    sink = recorder()

    def cancel(now: float) -> bool:
        flight.cancel()
        return True

    sink.may_send, sink.silent = cancel, True
    flight = engine.start(own.send("GET", "/x"), sink)
    await until(lambda: stub.connections)
    await asyncio.sleep(0.01)
    assert stub.requests == []
    assert (await own.ask(engine)).failure is None
    assert stub.connections == 1


async def test_start_from_inside_an_answer_uses_the_connection_again(own, stub: Stub, recorder):
    engine = own.engine(stub.url)
    first, second = recorder(), recorder()

    def start_next(*args) -> None:
        recorder.open_answer(first, *args)
        engine.start(own.send("GET", "/second"), second)

    first.open_answer = start_next
    engine.start(own.send("GET", "/first"), first)
    await asyncio.wait_for(second.done.wait(), 10)
    assert stub.connections == 1 and b"/first" in first.body and b"/second" in second.body


async def test_close_fails_what_is_under_way_and_hangs_up(runner, stub: Stub, recorder):
    async def script(peer: Peer) -> None:
        await peer.gone()

    stub.on("/x", script)
    engine = runner.engine(stub.url, max_connections=1)
    await runner.ask(engine)
    working, waiting = recorder(), recorder()
    engine.start(runner.send("GET", "/x", held=True), working)
    await asyncio.sleep(0.02)
    engine.start(runner.send("GET", "/x", held=True), waiting)
    await asyncio.sleep(0.02)
    await engine.aclose()
    assert (working.failure.what, waiting.failure.what) == ("broken", "broken")
    await until(lambda: not stub.open)
    assert sum(seen.target == b"/x" for seen in stub.requests) == 1
    with pytest.raises(RuntimeError):
        engine.start(runner.send(), recorder())


async def test_close_of_an_engine_never_used(runner, stub: Stub):
    await runner.engine(stub.url).aclose()


async def test_close_while_connecting_fails_the_call(runner, stub: Stub, recorder):
    engine = runner.engine(stub.url)
    sink = recorder()
    engine.start(runner.send(), sink)
    await engine.aclose()
    assert sink.failure.what == "broken"
