"""Requests beyond the window, through all of the proxy: bulks in parts, anything else by way of a file."""

import asyncio
import gzip

import orjson
import pytest

from esproxy import bulkstream
from tests.stub import Peer, answer
from tests.unit.serve.http import Client
from tests.unit.serve.streaming import LAYOUTS, WINDOW, request, world

NDJSON = b"content-type: application/x-ndjson"


@pytest.fixture(params=LAYOUTS)
def layout(request):
    return request.param


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(bulkstream, "PART_BYTES", 20_000)
    monkeypatch.setattr(bulkstream, "POOL_BYTES", 20_000)
    monkeypatch.setattr(bulkstream, "SLICE", 5_000)


class Node:
    """Answers bulks, and keeps what it is sent."""

    def __init__(self, w, **more):
        self.w = w
        self.more = more
        self.bodies: list[bytes] = []
        self.under_way = 0
        for path in ("/_bulk", f"/{w.index}/_bulk"):
            w.stub.on(path, self.answer)

    async def answer(self, peer: Peer) -> None:
        self.under_way += 1
        assert self.under_way == 1, "parts are sent one after the other"
        body = await peer.body()
        self.bodies.append(body)
        await asyncio.sleep(0.002)
        items = []
        lines = iter(body.split(b"\n"))
        for line in lines:
            if not line:
                continue
            (verb, meta), *_ = orjson.loads(line).items()
            if verb != "delete":
                next(lines)
            bad = meta["_index"].startswith("_")
            error = {"error": {"type": "invalid_index_name_exception", "reason": "no"}} if bad else {"_version": 1}
            items.append({verb: {"_index": meta["_index"], "_id": meta["_id"], "status": 400 if bad else 201, **error}})
        errors = any(item[verb]["status"] == 400 for item in items for verb in item)
        told = {"took": 3, "errors": errors, "items": items}
        status, told = self.more.get(str(len(self.bodies)), (200, told))
        self.under_way -= 1
        peer.write(answer(status, orjson.dumps(told), ("content-type", "application/json")))

    def documents(self) -> list[tuple[str, bytes]]:
        found = []
        for body in self.bodies:
            lines = body.split(b"\n")[:-1]
            found += [(orjson.loads(a)["index"]["_id"], b) for a, b in zip(lines[::2], lines[1::2], strict=True)]
        return found


def bulk(count: int, pad: int = 60, first: int = 0, field: bytes = b"w") -> bytes:
    line = b'{"index":{"_index":"books","_id":"%d"}}\n{"%b":"%b"}\n'
    return b"".join(line % (i, field, b"x" * pad) for i in range(first, first + count))


@pytest.mark.parametrize("shell", ["protocol", "asgi"])
@pytest.mark.parametrize("coded", [False, True], ids=["plain", "gzip"])
async def test_large_bulk_is_several_and_its_answer_one(layout, shell, coded):
    async with world(layout, shell=shell) as w:
        node, body = Node(w), bulk(2000)
        sent = gzip.compress(body) if coded else body
        headers = [NDJSON, *([b"content-encoding: gzip", b"accept-encoding: gzip"] if coded else [])]
        got = await w.ask("POST", "/_bulk", sent, *headers)
        assert got.status == 200 and got.whole, got
        tree = orjson.loads(gzip.decompress(got.body) if coded else got.body)
        assert list(tree) == ["took", "errors", "items"] and tree["took"] == 3 * len(node.bodies) and tree["errors"] is False
        assert [(i["index"]["_index"], i["index"]["_id"]) for i in tree["items"]] == [("books", str(i)) for i in range(2000)]
        assert node.documents() == [(w.id(str(i)), w.stored(b'{"w":"' + b"x" * 60 + b'"}')) for i in range(2000)]
        assert len(node.bodies) > 5 and max(map(len, node.bodies)) < 60_000


async def test_large_bulk_in_chunked_coding_with_odd_cuts(layout):
    async with world(layout) as w:
        node, body = Node(w), bulk(1500)
        client = await Client.connect(w.port)
        head = request("POST", "/books/_bulk", b"", NDJSON)
        await client.send(head.replace(b"content-length: 0", b"transfer-encoding: chunked"))
        for at in range(0, len(body), 777):
            piece = body[at : at + 777]
            await client.send(b"%x\r\n%b\r\n" % (len(piece), piece))
        got = await client.request(b"0\r\n\r\n")
        assert got.status == 200 and len(orjson.loads(got.body)["items"]) == 1500
        assert [id for id, _ in node.documents()] == [w.id(str(i)) for i in range(1500)]
        await client.close()


async def test_record_larger_than_the_window_is_sent_by_way_of_a_file(layout):
    async with world(layout) as w:
        node = Node(w)
        body = bulk(3) + bulk(1, pad=700_000, first=3) + bulk(700, first=4)
        got = await w.ask("POST", "/_bulk", body, NDJSON)
        assert got.status == 200 and len(orjson.loads(got.body)["items"]) == 704
        assert node.documents()[3] == (w.id("3"), w.stored(b'{"w":"' + b"x" * 700_000 + b'"}'))


async def test_record_above_the_limit_is_a_413(layout):
    async with world(layout, max_body=200_000) as w:
        node = Node(w)
        got = await w.ask("POST", "/_bulk", bulk(700) + bulk(1, pad=300_000, first=700), NDJSON)
        assert got.status == 413 and orjson.loads(got.body)["error"]["type"] == "content_too_long_exception"
        taken = len(node.documents())
        assert 0 < taken < 700 and int(got.headers[b"x-esproxy-records-taken"]) == taken


BROKEN = [b'{"index":{"nope":1}}\n{}\n', b'{"index":\n{}\n', b'{"update":{"_index":"books","_id":"1"}}\n{"nope":1}\n']


@pytest.mark.parametrize("broken", BROKEN)
async def test_broken_line_beyond_the_window_tells_how_many_were_taken(layout, broken):
    async with world(layout) as w:
        node = Node(w)
        got = await w.ask("POST", "/_bulk", bulk(1000) + broken + bulk(100), NDJSON)
        assert got.status == 400 and "error" in orjson.loads(got.body)
        taken = len(node.documents())
        assert 0 < taken <= 1000 and int(got.headers[b"x-esproxy-records-taken"]) == taken


async def test_broken_line_within_the_window_takes_nothing(layout):
    async with world(layout) as w:
        node = Node(w)
        got = await w.ask("POST", "/_bulk", bulk(100) + b'{"index":{"nope":1}}\n{}\n', NDJSON)
        assert got.status == 400 and b"x-esproxy-records-taken" not in got.headers and node.bodies == []


async def test_part_that_is_refused_ends_the_bulk(layout):
    async with world(layout) as w:
        full = {"type": "es_rejected_execution_exception", "reason": f"[{w.index}] is full", "index": w.index}
        node = Node(w, **{"3": (429, {"error": {"root_cause": [full], **full}, "status": 429})})
        got = await w.ask("POST", "/_bulk", bulk(2000), NDJSON)
        assert got.status == 429 and b"pool~" not in got.body and b"acme" not in got.body
        assert len(node.bodies) == 3 and int(got.headers[b"x-esproxy-records-taken"]) > 0


async def test_part_with_anothers_name_in_its_answer_withholds_all(layout):
    async with world(layout) as w:
        item = {"index": {"_index": w.foreign, "_id": "1", "status": 201, "_version": 1}}
        Node(w, **{"2": (200, {"took": 1, "errors": False, "items": [item]})})
        got = await w.ask("POST", "/_bulk", bulk(2000), NDJSON)
        assert got.status == 500 and b"zenith" not in got.body and w.proxy.report()["violations"] == 1


async def test_large_bulk_answer_is_filtered_part_by_part(layout):
    async with world(layout) as w:
        Node(w)
        got = await w.ask("POST", "/_bulk?filter_path=items.*._id,took", bulk(1000), NDJSON)
        tree = orjson.loads(got.body)
        assert tree["items"][999]["index"]["_id"] == ("999")
        assert layout == "dedicated" or tree["items"][0] == {"index": {"_id": "0"}}  # else it is the node that filters


@pytest.mark.parametrize("shell", ["protocol", "asgi"])
async def test_slow_node_stops_the_reading_from_the_client(layout, shell):
    async with world(layout, shell=shell) as w:
        go = asyncio.Event()
        node = Node(w)

        async def slow(peer: Peer) -> None:
            await go.wait()
            await node.answer(peer)

        for path in ("/_bulk", f"/{w.index}/_bulk"):
            w.stub.on(path, slow)
        body, sent = bulk(60_000, pad=600), 0
        _, writer = await asyncio.open_connection("127.0.0.1", w.port)
        writer.transport.set_write_buffer_limits(1 << 16)
        writer.write(request("POST", "/_bulk", b"", NDJSON).replace(b"content-length: 0", b"content-length: %d" % len(body)))

        async def upload() -> None:
            nonlocal sent
            for at in range(0, len(body), 1 << 16):
                writer.write(body[at : at + (1 << 16)])
                await writer.drain()
                sent = at

        task = asyncio.create_task(upload())
        before = -1
        while sent != before:
            before = sent
            await asyncio.sleep(0.3)
        assert sent < 20_000_000 < len(body)
        task.cancel()
        writer.close()


# --- anything else


@pytest.mark.parametrize("coded", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("method", ["PUT", "POST"])
async def test_large_document_passes(layout, coded, method):
    document = orjson.dumps({"w": "y" * 700_000})
    async with world(layout) as w:

        async def node(peer: Peer) -> None:
            assert await peer.body() == w.stored(document)
            assert peer.seen.get(b"content-length") == b"%d" % len(w.stored(document))
            id = peer.seen.target.partition(b"?")[0].rpartition(b"/")[2].decode().replace("%3A", ":")
            told = {"_index": w.index, "_id": id, "_version": 1, "result": "created"}
            peer.write(answer(201, orjson.dumps(told), ("content-type", "application/json")))

        w.stub.default = node
        sent = gzip.compress(document) if coded else document
        got = await w.ask(method, "/books/_doc/1", sent, *([b"content-encoding: gzip"] if coded else []))
        assert got.status == 201 and orjson.loads(got.body)["_index"] == "books" and orjson.loads(got.body)["_id"] == "1"


LARGE_SEARCH = {"query": {"terms": {"w": [f"word{i}" for i in range(60_000)]}}, "aggs": {"a": {"terms": {"field": "w"}}}}


async def test_large_search_passes_rewritten(layout):
    async with world(layout) as w:
        w.on_search(answer(200, w.search_answer(2), ("content-type", "application/json")))
        got = await w.ask("POST", "/books/_search", orjson.dumps(LARGE_SEARCH))
        assert got.status == 200 and len(orjson.loads(got.body)["hits"]["hits"]) == 2
        seen = w.stub.requests[-1]
        assert b"typed_keys=true" in seen.target and seen.body.count(b'"word') == 60_000
        sent = orjson.loads(seen.body)
        field = "n18.w" if layout == "per-tenant" else "w"
        assert sent["aggs"] == {"a": {"terms": {"field": field}}} and seen.body.count(b'"%b":["word0"' % field.encode()) == 1
        if layout == "dedicated":
            assert sent == LARGE_SEARCH
        else:
            assert b'{"_routing":"acme.18:"}' in seen.body


async def test_large_search_with_index_names_in_it():
    body = {"query": {"bool": {"should": [{"term": {"_index": "books"}}] * 5000, "boost": 1}}, "pad": 1}
    del body["pad"]
    async with world("dedicated") as w:
        w.on_search(answer(200, w.search_answer(2), ("content-type", "application/json")))
        got = await w.ask("POST", "/books/_search", orjson.dumps(body))
        assert got.status == 200, got
        assert w.stub.requests[-1].body.count(b"acme.books") == 5000


async def test_large_msearch_passes_rewritten(layout):
    async with world(layout) as w:
        one = orjson.dumps(LARGE_SEARCH) + b"\n"
        raw = b'{"took":1,"responses":[' + w.search_answer(1).replace(b'{"took"', b'{"status":200,"took"') + b"]}"
        w.stub.default = answer(200, raw, ("content-type", "application/json"))
        got = await w.ask("POST", "/_msearch", (b'{"index":"books"}\n' + one) * 3, NDJSON)
        assert got.status == 200, got
        lines = w.stub.requests[-1].body.split(b"\n")
        assert [orjson.loads(line)["index"] for line in lines[0:-1:2]] == [[w.index]] * 3
        assert all(line.count(b'"word') == 60_000 for line in lines[1::2])


@pytest.mark.parametrize(
    ("path", "body", "position"),
    [
        ("/books/_search", b'{"query":{"terms":{"w":["' + b"x" * 200_000 + b'"]}},\n"nope":{}}', 2),
        ("/books/_search", b'{"query":{"terms":{"w":["' + b"x" * 200_000 + b'"]}', 1),
        ("/books/_search", b'{"query":\n\n{"terms":{"w":["' + b"x" * 200_000 + b'"]}}}}', 3),
    ],
)
async def test_large_body_that_is_not_understood_is_refused_where_it_is_wrong(layout, path, body, position):
    async with world(layout) as w:
        got = await w.ask("POST", path, body)
        assert got.status == 400
        error = orjson.loads(got.body)["error"]
        assert error["line"] == position
        small = await w.ask("POST", path, body.replace(b"x" * 200_000, b"x"))
        assert orjson.loads(small.body)["error"]["type"] == error["type"]
        assert not [seen for seen in w.stub.requests if b"_search" in seen.target]


async def test_large_body_above_the_limit_is_a_413(layout):
    async with world(layout, max_body=300_000) as w:
        for headers in ([], [b"content-encoding: gzip"]):
            body = b'{"query":{"match":{"w":"' + b"x" * 400_000 + b'"}}}'
            got = await w.ask("POST", "/books/_search", gzip.compress(body) if headers else body, *headers)
            assert got.status == 413 and orjson.loads(got.body)["error"]["type"] == "content_too_long_exception"
        assert w.stub.requests == []


async def test_large_body_where_none_is_expected(layout):
    async with world(layout) as w:
        got = await w.ask("POST", "/books/_refresh", b'{"a":"' + b"x" * (WINDOW * 2) + b'"}')
        assert got.status == 400 and b"does not support having a body" in got.body


async def test_large_index_body_is_looked_at():
    """The types of fields are looked at as a tree, however large the body is."""
    async with world("dedicated") as w:
        fields = {f"field{i}": {"type": "keyword", "meta": {"a": "x" * 40}} for i in range(2000)}
        made = b'{"acknowledged":true,"shards_acknowledged":true,"index":"acme.books"}'
        w.stub.default = answer(200, made, ("content-type", "application/json"))
        good = await w.ask("PUT", "/books", orjson.dumps({"mappings": {"properties": fields}}))
        assert good.status == 200, good
        fields["last"] = {"type": "percolator"}
        bad = await w.ask("PUT", "/books", orjson.dumps({"mappings": {"properties": fields}}))
        assert bad.status == 400 and len(w.stub.requests) == 1


async def test_upload_that_ends_early_sends_nothing(layout):
    async with world(layout) as w:
        client = await Client.connect(w.port)
        head = request("PUT", "/books/_doc/1", b"", b"content-type: application/json")
        await client.send(head.replace(b"content-length: 0", b"content-length: 900000"))
        await client.send(b'{"w":"' + b"x" * 300_000)
        await asyncio.sleep(0.1)
        await client.close()
        await asyncio.sleep(0.1)
        assert w.stub.requests == []
