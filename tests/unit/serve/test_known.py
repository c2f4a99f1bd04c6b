"""Heads that are known: what clients are told and the Gateway is given is the same as where every head is parsed."""

import asyncio
import random
from types import SimpleNamespace

import pytest
import uvicorn
from uvicorn.server import ServerState

from esproxy import known
from esproxy.exchange import ANSWER, Reply
from esproxy.heads import Head
from esproxy.known import LONGEST, KnownHeads
from esproxy.serve.asgi import DataApp
from esproxy.serve.driver import Proxy
from esproxy.serve.protocol import ClientConnection
from tests.unit.serve.http import JSON, post
from tests.unit.serve.scripted import RecordingEngine

GET = b"GET /x HTTP/1.1\r\nhost: a\r\n\r\n"
POST = post(b"abc")
MESSAGES = [
    GET,
    POST,
    post(b"abd"),
    post(b"\r\n\r\n"),
    post(GET),
    GET + POST,
    b"\r\n" + GET,
    b"\r\n\r\n" + GET,
    b"GET /y HTTP/1.1\nhost: a\n\n",
    b"GET /y HTTP/1.0\r\nhost: a\r\n\r\n",
    b"GET http://b/z?q HTTP/1.1\r\nhost: a\r\n\r\n",
    b"GET /y HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
    b"GET /y HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
    post(b"abc", b"connection: upgrade", b"upgrade: h2c"),
    post(b"abc", b"content-length: 3"),
    post(b"abc", b"content-length: 2"),
    post(b"abc", b"transfer-encoding: chunked"),
    post(b"abc", b"expect: 100-continue"),
    post(b"abc", b"content-encoding: identity"),
    post(b"abc", b"content-encoding: gzip"),
    post(b"abc", b"x-tenant : b"),
    post(b"abc", b"x: a", b" folded"),
    b"POST /x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    b"POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: +3\r\n\r\nabc",
    b"POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\nGET",
    b"GET /" + b"x" * LONGEST + b" HTTP/1.1\r\nhost: a\r\n\r\n",
    b"\x16\x03\x01\r\n\r\n",
]


class Transport:
    def __init__(self) -> None:
        self.said: list[object] = []

    def write(self, data: bytes) -> None:
        self.said.append(data)

    def is_closing(self) -> bool:
        return "close" in self.said

    def close(self) -> None:
        self.said.append("close")

    def pause_reading(self) -> None:
        self.said.append("pause")

    def resume_reading(self) -> None:
        self.said.append("resume")

    def can_write_eof(self) -> bool:
        return False

    def get_extra_info(self, name: str, default: object = None) -> object:
        return ("127.0.0.1", 9) if name in ("peername", "sockname") else default


class Exchange:
    """Answers when the body is whole."""

    wants = ANSWER | 1

    def __init__(self, heard: list[object]) -> None:
        self.heard = heard

    def feed(self, chunk: bytes, last: bool) -> Reply | None:
        self.heard.append((chunk, last))
        return Reply(200, JSON, b"{}") if last else None

    def close(self) -> None:
        self.heard.append("close")


class Gateway:
    product = False

    def __init__(self) -> None:
        self.heard: list[object] = []

    def open(self, head, chunk=b"", last=False):
        self.heard.append((head.method, head.target, head.headers, head.peer))
        exchange = Exchange(self.heard)
        return exchange, exchange.feed(chunk, last)

    def shortcut(self, head: Head) -> None:
        """All goes the general way here."""


class Side:
    """An application, and a connection to it at a time."""

    def __init__(self) -> None:
        self.gateway = Gateway()
        self.app = DataApp(Proxy(self.gateway, RecordingEngine()))
        self.app.sweeper = SimpleNamespace(watch=lambda *_: None)

    def connect(self) -> ClientConnection:
        connection = ClientConnection(self.app, ServerState(), uvicorn.Config(self.app), asyncio.get_running_loop())
        connection.connection_made(Transport())
        return connection

    def told(self, reads: list[bytes]) -> tuple[list[object], list[object]]:
        """What the Gateway was given and the client was told."""
        connection = self.connect()
        for data in reads:
            if not connection.ending:
                connection.data_received(data)
        said, heard = connection.transport.said, self.gateway.heard[:]
        self.gateway.heard.clear()
        connection.connection_lost(None)
        return heard, said


@pytest.fixture
def parsing(monkeypatch) -> Side:
    """A side on which all heads are parsed."""
    side = Side()
    side.app.known = SimpleNamespace(find=lambda *_: None, keep=lambda *_: None)
    return side


async def test_known_head_is_not_parsed():
    side = Side()
    connection = side.connect()
    connection.data_received(POST)
    connection.parser = None
    connection.data_received(post(b"xyz"))
    assert [call for call in side.gateway.heard if call[1] is True] == [(b"abc", True), (b"xyz", True)]
    assert side.gateway.heard[0] == side.gateway.heard[2]


async def test_head_is_known_to_all_connections_of_its_peer_alone():
    side = Side()
    side.connect().data_received(GET)
    assert side.app.known.find(GET, "127.0.0.1") is not None
    assert side.app.known.find(GET, "127.0.0.2") is None


@pytest.mark.parametrize("message", MESSAGES, ids=range(len(MESSAGES)))
async def test_message_that_comes_again_is_the_same_message(parsing, message):
    side = Side()
    for reads in ([message], [message], [message, GET, message], [message + GET], [message[:9], message[9:], POST]):
        assert side.told(reads) == parsing.told(reads)


async def test_messages_in_any_order_and_reads_are_the_same_messages(parsing):
    side, chance, before = Side(), random.Random(5), 0
    for _ in range(1500):
        reads = chance.choices(MESSAGES[:6] * 3 + MESSAGES, k=chance.randrange(1, 6))
        if chance.random() < 0.5:
            stream, reads = b"".join(reads), []
            while stream:
                cut = chance.choice([len(GET), len(POST), chance.randrange(1, 90)])
                reads.append(stream[:cut])
                stream = stream[cut:]
        found = side.told(reads)
        assert found == parsing.told(reads), reads
        before += len(found[0])
    assert before > 3000 and 2 < len(side.app.known.recent.young) < len(MESSAGES)


def test_no_more_than_two_generations_are_kept(monkeypatch):
    monkeypatch.setattr(known, "KEPT", 10)
    heads: KnownHeads[int] = KnownHeads()
    for number in range(100):
        heads.keep(number, 0, b"GET /%d HTTP/1.1\r\n\r\n" % number)
        heads.keep(-1, 0, GET) if heads.find(GET) is None else None
    assert len(heads.recent.young) <= 10 and len(heads.recent.old) <= 10
    assert heads.find(GET) == (-1, len(GET)) and heads.find(b"GET /1 HTTP/1.1\r\n\r\n") is None


@pytest.mark.parametrize("data", [b"", b"\r\n\r\n", b"GET", b"x" * LONGEST + b"\r\n\r\n"])
def test_what_is_no_head_is_not_kept(data):
    heads: KnownHeads[int] = KnownHeads()
    heads.keep(1, 0, data)
    assert heads.find(data) is None and not heads.recent.young
