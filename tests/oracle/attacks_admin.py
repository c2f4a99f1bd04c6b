"""More rows of ``attacks``: what administers indices, and what tells of them. F is about figures and tables, K about what is made."""

from __future__ import annotations

from tests.oracle.attacks import ATTACKS, RAW, get, request, row

OPEN = request("POST", "/books/_open")
ANALYZE = request("POST", "/books/_analyze", {"text": "a b"})
VECTORS = request("GET", "/books/_termvectors/1")

# --- states of indices -----------------------------------------------------------------------------------

for target in (f"/{RAW}/_close", f"/{RAW}/_open", f"/books,{RAW}/_close", "/zenith%2Ebooks/_close", "/%3Czenith.books%3E/_close"):
    row("W34", request("POST", target), 404, twin=OPEN)
for target in ("/*/_close", "/_all/_close", "/zenith.*,*/_close", "/*,-books,zenith.*/_close", "/*enith*/_close", "/-nope*/_close"):
    row("W34", request("POST", f"{target}?expand_wildcards=all&ignore_unavailable=true"), 200, 400, 404, twin=OPEN)
for target in ("/_close", "/_open", "/_close?index=zenith.books", "/_open?index=zenith.books"):
    row("W34", request("POST", target), 400, 404, twin=OPEN)
for target in (f"/{RAW}/_forcemerge", f"/{RAW}/_cache/clear", "/_cache/clear?index=zenith.books", "/_forcemerge?index=zenith.books"):
    row("W34", request("POST", target), 404)

# --- figures and tables ----------------------------------------------------------------------------------

for api in ("_stats", "_stats/docs", "_segments", "_recovery", "_shard_stores", "_termvectors/1"):
    get("F05", f"/{RAW}/{api}", 404)
for api in ("_stats", "_stats/_all?level=shards", "_segments", "_recovery?detailed=true", "_shard_stores?status=all", "_search_shards"):
    for place in ("", "/*", "/_all", "/zenith.*,*", "/*enith*", "/*,-books"):
        get("F05", f"{place}/{api}", 200)
get("F05", f"/{RAW}/_search_shards", 200, 404)
for api in ("_stats", "_segments", "_recovery", "_shard_stores"):
    get("A24", f"/{api}?index=zenith.books", 404)
for table in ("aliases", "shards", "segments", "recovery", "indices"):
    for place in ("", "/*", "/_all", "/zenith.*", "/*canary*", "/*,-books"):
        get("F02", f"/_cat/{table}{place}?h=*&expand_wildcards=all" if table == "indices" else f"/_cat/{table}{place}?h=*", 200)
    get("F02", f"/_cat/{table}?format=json&s=index:desc&v&help", 200)
for table in ("shards", "segments", "recovery"):
    get("F02", f"/_cat/{table}/{RAW}", 404)
    get("A24", f"/_cat/{table}?index=zenith.books", 400, 404)

# --- analysis --------------------------------------------------------------------------------------------

row("B58", request("POST", f"/{RAW}/_analyze", {"text": "a", "analyzer": "secret"}), 404, twin=ANALYZE)
row("B58", request("POST", "/_analyze?index=zenith.books", {"text": "a", "field": "secret"}), 404, twin=ANALYZE)
row("B58", request("POST", "/_analyze", {"index": RAW, "text": "a", "field": "secret"}), 400, 404, twin=ANALYZE)
row("B58", request("POST", "/books,zenith.books/_analyze", {"text": "a"}), 400, 404, twin=ANALYZE)
for definition in (
    {"type": "synonym", "synonyms_path": "/etc/passwd"},
    {"type": "stop", "stopwords_path": "../config/opensearch.yml"},
    {"type": "multiplexer", "filters": [{"type": "synonym", "synonyms_path": "x"}]},
    {"type": "synonym_graph", "synonyms_set": "zenith-set"},
    {"type": "hunspell", "locale": "../../etc"},
):
    row("B58", request("POST", "/_analyze", {"tokenizer": "standard", "filter": [definition], "text": "a"}), 400, twin=ANALYZE)
row("B58", request("POST", "/_analyze", b'{"text":"a","filter":[{"type":"stop","stopwords\\u005fpath":"/etc/passwd"}]}'), 400, twin=ANALYZE)
for document in (
    {"_index": RAW, "_id": "1", "fields": ["secret"], "term_statistics": True},
    {"_index": RAW, "doc": {"secret": "red"}, "term_statistics": True},
    {"_index": f"books,{RAW}", "_id": "1"},
    {"_index": "<zenith.books>", "_id": "1"},
    {"_index": "zenith.*", "_id": "1"},
):
    row("B29", request("POST", "/_mtermvectors", {"docs": [document]}), 200, 400, 404, twin=VECTORS)
row("B29", request("POST", "/_mtermvectors?index=zenith.books", {"ids": ["1"]}), 200, 400, 404, twin=VECTORS)
row("B29", request("POST", "/_mtermvectors", {"ids": ["1"], "parameters": {"_index": RAW}}), 200, 400, 404, twin=VECTORS)
row("B29", request("GET", f"/{RAW}/_mtermvectors?ids=1"), 200, 404, twin=VECTORS)
row("C06", request("POST", "/books/_termvectors", {"doc": {"secret": "canary quick"}, "term_statistics": True}), 200, twin=VECTORS)

__all__ = ["ATTACKS"]
