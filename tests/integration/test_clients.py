"""The official clients as users: through the proxy they do what they do against the node, helpers included."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator, Iterator
from typing import Any

import elasticsearch
import opensearchpy
import pytest
from elasticsearch import helpers as es_helpers
from opensearchpy import helpers as os_helpers

from tests.integration.proxy import SharedCluster
from tests.oracle.neighbours import TENANT

Mapped = dict[str, Any]
MAPPINGS: Mapped = {"properties": {"k": {"type": "keyword"}, "n": {"type": "long"}, "t": {"type": "text"}}}


class Kit:
    """One family's client, its helpers and its errors."""

    def __init__(self, kind: str, url: str) -> None:
        self.kind = kind
        headers = {"x-tenant": TENANT}
        self.helpers: Any = es_helpers if kind == "es" else os_helpers
        self.module: Any = elasticsearch if kind == "es" else opensearchpy
        if kind == "es":
            self.client: Any = elasticsearch.Elasticsearch(url, headers=headers, request_timeout=30)
            self.asynchronous = lambda: elasticsearch.AsyncElasticsearch(url, headers=headers, request_timeout=30)
        else:
            self.client = opensearchpy.OpenSearch(url, headers=headers, timeout=30)
            self.asynchronous = lambda: opensearchpy.AsyncOpenSearch(url, headers=headers, timeout=30)

    def body(self, **parts: Any) -> Mapped:
        """The two clients take a body differently."""
        return parts if self.kind == "es" else {"body": parts}


@pytest.fixture
def kit(cluster: SharedCluster) -> Iterator[Kit]:
    kit = Kit(cluster.direct.engine.kind, cluster.served.url)
    yield kit
    kit.client.indices.delete(index="*", expand_wildcards="all")
    kit.client.close()


def test_client_takes_the_proxy_for_a_node(kit: Kit, cluster: SharedCluster) -> None:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        info = kit.client.info()
    assert info["version"]["number"] == ".".join(map(str, cluster.direct.engine.version))
    assert not [one for one in heard if "product" in str(one.message).lower()]
    assert kit.client.ping() is True


def test_client_lives_a_documents_life(kit: Kit) -> None:
    client = kit.client
    assert not client.indices.exists(index="books")
    client.indices.create(index="books", **kit.body(mappings=MAPPINGS, aliases={"shelf": {}}))
    assert client.indices.exists(index="books")
    document = {"k": "red", "n": 1, "t": "quick fox"}
    created = client.index(
        index="books", id="1", refresh=True, **({"document": document} if kit.kind == "es" else {"body": document})
    )
    assert (created["_index"], created["result"]) == ("books", "created")
    assert client.get(index="shelf", id="1")["_index"] == "books"
    assert client.exists(index="books", id="1")
    assert client.get_source(index="books", id="1")["n"] == 1
    updated = client.update(index="books", id="1", **kit.body(doc={"n": 2}))
    assert updated["_version"] == 2
    assert client.count(index="books")["count"] == 1
    found = client.search(index="*", **kit.body(query={"term": {"_index": "books"}}, aggs={"i": {"terms": {"field": "_index"}}}))
    assert [hit["_index"] for hit in found["hits"]["hits"]] == ["books"]
    assert [bucket["key"] for bucket in found["aggregations"]["i"]["buckets"]] == ["books"]
    assert client.mget(index="books", **kit.body(ids=["1", "9"]))["docs"][0]["found"]
    assert list(client.indices.get_mapping(index="books")) == ["books"]
    assert list(client.indices.get(index="b*")) == ["books"]
    assert client.cat.indices(format="json")[0]["index"] == "books"
    assert str(client.cat.indices(h="index")).split() == ["books"]
    assert client.cluster.health(index="books")["status"] in ("green", "yellow")
    assert client.delete(index="books", id="1")["result"] == "deleted"
    assert client.indices.delete(index="books")["acknowledged"]


def test_client_raises_its_own_errors(kit: Kit) -> None:
    client, module = kit.client, kit.module
    with pytest.raises(module.NotFoundError) as missing:
        client.get(index="nope", id="1")
    assert "acme" not in str(missing.value)
    with pytest.raises(module.NotFoundError):
        client.search(index="nope")
    with pytest.raises(module.BadRequestError if kit.kind == "es" else module.RequestError) as bad:
        client.search(index="*", **kit.body(query={"nope": {}}))
    assert "nope" in str(bad.value)
    client.index(index="books", id="1", **({"document": {}} if kit.kind == "es" else {"body": {}}))
    with pytest.raises(module.ConflictError):
        client.create(index="books", id="1", **({"document": {}} if kit.kind == "es" else {"body": {}}))


def test_bulk_helpers_load_and_report(kit: Kit) -> None:
    actions = [{"_index": f"logs-{n % 3}", "_id": str(n), "n": n} for n in range(500)]
    done, errors = kit.helpers.bulk(kit.client, actions, chunk_size=100, refresh=True)
    assert (done, errors) == (500, [])
    assert kit.client.count(index="logs-*")["count"] == 500
    mixed = [
        {"_op_type": "index", "_index": "logs-0", "_id": "x", "n": 1},
        {"_op_type": "index", "_index": "logs-0", "_id": "y", "n": "text"},
        {"_op_type": "delete", "_index": "logs-0", "_id": "0"},
        {"_op_type": "update", "_index": "logs-1", "_id": "1", "doc": {"m": 1}},
        {"_op_type": "create", "_index": "logs-1", "_id": "1", "n": 1},
    ]
    results = list(kit.helpers.streaming_bulk(kit.client, mixed, raise_on_error=False, chunk_size=2))
    assert [ok for ok, _ in results] == [True, False, True, True, False]
    assert {item["_index"] for _, result in results for item in result.values()} == {"logs-0", "logs-1"}
    with pytest.raises(kit.helpers.BulkIndexError):
        kit.helpers.bulk(kit.client, mixed[1:2])


def test_compressed_requests_are_understood(cluster: SharedCluster) -> None:
    headers = {"x-tenant": TENANT}
    kind = cluster.direct.engine.kind
    client: Any
    if kind == "es":
        client = elasticsearch.Elasticsearch(cluster.served.url, headers=headers, http_compress=True)
    else:
        client = opensearchpy.OpenSearch(cluster.served.url, headers=headers, http_compress=True)
    kit = es_helpers if kind == "es" else os_helpers
    try:
        assert (
            kit.bulk(client, [{"_index": "zipped", "_id": str(n), "t": "x" * 1000} for n in range(100)], refresh=True)[0] == 100
        )
        assert client.count(index="zipped")["count"] == 100
    finally:
        client.indices.delete(index="zipped", ignore_unavailable=True)
        client.close()


@pytest.fixture
async def asynchronous(kit: Kit) -> AsyncIterator[Any]:
    client = kit.asynchronous()
    yield client
    await client.close()


@pytest.mark.asyncio
async def test_asynchronous_client_does_the_same(kit: Kit, asynchronous: Any) -> None:
    client = asynchronous
    await client.indices.create(index="books", **kit.body(mappings=MAPPINGS))
    done, errors = await kit.helpers.async_bulk(
        client, [{"_index": "books", "_id": str(n), "n": n} for n in range(200)], chunk_size=50, refresh=True
    )
    assert (done, errors) == (200, [])
    found = await client.search(index="books", **kit.body(size=3, sort=[{"n": "desc"}], query={"range": {"n": {"gte": 10}}}))
    assert [hit["_source"]["n"] for hit in found["hits"]["hits"]] == [199, 198, 197]
    assert {hit["_index"] for hit in found["hits"]["hits"]} == {"books"}
    with pytest.raises(kit.module.NotFoundError):
        await client.get(index="books", id="none")
    assert (await client.indices.delete(index="books"))["acknowledged"]
