"""Searches that need no procedure say what the procedure would say, and no longer than what they rest on holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest

from esproxy import gateway as gateways
from esproxy.catalogue import names
from esproxy.catalogue.documents import CLOSED, GONE, OPEN, Directory, Entry, Field, Index
from esproxy.errors import EsproxyError
from esproxy.exchange import Abort, Need, Reply, Send, Step, Write
from esproxy.heads import AnswerHead, Head
from esproxy.pools.straight import ASKING, Search, derived
from esproxy.pools.straight import straight as go
from tests.oracle.scenario import load
from tests.unit.pools.pool_gate import JSON, LONG, TEXT, Gate, directory, gate, hit, hits

FIELDS = {
    **{name: Field(TEXT, name) for name in ("t", "w", "msg", "title", "t.raw")},
    **{name: Field(LONG, name) for name in ("n", "o", "o.n", "size", "price")},
    **{name: Field({"type": "keyword"}, name) for name in ("k", "tag", "s.k")},
}
RENAMED = {**FIELDS, "n": Field(LONG, "n~2"), "k": Field({"type": "keyword"}, "k~3")}
QUERY = {"query": {"match": {"w": "x"}}}


def searches() -> dict[str, tuple[str, str, bytes]]:
    """Every search and count of the scenarios, over one index: method, path and query, body."""
    found = {}
    for scenario in load():
        for call in scenario.calls:
            path, _, query = call.target.partition("?")
            endpoint = path.rpartition("/")[2]
            if endpoint in ("_search", "_count") and call.media in (None, "application/json") and "scroll" not in path:
                target = f"/logs/{endpoint}" + (f"?{query}" if query else "")
                found.setdefault((call.method, target, call.body or b""), None)
    return {f"{number} {one[1]} {one[2][:60]!r}": one for number, one in enumerate(found)}


SEARCHES = searches()
CAUSE = {"type": "x", "reason": "acme.17: pool~logs-1"}
ERROR = {"type": "parsing_exception", "reason": "[bool] failed to parse field [must]", "caused_by": CAUSE}
FOUND = hits(
    hit("pool~logs-1", "acme.17:1", {"n": 1}, sort=[1], fields={"n": [1]}, highlight={"w": ["<em>x</em>"]}),
    hit("pool~logs-1", "acme.17:a:2", {"k": "~"}),
    aggregations={"sterms#a": {"buckets": [{"key": "acme.17:1", "doc_count": 1}]}},
)
FAILED = {
    "total": 2, "successful": 1, "skipped": 0, "failed": 1,
    "failures": [{"shard": 0, "index": "pool~logs-1", "node": "n", "reason": {"type": "x", "reason": "[pool~logs-1] acme.17:1"}}],
}  # fmt: skip
ANSWERS: dict[str, Any] = {
    "hits": FOUND,
    "failures": {**hits(), "_shards": FAILED},
    "error": (400, {"error": {**ERROR, "root_cause": [ERROR]}, "status": 400}),
    "foreign id": hits(hit("pool~logs-1", "zenith.17:1")),
    "foreign index": hits(hit("pool~books-1", "acme.17:1")),
    "document without an id": hits({"_index": "pool~logs-1", "_source": {}}),
    "no JSON": b'{"took":1,',
    "surrogate": (400, b'{"error":{"type":"x","reason":"\\ud800 pool~logs-1"},"status":400}'),
}


def outcome(it: Gate, call: tuple[str, str, bytes], answer: Any) -> Any:
    it.sends.clear()
    method, target, body = call
    try:
        told: Any = it.ask(method, target, body, lambda send: answer)
    except Exception as error:  # what the procedure asks beside it is answered with the same
        told = repr(error)
    return [(send.method, send.target, send.headers, send.body, send.held) for send in it.sends], told, it.gateway.violations


PLACEMENTS: dict[str, dict[str, Any]] = {
    "shared": {"fields": FIELDS},
    "renamed": {"fields": RENAMED},
    "strict": {"fields": FIELDS, "mapping": {"dynamic": "strict"}},
    "shards": {"fields": FIELDS, "settings": {"index.number_of_shards": 3}},
    "per-tenant": {"layout": "per-tenant", "fields": FIELDS},
}


@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch"])
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_search_is_sent_and_answered_as_by_the_procedure(engine: str, placement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    went = 0

    def counted(*given: Any) -> Any:
        nonlocal went
        found = straight(*given)
        went += found is not None
        return found

    straight = gateways.straight
    one, other = (gate(engine, **PLACEMENTS[placement]) for _ in range(2))
    for name, call in SEARCHES.items():
        for answer in (ANSWERS["hits"], ANSWERS["error"]):
            monkeypatch.setattr(gateways, "straight", counted)
            own = outcome(one, call, answer)
            monkeypatch.setattr(gateways, "straight", lambda *given: None)
            assert own == outcome(other, call, answer), name
    assert went > 100, went


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch"])
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_answer_is_restored_and_verified_as_by_the_procedure(
    engine: str, placement: str, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = ("POST", "/logs/_search", orjson.dumps({**QUERY, "aggs": {"a": {"terms": {"field": "k"}}}}))
    own = outcome(gate(engine, **PLACEMENTS[placement]), call, ANSWERS[answer])
    monkeypatch.setattr(gateways, "straight", lambda *given: None)
    assert own == outcome(gate(engine, **PLACEMENTS[placement]), call, ANSWERS[answer])


GETS = [
    ("GET", f"/logs/_doc/{id}{query}", b"")
    for id in ("1", "A-z_0", "_doc", "a.b", "a%2Fb", "x" * 503, "x" * 504, "x" * 505)
    for query in ("", "?realtime=false&preference=_local", "?routing=r", "?_source=w", "?stored_fields=w", "?version=3",
                  "?pretty", "?filter_path=_id", "?nope=1", "?refresh")
]  # fmt: skip
GETS += [("HEAD", "/logs/_doc/1", b""), ("GET", "/nope/_doc/1", b""), ("GET", "/logs/_source/1", b"")]
GETS += [("GET", "/logs/_doc/1", b"{}")]
GOT = {"_index": "pool~logs-1", "_id": "acme.17:1"}
DOCUMENTS = {
    "there": {**GOT, "_version": 1, "_routing": "acme.17:", "found": True, "_source": {"n": 1}},
    "with its routing": {**GOT, "_routing": "acme.17:r", "found": True, "_source": {}},
    "not there": (404, {**GOT, "found": False}),
    "another's": {**GOT, "_id": "zenith.17:1", "found": True, "_source": {"n": 1}},
    "error": (400, {"error": {**ERROR, "root_cause": [ERROR]}, "status": 400}),
}


@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch"])
@pytest.mark.parametrize("placement", [*PLACEMENTS, "routed"])
def test_document_is_read_as_by_the_procedure(engine: str, placement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    straight = gateways.straight
    placed = PLACEMENTS.get(placement, {"mapping": {"_routing": {"required": True}}})
    one, other = (gate(engine, **placed) for _ in range(2))
    for call in GETS:
        for name, answer in DOCUMENTS.items():
            monkeypatch.setattr(gateways, "straight", straight)
            own = outcome(one, call, answer)
            monkeypatch.setattr(gateways, "straight", lambda *given: None)
            assert own == outcome(other, call, answer), (call, name)


# --- which go straight -----------------------------------------------------------------------------------


def first_step(it: Gate, target: str, body: Any, tenant: str = "acme") -> Step | None:
    headers = [(b"x-tenant", tenant.encode()), *JSON]
    return it.gateway.open(Head("POST", target.encode(), headers), orjson.dumps(body), True)[1]


@pytest.mark.parametrize("target", ["/logs/_search", "/logs/_count", "/logs/_search?size=3&typed_keys"])
def test_plain_search_of_one_index_takes_no_procedure(target: str) -> None:
    assert isinstance(first_step(gate(), target, QUERY), Send)


def test_search_whose_answer_is_yaml_is_a_procedure() -> None:
    headers = [(b"x-tenant", b"acme"), (b"accept", b"application/yaml"), *JSON]
    step = gate().gateway.open(Head("POST", b"/logs/_search", headers), orjson.dumps(QUERY), True)[1]
    assert isinstance(step, Need)


def test_document_by_id_takes_no_procedure() -> None:
    it = gate()
    for id in (b"1", b"a-B_2"):
        step = it.gateway.open(Head("GET", b"/logs/_doc/" + id, [(b"x-tenant", b"acme")]), b"", True)[1]
        assert isinstance(step, Send) and step.target == b"/pool~logs-1/_doc/acme.17:%b?routing=acme.17:" % id


@pytest.mark.parametrize(
    ("target", "body"),
    [
        ("/logs,books/_search", QUERY),
        ("/l*/_search", QUERY),
        ("/_search", QUERY),
        ("/nope/_search", QUERY),
        ("/logs/_search?routing=a", QUERY),
        ("/logs/_search?pretty", QUERY),
        ("/logs/_search?q=w:x", QUERY),
        ("/logs/_search?scroll=1m", QUERY),
        ("/logs/_search?ignore_unavailable=true", QUERY),
        ("/logs/_search", {"query": {"term": {"_id": "1"}}}),
        ("/logs/_search", {"query": {"match": {"nobody knows": "x"}}}),
        ("/logs/_search", {**QUERY, "explain": True}),
        ("/logs/_search", {**QUERY, "no such key": True}),
        ("/logs/_search", {**QUERY, "profile": True}),
        ("/logs/_search", {**QUERY, "pit": {"id": "token"}}),
        ("/logs/_validate/query", QUERY),
        ("/logs/_delete_by_query", QUERY),
    ],
)
def test_search_that_may_need_more_is_a_procedure(target: str, body: Any) -> None:
    assert isinstance(first_step(gate(), target, body), Need)


@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch"])
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_body_without_an_asking_text_asks_for_nothing_more(engine: str, placement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """``Search.sent`` looks closer only where such a text is."""
    forms: list[Search] = []
    monkeypatch.setattr(gateways, "straight", lambda *given: (found := go(*given), found and forms.append(found.form))[0])
    gate(engine, **PLACEMENTS[placement]).ask("POST", "/logs/_search", {"query": {"match_all": {}}}, lambda send: hits())
    (form,) = forms
    quiet = 0
    for _, _, body in SEARCHES.values():
        others = (b"query", b"profile"), (b"size", b"explain"), (b"w", b"\\u0077")
        for variant in (body, *(body.replace(*other) for other in others)):
            if form.rewrite.rewritten(variant) is not None and not ASKING.are_in(variant):
                assert not form._asks(variant, 0, form.neutral) and not derived(variant), variant
                quiet += 1
    assert quiet > 5


@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch"])
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_body_that_goes_without_a_word_is_the_one_that_is_sent(
    engine: str, placement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    forms: list[Search] = []
    monkeypatch.setattr(gateways, "straight", lambda *given: (found := go(*given), found and forms.append(found.form))[0])
    it = gate(engine, **PLACEMENTS[placement])
    it.ask("POST", "/logs/_search", {"query": {"match_all": {}}}, lambda send: hits())
    form, went = forms[0], 0
    for _, _, body in SEARCHES.values():
        try:
            alone = form.sent(body)
        except (EsproxyError, orjson.JSONDecodeError):
            continue  # the procedure says it
        if alone is not None and body:
            outcome(it, ("POST", "/logs/_search", body), ANSWERS["hits"])
            assert [(send.target, send.body) for send in it.sends] == [(form.upstream, alone)]
            went += 1
    assert went > 20


# --- what it rests on --------------------------------------------------------------------------------------


def change(it: Gate, **entry: Any) -> None:
    """A poll brings in a directory in which logs is another."""
    new = directory(logs=17, books=18)
    new.indices["logs"] = replace(new.indices["logs"], **entry)
    it.put(names.directory_id("acme"), new)


def renumber(it: Gate, n: int = 19) -> None:
    """logs is deleted and made again."""
    change(it, n=n)
    it.put(names.index_id("acme", n), Index("acme", "logs", n, "shared", "pool~logs", {}, {}, fields={"w": Field(TEXT, "w")}))


def test_index_made_again_gets_its_own_filter() -> None:
    it = gate()
    it.ask("POST", "/logs/_search", QUERY, lambda send: hits())
    renumber(it)
    it.ask("POST", "/logs/_search", QUERY, lambda send: hits())
    assert [b"acme.17:" in send.body for send in it.sends] == [True, False]
    assert [b"acme.19:" in send.body for send in it.sends] == [False, True]


def test_field_that_was_renamed_since_is_asked_for_by_its_new_name() -> None:
    it = gate()
    it.ask("POST", "/logs/_search", QUERY, lambda send: hits())
    it.put(names.index_id("acme", 17), Index("acme", "logs", 17, "shared", "pool~logs", {}, {}, fields={"w": Field(TEXT, "w~2")}))
    it.ask("POST", "/logs/_search", QUERY, lambda send: hits())
    assert b'"w~2"' not in it.sends[0].body and b'"w~2"' in it.sends[1].body


@pytest.mark.parametrize(
    "unsettle",
    [lambda it: change(it, then=GONE), lambda it: change(it, then=CLOSED), lambda it: change(it, state=CLOSED),
     lambda it: it.catalogue.cache.grant(0.0, 0.0, False), lambda it: it.catalogue.cache.docs.clear()],
    ids=["going", "closing", "closed", "no lease", "forgotten"],
)  # fmt: skip
def test_what_memory_does_not_tell_is_the_procedures(unsettle: Callable[[Gate], None]) -> None:
    it = gate()
    it.ask("POST", "/logs/_search", QUERY, lambda send: hits())
    unsettle(it)
    assert isinstance(first_step(it, "/logs/_search", QUERY), Need)


def test_answer_over_a_directory_that_changed_elsewhere_is_given() -> None:
    it = gate()

    def node(send: Send) -> Any:
        known_now = directory(logs=17, books=18, more=20)
        it.put(names.directory_id("acme"), known_now)
        return hits(hit("pool~logs-1", "acme.17:1"))

    status, answer = it.ask("POST", "/logs/_search", QUERY, node)
    assert status == 200 and [one["_id"] for one in answer["hits"]["hits"]] == ["1"]
    assert len(it.sends) == 1


def test_answer_over_an_index_that_was_made_again_is_asked_for_again() -> None:
    it = gate()

    def node(send: Send) -> Any:
        if len(it.sends) == 1:
            renumber(it)
        return hits(hit("pool~logs-1", "acme.17:1" if len(it.sends) == 1 else "acme.19:2"))

    status, answer = it.ask("POST", "/logs/_search", QUERY, node)
    assert status == 200 and [one["_id"] for one in answer["hits"]["hits"]] == ["2"]
    assert [b"acme.17:" in send.body for send in it.sends] == [True, False]


def test_search_of_an_index_that_is_made_again_all_the_time_fails() -> None:
    it = gate()

    def node(send: Send) -> Any:
        assert len(it.sends) < 20, "this does not end"
        renumber(it, 20 + len(it.sends))
        return hits()

    status, answer = it.ask("POST", "/logs/_search", QUERY, node)
    assert status == 503 and "changes all the time" in answer["error"]["reason"]


def test_answer_over_an_index_that_is_gone_is_not_given() -> None:
    it = gate()

    def node(send: Send) -> Any:
        it.put(names.directory_id("acme"), directory(books=18))
        return hits(hit("pool~logs-1", "acme.17:1"))

    status, answer = it.ask("POST", "/logs/_search", QUERY, node)
    assert status == 404 and answer["error"]["type"] == "index_not_found_exception"


def test_answer_without_a_lease_is_given_when_the_catalogue_confirms_it() -> None:
    it = gate()
    exchange, step = it.gateway.open(Head("POST", b"/logs/_search", [(b"x-tenant", b"acme"), *JSON]), orjson.dumps(QUERY), True)
    assert isinstance(step, Send)
    it.catalogue.cache.grant(0.0, 0.0, False)
    step = exchange.open_answer(AnswerHead(200, JSON, None), 1, orjson.dumps(hits(hit("pool~logs-1", "acme.17:1"))), True)
    assert isinstance(step, Need)
    step = exchange.resume(it._run(step, lambda send: None))
    assert isinstance(step, Reply) and len(orjson.loads(step.body)["hits"]["hits"]) == 1


def large(number: int) -> bytes:
    return orjson.dumps(hits(*(hit("pool~logs-1", f"acme.17:{at}", {"w": "x" * 900}) for at in range(number))))


def test_large_answer_streams_and_is_cut_when_its_index_was_made_again() -> None:
    it = gate(limits={"window": 65536})
    body = large(300)
    for changed in (False, True):
        head = Head("POST", b"/logs/_search", [(b"x-tenant", b"acme"), *JSON])
        exchange, step = it.gateway.open(head, orjson.dumps(QUERY), True)
        assert isinstance(step, Send)
        out, at = [exchange.open_answer(AnswerHead(200, JSON, None), 1, body[:10_000], False)], 10_000
        while at < len(body):
            if changed and at > len(body) // 2:
                renumber(it)
            out.append(exchange.feed_answer(body[at : at + 50_000], at + 50_000 >= len(body)))
            at += 50_000
        end = out[-1]
        if isinstance(end, Need):
            end = exchange.resume(it._run(end, lambda send: None))
        assert any(isinstance(step, Write) and step.head is not None for step in out)
        assert isinstance(end, Abort) if changed else (isinstance(end, Write) and end.last)
        assert b"acme.17:" not in b"".join(step.data for step in out if isinstance(step, Write))


def test_id_that_is_too_long_behind_its_scope_is_refused() -> None:
    it = gate()
    number = 10**80
    change(it, n=number)
    it.put(names.index_id("acme", number), Index("acme", "logs", number, "shared", "pool~logs", {}, {}))
    room = 512 - len(f"acme.{number}:")
    for length, status in ((room, 200), (room + 1, 400), (room, 200)):
        found = {"_index": "pool~logs-1", "_id": f"acme.{number}:" + "x" * length, "found": True, "_source": {}}
        assert it.ask("GET", "/logs/_doc/" + "x" * length, b"", lambda send, found=found: found)[0] == status
    assert len(it.sends) == 2


def test_form_is_its_tenants_own() -> None:
    it = gate()
    it.put(names.directory_id("zenith"), Directory("zenith", 9, indices={"logs": Entry(3, "shared", "p", "pool~logs-1", OPEN)}))
    it.put(names.index_id("zenith", 3), Index("zenith", "logs", 3, "shared", "pool~logs", {}, {}, fields={"w": Field(TEXT, "w")}))
    for tenant in ("acme", "zenith", "acme", "zenith"):
        it.ask("POST", "/logs/_search", QUERY, lambda send: hits(), tenant)
    assert [b"acme.17:" in send.body for send in it.sends] == [True, False, True, False]
    assert [b"zenith.3:" in send.body for send in it.sends] == [False, True, False, True]
