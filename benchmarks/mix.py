"""A realistic mix of requests, the same for the proxy and for a bare node: what, of whom, how often.

Of a hundred requests 60 search, 15 get a document, 15 are bulks, 8 index, update or delete one document and 2 administer. The
bodies have the shapes of published workloads and are written here: *places* is a gazetteer (names, coordinates, population, codes
of countries; phrases, terms, an aggregation per country), *logs* are a web server's (time, client, request, status, size; ranges
of time, an hourly histogram, the newest first). Tenants are drawn by Zipf's law: the k-th gets a share that falls with k^-s.

A tenant has a *deck*: so many different requests of each kind, made from a seed, so that one who replays recorded answers can
know them all. Ids are always given. Whom a request belongs to is said by ``naming``, which makes of a tenant and an index the
name to ask for: the proxy is asked for ``places`` with the tenant in a header, a bare node for ``direct-TENANT-places``.

Every document says whose it is, so that an answer with another tenant's document shows (``fault``).
"""

from __future__ import annotations

import bisect
import itertools
import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import httpx
from cases import HEADER, Wrong

WEIGHTS = {"search": 60, "get": 15, "bulk": 15, "write": 8, "admin": 2}
DECK = {"search": 24, "get": 12, "bulk": 6, "write": 12, "admin": 5}  # different requests of a tenant
INDICES = ("places", "logs")
DOCUMENTS = 400  # of each index, before the first request
BULK = 50  # records
EXPONENT = 1.1
SEED = 20
JSON, NDJSON = "application/json", "application/x-ndjson"
MONTH = 1_772_323_200  # 2026-03-01 in seconds
COUNTRIES = ("DE", "FR", "JP", "BR", "KE", "IN", "US", "NO", "PE", "VN")
FIRST, SECOND = ("north", "old", "upper", "saint", "new", "lower", "grand"), ("haven", "bridge", "field", "mount", "mill", "ford")
PATHS = ("/", "/images/logo.gif", "/history/index.html", "/news/today.html", "/search?q=cup", "/tickets/buy.html")

Naming = Callable[[str, str], str]
OWNER = re.compile(rb'"owner":"([^"]*)"')


@dataclass(frozen=True)
class Request:
    kind: str
    tenant: str
    method: str
    target: str
    body: bytes = b""
    media: str = JSON

    @property
    def headers(self) -> dict[str, str]:
        """For the proxy and for a node alike, which does not look at the tenant."""
        headers = {HEADER: self.tenant, "accept-encoding": "identity"}
        return headers | {"content-type": self.media} if self.body else headers


# --- whose turn it is --------------------------------------------------------------------------------------


class Zipf:
    """Numbers from 0: the k-th with a share of (k+1)^-s."""

    def __init__(self, count: int, exponent: float = EXPONENT) -> None:
        self.upto = list(itertools.accumulate((k + 1) ** -exponent for k in range(count)))

    def pick(self, chance: random.Random) -> int:
        return bisect.bisect(self.upto, chance.random() * self.upto[-1], hi=len(self.upto) - 1)


class Mix:
    """Requests without end, from decks: the same ones for the same seed, whatever the naming."""

    def __init__(self, decks: Sequence[dict[str, list[Request]]], seed: int) -> None:
        self.decks, self.tenants, self.chance = decks, Zipf(len(decks)), random.Random(seed)

    def pick(self) -> Request:
        kind = self.chance.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        return self.chance.choice(self.decks[self.tenants.pick(self.chance)][kind])


def by_header(tenant: str, index: str) -> str:
    return index


def by_prefix(tenant: str, index: str) -> str:
    return f"direct-{tenant}-{index}"


NAMINGS: dict[str, Naming] = {"direct": by_prefix, "proxied": by_header}


# --- documents ---------------------------------------------------------------------------------------------


def place(tenant: str, number: int) -> dict[str, object]:
    chance = random.Random(f"{tenant} place {number}")
    name = f"{chance.choice(FIRST)} {chance.choice(SECOND)} {number}"
    return {
        "owner": tenant,
        "name": name,
        "asciiname": name,
        "alternatenames": ", ".join(f"{chance.choice(FIRST)}{chance.choice(SECOND)}" for _ in range(chance.randrange(6))),
        "feature_class": chance.choice("APSTHL"),
        "country_code": chance.choice(COUNTRIES),
        "population": int(10 ** chance.uniform(1, 7)),
        "elevation": chance.randrange(-20, 4000),
        "location": {"lat": round(chance.uniform(-60, 70), 4), "lon": round(chance.uniform(-180, 180), 4)},
        "timezone": f"Zone/{chance.choice(SECOND)}",
    }


def log(tenant: str, number: int) -> dict[str, object]:
    chance = random.Random(f"{tenant} log {number}")
    return {
        "owner": tenant,
        "@timestamp": (MONTH + number * 97) * 1000,
        "clientip": f"10.{chance.randrange(256)}.{chance.randrange(256)}.{chance.randrange(256)}",
        "request": f"GET {chance.choice(PATHS)} HTTP/1.1",
        "status": chance.choices((200, 304, 404, 500), (80, 12, 6, 2))[0],
        "size": int(10 ** chance.uniform(2, 5)),
    }


MAKERS = {"places": place, "logs": log}
_KEYWORD, _TEXT, _LONG = {"type": "keyword"}, {"type": "text"}, {"type": "long"}
MAPPINGS: dict[str, dict[str, object]] = {
    "places": {
        "owner": _KEYWORD,
        "name": {"type": "text", "fields": {"raw": _KEYWORD}},
        "asciiname": _TEXT,
        "alternatenames": _TEXT,
        "feature_class": _KEYWORD,
        "country_code": _KEYWORD,
        "population": _LONG,
        "elevation": _LONG,
        "location": {"type": "geo_point"},
        "timezone": _KEYWORD,
    },
    "logs": {
        "owner": _KEYWORD,
        "@timestamp": {"type": "date"},
        "clientip": {"type": "ip"},
        "request": {"type": "text", "fields": {"raw": _KEYWORD}},
        "status": _KEYWORD,
        "size": _LONG,
    },
}


def filling(tenant: str, naming: Naming) -> list[Request]:
    """What makes a tenant's indices and stores their documents."""
    made = []
    for index in INDICES:
        name = naming(tenant, index)
        body = {"settings": {"number_of_shards": 1, "number_of_replicas": 0}, "mappings": {"properties": MAPPINGS[index]}}
        made.append(Request("create", tenant, "PUT", f"/{name}", _json(body)))
        made.append(_bulk(tenant, name, index, range(DOCUMENTS), target=f"/{name}/_bulk?refresh=true"))
    return made


def fill(client: httpx.Client, tenants: Sequence[str], naming: Naming) -> None:
    for tenant in tenants:
        for request in filling(tenant, naming):
            ask(client, request)


def emptying(tenant: str, naming: Naming) -> list[Request]:
    return [Request("drop", tenant, "DELETE", f"/{naming(tenant, index)}") for index in INDICES]


# --- requests ------------------------------------------------------------------------------------------------


def deck(tenant: str, naming: Naming) -> dict[str, list[Request]]:
    """A tenant's requests by kind."""
    made = {"search": _search, "get": _get, "bulk": _bulked, "write": _write, "admin": _admin}
    chance = random.Random(f"{SEED} {tenant}")
    return {kind: [made[kind](tenant, naming, n, chance) for n in range(count)] for kind, count in DECK.items()}


def _search(tenant: str, naming: Naming, n: int, chance: random.Random) -> Request:
    country, word = chance.choice(COUNTRIES), chance.choice(FIRST)
    since = MONTH + chance.randrange(DOCUMENTS // 2) * 97
    window = {"range": {"@timestamp": {"gte": since * 1000, "lt": (since + 7200) * 1000}}}
    index, body = [
        ("places", {"query": {"match": {"name": {"query": f"{word} haven", "operator": "or"}}}, "size": 10}),
        ("places", {"query": {"match_phrase": {"name": f"{word} {chance.choice(SECOND)}"}}, "size": 10}),
        ("places", {"query": {"bool": {
            "must": [{"match": {"alternatenames": word}}],
            "filter": [{"term": {"country_code": country}}, {"range": {"population": {"gte": chance.randrange(2000)}}}],
            "must_not": [{"term": {"feature_class": "H"}}],
        }}, "sort": [{"population": "desc"}], "size": 20}),
        ("places", {"size": 0, "query": {"match_all": {}}, "aggs": {
            "by_country": {"terms": {"field": "country_code"}, "aggs": {"people": {"sum": {"field": "population"}}}},
        }}),
        ("logs", {"query": {"bool": {"filter": [window, {"term": {"status": "200"}}]}},
                  "sort": [{"@timestamp": "desc"}], "size": 20}),
        ("logs", {"query": {"match": {"request": {"query": "history index", "operator": "and"}}}, "size": 10}),
        ("logs", {"size": 0, "query": window, "aggs": {
            "by_hour": {"date_histogram": {"field": "@timestamp", "fixed_interval": "1h"},
                        "aggs": {"bytes": {"sum": {"field": "size"}}}},
            "by_status": {"terms": {"field": "status"}},
        }}),
        ("logs", {"query": {"bool": {"must": [{"term": {"status": "404"}}], "filter": [window]}}, "_source": ["request", "owner"],
                  "size": 5}),
    ][n % 8]  # fmt: skip
    return Request("search", tenant, "POST", f"/{naming(tenant, index)}/_search", _json(body))


def _get(tenant: str, naming: Naming, n: int, chance: random.Random) -> Request:
    index = INDICES[n % 2]
    return Request("get", tenant, "GET", f"/{naming(tenant, index)}/_doc/{chance.randrange(DOCUMENTS)}")


def _bulked(tenant: str, naming: Naming, n: int, chance: random.Random) -> Request:
    first = DOCUMENTS + n * BULK
    return _bulk(tenant, naming(tenant, "logs"), "logs", range(first, first + BULK), target="/_bulk")


def _write(tenant: str, naming: Naming, n: int, chance: random.Random) -> Request:
    """Half index, a third update, the rest delete what some request of the deck indexes."""
    name, which = naming(tenant, "places"), n % 6
    number = 2 * DOCUMENTS + n - which  # documents that nobody gets
    if which < 3:
        return Request("index", tenant, "PUT", f"/{name}/_doc/{number + which}", _json(place(tenant, number + which)))
    if which < 5:
        target = f"/{name}/_update/{chance.randrange(DOCUMENTS)}?retry_on_conflict=5"
        return Request("update", tenant, "POST", target, _json({"doc": {"population": chance.randrange(10**6), "elevation": n}}))
    return Request("delete", tenant, "DELETE", f"/{name}/_doc/{number}")


def _admin(tenant: str, naming: Naming, n: int, chance: random.Random) -> Request:
    places, logs = (naming(tenant, index) for index in INDICES)
    method, target = [
        ("GET", f"/{places}/_mapping"),
        ("POST", f"/{logs}/_refresh"),
        ("GET", f"/_cat/indices/{places},{logs}?format=json"),
        ("GET", f"/_cluster/health/{places},{logs}"),
        ("GET", f"/{logs}/_count"),
    ][n % 5]
    return Request("admin", tenant, method, target)


def _bulk(tenant: str, name: str, index: str, numbers: range, *, target: str) -> Request:
    lines = []
    for number in numbers:
        lines += [_json({"index": {"_index": name, "_id": str(number)}}), _json(MAKERS[index](tenant, number))]
    return Request("bulk", tenant, "POST", target, b"\n".join(lines) + b"\n", NDJSON)


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


# --- answers -----------------------------------------------------------------------------------------------------


SIGNS = {"search": b'"timed_out":false', "get": b'"found":true', "bulk": b'"errors":false'}  # of a good answer
KINDS = ("search", "get", "bulk", "index", "update", "delete", "admin")
GOOD = {"delete": (200, 404), "index": (200, 201)}  # a delete may come before what it deletes


def fault(request: Request, status: int, body: bytes) -> str | None:
    """What is wrong with an answer, or None."""
    if status not in GOOD.get(request.kind, (200,)):
        return f"status {status}: {body[:300].decode(errors='replace')}"
    if SIGNS.get(request.kind, b"") not in body:
        return f"without {SIGNS[request.kind].decode()}: {body[:300].decode(errors='replace')}"
    if strangers := set(OWNER.findall(body)) - {request.tenant.encode()}:
        return f"a document of {strangers.pop().decode()} in an answer to {request.tenant}"
    return None


def ask(client: httpx.Client, request: Request) -> None:
    """One request with a good answer. Raises Wrong otherwise."""
    answer = client.request(request.method, request.target, content=request.body or None, headers=request.headers)
    if wrong := fault(request, answer.status_code, answer.content):
        raise Wrong(f"{request.method} {request.target} of {request.tenant} at {client.base_url}: {wrong}")
