"""Whole answers for procedures."""

from __future__ import annotations

import asyncio

import pytest

from esproxy.exchange import Call
from esproxy.upstream.whole import UpstreamError, call
from tests.stub import Peer, Stub, answer, chunked, refusing_url


async def test_whole_answer(runner, stub: Stub):
    stub.on("/x", chunked(b"abc", b"def", status=404))
    got = await call(runner.engine(stub.url), Call(runner.send("GET", "/x")))
    assert (got.status, got.body) == (404, b"abcdef")
    assert (b"transfer-encoding", b"chunked") in got.headers


async def test_whole_answer_to_head(runner, stub: Stub):
    stub.on("/x", answer(200, b"", ("content-length", "1000"), length=False))
    got = await call(runner.engine(stub.url), Call(runner.send("HEAD", "/x"), limit=10))
    assert (got.status, got.body) == (200, b"")


@pytest.mark.parametrize("raw", [answer(200, b"x" * 11), chunked(b"x" * 11), chunked(b"x" * 6, b"x" * 5)])
async def test_answer_above_the_limit_is_an_overflow(runner, stub: Stub, raw: bytes):
    stub.on("/x", raw)
    engine = runner.engine(stub.url)
    with pytest.raises(UpstreamError) as caught:
        await call(engine, Call(runner.send("GET", "/x"), limit=10))
    assert caught.value.failure.what == "overflow"
    assert len((await call(engine, Call(runner.send("GET", "/x"), limit=11))).body) == 11


async def test_endless_answer_is_cut_off_at_the_limit(runner, stub: Stub):
    async def endless(peer: Peer) -> None:
        peer.write(answer(200, b"", ("transfer-encoding", "chunked"), length=False))
        while not peer.is_gone:
            peer.write(b"4000\r\n" + b"x" * 0x4000 + b"\r\n")
            await peer.drain()
            await asyncio.sleep(0)

    stub.on("/x", endless)
    with pytest.raises(UpstreamError, match="overflow"):
        await call(runner.engine(stub.url), Call(runner.send("GET", "/x"), limit=100_000))
    await asyncio.wait_for(stub.scripts[0], 10)


async def test_failure_is_raised(runner):
    with pytest.raises(UpstreamError) as caught:
        await call(runner.engine(refusing_url()), Call(runner.send()))
    assert caught.value.failure.what == "connect"


async def test_cancelled_call_hangs_up(runner, stub: Stub):
    async def script(peer: Peer) -> None:
        await peer.gone()

    stub.on("/x", script)
    task = asyncio.create_task(call(runner.engine(stub.url), Call(runner.send("GET", "/x"))))
    async with asyncio.timeout(10):
        while not stub.requests:
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await stub.scripts[0]
