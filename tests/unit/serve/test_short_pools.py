"""The straight way of reads in pools: node and client see what they would have seen on the general way, whatever the catalogue
learns meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest

from esproxy.catalogue import codec, names
from esproxy.catalogue.documents import CLOSED, GONE, Field, Index
from esproxy.gateway import Gateway
from tests.unit.pools.pool_gate import TEXT, Gate, directory, gate, hit, hits
from tests.unit.serve.sides import Side, answered, asked, both

FIELDS = {**{name: Field(TEXT, name) for name in ("a", "w", "t.raw")}, "n": Field({"type": "long"}, "n")}
RENAMED = {**FIELDS, "n": Field({"type": "long"}, "n~2")}
MATCH = b'{"query":{"match":{"w":"b"}},"sort":["_score",{"n":"asc"}],"_source":["w","n"]}'
SEARCH, GET = asked(b"POST", b"/logs/_search", MATCH), asked(b"GET", b"/logs/_doc/1")


def found(*one: dict[str, Any], **more: Any) -> bytes:
    return answered(orjson.dumps(hits(*one, **more)))


HIT = hit("pool~logs-1", "acme.17:1", {"w": "b"}, sort=[1, 2])
OF_SEARCH = found(HIT, hit("pool~logs-1", "acme.17:2", {"w": 'say "b"~\n'}))
GOT = {"_index": "pool~logs-1", "_id": "acme.17:1", "_version": 1, "_routing": "acme.17:", "found": True, "_source": {"w": "b"}}
OF_GET = answered(orjson.dumps(GOT))
PLACEMENTS: dict[str, dict[str, Any]] = {
    "shared": {"fields": FIELDS},
    "renamed": {"fields": RENAMED},
    "shards": {"fields": FIELDS, "settings": {"index.number_of_shards": 3}},
    "per-tenant": {"layout": "per-tenant", "fields": FIELDS},
}


class Placed:
    """Makes the Gateways of a play, and knows the catalogue of each."""

    def __init__(self, **placement: Any) -> None:
        self.placement = placement or PLACEMENTS["shared"]
        self.gates: dict[int, Gate] = {}

    def __call__(self, engine: str) -> Gateway:
        made = gate(engine, **self.placement)
        self.gates[id(made.gateway)] = made
        return made.gateway

    def of(self, side: Side) -> Gate:
        return self.gates[id(side.gateway)]


@pytest.fixture
def placed() -> Placed:
    return Placed()


@pytest.fixture
def play(monkeypatch, placed):
    def played(story, *, warm=(SEARCH, OF_SEARCH), make=placed, **options):
        return both(story, warm=warm, make=make, monkeypatch=monkeypatch, **options)

    return played


def thrice(request: bytes, answer: bytes) -> Callable[[Side], None]:
    return lambda side: [side.ask(request, answer) for _ in range(3)] and None


# --- what is asked ---------------------------------------------------------------------------------------

STRAIGHT = {
    "search": (SEARCH, OF_SEARCH),
    "get": (GET, OF_GET),
    "search-by-get": (asked(b"GET", b"/logs/_search?size=1&from=0", MATCH), OF_SEARCH),
    "count": (asked(b"POST", b"/logs/_count", b'{"query":{"match":{"w":"b"}}}'), answered(b'{"count":3,"_shards":{"total":1}}')),
    "no-query": (asked(b"POST", b"/logs/_search", b'{"size":1}'), OF_SEARCH),
    "opaque-id": (asked(b"POST", b"/logs/_search", MATCH, b"x-opaque-id: 7", b"accept: application/json"), OF_SEARCH),
    "get-realtime": (asked(b"GET", b"/logs/_doc/1?realtime=false"), OF_GET),
}
GENERAL = {
    "head": asked(b"HEAD", b"/logs/_doc/1"),
    "yaml": asked(b"POST", b"/logs/_search", MATCH, b"accept: application/yaml"),
    "aggregations": asked(b"POST", b"/logs/_search", b'{"aggs":{"a":{"terms":{"field":"w"}}}}'),
    "unknown-field": asked(b"POST", b"/logs/_search", b'{"query":{"match":{"nobody":"b"}}}'),
    "by-id": asked(b"POST", b"/logs/_search", b'{"query":{"ids":{"values":["1"]}}}'),
    "by-index": asked(b"POST", b"/logs/_search", b'{"sort":["_index"]}'),
    "explain": asked(b"POST", b"/logs/_search", b'{"explain":true}'),
    "profile": asked(b"POST", b"/logs/_search", b'{"profile":true}'),
    "all-fields": asked(b"POST", b"/logs/_search", b'{"query":{"multi_match":{"query":"b"}}}'),
    "pattern-in-source": asked(b"POST", b"/logs/_search", b'{"_source":["w*"]}'),
    "script": asked(b"POST", b"/logs/_search", b'{"query":{"script":{"script":{"source":"doc.containsKey(\'w\')"}}}}'),
    "runtime": asked(b"POST", b"/logs/_search", b'{"runtime_mappings":{"r":{"type":"long"}}}'),
    "refused": asked(b"POST", b"/logs/_search", b'{"nope":1}'),
    "not-json": asked(b"POST", b"/logs/_search", b'{"size":'),
    "pretty": asked(b"POST", b"/logs/_search?pretty", MATCH),
    "several": asked(b"POST", b"/logs,books/_search", MATCH),
    "without-body": asked(b"GET", b"/logs/_search"),
}


@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch"])
@pytest.mark.parametrize("name", STRAIGHT)
async def test_plain_read_goes_straight_and_is_the_same(play, engine, name):
    assert await play(thrice(*STRAIGHT[name]), engine=engine, warm=STRAIGHT[name]) == 3


def anyhow(request: bytes) -> Callable[[Side], None]:
    """Asked until nothing more goes to the node."""

    def story(side: Side) -> None:
        for _ in range(3):
            side.client.data_received(request)
            for _ in range(4):
                side.respond(OF_SEARCH)
            if side.client.current is not None or side.client.transport.closing:
                return

    return story


@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch"])
@pytest.mark.parametrize("name", GENERAL)
async def test_request_that_is_not_plain_goes_the_general_way(play, engine, name):
    assert await play(anyhow(GENERAL[name]), engine=engine) == 0


THOUGHT = {("shards", "get")}  # where ids have routings of their own


@pytest.mark.parametrize("request_name", ["search", "get", "no-query"])
@pytest.mark.parametrize("placement", PLACEMENTS)
async def test_read_is_the_same_in_each_placement(play, placement, request_name):
    request, _ = STRAIGHT[request_name]
    per_tenant = {"n17": {"w": "b~"}} if placement == "per-tenant" else {"w": "b~"}
    routing = "acme.17::1" if placement == "shards" else "acme.17:"
    one = {**GOT, "_source": per_tenant, "_routing": routing}
    answer = answered(orjson.dumps(one)) if request_name == "get" else found(one, one)
    went = await play(anyhow_ask(request, answer), warm=(request, answer), make=Placed(**PLACEMENTS[placement]))
    assert went == (0 if (placement, request_name) in THOUGHT else 3)


def anyhow_ask(request: bytes, answer: bytes) -> Callable[[Side], None]:
    def story(side: Side) -> None:
        for _ in range(3):
            side.client.data_received(request)
            for _ in range(4):
                side.respond(answer)

    return story


# --- what is answered ------------------------------------------------------------------------------------

FAILED = {
    "total": 2, "successful": 1, "skipped": 0, "failed": 1,
    "failures": [{"shard": 0, "index": "pool~logs-1", "node": "n", "reason": {"type": "x", "reason": "[pool~logs-1] acme.17:1"}}],
}  # fmt: skip
ERROR = {"error": {"type": "x", "reason": "in [pool~logs-1] of acme.17:1", "index": "pool~logs-1"}, "status": 400}
ANSWERS = {
    "other-scope": found(HIT, hit("pool~logs-1", "zenith.17:1")),
    "other-number": found(hit("pool~logs-1", "acme.170:1")),
    "no-scope": found(hit("pool~logs-1", "1")),
    "scope-alone": found(hit("pool~logs-1", "acme.17")),
    "other-index": found(hit("pool~books-1", "acme.17:1")),
    "other-routing": found({**HIT, "_routing": "zenith.17:"}),
    "own-routing": found({**HIT, "_routing": "acme.17:r"}),
    "routing-without-id": found({"_index": "pool~logs-1", "_routing": "acme.17:"}),
    "document-without-id": found({"_index": "pool~logs-1", "_source": {"w": "b"}}),
    "document-without-index": found({"_source": {"w": "b"}}),
    "id-without-index": found({"_id": "acme.17:1", "_source": {"w": "b"}}),
    "id-of-number": found({"_index": "pool~logs-1", "_id": 7}),
    "index-of-number": found({"_index": 7, "_id": "acme.17:1"}),
    "document-behind-another-index": found(HIT, {"_index": "pool~logs-1", "_source": {"w": "b"}}),
    "escaped-index": answered(b'{"hits":{"hits":[{"_index":"pool\\u007elogs-1","_id":"acme.17:1","_source":{"a":1}}]}}'),
    "escaped-id": answered(b'{"hits":{"hits":[{"_index":"pool~logs-1","_id":"acme.17\\u003a1","_source":{"a":1}}]}}'),
    "escapes-in-document": found(hit("pool~logs-1", "acme.17:1", {"w": 'a "b" ~ \n'}), HIT),
    "highlight": found({**HIT, "highlight": {"w": ["<em>b</em>"]}, "fields": {"n": [1]}}),
    "failures": answered(orjson.dumps({**hits(HIT), "_shards": FAILED})),
    "failures-of-other": answered(
        orjson.dumps({**hits(HIT), "_shards": {**FAILED, "failures": [{"shard": 0, "index": "pool~books-1", "reason": {}}]}})
    ),
    "error": answered(orjson.dumps(ERROR), status=b"400 Bad Request"),
    "error-200": answered(orjson.dumps(ERROR)),
    "surrogate": answered(b'{"hits":{"hits":[{"_index":"pool~logs-1","_id":"acme.17:\\ud800","_source":{}}]}}'),
    "cut-json": answered(b'{"hits":{"hits":[{"_index":"pool~logs-1"'),
    "empty": answered(b""),
    "not-json": answered(b"<html>"),
    "warning": answered(orjson.dumps(hits(HIT)), b'warning: 299 - "no such index [pool~logs-1]"'),
    "large": found(hit("pool~logs-1", "acme.17:1", {"w": "x" * 100_000})),
    "chunked": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
}
FOREIGN = ("other-scope", "other-number", "no-scope", "other-index", "other-routing", "document-without-id", "id-without-index")


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("name", ANSWERS)
async def test_answer_is_told_and_verified_as_on_the_general_way(play, placement, name):
    request, _ = STRAIGHT["no-query"]
    violations = []

    def story(side: Side) -> None:
        for _ in range(2):  # the second time its head is known
            side.client.data_received(request)
            side.respond(ANSWERS[name])
            side.gateway.ready.kept.young.clear()
        violations.append(side.gateway.violations)

    assert await play(story, warm=(request, found()), make=Placed(**PLACEMENTS[placement])) >= 1
    assert violations[0] == violations[1]
    if name in FOREIGN:
        assert violations == [2, 2]


async def test_answer_in_parts_goes_on_on_the_general_way(play):
    def story(side: Side) -> None:
        side.client.data_received(SEARCH)
        for at in range(0, len(OF_SEARCH), 20):
            side.busy().data_received(OF_SEARCH[at : at + 20])
        side.ask(SEARCH, OF_SEARCH)

    assert await play(story) == 2


async def test_document_that_is_not_there_is_told_by_the_general_way(play):
    missing = answered(b'{"_index":"pool~logs-1","_id":"acme.17:1","found":false}', status=b"404 Not Found")
    assert await play(lambda side: [side.ask(GET, missing) for _ in range(3)], warm=(GET, OF_GET)) == 2  # and then the head rests


# --- what it rests on --------------------------------------------------------------------------------------


def change(it: Gate, **entry: Any) -> None:
    """A poll brings in a directory in which logs is another."""
    new = directory(logs=17, books=18)
    new.indices["logs"] = replace(new.indices["logs"], **entry)
    it.put(names.directory_id("acme"), new)


def renumber(it: Gate) -> None:
    change(it, n=19)
    it.put(names.index_id("acme", 19), Index("acme", "logs", 19, "shared", "pool~logs", {}, {}, fields=FIELDS))


def rename(it: Gate) -> None:
    it.put(names.index_id("acme", 17), Index("acme", "logs", 17, "shared", "pool~logs", {}, {}, fields=RENAMED))


def confess(it: Gate) -> bytes:
    """The node's answer to a realtime get of the directory."""
    stored = it.catalogue.cache.docs[names.directory_id("acme")]
    source = orjson.loads(codec.encode(stored.doc))
    return answered(orjson.dumps({"found": True, "_seq_no": stored.seq_no, "_primary_term": 1, "_source": source}))


UNSETTLED: dict[str, Callable[[Gate], None]] = {
    "directory": lambda it: it.put(names.directory_id("acme"), directory(logs=17, books=18, more=20)),
    "made-again": renumber,
    "field-renamed": rename,
    "going": lambda it: change(it, then=GONE),
    "closing": lambda it: change(it, then=CLOSED),
    "closed": lambda it: change(it, state=CLOSED),
    "gone": lambda it: it.put(names.directory_id("acme"), directory(books=18)),
    "no-lease": lambda it: it.catalogue.cache.grant(0.0, 0.0, False),
}


@pytest.mark.parametrize("request_name", ["search", "get"])
@pytest.mark.parametrize("name", UNSETTLED)
async def test_answer_rests_on_what_the_catalogue_knows_when_it_comes(play, placed, name, request_name):
    request, answer = STRAIGHT[request_name]

    def story(side: Side) -> None:
        it = placed.of(side)
        side.client.data_received(request)
        UNSETTLED[name](it)
        side.busy().data_received(answer)
        for _ in range(6):  # what is asked then: the directory, or all of it again
            side.respond(confess(it) if b"esproxy~" in side.log[-1][2] else answer)

    assert await play(story, warm=(request, answer)) == 1


@pytest.mark.parametrize("request_name", ["search", "get"])
@pytest.mark.parametrize("name", UNSETTLED)
async def test_request_rests_on_what_the_catalogue_knows_when_it_leaves(play, placed, name, request_name):
    request, answer = STRAIGHT[request_name]

    def story(side: Side) -> None:
        it = placed.of(side)
        UNSETTLED[name](it)
        side.client.data_received(request)
        for _ in range(6):
            side.respond(confess(it) if b"esproxy~" in str(side.log[-1]).encode() else answer)

    assert await play(story, warm=(request, answer)) == 0


async def test_form_that_was_replaced_is_made_again(play, placed):
    def story(side: Side) -> None:
        placed.of(side).put(names.directory_id("acme"), directory(logs=17, books=18, more=20))
        for _ in range(5):
            side.ask(SEARCH, OF_SEARCH)

    assert await play(story) == 4  # the first finds that


async def test_index_that_is_open_again_is_read_straight_again(play, placed):
    def story(side: Side) -> None:
        it = placed.of(side)
        change(it, then=CLOSED)
        for _ in range(3):
            side.client.data_received(SEARCH)
            for _ in range(6):
                side.respond(confess(it) if b"esproxy~" in str(side.log[-1]).encode() else OF_SEARCH)
        change(it)
        for _ in range(4):
            side.ask(SEARCH, OF_SEARCH)

    assert await play(story) >= 2


# --- what else happens meanwhile ---------------------------------------------------------------------------


async def test_read_whose_connection_breaks_is_repeated_on_a_fresh_one(play):
    def story(side: Side) -> None:
        side.client.data_received(SEARCH)
        side.busy().connection_lost(None)
        side.respond(OF_SEARCH)

    assert await play(story) == 1


async def test_client_that_leaves_ends_the_call(play):
    def story(side: Side) -> None:
        side.client.data_received(SEARCH)
        side.client.connection_lost(None)
        side.client = side.connect()
        side.ask(GET, OF_GET)

    assert await play(story) == 1


async def test_node_that_says_nothing_is_a_timeout(play):
    def story(side: Side) -> None:
        side.client.data_received(SEARCH)
        side.now = 30.0
        side.engine.sweep()
        side.now = 61.0
        side.engine.sweep()

    assert await play(story) == 1
