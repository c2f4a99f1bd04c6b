"""What our protocol class does beyond uvicorn's: trailers, times, clients that leave unseen; and what it leans on in uvicorn.

What all shells do is in test_shells.py.
"""

import asyncio
import inspect
import re
from functools import partial
from importlib.metadata import requires, version

import orjson
import pytest
import uvicorn
from starlette.middleware import Middleware
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from esproxy.config import Listen, Settings
from esproxy.exchange import ANSWER, BODY, Release, Reply, Send, Write
from esproxy.heads import AnswerHead
from esproxy.serve.asgi import DataApp
from esproxy.serve.framing import origin_form
from esproxy.serve.protocol import ClientConnection, protocol
from esproxy.serve.worker import server_config
from tests.unit.serve.http import GET, JSON, Client, flights, port_of, post, scripted, started, until
from tests.unit.serve.scripted import OK, SEND

serving = partial(scripted, protocol)
PART = b"POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nabc"


def connection_of(client: Client) -> ClientConnection:
    (connection,) = client.server.server_state.connections
    return connection


def sweep(client: Client, *times: float, keep_alive: float = 10, patience: float = 20) -> None:
    """Let the sweeper look at the connection at these times."""
    for time in times:
        connection_of(client).sweep(time, keep_alive, patience)


# --- the common request


async def test_common_request_makes_no_task_and_no_scope(monkeypatch):
    async def never(*_):
        raise AssertionError("the ASGI application was called")

    monkeypatch.setattr(DataApp, "serve", never)
    async with serving(SEND, Write(b"{}", True, OK)) as (app, client):
        before = asyncio.all_tasks()
        await client.send(GET)
        (flight,) = await flights(app)
        assert asyncio.all_tasks() == before
        flight.answer()
        assert (await client.answer()).body == b"{}"


async def test_small_answer_is_one_write(monkeypatch):
    written = []
    async with serving(SEND, Write(b"{}", True, OK)) as (app, client):
        await client.send(GET)
        (flight,) = await flights(app)
        client.server.server_state.default_headers = []
        monkeypatch.setattr(ClientConnection, "write", lambda self, data: written.append(data))
        flight.answer()
        assert written == [b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"]


async def test_headers_of_the_server_stand_in_every_answer():
    script = [Reply(200, JSON, b"{}"), SEND, Write(b"one", False, AnswerHead(200, JSON)), Write(b"", True)]
    async with serving(*script) as (app, client):
        client.server.server_state.default_headers = [(b"x-server", b"1")]
        assert (await client.request(GET)).headers[b"x-server"] == b"1"
        await client.send(GET)
        sink = (await flights(app))[0].sink
        sink.open_answer(OK, 1)
        sink.feed_answer(b"", True)
        assert (await client.answer()).headers[b"x-server"] == b"1"


async def test_line_break_in_a_header_of_an_answer_is_a_bug_and_not_an_answer(caplog):
    async with serving(Reply(200, [(b"x", b"a\r\nb: c")], b"{}")) as (app, client):
        await client.send(GET)
        assert await client.closed()
        assert "a line break in a header of an answer" in caplog.text and app.proxy.stats.bugs == 1


# --- what is read


async def test_trailers_are_dropped():
    async with serving(Reply(200, JSON, b"{}"), Reply(200, JSON, b"[]")) as (app, client):
        chunked = b"POST /x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\nx-tenant: b\r\n\r\n"
        assert (await client.request(chunked)).body == b"{}"
        assert app.proxy.gateway.head.get(b"x-tenant") is None
        assert (await client.request(GET)).body == b"[]"


@pytest.mark.parametrize("cut", range(1, len(PART) + 6, 7))
async def test_request_cut_anywhere_is_the_same_request(cut):
    def answer_when_whole(exchange):
        return Reply(200, JSON, b"{}") if exchange.calls[-1][2] else None

    whole = PART + b"defghi"
    async with serving(*[answer_when_whole] * 3) as (app, client):
        await client.send(whole[:cut])
        await asyncio.sleep(0.01)
        assert (await client.request(whole[cut:])).body == b"{}"
        assert app.proxy.gateway.head.headers == [(b"host", b"a"), (b"content-length", b"9")]
        assert b"".join(call[1] for call in app.proxy.gateway.exchange.calls) == b"abcdefghi"


async def test_what_is_no_http_behind_a_request_is_refused_after_its_answer():
    async with serving(SEND, Write(b"{}", True, OK)) as (app, client):
        await client.send(GET + b"nonsense\r\n\r\n")
        (await flights(app))[0].answer()
        assert (await client.answer()).body == b"{}"
        assert (await client.answer()).status == 400 and await client.closed()


async def test_body_that_becomes_nonsense_ends_its_exchange():
    async with serving(Send("main", "POST", b"/x", [], b"", False), None, None) as (app, client):
        await client.send(b"POST /x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n")
        flight = (await flights(app))[0]
        got = await client.request(b"zz\r\n")
        assert got.status == 400 and await client.closed()
        assert flight.calls == [("cancel",)] and app.proxy.gateway.exchange.calls[-1] == ("close",)


async def test_head_without_end_is_refused_before_it_ends():
    async with serving() as (_, client):
        await client.send(GET[:-2] + b"x: ")
        for _ in range(9):
            await client.send(b"y" * 16_000)
            await asyncio.sleep(0.01)
        got = await client.answer()
        assert got.status == 400 and orjson.loads(got.body)["error"]["type"] == "too_long_http_header_exception"


async def test_request_behind_a_large_body_is_no_large_head():
    def answer_when_whole(exchange):
        return Reply(200, JSON, b"{}") if exchange.calls[-1][2] else None

    async with serving(*[answer_when_whole] * 99) as (_, client):
        for _ in range(3):
            await client.send(post(b"x" * 300_000) + GET[:9])
            assert (await client.answer()).status == 200
            assert (await client.request(GET[9:])).status == 200


@pytest.mark.parametrize(
    ("sent", "meant"),
    [(b"http://a:1/b?c=d", b"/b?c=d"), (b"http://a/b", b"/b"), (b"/a#b", b"/a"), (b"a:1", b"a:1"), (b"*", b"*")],
)
def test_target_that_is_more_than_a_path_is_reduced_to_it(sent, meant):
    assert origin_form(sent) == meant


async def test_answer_to_a_client_that_still_sends_is_not_lost():
    async with serving(Reply(413, JSON, b"{}")) as (_, client):
        await client.send(b"POST /x HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 9000000\r\n\r\n")
        await client.send(b"x" * 1_000_000)
        await asyncio.sleep(0.05)
        await client.send(b"x" * 1_000_000)  # the proxy has answered and shut its side down, and reads on
        assert (await client.answer()).status == 413 and await client.closed()
        sweep(client, 100, 101.9)
        assert not connection_of(client).transport.is_closing()
        sweep(client, 102.1)
        assert connection_of(client).transport.is_closing()


# --- clients that are slow, or leave


async def test_client_that_leaves_while_its_body_is_held_is_found_out():
    def full(exchange):
        exchange.wants = ANSWER

    async with serving(Send("main", "POST", b"/x", [], b"", False), full) as (app, client):
        await client.send(PART)
        flight = (await flights(app))[0]
        await client.send(b"d")
        await until(lambda: connection_of(client).paused)
        sweep(client, 1, 2)
        assert flight.calls == []
        client.writer.transport.abort()
        await asyncio.sleep(0.05)
        sweep(client, 3)
        await until(lambda: flight.calls == [("cancel",)])


async def test_pipelined_request_of_a_client_that_left_is_not_begun():
    async with serving(SEND) as (app, client):
        await client.send(GET)
        flight = (await flights(app))[0]
        await client.send(GET)
        await until(lambda: connection_of(client).paused)
        client.writer.transport.abort()
        await asyncio.sleep(0.05)
        sweep(client, 1)
        await until(lambda: flight.calls == [("cancel",)] and app.proxy.stats.in_flight == 0)
        assert [call[0] for call in app.proxy.gateway.exchange.calls] == ["open", "close"]


async def test_pipelined_request_waits_until_the_client_takes_answers():
    large = b"x" * (32 << 20)
    async with serving(Reply(200, JSON, large), Reply(200, JSON, b"{}")) as (app, client):
        await client.send(GET)
        await until(lambda: app.proxy.gateway.head is not None and connection_of(client).blocked)
        await client.send(GET)
        await until(lambda: connection_of(client).paused)
        assert len(app.proxy.gateway.exchange.calls) == 1
        assert (await client.answer()).body == large
        assert (await client.answer()).body == b"{}"


async def test_spool_of_a_client_that_leaves_is_closed():
    closed = []

    def parts():
        try:
            while True:
                yield b"x" * (1 << 20)
        finally:
            closed.append(True)

    async with serving(Release(200, JSON, 1 << 40, parts())) as (_, client):
        await client.send(GET)
        await until(lambda: connection_of(client).blocked)
        assert not closed
        client.writer.transport.abort()
        await until(lambda: closed)


# --- times: the sweeper's look at a connection, with a clock of the test's


async def test_idle_connection_is_closed_after_its_time():
    async with serving(Reply(200, JSON, b"{}")) as (_, client):
        await client.request(GET)
        sweep(client, 100, 109.9)
        assert not connection_of(client).ending
        sweep(client, 110.1)
        assert await client.closed()


async def test_head_has_to_end_in_its_time_however_slowly_it_comes():
    async with serving() as (_, client):
        await client.send(GET[:5])
        await until(lambda: connection_of(client).in_head == 2)
        sweep(client, 100)
        await client.send(GET[5:9])
        await asyncio.sleep(0.02)
        sweep(client, 109)
        assert not connection_of(client).ending
        sweep(client, 111)
        assert await client.closed()


async def test_request_that_waits_for_its_answer_is_not_idle():
    async with serving(SEND, Write(b"{}", True, OK)) as (app, client):
        await client.send(GET)
        flight = (await flights(app))[0]
        sweep(client, 100, 1000)
        flight.answer()
        assert (await client.answer()).body == b"{}"


async def test_body_that_does_not_come_is_a_408():
    async with serving(Send("main", "POST", b"/x", [], b"", False)) as (app, client):
        await client.send(PART)
        flight = (await flights(app))[0]
        sweep(client, 100, 119)
        assert not flight.calls
        sweep(client, 121)
        got = await client.answer()
        assert got.status == 408 and await client.closed() and flight.calls == [("cancel",)]


async def test_client_that_takes_no_answer_is_hung_up_on():
    async with serving(Reply(200, JSON, b"x" * (32 << 20))) as (_, client):
        await client.send(GET)
        await until(lambda: connection_of(client).blocked)
        sweep(client, 100, 101, 119)
        assert not connection_of(client).transport.is_closing()
        sweep(client, 122)
        assert connection_of(client).transport.is_closing()


async def test_sweeper_looks_while_there_are_connections(monkeypatch):
    monkeypatch.setattr("esproxy.serve.sweeper.SWEEP_EVERY", 0.01)
    app = DataApp(settings=Settings(listen=Listen(keep_alive=0.05)))
    looked = []
    monkeypatch.setattr(ClientConnection, "sweep", lambda self, *times: looked.append(times))
    async with started(DataApp(proxy=object(), settings=app.settings), protocol) as server:
        client = await Client.connect(port_of(server))
        await until(lambda: looked)
        assert looked[0][1:] == (5, 120.0)  # the keep-alive is what uvicorn was told
        await client.close()
        await until(lambda: not server.server_state.connections)
        await asyncio.sleep(0.05)
        before = len(looked)
        await asyncio.sleep(0.05)
        assert len(looked) == before


# --- what we lean on in uvicorn


def test_uvicorn_is_within_the_range_that_was_tried():
    (wanted,) = [line for line in requires("esproxy") if line.startswith("uvicorn")]
    least, below = re.search(r">=([\d.]+)", wanted)[1], re.search(r"<([\d.]+)", wanted)[1]
    numbers = [tuple(map(int, text.split(".")[:2])) for text in (least, version("uvicorn"), below)]
    assert numbers[0] <= numbers[1] < numbers[2]


def test_uvicorn_makes_protocols_as_we_expect():
    ours, theirs = inspect.signature(protocol), inspect.signature(HttpToolsProtocol.__init__)
    assert list(ours.parameters) == list(theirs.parameters)[1:] == ["config", "server_state", "app_state", "_loop"]
    source = inspect.getsource(uvicorn.Server.startup)
    assert all(f"{name}=" in source for name in ours.parameters) and "config.http_protocol_class(" in source


def test_uvicorn_ends_connections_by_their_shutdown():
    source = inspect.getsource(uvicorn.Server.shutdown)
    assert "in list(self.server_state.connections):\n            connection.shutdown()" in source
    assert "while self.server_state.connections and" in inspect.getsource(uvicorn.Server._wait_tasks_to_complete)


def test_uvicorn_has_the_state_that_we_use():
    state = ServerState()
    assert (state.total_requests, state.connections, state.default_headers) == (0, set(), [])


@pytest.mark.parametrize(("shell", "ours"), [("protocol", True), ("asgi", False)])
async def test_setting_chooses_the_shell(shell, ours):
    config = server_config(DataApp(), Listen(shell=shell))
    config.load()
    made = config.http_protocol_class(config=config, server_state=ServerState(), app_state={}, _loop=asyncio.get_running_loop())
    assert isinstance(made, ClientConnection if ours else HttpToolsProtocol)
    assert config.timeout_keep_alive == Listen().keep_alive and config.limit_concurrency is None


@pytest.mark.parametrize("what", ["middleware", "route", "concurrency", "proxy_headers"])
async def test_what_is_not_data_plane_is_left_to_uvicorn(what):
    app = DataApp()
    if what == "middleware":
        app.user_middleware.append(Middleware(lambda app: app))
    elif what == "route":
        app.add_route("/own", lambda request: None)
    config = uvicorn.Config(
        app, limit_concurrency=1 if what == "concurrency" else None, proxy_headers=what == "proxy_headers", log_config=None
    )
    config.load()
    made = protocol(config, ServerState(), {}, asyncio.get_running_loop())
    assert isinstance(made, HttpToolsProtocol)


async def test_wants_of_a_body_that_is_whole_hold_nothing():
    async with serving(SEND, Write(b"{}", True, OK), wants=BODY | ANSWER) as (app, client):
        await client.send(post(b"abc"))
        flight = (await flights(app))[0]
        assert not connection_of(client).paused
        flight.answer()
        assert (await client.answer()).body == b"{}"
