"""What is the ASGI application's alone; what all shells do is in test_shells.py."""

import asyncio

import orjson
import pytest
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse

from esproxy.exchange import Abort, Reply, Write
from esproxy.heads import AnswerHead
from esproxy.serve.asgi import DataApp
from esproxy.serve.driver import Proxy
from tests.unit.serve.http import GET, JSON, SHELLS, Client, flights, scripted, served
from tests.unit.serve.scripted import OK, SEND, RecordingEngine, ScriptedGateway


async def test_abort_before_the_first_part_was_written_is_a_500(caplog):
    async with scripted("httptools", SEND, Write(b"one", False, AnswerHead(200, JSON)), Abort("why")) as (app, client):
        await client.send(GET)
        sink = (await flights(app))[0].sink
        sink.open_answer(OK, 1)
        sink.feed_answer(b"two", True)
        got = await client.answer()
        assert got.status == 500 and got.whole


async def test_data_app_mounts_nothing():
    app = DataApp()
    assert app.routes == []


async def test_application_without_a_lifespan_is_a_503():
    sent = []

    async def send(message):
        sent.append(message)

    await DataApp()({"type": "http", "method": "GET"}, None, send)
    assert sent[0]["status"] == 503 and orjson.loads(sent[1]["body"])["status"] == 503


@pytest.mark.parametrize("shell", SHELLS)
async def test_middleware_that_is_added_sees_requests(shell):
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
    async with served(app, SHELLS[shell]) as port:
        client = await Client.connect(port)
        assert (await client.request(GET)).body == b"{}"
        assert (await client.request(GET.replace(b"/x", b"/own"))).body == b"own"
        await client.close()
    assert seen.count("http") == 2


async def test_common_request_makes_no_task_of_its_own():
    async with scripted("httptools", SEND, Write(b"{}", True, OK)) as (app, client):
        await client.send(GET)
        (flight,) = await flights(app)
        before = len(asyncio.all_tasks())
        flight.answer()
        await client.answer()
        assert before <= 4, [task.get_coro() for task in asyncio.all_tasks()]  # the test, the server, its lifespan, its request
