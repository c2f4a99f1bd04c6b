"""Every shell behind a real uvicorn, spoken to in bytes; the Gateway is scripted, the engine records.

The same tests for uvicorn's protocol with the ASGI application and for our own protocol class: a client cannot tell them apart.
"""

import asyncio
import gzip
import os
from functools import partial

import orjson
import pytest

from esproxy.exchange import ANSWER, BODY, Abort, More, Release, Reply, Send, Write
from esproxy.heads import AnswerHead
from tests.unit.serve.http import GET, JSON, SHELLS, flights, post, scripted, until
from tests.unit.serve.scripted import OK, SEND


@pytest.fixture(params=SHELLS)
def serving(request):
    """A server whose first exchange follows the script, and a connection to it."""
    return partial(scripted, SHELLS[request.param])


async def test_request_goes_up_and_its_answer_comes_back_on_a_connection_that_stays(serving):
    async with serving(SEND, Write(b"{}", True, OK), SEND, Write(b"[]", True, OK)) as (app, client):
        for number, body in ((1, b"{}"), (2, b"[]")):
            await client.send(GET)
            (await flights(app, number))[-1].answer()
            got = await client.answer()
            assert (got.status, got.body, got.headers[b"content-length"]) == (200, body, b"2")
        assert app.proxy.stats.take()["requests"] == [["GET", 200, 2]]


@pytest.mark.parametrize(
    "target", [b"/a%2Fb/_doc/x%252F?q=%26&r=a;b", b"/a//b/../c", b"/%3Clogs-%7Bnow%2Fd%7D%3E/_search", b"/caf%C3%A9?pretty"]
)
async def test_target_reaches_the_gateway_as_it_was_sent(serving, target):
    async with serving(Reply(200, JSON, b"{}")) as (app, client):
        await client.request(b"GET " + target + b" HTTP/1.1\r\nhost: a\r\nX-Tenant: acme\r\n\r\n")
        head = app.proxy.gateway.head
        assert head.target == target and head.peer == "127.0.0.1" and head.get(b"x-tenant") == b"acme"


async def test_body_in_parts_is_fed_as_it_comes(serving):
    script = [Send("main", "POST", b"/x", [], b"a", False), More(b"b", True), Write(b"{}", True, OK)]
    async with serving(*script) as (app, client):
        await client.send(b"POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\na")
        await flights(app)
        await client.send(b"b")
        await until(lambda: app.proxy.engine.flights[0].calls == [("more", b"b", True)])
        app.proxy.engine.flights[0].answer()
        assert (await client.answer()).body == b"{}"


async def test_body_that_is_not_wanted_is_left_in_the_socket(serving):
    def full(exchange):
        exchange.wants = ANSWER

    def fed(exchange):
        return sum(len(call[1]) for call in exchange.calls if call[0] in ("open", "feed"))

    script = [full, *[None] * 5000]
    async with serving(Send("main", "POST", b"/x", [], b"", False), *script) as (app, client):
        exchange = app.proxy.gateway.exchange
        client.writer.write(b"POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 64000000\r\n\r\n")
        client.writer.write(b"x" * 64_000_000)
        await until(lambda: len(exchange.calls) == 2)
        await asyncio.sleep(0.1)
        assert len(exchange.calls) == 2 and fed(exchange) < 1_000_000
        exchange.wants = BODY | ANSWER
        app.proxy.engine.flights[0].sink.writable(True)
        await until(lambda: fed(exchange) == 64_000_000)


async def test_answer_of_unknown_length_is_chunked(serving):
    script = [SEND, Write(b"one", False, AnswerHead(200, JSON)), Write(b"two", True)]
    async with serving(*script) as (app, client):
        await client.send(GET)
        sink = (await flights(app))[0].sink
        sink.open_answer(OK, 1)
        sink.feed_answer(b"two", True)
        got = await client.answer()
        assert got.body == b"onetwo" and got.headers[b"transfer-encoding"] == b"chunked"


async def test_answer_in_parts_of_known_length_has_it(serving):
    script = [SEND, Write(b"one", False, AnswerHead(200, JSON, 6)), Write(b"two", True)]
    async with serving(*script) as (app, client):
        await client.send(GET)
        sink = (await flights(app))[0].sink
        sink.open_answer(OK, 1)
        sink.feed_answer(b"two", True)
        got = await client.answer()
        assert got.body == b"onetwo" and got.headers[b"content-length"] == b"6"


def spooled(parts, closed):
    try:
        yield from parts
    finally:
        closed.append(True)


@pytest.mark.parametrize(("accept", "coding"), [(b"identity", None), (b"gzip", b"gzip")])
async def test_released_answer_comes_from_its_spool(serving, accept, coding):
    closed = []
    parts = [b"x" * 300_000, b"", b"y" * 300_000]
    async with serving(Release(200, JSON, 600_000, spooled(parts, closed)), Reply(200, JSON, b"{}")) as (_, client):
        got = await client.request(GET.replace(b"\r\n\r\n", b"\r\naccept-encoding: " + accept + b"\r\n\r\n"))
        assert (gzip.decompress(got.body) if coding else got.body) == b"".join(parts) and closed == [True]
        assert got.headers.get(b"content-encoding") == coding
        assert got.headers.get(b"content-length") == (None if coding else b"600000")
        assert (await client.request(GET)).body == b"{}"


async def test_release_that_fails_half_way_cuts_the_answer(serving, caplog):
    def broken():
        yield b"one"
        raise OSError("the disk")

    async with serving(Release(200, JSON, 6, broken())) as (_, client):
        got = await client.request(GET)
        assert got.body == b"one" and not got.whole


async def test_framing_of_the_upstream_does_not_reach_the_client(serving):
    headers = [*JSON, (b"transfer-encoding", b"chunked"), (b"connection", b"close"), (b"content-length", b"99")]
    async with serving(Reply(200, headers, b"{}")) as (_, client):
        got = await client.request(GET)
        assert (
            got.headers[b"content-length"] == b"2"
            and b"transfer-encoding" not in got.headers
            and b"connection" not in got.headers
        )


async def test_head_has_the_length_and_no_body(serving):
    async with serving(SEND, Write(b"", True, AnswerHead(200, JSON, 123)), Reply(404, JSON, b"")) as (app, client):
        await client.send(GET.replace(b"GET", b"HEAD"))
        (await flights(app))[0].answer(b"")
        got = await client.answer(head=True)
        assert got.status == 200 and got.headers[b"content-length"] == b"123"
        assert (await client.request(GET.replace(b"GET", b"HEAD"), head=True)).status == 404


async def test_abort_cuts_a_chunked_answer(serving, caplog):
    async with serving(SEND, Write(b"one", False, AnswerHead(200, JSON)), Abort("a hit that is not the tenant's")) as (
        app,
        client,
    ):
        await client.send(GET)
        sink = (await flights(app))[0].sink
        sink.open_answer(OK, 1)
        await until(lambda: b"one" in client.reader._buffer)
        sink.feed_answer(b"two", True)
        got = await client.answer()
        assert (got.status, got.body, got.whole) == (200, b"one", False)
        assert "a hit that is not the tenant's" in caplog.text


async def test_abort_cuts_an_answer_of_known_length(serving, caplog):
    async with serving(SEND, Write(b"one", False, AnswerHead(200, JSON, 6)), Abort("why")) as (app, client):
        await client.send(GET)
        sink = (await flights(app))[0].sink
        sink.open_answer(OK, 1)
        await until(lambda: b"one" in client.reader._buffer)
        sink.feed_answer(b"two", True)
        got = await client.answer()
        assert (got.body, got.whole) == (b"one", False)


@pytest.mark.parametrize(("end", "status", "body"), [(Write(b"two", True), 200, b"onetwo"), (Abort("why"), 500, None)])
async def test_http_1_0_client_gets_a_whole_answer_or_an_error(serving, end, status, body, caplog):
    async with serving(SEND, Write(b"one", False, AnswerHead(200, JSON)), end) as (app, client):
        await client.send(GET.replace(b"1.1", b"1.0"))
        sink = (await flights(app))[0].sink
        sink.open_answer(OK, 1)
        sink.feed_answer(b"two", True)
        got = await client.answer()
        assert got.status == status and got.whole and got.body == (body or got.body)
        assert orjson.loads(got.body)["status"] == 500 if body is None else True


async def test_exception_inside_the_gateway_is_a_500_in_elasticsearchs_shape(serving, caplog):
    async with serving(ValueError("bug")) as (_, client):
        got = await client.request(GET)
        assert got.status == 500 and orjson.loads(got.body)["error"]["type"] == "exception"


# --- clients that leave or are slow


@pytest.mark.parametrize(
    "request_", [GET, b"POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nabc"], ids=["waiting", "sending"]
)
async def test_client_that_leaves_cancels_upstream(serving, request_):
    async with serving(SEND) as (app, client):
        await client.send(request_)
        flight = (await flights(app))[0]
        client.writer.transport.abort()
        await until(lambda: flight.calls == [("cancel",)])
        assert app.proxy.gateway.exchange.calls[-1] == ("close",) and app.proxy.stats.disconnects == 1


async def test_slow_client_pauses_the_answer_until_it_reads(serving):
    part = b"x" * (256 << 10)
    script = [SEND, Write(part, False, AnswerHead(200, JSON)), *[Write(part, False)] * 100, Write(b"", True)]
    async with serving(*script) as (app, client):
        await client.send(GET)
        flight = (await flights(app))[0]
        sent = 1
        flight.sink.open_answer(OK, 1, part)
        while ("pause",) not in flight.calls and sent < 101:
            flight.sink.feed_answer(part, False)
            sent += 1
            await asyncio.sleep(0.005)
        assert sent < 101 and flight.calls == [("pause",)]
        reading = asyncio.create_task(client.answer())
        await until(lambda: flight.calls == [("pause",), ("resume",)])
        app.proxy.gateway.exchange.script = type(app.proxy.gateway.exchange.script)([Write(b"", True)])
        flight.sink.feed_answer(b"", True)
        got = await reading
        assert got.whole and len(got.body) == sent * len(part)


# --- Expect


async def test_expect_is_answered_before_the_body_is_read(serving):
    async with serving(Reply(413, JSON, b"{}")) as (app, client):
        got = await client.request(b"POST /x HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 1000\r\n\r\n")
        assert got.status == 413 and got.headers[b"connection"] == b"close"
        assert app.proxy.gateway.exchange.calls == [("open", b"", False)]


async def test_expect_continues_when_the_body_is_wanted(serving):
    async with serving(None, Reply(200, JSON, b"{}")) as (app, client):
        first = await client.request(b"POST /x HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n")
        assert first.status == 100
        assert (await client.request(b"ab")).status == 200
        assert app.proxy.gateway.exchange.calls[-1] == ("feed", b"ab", True)


# --- gzip


async def test_gzip_body_reaches_the_gateway_inflated(serving):
    async with serving(Reply(200, JSON, b"{}")) as (app, client):
        await client.request(post(gzip.compress(b'{"query":{}}'), b"content-encoding: gzip"))
        assert app.proxy.gateway.exchange.calls == [("open", b'{"query":{}}', True)]
        head = app.proxy.gateway.head
        assert head.get(b"content-encoding") is None and head.get(b"content-length") is None


async def test_large_gzip_body_is_fed_in_steps(serving):
    plain = os.urandom(3 << 20)

    def answer_when_whole(exchange):
        return Reply(200, JSON, b"{}") if exchange.calls[-1][2] else None

    async with serving(*[answer_when_whole] * 100) as (app, client):
        client.writer.write(post(gzip.compress(plain, 1), b"content-encoding: gzip"))
        calls = app.proxy.gateway.exchange.calls
        assert (await client.answer()).status == 200
        assert b"".join(call[1] for call in calls) == plain and len(calls) > 12
        assert all(len(call[1]) <= 256 << 10 for call in calls)


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        (b"no gzip at all", 400, "the body is not valid gzip"),
        (gzip.compress(b"x" * 1000)[:-4], 400, "the gzip body ends too early"),
        (gzip.compress(gzip.compress(b"")[:5])[:12], 400, "the gzip body ends too early"),
        (gzip.compress(b" " * (4 << 20)), 413, "the gzip body grows to more than 500 times its size"),
    ],
    ids=["broken", "cut", "cut-early", "bomb"],
)
async def test_bad_gzip_body_is_refused(serving, body, status, reason):
    async with serving(*[None] * 50) as (_, client):
        got = await client.request(post(body, b"content-encoding: gzip"))
        assert got.status == status and orjson.loads(got.body)["error"]["reason"] == reason


async def test_unknown_coding_is_refused(serving):
    async with serving() as (_, client):
        got = await client.request(post(b"x", b"content-encoding: br"))
        assert got.status == 415 and got.headers[b"accept-encoding"] == b"gzip"


@pytest.mark.parametrize("size", [5000, 3 << 20])
async def test_answer_is_compressed_for_those_who_accept_it(serving, size):
    body = os.urandom(size // 4).hex().encode()[:size]
    async with serving(Reply(200, JSON, body)) as (_, client):
        got = await client.request(GET.replace(b"\r\n\r\n", b"\r\naccept-encoding: br, gzip\r\n\r\n"))
        assert got.headers[b"content-encoding"] == b"gzip" and gzip.decompress(got.body) == body


async def test_answer_in_parts_is_compressed(serving):
    script = [SEND, Write(b"one" * 9999, False, AnswerHead(200, JSON, 59994)), Write(b"two" * 9999, True)]
    async with serving(*script) as (app, client):
        await client.send(GET.replace(b"\r\n\r\n", b"\r\naccept-encoding: gzip\r\n\r\n"))
        sink = (await flights(app))[0].sink
        sink.open_answer(OK, 1)
        sink.feed_answer(b"two", True)
        got = await client.answer()
        assert gzip.decompress(got.body) == b"one" * 9999 + b"two" * 9999 and got.headers[b"transfer-encoding"] == b"chunked"


@pytest.mark.parametrize(
    ("accept", "headers", "size"),
    [
        (b"gzip;q=0", JSON, 5000),
        (b"br", JSON, 5000),
        (b"gzip", [*JSON, (b"content-encoding", b"zstd")], 5000),
        (b"gzip", JSON, 1000),
    ],
)
async def test_answer_is_left_as_it_is(serving, accept, headers, size):
    async with serving(Reply(200, headers, b"x" * size)) as (_, client):
        got = await client.request(GET.replace(b"\r\n\r\n", b"\r\naccept-encoding: " + accept + b"\r\n\r\n"))
        assert got.body == b"x" * size and got.headers.get(b"content-encoding") != b"gzip"


# --- connections


async def test_pipelined_requests_are_begun_and_answered_one_after_the_other(serving):
    answers = [Write(b"%d" % n, True, OK) for n in range(3)]
    async with serving(*[step for answer in answers for step in (SEND, answer)]) as (app, client):
        await client.send(GET * 2 + post(b"abc"))
        calls = app.proxy.gateway.exchange.calls
        for number in range(3):
            flight = (await flights(app, number + 1))[-1]
            await asyncio.sleep(0.02)
            assert sum(call[0] == "open" for call in calls) == number + 1
            flight.answer()
        assert [(await client.answer()).body for _ in range(3)] == [b"0", b"1", b"2"]
        assert [call for call in calls if call[0] == "open"] == [("open", b"", True)] * 2 + [("open", b"abc", True)]


async def test_many_pipelined_requests_are_answered_in_order(serving):
    number = 3000
    async with serving(*[Reply(200, JSON, b"%d" % n) for n in range(number)]) as (_, client):
        client.writer.write(GET * number)
        assert [(await client.answer()).body for _ in range(number)] == [b"%d" % n for n in range(number)]


async def test_client_that_shuts_its_side_down_has_left_as_it_has_for_nodes(serving):
    async with serving(SEND) as (app, client):
        await client.send(GET)
        flight = (await flights(app))[0]
        client.writer.write_eof()
        await until(lambda: flight.calls == [("cancel",)])
        assert await client.closed()


async def test_answer_that_came_early_is_followed_by_the_next_request(serving):
    async with serving(Reply(413, JSON, b"{}"), Reply(200, JSON, b"[]")) as (app, client):
        got = await client.request(b"POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\nabc")
        assert got.status == 413
        got = await client.request(b"x" * 999_997 + GET)
        assert (got.status, got.body) == (200, b"[]")
        assert app.proxy.gateway.exchange.calls == [("open", b"abc", False), ("open", b"", True)]


async def test_chunked_body_reaches_the_gateway_joined(serving):
    async with serving(Reply(200, JSON, b"{}")) as (app, client):
        await client.request(b"POST /x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
        assert app.proxy.gateway.exchange.calls == [("open", b"abcde", True)]


@pytest.mark.parametrize("request_", [GET.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"), GET.replace(b"1.1", b"1.0")])
async def test_connection_ends_with_the_answer_where_the_client_wants_it(serving, request_):
    async with serving(Reply(200, JSON, b"{}")) as (app, client):
        got = await client.request(request_ + GET)
        assert got.body == b"{}" and got.headers[b"connection"] == b"close"
        assert await client.closed()
        assert len(app.proxy.gateway.exchange.calls) == 1


async def test_upgrade_is_not_taken_and_the_connection_goes_on(serving):
    upgrade = GET.replace(b"\r\n\r\n", b"\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n")
    async with serving(Reply(200, JSON, b"{}"), Reply(200, JSON, b"[]")) as (_, client):
        assert (await client.request(upgrade)).body == b"{}"
        assert (await client.request(GET)).body == b"[]"


@pytest.mark.parametrize(
    "nonsense",
    [
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET /x HTTP/1.1\r\nhost a\r\n\r\n",
        b"POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
        b"POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n",
        b"GET /x HTTP/1.1\r\nhost: a\r\nx: a\x00b\r\n\r\n",
        b"GET /x HTTP/1.1\r\nhost: a\r\nx-tenant: a\nx-tenant: b\r\n\r\n",
        b"FETCH /x HTTP/1.1\r\nhost: a\r\n\r\n",
    ],
)
async def test_what_is_no_http_is_a_400_and_the_end(serving, nonsense):
    async with serving() as (app, client):
        assert (await client.request(nonsense)).status == 400
        assert await client.closed()
        assert app.proxy.gateway.head is None


async def test_head_without_end_is_refused(serving):
    async with serving() as (app, client):
        await client.send(GET.replace(b"\r\n\r\n", b"\r\nx: " + b"y" * 80_000 + b"\r\n\r\n"))
        got = await client.answer()
        assert got.status == 400 and orjson.loads(got.body)["error"]["type"] == "too_long_http_header_exception"
        assert app.proxy.gateway.head is None


async def test_server_that_ends_answers_what_is_under_way(serving):
    async with serving(SEND, Write(b"{}", True, OK)) as (app, client):
        await client.send(GET)
        flight = (await flights(app))[0]
        client.server.should_exit = True
        await asyncio.sleep(0.3)
        flight.answer()
        assert (await client.answer()).body == b"{}"
        assert await client.closed()


async def test_server_that_waits_no_longer_says_so(serving):
    async with serving(SEND, grace=0.2) as (app, client):
        await client.send(GET)
        flight = (await flights(app))[0]
        client.server.should_exit = True
        got = await client.answer()
        assert got.status == 503 and b"the proxy is stopping" in got.body
        assert flight.calls == [("cancel",)] and await client.closed()


async def test_idle_connections_end_with_the_server(serving):
    async with serving(Reply(200, JSON, b"{}")) as (_, client):
        await client.request(GET)
        client.server.should_exit = True
        assert await client.closed()


async def test_draining_application_ends_connections(serving):
    async with serving(Reply(200, JSON, b"{}")) as (app, client):
        app.draining = True
        assert (await client.request(GET)).headers[b"connection"] == b"close"
