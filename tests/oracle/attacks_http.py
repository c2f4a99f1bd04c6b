"""Attacks by parsers, HTTP and state: G and I. Rows of ``attack``."""

from __future__ import annotations

import gzip

from tests.oracle.attack import BULK, SEARCH, get, request, row

BY_QUERY = request("POST", "/books/_update_by_query?conflicts=proceed&refresh=true", {"query": {"match_all": {}}})

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
# To nodes some bodies that are no object are no body: every document of the pool, were they sent there.
for call, twin in (("_update_by_query", BY_QUERY), ("_delete_by_query", BY_QUERY), ("_search", SEARCH), ("_count", SEARCH)):
    for text in (
        b"[]", b"5", b'"x"', b"null", b"true", b" ", b'{"query":null}', b'{"query":5}', b'{"query":[]}', b'{"query":"x"}',
        b'{"retriever":{}}', b'{"sub_searches":[{}]}',
    ):  # fmt: skip
        row("G07", request("POST", f"/books/{call}", text), 200, 400, 409, twin=twin)
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
