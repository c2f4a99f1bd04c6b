"""The straight way under any ASGI server: whatever happens, node and server see what they would have seen on the general way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from esproxy.known import LONGEST
from esproxy.serve import asgi_short
from esproxy.serve.asgi import ROUND
from tests.unit.gateway.whole import gateway
from tests.unit.serve import test_short, test_short_pools
from tests.unit.serve.sides import Side, answered, asked
from tests.unit.serve.test_short import HITS, MATCH, OF_SEARCH, SEARCH

TURNS = 6  # of the loop, in which a request's coroutine goes as far as it can


async def turn() -> None:
    for _ in range(TURNS):
        await asyncio.sleep(0)


def scope_of(raw: bytes, peer: str = "127.0.0.1") -> tuple[dict[str, Any], bytes]:
    """What a server makes of a request, and its body."""
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    method, target, version = first.split()
    path, _, query = target.partition(b"?")
    headers = [tuple(line.split(b": ", 1)) for line in lines]
    scope = {"type": "http", "http_version": version[5:].decode(), "method": method.decode(), "raw_path": path}
    return {**scope, "query_string": query, "headers": headers, "client": (peer, 9)}, body


class Request:
    """One request that a server has given to the application."""

    def __init__(self, side: AsgiSide, raw: bytes, change: Callable[[dict[str, Any]], None], pieces: int) -> None:
        self.side = side
        scope, body = scope_of(raw)
        change(scope)
        size = max(1, -(-len(body) // pieces))
        parts = [body[at : at + size] for at in range(0, len(body), size)] or [b""]
        self.given = [{"type": "http.request", "body": part, "more_body": part is not parts[-1]} for part in parts]
        self.left = asyncio.Event()
        self.task = asyncio.create_task(side.app(scope, self.receive, self.send))

    async def receive(self) -> dict[str, Any]:
        if self.given:
            return self.given.pop(0)
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        self.side.log.append(("client", "send", message))


class AsgiSide(Side):
    """The application, and two connections to the node."""

    def connect(self) -> None:
        """There is no connection but the server's."""

    async def begin(self, raw: bytes, change: Callable[[dict[str, Any]], None] = lambda scope: None, pieces: int = 1) -> Request:
        request = Request(self, raw, change, pieces)
        await turn()
        return request

    async def play(self, raw: bytes, answer: bytes, **options: Any) -> None:
        request = await self.begin(raw, **options)
        self.respond(answer)
        await turn()
        assert request.task.done()


Story = Callable[[AsgiSide], Awaitable[None]]


@pytest.fixture
def play(monkeypatch):
    """Plays a story on both ways, where something has come before; how often a request went straight."""
    gone: list[bool] = []
    go = asgi_short.go
    monkeypatch.setattr("esproxy.serve.asgi.go", lambda *args: gone.append(go(*args)) or gone[-1])

    async def both(story: Story, *, warm: tuple[bytes, bytes] = (SEARCH, OF_SEARCH), engine="opensearch", make=gateway) -> int:
        logs = []
        for straight in (False, True):
            side = AsgiSide(straight=straight, made=make(engine))
            for _ in range(3):
                await side.play(*warm)
            side.log.clear()
            before = sum(gone)
            await story(side)
            await turn()
            logs.append(side.told())
            if side.app.patrol.timer is not None:
                side.app.patrol.timer.cancel()
            side.engine._sweeper.cancel()
        assert logs[0] == logs[1]
        assert len(logs[0]) > 6
        return sum(gone) - before

    return both


def thrice(request: bytes, answer: bytes, **options: Any) -> Story:
    async def story(side: AsgiSide) -> None:
        for _ in range(3):
            await side.play(request, answer, **options)

    return story


# --- what is asked ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", test_short.STRAIGHT)
async def test_plain_request_goes_straight_and_is_the_same(play, name):
    assert await play(thrice(*test_short.STRAIGHT[name]), warm=test_short.STRAIGHT[name]) == 3


@pytest.mark.parametrize("name", test_short_pools.STRAIGHT)
async def test_plain_read_of_a_pool_goes_straight_and_is_the_same(play, name):
    straight = test_short_pools.STRAIGHT[name]
    assert await play(thrice(*straight), warm=straight, make=test_short_pools.Placed()) == 3


@pytest.mark.parametrize("name", test_short.GENERAL)
async def test_request_that_is_not_plain_goes_the_general_way(play, name):
    general = test_short.GENERAL[name]
    assert await play(thrice(*general), warm=general) == 0


@pytest.mark.parametrize("line", [b"expect: 100-continue", b"content-encoding: identity", b"transfer-encoding: chunked"])
async def test_head_that_needs_a_closer_look_goes_the_general_way(play, line):
    request = asked(b"POST", b"/books/_search", MATCH, line)
    assert await play(thrice(request, OF_SEARCH), warm=(request, OF_SEARCH)) == 0


async def test_long_head_is_not_kept(play):
    request = asked(b"POST", b"/books/_search", MATCH, b"cookie: " + b"a" * LONGEST)
    assert await play(thrice(request, OF_SEARCH), warm=(request, OF_SEARCH)) == 0


async def test_body_in_parts_goes_the_general_way(play):
    assert await play(thrice(SEARCH, OF_SEARCH, pieces=2)) == 0


@pytest.mark.parametrize("body", [b"{", b'{"query":{"nope":1}}', b'{"from":1,"from":1}'])
async def test_refused_body_is_refused_in_the_same_words(play, body):
    async def story(side: AsgiSide) -> None:
        await side.begin(asked(b"POST", b"/books/_search", body.ljust(len(MATCH))))
        await side.play(SEARCH, OF_SEARCH)

    assert await play(story) == 0  # the head rests


async def test_server_whose_headers_are_lists_is_served_the_general_way(play):
    def listed(scope: dict[str, Any]) -> None:
        scope["headers"] = [list(pair) for pair in scope["headers"]]

    assert await play(thrice(SEARCH, OF_SEARCH, change=listed)) == 0


async def test_peer_of_another_address_does_not_use_it(play):
    assert await play(thrice(SEARCH, b"", change=lambda scope: scope.update(client=("10.0.0.1", 9)))) == 0


async def test_server_that_names_no_client_is_another_peer(play):
    assert await play(thrice(SEARCH, OF_SEARCH, change=lambda scope: scope.pop("client"))) == 2  # its head has to come once


async def test_old_protocol_has_the_same_head_and_its_own_framing(play):
    assert await play(thrice(SEARCH, OF_SEARCH, change=lambda scope: scope.update(http_version="1.0"))) == 3


async def test_heads_are_told_apart_by_tenant():
    side = AsgiSide(straight=True, made=gateway())
    other = SEARCH.replace(b"x-tenant: acme", b"x-tenant: zenith")
    for _ in range(3):
        await side.play(SEARCH, OF_SEARCH)
        await side.play(other, answered(HITS.replace(b'"acme.books', b'"zenith.books')))
    sent = [entry[2].split()[1] for entry in side.log if entry[0] in ("node", "spare")]
    assert sent == [b"/acme.books/_search", b"/zenith.books/_search"] * 3
    assert {head.shortcut.shortcut.plan().tenant_id for head in side.app.heads.recent.young.values()} == {"acme", "zenith"}
    side.engine._sweeper.cancel()


async def test_head_that_is_kept_is_not_the_servers_list():
    side = AsgiSide(straight=True, made=gateway())
    scope, _ = scope_of(SEARCH)
    head, plain = side.app.heads.of(scope)
    scope["headers"].clear()
    assert plain and head.get(b"x-tenant") == b"acme"


# --- what is answered ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", test_short.ANSWERS)
async def test_answer_is_told_and_verified_as_on_the_general_way(play, name):
    async def story(side: AsgiSide) -> None:
        for _ in range(2):  # the second time its head is known
            request = await side.begin(SEARCH)
            side.respond(test_short.ANSWERS[name])
            request.left.set()
            await turn()
            await asyncio.gather(request.task, return_exceptions=True)
            side.gateway.ready.kept.young.clear()

    assert await play(story) >= 1


async def test_violation_on_the_straight_way_is_withheld_and_counted(play):
    async def story(side: AsgiSide) -> None:
        await side.play(SEARCH, test_short.ANSWERS["other-index"])
        assert side.gateway.violations == 1
        assert b"zenith" not in b"".join(entry[2].get("body", b"") for entry in side.log if entry[0] == "client")

    assert await play(story) == 1


@pytest.mark.parametrize("size", [1, 20, len(OF_SEARCH) - 1])
async def test_answer_in_parts_goes_on_on_the_general_way(play, size):
    async def story(side: AsgiSide) -> None:
        await side.begin(SEARCH)
        for at in range(0, len(OF_SEARCH), size):
            side.busy().data_received(OF_SEARCH[at : at + size])
        await turn()
        await side.play(SEARCH, OF_SEARCH)

    assert await play(story) == 2


async def test_large_answer_is_compressed_for_who_takes_it(play):
    request = asked(b"POST", b"/books/_search", MATCH, b"accept-encoding: gzip")
    large = answered(HITS.replace(b'"a"', b'"%b"' % (b"a" * 10_000)))
    assert await play(thrice(request, large), warm=(request, OF_SEARCH)) == 3


async def test_failure_of_ours_on_the_straight_way_is_answered_by_the_general_one(play, monkeypatch, caplog):
    async def story(side: AsgiSide) -> None:
        await side.begin(SEARCH)
        with monkeypatch.context() as broken:
            broken.setattr("esproxy.shortcut.Shortcut.restored", None)
            side.busy().data_received(OF_SEARCH)
        await turn()

    assert await play(story) == 1
    assert "failed on the short way" in caplog.text


# --- what else happens meanwhile ---------------------------------------------------------------------------


async def test_read_whose_connection_breaks_is_repeated_on_a_fresh_one_and_a_write_is_not(play):
    for request, answer in (SEARCH, OF_SEARCH), test_short.STRAIGHT["index"]:

        async def story(side: AsgiSide, request: bytes = request) -> None:
            begun = await side.begin(request)
            side.busy().connection_lost(None)
            begun.task.cancel()
            await turn()
            side.log.append([flight.send for flight in side.placed])

        assert await play(story, warm=(request, answer)) == 1


async def test_node_that_says_nothing_is_a_timeout(play):
    async def story(side: AsgiSide) -> None:
        await side.begin(SEARCH)
        side.now = 30.0
        side.engine.sweep()
        side.now = 61.0
        side.engine.sweep()

    assert await play(story) == 1


async def test_client_that_leaves_ends_the_call(play):
    async def story(side: AsgiSide) -> None:
        request = await side.begin(SEARCH)
        request.left.set()
        await asyncio.wait_for(request.task, 20 * ROUND)  # the patrol comes by
        await side.play(SEARCH, OF_SEARCH)

    assert await play(story) == 2


async def test_node_that_takes_no_more_of_a_request_is_waited_for(play):
    async def story(side: AsgiSide) -> None:
        await side.begin(SEARCH)
        busy = side.busy()
        busy.transport.full = 9
        busy.pause_writing()
        busy.resume_writing()
        busy.data_received(OF_SEARCH)  # before it had all of the request: the connection is not used again
        await turn()
        await side.play(SEARCH, OF_SEARCH)

    assert await play(story) == 2


async def test_server_that_waits_no_longer_answers_with_an_error(play):
    async def story(side: AsgiSide) -> None:
        request = await side.begin(SEARCH)
        request.task.cancel()

    assert await play(story) == 1


async def test_worker_that_drains_tells_so_with_the_answer(play):
    async def story(side: AsgiSide) -> None:
        await side.begin(SEARCH)
        side.app.draining = True
        side.busy().data_received(OF_SEARCH)

    assert await play(story) == 1


async def test_engine_without_an_idle_connection_is_asked_for_one(play):
    async def story(side: AsgiSide) -> None:
        side.node.idle.clear()
        request = await side.begin(SEARCH)
        assert side.placed[0].send.body == MATCH
        request.task.cancel()

    assert await play(story) == 0
