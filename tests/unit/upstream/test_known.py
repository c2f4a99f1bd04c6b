"""Answers whose heads are known are read as any others: the same calls on an engine that knows them, and one that never does."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from esproxy.upstream.chunks import Chunks
from tests.stub import Peer, Stub, answer

OK = answer(200, b"ok", ("x", "y"))
HEAD = OK.removesuffix(b"ok")
IN_CHUNKS = b"HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n"
CHUNKED = IN_CHUNKS + b"2\r\nok\r\n0\r\n\r\n"


def in_parts(*parts: bytes):
    async def script(peer: Peer) -> None:
        for part in parts:
            if not peer.is_gone:  # as it will be that has asked for a head alone
                peer.write(part)
            await asyncio.sleep(0.01)

    return script


ANSWERS = {
    "whole": OK,
    "parts": in_parts(HEAD, b"o", b"k"),
    "cut-in-head": in_parts(HEAD[:20], HEAD[20:] + b"ok"),
    "continue": b"HTTP/1.1 100 Continue\r\n\r\n" + OK,
    "close": answer(200, b"ok", ("connection", "close")),
    "http-1.0": OK.replace(b"HTTP/1.1", b"HTTP/1.0"),
    "empty": answer(200, b""),
    "no-content": answer(204, b"", length=False),
    "not-modified": answer(304, b"", ("etag", "1")),
    "chunked": CHUNKED,
    "chunks": IN_CHUNKS + b"1\r\no\r\n1;a=b\r\nk\r\n0\r\n\r\n",
    "no-chunks": IN_CHUNKS + b"0\r\n\r\n",
    "chunks-in-parts": in_parts(IN_CHUNKS + b"1\r\no\r\n", b"1\r\nk\r\n0\r\n\r\n"),
    "chunks-cut-at-end": in_parts(CHUNKED[:-2], CHUNKED[-2:]),
    "chunked-trailer": CHUNKED[:-2] + b"x: y\r\n\r\n",
    "chunked-continue": b"HTTP/1.1 100 Continue\r\n\r\n" + CHUNKED,
    "chunked-close": CHUNKED.replace(b"\r\n", b"\r\nconnection: close\r\n", 1),
    "chunked-no-size": IN_CHUNKS + b"zz\r\nok\r\n0\r\n\r\n",
    "chunked-too-long": CHUNKED + b"more",
    "chunked-two": CHUNKED + CHUNKED,
    "chunked-and-length": CHUNKED.replace(b"\r\n", b"\r\ncontent-length: 2\r\n", 1),
    "too-long": OK + b"more",
    "two": OK + OK,
    "two-lengths": answer(200, b"ok", ("content-length", "2")),
}


def told_by(got) -> tuple[object, bytes, str | None]:
    head, failure = got.head, got.failure
    return head and (head.status, head.headers, head.length), got.body, failure and failure.what


async def test_known_head_is_not_parsed(own, stub: Stub):
    stub.on("/x", OK)
    stub.on("/y", HEAD + b"no")
    engine = own.engine(stub.url)
    assert (await own.ask(engine, "GET", "/x")).body == b"ok"
    (connection,) = engine.clusters["main"].nodes.nodes[0].connections
    connection.parser = None
    got = await own.ask(engine, "GET", "/y")
    assert told_by(got) == ((200, [(b"x", b"y"), (b"content-length", b"2")], 2), b"no", None)
    assert stub.connections == 1


async def test_known_head_of_chunks_is_not_parsed(own, stub: Stub):
    stub.on("/x", CHUNKED)
    stub.on("/y", IN_CHUNKS + b"1\r\nn\r\n1\r\no\r\n0\r\n\r\n")
    engine = own.engine(stub.url)
    assert (await own.ask(engine, "GET", "/x")).body == b"ok"
    (connection,) = engine.clusters["main"].nodes.nodes[0].connections
    connection.parser = None
    got = await own.ask(engine, "GET", "/y")
    assert told_by(got) == ((200, [(b"transfer-encoding", b"chunked")], None), b"no", None)
    assert stub.connections == 1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"2\r\nok\r\n",
        b"2\r\nok\r\n0\r\n\r\nH",
        b"x\r\n\r\n",
        b"2\r\nok\r\n0\r\n\r\nHTTP/1.1 200 X\r\ncontent-length: 0\r\n\r\n",
    ],
)
def test_chunks_that_are_not_one_body_are_none_and_the_next_ones_are_read(data: bytes):
    chunks = Chunks()
    for _ in range(2):
        assert chunks.whole(data) is None
        assert chunks.whole(b"2\r\nok\r\n1\r\n!\r\n0\r\n\r\n") == b"ok!"


@pytest.mark.parametrize("name", ANSWERS)
async def test_answer_that_comes_again_is_the_same_answer(own, stub: Stub, name: str):
    stub.on("/x", ANSWERS[name])
    stub.on("/ok", OK)
    told, connections = [], []
    for knows in (True, False):
        before, engine = stub.connections, own.engine(stub.url)
        if not knows:
            engine.clusters["main"].known = SimpleNamespace(find=lambda *_: None, keep=lambda *_: None)
        for method, target in [("GET", "/ok"), ("GET", "/x"), ("GET", "/x"), ("HEAD", "/x"), ("POST", "/x"), ("GET", "/ok")]:
            got = await own.ask(engine, method, target)
            told.append(told_by(got))
            await asyncio.sleep(0.05)  # what is one answer too many has come
        connections.append(stub.connections - before)
    assert told[:6] == told[6:] and connections[0] == connections[1]
