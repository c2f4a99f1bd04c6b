"""Heads that come again: what was understood of them is used again, and nothing else is."""

from __future__ import annotations

import pytest

from esproxy import ready
from esproxy.exchange import Need, Reply, Send
from esproxy.heads import AnswerHead, Head
from esproxy.ready import KEPT, LONGEST
from tests.unit.gateway.whole import JSON, ask, gateway
from tests.unit.pools.pool_gate import gate as pool_gate

QUERY = b'{"query":{"match_all":{}},"aggs":{"a":{"terms":{"field":"b"}}}}'
BULK = b'{"index":{"_index":"logs","_id":"1"}}\n{"a":1}\n'
ALIKE = [
    ("POST", "/books/_search", QUERY),
    ("POST", "/books/_search", b'{"query":{"match_all":{}}}'),
    ("GET", "/books,.hidden*/_search?size=3&sort=a", b""),
    ("GET", "/books/_search?q=_index:books", b""),
    ("POST", "/books/_doc?op_type=index&refresh=true", b'{"a":1}'),
    ("POST", "/_bulk", BULK),
    ("PUT", "/books/_bulk?refresh=wait_for", BULK),
    ("GET", "/books/_count", b""),
    ("PUT", "/books", b'{"settings":{"number_of_shards":1}}'),
    ("HEAD", "/books", b""),
    ("GET", "/books/_doc/1", b""),
    ("HEAD", "/books/_doc/-1_a?realtime=false", b""),
    ("PUT", "/books/_doc/A1?routing=x&refresh=true", b'{"a":1}'),
    ("DELETE", "/books/_doc/1?", b""),
]
UNLIKE = [
    ("GET", "/books/_doc/a%20b", b""),  # an id that does not stand for itself
    ("GET", "/books/_doc/.", b""),
    ("GET", "/books/_source/1", b""),
    ("GET", "/_search", b""),  # a point in time in the body takes the index's place
    ("GET", "/books/_search?source=%7B%7D&source_content_type=application/json", b""),
    ("GET", "/books/_search?filter_path=hits", b""),
    ("GET", "/books/_search?sort=_index", b""),
    ("GET", "/_cat/indices", b""),
    ("GET", "/", b""),
    ("GET", "/books/_search?" + "&".join(f"stats=s{n}" for n in range(LONGEST // 9)), b""),
]


def kept(gate) -> dict:
    heads = gate.ready
    return heads.kept.young if heads is not None else {}


@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch"])
@pytest.mark.parametrize(("method", "target", "body"), ALIKE)
def test_request_that_comes_again_is_sent_as_if_it_were_the_first(engine, method, target, body, monkeypatch):
    headers = [(b"x-opaque-id", b"7"), (b"accept", b"application/json"), (b"content-type", b"application/json")]
    gate = gateway(engine)
    first = ask(gate, method, target, body, headers).send
    assert len(kept(gate)) == 1
    monkeypatch.setattr("esproxy.request.parse", None)  # not called for what is known
    assert ask(gate, method, target, body, headers).send == first
    assert ask(gate, method, target, body, headers).send == first


@pytest.mark.parametrize(("method", "target", "body"), UNLIKE)
def test_request_is_not_kept_whose_head_does_not_decide(method, target, body):
    gate = gateway()
    ask(gate, method, target, body)
    assert kept(gate) == {}


def test_answer_to_a_request_that_comes_again_is_restored_as_the_first_one():
    gate = gateway()
    answer = b'{"hits":{"hits":[{"_index":"acme.books","_id":"1"}]}}'
    answers = [ask(gate, "GET", "/books/_search").answer(answer) for _ in range(3)]
    assert len(kept(gate)) == 1
    assert all(got.body == answer.replace(b"acme.", b"") for got in answers)
    error = b'{"error":{"type":"x","reason":"no such index [acme.books]","index":"acme.books"},"status":404}'
    answers = [ask(gate, "GET", "/books/_search").answer(error, 404) for _ in range(2)]
    assert answers[0] == answers[1] and b"acme" not in answers[0].body


def test_tenants_share_nothing():
    gate = gateway()
    targets = [ask(gate, "GET", "/books/_search", tenant=tenant).target for tenant in ("acme", "zenith", "acme", "zenith")]
    assert targets == ["/acme.books/_search", "/zenith.books/_search"] * 2
    assert isinstance(ask(gate, "GET", "/books/_search", tenant="nobody"), Reply)
    assert isinstance(ask(gate, "GET", "/books/_search", tenant=None), Reply)
    assert len(kept(gate)) == 2


def test_what_one_request_adds_to_its_plan_does_not_reach_the_next():
    gate = gateway()
    typed = ask(gate, "POST", "/books/_search", QUERY, [(b"x-opaque-id", b"mine")])
    plain = ask(gate, "POST", "/books/_search", b"{}")
    assert typed.target == "/acme.books/_search?typed_keys=true" and plain.target == "/acme.books/_search"
    assert (b"x-opaque-id", b"acme/mine") in typed.send.headers and (b"x-opaque-id", b"acme/") in plain.send.headers
    assert all(name != b"x-opaque-id" for name, _ in plain.answer(b'{"hits":{"hits":[]}}').headers)
    again = ask(gate, "POST", "/books/_search", b'{"query":{"term":{"_index":"other"}}}')
    assert again.exchange.plan.spelled.keys() >= {"acme.books"}
    (only,) = kept(gate).values()
    assert only.plan.spelled == {"acme.books": "books"} and not only.plan.typed and only.plan.head.headers == []


def test_peer_is_asked_each_time_whether_it_may_name_a_tenant():
    gate = gateway(identity={"trusted_peers": ["10.0.0.0/8"]})

    def sent(peer):
        return gate.open(Head("GET", b"/books/_search", [(b"x-tenant", b"acme")], peer), b"", True)[1]

    assert isinstance(sent("10.1.1.1"), Send) and len(kept(gate)) == 1
    assert sent("192.0.2.1").status == 403
    assert isinstance(sent("10.1.1.2"), Send)


def test_header_that_comes_twice_is_looked_at_closely():
    gate = gateway()
    assert isinstance(ask(gate, "POST", "/books/_search", QUERY).send, Send)
    twice = ask(gate, "POST", "/books/_search", QUERY, [*JSON, (b"content-type", b"text/plain")])
    assert twice.status == 400
    assert ask(gate, "POST", "/books/_search", QUERY, [(b"x-tenant", b"zenith")]).status == 400


def test_content_type_is_part_of_what_is_known():
    gate = gateway()
    assert isinstance(ask(gate, "POST", "/books/_search", QUERY).send, Send)
    assert ask(gate, "POST", "/books/_search", QUERY, [(b"content-type", b"text/plain")]).status == 406
    assert ask(gate, "POST", "/books/_search", QUERY, [(b"content-type", b"text/plain")]).status == 406


def test_refusal_is_made_anew():
    gate = gateway()
    assert [ask(gate, "GET", "/books/_search?nonsense=1").status for _ in range(2)] == [400, 400]
    assert kept(gate) == {}


def test_tenants_told_by_index_names_are_not_kept():
    gate = gateway(identity={"index_pattern": "(?P<prefix>)(?P<tenant>[a-z]+)-(?P<postfix>.*)"})
    ask(gate, "GET", "/acme-books/_search", tenant=None)
    assert kept(gate) == {}


def test_no_more_than_two_generations_are_kept_and_what_is_in_use_stays(monkeypatch):
    monkeypatch.setattr(ready, "KEPT", 10)
    gate = gateway()
    ask(gate, "GET", "/used/_search")
    for number in range(100):
        ask(gate, "GET", f"/n{number}/_search")
        ask(gate, "GET", "/used/_search")
        heads = gate.ready
        assert len(heads.kept.young) <= 10 and len(heads.kept.old) <= 10
    monkeypatch.setattr("esproxy.request.parse", None)
    assert ask(gate, "GET", "/used/_search").target == "/acme.used/_search"
    assert KEPT >= 1000


@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch"])
def test_documents_are_kept_as_one_head_and_each_is_sent_for_its_own_id(engine, monkeypatch):
    gate, fresh = gateway(engine), gateway(engine)
    ids = ["1", "2", "A-z_0", "_doc", "a.b", "a%2Fb", "1"]
    for id in ids:
        for query in ("", "?routing=r", "?nope=1"):
            target = f"/books/_doc/{id}{query}"
            monkeypatch.setattr(ready.ReadyHeads, "find", lambda heads, head: None)
            wanted = outcome(fresh, target)
            monkeypatch.undo()
            assert outcome(gate, target) == wanted, target
    assert len(kept(gate)) == 2  # with the parameter and without


def test_refusal_quotes_the_path_of_its_own_request():
    gate = gateway("elasticsearch")
    for id in ("1", "2", "1"):
        _, step = gate.open(Head("GET", f"/books/_doc/{id}".encode(), [(b"x-tenant", b"acme"), *JSON]), b"{}", True)
        assert isinstance(step, Reply) and f"[GET /books/_doc/{id}]".encode() in step.body


@pytest.mark.parametrize("pooled", [False, True])
def test_document_without_an_id_is_none_that_was_kept_with_one(pooled):
    targets = ["/logs/_doc/1", "/logs/_doc/", "/logs/_doc", "/logs/_doc/2"]
    targets += ["/logs/_doc/?refresh=true", "/logs/_doc/1?refresh=true"]
    gate = pool_gate() if pooled else gateway()
    for target in targets + targets:
        step = (gate.gateway if pooled else gate).open(*post(target))[1]
        step = next(step.procedure).send if isinstance(step, Need) else step
        id = step.target.partition(b"?")[0].rpartition(b"/")[2].removeprefix(b"acme.17:")
        wanted = target.partition("?")[0].removeprefix("/logs/_doc").removeprefix("/")
        assert id == wanted.encode() if wanted else len(id) == 20, target


def post(target):
    return Head("POST", target.encode(), [(b"x-tenant", b"acme"), *JSON]), b'{"w":"x"}', True


def outcome(gate, target):
    """What is sent and what a client is told: about an id that is not there, in words that quote the path."""
    exchange, step = gate.open(Head("GET", target.encode(), [(b"x-tenant", b"acme")]), b"", True)
    if isinstance(step, Reply):
        return step
    error = f'{{"error":{{"type":"x","reason":"[{step.target.decode()}]"}},"status":400}}'.encode()
    return step, exchange.open_answer(AnswerHead(400, JSON, None), 1, error, True)
