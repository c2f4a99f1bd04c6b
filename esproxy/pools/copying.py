"""Copy the documents of one index in a pool into another, which nobody sees yet.

Ids and routing values get the other index's scope, names of fields those of its pool, and documents its object; versions stay as
they are. What is read is verified like any answer, and restored to what the client wrote before it is written anew, so nothing
comes along that is another's.

The source takes no writes meanwhile, so no cursor is needed: each shard is read in the order of its sequence numbers, each page
from where the last one ended, and as many documents at once as make some megabytes. To write a page twice does no harm: it is
written by its own versions.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from esproxy.answer import is_error
from esproxy.api.kinds import Kind
from esproxy.catalogue import scopes
from esproxy.catalogue.fields import flatten
from esproxy.catalogue.pools import TRAITS
from esproxy.catalogue.store import Steps, parsed
from esproxy.errors import Failed, Refusal, UpstreamFailed, Violation
from esproxy.exchange import Answer
from esproxy.pools.documents import physical_id
from esproxy.pools.pooled import Pooled
from esproxy.procedures.fill import Filling
from esproxy.rewriting.restore import PoolAnswer, PoolWalk
from esproxy.tenancy.target import Target

JSON, NDJSON = b"application/json", b"application/x-ndjson"
FIRST, MOST = 100, 1_000  # documents at once
ENOUGH = 4 << 20  # bytes at once
VECTORS = (9, 2)  # the version since which Elasticsearch leaves them out of documents unless it is told otherwise


class Documents(PoolAnswer):
    """Restores hits, and keeps their documents as they are, byte by byte; in the answer there is the place of each instead."""

    def __init__(self, request: Pooled, source: Target) -> None:
        super().__init__(request.plan, [source], {})
        self.kept_documents: list[bytes] = []

    def _tell_core(self) -> None:
        self.front = self.bare = self.token = b""  # so that it answers for nothing by itself

    def __call__(self, kind: Kind, raw: bytes) -> bytes:
        told = super().__call__(kind, raw)
        if kind is not Kind.DOC:
            return told
        self.kept_documents.append(told)
        return b"%d" % (len(self.kept_documents) - 1)


def copy_documents(request: Pooled, source: Target, into: Target, filling: Filling) -> Steps[None]:
    """Raises Refusal for documents that cannot be read whole, Failed for what goes wrong."""
    if not (yield from request.cat.store.refresh(source.physical)):
        raise Failed("the index to be copied is gone")
    for shard in range(source.shards.count):
        yield from _copy_shard(request, source, into, shard, filling)
    yield from filling.beat()
    yield from request.cat.store.refresh(into.physical)


def check_whole(target: Target) -> None:
    """Raises Refusal for an index that does not keep its documents as they were written."""
    declared = target.index.mapping.get("_source") or {}
    if str(declared.get("enabled", True)).lower() == "false" or declared.get("includes") or declared.get("excludes"):
        raise Refusal(f"[{target.name}] does not keep its documents whole ([_source]), so it cannot be copied within a pool")


def _copy_shard(request: Pooled, source: Target, into: Target, shard: int, filling: Filling) -> Steps[None]:
    size, after = FIRST, -1
    while True:
        yield from filling.beat()
        try:
            answer: Answer = yield _page(request, source, shard, size, after)
        except UpstreamFailed as error:
            if error.what != "overflow" or size == 1:
                raise
            size = max(1, size // 10)
            continue
        hits, documents = _read(request, source, answer)
        if hits:
            yield from _write(request, into, hits, documents)
            after = hits[-1]["sort"][0]
        if len(hits) < size:
            return
        size = max(1, min(MOST, ENOUGH * len(hits) // len(answer.body)))


def _page(request: Pooled, source: Target, shard: int, size: int, after: int) -> Any:
    body: dict[str, Any] = {
        "size": size,
        "query": {"bool": {"filter": [scopes.query([source.scope]), {"range": {"_seq_no": {"gt": after}}}]}},
        "sort": [{"_seq_no": "asc"}],
        "version": True,
        "_source": {"exclude_vectors": False} if _hides_vectors(request, source) else True,
        "track_total_hits": False,
    }
    place = f"_shards:{shard}" if request.product else f"_shards:{shard}|_primary"  # copies may be behind on OpenSearch
    query = {"preference": place, "allow_partial_search_results": "false"}
    return request.send("POST", [source.physical, "_search"], query, orjson.dumps(body), JSON, held=True)


def _hides_vectors(request: Pooled, source: Target) -> bool:
    if not request.product:
        return False
    found = re.match(r"(\d+)\.(\d+)", str(request.plan.cluster.info["version"]["number"]))
    kinds = {definition.get("type") for definition in flatten(source.index.mapping.get("properties") or {}).values()}
    kinds |= {field.type.get("type") for field in source.index.fields.values()}
    return (
        found is not None
        and (int(found[1]), int(found[2])) >= VECTORS
        and any(TRAITS.get(str(kind)) == "vectors" for kind in kinds)
    )


def _read(request: Pooled, source: Target, answer: Answer) -> tuple[list[dict[str, Any]], list[bytes]]:
    """The hits, as the client knows them, and their documents."""
    if is_error(answer.status, answer.body):
        raise Failed("the documents to be copied could not be read", detail=repr(answer.body[:500]))
    reader = Documents(request, source)
    tree = orjson.loads(
        PoolWalk(request.plan, request.plan.cluster.engine.tables.endpoints["search"].response, reader).whole(answer.body)
    )
    if tree["timed_out"] or tree["_shards"]["failed"]:
        raise Failed("the documents to be copied could not be read")
    hits: list[dict[str, Any]] = tree["hits"]["hits"]
    if [hit.get("_source") for hit in hits] != list(range(len(reader.kept_documents))):
        raise Violation("a document without an id")
    return hits, reader.kept_documents


def _write(request: Pooled, into: Target, hits: list[dict[str, Any]], documents: list[bytes]) -> Steps[None]:
    lines: list[bytes] = []
    for hit, document in zip(hits, documents, strict=True):
        id, given = hit["_id"], hit.get("_routing")
        meta = {
            "_id": physical_id(into, id),
            **into.routing(id, given),
            "version": hit["_version"],
            "version_type": "external_gte",
        }
        lines += [orjson.dumps({"index": meta}), into.stored(document.replace(b"\n", b" "), routed=given is not None)]
    query = {"pipeline": "_none", "filter_path": "errors,items.*.error"}
    body = b"\n".join(lines) + b"\n"
    told = parsed((yield request.send("POST", [into.physical, "_bulk"], query, body, NDJSON, held=True)), 200)
    if told["errors"]:
        raise Failed("a document could not be copied", detail=repr(told["items"])[:500])
