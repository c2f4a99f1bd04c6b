"""What lies in files: an error where there is no room, nothing left behind by whoever leaves."""

import asyncio
import os
import socket
import struct
import tempfile

import orjson
import pytest

from esproxy import bulkmerge, bulkstream, largebody, spool
from esproxy.spool import NoRoom, Room, Spool
from tests.stub import Peer
from tests.unit.serve.http import Client
from tests.unit.serve.streaming import HEAD, LAYOUTS, in_chunks, request, world
from tests.unit.serve.test_large_bodies import NDJSON, Node, bulk

DOCUMENT = orjson.dumps({"w": "y" * 700_000})


@pytest.fixture(params=LAYOUTS)
def layout(request):
    return request.param


@pytest.fixture(autouse=True)
def room(monkeypatch):
    """A small one, and everything in files."""
    made = Room()
    made.limit = 4 << 20
    monkeypatch.setattr(spool, "room", made)
    monkeypatch.setattr(bulkstream, "PART_BYTES", 20_000)
    monkeypatch.setattr(bulkstream, "POOL_BYTES", 20_000)
    monkeypatch.setattr(bulkstream, "SLICE", 5_000)
    for module in (bulkmerge, largebody):
        monkeypatch.setattr(module, "IN_MEMORY", 1000)
    return made


@pytest.fixture
def full_disk(monkeypatch, tmp_path):
    def mkstemp(**_options):
        path = tmp_path / "spool"
        path.touch()
        return os.open("/dev/full", os.O_RDWR), str(path)

    monkeypatch.setattr(tempfile, "mkstemp", mkstemp)


async def settled(w, room) -> None:
    """Nothing lies anywhere, and nobody works for anybody."""
    async with asyncio.timeout(10):
        while room.used or w.proxy.stats.in_flight:
            await asyncio.sleep(0.01)


def reset(client: Client) -> None:
    """Leave with a reset: a mere end would stand behind what is not read yet."""
    raw = client.writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.writer.transport.abort()


def test_room_is_shared_and_given_back(room):
    room.limit = 1000
    one, other = Spool(0), Spool(0)
    one.write(b"x" * 700)
    other.write(b"x" * 300)
    with pytest.raises(NoRoom):
        other.write(b"x")
    assert room.used == 1000 and other.whole() == b"x" * 300
    one.close()
    one.close()
    assert room.used == 300
    other.write(b"x" * 700)
    del other
    assert room.used == 0


def test_folder_that_is_not_there_is_no_room(room, caplog):
    room.folder = "/nowhere/at/all"
    with pytest.raises(NoRoom):
        Spool(0).write(b"x")
    assert "/nowhere/at/all" in caplog.text


def test_disk_that_is_full_is_no_room(full_disk, room, caplog):
    made = Spool(0)
    with pytest.raises(NoRoom) as raised:
        made.write(b"x")
    assert raised.value.status == 507 and "No space left" in caplog.text
    made.close()
    assert room.used == 0


@pytest.mark.parametrize("how", ["limit", "disk"])
@pytest.mark.parametrize("shell", ["protocol", "asgi"])
async def test_body_without_room_is_a_507(layout, shell, how, room, request):
    room.limit = 500_000
    if how == "disk":
        request.getfixturevalue("full_disk")
    async with world(layout, shell=shell) as w:
        got = await w.ask("PUT", "/books/_doc/1", DOCUMENT)
        assert got.status == 507 and "no room" in orjson.loads(got.body)["error"]["reason"]
        assert not [seen for seen in w.stub.requests if b"_doc/1" in seen.target]
        await settled(w, room)


@pytest.mark.parametrize("shell", ["protocol", "asgi"])
async def test_bulk_whose_answer_has_no_room_tells_how_much_was_taken(layout, shell, room):
    room.limit = 30_000
    async with world(layout, shell=shell) as w:
        node = Node(w)
        got = await w.ask("POST", "/_bulk", bulk(2000), NDJSON)
        assert got.status == 507 and 0 < int(got.headers[b"x-esproxy-records-taken"]) <= len(node.documents()) < 2000
        await settled(w, room)


@pytest.mark.parametrize("shell", ["protocol", "asgi"])
@pytest.mark.parametrize("limit", [400_000, 4 << 20])
async def test_answer_for_an_old_client_without_room_is_an_error(layout, shell, limit, room, monkeypatch):
    room.limit = limit
    for module in ("client", "responses"):
        monkeypatch.setattr(f"esproxy.serve.{module}.IN_MEMORY", 1000)
    async with world(layout, shell=shell) as w:
        w.on_search(in_chunks(w.search_answer(2000)))
        client = await Client.connect(w.port)
        got = await client.request(request("POST", "/books/_search", b"{}").replace(b"HTTP/1.1", b"HTTP/1.0"))
        assert got.whole and got.status == (200 if limit > 400_000 else 500)
        await client.close()
        await settled(w, room)


# --- clients that leave


@pytest.mark.parametrize("shell", ["protocol", "asgi"])
async def test_client_that_leaves_while_its_body_comes_leaves_nothing(layout, shell, room):
    async with world(layout, shell=shell) as w:
        client = await Client.connect(w.port)
        await client.send(request("PUT", "/books/_doc/1", DOCUMENT)[:500_000])
        async with asyncio.timeout(10):
            while room.used < 300_000:
                await asyncio.sleep(0.01)
        await client.close()
        await settled(w, room)
        assert not [seen for seen in w.stub.requests if b"_doc/1" in seen.target]


@pytest.mark.parametrize(
    ("shell", "uploaded"),
    [("protocol", True), ("asgi", True), ("protocol", False)],  # an ASGI server tells nothing while it does not read
)
async def test_client_that_leaves_while_a_part_is_answered_ends_the_call(layout, shell, uploaded, room):
    async with world(layout, shell=shell) as w:
        node, gone = Node(w), asyncio.Event()

        async def third(peer: Peer) -> None:
            if len(node.bodies) < 2:
                return await node.answer(peer)
            await peer.body()
            node.bodies.append(b"")
            await peer.gone()
            gone.set()

        for path in ("/_bulk", f"/{w.index}/_bulk"):
            w.stub.on(path, third)
        client = await Client.connect(w.port)
        sent = request("POST", "/_bulk", bulk(1000 if uploaded else 8000), NDJSON)
        await client.send(sent if uploaded else sent[:-1000])
        async with asyncio.timeout(10):
            while len(node.bodies) < 3:
                await asyncio.sleep(0.01)
            reset(client)
            await gone.wait()
        await settled(w, room)
        assert len(node.bodies) == 3


@pytest.mark.parametrize("shell", ["protocol", "asgi"])
async def test_client_that_leaves_while_its_large_answer_streams_ends_the_call(layout, shell, room):
    async with world(layout, shell=shell) as w:
        gone = asyncio.Event()

        async def endless(peer: Peer) -> None:
            await peer.body()
            peer.write(HEAD)
            before, _, _ = w.search_answer(1).partition(orjson.dumps(w.hit(0)))
            hits = b",".join([orjson.dumps(w.hit(i)) for i in range(300)]) + b","
            for piece in (before, *[hits] * 4):
                peer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await peer.gone()
            gone.set()

        w.on_search(endless)
        client = await Client.connect(w.port)
        await client.send(request("POST", "/books/_search", b"{}"))
        async with asyncio.timeout(10):
            assert b"200 OK" in await client.reader.readuntil(b"\r\n\r\n")
            client.writer.transport.abort()
            await gone.wait()
        await settled(w, room)


@pytest.mark.parametrize("shell", ["protocol", "asgi"])
async def test_client_that_leaves_while_its_merged_answer_is_written_leaves_nothing(layout, shell, room):
    room.limit = 64 << 20
    async with world(layout, shell=shell) as w:
        node = Node(w)
        client = await Client.connect(w.port)
        await client.send(request("POST", "/_bulk", bulk(30_000, pad=1), NDJSON))
        async with asyncio.timeout(30):
            assert b"200 OK" in await client.reader.readuntil(b"\r\n\r\n")
            assert room.used > 1_000_000 and len(node.bodies) > 10
            client.writer.transport.abort()
        await settled(w, room)
