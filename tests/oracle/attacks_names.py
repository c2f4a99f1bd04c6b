"""Attacks by names in the URL: A. Rows of ``attack``."""

from __future__ import annotations

from tests.oracle.attack import BULK, RAW, get, request, row

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
    get("A20", target, 400, 404, 405, None, http=True)  # 405: Elasticsearch 8 takes two segments for an index and a type
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
row("A24", request("POST", "/_bulk?index=zenith.books", ({"index": {"_id": "evil"}}, {"a": "one"})), 200, 400, twin=BULK)
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
