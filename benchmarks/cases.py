"""What is asked on the wire: tenants, their documents, the rows of the benchmark, and what each answer has to be.

Every tenant has the same index names, ids and queries, but documents of its own, in which its words stand and whose sizes
differ (a bulk's answer says nothing of documents, so there the ids differ). So an answer given to the wrong tenant, or to the
wrong query, is a wrong one. A row is a kind of request; a case is one request of one tenant under it, together with what the
proxy made of it, what the node answered (recorded once), and what the client must get.

The expected answer is made without the proxy's code: the node's bytes with the tenant's prefix taken out of ``_index``. That
the node was asked the right thing is checked apart, by meaning: ids and sources must be those of the documents that were loaded.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

TENANTS = tuple(f"wire-{number}" for number in range(1, 9))
HEADER = "x-tenant"
SEPARATOR = "."  # the proxy's default between tenant and logical name
DOCUMENTS = 120
VARIANTS = 4  # requests per tenant and row, each with another answer
JSON, NDJSON = "application/json", "application/x-ndjson"

Document = dict[str, object]


class Wrong(Exception):
    """An answer is not what it has to be."""


@dataclass(frozen=True)
class Call:
    """A request; ``media`` is empty when it has no body."""

    method: str
    target: str
    body: bytes = b""
    media: str = ""


@dataclass(frozen=True)
class Row:
    """A kind of request. ``ask(index, tenant, variant)`` is one of them, ``wanted`` the (id, document) pairs in its answer."""

    name: str
    variants: int
    ask: Callable[[str, str, int], Call]
    wanted: Callable[[str, int], list[tuple[str, Document | None]]]
    found: Callable[[dict[str, object]], list[dict[str, object]]]


@dataclass(frozen=True)
class Case:
    row: str
    tenant: str
    logical: Call
    physical: Call
    answer: bytes  # the node's body, to the physical call
    expected: bytes  # the client's body, to the logical call
    media: str  # of the answer


# --- documents -------------------------------------------------------------------------------------


def document(tenant: str, number: int) -> Document:
    """Between about 200 and 350 bytes, depending on tenant and number."""
    size = 6 + (number + int(tenant.rpartition("-")[2])) % 7
    words = " ".join(f"{tenant}-word-{(number * 31 + i) % 97}" for i in range(size))
    return {
        "number": number,
        "shelf": number // 2,
        "owner": tenant,
        "title": f"the river of {tenant}, volume {number}",
        "text": words,
        "price": round(3.5 + number * 0.25, 2),
        "tags": ["proxy", f"t{number % 5}"],
    }


def loading(index: str, tenant: str) -> Call:
    lines = [(json.dumps({"index": {"_id": str(n)}}), json.dumps(document(tenant, n))) for n in range(DOCUMENTS)]
    return Call("POST", f"/{index}/_bulk?refresh=true", _lines(line for pair in lines for line in pair), NDJSON)


def creating(index: str) -> Call:
    """With all fields there are, so that no call makes one."""
    text, number = {"type": "text", "fields": {"keyword": {"type": "keyword"}}}, {"type": "long"}
    fields = dict.fromkeys(("owner", "title", "text", "tags", "message"), text)
    fields |= dict.fromkeys(("number", "shelf", "at", "status"), number) | {"price": {"type": "float"}}
    made = {"settings": {"number_of_shards": 1, "number_of_replicas": 0}, "mappings": {"properties": fields}}
    return Call("PUT", f"/{index}", json.dumps(made).encode(), JSON)


# --- rows --------------------------------------------------------------------------------------------


def _small(index: str, tenant: str, variant: int) -> Call:
    query = {
        "bool": {
            "must": [{"match": {"title": {"query": "river volume", "operator": "and"}}}],
            "filter": [{"term": {"shelf": variant * 7}}, {"range": {"price": {"gte": 1, "lt": 1000}}}],
            "must_not": [{"term": {"tags": "withdrawn"}}],
        }
    }
    return Call("POST", f"/{index}/_search", json.dumps({"query": query, "size": 10, "sort": ["number"]}).encode(), JSON)


def _large(index: str, tenant: str, variant: int) -> Call:
    body = {"query": {"match_all": {}}, "from": variant, "size": 100, "sort": [{"number": "asc"}]}
    return Call("POST", f"/{index}/_search", json.dumps(body).encode(), JSON)


def _get(index: str, tenant: str, variant: int) -> Call:
    return Call("GET", f"/{index}/_doc/{variant * 11}")


def _bulk(index: str, tenant: str, variant: int) -> Call:
    lines = []
    for n in range(100):
        lines.append(json.dumps({"index": {"_index": f"{index}-logs", "_id": f"{tenant}-{variant}-{n}"}}))
        lines.append(json.dumps({"owner": tenant, "at": 1700000000 + n, "status": 200, "message": f"GET /{tenant}/{n} is slow"}))
    return Call("POST", "/_bulk", _lines(lines), NDJSON)


def _stored(tenant: str, numbers: range) -> list[tuple[str, Document | None]]:
    return [(str(n), document(tenant, n)) for n in numbers]


def _hits(answer: dict) -> list[dict]:
    return answer["hits"]["hits"]


def _created(answer: dict) -> list[dict]:
    items = [item["index"] for item in answer["items"]]
    if answer["errors"] or any(item["status"] != 201 for item in items):
        raise Wrong("an item of a bulk was not created")
    return items


ROWS = (
    Row("search, 2 hits", VARIANTS, _small, lambda t, v: _stored(t, range(v * 14, v * 14 + 2)), _hits),
    Row("search, 100 hits", VARIANTS, _large, lambda t, v: _stored(t, range(v, v + 100)), _hits),
    Row("get by id", VARIANTS, _get, lambda t, v: _stored(t, range(v * 11, v * 11 + 1)), lambda answer: [answer]),
    Row("bulk of 100", 2, _bulk, lambda t, v: [(f"{t}-{v}-{n}", None) for n in range(100)], _created),
)


def calls(row: Row, index: str) -> Iterator[tuple[str, int, Call]]:
    """All calls of a row, the tenant another one from call to call."""
    for variant in range(row.variants):
        for tenant in TENANTS:
            yield tenant, variant, row.ask(index, tenant, variant)


# --- expectations ----------------------------------------------------------------------------------------


def case_of(row: Row, tenant: str, variant: int, logical: Call, answered: bytes, recorded: list[dict[str, str]]) -> Case:
    """A case from what the stub recorded of it. Raises Wrong unless the answer's meaning is the expected one.

    ``answered`` is what the client got while the node was really asked.
    """
    if len(recorded) != 1:
        raise Wrong(f"[{row.name}] took {len(recorded)} upstream calls, so it cannot be compared with a direct one")
    kept = recorded[0]
    head, _, body = base64.b64decode(kept["answer"]).partition(b"\r\n\r\n")
    lines = head.decode("latin-1").lower().split("\r\n")
    if lines[0].split()[1] != "200":
        raise Wrong(f"[{row.name}] was answered by the node with {lines[0]}: {body[:300]!r}")
    media = next((line.partition(": ")[2] for line in lines if line.startswith("content-type: ")), "")
    expected = as_logical(tenant, logical, body)
    if answered != expected:
        raise Wrong(f"[{row.name}] of {tenant}: the proxy gave {first_difference(answered, expected)}")
    check_meaning(row, tenant, variant, json.loads(expected))
    physical = Call(kept["method"], kept["target"], base64.b64decode(kept["body"]), logical.media)
    return Case(row.name, tenant, logical, physical, body, expected, media)


def as_logical(tenant: str, logical: Call, body: bytes) -> bytes:
    """A node's body as the tenant has to see it: its own index's name, and in pools its own id, no routing, no object around its
    documents, which have no objects in them."""
    named = re.match(rb"/([^_/][^/]*)/", logical.target.encode()) or re.search(rb'"_index": "([^"]*)"', logical.body)
    own = re.escape(tenant.encode())
    body = re.sub(rb'"_index":"(?:%b\%b|pool~)[^"]*"' % (own, SEPARATOR.encode()), rb'"_index":"%b"' % named[1], body)
    body = re.sub(rb',"_routing":"%b\.\d+:"' % own, b"", body)
    body = re.sub(rb'"_source":\{"n\d+":(\{[^{}]*\})\}', rb'"_source":\1', body)
    return re.sub(rb'"_id":"%b\.\d+:' % own, b'"_id":"', body)


def check_meaning(row: Row, tenant: str, variant: int, answer: dict[str, object]) -> None:
    """The answer must hold exactly the documents that this tenant stored."""
    found = [(item["_id"], item.get("_source")) for item in row.found(answer)]
    if found != row.wanted(tenant, variant):
        raise Wrong(f"[{row.name}] of {tenant}: the node found {str(found)[:300]}")


def compare(case: Case, status: int, media: str, body: bytes, expected: bytes) -> None:
    """Raises Wrong unless an answer is byte for byte the expected one."""
    if status != 200 or media.lower() != case.media:
        raise Wrong(f"[{case.row}] of {case.tenant}: status {status}, content type {media!r}; wanted 200, {case.media!r}")
    if body != expected:
        raise Wrong(f"[{case.row}] of {case.tenant}: {first_difference(body, expected)}")


def first_difference(body: bytes, expected: bytes) -> str:
    at = next((i for i, (a, b) in enumerate(zip(body, expected, strict=False)) if a != b), min(len(body), len(expected)))
    return f"at byte {at} {body[at : at + 80]!r}, wanted {expected[at : at + 80]!r}"


def _lines(lines: Iterator[str] | list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()
