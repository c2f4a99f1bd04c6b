"""What only the engine over httpx can do."""

from __future__ import annotations

import json

import pytest

from esproxy.upstream.client import Engine
from esproxy.upstream.spec import ClusterSpec
from tests.stub import Stub, answer

PROXIED = "http://node.invalid:9200"


async def test_forward_proxy_gets_the_raw_target_in_absolute_form(stub: Stub, plain):
    got = await plain.ask(plain.engine(PROXIED + "/es", proxy=stub.url), "GET", b"/a%2Fb/../_search?q=%22")
    told = json.loads(got.body)
    assert told["target"] == PROXIED + "/es/a%2Fb/../_search?q=%22"
    assert ["host", "node.invalid:9200"] in told["headers"]


async def test_tunnel_through_a_proxy_is_no_attempt(stub: Stub, plain):
    """The proxy's CONNECT is refused: nobody was asked, nothing was sent, the target did not go to the proxy."""
    stub.default = answer(403, b"no")
    got = await plain.ask(plain.engine("https://node.invalid:9200", proxy=stub.url), "GET", b"/secret")
    assert (got.failure.what, got.asked, got.attempt) == ("connect", 0, 0)
    assert [(seen.method, seen.target) for seen in stub.requests] == [("CONNECT", b"node.invalid:9200")]


@pytest.mark.parametrize("settings", [{"http2": True}, {"proxy": "http://proxy:3128"}])
def test_own_engine_refuses_what_it_cannot_do(settings):
    with pytest.raises(ValueError, match="need the httpx transport"):
        Engine({"main": ClusterSpec(["http://es"], **settings)})
