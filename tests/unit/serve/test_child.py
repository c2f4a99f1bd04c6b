"""A generation of workers in the test's own loop: what the supervisor's tests cannot reach quickly."""

import asyncio
import os
import signal
import socket

import pytest

from esproxy.config import load
from esproxy.serve import child
from esproxy.serve.child import Generation, bind
from esproxy.serve.control import Line
from tests.unit.serve.running import SECONDS


@pytest.fixture
async def generation():
    """One that is ready."""
    listening = bind("127.0.0.1", 0)
    settings = load(upstream=["http://127.0.0.1:1"], flags={"log": {"level": "error"}})
    generation = Generation(settings, listening, lambda child, message: None)
    async with asyncio.timeout(SECONDS):
        assert await generation.is_ready()
    yield generation
    async with asyncio.timeout(SECONDS):
        await generation.stop()
    listening.close()


async def until(condition):
    async with asyncio.timeout(SECONDS):
        while not condition():
            await asyncio.sleep(0.01)


async def test_worker_imports_nothing_from_where_it_is_started(tmp_path, monkeypatch):
    """In a checkout the sources lie there, without the compiled core of what is installed."""
    (tmp_path / "esproxy").mkdir()
    (tmp_path / "esproxy" / "__init__.py").write_text("raise SystemExit('the wrong esproxy')")
    monkeypatch.chdir(tmp_path)
    listening = bind("127.0.0.1", 0)
    settings = load(upstream=["http://127.0.0.1:1"], flags={"log": {"level": "error"}})
    generation = Generation(settings, listening, lambda child, message: None)
    async with asyncio.timeout(SECONDS):
        assert await generation.is_ready()
        await generation.stop()
    listening.close()


async def test_worker_that_says_nothing_is_killed_and_replaced(generation, monkeypatch, caplog):
    monkeypatch.setattr(child, "SILENCE", 2.0)
    (first,) = generation.children()
    os.kill(first.pid, signal.SIGSTOP)
    await until(lambda: generation.children() and generation.children() != [first])
    # On a busy machine the next worker may be silent for as long while it starts, and be replaced too.
    assert first.process.returncode == -signal.SIGKILL and generation.restarts >= 1
    assert f"worker {first.pid} has said nothing for 2 seconds" in caplog.text


async def test_worker_that_does_not_end_is_killed(generation, caplog):
    (first,) = generation.children()
    first.patience = 0.1
    os.kill(first.pid, signal.SIGSTOP)
    await first.drain()
    assert first.process.returncode == -signal.SIGKILL and "did not end in 0.1 seconds" in caplog.text


async def test_worker_that_is_told_by_signal_drains(generation):
    (first,) = generation.children()
    os.kill(first.pid, signal.SIGTERM)
    await until(lambda: generation.children() and generation.children() != [first])
    assert first.process.returncode == 0


async def test_worker_that_cannot_be_started_is_tried_again(generation, monkeypatch, caplog):
    real, failures = child.subprocess.Popen, []

    def fail_once(*arguments, **options):
        if not failures:
            failures.append(1)
            raise BlockingIOError("no more processes")
        return real(*arguments, **options)

    monkeypatch.setattr(child.subprocess, "Popen", fail_once)
    (first,) = generation.children()
    first.kill()
    await until(lambda: generation.children() and generation.children() != [first])
    assert failures == [1] and "a worker cannot be started: no more processes" in caplog.text


async def test_line_that_is_no_message_ends_the_talk(caplog):
    ours, theirs = socket.socketpair()
    line = await Line.on(ours)
    theirs.sendall(b'{"is":"ready"}\nnonsense\n')
    assert await line.hear() == {"is": "ready"}
    assert await line.hear() is None and "is no message" in caplog.text
    theirs.close()
    assert await line.hear() is None
    await line.close()
