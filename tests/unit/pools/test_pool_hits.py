"""Hits that the core answers by itself: what comes out, and what is withheld, is what comes out of Python."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from esproxy import core
from esproxy.catalogue.documents import OPEN, Entry, Index
from esproxy.errors import EsproxyError
from esproxy.exact import dumps
from esproxy.rewriting.restore import PoolAnswer, PoolWalk
from esproxy.tenancy.dedicated import DedicatedTarget
from esproxy.tenancy.target import Target, answer_bindings
from tests.unit.pools.pool_gate import gate, hits


class InPython(PoolAnswer):
    """The same, with nothing left to the core."""

    def _tell_core(self) -> None:
        self.token = self.front = self.bare = b""


def target(name: str, n: int, layout: str, physical: str, **settings: Any) -> Target:
    joined = {"properties": {"j": {"type": "join", "relations": {"a": "b"}}}} if name == "joined" else {}
    index = Index("acme", name, n, layout, "pool", joined, settings, reason="join" if joined else None)
    return Target("acme", name, Entry(n, layout, "pool", physical, OPEN), index)


TARGETS = {
    "shared": target("books", 1, "shared", "pool~books-1"),
    "sharded": target("logs", 2, "shared", "pool~logs-1", **{"index.number_of_shards": 3}),
    "joined": target("joined", 3, "shared", "pool~joined-1"),
    "nested": target("mine", 4, "per-tenant", "pool~mine-1"),
    "one": target("one", 5, "per-tenant", "pool~both-1"),
    "two": target("two", 6, "per-tenant", "pool~both-1"),
    "own": DedicatedTarget("acme", "own", Entry(0, "dedicated", "", physical="acme.own")),
}
PLAN = SimpleNamespace(
    fields={},
    scripts={},
    stored={},
    owner=lambda: SimpleNamespace(id="acme", names=SimpleNamespace(prefix="acme.")),
    typed=True,
    cluster=gate().gateway.clusters["main"],
)
INDICES = st.sampled_from(
    ["pool~books-1", "pool~logs-1", "pool~joined-1", "pool~mine-1", "pool~both-1", "acme.own", "zenith.own"]
)
SCOPES = ["acme.1:", "acme.2:", "acme.3:", "acme.4:", "acme.5:", "acme.6:"]
IDS = st.builds(
    str.__add__, st.sampled_from([*SCOPES, "", "zenith.1:", "acme.1", "acme.10:"]), st.sampled_from(["", "7", "é", '"', "a:b"])
)
ROUTINGS = st.builds(str.__add__, st.sampled_from([*SCOPES, "zenith.1:"]), st.sampled_from(["", "here", ":2", "here:1"]))
OWN = st.sampled_from(
    [b"{}", b'{"a":1}', b'{"a~2":1}', b'{"a":"x\\ny"}', b'{ "a" : {"b":[1]} }', b'{\n"a":1\n}', b'{"j":"b"}', b"null"]
)
NESTS = st.sampled_from([b"%b", b'{"n4":%b}', b'{"n5":%b}', b'{"n4":%b,"_doc_count":2}', b'{ "n4" : %b }'])
SOURCES = st.builds(lambda nest, own: nest % own, NESTS, OWN)
RAW = st.sampled_from([b"null", b"5"])


def _member(name: bytes, values: st.SearchStrategy[Any]) -> st.SearchStrategy[bytes]:
    return st.one_of(values.map(orjson.dumps), RAW).map(lambda raw: b'"%b":%b' % (name, raw))


def of(key: str) -> st.SearchStrategy[bytes]:
    """A hit as the node would send it for this target."""
    own, n = TARGETS[key], TARGETS[key].entry.n
    nest = b'{"n%d":%%b}' % n if own.entry.layout == "per-tenant" else b"%b"
    end = ":1" if key == "sharded" else ""

    def made(id: str, source: bytes, routing: str | None) -> bytes:
        scope = "" if key == "own" else f"acme.{n}:"
        shown = b"" if routing is None else b',"_routing":' + orjson.dumps(scope + routing + end)
        named = orjson.dumps(own.physical), orjson.dumps(scope + id)
        return b'{"_index":%b,"_id":%b%b,"_source":%b}' % (*named, shown, nest % source)

    return st.builds(
        made, st.text(min_size=1, max_size=3), OWN.filter(lambda raw: raw != b"null"), st.none() | st.sampled_from(["", "here"])
    )


MEMBERS = st.lists(
    st.one_of(
        _member(b"_index", INDICES),
        _member(b"_id", IDS),
        _member(b"_routing", ROUTINGS),
        SOURCES.map(lambda s: b'"_source":' + s),
    ),
    unique_by=lambda member: member[:6],
    max_size=4,
)
ANY = MEMBERS.map(lambda members: b"{" + b",".join(members) + b"}")
GOOD = st.lists(st.one_of([of(key) for key in TARGETS]), max_size=6)


def answered(reader: type[PoolAnswer], body: bytes, cut: int) -> bytes | str:
    plan: Any = PLAN
    walk = PoolWalk(plan, plan.cluster.engine.tables.endpoints["search"].response, reader(plan, TARGETS.values(), {}))
    try:
        return walk.feed(body[:cut], False) + walk.feed(body[cut:], True)
    except EsproxyError as error:
        return f"{type(error).__name__} {error}"


def body_of(found: list[bytes]) -> bytes:
    around = dumps(hits())
    return around.replace(b'"hits":[]', b'"hits":[' + b",".join(found) + b"]")


@given(found=st.lists(st.one_of(ANY, *[of(key) for key in TARGETS]), max_size=5), cut=st.integers(0, 400))
def test_what_the_core_answers_is_what_python_answers(found: list[bytes], cut: int) -> None:
    body = body_of(found)
    assert answered(PoolAnswer, body, cut) == answered(InPython, body, len(body))


@given(found=GOOD, cut=st.integers(0, 400))
def test_hits_of_known_indices_lose_their_scopes(found: list[bytes], cut: int) -> None:
    out = answered(PoolAnswer, body_of(found), cut)
    assert isinstance(out, bytes) and b"pool~" not in out and b"acme." not in out
    assert len(orjson.loads(out)["hits"]["hits"]) == len(found)


def read_alone(key: str, body: bytes) -> bytes | str:
    """As ``Form.restore`` reads it. Of what it does not give there is no word, where it is not Python's."""
    plan, own = PLAN, TARGETS[key]
    view = PoolAnswer(plan, [own], {})  # type: ignore[arg-type]
    view.expect()
    state, bindings = plan.cluster.engine.tables.endpoints["search"].response, answer_bindings([own], keep_tags=True)
    alone = core.Alone(plan.cluster.engine.grammar, state, bindings, max_depth=1000, hits=view, reader=view.reads_on)
    try:
        out = alone.rewritten(body)
    except (EsproxyError, ValueError):
        out = None
    return "nothing" if out is None else out


def read_by_one(key: str, body: bytes) -> bytes | str:
    plan: Any = PLAN
    plan.typed = False
    try:
        walk = PoolWalk(plan, plan.cluster.engine.tables.endpoints["search"].response, PoolAnswer(plan, [TARGETS[key]], {}))
        return walk.feed(body, True)
    except EsproxyError:
        return "nothing"
    finally:
        plan.typed = True


ONE = ["shared", "sharded", "joined", "nested"]


@given(key=st.sampled_from(ONE), data=st.data())
def test_pass_that_has_no_words_gives_what_the_other_gives(key: str, data: st.DataObject) -> None:
    body = body_of(data.draw(st.lists(st.one_of(ANY, of(key), of(key), of(key)), max_size=5)))
    assert read_alone(key, body) == read_by_one(key, body)


@given(key=st.sampled_from(ONE), data=st.data())
def test_hits_of_one_index_need_no_words(key: str, data: st.DataObject) -> None:
    found = data.draw(st.lists(of(key), max_size=5))
    out = read_alone(key, body_of(found))
    assert isinstance(out, bytes) and len(orjson.loads(out)["hits"]["hits"]) == len(found)


@pytest.mark.parametrize("key", ["shared", "nested"])
def test_common_hits_are_not_pythons(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    call = PoolAnswer.__call__
    monkeypatch.setattr(PoolAnswer, "__call__", lambda self, kind, raw: asked.append(kind.name) or call(self, kind, raw))
    n = TARGETS[key].entry.n
    source = b'{"n4":{"a":1}}' if key == "nested" else b'{"a":1}'
    named = TARGETS[key].physical.encode(), n, n, source
    found = [b'{"_index":"%b","_id":"acme.%d:1","_routing":"acme.%d:","_source":%b}' % named] * 50
    out = answered(PoolAnswer, body_of(found), 0)
    assert (
        isinstance(out, bytes)
        and orjson.loads(out)["hits"]["hits"] == [{"_index": TARGETS[key].name, "_id": "1", "_source": {"a": 1}}] * 50
    )
    assert asked == ["INDEX"]  # the first


BAD = {
    "document without an id": b'{"_index":%(index)b,"_source":%(source)b}',
    "document before its id": b'{"_index":%(index)b,"_source":%(source)b,"_id":%(id)b}',
    "routing without an id": b'{"_index":%(index)b,"_score":1,"_routing":%(routing)b}',
    "routing before its id": b'{"_index":%(index)b,"_routing":%(routing)b,"_id":%(id)b}',
    "id of another": b'{"_index":%(index)b,"_id":"acme.9:1","_source":%(source)b}',
    "id of another, then its own": b'{"_index":%(index)b,"_id":"acme.9:1","_id2":%(id)b,"_source":%(source)b}',
    "id without a scope": b'{"_index":%(index)b,"_id":"1","_source":%(source)b}',
    "routing of another": b'{"_index":%(index)b,"_id":%(id)b,"_routing":"acme.9:","_source":%(source)b}',
    "index of another": b'{"_index":"zenith.own","_id":%(id)b,"_source":%(source)b}',
    "id without an index": b'{"_index":"acme.own","_id":"1","_source":{}},{"_index":%(index)b,"_source":%(source)b}',
}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("key", ["shared", "joined", "nested", "one"])
@pytest.mark.parametrize("reader", [PoolAnswer, InPython])
def test_hit_that_is_not_verified_is_withheld_behind_good_ones(reader: type[PoolAnswer], key: str, bad: str) -> None:
    n, physical = TARGETS[key].entry.n, TARGETS[key].physical
    source = b'{"n%d":{"a":1}}' % n if TARGETS[key].entry.layout == "per-tenant" else b'{"a":1}'
    parts = {b"index": orjson.dumps(physical), b"id": b'"acme.%d:1"' % n, b"routing": b'"acme.%d:"' % n, b"source": source}
    good = b'{"_index":%(index)b,"_id":%(id)b,"_routing":%(routing)b,"_source":%(source)b}' % parts
    assert isinstance(answered(reader, body_of([good] * 3), 0), bytes)
    withheld = answered(reader, body_of([good, good, BAD[bad] % parts]), 0)
    assert isinstance(withheld, str) and withheld.startswith("Violation")
