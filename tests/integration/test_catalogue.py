"""The catalogue's calls and procedures on real nodes, and the model of the schedules compared with them."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from typing import Any
from uuid import uuid4

import httpx
import orjson
import pytest

from esproxy.catalogue import codec, names, scopes
from esproxy.catalogue.cache import Cache
from esproxy.catalogue.context import Catalogue, Times
from esproxy.catalogue.documents import Claims, Index
from esproxy.catalogue.pools import Plan
from esproxy.catalogue.sight import Sight
from esproxy.catalogue.store import JSON, Store
from esproxy.errors import Refusal
from esproxy.exchange import Answer, Call, Send, Wait
from esproxy.procedures import audit, drop_pool, follow, tend
from esproxy.procedures.alias import change_aliases
from esproxy.procedures.create import create
from esproxy.procedures.delete import delete
from esproxy.procedures.fields import add_fields
from tests.schedules.model import Node

Steps = Generator[Any, Any, Any]


class Real:
    """Runs procedures against a node, one call after another."""

    def __init__(self, url: str) -> None:
        self.http = httpx.Client(base_url=url, timeout=30)
        self.follower: Catalogue | None = None  # polls whenever a procedure waits

    def call(self, send: Send) -> Answer:
        got = self.http.request(send.method, send.target.decode(), content=send.body, headers=send.headers)
        return Answer(got.status_code, [], got.content)

    def run(self, steps: Steps) -> Any:
        answer = None
        while True:
            try:
                step = steps.send(answer)
            except StopIteration as end:
                return end.value
            answer = None
            if isinstance(step, Wait):
                time.sleep(step.seconds)
                if self.follower is not None:
                    follower, self.follower = self.follower, None
                    self.run(follow.poll(follower))
                    self.follower = follower
            else:
                assert isinstance(step, Call)
                answer = self.call(step.send)


class Modelled(Real):
    def __init__(self) -> None:
        self.node = Node()
        self.follower = None

    def call(self, send: Send) -> Answer:
        result = self.node.begin(send)
        return result if isinstance(result, Answer) else result()


@pytest.fixture
def real(node_url: str) -> Iterator[Real]:
    made = Real(node_url)
    yield made
    made.http.close()


@pytest.fixture
def prefix(node_url: str) -> Iterator[str]:
    name = f"cat-{uuid4().hex[:10]}"
    yield name
    with httpx.Client(base_url=node_url, timeout=30) as http:
        for pattern in (f"{name}*", f"pool~{name}*", f"own~{name}*"):
            for row in http.get(f"/_cat/indices/{pattern}?format=json&h=index&expand_wildcards=all").json():
                http.delete(f"/{row['index']}").raise_for_status()


# --- the model and the node ------------------------------------------------------------------------------

PINNED = {"settings": {"index": {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": -1}}}
VALUE = {"value": {"type": "keyword"}}
STRICT = {**PINNED, "mappings": {"dynamic": "strict", "_routing": {"required": True}, "properties": VALUE}}
ROUTED = {"query": {"prefix": {"_routing": "acme.7:"}}}
FOUND = {
    "size": 100,
    "query": {"bool": {"filter": [{"range": {"_seq_no": {"gt": 0}}}]}},
    "seq_no_primary_term": True,
    "sort": [{"_seq_no": "asc"}],
}
NUMBERED = {"seq_no_primary_term": True, "sort": [{"_seq_no": "asc"}]}
NAMES = {"dynamic": False, "properties": {"names": {"type": "keyword"}}}
SEARCH_NAMES = {"size": 10, "query": {"terms": {"names": ["p2", "p3"]}}, **NUMBERED}
FOREIGN = {"size": 10, "query": {"bool": {"must_not": [{"prefix": {"_routing": "acme.7:"}}]}}, "_source": False}

CALLS: list[tuple[str, str, Any]] = [
    ("GET", "/{c}/_doc/d1", None),
    ("PUT", "/{c}/_create/d1?require_alias=true", {"names": []}),
    ("PUT", "/{c}-1", {**PINNED, "mappings": NAMES, "aliases": {"PREFIX": {"is_hidden": False}}}),
    ("PUT", "/{c}-1", PINNED | {"aliases": {"PREFIX": {}}}),
    ("HEAD", "/{c}", None),
    ("HEAD", "/_alias/{c}", None),
    ("HEAD", "/_alias/{c}-gone", None),
    ("GET", "/{c}/_doc/d1", None),
    ("PUT", "/{c}/_create/d1?require_alias=true", {"names": ["p1"]}),
    ("PUT", "/{c}/_create/d1", {"names": ["p1"]}),
    ("GET", "/{c}/_doc/d1", None),
    ("POST", "/{c}/_search", FOUND),
    ("PUT", "/{c}/_doc/d1?if_seq_no=0&if_primary_term=1&require_alias=true", {"names": ["p1", "p2"]}),
    ("PUT", "/{c}/_doc/d1?if_seq_no=0&if_primary_term=1", {"names": ["p3"]}),
    ("PUT", "/{c}/_doc/d2?if_seq_no=0&if_primary_term=1", {"names": ["p3"]}),
    ("PUT", "/{c}/_create/d2", {"names": ["p3"]}),
    ("GET", "/{c}/_stats?level=shards", None),
    ("GET", "/{c},{c}-gone/_stats?level=shards", None),
    ("POST", "/{c}/_search", SEARCH_NAMES),
    ("POST", "/{c}/_refresh", None),
    ("POST", "/{c}/_search", SEARCH_NAMES),
    ("POST", "/{c}/_search", FOUND),
    ("DELETE", "/{c}/_doc/d2?if_seq_no=1&if_primary_term=1", None),
    ("DELETE", "/{c}/_doc/d2?if_seq_no=2&if_primary_term=1", None),
    ("DELETE", "/{c}/_doc/d2?if_seq_no=2&if_primary_term=1", None),
    ("PUT", "/{c}/_create/d2", {"names": []}),
    ("GET", "/{c}/_stats?level=shards", None),
    ("POST", "/{p}/_refresh", None),
    ("PUT", "/{p}", STRICT),
    ("PUT", "/{p}/_doc/acme.7~a?routing=acme.7:", {"value": "a"}),
    ("PUT", "/{p}/_doc/acme.7~b?routing=acme.7:&refresh=true", {"value": "b"}),
    ("PUT", "/{p}/_doc/acme.8~c?routing=acme.8:", {"value": "c"}),
    ("POST", "/{p}/_count", ROUTED),
    ("POST", "/{p}/_search", FOREIGN),
    ("POST", "/{p}/_delete_by_query?conflicts=proceed&refresh=true", ROUTED),
    ("POST", "/{p}/_count", ROUTED),
    ("POST", "/{p}/_search", FOREIGN),
    ("PUT", "/{p}/_mapping", {"properties": {"k": {"type": "keyword", "ignore_above": 5}}}),
    ("PUT", "/{p}/_mapping", {"properties": {"k": {"type": "keyword", "ignore_above": 9}}}),
    ("PUT", "/{p}/_mapping", {"properties": {"k": {"type": "long"}}}),
    ("DELETE", "/{p}", None),
    ("DELETE", "/{p}", None),
    ("POST", "/{p}/_count", ROUTED),
    ("POST", "/{p}/_delete_by_query", ROUTED),
    ("PUT", "/{p}/_doc/acme.7~late?routing=acme.7:", {"value": "late"}),
    ("HEAD", "/{p}", None),
    ("GET", "/_cat/indices/{p}*?format=json&h=index&expand_wildcards=all", None),
]


READ = ("_id", "_seq_no", "_primary_term", "found", "_source", "result", "count", "deleted")


def _essence(answer: Answer) -> Any:
    """What the procedures read of an answer."""
    body = orjson.loads(answer.body) if answer.body else None
    if isinstance(body, list):
        return answer.status, body
    kept: dict[str, Any] = {key: body[key] for key in READ if key in body} if body else {}
    if body and "error" in body:
        kept["error"] = body["error"]["type"]
    if body and "hits" in body:
        kept["hits"] = [{k: h.get(k) for k in ("_id", "_seq_no", "_routing")} for h in body["hits"]["hits"]]
    if body and "indices" in body:
        kept["shards"] = [
            (s["seq_no"]["max_seq_no"], s["seq_no"]["global_checkpoint"], s["routing"]["primary"], s["routing"]["state"])
            for index in body["indices"].values()
            for s in index["shards"]["0"]
        ]
    return answer.status, kept


def test_model_answers_as_the_node(real: Real, prefix: str):
    model = Modelled()
    for method, target, body in CALLS:
        content = orjson.dumps(body).replace(b"PREFIX", prefix.encode()) if body is not None else b""
        send = Send("main", method, target.format(c=prefix, p=f"{prefix}~p").encode(), JSON if content else [], content)
        expected, got = _essence(real.call(send)), _essence(model.call(send))
        if body is FOREIGN:  # does not ask for sequence numbers, and is given none by the node
            for hit in (*got[1]["hits"], *expected[1]["hits"]):
                hit.pop("_seq_no")
        assert got == expected, f"{method} {target}"


# --- the procedures on the node ---------------------------------------------------------------------------


@pytest.fixture
def cat(prefix: str) -> Catalogue:
    store = Store("main", f"{prefix}~catalogue", f"{prefix}~members")
    times = Times(lease=0.6, poll=0.2, look=0.05, grace=0.1)
    clock = time.monotonic
    return Catalogue(store, Cache(clock), clock, lambda: int(time.time()), lambda: uuid4().hex, times, physical=f"pool~{prefix}*")


def test_life_of_a_logical_index(real: Real, prefix: str, cat: Catalogue):
    real.run(follow.join(cat))
    assert cat.cache.alone()
    real.follower = cat
    plan = Plan("shared", {"properties": {"value": {"type": "keyword"}}}, {"index.number_of_replicas": 0})
    first = real.run(create(cat, "acme", prefix, plan))
    with pytest.raises(Refusal, match="already exists"):
        real.run(create(cat, "acme", prefix, plan))
    other = real.run(create(cat, "zenith", prefix, plan))
    assert other.physical == first.physical
    _write(real, "acme", first.n, first.physical, "one")
    _write(real, "zenith", other.n, other.physical, "two")

    real.run(follow.poll(cat))
    sight = Sight(cat, "acme")
    assert sight.believe([prefix]) is not None, "alone, and what one made oneself is in memory"
    sight.use([prefix])
    real.run(change_aliases(cat, "acme", lambda directory: {"current": {prefix: {"is_write_index": True}}}))
    assert real.run(delete(cat, "acme", [prefix])) == [first.n]
    assert not sight.holds() and Sight(cat, "acme").believe([prefix]) is None
    real.run(sight.confirm())
    assert sight.changed

    second = real.run(create(cat, "acme", prefix, plan))
    assert second.n > first.n and second.physical == first.physical
    for directory in real.run(tend.busy(cat)):
        real.run(tend.tend(cat, directory))
    assert real.run(tend.busy(cat)) == []
    assert _values(real, "zenith", other) == ["two"] and _values(real, "acme", second) == []
    assert real.run(cat.store.count_scope(first.physical, names.scope("acme", first.n))) == 0

    _write(real, "acme", first.n, first.physical, "late")  # after the sweep: only an audit finds it
    found = real.run(audit.audit(cat))
    assert not found.foreign and not found.physical
    assert found.scopes == [(first.physical, names.scope("acme", first.n))] and not found.strange

    real.run(delete(cat, "acme", [prefix]))
    real.run(delete(cat, "zenith", [prefix]))
    for directory in real.run(tend.busy(cat)):
        real.run(tend.tend(cat, directory))
    assert real.run(drop_pool.drop_drained(cat, [first.family])) == [first.physical]
    real.run(follow.poll(cat))
    third = real.run(create(cat, "acme", prefix, plan))
    assert third.physical != first.physical
    real.run(follow.leave(cat))


def test_change_elsewhere_is_followed(real: Real, prefix: str, cat: Catalogue):
    store, times = cat.store, cat.times
    other = Catalogue(store, Cache(cat.clock), cat.clock, cat.epoch_seconds, cat.new_id, times)
    real.run(follow.join(cat))
    real.follower = cat
    real.run(create(cat, "acme", prefix, Plan("shared")))
    real.follower = None
    real.run(follow.join(other))
    assert not other.cache.held(), "its first lease"
    time.sleep(times.lease)
    real.run(follow.poll(other))
    real.run(Sight(other, "acme").look())
    assert Sight(other, "acme").believe([prefix]) is not None
    real.run(follow.poll(cat))
    assert not cat.cache.alone()
    start = time.monotonic()
    real.run(delete(cat, "acme", [prefix]))
    assert time.monotonic() - start >= times.lease, "the other did not follow, so a lease was waited for"
    real.run(follow.poll(other))
    assert Sight(other, "acme").believe([prefix]) is None


def test_fields_of_two_tenants_do_not_decide_each_other(real: Real, prefix: str, cat: Catalogue):
    real.run(follow.join(cat))
    real.follower = cat
    acme = real.run(create(cat, "acme", prefix, Plan("shared")))
    zenith = real.run(create(cat, "zenith", prefix, Plan("shared")))
    short = {"type": "keyword", "ignore_above": 5}
    wanted = {"k": short, "o.x": {"type": "long"}, "s~2": {"type": "text"}}
    a = real.run(add_fields(cat, "acme", prefix, acme.n, acme.physical, wanted))
    z = real.run(add_fields(cat, "zenith", prefix, zenith.n, zenith.physical, {"k": {"type": "keyword"}, "o": {"type": "text"}}))
    assert {path: f.physical for path, f in a.items()} == {"k": "k", "o": "o", "o.x": "o.x", "s~2": "s~2~1"}
    assert {path: f.physical for path, f in z.items()} == {"k": "k~2", "o": "o~2"}
    mapping = orjson.loads(real.call(Send("main", "GET", names.path(acme.physical, "_mapping"), [])).body)
    properties = mapping[acme.physical]["mappings"]["properties"]
    assert properties["k"] == short and properties["k~2"] == {"type": "keyword"}
    assert properties["o"]["properties"]["x"] == {"type": "long"}
    claims = real.run(cat.store.get(Claims, names.claims_id(acme.physical)))
    assert {"k", "k~2", "o", "o.x", "o~2", "s~2~1"} == set(claims.doc.fields)
    index = real.run(cat.store.get(Index, names.index_id("zenith", zenith.n)))
    assert codec.decode(Index, orjson.loads(codec.encode(index.doc))) == index.doc


def test_per_tenant_objects_keep_their_own_dynamic(real: Real, prefix: str, cat: Catalogue):
    real.run(follow.join(cat))
    real.follower = cat
    strict = Plan("per-tenant", {"dynamic": "strict", "properties": {"a": {"type": "long"}}})
    one = real.run(create(cat, prefix, "logs", strict))
    two = real.run(create(cat, prefix, "web", Plan("per-tenant")))
    assert one.physical == two.physical and one.n != two.n
    statuses = []
    for entry, doc in ((one, {"a": 1}), (one, {"b": 1}), (two, {"a": "text"}), (two, {"b": {"c": 1}})):
        at = names.scope(prefix, entry.n) + scopes.END
        target = names.path(entry.physical, "_doc") + f"?routing={at}".encode()
        statuses.append(real.call(Send("main", "POST", target, JSON, orjson.dumps({names.object_name(entry.n): doc}))).status)
    assert statuses == [201, 400, 201, 201]
    target = names.path(one.physical, "_doc") + b"?routing=x"
    assert real.call(Send("main", "POST", target, JSON, b'{"n1": {"a": 1}}')).status == 400, "no object, no document"


def test_index_that_the_node_refuses_leaves_nothing(real: Real, prefix: str, cat: Catalogue):
    real.run(follow.join(cat))
    real.follower = cat
    with pytest.raises(Refusal):
        real.run(create(cat, "acme", prefix, Plan("shared", {"properties": {"k": {"type": "nope"}}})))
    assert real.run(tend.busy(cat)) == []
    assert real.run(create(cat, "acme", prefix, Plan("shared"))).state == "open"


def _write(real: Real, tenant: str, number: int, physical: str, value: str) -> None:
    at = names.scope(tenant, number) + scopes.END
    target = names.path(physical, "_doc", f"{at}~{value}") + f"?routing={at}".encode()
    assert real.call(Send("main", "PUT", target, JSON, orjson.dumps({"value": value}))).status == 201


def _values(real: Real, tenant: str, entry: Any) -> list[str]:
    real.run(_refresh(entry.physical))
    body = orjson.dumps({"query": scopes.query([names.scope(tenant, entry.n)])})
    found = orjson.loads(real.call(Send("main", "POST", names.path(entry.physical, "_search"), JSON, body)).body)
    return sorted(hit["_source"]["value"] for hit in found["hits"]["hits"])


def _refresh(physical: str) -> Steps:
    yield Call(Send("main", "POST", names.path(physical, "_refresh"), []))
