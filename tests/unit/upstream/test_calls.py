"""Calls that go well, over both engines: framing both ways, every cut of an answer, reuse, credentials, limits."""

from __future__ import annotations

import asyncio
import base64
import json

import pytest

from tests.stub import Peer, Stub, answer, chunked, refusing_url

SMALL = answer(200, b'{"a":1}', ("content-type", "application/json"), ("X-Elastic-Product", "Elasticsearch"))
CHUNKED = chunked(b'{"a"', b":", b"1}")


async def echo(runner, stub, *args, engine=None, **rest):
    got = await runner.ask(engine or runner.engine(stub.url), *args, **rest)
    assert got.failure is None, got.failure
    told = json.loads(got.body)
    told["headers"] = dict(told["headers"])
    told["body"] = base64.b64decode(told["body"])
    return told


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
async def test_request_with_body_arrives_as_it_is(runner, stub: Stub, method: str):
    told = await echo(runner, stub, method, "/i/_doc/1?x=1", b'{"a":1}', headers=[(b"content-type", b"application/json")])
    assert (told["method"], told["target"], told["body"]) == (method, "/i/_doc/1?x=1", b'{"a":1}')
    assert told["headers"]["content-length"] == "7"
    assert told["headers"]["content-type"] == "application/json"
    assert told["headers"]["host"] == f"127.0.0.1:{stub.port}"
    assert "transfer-encoding" not in told["headers"]


async def test_request_without_body_has_length_only_where_one_is_expected(runner, stub: Stub):
    engine = runner.engine(stub.url)
    assert "content-length" not in (await echo(runner, stub, "GET", engine=engine))["headers"]
    assert "content-length" not in (await echo(runner, stub, "DELETE", engine=engine))["headers"]
    assert (await echo(runner, stub, "POST", engine=engine))["headers"]["content-length"] == "0"


@pytest.mark.parametrize(
    "target", [b"/a%2Fb/_doc/%3C%7Bnow%7D%3E", b"/a/../b/./c", b"//x//", b"/a|b^c?q={}&&;x=%%", b"/i/_search?q='\"<>`\\"]
)
async def test_target_goes_out_verbatim(runner, stub: Stub, target: bytes):
    assert (await echo(runner, stub, "GET", target))["target"].encode("latin-1") == target


async def test_target_goes_out_after_the_path_of_the_node(runner, stub: Stub):
    engine = runner.engine(stub.url + "/es/")
    assert (await echo(runner, stub, "GET", "/i/_search", engine=engine))["target"] == "/es/i/_search"


async def test_streamed_upload_is_chunked_and_whole(runner, stub: Stub, recorder):
    sink = recorder()
    flight = runner.engine(stub.url).start(runner.send("POST", "/_bulk", b"one,", last=False), sink)
    flight.more(b"two,", False)
    await asyncio.sleep(0.01)
    flight.more(b"", False)
    flight.more(b"three,", False)
    await asyncio.sleep(0.01)
    flight.more(b"four", True)
    await asyncio.wait_for(sink.done.wait(), 10)
    told = json.loads(sink.body)
    assert base64.b64decode(told["body"]) == b"one,two,three,four"
    assert ["transfer-encoding", "chunked"] in told["headers"]


async def test_streamed_upload_ends_with_an_empty_part(runner, stub: Stub, recorder):
    sink = recorder()
    flight = runner.engine(stub.url).start(runner.send("POST", "/_bulk", last=False), sink)
    flight.more(b"", True)
    await asyncio.wait_for(sink.done.wait(), 10)
    assert json.loads(sink.body)["body"] == ""


async def test_headers_that_are_the_engines_are_left_out(runner, stub: Stub):
    theirs = [(b"host", b"evil"), (b"content-length", b"99"), (b"transfer-encoding", b"chunked"), (b"connection", b"close")]
    told = await echo(runner, stub, "POST", "/", b"x", headers=[*theirs, (b"x-opaque-id", b"7")])
    assert told["headers"]["host"] != "evil" and told["headers"]["content-length"] == "1"
    assert "transfer-encoding" not in told["headers"] and told["headers"]["x-opaque-id"] == "7"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"username": "elastic", "password": "päss:word"}, "Basic " + base64.b64encode("elastic:päss:word".encode()).decode()),
        ({"api_key": "a2V5"}, "ApiKey a2V5"),
        ({"headers": {"Authorization": "Bearer t"}}, "Bearer t"),
    ],
)
async def test_credentials_are_the_clusters_and_replace_any_others(runner, stub: Stub, settings, expected):
    engine = runner.engine(stub.url, **settings)
    await runner.ask(engine, headers=[(b"authorization", b"Basic evil")])
    assert [value for name, value in stub.requests[0].headers if name.lower() == b"authorization"] == [expected.encode()]


@pytest.mark.parametrize(
    "bad",
    [
        {"headers": [(b"x", b"1\r\nx-tenant: other")]},
        {"headers": [(b"x", b"1\nY: 2")]},
        {"headers": [(b"x\r", b"1")]},
        {"target": b"/a HTTP/1.1\r\n\r\nGET /other"},
        {"target": b"/a b"},
        {"target": b"/a\x00"},
        {"target": b"/\xc3\xa9"},
        {"target": b"http://other/"},
        {"target": b""},
        {"method": "GET /x"},
        {"method": "CONNECT"},
    ],
)
async def test_request_that_could_become_two_is_never_written(runner, stub: Stub, recorder, bad):
    with pytest.raises(ValueError):
        runner.engine(stub.url).start(runner.send(**bad), recorder())
    assert stub.connections == 0


async def test_unknown_cluster_raises(runner, stub: Stub, recorder):
    send = runner.send()
    send.cluster = "nope"
    with pytest.raises(KeyError):
        runner.engine(stub.url).start(send, recorder())


# --- answers, in every cut


def cuts_of(data: bytes):
    yield "whole", []
    yield "bytes", list(range(1, len(data)))
    for at in range(1, len(data)):
        yield f"at {at}", [at]


@pytest.mark.parametrize("raw", [SMALL, CHUNKED], ids=["length", "chunked"])
async def test_answer_in_every_cut_is_the_same(runner, stub: Stub, raw: bytes):
    engine = runner.engine(stub.url)
    for name, cuts in cuts_of(raw):

        async def script(peer: Peer, cuts=cuts) -> None:
            await peer.write_cut(raw, cuts)

        stub.on("/cut", script)
        got = await runner.ask(engine, "GET", "/cut")
        assert got.failure is None, name
        assert (got.head.status, got.body) == (200, b'{"a":1}'), name
    assert stub.connections == 1


async def test_answer_head_is_told_in_lower_case_with_length(runner, stub: Stub):
    stub.on("/", SMALL)
    got = await runner.ask(runner.engine(stub.url))
    assert got.head.get(b"x-elastic-product") == b"Elasticsearch"
    assert got.head.length == 7 and got.attempt == 1


async def test_answer_in_chunks_has_no_length_and_loses_its_trailers(runner, stub: Stub):
    stub.on("/", chunked(b"abc", trailers=b"x-late: 1\r\n"))
    got = await runner.ask(runner.engine(stub.url))
    assert got.head.length is None and got.body == b"abc" and got.head.get(b"x-late") is None


async def test_answer_to_the_end_of_the_stream_is_whole_and_connection_not_reused(runner, stub: Stub):
    async def script(peer: Peer) -> None:
        peer.write(answer(200, b"abc", length=False))
        await asyncio.sleep(0.01)
        peer.write(b"def")
        peer.close()

    stub.on("/", script)
    engine = runner.engine(stub.url)
    for _ in range(2):
        got = await runner.ask(engine)
        assert got.body == b"abcdef" and got.failure is None
    assert stub.connections == 2


@pytest.mark.parametrize("length", ["0", "574"])
async def test_head_has_no_body_whatever_its_length_says_and_the_next_answer_is_intact(runner, stub: Stub, length: str):
    stub.on("/h", answer(200, b"", ("content-length", length), length=False))
    stub.on("/next", SMALL)
    engine = runner.engine(stub.url)
    for _ in range(3):
        got = await runner.ask(engine, "HEAD", "/h")
        assert (got.failure, got.body, got.head.length) == (None, b"", int(length))
        assert (await runner.ask(engine, "GET", "/next")).body == b'{"a":1}'
    assert stub.connections == 1


async def test_head_answered_in_chunks_has_no_body(runner, stub: Stub):
    stub.on("/h", answer(200, b"", ("transfer-encoding", "chunked"), length=False))
    stub.on("/next", SMALL)
    engine = runner.engine(stub.url)
    assert (await runner.ask(engine, "HEAD", "/h")).body == b""
    assert (await runner.ask(engine, "GET", "/next")).body == b'{"a":1}'


@pytest.mark.parametrize("status", [204, 304])
@pytest.mark.parametrize("headers", [(), (("content-length", "0"),)])
async def test_answer_without_a_body_ends_with_its_head(runner, stub: Stub, status: int, headers):
    stub.on("/none", answer(status, b"", *headers, length=False))
    stub.on("/next", SMALL)
    engine = runner.engine(stub.url)
    got = await runner.ask(engine, "GET", "/none")
    assert (got.failure, got.head.status, got.body) == (None, status, b"")
    assert (await runner.ask(engine, "GET", "/next")).body == b'{"a":1}'


async def test_interim_answers_are_skipped(runner, stub: Stub):
    stub.on("/", b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\nx-mid: 1\r\n\r\n" + SMALL)
    got = await runner.ask(runner.engine(stub.url))
    assert (got.head.status, got.body) == (200, b'{"a":1}') and got.head.get(b"x-mid") is None


@pytest.mark.parametrize("status", [400, 404, 413, 429, 500, 502, 503, 504])
async def test_error_status_is_an_answer_and_never_repeated(runner, stub: Stub, status: int):
    stub.on("/", answer(status, b"{}"))
    got = await runner.ask(runner.engine(stub.url), held=True)
    assert (got.head.status, got.attempt, len(stub.requests)) == (status, 1, 1)


async def test_large_bodies_both_ways_are_intact(runner, stub: Stub):
    body = bytes(range(256)) * 12_000  # 3 MB
    told = await echo(runner, stub, "POST", "/", body)
    assert told["body"] == body
    stub.on("/big", answer(200, body))
    assert (await runner.ask(runner.engine(stub.url), "GET", "/big")).body == body


# --- connections


async def test_connections_are_reused_one_after_the_other(runner, stub: Stub):
    engine = runner.engine(stub.url)
    for _ in range(20):
        await runner.ask(engine)
    assert (stub.connections, len(stub.requests)) == (1, 20)


async def test_connection_close_of_the_node_is_respected(runner, stub: Stub):
    stub.on("/", answer(200, b"x", ("connection", "close")))
    engine = runner.engine(stub.url)
    for _ in range(3):
        assert (await runner.ask(engine)).body == b"x"
    assert stub.connections == 3


async def test_connection_limit_makes_calls_wait(runner, stub: Stub, recorder):
    engine = runner.engine(stub.url, max_connections=2)
    sinks = [recorder() for _ in range(12)]
    for number, sink in enumerate(sinks):
        engine.start(runner.send("GET", f"/{number}"), sink)
    for sink in sinks:
        await asyncio.wait_for(sink.done.wait(), 10)
    assert (stub.connections, len(stub.requests)) == (2, 12)


async def test_waiting_calls_are_served_in_order(own, stub: Stub, recorder):
    engine = own.engine(stub.url, max_connections=1)
    sinks = [recorder() for _ in range(12)]
    flights = [engine.start(own.send("GET", f"/{number}"), sink) for number, sink in enumerate(sinks)]
    sinks[5].silent = True
    flights[5].cancel()
    for number, sink in enumerate(sinks):
        if number != 5:
            await asyncio.wait_for(sink.done.wait(), 10)
    assert [int(seen.target[1:]) for seen in stub.requests] == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]
    assert engine.clusters["main"].report()["waiting"] == 0


async def test_calls_at_once_get_their_own_answers(runner, stub: Stub, recorder):
    engine = runner.engine(stub.url, max_connections=10)
    sinks = {f"/{number}": recorder() for number in range(100)}
    for target, sink in sinks.items():
        engine.start(runner.send("GET", target), sink)
    for target, sink in sinks.items():
        await asyncio.wait_for(sink.done.wait(), 10)
        assert json.loads(sink.body)["target"] == target
    assert stub.connections <= 10


async def test_report_counts_calls(runner, stub: Stub):
    engine = runner.engine(stub.url, refusing_url(), selector="round_robin")
    for _ in range(4):
        assert (await runner.ask(engine)).failure is None
    report = engine.clusters["main"].report()
    assert sum(node["attempts"] for node in report["nodes"]) == 4
    assert sum(node["failed_connects"] for node in report["nodes"]) == 1
    assert (report["in_flight"], report["retries"]) == (0, 0)
