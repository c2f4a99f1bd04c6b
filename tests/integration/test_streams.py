"""Bodies and answers past the window on real nodes, in every layout: what a client gets is what it gets from the bare node."""

from __future__ import annotations

import gzip
import http.client
import secrets
import socket
import struct
import time
from collections.abc import Iterator
from typing import Any

import httpx
import orjson
import pytest

from esproxy.config import LAYOUTS_AVAILABLE
from tests.integration.proxy import Proxies
from tests.oracle.neighbours import TENANT

SMALL = '[limits]\nwindow = "64kb"\n'
NDJSON = {"content-type": "application/x-ndjson"}
MAPPING = {"properties": {"n": {"type": "long"}, "t": {"type": "text"}, "big": {"type": "text", "index": False}}}
MANY = 3000


class Side:
    """A client of the node, or of the proxy in front of it, with an index of its own."""

    def __init__(self, url: str, index: str, headers: dict[str, str]) -> None:
        self.url, self.index, self.headers = url, index, headers
        self.http = httpx.Client(base_url=url, headers=headers, timeout=120, trust_env=False)
        made = self.call("PUT", "", {"mappings": MAPPING})
        assert made.status_code == 200, made.text

    def call(self, method: str, path: str, body: Any = None, **options: Any) -> httpx.Response:
        return self.http.request(method, f"/{self.index}{path}", json=body, **options)

    def bulk(self, body: Any, **headers: str) -> httpx.Response:
        return self.http.post(f"/{self.index}/_bulk", content=body, headers=NDJSON | headers)

    def count(self) -> int:
        assert self.call("POST", "/_refresh").status_code == 200
        return int(self.call("GET", "/_count").json()["count"])

    def close(self) -> None:
        self.call("DELETE", "")
        self.http.close()


pytestmark = pytest.mark.dealt


@pytest.fixture(params=LAYOUTS_AVAILABLE)
def layout(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _side(proxies: Proxies, layout: str, more: str) -> Side:
    return Side(proxies.get(layout, more=more).url, f"streams-{secrets.token_hex(3)}", {"x-tenant": TENANT})


@pytest.fixture
def proxied(proxies: Proxies, layout: str) -> Iterator[Side]:
    side = _side(proxies, layout, SMALL)
    yield side
    side.close()


@pytest.fixture
def default(proxies: Proxies, layout: str) -> Iterator[Side]:
    """With the window that a proxy has unless it is told."""
    side = _side(proxies, layout, "")
    yield side
    side.close()


@pytest.fixture
def bare(node_url: str) -> Iterator[Side]:
    side = Side(node_url, f"bare-{secrets.token_hex(3)}", {})
    yield side
    side.close()


def records(count: int, first: int = 0) -> bytes:
    line = b'{"index":{"_id":"%d"}}\n{"n":%d,"t":"%b"}\n'
    return b"".join([line % (n, n, b"some words and a number %d " % (n % 97) * 3) for n in range(first, first + count)])


def items(answer: httpx.Response) -> list[Any]:
    """Items without what tells of other documents of the same physical index, and of the index."""
    assert answer.status_code == 200, answer.text[:500]
    out = []
    for item in answer.json()["items"]:
        ((verb, told),) = item.items()
        error = told.get("error", {})
        kept = {key: told.get(key) for key in ("_id", "_version", "result", "status", "_shards")}
        out.append((verb, kept, error.get("type")))
    return out


def hits(answer: bytes, index: str) -> list[Any]:
    tree = orjson.loads(answer)
    assert {hit["_index"] for hit in tree["hits"]["hits"]} <= {index}
    return [tree["hits"]["total"], [(hit["_id"], hit["_source"], hit["sort"], sorted(hit)) for hit in tree["hits"]["hits"]]]


SEARCH = {"size": MANY, "query": {"range": {"n": {"gte": 5}}}, "sort": [{"n": "desc"}], "track_total_hits": True}


@pytest.fixture
def filled(proxied: Side, bare: Side) -> tuple[Side, Side]:
    for side in (proxied, bare):
        assert side.bulk(records(MANY)).json()["errors"] is False
        assert side.count() == MANY
    return proxied, bare


@pytest.mark.parametrize("coded", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
def test_bulk_past_the_window_is_answered_as_one(proxied: Side, bare: Side, coded: bool, chunked: bool) -> None:
    broken = b'{"index":{"_id":"no"}}\n{"n":"no number"}\n{"create":{"_id":"5"}}\n{"n":1}\n{"delete":{"_id":"7"}}\n'
    broken += b'{"update":{"_id":"8"}}\n{"doc":{"n":-8}}\n{"update":{"_id":"nowhere"}}\n{"doc":{"n":1}}\n'
    body = records(MANY) + broken + records(MANY, MANY)
    sent = gzip.compress(body) if coded else body
    answers = []
    for side in (proxied, bare):
        content = iter([sent[at : at + 10_007] for at in range(0, len(sent), 10_007)]) if chunked else sent
        answers.append(side.bulk(content, **({"content-encoding": "gzip"} if coded else {"accept-encoding": "identity"})))
        assert side.count() == 2 * MANY - 1
    assert items(answers[0]) == items(answers[1]) and answers[0].json()["errors"] is True
    for side in (proxied, bare):
        assert side.call("GET", "/_doc/8").json()["_source"]["n"] == -8


@pytest.mark.parametrize("coding", ["identity", "gzip"])
def test_answer_past_the_window_is_the_nodes(filled: tuple[Side, Side], coding: str) -> None:
    answers = [side.call("POST", "/_search", SEARCH, headers={"accept-encoding": coding}) for side in filled]
    assert answers[0].headers.get("content-encoding") == (None if coding == "identity" else "gzip")
    assert answers[0].headers["transfer-encoding"] == "chunked"
    found = [hits(answer.content, side.index) for answer, side in zip(answers, filled, strict=True)]
    assert found[0] == found[1] and len(found[0][1]) == MANY - 5


def test_answer_past_the_window_has_a_length_for_an_old_client(filled: tuple[Side, Side]) -> None:
    side, bare = filled
    host, port = side.url.removeprefix("http://").split(":")
    client = http.client.HTTPConnection(host, int(port), timeout=60)
    client._http_vsn, client._http_vsn_str = 10, "HTTP/1.0"  # type: ignore[attr-defined]
    headers = {**side.headers, "content-type": "application/json"}
    client.request("POST", f"/{side.index}/_search", orjson.dumps(SEARCH), headers)
    answer = client.getresponse()
    body = answer.read()
    client.close()
    assert int(answer.headers["content-length"]) == len(body)
    assert hits(body, side.index) == hits(bare.call("POST", "/_search", SEARCH).content, bare.index)


def test_pages_past_the_window_go_on(filled: tuple[Side, Side]) -> None:
    pages = []
    for side in filled:
        answer = side.call("POST", "/_search?scroll=1m", {**SEARCH, "size": 1000}).json()
        seen = []
        while answer["hits"]["hits"]:
            seen.append([hit["_id"] for hit in answer["hits"]["hits"]])
            answer = side.http.post("/_search/scroll", json={"scroll_id": answer["_scroll_id"], "scroll": "1m"}).json()
        side.http.request("DELETE", "/_search/scroll", json={"scroll_id": answer["_scroll_id"]})
        pages.append(seen)
    assert pages[0] == pages[1] and list(map(len, pages[0])) == [1000, 1000, MANY - 2005]


def test_several_answers_past_the_window_are_the_nodes(filled: tuple[Side, Side]) -> None:
    found = []
    for side in filled:
        ids = [str(n) for n in range(MANY)]
        documents = side.call("POST", "/_mget", {"ids": ids}).json()["docs"]
        lines = (orjson.dumps({"index": side.index}) + b"\n" + orjson.dumps(SEARCH) + b"\n") * 2
        several = side.http.post("/_msearch", content=lines, headers=NDJSON).json()["responses"]
        found.append(([(d["_id"], d["_source"]) for d in documents], [hits(orjson.dumps(one), side.index) for one in several]))
    assert found[0] == found[1] and len(found[0][0]) == MANY


def test_slow_reader_gets_all(filled: tuple[Side, Side]) -> None:
    side, bare = filled
    with side.http.stream("POST", f"/{side.index}/_search", json=SEARCH) as answer:
        body = b""
        for piece in answer.iter_raw(8192):
            body += piece
            if len(body) < 300_000:
                time.sleep(0.01)
    if answer.headers.get("content-encoding") == "gzip":
        body = gzip.decompress(body)
    assert hits(body, side.index) == hits(bare.call("POST", "/_search", SEARCH).content, bare.index)


def test_document_past_the_window_comes_back(proxied: Side, bare: Side) -> None:
    document = {"n": 1, "big": "words " * 100_000}
    found = []
    for side in (proxied, bare):
        made = side.call("PUT", "/_doc/1?refresh=true", document)
        changed = side.call("POST", "/_update/1", {"doc": {"t": "more " * 50_000}})
        posted = side.call("POST", "/_doc", document)
        read = side.call("GET", "/_doc/1").json()
        assert read["_source"] == {**document, "t": "more " * 50_000} and read["_version"] == 2
        results = [answer.json()["result"] for answer in (made, changed, posted)]
        found.append((made.status_code, posted.status_code, results))
    assert found[0] == found[1]


def test_broken_line_past_the_window_tells_how_many_were_taken(proxied: Side, bare: Side) -> None:
    body = records(MANY) + b'{"index":{"_id":\n{}\n' + records(10)
    answers = [side.bulk(body) for side in (proxied, bare)]
    assert [answer.status_code for answer in answers] == [400, 400]
    taken = int(answers[0].headers["x-esproxy-records-taken"])
    assert 0 < taken <= MANY and proxied.count() == taken and bare.count() == 0


def test_client_that_leaves_ends_its_bulk(proxied: Side) -> None:
    host, port = proxied.url.removeprefix("http://").split(":")
    raw = socket.create_connection((host, int(port)))
    head = f"POST /{proxied.index}/_bulk HTTP/1.1\r\nhost: a\r\nx-tenant: {TENANT}\r\ncontent-type: application/x-ndjson\r\n"
    raw.sendall(head.encode() + b"content-length: 1000000000\r\n\r\n" + records(MANY))
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raw.close()
    time.sleep(1)
    before = proxied.count()
    time.sleep(1)
    assert proxied.count() == before < MANY
    assert proxied.bulk(records(MANY)).json()["errors"] is False and proxied.count() == MANY


@pytest.mark.wide  # a node with a small heap pushes back now and then (429 for some items)
def test_bulk_above_the_nodes_own_limit_works(default: Side, bare: Side) -> None:
    """105 MB and more, a record of 18 MB among them."""
    line = b'{"index":{"_id":"%d"}}\n{"n":%d,"big":"%b"}\n'
    ordinary = [line % (n, n, b"x" * 10_000) for n in range(9500)]
    size = sum(map(len, ordinary)) + 18_000_000
    assert size > 105 << 20

    def pieces() -> Iterator[bytes]:
        for n, record in enumerate(ordinary):
            yield record
            if n == 4000:
                yield line % (9500, 9500, b"y" * 18_000_000)

    whole = b"".join(pieces())
    try:
        refused = bare.bulk(whole).status_code
    except httpx.TransportError:  # some versions hang up instead
        refused = 413
    assert refused == 413
    answer = default.bulk(pieces()).json()
    assert answer["errors"] is False and len(answer["items"]) == 9501 and default.count() == 9501
    assert [item["index"]["_id"] for item in answer["items"]] == [str(n) for n in [*range(4001), 9500, *range(4001, 9500)]]
    large = default.call("GET", "/_doc/9500").json()
    assert large["_source"] == {"n": 9500, "big": "y" * 18_000_000}
