"""Bulks beyond the window, without sockets."""

import orjson
import pytest

from esproxy import bulkstream
from esproxy.exchange import ANSWER, BODY, Release, Reply, Send
from esproxy.heads import AnswerHead, Head
from esproxy.upstream.engine_api import Failure
from tests.unit.gateway.whole import JSON, gateway

HEADERS = [(b"x-tenant", b"acme"), (b"content-type", b"application/x-ndjson")]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(bulkstream, "PART_BYTES", 1000)


def lines(count, first=0):
    return b"".join(b'{"index":{"_index":"l","_id":"%d"}}\n{"pad":"%s"}\n' % (i, b"x" * 50) for i in range(first, first + count))


def bytes_of(body):
    return body if isinstance(body, bytes) else body.whole()


class Client:
    """A client and a node: every sub-bulk is answered with one item per action."""

    def __init__(self, target="/_bulk", **answer):
        self.gate = gateway(limits={"window": 1024})
        self.exchange, step = self.gate.open(Head("POST", target.encode(), list(HEADERS)))
        assert step is None
        self.sent: list[Send] = []
        self.bodies: list[bytes] = []  # read at once: a file is closed when its part has been answered
        self.answer = answer
        self.end = None

    def feed(self, chunk, last=False):
        step = self.exchange.feed(chunk, last)
        while isinstance(step, Send):
            assert self.exchange.wants == ANSWER
            self.sent.append(step)
            self.bodies.append(bytes_of(step.body))
            actions = [orjson.loads(line)["index"] for line in bytes_of(step.body).split(b"\n")[:-1:2]]
            items = [{"index": {"_index": a["_index"], "_id": a["_id"], "status": 201}} for a in actions]
            raw = orjson.dumps({"took": 2, "errors": False, "items": items, **self.answer})
            status = self.answer.get("status", 200)
            step = self.exchange.open_answer(AnswerHead(status, list(JSON), len(raw)), 1, raw[:7], False)
            assert step is None
            step = self.exchange.feed_answer(raw[7:], True)
        if step is None:
            assert self.exchange.wants == BODY
        self.end = step
        return step


@pytest.mark.parametrize("cut", [1, 7, 100, 999, 100_000])
def test_bulk_beyond_the_window_is_sent_in_parts_and_answered_once(cut):
    client, body = Client(), lines(200)
    for at in range(0, len(body), cut):
        client.feed(body[at : at + cut], at + cut >= len(body))
    assert isinstance(client.end, Release)
    raw = b"".join(client.end.parts)
    assert len(raw) == client.end.length
    answer = orjson.loads(raw)
    assert [item["index"]["_id"] for item in answer["items"]] == [str(i) for i in range(200)]
    assert {item["index"]["_index"] for item in answer["items"]} == {"l"}
    assert answer["took"] == 2 * len(client.sent)
    assert b"".join(client.bodies) == body.replace(b'"l"', b'"acme.l"')
    if cut < 1000:
        assert len(client.sent) > 10
    assert all(body.endswith(b"\n") for body in client.bodies) and all(send.last for send in client.sent)


def test_bulk_broken_after_records_have_been_taken_says_how_many():
    client = Client()
    client.feed(lines(40))
    client.feed(b'{"index":{"_index":"l","nope":1}}\n{}\n')
    client.feed(lines(1), True) if client.end is None else None
    assert isinstance(client.end, Reply)
    assert client.end.status == 400
    taken = sum(body.count(b"\n") // 2 for body in client.bodies)
    assert taken > 0
    assert (b"x-esproxy-records-taken", b"%d" % taken) in client.end.headers


def test_bulk_without_a_last_newline_is_refused():
    client = Client()
    client.feed(lines(40) + b'{"delete":{"_index":"l","_id":"1"}}', True)
    assert client.end.status == 400


def test_bulk_part_that_the_node_refuses_ends_it():
    client = Client(
        error={"type": "es_rejected_execution_exception", "reason": "[acme.l] is full", "index": "acme.l"}, status=429
    )
    exchange = client.exchange
    step = exchange.feed(lines(60), False)
    assert isinstance(step, Send)
    raw = orjson.dumps(client.answer)
    step = exchange.open_answer(AnswerHead(429, list(JSON), len(raw)), 1, raw, True)
    assert isinstance(step, Reply)
    assert step.status == 429
    assert b"acme" not in step.body


def test_bulk_part_with_anothers_name_in_its_answer_withholds_all():
    client = Client()
    step = client.exchange.feed(lines(60), False)
    raw = orjson.dumps({"took": 1, "errors": False, "items": [{"index": {"_index": "zenith.l", "_id": "1", "status": 201}}]})
    step = client.exchange.open_answer(AnswerHead(200, list(JSON), len(raw)), 1, raw, True)
    assert step.status == 500
    assert client.gate.violations == 1


def test_bulk_part_that_fails_is_a_gateway_error():
    client = Client()
    client.exchange.feed(lines(60), False)
    assert client.exchange.fail_answer(Failure("timeout")).status == 504


def test_bulk_bytes_read_while_a_part_is_under_way_are_kept():
    client = Client()
    step = client.exchange.feed(lines(60), False)
    assert isinstance(step, Send)
    assert client.exchange.feed(lines(60, 60), True) is None
    client.sent.append(step)
    items = [{"index": {"_index": "acme.l", "_id": str(i), "status": 201}} for i in range(bytes_of(step.body).count(b"\n") // 2)]
    raw = orjson.dumps({"took": 1, "errors": True, "items": items})
    first = bytes_of(step.body)
    following = client.exchange.open_answer(AnswerHead(200, list(JSON), len(raw)), 1, raw, True)
    assert isinstance(following, Send)
    second = bytes_of(following.body)
    client.exchange.close()
    assert first + second == (lines(120)).replace(b'"l"', b'"acme.l"')
