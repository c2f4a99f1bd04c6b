"""Calls that go wrong, over both engines: what fails, how it is named, and what is sent a second time."""

from __future__ import annotations

import asyncio

import pytest

from tests.stub import Peer, Stub, answer, refusing_url

OK = answer(200, b"ok")


def failing_first(stub: Stub, path: str, fault) -> None:
    """The first request to path gets the fault, later ones an answer."""

    async def script(peer: Peer) -> None:
        await peer.body()
        if sum(seen.target.decode() == path for seen in stub.requests) == 1:
            await fault(peer)
        else:
            peer.write(OK)

    stub.on(path, script)


async def close(peer: Peer) -> None:
    peer.close()


async def reset(peer: Peer) -> None:
    peer.reset()


async def half_a_head(peer: Peer) -> None:
    peer.write(b"HTTP/1.1 200 OK\r\ncontent-le")
    await asyncio.sleep(0.01)
    peer.close()


async def half_a_body(peer: Peer) -> None:
    peer.write(answer(200, b"0123456789")[:-5])
    await asyncio.sleep(0.01)
    peer.close()


async def reset_in_a_body(peer: Peer) -> None:
    peer.write(answer(200, b"0123456789")[:-5])
    await asyncio.sleep(0.01)
    peer.reset()


async def reset_at_no_end(peer: Peer) -> None:
    peer.write(answer(200, b"01234", length=False))
    await asyncio.sleep(0.01)
    peer.reset()


async def half_the_chunks(peer: Peer) -> None:
    peer.write(answer(200, b"5\r\n01234\r\n", ("transfer-encoding", "chunked"), length=False))
    await asyncio.sleep(0.01)
    peer.close()


async def no_http(peer: Peer) -> None:
    peer.write(b"SSH-2.0-OpenSSH_9.9\r\n\r\n")


BEFORE_THE_HEAD = {"close": close, "reset": reset, "half a head": half_a_head, "no http": no_http}
AFTER_THE_HEAD = {"half a body": half_a_body, "half the chunks": half_the_chunks, "reset in a body": reset_in_a_body}
AFTER_THE_HEAD["reset of an answer without a length"] = reset_at_no_end


@pytest.mark.parametrize("fault", BEFORE_THE_HEAD)
async def test_held_call_broken_before_its_answer_is_repeated_once(runner, stub: Stub, fault: str):
    failing_first(stub, "/x", BEFORE_THE_HEAD[fault])
    engine = runner.engine(stub.url)
    got = await runner.ask(engine, "POST", "/x", b"body", held=True)
    assert (got.failure, got.body, got.attempt, got.asked) == (None, b"ok", 2, 2)
    assert [seen.body for seen in stub.requests] == [b"body", b"body"]
    assert engine.clusters["main"].retries == 1


@pytest.mark.parametrize("fault", BEFORE_THE_HEAD)
async def test_call_not_held_is_never_repeated(runner, stub: Stub, fault: str):
    failing_first(stub, "/x", BEFORE_THE_HEAD[fault])
    got = await runner.ask(runner.engine(stub.url), "POST", "/x", b"body")
    assert got.failure.what == "broken" and got.head is None
    assert (len(stub.requests), got.asked) == (1, 1)


@pytest.mark.parametrize("fault", AFTER_THE_HEAD)
async def test_call_broken_in_its_answer_fails_and_is_never_repeated(runner, stub: Stub, fault: str):
    failing_first(stub, "/x", AFTER_THE_HEAD[fault])
    got = await runner.ask(runner.engine(stub.url), "POST", "/x", b"body", held=True)
    assert got.failure.what == "broken" and got.head.status == 200
    assert len(stub.requests) == 1


async def test_held_call_broken_twice_fails(runner, stub: Stub):
    stub.on("/x", close)
    got = await runner.ask(runner.engine(stub.url), "GET", "/x", held=True)
    assert (got.failure.what, len(stub.requests)) == ("broken", 2)


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\nabc",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx y: 1\r\ncontent-length: 0\r\n\r\n",
    ],
    ids=["two lengths", "negative", "huge", "gzip coding", "no status", "space in a name"],
)
async def test_answer_that_is_not_understood_is_broken(runner, stub: Stub, raw: bytes):
    stub.on("/x", raw)
    got = await runner.ask(runner.engine(stub.url), "GET", "/x")
    assert got.failure is not None and got.failure.what == "broken"
    assert got.head is None


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
    ],
    ids=["length and coding", "bad chunk", "upgrade"],
)
async def test_answer_that_is_ambiguous_is_broken(own, stub: Stub, raw: bytes):
    stub.on("/x", raw)
    got = await own.ask(own.engine(stub.url), "GET", "/x")
    assert got.failure is not None and got.failure.what == "broken"


EXTRA = [b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil", b"junk", b"\r\n\r\nHTTP"]


@pytest.mark.parametrize("extra", EXTRA)
async def test_bytes_with_the_end_of_an_answer_are_nobodys_answer(own, stub: Stub, extra: bytes):
    stub.on("/x", OK + extra)
    stub.on("/next", answer(200, b"next"))
    engine = own.engine(stub.url)
    assert (await own.ask(engine, "GET", "/x")).body == b"ok"
    assert (await own.ask(engine, "GET", "/next")).body == b"next"
    assert stub.connections == 2


@pytest.mark.parametrize("extra", EXTRA)
async def test_bytes_on_an_idle_connection_are_nobodys_answer(runner, stub: Stub, extra: bytes):
    async def script(peer: Peer) -> None:
        peer.write(OK)
        await asyncio.sleep(0.01)
        peer.write(extra)

    stub.on("/x", script)
    stub.on("/next", answer(200, b"next"))
    engine = runner.engine(stub.url)
    assert (await runner.ask(engine, "GET", "/x")).body == b"ok"
    await asyncio.sleep(0.03)
    assert (await runner.ask(engine, "GET", "/next")).body == b"next"
    assert stub.connections == 2


async def test_body_after_the_answer_to_head_is_nobodys_answer(own, stub: Stub):
    stub.on("/x", OK)
    stub.on("/next", answer(200, b"next"))
    engine = own.engine(stub.url)
    assert (await own.ask(engine, "HEAD", "/x")).body == b""
    assert (await own.ask(engine, "GET", "/next")).body == b"next"
    assert stub.connections == 2


# --- idle connections


async def test_idle_connection_closed_by_the_node_is_not_used(runner, stub: Stub):
    engine = runner.engine(stub.url)
    await runner.ask(engine)
    stub.cut()
    await asyncio.sleep(0.03)
    got = await runner.ask(engine, "POST", "/", b"x")
    assert (got.failure, got.attempt, stub.connections) == (None, 1, 2)


async def test_idle_connections_that_die_under_calls_cost_one_repeat_each(own, stub: Stub, recorder):
    """Several idle ones are dead at once: the repeat must not take another of them."""
    stub.default = lambda peer: answer_unless_told(peer)
    dying: set[int] = set()

    async def answer_unless_told(peer: Peer) -> None:
        await peer.body()
        if peer.seen.connection in dying:
            peer.reset()
        else:
            await asyncio.sleep(0.01)
            peer.write(OK)

    engine = own.engine(stub.url)
    first = [recorder() for _ in range(4)]
    for sink in first:
        engine.start(own.send(), sink)
    for sink in first:
        await asyncio.wait_for(sink.done.wait(), 10)
    assert stub.connections == 4
    dying |= {1, 2, 3, 4}
    got = await own.ask(engine, "POST", "/", b"x", held=True)
    assert (got.failure, got.attempt, stub.connections) == (None, 2, 5)
    got = await own.ask(engine, "GET", "/")  # on the fresh one, which was used last
    assert (got.failure, got.attempt, stub.connections) == (None, 1, 5)


async def test_fresh_connection_is_made_even_when_idle_ones_take_all_room(own, stub: Stub, recorder):
    """The faulty one counts until its socket is closed, so the idle one has to make room."""
    engine = own.engine(stub.url, max_connections=2)
    first = [recorder() for _ in range(2)]
    for sink in first:
        engine.start(own.send(), sink)
    for sink in first:
        await asyncio.wait_for(sink.done.wait(), 10)
    failing_first(stub, "/x", no_http)
    got = await own.ask(engine, "GET", "/x", held=True)
    assert (got.failure, got.attempt, stub.connections) == (None, 2, 3)
    async with asyncio.timeout(10):
        while len(stub.open) > 1:  # closed, not only forgotten
            await asyncio.sleep(0.005)


async def test_idle_connection_is_closed_after_its_time(own, stub: Stub):
    engine = own.engine(stub.url, idle_timeout=0.03)
    await own.ask(engine)
    assert len(stub.open) == 1
    async with asyncio.timeout(10):
        while stub.open:
            await asyncio.sleep(0.01)
    await own.ask(engine)
    assert stub.connections == 2


# --- nodes


async def test_no_node_listens_fails_as_connect(runner):
    got = await runner.ask(runner.engine(refusing_url(), refusing_url()), held=True)
    assert (got.failure.what, got.asked, got.attempt) == ("connect", 0, 0)


async def test_host_that_does_not_resolve_fails_as_connect(runner):
    got = await runner.ask(runner.engine("http://no-such-host.invalid:9200"))
    assert got.failure.what == "connect"


@pytest.mark.parametrize("selector", ["round_robin", "least_loaded"])
@pytest.mark.parametrize("held", [True, False])
async def test_call_goes_to_another_node_when_one_is_down(runner, stub: Stub, selector: str, held: bool):
    """A connect that failed has sent nothing, so a call that must not be repeated goes on as well."""
    engine = runner.engine(refusing_url(), stub.url, refusing_url(), selector=selector, dead_node_backoff_factor=30)
    for _ in range(6):
        got = await runner.ask(engine, "POST", "/", b"x", held=held)
        assert (got.failure, got.attempt, got.asked) == (None, 1, 1)
    nodes = engine.clusters["main"].report()["nodes"]
    assert [node["live"] for node in nodes] == [False, True, False]
    assert [node["failed_connects"] for node in nodes] == [1, 0, 1]


async def test_node_that_comes_back_is_used_after_its_backoff(runner, stub: Stub):
    engine = runner.engine(stub.url, dead_node_backoff_factor=0.02)
    await stub.stop()
    assert (await runner.ask(engine)).failure.what == "connect"
    await stub.start()
    assert (await runner.ask(engine)).failure is None  # the only node is tried at once
    assert engine.clusters["main"].report()["nodes"][0]["live"] is True


async def test_streamed_upload_reaches_the_node_that_lives(runner, stub: Stub, recorder):
    sink = recorder()
    flight = runner.engine(refusing_url(), stub.url).start(runner.send("POST", "/", b"a", last=False), sink)
    flight.more(b"b", False)
    flight.more(b"c", True)
    await asyncio.wait_for(sink.done.wait(), 10)
    assert sink.failure is None and stub.requests[0].body == b"abc"


# --- the sink's word


async def test_sink_that_refuses_is_not_sent_and_the_connection_stays(runner, stub: Stub, recorder):
    engine = runner.engine(stub.url)
    for _ in range(3):
        sink = recorder()
        sink.let = False
        got = await runner.ask(engine, sink=sink)
        assert (got.failure.what, got.asked, got.attempt) == ("refused", 1, 0)
    assert stub.requests == []
    assert (await runner.ask(engine)).failure is None


async def test_sink_is_asked_again_before_a_repeat(runner, stub: Stub, recorder):
    stub.on("/x", close)
    sink = recorder()

    def only_once(now: float) -> bool:
        sink.asked += 1
        return sink.asked == 1

    sink.may_send = only_once
    got = await runner.ask(runner.engine(stub.url), "GET", "/x", sink=sink, held=True)
    assert (got.failure.what, len(stub.requests)) == ("refused", 1)


async def test_sink_that_raises_when_asked_is_a_refusal_and_reported(runner, stub: Stub, recorder):
    reported = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: reported.append(context["exception"]))
    sink = recorder()

    def bad(now: float) -> bool:
        raise RuntimeError("bug")

    sink.may_send = bad
    got = await runner.ask(runner.engine(stub.url), sink=sink)
    assert got.failure.what in ("refused", "broken") and stub.requests == []
    assert [str(error) for error in reported] == ["bug"]


async def test_sink_that_raises_in_its_answer_loses_its_connection_only(runner, stub: Stub, recorder):
    reported = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: reported.append(context["exception"]))
    stub.on("/big", answer(200, b"x" * (4 << 20)))
    sink = recorder()

    def bad(of) -> None:
        sink.on_body = None
        raise RuntimeError("bug")

    sink.on_body = bad
    engine = runner.engine(stub.url)
    got = await runner.ask(engine, "GET", "/big", sink=sink)
    assert got.failure.what == "broken"
    assert [str(error) for error in reported] == ["bug"]
    assert (await runner.ask(engine)).failure is None
    assert engine.clusters["main"].report()["in_flight"] == 0
