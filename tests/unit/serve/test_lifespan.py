"""The application under a server that is not ours: configuration from the environment, reload by watching its file."""

import asyncio
import os
import signal
import sys

import httpx
import pytest

from esproxy.config import CONFIG_VARIABLE, ConfigError
from esproxy.serve import lifespan
from esproxy.serve.asgi import DataApp
from tests.stub import answer
from tests.unit.serve.http import served
from tests.unit.serve.running import FOUND, JSON, Node, config_text, free_port


@pytest.fixture
async def node():
    async with Node() as node:
        node.on("/zenith.x/_doc/1", answer(200, FOUND.replace(b"acme.", b"zenith."), JSON))
        yield node
        node.release.set()


@pytest.fixture
def config(tmp_path, node, monkeypatch):
    path = tmp_path / "esproxy.toml"
    path.write_text(config_text(node.url, 8080, 8081))
    monkeypatch.setenv(CONFIG_VARIABLE, str(path))
    monkeypatch.setattr(lifespan, "LOOK_EVERY", 0.02)
    monkeypatch.setattr(lifespan, "configure", lambda log: None)  # the test's loggers stay as they are
    return path


def client_of(port, tenant):
    return httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers={"x-tenant": tenant}, timeout=20)


async def until(condition):
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)


async def test_application_reads_the_file_that_the_environment_names(config):
    app = DataApp()
    async with served(app) as port, client_of(port, "acme") as acme:
        assert (await acme.get("/x/_doc/1")).json()["_index"] == "x"
    assert app.proxy is None


async def test_application_with_a_bad_configuration_does_not_start(config):
    config.write_text("[listen]\nprot = 1\n")
    with pytest.raises(ConfigError, match="did you mean port"):
        async with lifespan.lifespan(DataApp()):
            pass


async def test_changed_file_is_taken_over_while_old_requests_end(config, node, caplog):
    caplog.set_level("INFO")
    app = DataApp()
    async with served(app) as port, client_of(port, "acme") as acme, client_of(port, "zenith") as zenith:
        assert (await zenith.get("/x/_doc/1")).status_code == 403
        slow = asyncio.create_task(acme.get("/x/_doc/slow"))
        await node.asked.wait()
        old = app.proxy
        config.write_text(config.read_text().replace('["acme"]', '["acme", "zenith"]'))
        await until(lambda: app.proxy is not old)
        assert (await zenith.get("/x/_doc/1")).status_code == 200
        node.release.set()
        assert (await slow).status_code == 200
        assert app.settings.secrets == app.proxy.gateway.settings.secrets
    assert "the configuration is reloaded" in caplog.text


async def test_changed_file_that_is_bad_changes_nothing(config, caplog):
    app = DataApp()
    async with served(app) as port, client_of(port, "acme") as acme:
        old = app.proxy
        config.write_text(config.read_text().replace("workers", "wrokers"))
        await until(lambda: "did you mean workers?" in caplog.text)
        assert app.proxy is old and (await acme.get("/x/_doc/1")).status_code == 200


async def test_plain_uvicorn_serves_the_module(config, node):
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "esproxy.serve.asgi:app", "--port", str(port), "--log-level", "warning"]
    process = await asyncio.create_subprocess_exec(*command, env={**os.environ, CONFIG_VARIABLE: str(config)})
    try:
        async with client_of(port, "acme") as acme, asyncio.timeout(60):
            while True:
                try:
                    answer = await acme.get("/x/_doc/1")
                    break
                except httpx.ConnectError:
                    await asyncio.sleep(0.05)
        assert answer.json()["_index"] == "x"
    finally:
        process.send_signal(signal.SIGTERM)
        await process.wait()
