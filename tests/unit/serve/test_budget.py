"""What is held in memory of bodies and answers has its bounds, fair among tenants; who has to wait is not read."""

import asyncio

import orjson
import pytest

from esproxy.budget import FREE, Budget
from tests.stub import Peer, answer
from tests.unit.serve.http import Client
from tests.unit.serve.streaming import HEAD, LAYOUTS, request, world
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
