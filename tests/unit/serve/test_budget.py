"""What is held in memory of bodies and answers has its bounds, fair among tenants; who has to wait is not read."""

import asyncio
import tracemalloc

import orjson
import pytest

from esproxy import exact
from esproxy.budget import FREE, Budget, tree_cost
from esproxy.errors import Refusal
from tests.stub import Peer, answer
from tests.unit.serve.http import Client
from tests.unit.serve.streaming import HEAD, LAYOUTS, in_chunks, request, world
from tests.unit.serve.test_made_ids import JSON

WINDOW = 1 << 20
LIMITS = {"window": WINDOW, "max_held": 4 * WINDOW}  # so a tenant has one claim of the window, or two when alone: 1 of 2


@pytest.fixture(params=LAYOUTS)
def layout(request):
    return request.param


# --- shares


def test_one_alone_gets_half_and_the_next_half_of_the_rest():
    budget = Budget(1000)
    claims = [budget.claim("a", 100) for _ in range(7)]
    assert [claim.granted for claim in claims] == [True] * 5 + [False] * 2
    others = [budget.claim("b", 100) for _ in range(4)]
    assert [claim.granted for claim in others] == [True] * 2 + [False] * 2
    assert budget.claim("c", 100).granted and budget.claim("d", 200).granted and budget.used == 1000
    assert not budget.claim("e", 1).granted


def test_whoever_holds_least_is_next_and_is_told():
    budget, told = Budget(1000), []
    held = [budget.claim("a", 500), budget.claim("b", 250), budget.claim("c", 250)]
    for tenant in ("a", "b", "c", "d"):
        budget.claim(tenant, 250).tell(lambda tenant=tenant: told.append(tenant))
    held[0].release()
    assert told == ["a", "d"] and budget.used == 1000
    held[1].release()
    assert told == ["a", "d", "b"]


def test_claim_above_the_limit_is_granted_when_it_is_alone():
    budget = Budget(100)
    first = budget.claim("a", 1)
    large = budget.claim("b", 1000)
    assert first.granted and not large.granted
    first.release()
    assert large.granted and budget.used == 100
    large.release()
    assert budget.used == 0 and not budget.held and not budget.waiting


def test_claim_that_is_given_up_does_not_stand_in_the_way():
    budget = Budget(100)
    first, waits, behind = budget.claim("a", 100), budget.claim("b", 100), budget.claim("b", 10)
    waits.release()
    first.release()
    assert behind.granted and not waits.granted and budget.used == 10


# --- through all of the proxy


async def settled(w) -> None:
    gateway = w.proxy.gateway
    async with asyncio.timeout(10):
        while gateway.bodies.used or gateway.answers.used or w.proxy.stats.in_flight:
            await asyncio.sleep(0.01)
    assert not gateway.bodies.waiting and not gateway.answers.waiting


async def begun(port: int, tenant: bytes = b"acme", size: int = 900_000) -> Client:
    """An upload that has come to a stop half way."""
    client = await Client.connect(port)
    sent = request("PUT", "/books/_doc/1", b'{"w":"' + b"x" * (size - 8) + b'"}').replace(b"acme", tenant)
    client.rest = sent[600_000:]
    await client.send(sent[:600_000])
    return client


async def until(what) -> None:
    async with asyncio.timeout(10):
        while not what():
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("shell", ["protocol", "asgi"])
async def test_bodies_wait_while_a_tenant_holds_its_share(layout, shell):
    async with world(layout, shell=shell, **LIMITS) as w:
        told = {"_index": w.index, "_id": w.id("1"), "_version": 1, "result": "created"}
        w.stub.default = answer(201, orjson.dumps(told), JSON)
        bodies = w.proxy.gateway.bodies
        first, second = await begun(w.port), await begun(w.port)
        await until(lambda: bodies.waiting)
        assert bodies.used == 900_000 and len(bodies.waiting["acme"]) == 1
        got = await first.request(first.rest)
        assert got.status == 201
        await until(lambda: not bodies.waiting)
        assert (await second.request(second.rest)).status == 201
        await first.close()
        await second.close()
        await settled(w)


@pytest.mark.parametrize("leaver", [0, 1])
async def test_client_that_leaves_gives_back_what_it_claimed(layout, leaver):
    async with world(layout, **LIMITS) as w:
        clients = [await begun(w.port), await begun(w.port)]
        await until(lambda: w.proxy.gateway.bodies.waiting)
        clients[leaver].writer.transport.abort()
        await until(lambda: not w.proxy.gateway.bodies.waiting)
        assert w.proxy.gateway.bodies.used == 900_000
        await clients[1 - leaver].close()
        await settled(w)


async def test_one_tenants_uploads_do_not_stop_another():
    async with world("dedicated", **LIMITS) as w:
        w.stub.default = answer(201, b'{"_index":"zenith.books","_id":"1","_version":1,"result":"created"}', JSON)
        clients = [await begun(w.port) for _ in range(5)]
        await until(lambda: len(w.proxy.gateway.bodies.waiting.get("acme", ())) == 4)
        other = await begun(w.port, b"zenith")
        assert (await other.request(other.rest)).status == 201
        for client in [*clients, other]:
            await client.close()
        await settled(w)


@pytest.mark.parametrize("shell", ["protocol", "asgi"])
@pytest.mark.parametrize("end", ["good", "hang-up"])
async def test_answers_wait_while_a_tenant_holds_its_share(layout, shell, end):
    async with world(layout, shell=shell, **LIMITS) as w:
        body, go_on, begun = w.search_answer(3000), asyncio.Event(), 0
        assert FREE * 2 < len(body) < WINDOW

        async def script(peer: Peer) -> None:
            nonlocal begun
            await peer.body()
            begun += 1
            peer.write(HEAD + b"%x\r\n%b\r\n" % (FREE * 2, body[: FREE * 2]))
            await go_on.wait()
            if end == "hang-up":
                return peer.close()
            peer.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(body) - FREE * 2, body[FREE * 2 :]))

        w.on_search(script)
        asked = [asyncio.create_task(w.ask("POST", "/books/_search", b"{}")) for _ in range(4)]
        answers = w.proxy.gateway.answers
        await until(lambda: begun == 4 and len(answers.waiting.get("acme", ())) == 3)
        assert answers.used == WINDOW
        go_on.set()
        for got in await asyncio.gather(*asked):
            assert got.whole and got.status == (200 if end == "good" else 502)
            if end == "good":
                assert len(orjson.loads(got.body)["hits"]["hits"]) == 3000
        await settled(w)


# --- what has to be a tree

PAIRS = b",".join(b'{"_index":"books","_id":"%d","_score":1.0,"_source":{"n":%d,"w":"some words"}}' % (i, i) for i in range(5000))
SHAPES = {
    "hits": b'{"hits":[' + PAIRS + b"]}",
    "empty objects": b"[" + b",".join([b"{}"] * 50_000) + b"]",
    "small objects": b"[" + b",".join([b'{"a":0}'] * 50_000) + b"]",
    "lists": b"[" + b",".join([b"[0]"] * 50_000) + b"]",
    "numbers": b"[" + b",".join([b"1.00"] * 50_000) + b"]",
    "keys": b"{" + b",".join(b'"k%d":0' % i for i in range(50_000)) + b"}",
    "long text": orjson.dumps(["x" * 2000] * 500),
    "wide text": orjson.dumps([("x" * 200 + "\U0001f600") * 5] * 500),
    "deep": b"[" * 200 + b"]" * 200,
}
DOCUMENTS = ("hits", "long text", "wide text")


@pytest.mark.parametrize("shape", SHAPES)
def test_tree_costs_no_more_than_is_claimed_for_it(shape):
    body = SHAPES[shape]
    tracemalloc.start()
    tree = exact.loads(body)
    again = exact.dumps(tree)
    cost = tracemalloc.get_traced_memory()[0] + len(body)
    tracemalloc.stop()
    assert len(again) == len(body)
    assert cost / (1 if shape in DOCUMENTS else 3) <= tree_cost(body) + 100_000 <= 4 * cost + 200_000


def test_claim_that_cannot_grow_is_refused_as_a_circuit_breaker_does():
    budget = Budget(1000)
    claim = budget.claim("a", 100)
    claim.grow(900)
    with pytest.raises(Refusal) as refused:
        claim.grow(1001)
    assert (refused.value.status, refused.value.type) == (429, "circuit_breaking_exception")
    assert refused.value.extra["bytes_wanted"] == 1001 and budget.used == 900
    waits = budget.claim("b", 200)
    assert not waits.granted
    with pytest.raises(Refusal):
        waits.grow(200)
    waits.release()
    claim.release()
    assert budget.used == 0 and not budget.held and not budget.waiting
    assert budget.take("a", 700).granted
    with pytest.raises(Refusal):
        budget.take("a", 200)  # a second one of the same tenant, above what it leaves to others
    assert budget.take("b", 200).granted


@pytest.mark.parametrize("shell", ["protocol", "asgi"])
async def test_answer_that_has_to_be_a_tree_is_claimed_and_refused_when_it_is_too_much(layout, shell):
    async with world(layout, shell=shell, **LIMITS) as w:
        taken, grow = [], w.proxy.gateway.answers.grow

        def noted(claim, size):
            taken.append(size)
            grow(claim, size)

        w.proxy.gateway.answers.grow = noted
        path, body = "/books/_search", b'{"sort":["_index"]}'  # its sort values have to be told from others
        if layout != "dedicated":
            path, body = "/books/_search?filter_path=hits.hits._index", b"{}"
        for count, status in ((500, 200), (20_000, 429), (500, 200)):
            w.on_search(in_chunks(w.search_answer(count)))
            got = await w.ask("POST", path, body)
            assert got.whole and got.status == status, got.body[:300]
            if status == 429:
                error = orjson.loads(got.body)["error"]
                assert error["type"] == "circuit_breaking_exception" and error["bytes_limit"] == 2 * WINDOW
            else:
                found = orjson.loads(got.body)["hits"]["hits"]
                assert [hit["_index"] for hit in found] == ["books"] * count and (layout == "dedicated" or len(found[0]) == 1)
            await settled(w)
        assert max(taken) > 2 * WINDOW
