"""Settings reach the engine."""

import dataclasses

import pytest

from esproxy.config import load
from esproxy.serve.build import build, build_engine, spec
from esproxy.upstream.client import Engine
from esproxy.upstream.plain import HttpxEngine
from esproxy.upstream.spec import ClusterSpec


@pytest.mark.parametrize(("transport", "kind"), [("engine", Engine), ("httpx", HttpxEngine)])
async def test_transport_chooses_the_engine(transport, kind):
    engine = build_engine(load(upstream=["http://a:1"], flags={"upstream": {"transport": transport}}))
    assert type(engine) is kind
    await engine.aclose()


async def test_proxy_has_gateway_and_engine():
    proxy = build(load(upstream=["http://a:1"]))
    assert proxy.gateway.settings.clusters["main"].nodes == ["http://a:1"] and set(proxy.engine.clusters) == {"main"}
    await proxy.aclose()


def test_every_setting_of_a_cluster_reaches_its_spec():
    given = {
        "clusters": {
            "main": {
                "nodes": ["https://a:1"], "username": "elastic", "password": "hush", "verify": False,
                "ca_file": "/dev/null", "client_cert": "/dev/null", "client_key": "/dev/null",
            }
        },
        "upstream": {
            "transport": "httpx", "connect_timeout": 1, "answer_timeout": 2, "total_timeout": 3, "keep_alive": 4,
            "max_connections": 5, "selector": "least_loaded", "proxy": "http://b:2",
        },
    }  # fmt: skip
    settings = load(flags=given)
    made = spec(settings.clusters["main"], settings.upstream)
    assert made == ClusterSpec(
        nodes=["https://a:1"], username="elastic", password="hush", ca="/dev/null", client_cert="/dev/null",
        client_key="/dev/null", insecure_skip_verify=True, selector="least_loaded", connect_timeout=1, answer_timeout=2,
        total_timeout=3, idle_timeout=4, max_connections=5, proxy="http://b:2",
    )  # fmt: skip
    left_out = {"headers", "dead_node_backoff_factor", "max_dead_node_backoff", "api_key", "http2"}
    plain = ClusterSpec(nodes=["https://a:1"])
    changed = {field.name for field in dataclasses.fields(made) if getattr(made, field.name) != getattr(plain, field.name)}
    assert changed | left_out | {"nodes"} == {field.name for field in dataclasses.fields(made)}


def test_api_key_reaches_its_spec():
    settings = load(flags={"clusters": {"main": {"nodes": ["http://a:1"], "api_key": "a2V5"}}})
    assert spec(settings.clusters["main"], settings.upstream).api_key == "a2V5"
