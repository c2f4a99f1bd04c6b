"""The straight way: whatever happens, node and client see what they would have seen on the general way."""

from __future__ import annotations

import pytest

from esproxy.cluster import Cluster
from esproxy.heads import Head
from tests.unit.gateway.whole import INFO, gateway
from tests.unit.serve.sides import Side, answered, asked, both

NODE = "http://127.0.0.1:9"
FOUND = b'{"_index":"acme.books","_id":"1","_version":1,"found":true,"_source":{"a":1}}'
HITS = b'{"took":1,"hits":{"total":{"value":1},"hits":[{"_index":"acme.books","_id":"1","_source":{"a":"acme.b"}}]}}'
MISSING = b'{"error":{"type":"index_not_found_exception","reason":"no index [acme.books]","index":"acme.books"},"status":404}'
MATCH = b'{"query":{"match":{"a":"b"}}}'


SEARCH, GET = asked(b"POST", b"/books/_search", MATCH), asked(b"GET", b"/books/_doc/1")
OF_SEARCH, OF_GET = answered(HITS), answered(FOUND)


@pytest.fixture
def play(monkeypatch):
    return lambda story, **options: both(story, **{"warm": (SEARCH, OF_SEARCH), "monkeypatch": monkeypatch, **options})


# --- what is asked ---------------------------------------------------------------------------------------

STRAIGHT = {
    "search": (SEARCH, OF_SEARCH),
    "get": (GET, OF_GET),
    "without-query": (asked(b"GET", b"/books/_search"), OF_SEARCH),
    "opaque-id": (asked(b"POST", b"/books/_search", MATCH, b"x-opaque-id: 7", b"accept: application/json"), OF_SEARCH),
    "index": (asked(b"PUT", b"/books/_doc/1", b'{"a":1}'), answered(b'{"_index":"acme.books","_id":"1","result":"updated"}')),
    "delete": (asked(b"DELETE", b"/books/_doc/1"), answered(b'{"_index":"acme.books","_id":"1","result":"deleted"}')),
    "count": (asked(b"POST", b"/books/_count", MATCH), answered(b'{"count":3,"_shards":{"total":1,"successful":1}}')),
    "several-indices": (asked(b"POST", b"/books,other*/_search?size=1", MATCH), OF_SEARCH),
    "names-in-body": (
        asked(b"POST", b"/books/_search", b'{"query":{"terms":{"a":{"index":"books","id":"1","path":"b"}}}}'), OF_SEARCH,
    ),
    "small-for-gzip": (asked(b"POST", b"/books/_search", MATCH, b"accept-encoding: gzip"), OF_SEARCH),
}  # fmt: skip
GENERAL = {
    "head": (asked(b"HEAD", b"/books/_doc/1"), OF_GET),
    "yaml": (asked(b"POST", b"/books/_search", MATCH, b"accept: application/yaml"), OF_SEARCH),
    "bulk": (asked(b"POST", b"/_bulk", b'{"delete":{"_index":"books","_id":"1"}}\n'), answered(b'{"errors":false,"items":[]}')),
    "create-index": (
        asked(b"PUT", b"/books", b'{"settings":{"number_of_shards":1}}'), answered(b'{"acknowledged":true,"index":"acme.books"}'),
    ),
    "aggregations": (
        asked(b"POST", b"/books/_search", b'{"aggs":{"a":{"terms":{"field":"b"}}}}'),
        answered(b'{"took":1,"aggregations":{"sterms#a":{"buckets":[]}}}'),
    ),
    "by-index": (
        asked(b"POST", b"/books/_search", b'{"sort":["_index"]}'),
        answered(b'{"hits":{"hits":[{"_index":"acme.books","_id":"1","sort":["acme.books"]}]}}'),
    ),
    "script": (
        asked(b"POST", b"/books/_search", b'{"script_fields":{"a":{"script":{"source":"doc[\'_index\'].value"}}}}'), OF_SEARCH,
    ),
    "query-string": (asked(b"POST", b"/books/_search", b'{"query":{"query_string":{"query":"_index:books"}}}'), OF_SEARCH),
}  # fmt: skip


@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch"])
@pytest.mark.parametrize("name", STRAIGHT)
async def test_plain_request_goes_straight_and_is_the_same(play, engine, name):
    request, answer = STRAIGHT[name]
    assert await play(lambda side: [side.ask(request, answer) for _ in range(3)], engine=engine, warm=(request, answer)) == 3


@pytest.mark.parametrize("name", GENERAL)
async def test_request_that_is_not_plain_goes_the_general_way(play, name):
    request, answer = GENERAL[name]
    assert await play(lambda side: [side.ask(request, answer) for _ in range(3)], warm=(request, answer)) == 0


@pytest.mark.parametrize(
    "body", [b"{", b'{"query":{"nope":1}}', b'{"a":1}{', b'{"from":1,"from":1}', b'{"from":"\xff"}', b'{"nope":1}']
)
async def test_refused_body_is_refused_in_the_same_words(play, body):
    body = body.ljust(len(MATCH))

    def story(side: Side) -> None:
        side.client.data_received(asked(b"POST", b"/books/_search", body))
        side.ask(SEARCH, OF_SEARCH)

    assert await play(story) == 0  # the head rests


async def test_head_whose_bodies_were_not_plain_rests_and_goes_straight_again(play):
    body = b'{"query":{"match":{"a":"b"}'.ljust(len(MATCH))

    def story(side: Side) -> None:
        side.client.data_received(asked(b"POST", b"/books/_search", body))
        for _ in range(20):
            side.ask(SEARCH, OF_SEARCH)

    assert await play(story) == 4


async def test_peer_of_another_address_does_not_use_it(play):
    def story(side: Side) -> None:
        side.client.peer = "10.0.0.1"
        for _ in range(3):
            side.client.data_received(SEARCH)

    assert await play(story) == 0


async def test_cluster_that_is_known_anew_is_asked_by_its_own_tables(play):
    def story(side: Side) -> None:
        side.gateway.clusters["main"] = Cluster("main", "elasticsearch", INFO)
        for _ in range(4):
            side.ask(SEARCH, OF_SEARCH)

    assert await play(story) == 3  # one to understand it


# --- what is answered ------------------------------------------------------------------------------------

ANSWERS = {
    "other-index": answered(HITS.replace(b"acme.books", b"zenith.books")),
    "prefix-alone": answered(HITS.replace(b"acme.books", b"acme")),
    "unknown-key": answered(HITS[:-1] + b',"took_by_magic":1}'),
    "error": answered(MISSING, status=b"404 Not Found"),
    "error-200": answered(MISSING),
    "not-json": answered(b"<html>"),
    "cut-json": answered(HITS[:-2]),
    "empty": answered(b""),
    "two-values": answered(HITS + b"{}"),
    "location": answered(HITS, b"location: /acme.books/_doc/1"),
    "location-of-other": answered(HITS, b"location: /zenith.books/_doc/1"),
    "warning": answered(HITS, b'warning: 299 - "no such index [acme.books]"'),
    "headers": answered(HITS, b"x-opensearch-version: 3", b"server: x", b"x-opaque-id: acme/7", b"set-cookie: a", b"allow: GET"),
    "no-content": answered(b"", status=b"204 No Content"),
    "accepted": answered(HITS, status=b"202 Accepted"),
    "strange-status": answered(HITS, status=b"299 X"),
    "moved": answered(HITS, status=b"301 Moved"),
    "failures": answered(
        b'{"took":1,"_shards":{"failures":[{"shard":0,"index":"acme.books","reason":{"type":"x","reason":"in [acme.books]"}}]}}'
    ),
    "close": answered(HITS, b"connection: close"),
    "chunked": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "continue": b"HTTP/1.1 100 Continue\r\n\r\n" + OF_SEARCH,
    "too-long": OF_SEARCH + b"more",
    "no-http": b"hello\r\n\r\n",
    "large": answered(HITS.replace(b'"a"', b'"%b"' % (b"a" * 100_000))),
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_answer_is_told_and_verified_as_on_the_general_way(play, name):
    def story(side: Side) -> None:
        for _ in range(2):  # the second time its head is known
            side.client.data_received(SEARCH)
            if not side.client.transport.closing:
                side.respond(ANSWERS[name])
            side.gateway.ready.kept.young.clear()

    assert await play(story) >= 1


async def test_violation_on_the_straight_way_is_withheld_and_counted(play):
    def story(side: Side) -> None:
        side.ask(SEARCH, ANSWERS["other-index"])
        assert side.gateway.violations == 1
        assert not any(b"zenith" in entry[2] for entry in side.log if entry[:2] == ("client", "write"))

    assert await play(story) == 1


async def test_key_that_no_definition_knows_is_counted_on_the_straight_way(play):
    def story(side: Side) -> None:
        for _ in range(2):
            side.ask(SEARCH, ANSWERS["unknown-key"])
        assert side.gateway.unknown_keys == 2

    assert await play(story) == 2


@pytest.mark.parametrize("size", [1, 20, len(OF_SEARCH) - 1])
async def test_answer_in_parts_goes_on_on_the_general_way(play, size):
    def story(side: Side) -> None:
        side.client.data_received(SEARCH)
        for at in range(0, len(OF_SEARCH), size):
            side.busy().data_received(OF_SEARCH[at : at + size])
        side.ask(SEARCH, OF_SEARCH)

    assert await play(story) == 2


async def test_large_answer_is_compressed_for_who_takes_it(play):
    request = asked(b"POST", b"/books/_search", MATCH, b"accept-encoding: gzip")
    large = answered(HITS.replace(b'"a"', b'"%b"' % (b"a" * 10_000)))
    assert await play(lambda side: side.ask(request, large), warm=(request, OF_SEARCH)) == 1


# --- what else happens meanwhile ---------------------------------------------------------------------------


async def test_read_whose_connection_breaks_is_repeated_on_a_fresh_one_and_a_write_is_not(play):
    for request, answer in (SEARCH, OF_SEARCH), STRAIGHT["index"]:

        def story(side: Side, request: bytes = request, answer: bytes = answer) -> None:
            side.client.data_received(request)
            side.busy().connection_lost(None)
            side.respond(answer)
            side.client.data_received(GET)

        assert await play(story, warm=(request, answer)) == 1


async def test_node_that_says_nothing_is_a_timeout(play):
    def story(side: Side) -> None:
        side.client.data_received(SEARCH)
        side.now = 30.0
        side.engine.sweep()
        side.now = 61.0
        side.engine.sweep()

    assert await play(story) == 1


async def test_client_that_leaves_ends_the_call(play):
    def story(side: Side) -> None:
        side.client.data_received(SEARCH)
        side.client.connection_lost(None)
        side.client = side.connect()
        side.ask(GET, OF_GET)

    assert await play(story) == 1


async def test_client_that_takes_no_more_is_not_read_for(play):
    def story(side: Side) -> None:
        side.client.data_received(SEARCH)
        side.client.pause_writing()
        side.client.resume_writing()
        side.busy().data_received(OF_SEARCH)
        side.client.pause_writing()
        side.client.data_received(SEARCH)
        side.client.resume_writing()
        side.busy().data_received(OF_SEARCH)

    assert await play(story) == 1


async def test_node_that_takes_no_more_of_a_request_is_waited_for(play):
    def story(side: Side) -> None:
        side.client.data_received(SEARCH)
        busy = side.busy()
        busy.transport.full = 9
        busy.pause_writing()
        busy.resume_writing()
        busy.data_received(OF_SEARCH)  # before it had all of the request: the connection is not used again
        side.ask(SEARCH, OF_SEARCH)

    assert await play(story) == 2


async def test_requests_that_come_before_the_answer_wait_for_their_turn(play):
    def story(side: Side) -> None:
        side.client.data_received(SEARCH)
        side.client.data_received(GET)
        side.client.data_received(SEARCH + SEARCH)
        for answer in (OF_SEARCH, OF_GET, OF_SEARCH, OF_SEARCH):
            side.busy().data_received(answer)

    assert await play(story) == 1


async def test_client_that_sends_what_is_no_http_gets_the_answer_that_is_due(play):
    def story(side: Side) -> None:
        side.client.data_received(SEARCH)
        side.client.data_received(b"\x16\x03\x01\r\n\r\n")
        side.busy().data_received(OF_SEARCH)

    assert await play(story) == 1


async def test_server_that_ends_says_so_with_the_answer(play):
    def story(side: Side) -> None:
        side.client.data_received(SEARCH)
        side.client.shutdown()
        side.busy().data_received(OF_SEARCH)

    assert await play(story) == 1


async def test_server_that_waits_no_longer_answers_with_an_error(play):
    def story(side: Side) -> None:
        side.client.data_received(SEARCH)
        side.client.stop()

    assert await play(story) == 1


async def test_worker_that_drains_tells_so_with_the_answer(play):
    def story(side: Side) -> None:
        side.client.data_received(SEARCH)
        side.app.draining = True
        side.busy().data_received(OF_SEARCH)

    assert await play(story) == 1


async def test_failure_of_ours_on_the_straight_way_is_answered_by_the_general_one(play, monkeypatch, caplog):
    def story(side: Side) -> None:
        side.client.data_received(SEARCH)
        monkeypatch.setattr("esproxy.serve.short.Shortcut.restored", None)
        side.busy().data_received(OF_SEARCH)

    assert await play(story) == 1
    assert "failed on the short way" in caplog.text


async def test_engine_without_an_idle_connection_is_asked_for_one(play):
    def story(side: Side) -> None:
        side.node.idle.clear()
        side.client.data_received(SEARCH)
        side.respond(OF_SEARCH)
        assert side.placed[0].send.body == MATCH

    assert await play(story) == 0


async def test_heads_are_told_apart_by_tenant():
    side = Side(straight=True, made=gateway())
    for _ in range(3):
        side.ask(SEARCH, OF_SEARCH)
    other = SEARCH.replace(b"x-tenant: acme", b"x-tenant: zenith")
    for _ in range(3):
        side.ask(other, answered(HITS.replace(b'"acme.books', b'"zenith.books')))
    sent = [entry[2].split()[1] for entry in side.log if entry[0] != "client"]
    assert sent == [b"/acme.books/_search"] * 3 + [b"/zenith.books/_search"] * 3
    assert {head.shortcut.shortcut.plan().tenant_id for head, _ in side.app.known.recent.young.values()} == {"acme", "zenith"}
    assert isinstance(next(iter(side.app.known.recent.young.values()))[0], Head)
    side.client.connection_lost(None)
    side.engine._sweeper.cancel()
