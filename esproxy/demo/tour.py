"""The tour: calls that a tenant makes, as data, and what it means for two answers to be the same.

Every tenant takes the same tour with the same index name and the same document ids; only the words in the documents differ.
The bare node takes it too, with the words of the tenant it is compared with. Answers must be equal but for what no two runs
share.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import httpx
import orjson

# Values that differ between any two runs on any node: times, and identifiers that a node draws at random. A physical index that
# is shared counts operations and deleted documents for all that are in it, and ends no search early for one of them.
VOLATILE = frozenset(
    {"took", "cluster_uuid", "uuid", "index_uuid", "creation_date", "store.size", "pri.store.size", "dataset.size"}
    | {"_seq_no", "docs.deleted", "terminated_early"}
)
NAMED = frozenset({"name"})  # places in an answer: of the node, which is each tenant's own
UUID = re.compile(r"/[A-Za-z0-9_-]{22}\]")  # as errors quote an index: [name/uuid]
NDJSON = {"content-type": "application/x-ndjson"}


@dataclass(frozen=True, slots=True)
class Step:
    """One call. ``{i}`` in path and body stands for the index, ``{w}`` in the body for the tenant's word."""

    what: str
    method: str
    path: str
    body: Any = None
    lines: tuple[Any, ...] = ()


TOUR = (
    Step("the cluster", "GET", "/"),
    Step("create an index", "PUT", "/{i}", {
        "settings": {"number_of_shards": 1, "number_of_replicas": 0},
        "mappings": {"properties": {"title": {"type": "text"}, "tag": {"type": "keyword"}, "year": {"type": "integer"}}},
    }),
    Step("create it again", "PUT", "/{i}"),
    Step("index a document", "PUT", "/{i}/_doc/1", {"title": "{w} rising", "tag": "{w}", "year": 1999}),
    Step("bulk", "POST", "/_bulk?refresh=true", lines=(
        {"index": {"_index": "{i}", "_id": "2"}}, {"title": "{w} returns", "tag": "{w}", "year": 2004},
        {"create": {"_index": "{i}", "_id": "1"}}, {"title": "taken"},
        {"update": {"_index": "{i}", "_id": "1"}}, {"doc": {"year": 2000}},
        {"delete": {"_index": "{i}", "_id": "9"}},
        {"index": {"_index": "{i}", "_id": "3"}}, {"title": "the end of {w}", "tag": "end", "year": 2020},
    )),
    Step("get a document", "GET", "/{i}/_doc/1"),
    Step("its source alone", "GET", "/{i}/_source/1"),
    Step("a document that is not there", "GET", "/{i}/_doc/nope"),
    Step("several documents", "POST", "/_mget", {"docs": [{"_index": "{i}", "_id": "1"}, {"_index": "{i}", "_id": "3"}]}),
    Step("search", "POST", "/{i}/_search", {
        "query": {"bool": {"must": {"match": {"title": "{w}"}}, "filter": {"range": {"year": {"gte": 1990}}}}},
        "sort": [{"year": "desc"}, "_index"], "highlight": {"fields": {"title": {}}},
    }),
    Step("aggregate", "POST", "/{i}*/_search", {
        "size": 0,
        "aggs": {
            "where": {"terms": {"field": "_index"}, "aggs": {"newest": {"top_hits": {"size": 1, "sort": [{"year": "desc"}]}}}},
            "tags": {"terms": {"field": "tag"}}, "years": {"stats": {"field": "year"}},
        },
    }),
    Step("count", "GET", "/{i}/_count?q=title:{w}"),
    Step("a lookup through the index", "POST", "/{i}/_search",
         {"query": {"terms": {"tag": {"index": "{i}", "id": "3", "path": "tag"}}}}),
    Step("update with a script", "POST", "/{i}/_update/1?refresh=true", {
        "script": {"source": "ctx._source.year += params.by", "params": {"by": 1}},
    }),
    Step("the mapping", "GET", "/{i}/_mapping"),
    Step("the index", "GET", "/{i}"),
    Step("all indices", "GET", "/_cat/indices/{i}?v"),
    Step("an index that is not there", "GET", "/{i}-nope/_search"),
    Step("a query that there is not", "POST", "/{i}/_search",
         {"query": {"match": {"title": {"query": "x", "operator": "maybe"}}}}),
    Step("delete a document", "DELETE", "/{i}/_doc/2?refresh=true"),
    Step("what is left", "GET", "/{i}/_search?sort=year"),
)  # fmt: skip


def play(client: httpx.Client, index: str, word: str) -> list[httpx.Response]:
    """The answers to the tour, in order."""
    return [_call(client, step, index, word) for step in TOUR]


def _call(client: httpx.Client, step: Step, index: str, word: str) -> httpx.Response:
    def fill(text: str) -> str:
        return text.replace("{i}", index).replace("{w}", word)

    if step.lines:
        content = "".join(fill(orjson.dumps(line).decode()) + "\n" for line in step.lines)
        return client.request(step.method, fill(step.path), content=content, headers=NDJSON)
    if step.body is None:
        return client.request(step.method, fill(step.path))
    content = fill(orjson.dumps(step.body).decode())
    return client.request(step.method, fill(step.path), content=content, headers={"content-type": "application/json"})


def differences(proxied: httpx.Response, direct: httpx.Response) -> list[str]:
    """What a client would see differ: status, media type, and where the bodies do. Empty: the same."""
    out = []
    if proxied.status_code != direct.status_code:
        out.append(f"status {proxied.status_code} instead of {direct.status_code}")
    if proxied.headers.get("content-type") != direct.headers.get("content-type"):
        out.append(f"content type {proxied.headers.get('content-type')} instead of {direct.headers.get('content-type')}")
    out += _differ(_body(proxied), _body(direct), "")
    return out


def _body(response: httpx.Response) -> Any:
    if "json" in response.headers.get("content-type", ""):
        return orjson.loads(UUID.sub("/uuid]", response.text))
    rows = [line.split() for line in response.text.splitlines()]
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]] if rows else []


def _differ(one: Any, other: Any, at: str) -> list[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        out = []
        for key in sorted(one.keys() | other.keys()):
            place = f"{at}.{key}" if at else key
            if key in VOLATILE or place in NAMED:
                continue
            if key not in one or key not in other:
                out.append(f"{place} is {'missing' if key in other else 'there'}")
            else:
                out += _differ(one[key], other[key], place)
        return out
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [line for i, (a, b) in enumerate(zip(one, other, strict=True)) for line in _differ(a, b, f"{at}[{i}]")]
    return [] if one == other else [f"{at}: {one!r} instead of {other!r}"]
