"""Shrink, split and clone in pools: what is refused, what becomes of settings, and how documents are copied."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

import orjson
import pytest

from esproxy.catalogue import names
from esproxy.catalogue.documents import FILLING, OPEN, Alias, Entry, Index
from esproxy.cluster import Cluster
from esproxy.errors import Failed, Refusal, UpstreamFailed, Violation
from esproxy.exchange import Answer, Call, Send
from esproxy.heads import Head
from esproxy.pools.copying import copy_documents
from esproxy.pools.pooled import Pooled
from esproxy.pools.resize import Asked
from esproxy.procedures.fill import Filling
from esproxy.tenancy.target import Target
from tests.unit.pools.pool_gate import Gate, gate, hit, hits

NODE = "n" * 22


def source(blocks: tuple[str, ...] = ("write",), **settings: Any) -> Target:
    own = {f"index.{name}": value for name, value in settings.items()}
    entry = Entry(17, "shared", "pool~logs", "pool~logs-1", OPEN, blocks=blocks)
    return Target("acme", "logs", entry, Index("acme", "logs", 17, "shared", "pool~logs", {}, own))


def asked(kind: str, product: bool = False, **settings: Any) -> Asked:
    return Asked(kind, "new", {f"index.{name}": value for name, value in settings.items()}, product, NODE)


@pytest.mark.parametrize(
    ("kind", "there", "wanted", "told"),
    [
        ("shrink", 4, 8, r"target shards \[8\] must be less that the number of source shards \[4\]"),
        ("shrink", 4, 3, r"source shards \[4\] must be a multiple of \[3\]"),
        ("split", 4, 2, r"source shards \[4\] must be less that the number of target shards \[2\]"),
        ("split", 4, 6, r"source shards \[4\] must be a factor of \[6\]"),
        ("split", 4, 12, r"routing shards \[1024\] must be a multiple of the target shards \[12\]"),
        ("clone", 4, 2, r"target shards \(2\) must be the same as the number of source shards \(4\)"),
    ],
)
def test_number_of_shards_that_cannot_be_is_refused(kind: str, there: int, wanted: int, told: str) -> None:
    with pytest.raises(Refusal, match=told):
        asked(kind, number_of_shards=wanted).shards(source(number_of_shards=there), 0, None)


@pytest.mark.parametrize(
    ("kind", "there", "given", "size", "most", "shards"),
    [
        ("clone", 4, {}, 0, None, 4),
        ("shrink", 4, {}, 0, None, 1),
        ("shrink", 6, {"number_of_shards": 3}, 0, None, 3),
        ("shrink", 6, {}, 10, 4, 3),
        ("shrink", 6, {}, 100, 25, 6),
        ("shrink", 6, {}, 1000, 1, 6),
        ("split", 1, {"number_of_shards": 5}, 0, None, 5),
        ("split", 2, {"number_of_shards": "8"}, 0, None, 8),
    ],
)
def test_number_of_shards_follows_from_what_is_asked(
    kind: str, there: int, given: dict[str, Any], size: int, most: int | None, shards: int
) -> None:
    assert asked(kind, **given).shards(source(number_of_shards=there), size, most) == shards


@pytest.mark.parametrize(
    ("kind", "given", "told"),
    [
        ("clone", {"number_of_routing_shards": 4}, "cannot provide index.number_of_routing_shards"),
        ("clone", {"soft_deletes.enabled": False}, "Can't disable"),
    ],
)
def test_setting_that_a_resize_cannot_change_is_refused(kind: str, given: dict[str, Any], told: str) -> None:
    with pytest.raises(Refusal, match=told):
        asked(kind, **given).shards(source(), 0, None)


def test_source_must_take_no_writes() -> None:
    for block in ("write", "read_only", "read_only_allow_delete"):
        asked("clone").check(source((block,)))
    for blocks in ((), ("read",), ("metadata",)):
        with pytest.raises(Refusal, match="must block write operations") as found:
            asked("clone").check(source(blocks))
        assert found.value.status == 500 and found.value.type == "illegal_state_exception"
    with pytest.raises(Refusal, match="must be read-only to resize"):
        asked("clone", product=True).check(source(()))


def test_read_only_is_not_copied_unseen_on_opensearch() -> None:
    with pytest.raises(Refusal, match="will be blocked by"):
        asked("clone").shards(source(("read_only",)), 0, None)
    assert asked("clone", **{"blocks.read_only": None}).shards(source(("read_only",)), 0, None) == 1
    assert asked("clone", product=True).shards(source(("read_only",)), 0, None) == 1


def test_settings_are_the_sources_and_what_is_asked_for() -> None:
    there = source(
        number_of_shards=2, number_of_replicas=0, provided_name="<logs>", refresh_interval="7s", priority=None, codec="x"
    )
    made = asked("shrink", codec=None, **{"merge.policy.type": "t"}).settings(there, 1)
    assert made == {
        "index.refresh_interval": "7s", "index.codec": None, "index.merge.policy.type": "t", "index.number_of_shards": "1",
        "index.routing_partition_size": "1", "index.resize.source.name": "logs", "index.resize.source.uuid": there.uuid,
        "index.routing.allocation.initial_recovery._id": NODE,
    }  # fmt: skip
    again = replace(there.index, settings=made)
    once_more = asked("split").settings(Target("acme", "new", there.entry, again), 2)
    assert "index.routing.allocation.initial_recovery._id" not in once_more and once_more["index.number_of_shards"] == "2"


def test_target_keeps_the_routing_shards_of_its_source() -> None:
    assert asked("shrink").settings(source(number_of_shards=6), 2)["index.number_of_routing_shards"] == "768"
    assert "index.number_of_routing_shards" not in asked("shrink").settings(source(number_of_shards=4), 2)


# --- documents -------------------------------------------------------------------------------------------


def copied(made: Gate, target: Target, into: Target, node: Any) -> list[Send]:
    """What was sent to copy the documents of one into the other."""
    exchange = made.gateway.begun(Head("PUT", b"/logs/_clone/new", [(b"x-tenant", b"acme")]))
    exchange.feed(b"", True)
    assert exchange.plan is not None and made.gateway.pools is not None
    filling = Filling(made.catalogue, into.index)
    filling.entry, filling.told = into.entry, made.catalogue.clock()
    steps = copy_documents(Pooled(made.gateway.pools, exchange.plan, b"", None), target, into, filling)
    sent: list[Send] = []
    answer: Any = None
    while True:
        try:
            call = steps.throw(answer) if isinstance(answer, Exception) else steps.send(answer)
        except StopIteration:
            return sent
        assert isinstance(call, Call)
        if b"_refresh" in call.send.target:
            answer = Answer(200, [], b'{"_shards":{"failed":0}}')
            continue
        sent.append(call.send)
        told = node(call.send)
        answer = told if isinstance(told, Exception) else Answer(200, [], told if isinstance(told, bytes) else orjson.dumps(told))


def new_index(layout: str = "shared") -> Target:
    family = "one~acme-18"
    entry = Entry(18, layout, family, f"{family}-1", FILLING)
    return Target("acme", "new", entry, Index("acme", "new", 18, layout, family, {}, {}))


def page(*ids: str, **more: Any) -> dict[str, Any]:
    found = [hit("pool~logs-1", f"acme.17:{id}", {"n": at}, _version=at + 3, sort=[at]) for at, id in enumerate(ids)]
    return hits(*found, **more)


def test_documents_are_written_anew_with_their_versions() -> None:
    raw = (
        orjson.dumps(page("a", "b"))
        .replace(b'{"n":1}', b'{ "n":1.50}')
        .replace(b'"_routing":"acme.17:"', b'"_routing":"acme.17:r"', 1)
    )

    def node(send: Send) -> Any:
        return raw if b"_search" in send.target else {"errors": False}

    search, bulk = copied(gate(fields={}), source(), new_index(), node)
    asked_for = orjson.loads(search.body)
    assert {"prefix": {"_routing": "acme.17:"}} in asked_for["query"]["bool"]["filter"] and asked_for["sort"] == [
        {"_seq_no": "asc"}
    ]
    assert bulk.target.startswith(b"/one~acme-18-1/_bulk?") and b"pipeline=_none" in bulk.target
    first, source_of_first, second, source_of_second = bulk.body.splitlines()
    assert orjson.loads(first)["index"] == {
        "_id": "acme.18:a",
        "routing": "acme.18:r",
        "version": 3,
        "version_type": "external_gte",
    }
    assert orjson.loads(second)["index"] == {
        "_id": "acme.18:b",
        "routing": "acme.18:",
        "version": 4,
        "version_type": "external_gte",
    }
    assert source_of_first == b'{"n":0}' and source_of_second == b'{ "n":1.50}'


def test_documents_get_the_object_of_their_index() -> None:
    def node(send: Send) -> Any:
        if b"_search" not in send.target:
            return {"errors": False}
        one = {**hit("pool~logs-1", "acme.17:a", {"n17": {"k": 1}}), "_version": 1, "sort": [0]}
        return hits(one)

    made = gate(layout="per-tenant", fields={})
    entry = Entry(17, "per-tenant", "own~acme", "pool~logs-1", OPEN, blocks=("write",))
    from_index = Target("acme", "logs", entry, Index("acme", "logs", 17, "per-tenant", "own~acme", {}, {}))
    _, bulk = copied(made, from_index, new_index("per-tenant"), node)
    assert bulk.body.splitlines()[1] == b'{"n18":{"k":1}}'


def test_pages_follow_one_another() -> None:
    ids = [f"d{n}" for n in range(250)]

    def node(send: Send) -> Any:
        if b"_search" not in send.target:
            return {"errors": False}
        body = orjson.loads(send.body)
        after = body["query"]["bool"]["filter"][1]["range"]["_seq_no"]["gt"]
        part = [{**one, "sort": [at]} for at, one in enumerate(page(*ids)["hits"]["hits"]) if at > after]
        return hits(*part[: body["size"]])

    sent = copied(gate(fields={}), source(), new_index(), node)
    written = [line for send in sent if b"_bulk" in send.target for line in send.body.splitlines()[::2]]
    assert [orjson.loads(line)["index"]["_id"] for line in written] == [f"acme.18:{id}" for id in ids]
    assert [orjson.loads(send.body)["size"] for send in sent if b"_search" in send.target][:2] == [100, 1000]


def test_page_that_is_too_large_is_asked_for_in_parts() -> None:
    def node(send: Send) -> Any:
        if b"_search" not in send.target:
            return {"errors": False}
        if orjson.loads(send.body)["size"] > 10:
            return UpstreamFailed("overflow")
        return page("a")

    sent = copied(gate(fields={}), source(), new_index(), node)
    assert [orjson.loads(send.body)["size"] for send in sent if b"_search" in send.target] == [100, 10]


def test_every_shard_is_read() -> None:
    def node(send: Send) -> Any:
        return page() if b"_search" in send.target else {"errors": False}

    sent = copied(gate(fields={}), source(number_of_shards=3), new_index(), node)
    places = [dict(parse_qsl(send.target.decode().partition("?")[2]))["preference"] for send in sent]
    assert places == ["_shards:0", "_shards:1", "_shards:2"]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (page(timed_out=True), Failed),
        (page("a", _shards={"total": 1, "successful": 0, "skipped": 0, "failed": 1}), Failed),
        (hits({**hit("pool~logs-1", "zenith.17:a", {}), "_version": 1, "sort": [0]}), Violation),
        (hits({**hit("pool~other-1", "acme.17:a", {}), "_version": 1, "sort": [0]}), Violation),
        (hits({**hit("pool~logs-1", "acme.17:a", {}), "_routing": "zenith.17:", "_version": 1, "sort": [0]}), Violation),
    ],
)
def test_page_that_is_not_the_sources_own_is_not_copied(answer: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        copied(gate(fields={}), source(), new_index(), lambda send: answer)


def test_document_that_cannot_be_written_ends_the_copy() -> None:
    def node(send: Send) -> Any:
        return page("a") if b"_search" in send.target else {"errors": True, "items": [{"index": {"error": {}}}]}

    with pytest.raises(Failed, match="could not be copied"):
        copied(gate(fields={}), source(), new_index(), node)


# --- requests --------------------------------------------------------------------------------------------


def test_source_that_is_not_there_goes_to_the_node() -> None:
    made = gate("opensearch", fields={})
    status, told = made.ask(
        "PUT", "/nope/_clone/new", node=lambda send: (404, {"error": {"type": "t", "reason": "no"}, "status": 404})
    )
    assert status == 404 and made.sent.target.startswith(b"/acme.nope/_clone/acme.new"), told


def test_node_judges_the_body_first() -> None:
    made = gate("opensearch", fields={})
    said = {"error": {"root_cause": [], "type": "t", "reason": "target index [acme.new] will be blocked"}, "status": 400}
    status, told = made.ask(
        "PUT", "/logs/_clone/new", {"settings": {"index.blocks.read_only": True}}, node=lambda send: (400, said)
    )
    assert status == 400 and told["error"]["reason"] == "target index [new] will be blocked"
    assert made.sent.target.startswith(b"/esproxy~none~/_clone/acme.new")


def test_index_that_does_not_keep_its_documents_is_refused() -> None:
    made = gate("opensearch", fields={}, mapping={"_source": {"enabled": False}})
    directory = made.catalogue.cache.get(names.directory_id("acme")).doc
    directory.indices["logs"] = replace(directory.indices["logs"], blocks=("write",))
    status, told = made.ask(
        "PUT", "/logs/_clone/new", node=lambda send: (404, {"error": {"type": "t", "reason": "x"}, "status": 404})
    )
    assert status == 400 and "_source" in told["error"]["reason"]
    assert all(b"_bulk" not in send.target for send in made.sends)


def test_taken_name_is_refused() -> None:
    made = gate("opensearch", fields={})
    status, told = made.ask(
        "PUT", "/logs/_clone/books", node=lambda send: (404, {"error": {"type": "t", "reason": "x"}, "status": 404})
    )
    assert status == 400 and told["error"]["type"] == "resource_already_exists_exception"


@pytest.mark.parametrize(("version", "status"), [("2.19.1", 404), ("3.8.0", 500)])
def test_alias_as_source_is_an_index_that_is_not_there_before_opensearch_3(version: str, status: int) -> None:
    made = gate("opensearch", fields={}, aliases={"named": Alias({"logs": {}})})
    made.gateway.clusters["main"] = Cluster("main", "opensearch", {"version": {"number": version, "distribution": "opensearch"}})
    told = made.ask("PUT", "/named/_clone/new", node=lambda send: (500, {"error": {"type": "t", "reason": "x"}, "status": 500}))
    assert told[0] == status
    if status == 404:
        assert told[1]["error"]["index"] == "named" and "resource.id" not in told[1]["error"] and not made.sends
