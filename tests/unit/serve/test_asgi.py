"""The ASGI shell behind a real uvicorn, spoken to in bytes; the Gateway is scripted, the engine records."""

import asyncio
import gzip
import os
from contextlib import asynccontextmanager

import orjson
import pytest
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse

from esproxy.exchange import ANSWER, BODY, Abort, AnswerHead, More, Release, Reply, Send, Write
from esproxy.serve.asgi import DataApp
from esproxy.serve.driver import Proxy
from tests.unit.serve.http import Client, served
from tests.unit.serve.scripted import OK, SEND, RecordingEngine, ScriptedGateway

GET = b"GET /x HTTP/1.1\r\nhost: a\r\n\r\n"
JSON = [(b"content-type", b"application/json")]


@asynccontextmanager
async def serving(*script, wants=BODY | ANSWER, engine=None):
    """A server whose first exchange follows the script, and a connection to it."""
    app = DataApp(Proxy(ScriptedGateway(list(script), wants), engine or RecordingEngine()))
    async with served(app) as port:
        client = await Client.connect(port)
        try:
            yield app, client
        finally:
            await client.close()


async def flights(app, number=1):
    """The engine's flights, once there are so many."""
    async with asyncio.timeout(5):
        while len(app.proxy.engine.flights) < number:
            await asyncio.sleep(0.005)
    return app.proxy.engine.flights


async def until(condition):
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.005)


def post(body: bytes, *headers: bytes, target: bytes = b"/x") -> bytes:
    lines = [b"POST " + target + b" HTTP/1.1", b"host: a", b"content-length: %d" % len(body), *headers]
    return b"\r\n".join([*lines, b"", b""]) + body


async def test_request_goes_up_and_its_answer_comes_back_on_a_connection_that_stays():
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
async def test_target_reaches_the_gateway_as_it_was_sent(target):
    async with serving(Reply(200, JSON, b"{}")) as (app, client):
        await client.request(b"GET " + target + b" HTTP/1.1\r\nhost: a\r\nX-Tenant: acme\r\n\r\n")
        head = app.proxy.gateway.head
        assert head.target == target and head.peer == "127.0.0.1" and head.get(b"x-tenant") == b"acme"


async def test_body_in_parts_is_fed_as_it_comes():
    script = [Send("main", "POST", b"/x", [], b"a", False), More(b"b", True), Write(b"{}", True, OK)]
    async with serving(*script) as (app, client):
        await client.send(b"POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\na")
        await flights(app)
        await client.send(b"b")
        await until(lambda: app.proxy.engine.flights[0].calls == [("more", b"b", True)])
        app.proxy.engine.flights[0].answer()
        assert (await client.answer()).body == b"{}"


async def test_body_that_is_not_wanted_is_left_in_the_socket():
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


async def test_answer_of_unknown_length_is_chunked():
    script = [SEND, Write(b"one", False, AnswerHead(200, JSON)), Write(b"two", True)]
    async with serving(*script) as (app, client):
        await client.send(GET)
        sink = (await flights(app))[0].sink
        sink.open_answer(OK, 1)
        sink.feed_answer(b"two", True)
        got = await client.answer()
        assert got.body == b"onetwo" and got.headers[b"transfer-encoding"] == b"chunked"


async def test_answer_in_parts_of_known_length_has_it():
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
async def test_released_answer_comes_from_its_spool(accept, coding):
    closed = []
    parts = [b"x" * 300_000, b"", b"y" * 300_000]
    async with serving(Release(200, JSON, 600_000, spooled(parts, closed)), Reply(200, JSON, b"{}")) as (_, client):
        got = await client.request(GET.replace(b"\r\n\r\n", b"\r\naccept-encoding: " + accept + b"\r\n\r\n"))
        assert (gzip.decompress(got.body) if coding else got.body) == b"".join(parts) and closed == [True]
        assert got.headers.get(b"content-encoding") == coding
        assert got.headers.get(b"content-length") == (None if coding else b"600000")
        assert (await client.request(GET)).body == b"{}"


async def test_release_that_fails_half_way_cuts_the_answer(caplog):
    def broken():
        yield b"one"
        raise OSError("the disk")

    async with serving(Release(200, JSON, 6, broken())) as (_, client):
        got = await client.request(GET)
        assert got.body == b"one" and not got.whole


async def test_framing_of_the_upstream_does_not_reach_the_client():
    headers = [*JSON, (b"transfer-encoding", b"chunked"), (b"connection", b"close"), (b"content-length", b"99")]
    async with serving(Reply(200, headers, b"{}")) as (_, client):
        got = await client.request(GET)
        assert (
            got.headers[b"content-length"] == b"2"
            and b"transfer-encoding" not in got.headers
            and b"connection" not in got.headers
        )


async def test_head_has_the_length_and_no_body():
    async with serving(SEND, Write(b"", True, AnswerHead(200, JSON, 123)), Reply(404, JSON, b"")) as (app, client):
        await client.send(GET.replace(b"GET", b"HEAD"))
        (await flights(app))[0].answer(b"")
        got = await client.answer(head=True)
        assert got.status == 200 and got.headers[b"content-length"] == b"123"
        assert (await client.request(GET.replace(b"GET", b"HEAD"), head=True)).status == 404


async def test_abort_cuts_a_chunked_answer(caplog):
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


async def test_abort_before_the_first_part_was_written_is_a_500(caplog):
    async with serving(SEND, Write(b"one", False, AnswerHead(200, JSON)), Abort("why")) as (app, client):
        await client.send(GET)
        sink = (await flights(app))[0].sink
        sink.open_answer(OK, 1)
        sink.feed_answer(b"two", True)
        got = await client.answer()
        assert got.status == 500 and got.whole


async def test_abort_cuts_an_answer_of_known_length(caplog):
    async with serving(SEND, Write(b"one", False, AnswerHead(200, JSON, 6)), Abort("why")) as (app, client):
        await client.send(GET)
        sink = (await flights(app))[0].sink
        sink.open_answer(OK, 1)
        await until(lambda: b"one" in client.reader._buffer)
        sink.feed_answer(b"two", True)
        got = await client.answer()
        assert (got.body, got.whole) == (b"one", False)


@pytest.mark.parametrize(("end", "status", "body"), [(Write(b"two", True), 200, b"onetwo"), (Abort("why"), 500, None)])
async def test_http_1_0_client_gets_a_whole_answer_or_an_error(end, status, body, caplog):
    async with serving(SEND, Write(b"one", False, AnswerHead(200, JSON)), end) as (app, client):
        await client.send(GET.replace(b"1.1", b"1.0"))
        sink = (await flights(app))[0].sink
        sink.open_answer(OK, 1)
        sink.feed_answer(b"two", True)
        got = await client.answer()
        assert got.status == status and got.whole and got.body == (body or got.body)
        assert orjson.loads(got.body)["status"] == 500 if body is None else True


async def test_exception_inside_the_gateway_is_a_500_in_elasticsearchs_shape(caplog):
    async with serving(ValueError("bug")) as (_, client):
        got = await client.request(GET)
        assert got.status == 500 and orjson.loads(got.body)["error"]["type"] == "exception"


# --- clients that leave or are slow


@pytest.mark.parametrize(
    "request_", [GET, b"POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nabc"], ids=["waiting", "sending"]
)
async def test_client_that_leaves_cancels_upstream(request_):
    async with serving(SEND) as (app, client):
        await client.send(request_)
        flight = (await flights(app))[0]
        client.writer.transport.abort()
        await until(lambda: flight.calls == [("cancel",)])
        assert app.proxy.gateway.exchange.calls[-1] == ("close",) and app.proxy.stats.disconnects == 1


async def test_slow_client_pauses_the_answer_until_it_reads():
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


async def test_expect_is_answered_before_the_body_is_read():
    async with serving(Reply(413, JSON, b"{}")) as (app, client):
        got = await client.request(b"POST /x HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 1000\r\n\r\n")
        assert got.status == 413 and got.headers[b"connection"] == b"close"
        assert app.proxy.gateway.exchange.calls == [("open", b"", False)]


async def test_expect_continues_when_the_body_is_wanted():
    async with serving(None, Reply(200, JSON, b"{}")) as (app, client):
        first = await client.request(b"POST /x HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n")
        assert first.status == 100
        assert (await client.request(b"ab")).status == 200
        assert app.proxy.gateway.exchange.calls[-1] == ("feed", b"ab", True)


# --- gzip


async def test_gzip_body_reaches_the_gateway_inflated():
    async with serving(Reply(200, JSON, b"{}")) as (app, client):
        await client.request(post(gzip.compress(b'{"query":{}}'), b"content-encoding: gzip"))
        assert app.proxy.gateway.exchange.calls == [("open", b'{"query":{}}', True)]
        head = app.proxy.gateway.head
        assert head.get(b"content-encoding") is None and head.get(b"content-length") is None


async def test_large_gzip_body_is_fed_in_steps():
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
async def test_bad_gzip_body_is_refused(body, status, reason):
    async with serving(*[None] * 50) as (_, client):
        got = await client.request(post(body, b"content-encoding: gzip"))
        assert got.status == status and orjson.loads(got.body)["error"]["reason"] == reason


async def test_unknown_coding_is_refused():
    async with serving() as (_, client):
        got = await client.request(post(b"x", b"content-encoding: br"))
        assert got.status == 415 and got.headers[b"accept-encoding"] == b"gzip"


@pytest.mark.parametrize("size", [5000, 3 << 20])
async def test_answer_is_compressed_for_those_who_accept_it(size):
    body = os.urandom(size // 4).hex().encode()[:size]
    async with serving(Reply(200, JSON, body)) as (_, client):
        got = await client.request(GET.replace(b"\r\n\r\n", b"\r\naccept-encoding: br, gzip\r\n\r\n"))
        assert got.headers[b"content-encoding"] == b"gzip" and gzip.decompress(got.body) == body


async def test_answer_in_parts_is_compressed():
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
async def test_answer_is_left_as_it_is(accept, headers, size):
    async with serving(Reply(200, headers, b"x" * size)) as (_, client):
        got = await client.request(GET.replace(b"\r\n\r\n", b"\r\naccept-encoding: " + accept + b"\r\n\r\n"))
        assert got.body == b"x" * size and got.headers.get(b"content-encoding") != b"gzip"


# --- the application


async def test_data_app_mounts_nothing():
    app = DataApp()
    assert app.routes == []


async def test_application_without_a_lifespan_is_a_503():
    sent = []

    async def send(message):
        sent.append(message)

    await DataApp()({"type": "http", "method": "GET"}, None, send)
    assert sent[0]["status"] == 503 and orjson.loads(sent[1]["body"])["status"] == 503


async def test_middleware_that_is_added_sees_requests():
    seen = []

    class Notes:
        def __init__(self, app):
            self.app = app

        async def __call__(self, scope, receive, send):
            seen.append(scope["type"])
            await self.app(scope, receive, send)

    app = DataApp(Proxy(ScriptedGateway([Reply(200, JSON, b"{}")]), RecordingEngine()))
    app.user_middleware.append(Middleware(Notes))
    app.add_route("/own", lambda request: PlainTextResponse("own"))
    async with served(app) as port:
        client = await Client.connect(port)
        assert (await client.request(GET)).body == b"{}"
        assert (await client.request(GET.replace(b"/x", b"/own"))).body == b"own"
        await client.close()
    assert seen.count("http") == 2


async def test_draining_application_ends_connections():
    async with serving(Reply(200, JSON, b"{}")) as (app, client):
        app.draining = True
        assert (await client.request(GET)).headers[b"connection"] == b"close"


async def test_common_request_makes_no_task_of_its_own():
    async with serving(SEND, Write(b"{}", True, OK)) as (app, client):
        await client.send(GET)
        (flight,) = await flights(app)
        before = len(asyncio.all_tasks())
        flight.answer()
        await client.answer()
        assert before <= 4, [task.get_coro() for task in asyncio.all_tasks()]  # the test, the server, its lifespan, its request
