"""What a streamed answer takes of memory does not grow with it: counted in allocated bytes, which are the same in every run."""

import asyncio
import tracemalloc

import orjson
import pytest

from esproxy.core import SLICE
from esproxy.heads import Head
from tests.unit.pools.pool_gate import gate, hit, hits
from tests.unit.serve.http import Client
from tests.unit.serve.streaming import LAYOUTS, in_chunks, request, world
from tests.unit.serve.test_budget import settled

WINDOW = 1 << 20
WINDOWS = 8


@pytest.mark.parametrize("shell", ["protocol", "asgi"])
@pytest.mark.parametrize("layout", LAYOUTS)
async def test_streamed_answer_of_many_windows_holds_a_few(layout, shell):
    async with world(layout, shell=shell, window=WINDOW, max_held=4 * WINDOW) as w:
        body = w.search_answer(2)
        w.on_search(in_chunks(body))
        assert (await w.ask("POST", "/books/_search", b"{}")).status == 200  # so what is made once is there
        body = w.search_answer(WINDOWS * WINDOW // 290)
        w.on_search(in_chunks(body))
        budget, most = w.proxy.gateway.answers, []
        grant = budget._grant
        budget._grant = lambda claim: (grant(claim), most.append(budget.used))
        client = await Client.connect(w.port)
        await client.send(request("POST", "/books/_search", b"{}"))
        tracemalloc.start()
        size = 0
        while True:
            data = await client.reader.read(1 << 16)
            size += len(data)
            if data.endswith(b"0\r\n\r\n") or not data:
                break
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        await client.close()
        assert size > (WINDOWS - 2) * WINDOW and data.endswith(b"]}}\r\n0\r\n\r\n")
        assert peak < 5 * WINDOW  # asyncio's transport takes two of them, uvloop's none
        assert most == [WINDOW]
        await settled(w)


@pytest.mark.parametrize("layout", ["shared", "per-tenant"])
def test_answer_that_is_restored_whole_takes_a_few_times_its_size(layout):
    it = gate(layout=layout)
    source = {"n17": {"w": "x" * 50}} if layout == "per-tenant" else {"w": "x" * 50}
    found = [hit("pool~logs-1", f"acme.17:{i}", _source=source, _routing="acme.17:") for i in range(4 * SLICE // 150)]
    body = orjson.dumps(hits(*found))
    assert len(body) > 2 * SLICE
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    exchange, need = it.gateway.open(Head("GET", b"/logs/_search", [(b"x-tenant", b"acme")]), b"", True)
    step = exchange.resume(it._run(need, lambda send: body))
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert step.status == 200 and step.body.count(b'"_id":"') == len(found)
    assert peak < 3 * len(body)


@pytest.mark.parametrize("layout", ["dedicated", "shared"])
async def test_claim_on_an_answer_lasts_until_the_client_has_taken_what_was_held(layout):
    """Bytes that the client has not taken lie in the proxy's memory, whoever keeps them."""
    window = 16 << 20  # much more than the kernel's buffers
    async with world(layout, window=window) as w:
        w.on_search(in_chunks(w.search_answer(window // 200), size=1 << 20))
        client = await Client.connect(w.port)
        client.reader._limit = 1 << 16
        await client.send(request("POST", "/books/_search", b"{}"))
        await client.reader.readuntil(b"\r\n\r\n")  # so bytes have left
        answers = w.proxy.gateway.answers
        await asyncio.sleep(0.2)
        assert answers.used == window
        while answers.used:
            assert await client.reader.read(1 << 16)
        await client.close()
        await settled(w)
