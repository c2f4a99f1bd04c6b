"""Bodies that lie in a spool: sent with their length, no faster than the node reads, and sent again from the start."""

import asyncio
import os

import pytest

from esproxy.spool import Spool
from tests.stub import Peer, Stub, answer

OK = answer(200, b"ok")
PARTS = [bytes([65 + i]) * 100_000 for i in range(40)]


def spool(in_memory: int = 0, parts: list[bytes] = PARTS) -> Spool:
    made = Spool(in_memory)
    for part in parts:
        made.write(part)
    return made


@pytest.mark.parametrize("in_memory", [0, 1 << 20, 1 << 30])
def test_spool_gives_back_what_was_written_any_number_of_times(in_memory):
    made = spool(in_memory)
    assert len(made) == made.size == 4_000_000 and (made.held == 0) is (in_memory < 4_000_000)
    for _ in range(2):
        assert b"".join(made.parts()) == made.whole() == b"".join(PARTS)
    body = made.body()
    assert (body is made) is (in_memory < 4_000_000)
    handle = made.handle
    made.close()
    assert len(made) == 0
    if handle >= 0:
        with pytest.raises(OSError):
            os.fstat(handle)


def test_spool_has_no_name_and_ends_with_its_last_reference(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    made = spool()
    handle = made.handle
    assert os.fstat(handle).st_size == 4_000_000 and list(tmp_path.iterdir()) == []
    del made
    with pytest.raises(OSError):
        os.fstat(handle)


async def test_spooled_body_arrives_whole_with_its_length(runner, stub: Stub):
    stub.on("/x", OK)
    engine = runner.engine(stub.url)
    for _ in range(2):
        got = await runner.ask(engine, "PUT", "/x", spool())
        assert got.failure is None and got.body == b"ok"
    for seen in stub.requests:
        assert seen.body == b"".join(PARTS) and seen.get(b"content-length") == b"4000000"
        assert seen.get(b"transfer-encoding") is None
    assert stub.connections == 1


async def test_spooled_body_is_read_no_faster_than_the_node_reads(own, stub: Stub, recorder):
    class Watched(Spool):
        given = 0

        def parts(self, size: int = 64 << 10):
            for part in super().parts(size):
                Watched.given += len(part)
                yield part

    go = asyncio.Event()

    async def script(peer: Peer) -> None:
        peer.stop_reading()
        await go.wait()
        peer.go_on_reading()
        await peer.body()
        peer.write(OK)

    stub.on("/x", script)
    made = Watched(0)
    for _ in range(200):
        made.write(b"x" * 100_000)
    sink = recorder()
    own.engine(stub.url).start(own.send("PUT", "/x", made), sink)
    before = -1
    while Watched.given != before:
        before = Watched.given
        await asyncio.sleep(0.2)
    assert Watched.given < 12_000_000
    go.set()
    await asyncio.wait_for(sink.done.wait(), 20)
    assert sink.failure is None and stub.requests[0].body == b"x" * 20_000_000


async def test_spooled_body_is_sent_again_from_its_start(runner, stub: Stub):
    async def close_once(peer: Peer) -> None:
        await peer.body()
        if len(stub.requests) == 1:
            peer.close()
        else:
            peer.write(OK)

    stub.on("/x", close_once)
    got = await runner.ask(runner.engine(stub.url), "PUT", "/x", spool(), held=True)
    assert (got.failure, got.body, got.attempt) == (None, b"ok", 2)
    assert [seen.body for seen in stub.requests] == [b"".join(PARTS)] * 2


async def test_early_answer_ends_the_sending_of_a_spool(own, stub: Stub):
    async def script(peer: Peer) -> None:
        peer.stop_reading()
        peer.write(answer(413, b"{}"))
        await peer.gone()

    stub.on("/x", script)
    engine = own.engine(stub.url)
    got = await own.ask(engine, "PUT", "/x", spool(0, PARTS * 5))
    assert (got.head.status, got.body, got.failure) == (413, b"{}", None)
    assert (await own.ask(engine)).failure is None and stub.connections == 2
