"""``esproxy serve`` as processes: crash, drain, reload, orphans. The upstream is a stub in the test's own loop."""

import asyncio
import os
import signal
import socket

import httpx
import pytest

from tests.stub import answer
from tests.unit.serve.running import FOUND, JSON, Node, free_port, is_alive, running


@pytest.fixture
async def node():
    async with Node() as node:
        yield node
        node.release.set()


async def test_serves_with_two_workers_and_shows_it_on_the_admin_port(tmp_path, node):
    async with running(tmp_path, node.url, workers=2) as proxy:
        await proxy.is_ready()
        assert len(proxy.workers()) == 2
        answer = await proxy.get()
        assert answer.status_code == 200 and answer.json()["_index"] == "x"
        assert (await proxy.admin.get("/-/healthy")).text == "ok\n"
        assert (await proxy.admin.get("/-/ready")).json()["workers"] == {"ready": 2, "wanted": 2}
        await counted(proxy, 'esproxy_requests_total{code="200",method="GET"} 1.0')
        proxy.signal(signal.SIGTERM)
        assert await proxy.ended() == 0 and proxy.workers() == []


def answer_of(status, body):
    return answer(status, body, JSON)


async def counted(proxy, line):
    """Workers report once a second."""
    async with asyncio.timeout(10):
        while line not in (await proxy.admin.get("/metrics")).text.splitlines():
            await asyncio.sleep(0.05)


async def test_data_port_serves_nothing_of_the_admin_port(tmp_path, node):
    async with running(tmp_path, node.url) as proxy:
        await proxy.is_ready()
        for path in ("/-/healthy", "/-/ready"):
            answer = await proxy.client.get(path)
            assert answer.status_code == 400 and "no handler found" in answer.text
        node.on("/acme.metrics", answer_of(404, b"{}"))
        assert (await proxy.client.get("/metrics")).json() == {}  # the index of that name


async def test_killed_worker_is_replaced(tmp_path, node):
    async with running(tmp_path, node.url) as proxy:
        await proxy.is_ready()
        (first,) = proxy.workers()
        os.kill(first, signal.SIGKILL)
        await proxy.logged("is ready", 2)
        (second,) = proxy.workers()
        assert second != first and (await proxy.get()).status_code == 200
        assert f"worker {first} ended with status -9" in proxy.messages()
        assert "esproxy_worker_restarts_total 1.0" in (await proxy.admin.get("/metrics")).text


async def test_sigterm_drains_a_request_in_flight(tmp_path, node):
    async with running(tmp_path, node.url) as proxy:
        await proxy.is_ready()
        slow = asyncio.create_task(proxy.get("slow"))
        await node.asked.wait()
        proxy.signal(signal.SIGTERM)
        await refused(proxy.port)
        ready = await proxy.admin.get("/-/ready")
        assert ready.status_code == 503 and "the proxy is stopping" in ready.json()["reasons"]
        node.release.set()
        assert (await slow).status_code == 200
        assert await proxy.ended() == 0 and proxy.workers() == []


async def refused(port):
    """New connections are, once nobody accepts any more."""
    async with asyncio.timeout(10):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except ConnectionRefusedError:
                return
            writer.close()
            await asyncio.sleep(0.02)


async def test_request_that_outlasts_the_drain_timeout_is_a_503_and_cancelled_upstream(tmp_path, node):
    async with running(tmp_path, node.url, listen="drain_timeout = 0.3") as proxy:
        await proxy.is_ready()
        slow = asyncio.create_task(proxy.get("slow"))
        await node.asked.wait()
        proxy.signal(signal.SIGTERM)
        assert await proxy.ended() == 0
        told = (await slow).json()
        assert told["status"] == 503 and told["error"]["reason"] == "the proxy is stopping"
        await asyncio.wait_for(node.left.wait(), 10)


async def test_second_sigterm_kills(tmp_path, node):
    async with running(tmp_path, node.url) as proxy:
        await proxy.is_ready()
        slow = asyncio.create_task(proxy.get("slow"))
        await node.asked.wait()
        proxy.signal(signal.SIGINT)
        await proxy.logged("stopping")
        proxy.signal(signal.SIGINT)
        assert await proxy.ended() == 0
        with pytest.raises(httpx.TransportError):
            await slow


async def test_sighup_with_a_good_configuration_takes_over_without_refusing_anybody(tmp_path, node):
    async with running(tmp_path, node.url) as proxy:
        await proxy.is_ready()
        (old,) = proxy.workers()
        assert (await proxy.client.get("/x/_doc/1", headers={"x-tenant": "zenith"})).status_code == 403
        node.on("/zenith.x/_doc/1", answer_of(200, FOUND.replace(b"acme.", b"zenith.")))
        slow = asyncio.create_task(proxy.get("slow"))
        await node.asked.wait()
        proxy.config.write_text(proxy.config.read_text().replace('["acme"]', '["acme", "zenith"]'))
        proxy.signal(signal.SIGHUP)
        statuses = []
        while not any("is reloaded" in message for message in proxy.messages()):
            statuses.append((await proxy.get()).status_code)
        assert set(statuses) == {200}
        assert is_alive(old)
        node.release.set()
        assert (await slow).status_code == 200
        await proxy.until(lambda: not is_alive(old))
        async with httpx.AsyncClient(base_url=proxy.client.base_url, headers={"x-tenant": "zenith"}) as zenith:
            assert (await zenith.get("/x/_doc/1")).status_code == 200
        assert "esproxy_worker_restarts_total 0.0" in (await proxy.admin.get("/metrics")).text


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('["acme"]', '["acme", "Zenith"]', 'tenants.ids: "Zenith" is no tenant id'),
        ("workers = 1", "wrokers = 1", "listen.wrokers: is not a setting; did you mean workers?"),
        ("[listen]", "[listen]\nhost = '::1'", "listen.host has changed, which needs a restart"),
    ],
)
async def test_sighup_with_a_bad_configuration_changes_nothing(tmp_path, node, old, new, why):
    async with running(tmp_path, node.url) as proxy:
        await proxy.is_ready()
        before = proxy.workers()
        proxy.config.write_text(proxy.config.read_text().replace(old, new))
        proxy.signal(signal.SIGHUP)
        assert why in await proxy.logged("the configuration is not reloaded")
        assert proxy.workers() == before and (await proxy.get()).status_code == 200
        assert "esproxy_config_last_reload_successful 0.0" in (await proxy.admin.get("/metrics")).text


async def test_workers_end_when_the_supervisor_is_killed(tmp_path, node):
    async with running(tmp_path, node.url, workers=2) as proxy:
        await proxy.is_ready()
        workers = proxy.workers()
        proxy.signal(signal.SIGKILL)
        await proxy.ended()
        assert len(workers) == 2
        await proxy.until(lambda: not any(map(is_alive, workers)))


async def test_readiness_names_nodes_that_are_down(tmp_path):
    url = f"http://127.0.0.1:{free_port()}"
    async with running(tmp_path, url) as proxy:
        await proxy.logged("serving on")
        ready = await proxy.admin.get("/-/ready")
        assert ready.status_code == 503 and url in ready.json()["reasons"][0]
        assert (await proxy.admin.get("/-/healthy")).status_code == 200
        assert (await proxy.get()).status_code == 503


async def test_port_that_is_taken_ends_with_3(tmp_path, node):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        async with running(tmp_path, node.url, "--port", str(taken.getsockname()[1])) as proxy:
            assert await proxy.ended() == 3
            assert "cannot listen on 127.0.0.1" in proxy.messages()[-1]


async def test_worker_that_cannot_start_ends_with_3(tmp_path, node):
    """The settings are good, but what they name is no certificate."""
    ca_file = tmp_path / "ca.pem"
    ca_file.write_text("nonsense")
    more = f'[clusters.other]\nnodes = ["{node.url.replace("http:", "https:")}"]\nca_file = "{ca_file}"'
    async with running(tmp_path, node.url, more=more) as proxy:
        assert await proxy.ended() == 3
        assert "a worker failed 3 times before it was ready" in proxy.messages()
