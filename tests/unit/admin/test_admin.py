"""The admin port: readiness with reasons, metrics that Prometheus reads, and the probe of nodes."""

import asyncio

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from esproxy.admin.app import admin_app
from esproxy.admin.metrics import COUNTERS, Totals
from esproxy.admin.probe import NodeState, Probe
from esproxy.admin.status import Status
from esproxy.config import load
from esproxy.serve.stats import BUCKETS, Stats
from tests.stub import Stub, answer

UP = NodeState("main", "http://a:9200", True, "status 200")
DOWN = NodeState("main", "http://b:9200", False, "ConnectError")


def report(**changed):
    stats = Stats()
    stats.ended("GET", 200, 0.003)
    stats.ended("GET", 200, 0.003)
    stats.ended("POST", 503, 100.0)
    stats.in_flight = 4
    node = {"url": "http://a:9200", "open": 3, "idle": 1}
    return {**stats.take(), "violations": 1, "unknown_keys": 0, "clusters": {"main": {"nodes": [node]}}, **changed}


async def get(path, status, totals=None):
    app = admin_app(lambda: status, totals or Totals())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://admin") as client:
        return await client.get(path)


async def test_healthy_while_it_runs():
    assert (await get("/-/healthy", Status(stopping=True))).status_code == 200


@pytest.mark.parametrize(
    ("status", "reasons"),
    [
        (Status(workers_ready=1, nodes=[UP]), []),
        (Status(workers_ready=1, nodes=[DOWN, UP]), []),
        (Status(workers_ready=0, nodes=[UP]), ["no worker is ready"]),
        (Status(workers_ready=1, nodes=[UP], stopping=True), ["the proxy is stopping"]),
        (Status(workers_ready=1, nodes=[DOWN]), ["no node of cluster main is up: http://b:9200 (ConnectError)"]),
        (
            Status(workers_ready=1, nodes=[UP, NodeState("other", "http://c:1")]),
            ["no node of cluster other is up: http://c:1 (not asked yet)"],
        ),
    ],
)
async def test_ready_unless_there_is_a_reason(status, reasons):
    answer = await get("/-/ready", status)
    assert answer.status_code == (503 if reasons else 200)
    assert answer.json()["reasons"] == reasons and answer.json()["ready"] is not reasons


async def test_metrics_are_sums_over_workers():
    totals = Totals()
    first, second = report(), report(in_flight=2)
    totals.add(first)
    totals.add(second)
    text = (await get("/metrics", Status(workers_ready=2, reports=[first, second], nodes=[UP, DOWN]), totals)).text
    samples = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert samples["esproxy_requests_total", (("code", "200"), ("method", "GET"))] == 4
    assert samples["esproxy_requests_total", (("code", "503"), ("method", "POST"))] == 2
    assert samples["esproxy_inflight_requests", ()] == 6
    assert samples["esproxy_isolation_violations_total", ()] == 2
    assert samples["esproxy_upstream_up", (("cluster", "main"), ("node", "http://a:9200"))] == 1
    assert samples["esproxy_upstream_up", (("cluster", "main"), ("node", "http://b:9200"))] == 0
    connections = (("cluster", "main"), ("node", "http://a:9200"), ("state", "active"))
    assert samples["esproxy_upstream_connections", connections] == 4
    assert samples["esproxy_request_duration_seconds_bucket", (("le", "0.0025"),)] == 0
    assert samples["esproxy_request_duration_seconds_bucket", (("le", "0.005"),)] == 4
    assert samples["esproxy_request_duration_seconds_bucket", (("le", "60.0"),)] == 4
    assert samples["esproxy_request_duration_seconds_bucket", (("le", "+Inf"),)] == 6
    assert samples["esproxy_request_duration_seconds_count", ()] == 6
    assert samples["esproxy_request_duration_seconds_sum", ()] == pytest.approx(200.012)


def test_every_counter_of_a_report_is_a_metric():
    told = set(report()) - {"requests", "seconds", "seconds_sum", "in_flight", "clusters"}
    assert told == set(COUNTERS)


def test_time_on_a_bucket_bound_is_inside_it():
    stats = Stats()
    stats.ended("GET", 200, BUCKETS[3])
    assert stats.take()["seconds"][3] == 1


@pytest.mark.parametrize(
    ("answered", "up", "why"),
    [
        (answer(200, b"{}"), True, "status 200"),
        (answer(401, b"{}"), True, "status 401"),
        (answer(503, b"{}"), False, "status 503"),
        (b"HTTP/1.1 nonsense\r\n\r\n", False, "RemoteProtocolError"),
    ],
)
async def test_probe_asks_each_node(answered, up, why):
    async with Stub() as stub:
        stub.on("/", answered)
        probe = Probe(every=0.01)
        probe.follow(load(upstream=[stub.url], flags={"clusters": {"main": {"username": "elastic", "password": "hush"}}}))
        (state,) = probe.nodes()
        async with asyncio.timeout(5):
            while state.up is None:
                await asyncio.sleep(0.005)
        assert state.up is up and state.why.startswith(why)
        assert stub.requests[0].get(b"authorization").startswith(b"Basic ")
        await probe.aclose()


async def test_probe_sees_a_node_go_and_come_back():
    async with Stub() as stub:
        stub.on("/", answer(200, b"{}"))
        probe = Probe(every=0.01)
        probe.follow(load(upstream=[stub.url]))
        (state,) = probe.nodes()
        async with asyncio.timeout(5):
            while not state.up:
                await asyncio.sleep(0.005)
            await stub.stop()
            while state.up:
                await asyncio.sleep(0.005)
            await stub.start()
            while not state.up:
                await asyncio.sleep(0.005)
        await probe.aclose()
