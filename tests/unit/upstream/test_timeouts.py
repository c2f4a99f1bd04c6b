"""Whose turn it is: when silence is the node's and when it is not, over both engines. Timeouts are real and small."""

from __future__ import annotations

import asyncio

from tests.stub import Peer, Stub, answer


async def test_silent_node_is_a_timeout_and_never_repeated(runner, stub: Stub):
    async def silent(peer: Peer) -> None:
        await peer.gone()

    stub.on("/x", silent)
    got = await runner.ask(runner.engine(stub.url, answer_timeout=0.05), "GET", "/x", held=True)
    assert (got.failure.what, got.head, len(stub.requests)) == ("timeout", None, 1)
    await asyncio.wait_for(stub.scripts[0], 10)  # and the node has seen us hang up


async def test_silence_in_an_answer_is_a_timeout(runner, stub: Stub):
    async def stuck(peer: Peer) -> None:
        peer.write(answer(200, b"0123456789")[:-5])
        await peer.gone()

    stub.on("/x", stuck)
    got = await runner.ask(runner.engine(stub.url, answer_timeout=0.05), "GET", "/x")
    assert (got.failure.what, got.head.status, got.body) == ("timeout", 200, b"01234")


async def test_slow_answer_that_keeps_moving_is_no_timeout(runner, stub: Stub):
    async def slow(peer: Peer) -> None:
        whole = answer(200, b"0123456789")
        for at in range(0, len(whole), 3):
            peer.write(whole[at : at + 3])
            await asyncio.sleep(0.02)

    stub.on("/x", slow)
    got = await runner.ask(runner.engine(stub.url, answer_timeout=0.2), "GET", "/x")
    assert (got.failure, got.body) == (None, b"0123456789")


async def test_slow_upload_is_not_the_nodes_silence(runner, stub: Stub, recorder):
    sink = recorder()
    flight = runner.engine(stub.url, answer_timeout=0.05).start(runner.send("POST", "/", b"a", last=False), sink)
    for _ in range(4):
        await asyncio.sleep(0.05)
        flight.more(b"b", False)
    flight.more(b"c", True)
    await asyncio.wait_for(sink.done.wait(), 10)
    assert sink.failure is None


async def test_reader_who_pauses_is_not_the_nodes_silence(runner, stub: Stub, recorder):
    async def slow(peer: Peer) -> None:
        peer.write(answer(200, b"0123456789")[:-5])
        await asyncio.sleep(0.02)
        peer.write(b"56789")

    stub.on("/x", slow)
    sink = recorder()
    flight = runner.engine(stub.url, answer_timeout=0.05).start(runner.send("GET", "/x"), sink)
    await asyncio.wait_for(sink.opened.wait(), 10)
    flight.pause()
    await asyncio.sleep(0.15)
    assert sink.failure is None
    flight.resume()
    await asyncio.wait_for(sink.done.wait(), 10)
    assert (sink.failure, sink.body) == (None, b"0123456789")


async def test_call_is_bounded_in_all(runner, stub: Stub):
    async def dripping(peer: Peer) -> None:
        peer.write(answer(200, b"", ("content-length", "99999"), length=False))
        try:
            async with asyncio.timeout(5):
                while not peer.is_gone:
                    peer.write(b".")
                    await asyncio.sleep(0.01)
        except TimeoutError:
            raise AssertionError("nobody has stopped it") from None

    stub.on("/x", dripping)
    got = await runner.ask(runner.engine(stub.url, total_timeout=0.1), "GET", "/x")
    assert (got.failure.what, got.head.status) == ("timeout", 200)


async def test_node_that_does_not_read_is_a_timeout(runner, stub: Stub):
    async def deaf(peer: Peer) -> None:
        peer.stop_reading()
        await asyncio.sleep(1.0)

    stub.on("/x", deaf)
    got = await runner.ask(runner.engine(stub.url, answer_timeout=0.1), "POST", "/x", b"x" * (20 << 20))
    assert got.failure.what == "timeout"
    for task in stub.scripts:
        task.cancel()


async def test_waiting_for_a_connection_is_bounded(runner, stub: Stub, recorder):
    async def dripping(peer: Peer) -> None:
        peer.write(answer(200, b"", ("content-length", "99999"), length=False))
        while not peer.is_gone:
            peer.write(b".")
            await asyncio.sleep(0.01)

    stub.on("/x", dripping)
    engine = runner.engine(stub.url, answer_timeout=0.1, max_connections=1)
    first, second = recorder(), recorder()
    flight = engine.start(runner.send("GET", "/x"), first)
    await asyncio.wait_for(first.opened.wait(), 10)
    engine.start(runner.send("GET", "/x"), second)
    await asyncio.wait_for(second.done.wait(), 10)
    assert (second.failure.what, second.asked, first.failure) == ("timeout", 0, None)
    flight.cancel()
