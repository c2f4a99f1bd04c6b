"""Attacks by what a node keeps and runs for a tenant: stored scripts and search templates. Rows of ``attack``."""

from __future__ import annotations

from typing import Any

from tests.oracle.attack import BULK, RAW, SEARCH, request, row
from tests.oracle.attacks_bodies import LOOKUP

STORED = request("PUT", "/_scripts/twin", {"script": {"lang": "painless", "source": "doc['k'].size()"}})
BY_ID = request("POST", "/books/_search", {"script_fields": {"f": {"script": {"source": "doc['k'].size()"}}}})

# --- B48: names of stored scripts ------------------------------------------------------------------------

NAMES = ("zenith.plus", "plus", "zenith%2Eplus", "*", "_all", "plus,zenith.plus", "..%2Fzenith.plus", "_none", "nope", "find")
for name in NAMES:
    row("B48", request("GET", f"/_scripts/{name}"), 400, 404, twin=STORED)
    row("B48", request("DELETE", f"/_scripts/{name}"), 400, 404, twin=STORED)
    body = {"script": {"lang": "painless", "source": "1"}}
    row("B48", request("PUT", f"/_scripts/{name}", body), 200, 400, twin=STORED)
    row("B48", request("DELETE", f"/_scripts/{name}"), 200, 400, 404, twin=STORED)
for script in ({"id": "zenith.plus"}, {"id": "plus"}, {"stored": "zenith.plus"}, {"id": "_none"}, {"id": ["zenith.plus"]}):
    row("B48", request("POST", "/books/_search", {"script_fields": {"f": {"script": script}}}), 400, 404, twin=BY_ID)
    row("W14", request("POST", "/books/_update/1", {"script": script}), 400, 404, twin=BY_ID)
VICTIMS = "'zenith' + '.books'"  # which an error may quote
for source in (f"ctx._index = {VICTIMS}", f"ctx['_ind' + 'ex'] = {VICTIMS}", "ctx._id = 'x'; ctx._routing = 'zenith'"):
    evil = request("PUT", "/_scripts/evil", {"script": {"lang": "painless", "source": source}})
    row("B48", evil, 200, 400, twin=STORED)
    row("W14", request("POST", "/books/_update/1", {"script": {"id": "evil"}}), 200, 400, 404, twin=BY_ID, before=(evil,))
    everywhere = request("POST", "/books/_update_by_query", {"script": {"id": "evil"}})
    row("W17", everywhere, 200, 400, 404, 409, 500, twin=BY_ID, before=(evil,))
row("B48", request("PUT", "/_scripts/evil/search", {"script": {"lang": "painless", "source": "1"}}), 200, 400, twin=STORED)
for target in ("/_scripts/evil/..%2F..%2Fzenith.plus", "/_scripts/evil?id=zenith.plus", "/_scripts"):
    row("B48", request("PUT", target, {"script": {"lang": "painless", "source": "1"}}), 400, 405, twin=STORED)
row("B48", request("DELETE", "/_scripts/evil"), 200, 400, 404, twin=STORED)
row("B48", request("DELETE", "/_scripts/twin"), 200, 404)

# --- B70: what a node has compiled for another, and tells by its name ----------------------------------------
# The victim's script of the same source has run and failed: straight on the node, so in every layout by its physical name.

SECRET = "/_scripts/zenith.secret"
FIELDS, ACTS = "field", "update"  # contexts: a node keeps what it compiles for each
SECOND = "; doc.containsKey('k') ? x.length() : 1"
LONG = f"def y = '{'y' * 300}'; "  # errors show 256 characters


def failed(place: int, context: str = FIELDS, more: str = "", front: str = "") -> tuple[str, tuple[bytes, ...]]:
    """A source of its own for each row, and how it came to the node before."""
    source = f"{front}def x{place} = null; "
    source += more.replace("x.", f"x{place}.") if more else f"x{place}.length()"
    kept = request("PUT", SECRET, {"script": {"lang": "painless", "source": source}})
    by_id = {"script": {"id": "zenith.secret"}}
    if context == FIELDS:
        run = request("POST", "/books/_search", {"script_fields": {"f": by_id}})
    elif context == ACTS:
        run = request("POST", "/books/_update/1", by_id)
    elif context == "by query":
        run = request("POST", "/books/_update_by_query", by_id)
    elif context == "reindex":
        run = request("POST", "/_reindex", {"source": {"index": "books"}, "dest": {"index": "books-b"}, **by_id})
    else:
        body = {"pipeline": {"processors": [{"script": {"id": "zenith.secret"}}]}, "docs": [{"_source": {"a": "one"}}]}
        run = request("POST", "/_ingest/pipeline/_simulate", body)
    return source, (kept, run)


def told(source: str) -> bytes:
    """As an error tells the client's own source."""
    return f'"script":"{source[:256]}{" ..." if len(source) > 256 else ""}"'.encode()


def fields(source: str) -> dict[str, Any]:
    return {"script_fields": {"f": {"script": {"source": source}}}}


RECURSION = ("int f(int n) { return f(n + 1) } ", "return f(1)")  # Elasticsearch knows no statement then
for place, (front, more) in enumerate((("", ""), (LONG, ""), ("", f"x.a(){SECOND}"), RECURSION)):
    source, ran = failed(place, FIELDS, more, front)
    for target in ("/books/_search", "/books/_search?error_trace=true", "/books,refs/_search", "/_search"):
        row("B70", request("POST", target, fields(source)), 200, 400, twin=SEARCH, ran=ran, shows=told(source))
    lines = ({"index": "books"}, fields(source), {"index": "books"}, {})
    row("B70", request("POST", "/_msearch", lines), 200, twin=SEARCH, ran=ran, shows=told(source))
    mine = request("PUT", "/_scripts/evil", {"script": {"lang": "painless", "source": source}})
    by_id = {"script_fields": {"f": {"script": {"id": "evil"}}}}
    row("B70", request("POST", "/books/_search", by_id), 400, twin=BY_ID, before=(mine,), ran=ran, shows=b'"script":"evil"')
source, ran = failed(10, FIELDS, "doc.containsKey('k') ? x.length() : 1")
row("B70", request("POST", "/books,refs/_search", fields(source)), 200, twin=SEARCH, ran=ran, shows=told(source))
source, ran = failed(11, ACTS)
script = {"script": {"source": source}}
row("B70", request("POST", "/books/_update/1", script), 400, twin=BULK, ran=ran, shows=told(source))
updated = ({"update": {"_index": "books", "_id": "1"}}, script)
row("B70", request("POST", "/_bulk", updated), 200, twin=BULK, ran=ran, shows=told(source))
source, ran = failed(12, "by query")
script = {"script": {"source": source}}
row("B70", request("POST", "/books/_update_by_query", script), 400, 500, twin=BULK, ran=ran, shows=told(source))
source, ran = failed(13, "reindex")
copied = {"source": {"index": "books"}, "dest": {"index": "books-c"}, "script": {"source": source}}
row("B70", request("POST", "/_reindex", copied), 400, 500, twin=BULK, ran=ran, shows=told(source))
for place, front in ((14, ""), (15, LONG)):
    source, ran = failed(place, "ingest", front=front)
    pipeline = {"processors": [{"script": {"source": source}}]}
    docs = [{"_source": {"a": "one"}}]
    for query in ("", "?verbose=true", "?error_trace=true"):
        simulated = request("POST", f"/_ingest/pipeline/_simulate{query}", {"pipeline": pipeline, "docs": docs})
        row("B70", simulated, 200, twin=BULK, ran=ran, shows=b"length()")
    made = request("PUT", "/_ingest/pipeline/evil", pipeline)
    piped = ({"index": {"_index": "books"}}, {"a": "one"})
    row("B70", request("POST", "/_bulk?pipeline=evil", piped), 200, twin=BULK, before=(made,), ran=ran)
    row("B70", request("PUT", "/books/_doc/9?pipeline=evil", {"a": "one"}), 400, 500, twin=BULK, before=(made,), ran=ran)

# --- B47: templates that become searches ------------------------------------------------------------------

MADE = (
    {"query": {"terms": {"k": {"index": "{{i}}", "id": "1", "path": "secret"}}}},
    {"query": {"terms": {"k": {"index": RAW, "id": "1", "path": "secret"}}}},
    LOOKUP,
    {"query": {"more_like_this": {"fields": ["secret"], "like": [{"_index": "{{i}}", "_id": "1"}], "min_term_freq": 1}}},
    {"query": {"bool": {"must": [{"term": {"_index": "{{i}}"}}]}}},
    {"query": {"query_string": {"query": "_index:{{i}} OR _index:*"}}},
    {"query": {"match_all": {}}, "indices_boost": [{"{{i}}": 2}]},
    {"pit": {"id": "{{i}}"}},
    {"size": 0, "aggs": {"g": {"global": {}, "aggs": {"h": {"top_hits": {}}}}}},
    {"script_fields": {"f": {"script": {"id": "{{i}}"}}}},
    {"{{k}}": {"match_all": {}}},
)
PARAMS = {"i": RAW, "k": "query"}
SAFE = (200, 400, 404, 405)  # a node without the module for templates knows no such path
for source in MADE:
    for target in ("/books/_search/template", "/_search/template", "/_search/template?index=zenith.books"):
        row("B47", request("POST", target, {"source": source, "params": PARAMS}), *SAFE, twin=SEARCH)
    lines = ({"index": "books"}, {"source": source, "params": PARAMS}, {"index": RAW}, {"source": source, "params": PARAMS})
    row("B47", request("POST", "/_msearch/template", lines), *SAFE, twin=SEARCH)
    row("B47", request("POST", f"/{RAW}/_msearch/template", lines), *SAFE, twin=SEARCH)
TEXTS = (
    '{"query": {"terms": {"k": {{#toJson}}l{{/toJson}} }}}',
    '{"query": {"match": {"k": "{{{x}}}"}}}',
    '{"query": {"match_all": {}} {{&y}} }',
    '{{=<% %>=}}{"query": {"terms": {"k": {"index": "<%i%>", "id": "1", "path": "secret"}}}}',
    '{"query": {"match_all": {}}} {"query": 1}',
    '/* {{i}} */ {"query": {"match_all": {}}}',
    '{"query": {"match_all": {}}, "query": {"terms": {"k": {"index": "zenith.books", "id": "1", "path": "k"}}}}',
    '{"\\u0071uery": {"terms": {"k": {"\\u0069ndex": "zenith.books", "id": "1", "path": "secret"}}}}',
    '{"query": {{> zenith.find}} }',
    "",
)
MORE = {
    "i": RAW,
    "l": {"index": RAW, "id": "1", "path": "secret"},
    "x": '"}}, "post_filter": {"terms": {"k": {"index": "zenith.books", "id": "1", "path": "secret"}}, "a": {"b": "',
    "y": ', "post_filter": {"terms": {"k": {"index": "zenith.books", "id": "1", "path": "secret"}}}',
}
for text in TEXTS:
    row("B47", request("POST", "/books/_search/template", {"source": text, "params": MORE}), *SAFE, twin=SEARCH)
    row("B47", request("POST", "/_render/template", {"source": text, "params": MORE}), *SAFE, 502, twin=SEARCH)
for name in ("zenith.find", "find", "nope", "zenith.plus", "_none"):
    row("B47", request("POST", "/books/_search/template", {"id": name}), *SAFE, twin=SEARCH)
    row("B47", request("POST", "/_render/template", {"id": name}), *SAFE, twin=SEARCH)
    row("B47", request("POST", f"/_render/template/{name}", {}), *SAFE, twin=SEARCH)
for target in (f"/{RAW}/_search/template", f"/books,{RAW}/_search/template", "/*/_search/template", "/zenith.*/_search/template"):
    everything = {"size": 100, "query": {"ids": {"values": ["1"]}}, "_source": False}  # attackers' documents name victims
    row("B47", request("POST", target, {"source": everything}), *SAFE, twin=SEARCH)
IN_QUERY = "source=%7B%22id%22:%22zenith.find%22%7D&source_content_type=application/json"
row("B47", request("GET", f"/books/_search/template?{IN_QUERY}"), *SAFE)
