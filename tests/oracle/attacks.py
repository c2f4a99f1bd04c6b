"""Attacks as a table: what a hostile tenant sends, which answers are safe, and the benign twin that must go on working.

``acme`` attacks; ``zenith`` is the victim, whose physical names (``zenith.books``) an attacker can guess but whose canaries it
cannot. Rows are grouped by what they try: A names in the URL, B names in bodies, W writes, G parsers and HTTP, I state and
configuration. Each request is the bytes that go over the socket, because half of the attacks are in how they are spelled.

Safe is: no canary in any byte that comes back, nothing of the victim's changed, one of the statuses in ``safe`` (None: the
connection was closed without an answer), and errors in Elasticsearch's shape unless ``http`` says that the HTTP layer answers.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from typing import Any

HOST = "127.0.0.1"
VICTIM = "zenith"
RAW = "zenith.books"  # the victim's physical name


@dataclass(frozen=True, slots=True)
class Attack:
    row: str
    sent: bytes
    safe: tuple[int | None, ...]
    twin: bytes
    twin_status: tuple[int, ...] = (200,)
    http: bool = False  # answered below Elasticsearch's REST layer
    apart: bool = False  # of an endpoint that indices in pools do not have yet: refused there, its twin too
    label: str = field(default="")

    def __str__(self) -> str:
        return f"{self.row} {self.label}"


def request(
    method: str, target: str, body: Any = None, headers: dict[str, str] | None = None, tenant: str | None = "acme"
) -> bytes:
    """A request as bytes. ``body``: JSON value, bytes, or a list of lines for NDJSON (a tuple)."""
    given = {"host": HOST, "connection": "close"}
    if tenant is not None:
        given["x-tenant"] = tenant
    payload = b""
    if body is not None:
        media = "application/json"
        if isinstance(body, bytes):
            payload = body
        elif isinstance(body, tuple):
            payload = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in body).encode()
            media = "application/x-ndjson"
        else:
            payload = json.dumps(body).encode()
        given |= {"content-type": media, "content-length": str(len(payload))}
    given |= headers or {}
    head = f"{method} {target} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return head.encode("latin-1") + b"\r\n" + payload


GET_OWN = request("GET", "/books/_search")
SEARCH = request("POST", "/books/_search", {"query": {"match_all": {}}})
BULK = request("POST", "/_bulk", ({"index": {"_index": "books", "_id": "twin"}}, {"a": 1}))
ATTACKS: list[Attack] = []


def row(
    name: str, sent: bytes, *safe: int | None, twin: bytes = GET_OWN, twin_status: tuple[int, ...] = (200,), http: bool = False,
    apart: bool = False,
) -> None:  # fmt: skip
    line = sent.split(b"\r\n", 1)[0].decode("latin-1")
    ATTACKS.append(Attack(name, sent, safe, twin, twin_status, http, apart, f"{line[:70]}#{len(ATTACKS)}"))


def get(name: str, target: str, *safe: int | None, method: str = "GET", **more: Any) -> None:
    row(name, request(method, target), *safe, **more)


def search(name: str, body: Any, *safe: int | None, target: str = "/books/_search", twin: bytes = SEARCH) -> None:
    row(name, request("POST", target, body), *safe, twin=twin)


def bulk(name: str, *lines: Any, safe: tuple[int | None, ...] = (200, 400), target: str = "/_bulk") -> None:
    row(name, request("POST", target, tuple(lines)), *safe, twin=BULK)


# --- A: names in the URL ---------------------------------------------------------------------------------

get("A01", f"/books,{RAW}/_search", 404)
for pattern in ("*", "b*", "z*", "zenith.*", "*.books", "*enith*", "**", "*,*", "acme.*", "%2A"):
    get("A02", f"/{pattern}/_search?size=100", 200)
for target in ("/_all/_search?size=100", "/_all/_count", "/_all/_mapping", "/_all"):
    get("A03", target, 200)
for target in (
    "/_search?size=100",
    "/_count",
    "/_refresh",
    "/_mapping",
    "/_cat/indices",
    "/_cluster/health?level=shards",
    "/_mapping/field/*",
):
    get("A04", target, 200)
for target in (
    "/*,-books/_search",
    "/books,-*/_search",
    "/-*/_search",
    "/*,-*/_search",
    "/*,-zenith.books/_search",
    "/-zenith.books/_search",
    "/-nope/_search",
    "/books,-books/_search",
    "/-books/_count",
    "/--books/_count",
    "/-/_count",
):
    get("A05", target, 200, 400, 404)
get("A05", "/nothing*", 200, method="DELETE")
get("A05", "/-zenith.books", 200, 400, 404, method="DELETE")
get("A05", "/nothing*,-*", 200, 400, 404, method="DELETE")
get("A06", "/%3Cbooks-%7Bnow%2Fd%7D%3E/_search", 404)
for name in (
    "%3Cs%7Bnow%7B%27hared-books%27%7D%7D%3E",
    "%3Cx%7Bnow%2Fd%7B%27zenith.books%27%7D%7D%3E",
    "%3C%7Bnow%7B%27zenith%27%7D%7D.books%3E",
    "%3Czenith.books%3E",
):
    get("A07", f"/{name}/_search", 400, 404)
for name in ("remote1:books", "*:*", "books,remote1:*", "zen*:books", "r*:*", "-r*:*", "*:zenith.*"):
    get("A08", f"/{name}/_search", 400, 404)
get("A09", "/.ds-zenith.books-2026.10.01-000001/_search", 404)
for name in ("books::failures", "*::data", "books::*", "zenith.books::data"):
    get("A10", f"/{name}/_search", 200, 400, 404)
for name in (
    ".kibana",
    ".security-7",
    ".tasks",
    ".async-search",
    ".opendistro_security",
    ".plugins-ml-config",
    ".geoip_databases",
):
    get("A11", f"/{name}/_search", 404)
for options in (
    "expand_wildcards=all",
    "expand_wildcards=hidden,closed,open",
    "expand_wildcards=open,hidden&ignore_unavailable=true",
):
    get("A12", f"/b*/_search?{options}&size=100", 200)
    get("A12", f"/*/_count?{options}", 200)
for name in ("BOOKS", "ZENITH.books", "%EF%BD%82ooks", "%C4%B0", "zenith%E2%80%A4books"):
    get("A14", f"/{name}/_search", 404)
for name in ("zenith%2Ebooks", "%7Aenith.books", "%7A%65nith%2ebooks"):
    get("A15", f"/{name}/_search", 404)
for target in (
    "/books%2F..%2Fzenith.books/_search",
    "/books/_doc/a%2F..%2F..%2F..%2Fzenith.books%2F_search",
    "/books%2F..%2F..%2Fzenith.books%2F_search",
    "/..%2Fzenith.books/_search",
):
    get("A16", target, 400, 404)
get("A17", "/zenith%252Ebooks/_search", 404)
for target in (
    "/books/../zenith.books/_search",
    "/./zenith.books/_search",
    "/books/%2e%2e/zenith.books/_search",
    "/%2e%2e/zenith.books/_search",
    "/.../zenith.books/_search",
    "/books/./../../zenith.books/_count",
):
    get("A18", target, 400, 404)
for target in ("//zenith.books/_search", "/books//_search", "///_search", "//", "/books/_search//"):
    get("A19", target, 200, 400)
for target in ("/books;x/_search", "/books/_search;/../x", "/books/_search;index=zenith.books", ";/zenith.books/_search"):
    get("A20", target, 400, 404, None, http=True)
for target in (
    "http://es:9200/zenith.books/_search",
    "es:9200/zenith.books/_search",
    "http://127.0.0.1/zenith.books/_search",
    "*",
    "zenith.books/_search",
    "?",
):
    row("A21", request("GET", target), 400, 404, None, http=True)
for target in (
    "/books%3F/_search",
    "/books%23/_search",
    "/books#/../zenith.books/_search",
    "/books%3Findex=zenith.books/_search",
):
    get("A22", target, 200, 400, 404)
for target in (
    "/,/_search",
    "/books,/_search",
    "/,books/_search",
    "/%20/_search",
    "/%00/_search",
    "/books%0Azenith.books/_search",
    "/books%00zenith.books/_search",
    "/%0D%0A/_search",
):
    get("A23", target, 200, 400, 404)
for target in (
    "/_search?index=zenith.books",
    "/books/_search?index=zenith.books",
    "/_count?index=zenith.books",
    "/_cat/indices?index=zenith.books",
    "/_refresh?index=zenith.books",
    "/_mapping?index=zenith.books",
    "/_search?%69ndex=zenith.books",
    "/_search?index%00=zenith.books",
    "/_search?size=1;index=zenith.books",
    "/books/_doc/1?index=zenith.books&id=1",
):
    get("A24", target, 200, 400, 404)
row("A24", request("POST", "/_mget?index=zenith.books", {"ids": ["1"]}), 200, 400)
row("A24", request("POST", "/_bulk?index=zenith.books", ({"index": {"_id": "evil"}}, {"a": 1})), 200, 400, twin=BULK)
get("A25", "/books%2Czenith.books/_search", 404)
for target in ("/-eu.books/_search", "/*-eu*/_search", "/eu.books/_search", "/acme-eu.books/_search", "/.books/_search"):
    get("A27", target, 200, 404)
row("A26", request("GET", "/cme.books/_search", tenant="a"), 404)
row("A26", request("GET", "/cme*/_search", tenant="a"), 200)
row("A28", request("PUT", "/zenith.made"), 200, 400, twin=request("DELETE", "/zenith.made"), twin_status=(200, 404))
for target in (
    "/_resolve/index/*",
    "/_resolve/cluster/*",
    "/_search_shards",
    "/books/_search_shards",
    "/_resolve/index/remote1:*",
    "/_cat",
    "/_cat/shards",
    "/_cat/segments",
    "/_cat/nodes",
    "/_cluster/state",
    "/_cluster/stats",
    "/_cluster/settings",
    "/_nodes",
    "/_nodes/stats",
    "/_stats",
    "/_segments",
    "/_recovery",
    "/_tasks",
    "/_data_stream/*",
    "/_ingest/pipeline",
    "/_cluster/allocation/explain",
    "/_remote/info",
    "/_snapshot",
    "/_nodes/hot_threads",
    "/_cat/recovery?index=zenith.books",
    "/_stats/docs",
    "/_shard_stores",
    "/_health_report",
    "/_script_context",
    "/_internal/desired_nodes",
    "/_dangling",
    "/_all/_stats",
    "/_cat/allocation",
    "/_cat/tasks",
    "/_cat/templates",
    "/_cat/pending_tasks",
):
    get("A29", target, 200, 400, 404, 405)
get("A30", f"/{RAW}/_search?ignore_unavailable=true", 200)
for target in (f"/{RAW}", f"/{RAW}/_doc/1", f"/{RAW}/_source/1"):
    get("A31", target, 404, method="HEAD")
get(
    "A32",
    "/" + ",".join(f"n{place}" for place in range(9000)) + "/_search?ignore_unavailable=true",
    200,
    400,
    404,
    413,
    414,
    431,
    None,
    http=True,
)
get("A32", "/" + "a" * 70000, 400, 404, 413, 414, 431, None, http=True)
get("A33", "/_search?project_routing=*", 200, 400)
get("A33", "/books/_search?ccs_minimize_roundtrips=false", 200, 400)
for target in ("/books/type1/_search", "/books/type1/1", "/books/_doc/1/_update", "/books/_search/type1"):
    row("A34", request("GET", target, headers={"accept": "application/vnd.elasticsearch+json;compatible-with=7"}), 400, 406)
    get("A34", target, 400, 405)
get("A36", "/_search/scroll?index=zenith.books", 400, 404, 405)
get("A36", "/_nodes/_all/../../zenith.books/_search", 400)
for value in (
    "ACME",
    "acme,zenith",
    "zenith,acme",
    "",
    "*",
    "..",
    "acme/../zenith",
    "a" * 300,
    "acme.",
    "-acme",
    "unknown",
    "ze*",
    "acme zenith",
    "%7Aenith",
):
    row("A37", request("GET", "/_search", tenant=value), 400, 401, 403, None, http=True)
row(
    "A37",
    request("GET", "/_search", tenant="acme").replace(b"x-tenant: acme", b"x-tenant: acme\r\nx-tenant: zenith"),
    400,
    401,
    403,
)
row(
    "A37",
    request("GET", "/_search", tenant="acme").replace(b"x-tenant: acme", b"x-tenant: zenith\r\nX-Tenant: acme"),
    400,
    401,
    403,
)
row("A37", request("GET", "/_search", tenant=None), 400, 401, 403)
row("A37", request("GET", "/_search?x-tenant=zenith&tenant=zenith"), 400)
row("A38", request("GET", "/_search", headers={"host": "zenith.search.example", "x-forwarded-host": "zenith.example"}), 200)

# --- B: names in bodies ----------------------------------------------------------------------------------

bulk("B01", {"index": {"_index": RAW, "_id": "1"}}, {"evil": 1}, target="/books/_bulk")
bulk("B01", {"delete": {"_index": RAW, "_id": "1"}}, target="/books/_bulk")
bulk("B01", {"update": {"_index": RAW, "_id": "1"}}, {"doc": {"evil": 1}}, target="/books/_bulk")
for value in (None, "", ["books", RAW], {"x": RAW}, 5, True, f"books,{RAW}", "*", "<zenith.books>", "-x"):
    bulk("B02", {"index": {"_index": value, "_id": "b02"}}, {"a": 1})
for line in ('{"index":null}', '{"index":{}}', '{"index":[]}', '{"index":"zenith.books"}', "{}", "[]"):
    bulk("B02", line, {"a": 1}, safe=(400,))
bulk("B03", f'{{"index":{{"_index":"books","_id":"b03"}},"delete":{{"_index":"{RAW}","_id":"1"}}}}', {"a": 1})
bulk("B03", f'{{"index":{{"_index":"books","_id":"b03"}}}}{{"delete":{{"_index":"{RAW}","_id":"1"}}}}', {"a": 1})
bulk("B04", "", '{"index":{"_index":"books","_id":"b04"}}  ', '{"a":1}\u2028{"delete":{"_index":"zenith.books","_id":"1"}}')
row(
    "B04",
    request("POST", "/_bulk", b'{"index":{"_index":"books"}}\r{"a":1}\r{"delete":{"_index":"zenith.books","_id":"1"}}\n'),
    200,
    400,
    twin=BULK,
)
row(
    "B04",
    request("POST", "/_bulk", b'{"index":{"_index":"books"}}\n{"a":1}', {"content-type": "application/x-ndjson"}),
    400,
    twin=BULK,
)
row(
    "B04",
    request("POST", "/_bulk", b'{"update":{"_index":"books","_id":"1"}}\n', {"content-type": "application/x-ndjson"}),
    400,
    twin=BULK,
)
bulk("B05", {"delete": {"_index": "books", "_id": "none"}}, {"index": {"_index": RAW, "_id": "evil"}}, {"a": 1})
bulk(
    "B05",
    {"index": {"_index": "books", "_id": "b05"}},
    {"index": {"_index": RAW, "_id": "evil"}},
    {"delete": {"_index": "books", "_id": "b05"}},
)
for verb in ("upsert", "INDEX", "index ", "reindex", "\u0131ndex"):
    bulk("B06", {verb: {"_index": "books"}}, {"a": 1}, safe=(400,))
for extra in (
    {"pipeline": "zenith_p"},
    {"_type": "_doc"},
    {"parent": "1"},
    {"_routing": "zenith"},
    {"dynamic_templates": {"a": "x"}},
    {"require_alias": True},
    {"nope": 1},
):
    bulk("B07", {"index": {"_index": "books", "_id": "b07", **extra}}, {"a": 1})
for options in (
    "pipeline=zenith_p",
    "routing=zenith",
    "require_alias=true",
    "_source=true",
    "index=zenith.books",
    "type=zenith.books",
):
    bulk("B08", {"index": {"_index": "books", "_id": "b08"}}, {"a": 1}, target=f"/_bulk?{options}")
row("B09", request("PUT", "/_bulk/stream", ({"index": {"_index": "books"}}, {"a": 1})), 400, 405, twin=BULK)
row("B09", request("POST", "/_bulk", b":)\n\x00", {"content-type": "application/smile"}), 400, 406, 415, twin=BULK)
MGET = request("POST", "/_mget", {"docs": [{"_index": "books", "_id": "1"}]})
for document in (
    {"_index": RAW, "_id": "1"},
    {"_index": "zenith.*", "_id": "1"},
    {"_index": ["books", RAW], "_id": "1"},
    {"_index": "<zenith.books>", "_id": "1"},
    {"_index": "*", "_id": "1"},
):
    row("B10", request("POST", "/books/_mget", {"docs": [document]}), 200, 400, 404, twin=MGET)
row("B10", request("POST", f"/{RAW}/_mget", {"ids": ["1"]}), 200, 404, twin=MGET)
LOOKUP = {"terms": {"k": {"index": RAW, "id": "1", "path": "secret"}}}
search("B12", {"query": LOOKUP}, 400, 404)
for deep in (
    {"aggs": {"x": {"filter": LOOKUP}}},
    {"post_filter": LOOKUP},
    {"query": {"match_all": {}}, "rescore": {"query": {"rescore_query": LOOKUP}}},
    {"query": {"function_score": {"functions": [{"filter": LOOKUP, "weight": 2}]}}},
    {"query": {"match": {"a": "x"}}, "highlight": {"highlight_query": LOOKUP, "fields": {"a": {}}}},
    {"aggs": {"x": {"filters": {"filters": {"a": LOOKUP}}}}},
    {"aggs": {"x": {"adjacency_matrix": {"filters": {"a": LOOKUP}}}}},
    {"query": {"bool": {"must_not": [LOOKUP]}}},
    {"query": {"nested": {"path": "o", "ignore_unmapped": True, "query": LOOKUP}}},
    {"query": {"bool": {"filter": {"constant_score": {"filter": {"dis_max": {"queries": [LOOKUP]}}}}}}},
    {"aggs": {"x": {"significant_terms": {"field": "k", "background_filter": LOOKUP}}}},
    {"sort": [{"o.x": {"nested": {"path": "o", "filter": LOOKUP}}}]},
):
    search("B13", deep, 200, 400, 404)
search("B14", {"query": {"terms": {"k": {"index": RAW, "query": {"match_all": {}}, "path": "secret"}}}}, 400, 404)
search(
    "B15", {"query": {"terms": {"k": {"index": RAW, "id": "1", "path": "x", "store": True}, "value_type": "bitmap"}}}, 400, 404
)
for like in (
    [{"_index": RAW, "_id": "1"}],
    {"_index": RAW, "_id": "1"},
    [{"_index": "zenith.*", "_id": "1"}],
    [{"_index": RAW, "doc": {"secret": "x"}, "_id": "1"}],
):
    search(
        "B16",
        {"query": {"more_like_this": {"fields": ["secret", "a"], "like": like, "min_term_freq": 1, "min_doc_freq": 1}}},
        200,
        400,
        404,
    )
    search(
        "B16", {"query": {"more_like_this": {"fields": ["a"], "like": "x", "unlike": like, "min_term_freq": 1}}}, 200, 400, 404
    )
search("B18", {"query": {"geo_shape": {"gp": {"indexed_shape": {"index": RAW, "id": "1", "path": "secret"}}}}}, 400, 404)
search("B18", {"query": {"geo_shape": {"gp": {"indexed_shape": {"id": "1", "path": "secret"}}}}}, 400, 404)
search("B19", {"query": {"percolate": {"field": "q", "index": RAW, "id": "1"}}}, 400, 404)
search("B21", {"query": {"pinned": {"docs": [{"_index": RAW, "_id": "1"}], "organic": {"match_all": {}}}}}, 200, 400)
search(
    "B22",
    {"query": {"wrapper": {"query": "eyJ0ZXJtcyI6eyJrIjp7ImluZGV4IjoiemVuaXRoLmJvb2tzIiwiaWQiOiIxIiwicGF0aCI6InNlY3JldCJ9fX0="}}},
    400,
    404,
)
for kind in ("template", "agentic", "neural", "sltr", "nope"):
    search("B23", {"query": {kind: {"store": "x", "query": LOOKUP}}}, 400)
search(
    "B24",
    {
        "runtime_mappings": {
            "x": {"type": "lookup", "target_index": RAW, "input_field": "k", "target_field": "k", "fetch_fields": ["*"]}
        },
        "fields": ["x"],
    },
    200,
    400,
    404,
)
search("B25", {"indices_boost": [{RAW: 2}]}, 400, 404)
search("B25", {"indices_boost": {RAW: 2}}, 400, 404)
search("B26", {"pit": {"id": "46ToAwMDaWR4"}}, 400, 404, target="/_search")
for method, target, body in (
    ("POST", "/_rank_eval", {"requests": []}),
    ("POST", "/_scripts/painless/_execute", {"script": {"source": "1"}}),
    ("POST", "/_reindex", {"source": {"index": RAW}, "dest": {"index": "stolen"}}),
    ("PUT", "/_transform/t", {"source": {"index": "*"}}),
    ("PUT", "/_enrich/policy/p", {"match": {"indices": RAW}}),
    ("PUT", "/_rollup/job/x", {}),
    ("PUT", "/_ml/datafeeds/x", {"indices": ["*"]}),
    ("PUT", "/_watcher/watch/x", {}),
    ("PUT", "/x/_ccr/follow", {}),
    ("PUT", "/_slm/policy/x", {}),
    ("PUT", "/_snapshot/r/s", {"indices": "*"}),
    ("POST", "/_snapshot/r/s/_restore", {}),
    ("POST", "/_data_stream/_modify", {"actions": []}),
    ("POST", "/_migration/reindex", {}),
    ("POST", "/_plugins/_ism/add/zenith.books", {}),
    ("POST", "/_sql", {"query": "SELECT * FROM zenith.books"}),
    ("POST", "/_query", {"query": "FROM zenith.books"}),
    ("POST", "/books/_eql/search", {"query": "any where true"}),
    ("POST", "/_search/template", {"source": "{}"}),
    ("POST", "/_msearch/template", {}),
    ("PUT", "/_ingest/pipeline/p", {"processors": []}),
    ("PUT", "/_scripts/s", {"script": {"lang": "painless", "source": "1"}}),
    ("POST", "/_analyze", {"text": "x", "index": RAW}),
    ("POST", "/_terms_enum", {"field": "k"}),
):
    row("B27-B41", request(method, target, body), 400, 404, 405)
for method, target, body in (  # served by some layouts: then for the tenant's own names (more of these in `attacks_admin`)
    ("POST", "/_mtermvectors", {"docs": [{"_index": RAW, "_id": "1"}]}),
    ("PUT", "/_index_template/x", {"index_patterns": ["*"]}),
    ("PUT", "/_template/x", {"index_patterns": ["*"]}),
    ("PUT", "/_component_template/x", {"template": {}}),
):
    row("B27-B41", request(method, target, body), 200, 400, 404, 405)
row(
    "B35",
    request("PUT", "/b35", {"aliases": {RAW: {}, "zenith.other": {}}}),
    200,
    400,
    twin=request("DELETE", "/b35"),
    twin_status=(200, 404),
)
row(
    "B35",
    request("PUT", "/b35", {"aliases": {"f": {"filter": LOOKUP}}}),
    200,
    400,
    404,
    twin=request("DELETE", "/b35"),
    twin_status=(200, 404),
)
for text in ("_index:zenith.books", "_index:*", "_index:/.*/", "NOT _index:acme.books", "_index:[a TO z]", "*:*"):
    search("B42", {"query": {"query_string": {"query": text}}}, 200, 400, target="/_search")
search(
    "B43",
    {"query": {"bool": {"should": [{"term": {"_index": RAW}}, {"prefix": {"_index": "zenith"}}, {"wildcard": {"_index": "*"}}]}}},
    200,
    target="/_search",
)
search(
    "B44",
    {"size": 0, "aggs": {"g": {"global": {}, "aggs": {"i": {"terms": {"field": "_index", "min_doc_count": 0}}}}}},
    200,
    target="/_search",
)
search("B45", {"script_fields": {"x": {"script": "doc['_index'].value"}}}, 200, target="/_search")

# --- W: writes -------------------------------------------------------------------------------------------

row("W01", request("PUT", "/books/_doc/1", {"mine": 1}), 200, 201)
row("W02", request("DELETE", f"/{RAW}/_doc/1"), 404)
row("W02", request("DELETE", "/books/_doc/zenith:1"), 404)
row(
    "W03",
    request("PUT", f"/{RAW}/_create/1", {"evil": 1}),
    200,
    201,
    400,
    404,
    409,
    twin=request("DELETE", f"/{RAW}"),
    twin_status=(200, 404),
)
row("W05", request("PUT", "/books/_doc/w05?version=9223372036854775807&version_type=external_gte", {}), 200, 201)
row(
    "W14",
    request("POST", "/books/_update/1", {"script": {"source": "ctx._index='zenith.books'; ctx._id='evil'; ctx._routing='z'"}}),
    200,
    400,
)
row("W14", request("POST", "/books/_update/1", {"script": {"source": "ctx['_ind'+'ex']='zenith.books'"}}), 200, 400)
row("W14", request("POST", "/books/_update/1", {"script": {"id": "zenith_script"}}), 400, 404)
row("W17", request("POST", f"/{RAW}/_update_by_query"), 400, 404, 405)
row("W18", request("POST", f"/{RAW}/_delete_by_query", {"query": {"match_all": {}}}), 400, 404, 405)
row("W19", request("PUT", "/books/_doc/w19?pipeline=zenith_p", {}), 400)
row(
    "W19",
    request("PUT", "/w19", {"settings": {"index.default_pipeline": "zenith_p", "final_pipeline": "x"}}),
    200,
    400,
    twin=request("DELETE", "/w19"),
    twin_status=(200, 404),
)
for target in (f"/{RAW}", "/zenith.*", "/*.books", "/zenith%2Ebooks", "/.zenith"):
    row("W20", request("DELETE", target), 200, 400, 404)
for target in (f"/{RAW}/_close", f"/{RAW}/_open", f"/{RAW}/_freeze", f"/{RAW}/_block/write"):
    row("W20", request("POST", target), 400, 404, 405)
row("W21", request("PUT", f"/{RAW}/_settings", {"number_of_replicas": 0}), 400, 404, 405)
row("W21", request("PUT", "/_settings", {"number_of_replicas": 0}), 200, 400, 405)
row("W22", request("PUT", f"/{RAW}/_mapping", {"properties": {"evil": {"type": "text"}}}), 404)
row("W22", request("PUT", "/zenith.*,*/_mapping", {"properties": {"w22": {"type": "keyword"}}}), 200, 404)
for settings in (
    {"number_of_shards": 1025},
    {"analysis": {"filter": {"s": {"type": "synonym", "synonyms_path": "../secret"}}}},
    {"index.store.type": "nope"},
    {"routing.allocation.require._name": "x"},
):
    row(
        "W26",
        request("PUT", "/w26", {"settings": settings}),
        200,
        400,
        408,
        twin=request("DELETE", "/w26"),
        twin_status=(200, 404),
    )
for target in ("/_forcemerge?max_num_segments=1", "/_cache/clear", "/_upgrade", "/books/_forcemerge", "/_flush/synced"):
    row("W34", request("POST", target), 200, 400, 404, 405)
for method, target in (
    ("PUT", "/_cluster/settings"),
    ("POST", "/_nodes/reload_secure_settings"),
    ("PUT", "/_all/_settings"),
    ("POST", "/_dangling/x"),
    ("POST", "/_features/_reset"),
    ("PUT", "/_license"),
    ("PUT", "/_ilm/policy/x"),
    ("POST", "/_ilm/stop"),
    ("POST", "/_cluster/reroute"),
    ("DELETE", "/_snapshot/r"),
    ("POST", "/_cluster/voting_config_exclusions"),
):
    row("W35", request(method, target, {}), 200, 400, 404, 405)

# --- G: parsers and HTTP ---------------------------------------------------------------------------------

for text in (
    b'{"query":{"match_all":{}},"query":{"terms":{"k":{"index":"zenith.books","id":"1","path":"secret"}}}}',
    b'{"query":{"terms":{"k":{"index":"books","index":"zenith.books","id":"1","path":"secret"}}}}',
    b'{"size":1}{"query":{"match_all":{}}}', b'{"size":1} x', b"[]", b'"x"', b"null", b'{"size":01}', b'{"size":NaN}',
    b'{"size":1,}', b"{'size':1}",
    b'\xef\xbb\xbf{"size":1}', '{"size":1}'.encode("utf-16"), '{"size":1}'.encode("utf-32"), b'/*"query":*/{"size":1}',
    b'{"size":1}//x', b'{"k\xff":1}', b'{"\xc0\xafize":1}', b'{"size\x00":1}', b'{"size":' + b"[" * 3000 + b"]" * 3000 + b"}",
    b'{"query":' + b'{"bool":{"must":' * 600 + b'{"match_all":{}}' + b"}}" * 600 + b"}",
):  # fmt: skip
    row("G01-G07", request("POST", "/books/_search", text), 400, twin=SEARCH)
row(
    "G04",
    request("POST", "/books/_search", b'{"query":{"terms":{"k":{"\\u0069ndex":"\\u007aenith.books","id":"1","path":"secret"}}}}'),
    400,
    404,
    twin=SEARCH,
)
row(
    "G04",
    request(
        "POST",
        "/_bulk",
        b'{"\\u0069ndex":{"_\\u0069ndex":"\\u007aenith.books","_id":"1"}}\n{"evil":1}\n',
        {"content-type": "application/x-ndjson"},
    ),
    200,
    400,
    twin=BULK,
)
row("G04", request("POST", "/books/_search", b'{"query":{"match":{"a":"\\ud800"}}}'), 200, 400, twin=SEARCH)
row("G06", request("POST", "/books/_search", b'{"size":1.0,"from":0e0,"timeout":"10s","min_score":-0.0}'), 200, 400, twin=SEARCH)
for media in (
    "text/plain",
    "application/x-www-form-urlencoded",
    "application/yaml",
    "application/cbor",
    "application/smile",
    "multipart/form-data; boundary=x",
    "application/json, application/yaml",
    "nonsense",
    "application/vnd.elasticsearch+json; compatible-with=7",
):
    row("G08", request("POST", "/books/_search", b'{"size":1}', {"content-type": media}), 200, 400, 406, 415, twin=SEARCH)
row(
    "G08",
    request("POST", "/books/_search", b'{"size":1}').replace(
        b"content-type: application/json", b"content-type: application/json\r\ncontent-type: application/yaml"
    ),
    400,
    406,
    415,
    twin=SEARCH,
)
for query in (
    "source=%7B%22query%22%3A%7B%22terms%22%3A%7B%22k%22%3A%7B%22index%22%3A%22zenith.books%22%2C%22id%22%3A%221%22%2C%22path%22%3A%22secret%22%7D%7D%7D%7D&source_content_type=application/json",
    "a=1;b=2",
    "index=x&index=zenith.books",
    "pretty=true&pretty=false",
    "%69ndex=zenith.books",
    "index%00=x",
    "=x",
    "q=%",
    "q=%zz",
    "q=_index:zenith.books",
    "filter_path=**",
    "&".join(f"p{place}=1" for place in range(3000)),
    "preference=_shards:0",
    "preference=_only_nodes:*",
    "routing=zenith",
):
    row("G09", request("GET", f"/books/_search?{query}"), 200, 400, 404, 414, 431, None, http=True)
for header in ("x-http-method-override", "x-http-method", "x-method-override"):
    row("G10", request("GET", "/books", headers={header: "DELETE"}), 200)
row("G10", request("GET", "/books?_method=DELETE"), 400)
row("G10", request("GET", "/books?method=DELETE"), 400)
row("G11", request("HEAD", "/books", {"evil": 1}), 200, 400)
row("G11", request("DELETE", "/books/_doc/none", {"query": {}}), 400, 404)
for method in ("get", "QUERY", "TRACE", "CONNECT", "PRI", "G%45T"):
    row("G11", request(method, "/books/_search"), 400, 404, 405, 501, None, http=True)
SMUGGLED = b"DELETE /zenith.books HTTP/1.1\r\nhost: x\r\nx-tenant: zenith\r\n\r\n"
for header in (
    b"content-length: 5\r\ntransfer-encoding: chunked",
    b"content-length: 5\r\ncontent-length: 6",
    b"content-length: +5",
    b"content-length: 5,5",
    b"content-length: 0x5",
    b"transfer-encoding: xchunked",
    b"transfer-encoding : chunked",
    b"transfer-encoding: \x0bchunked",
    b"transfer-encoding: chunked, identity",
    b"transfer-encoding: identity, chunked",
    b"transfer-encoding: chunked\r\ntransfer-encoding: identity",
):
    row(
        "G12",
        b"POST /books/_search HTTP/1.1\r\nhost: x\r\nx-tenant: acme\r\nconnection: close\r\ncontent-type: application/json\r\n"
        + header
        + b"\r\n\r\n0\r\n\r\n"
        + SMUGGLED,
        *((200, 400) if header.endswith(b"identity, chunked") else (400, 411, 413, 501, None)),
        http=True,
    )
row(
    "G12",
    b"POST /books/_search HTTP/1.0\r\nhost: x\r\nx-tenant: acme\r\ncontent-type: application/json\r\n"
    + b"transfer-encoding: chunked\r\n\r\n0\r\n\r\n"
    + SMUGGLED,
    200,
    400,
    501,
    None,
    http=True,
)
for line in (
    b"GET /books/_search HTTP/1.1\nhost: x\nx-tenant: acme\n\n",
    b"GET /books/_search HTTP/1.1\r\nhost: x\r\nx-tenant: acme\r\n x-tenant: zenith\r\n\r\n",
    b"GET /books/_search HTTP/1.1\r\nhost: x\r\nx-tenant\x20: zenith\r\n\r\n",
    b"GET /books/_search HTTP/1.1\r\nhost: x\r\nx-tenant: ac\x00me\r\n\r\n",
    b"GET /books/_search HTTP/1.1\r\nhost: x\r\nx-tenant: acme\rx-tenant: zenith\r\n\r\n",
    b"GET /books/_search HTTP/1.1\r\nhost: x\r\nx_tenant: zenith\r\nx-tenant: acme\r\nconnection: close\r\n\r\n",
    b"GET /books/_search HTTP/1.1\r\nhost: x\r\nx-tenant: acme\r\nbig: " + b"x" * 100_000 + b"\r\n\r\n",
    b"GET /books/_search HTTP/1.1\r\nhost: x\r\nx-tenant: acme\r\n" + b"h: x\r\n" * 1000 + b"connection: close\r\n\r\n",
):
    row("G13", line, 200, 400, 401, 403, 431, None, http=True)
for size in (b"0x1", b"1;ext=\n", b"F" * 17, b"-1", b"1 ", b""):
    row(
        "G13",
        b"POST /books/_search HTTP/1.1\r\nhost: x\r\nx-tenant: acme\r\nconnection: close\r\n"
        + b"content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
        + size
        + b"\r\n{\r\n0\r\n\r\n",
        400,
        None,
        http=True,
    )
row("G14", request("GET", "/books/_search", headers={"expect": "100-continue"}), 200)
row(
    "G15",
    request(
        "GET",
        "/books/_search",
        headers={"connection": "Upgrade, HTTP2-Settings", "upgrade": "h2c", "http2-settings": "AAMAAABkAAQAAP__"},
    ),
    200,
    400,
    None,
    http=True,
)
row(
    "G15",
    request(
        "GET",
        "/books/_search",
        headers={"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-key": "eA==", "sec-websocket-version": "13"},
    ),
    200,
    400,
    403,
    426,
    None,
    http=True,
)
row("G15", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, 505, None, http=True)
PLAIN = b'{"query":{"match_all":{}}}'
ZIPPED = request("POST", "/books/_search", gzip.compress(PLAIN), {"content-encoding": "gzip"})
for coding, payload, safe in (
    ("gzip", gzip.compress(PLAIN)[:-6], (400,)),
    ("gzip", gzip.compress(PLAIN) + b"junk", (200, 400)),
    ("gzip", PLAIN, (400,)),
    ("br", PLAIN, (400, 415)),
    ("zstd", PLAIN, (400, 415)),
    ("snappy", PLAIN, (400, 415)),
    ("gzip, gzip", gzip.compress(gzip.compress(PLAIN)), (200, 400, 415)),
    ("identity, gzip", gzip.compress(PLAIN), (200, 400, 415)),
    ("gzip", gzip.compress(b'{"size":1' + b" " * 150_000_000 + b"}", 1), (200, 400, 413)),
):
    row("G16", request("POST", "/books/_search", payload, {"content-encoding": coding}), *safe, twin=ZIPPED)
row("G17", request("GET", "/books/_search", headers={"accept-encoding": "gzip;q=0, *;q=0.5"}), 200, 406)
for connection in ("close, x-tenant", "close, authorization", "x-tenant", "keep-alive, te"):
    row(
        "G18",
        request(
            "GET",
            "/books/_search",
            headers={"connection": connection, "te": "trailers", "proxy-connection": "close", "keep-alive": "x"},
        ),
        200,
        400,
    )
for header in (
    "x-scope-orgid",
    "securitytenant",
    "x-proxy-user",
    "x-proxy-roles",
    "es-security-runas-user",
    "x-ror-tenancy-id",
    "x-elastic-internal-origin",
    "elastic-api-version",
    "x-found-cluster",
    "tenant",
    "authorization",
    "cookie",
    "x-forwarded-for",
    "x-forwarded-prefix",
    "x-original-url",
    "x-rewrite-url",
    "workloadgroupid",
):
    value = "/zenith.books/_search" if "url" in header or "prefix" in header else "zenith"
    row("G19-G20", request("GET", "/books/_search", headers={header: value}), 200, 400, 401)
for value in ("x" * 100_000, "a%0ab", "zenith", "\xe9"):
    row("G24", request("GET", "/books/_search", headers={"x-opaque-id": value}), 200, 400, 431, None, http=True)
row(
    "G25",
    request("OPTIONS", "/books/_search", headers={"origin": "https://evil", "access-control-request-method": "POST"}),
    200,
    400,
    405,
)
row("G26", request("PUT", "/books/_doc/a%0d%0aSet-Cookie:x", {}), 200, 201, 400)
row(
    "G26",
    request("PUT", "/b%0d%0aX-Evil:1/_doc/1", {}),
    200,
    201,
    400,
    twin=request("DELETE", "/b%0d%0aX-Evil:1"),
    twin_status=(200, 400, 404),
)
row("G27", request("GET", "/books/_search", headers={"host": "evil:9200"}), 200)
row("G27", request("GET", "/books/_search").replace(b"host: 127.0.0.1\r\n", b""), 200, 400, None, http=True)
row(
    "G28",
    request(
        "GET",
        "/books/_search",
        headers={"cookie": "a=b", "if-none-match": "*", "range": "bytes=0-10", "cache-control": "max-age=100"},
    ),
    200,
)

# --- I: state and configuration --------------------------------------------------------------------------

for target in ("/metrics", "/-/ready", "/-/healthy", "/-/reload", "/debug", "/admin", "/-/tenants"):
    get("I08", target, 400, 404, 405)
for tenant in ("A", "a-", "a_", "a.", "-a", "a,b", "a:b", "a/b", "\xe9", "zenith\x7f"):
    row("I01", request("GET", "/_search", tenant=tenant), 400, 401, 403, None, http=True)
