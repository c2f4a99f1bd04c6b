"""Both engines against a real node: framing as nodes really do it, streamed uploads, refusals, cancelling."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from uuid import uuid4

import httpx
import orjson
import pytest

from esproxy.embedded import Engine as Installed
from esproxy.exchange import Answer, Call, Send
from esproxy.upstream.client import Engine
from esproxy.upstream.engine_api import EngineLike
from esproxy.upstream.httpx_face import EngineTransport
from esproxy.upstream.plain import HttpxEngine
from esproxy.upstream.spec import ClusterSpec
from esproxy.upstream.whole import call

ENGINES: dict[str, Callable[[dict[str, ClusterSpec]], EngineLike]] = {"own": Engine, "httpx": HttpxEngine}
JSON = [(b"content-type", b"application/json")]


@pytest.fixture(params=ENGINES)
async def upstream(request: pytest.FixtureRequest, node_url: str) -> AsyncIterator[EngineLike]:
    made = ENGINES[request.param]({"main": ClusterSpec([node_url])})
    yield made
    await made.aclose()


@pytest.fixture
async def index(upstream: EngineLike) -> AsyncIterator[str]:
    name = f"upstream-{uuid4().hex[:12]}"
    yield name
    await ask(upstream, "DELETE", f"/{name}?ignore_unavailable=true")


def test_session_node_answers_with_its_version(node_url: str, engine: Installed) -> None:
    version = httpx.get(f"{node_url}/").json()["version"]

    assert version["number"] == engine.version
    assert version.get("distribution", "elasticsearch") == engine.family


async def ask(upstream: EngineLike, method: str, target: str, body: bytes = b"", held: bool = False) -> Answer:
    return await call(upstream, Call(Send("main", method, target.encode(), JSON if body else [], body, held=held)))


async def test_life_of_a_document(upstream: EngineLike, index: str):
    assert (await ask(upstream, "PUT", f"/{index}", b'{"settings":{"number_of_replicas":0}}')).status == 200
    assert (await ask(upstream, "HEAD", f"/{index}")).status == 200
    assert (await ask(upstream, "PUT", f"/{index}/_doc/a%2Fb?refresh=true", b'{"a":1}')).status == 201
    got = await ask(upstream, "GET", f"/{index}/_doc/a%2Fb")
    assert orjson.loads(got.body)["_id"] == "a/b"
    found = orjson.loads((await ask(upstream, "GET", f"/{index}/_search", b'{"query":{"term":{"a":1}}}')).body)
    assert found["hits"]["total"]["value"] == 1
    missing = await ask(upstream, "HEAD", f"/{index}/_doc/none")
    assert (missing.status, missing.body) == (404, b"")
    assert (await ask(upstream, "DELETE", f"/{index}/_doc/a%2Fb")).status == 200
    refused = await ask(upstream, "POST", f"/{index}/_search", b'{"query":{"nope":{}}}')
    assert refused.status == 400 and b"parsing_exception" in refused.body


async def test_text_answer_is_whole(upstream: EngineLike):
    """Elasticsearch sends _cat answers in chunks, OpenSearch with a length."""
    got = await ask(upstream, "GET", "/_cat/nodes?v")
    assert got.status == 200 and got.body.startswith(b"ip ") and got.body.endswith(b"\n")


async def test_bulk_streamed_up_and_large_answer_down(upstream: EngineLike, index: str):
    lines = b"".join(b'{"index":{"_id":"%d"}}\n{"text":"%b"}\n' % (number, b"x" * 1000) for number in range(2000))

    async def parts() -> AsyncIterator[bytes]:
        for at in range(0, len(lines), 50_000):
            yield lines[at : at + 50_000]

    async with httpx.AsyncClient(transport=EngineTransport(upstream, "main"), base_url="http://main", timeout=60) as client:
        ndjson = {"content-type": "application/x-ndjson"}
        done = await client.post(f"/{index}/_bulk?refresh=true", content=parts(), headers=ndjson)
        assert done.status_code == 200 and not done.json()["errors"]
        found = (await client.post(f"/{index}/_search", json={"size": 2000})).json()
    assert len(found["hits"]["hits"]) == 2000


async def test_body_above_the_nodes_limit_is_its_413(upstream: EngineLike, index: str):
    got = await ask(upstream, "POST", f"/{index}/_bulk", b"x" * (101 << 20))
    assert got.status == 413


async def test_calls_at_once(upstream: EngineLike):
    answers = await asyncio.gather(*(ask(upstream, "GET", "/", held=True) for _ in range(50)))
    assert {answer.status for answer in answers} == {200}
    assert len({answer.body for answer in answers}) == 1
