"""Both engines by name, one recording sink, one stub node: every test of calls runs over both engines and both loops."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import uvloop

from esproxy.exchange import Send
from esproxy.heads import AnswerHead
from esproxy.upstream.client import Engine
from esproxy.upstream.engine_api import EngineLike, Failure
from esproxy.upstream.plain import HttpxEngine
from esproxy.upstream.spec import ClusterSpec
from tests.stub import Stub

ENGINES: dict[str, Callable[..., EngineLike]] = {"own": Engine, "httpx": HttpxEngine}


@pytest.hookimpl(optionalhook=True)
def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> dict[str, Callable[[], Any]]:
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


class Recorder:
    """A sink that keeps what it is told, and complains about what it must not be told."""

    def __init__(self) -> None:
        self.head: AnswerHead | None = None
        self.attempt = 0
        self.body = b""
        self.failure: Failure | None = None
        self.asked = 0
        self.let = True
        self.silent = False  # after a cancel
        self.done = asyncio.Event()
        self.opened = asyncio.Event()
        self.can_write: list[bool] = []
        self.on_body: Callable[[Recorder], None] | None = None

    def may_send(self, now: float) -> bool:
        self.asked += 1
        return self.let

    def open_answer(self, head: AnswerHead, attempt: int, chunk: bytes = b"", last: bool = False) -> None:
        assert self.head is None and not self.silent
        self.head, self.attempt = head, attempt
        self.opened.set()
        self.feed_answer(chunk, last)

    def feed_answer(self, chunk: bytes, last: bool) -> None:
        assert self.head is not None and not self.done.is_set() and not self.silent
        self.body += chunk
        if last:
            self.done.set()
        elif self.on_body is not None:
            self.on_body(self)

    def fail_answer(self, failure: Failure) -> None:
        assert not self.done.is_set() and not self.silent
        self.failure = failure
        self.opened.set()
        self.done.set()

    def writable(self, yes: bool) -> None:
        assert not self.silent
        self.can_write.append(yes)


class Runner:
    """Makes engines for a test and closes them at its end."""

    def __init__(self, make: Callable[..., EngineLike]) -> None:
        self.make = make
        self.engines: list[EngineLike] = []

    def engine(self, *urls: str, **settings: Any) -> EngineLike:
        engine = self.make({"main": ClusterSpec(list(urls), **settings)})
        self.engines.append(engine)
        return engine

    @staticmethod
    def send(method: str = "GET", target: str | bytes = b"/", body: bytes = b"", **rest: Any) -> Send:
        raw = target.encode() if isinstance(target, str) else target
        return Send("main", method, raw, rest.pop("headers", []), body, **rest)

    async def ask(self, engine: EngineLike, *args: Any, sink: Recorder | None = None, **rest: Any) -> Recorder:
        """One call to its end, which must come."""
        sink = sink or Recorder()
        engine.start(self.send(*args, **rest), sink)
        async with asyncio.timeout(10):
            await sink.done.wait()
        return sink

    async def close(self) -> None:
        for engine in self.engines:
            await engine.aclose()


@pytest.fixture(params=ENGINES)
async def runner(request: pytest.FixtureRequest) -> AsyncIterator[Runner]:
    runner = Runner(ENGINES[request.param])
    yield runner
    await runner.close()


@pytest.fixture
async def own() -> AsyncIterator[Runner]:
    """For what only our own engine promises."""
    runner = Runner(Engine)
    yield runner
    await runner.close()


@pytest.fixture
async def plain() -> AsyncIterator[Runner]:
    """For what only the engine over httpx can do."""
    runner = Runner(HttpxEngine)
    yield runner
    await runner.close()


@pytest.fixture
async def stub() -> AsyncIterator[Stub]:
    async with Stub() as stub:
        yield stub


@pytest.fixture
def recorder() -> type[Recorder]:
    return Recorder
