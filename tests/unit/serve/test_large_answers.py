"""Answers beyond the window, through all of the proxy: restored and verified on the way, cut when they must not be believed."""

import asyncio
import gzip
import logging
from urllib.parse import quote

import orjson
import pytest

from esproxy.catalogue import codec, names
from tests.stub import answer
from tests.unit.pools.pool_gate import directory
from tests.unit.serve.http import Client
from tests.unit.serve.streaming import HEAD, LAYOUTS, WINDOW, in_chunks, pieces, request, world

MANY = 2000  # hits: some 600 KB, well beyond the window
SEARCH = "/books/_search"


def sources(body: bytes) -> list[tuple[str, str]]:
    tree = orjson.loads(body)
    assert not any("_routing" in hit for hit in tree["hits"]["hits"])
    return [(hit["_index"], hit["_id"]) for hit in tree["hits"]["hits"]]


@pytest.fixture(params=LAYOUTS)
def layout(request):
    return request.param


@pytest.mark.parametrize(("transport", "shell"), [("engine", "protocol"), ("engine", "asgi"), ("httpx", "protocol")])
@pytest.mark.parametrize("accept", [[], [b"accept-encoding: gzip"]], ids=["plain", "gzip"])
async def test_large_search_answer_streams_restored(layout, transport, shell, accept):
    async with world(layout, transport=transport, shell=shell) as w:
        body = w.search_answer(MANY)
        w.on_search(in_chunks(body))
        got = await w.ask("POST", SEARCH, b'{"query":{"match_all":{}}}', *accept)
        assert got.whole and got.status == 200 and got.headers[b"transfer-encoding"] == b"chunked"
        plain = gzip.decompress(got.body) if accept else got.body
        assert sources(plain) == [("books", str(i)) for i in range(MANY)]
        assert w.proxy.stats.take()["aborts"] == 0


@pytest.mark.parametrize("cut", [1, 700, 5000])
async def test_large_answer_is_the_same_however_it_is_cut(layout, cut):
    async with world(layout, window=2048) as w:
        w.on_search(in_chunks(w.search_answer(20), size=cut))
        got = await w.ask("POST", SEARCH, b"{}")
        assert got.whole and sources(got.body) == [("books", str(i)) for i in range(20)]


async def test_large_document_streams(layout):
    async with world(layout) as w:
        told = {"_version": 1, "_seq_no": 0, "_primary_term": 1, "found": True}
        document = {**w.hit(1), **told, "_source": w.document({"w": "y" * 500_000})}
        del document["_score"]
        raw = orjson.dumps(document)
        w.stub.on(f"/{w.index}/_doc/{w.id('1')}".replace(":", "%3A"), in_chunks(raw))
        w.stub.on(f"/{w.index}/_doc/{w.id('1')}", in_chunks(raw))
        got = await w.ask("GET", "/books/_doc/1")
        assert got.whole and orjson.loads(got.body)["_source"] == {"w": "y" * 500_000}
        assert orjson.loads(got.body)["_id"] == "1" and len(got.body) > WINDOW
        head = await w.ask("HEAD", "/books/_doc/1")
        assert head.status == 200 and head.body == b"" and int(head.headers[b"content-length"]) == len(got.body)


@pytest.mark.parametrize("endpoint", ["mget", "msearch"])
async def test_large_multi_answer_streams(layout, endpoint):
    async with world(layout) as w:
        if endpoint == "mget":
            docs = [{**w.hit(i), "found": True} for i in range(MANY)]
            raw, path, body = orjson.dumps({"docs": docs}), "/_mget", b'{"docs":[{"_index":"books","_id":"1"}]}'
        else:
            raw = b'{"took":1,"responses":[' + w.search_answer(MANY).replace(b'{"took"', b'{"status":200,"took"') + b"]}"
            path, body = "/_msearch", b'{"index":"books"}\n{}\n'
        w.stub.default = in_chunks(raw)
        got = await w.ask("POST", path, body)
        assert got.whole, got
        tree = orjson.loads(got.body)
        found = tree["docs"] if endpoint == "mget" else tree["responses"][0]["hits"]["hits"]
        assert [(hit["_index"], hit["_id"]) for hit in found] == [("books", str(i)) for i in range(MANY)]


# --- what must not be believed


def corrupted(w, how: str, at: int) -> tuple[bytes, bool]:
    """An answer with one fault at the hit with that number; and whether it ends as it should."""
    good = w.search_answer(MANY)
    hit = orjson.dumps(w.hit(at))
    match how:
        case "index":
            bad = hit.replace(w.index.encode(), w.foreign.encode())
        case "id":
            bad = hit.replace(b"acme.18:", b"zenith.1:")
        case "no id":
            bad = hit.replace(b'"_id"', b'"_idle"')
        case "json":
            bad = hit.replace(b'"},', b'"],').replace(b'"}}', b'"]}')
        case "utf-8":
            bad = hit.replace(b"xxx", b"x\xffx", 1)
        case "hang-up":
            return good[: good.index(hit) + 40], False
        case "end":
            return good[: good.index(hit) + 40], True
    assert bad != hit
    return good.replace(hit, bad), True


BROKEN = ["json", "utf-8", "hang-up", "end"]
FAULTS = {"dedicated": ["index", *BROKEN], **{pool: ["index", "id", "no id", *BROKEN] for pool in ("per-tenant", "shared")}}
CASES = [(layout, how) for layout, hows in FAULTS.items() for how in hows]


@pytest.mark.parametrize(("layout", "how"), CASES, ids=[f"{layout}-{how}" for layout, how in CASES])
@pytest.mark.parametrize(
    ("at", "shell", "accept"),
    [
        (0, "protocol", []), (100, "asgi", []), (700, "protocol", []), (700, "asgi", []), (MANY - 1, "protocol", []),
        (700, "protocol", [b"accept-encoding: gzip"]), (700, "asgi", [b"accept-encoding: gzip"]),
    ],
)  # fmt: skip
async def test_corrupted_answer_is_never_whole(layout, how, at, shell, accept, caplog):
    caplog.set_level(logging.ERROR)
    async with world(layout, shell=shell) as w:
        body, ends = corrupted(w, how, at)
        w.on_search(in_chunks(body, end=ends))
        got = await w.ask("POST", SEARCH, b"{}", *accept)
        seen = w.proxy.report()
        if at <= 100:  # still held: an error instead
            assert got.status in (500, 502) and got.whole
            assert b"zenith" not in got.body and b"pool~" not in got.body
        else:
            assert got.status == 200 and not got.whole and got.closed
            assert seen["aborts"] == 1 and any("is cut" in message for message in caplog.messages)
            if not accept:
                assert b"zenith" not in got.body and w.foreign.encode() not in got.body
        if how in ("index", "id", "no id"):
            assert seen["violations"] == 1 and any(message.startswith("violation") for message in caplog.messages)


@pytest.mark.parametrize("end", ["changed", "same", "unknown"])
async def test_rule_a_after_bytes_have_left(end):
    """The index is recreated while its answer is under way: the rest of the answer is not given."""
    async with world("shared") as w:
        body, first_half, go_on = w.search_answer(MANY), asyncio.Event(), asyncio.Event()

        async def script(peer):
            await peer.body()
            peer.write(HEAD)
            parts = list(pieces(body))
            for i, piece in enumerate(parts):
                if i == len(parts) // 2:
                    first_half.set()
                    await go_on.wait()
                peer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                await peer.drain()
            peer.write(b"0\r\n\r\n")

        w.on_search(script)
        cache = w.gate.catalogue.cache
        known = cache.get(names.directory_id("acme")).doc
        client = await Client.connect(w.port)
        await client.send(request("POST", SEARCH, b"{}"))
        await first_half.wait()
        head = await client.reader.readuntil(b"\r\n\r\n")  # so bytes have left
        assert b"200 OK" in head
        client.reader._buffer[:0] = head
        if end == "changed":
            known = directory(logs=17, books=19)
            w.gate.put(names.directory_id("acme"), known)
        elif end == "unknown":
            cache.grant(0.0, 0.0, True)  # the lease has lapsed
            assert not cache.held()
        told = {"found": True, "_seq_no": 9, "_primary_term": 1, "_source": orjson.loads(codec.encode(known))}
        directory_path = f"/{names.CATALOGUE}/_doc/{quote(names.directory_id('acme'), safe='~')}"
        w.stub.on(directory_path, answer(200, orjson.dumps(told), ("content-type", "application/json")))
        go_on.set()
        got = await client.answer()
        await client.close()
        assert got.status == 200 and got.whole is (end != "changed")
        if got.whole:
            assert len(sources(got.body)) == MANY


# --- back-pressure


@pytest.mark.parametrize("shell", ["protocol", "asgi"])
async def test_slow_reader_stops_the_reading_from_the_node(layout, shell):
    async with world(layout, shell=shell) as w:
        body, written = w.search_answer(20), 0

        async def script(peer):
            nonlocal written
            await peer.body()
            peer.write(HEAD)
            head, _, tail = body.partition(b'"hits":[')
            hits = b",".join([orjson.dumps(w.hit(i)) for i in range(300)])
            chunk = hits + b","
            peer.write(b"%x\r\n%b\r\n" % (len(head) + 8, head + b'"hits":['))
            for _ in range(600):  # 54 MB or more
                peer.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
                written += len(chunk)
                await peer.drain()
            peer.write(b"%x\r\n%b\r\n" % (len(tail), tail))
            peer.write(b"0\r\n\r\n")

        w.on_search(script)
        client = await Client.connect(w.port)
        client.reader._limit = 1 << 16
        await client.send(request("POST", SEARCH, b"{}"))
        before = -1
        async with asyncio.timeout(20):
            while written != before or not written:
                before = written
                await asyncio.sleep(0.3)
        assert written < 30_000_000, "the node was read although the client did not read"
        got = await client.answer()
        assert got.whole and got.body.endswith(b"}") and len(got.body) > 40_000_000
        await client.close()
