"""The engine behind an httpx client: requests, streaming both ways, errors."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import get_args

import httpx
import pytest

from esproxy.upstream.engine_api import What
from esproxy.upstream.httpx_face import ERRORS, EngineTransport
from tests.stub import Peer, Stub, answer, chunked, refusing_url


@pytest.fixture
async def client(runner, stub: Stub) -> AsyncIterator[httpx.AsyncClient]:
    engine = runner.engine(stub.url, answer_timeout=5)
    async with httpx.AsyncClient(transport=EngineTransport(engine, "main"), base_url="http://main") as client:
        yield client


async def test_request_and_answer(client, stub: Stub):
    got = await client.post("/i/_search", params={"q": "a b"}, json={"size": 1})
    told = got.json()
    assert (got.status_code, told["method"], told["target"]) == (200, "POST", "/i/_search?q=a+b")
    headers = dict(told["headers"])
    assert headers["host"] == f"127.0.0.1:{stub.port}"
    assert headers["content-type"] == "application/json" and headers["content-length"] == str(len(stub.requests[0].body))
    assert json.loads(stub.requests[0].body) == {"size": 1}


async def test_raw_target_by_extension(client):
    got = await client.get("/x", extensions={"target": b"/%3Clogs%7Bnow%7D%3E/../a"})
    assert got.json()["target"] == "/%3Clogs%7Bnow%7D%3E/../a"


async def test_chunked_and_compressed_answer_is_decoded_by_httpx(client, stub: Stub):
    import gzip

    packed = gzip.compress(b'{"a":1}')
    head = answer(200, b"", ("content-encoding", "gzip"), ("transfer-encoding", "chunked"), length=False)
    stub.on("/x", head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(packed), packed))
    assert (await client.get("/x")).json() == {"a": 1}


async def test_head_and_no_content(client, stub: Stub):
    stub.on("/h", answer(200, b"", ("content-length", "99"), length=False))
    stub.on("/n", answer(204, b"", length=False))
    head = await client.head("/h")
    assert (head.headers["content-length"], head.content) == ("99", b"")
    assert (await client.delete("/n")).status_code == 204
    assert (await client.get("/next")).status_code == 200


async def test_streamed_upload(client, stub: Stub):
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b"x" * 10_000

    got = await client.post("/_bulk", content=parts())
    assert got.status_code == 200 and stub.requests[0].body == b"x" * 1_000_000
    assert stub.requests[0].get(b"transfer-encoding") == b"chunked"


async def test_upload_that_fails_at_its_source_hangs_up(client, stub: Stub):
    async def parts() -> AsyncIterator[bytes]:
        yield b"x"
        await asyncio.sleep(0.02)
        raise RuntimeError("source")

    with pytest.raises(RuntimeError, match="source"):
        await client.post("/_bulk", content=parts())
    async with asyncio.timeout(10):
        while stub.open:
            await asyncio.sleep(0.005)
    assert not any(seen.whole for seen in stub.requests)


async def test_streamed_answer_is_read_no_faster_than_asked_for(runner, stub: Stub):
    stub.on("/big", answer(200, b"x" * (20 << 20)))
    engine = runner.engine(stub.url)
    async with httpx.AsyncClient(transport=EngineTransport(engine, "main"), base_url="http://main") as client:
        async with client.stream("GET", "/big") as got:
            await asyncio.sleep(0.05)
            assert engine.clusters["main"].report()["nodes"][0]["bytes_read"] <= 2 << 20
            size = 0
            async for part in got.aiter_raw():
                size += len(part)
            assert size == 20 << 20


async def test_answer_left_early_hangs_up(client, stub: Stub):
    async def endless(peer: Peer) -> None:
        peer.write(answer(200, b"", ("content-length", "999999999"), length=False))
        while not peer.is_gone:
            peer.write(b"x" * 65536)
            await peer.drain()
            await asyncio.sleep(0)

    stub.on("/x", endless)
    async with client.stream("GET", "/x") as got:
        assert got.status_code == 200
    await asyncio.wait_for(stub.scripts[0], 10)


async def test_cancelled_request_hangs_up(client, stub: Stub):
    async def script(peer: Peer) -> None:
        await peer.gone()

    stub.on("/x", script)
    task = asyncio.create_task(client.get("/x"))
    async with asyncio.timeout(10):
        while not stub.requests:
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await stub.scripts[0]


async def test_break_in_an_answer_raises(client, stub: Stub):
    async def script(peer: Peer) -> None:
        peer.write(chunked(b"0123456789")[:-8])
        peer.close()

    stub.on("/x", script)
    with pytest.raises(httpx.RemoteProtocolError):
        await client.get("/x")


async def test_early_answer_ends_the_upload(own, stub: Stub):
    async def script(peer: Peer) -> None:
        peer.write(answer(413, b"no"))
        await peer.gone()

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 1000
            await asyncio.sleep(0.001)

    stub.on("/_bulk", script)
    async with httpx.AsyncClient(transport=EngineTransport(own.engine(stub.url), "main"), base_url="http://main") as client:
        async with asyncio.timeout(10):
            assert (await client.post("/_bulk", content=endless())).status_code == 413


async def test_no_node_is_a_connect_error(runner):
    transport = EngineTransport(runner.engine(refusing_url()), "main")
    async with httpx.AsyncClient(transport=transport, base_url="http://main") as client:
        with pytest.raises(httpx.ConnectError):
            await client.get("/")


def test_every_failure_is_an_httpx_error():
    assert set(ERRORS) == set(get_args(What))
    assert all(issubclass(error, httpx.TransportError) for error in ERRORS.values())
