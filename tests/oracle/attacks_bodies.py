"""Attacks by names in bodies, B, and by what a node tells of a query that it has run, C. Rows of ``attack``."""

from __future__ import annotations

from tests.oracle.attack import BULK, RAW, SEARCH, bulk, request, row, search

# --- B: names in bodies ----------------------------------------------------------------------------------

bulk("B01", {"index": {"_index": RAW, "_id": "1"}}, {"evil": 1}, target="/books/_bulk")
bulk("B01", {"delete": {"_index": RAW, "_id": "1"}}, target="/books/_bulk")
bulk("B01", {"update": {"_index": RAW, "_id": "1"}}, {"doc": {"evil": 1}}, target="/books/_bulk")
for value in (None, "", ["books", RAW], {"x": RAW}, 5, True, f"books,{RAW}", "*", "<zenith.books>", "-x"):
    bulk("B02", {"index": {"_index": value, "_id": "b02"}}, {"a": "one"})
for line in ('{"index":null}', '{"index":{}}', '{"index":[]}', '{"index":"zenith.books"}', "{}", "[]"):
    bulk("B02", line, {"a": "one"}, safe=(400,))
bulk("B03", f'{{"index":{{"_index":"books","_id":"b03"}},"delete":{{"_index":"{RAW}","_id":"1"}}}}', {"a": "one"})
bulk("B03", f'{{"index":{{"_index":"books","_id":"b03"}}}}{{"delete":{{"_index":"{RAW}","_id":"1"}}}}', {"a": "one"})
bulk("B04", "", '{"index":{"_index":"books","_id":"b04"}}  ', '{"a":"one"}\u2028{"delete":{"_index":"zenith.books","_id":"1"}}')
row(
    "B04",
    request("POST", "/_bulk", b'{"index":{"_index":"books"}}\r{"a":"one"}\r{"delete":{"_index":"zenith.books","_id":"1"}}\n'),
    200,
    400,
    twin=BULK,
)
row(
    "B04",
    request("POST", "/_bulk", b'{"index":{"_index":"books"}}\n{"a":"one"}', {"content-type": "application/x-ndjson"}),
    400,
    twin=BULK,
)
row(
    "B04",
    request("POST", "/_bulk", b'{"update":{"_index":"books","_id":"1"}}\n', {"content-type": "application/x-ndjson"}),
    400,
    twin=BULK,
)
bulk("B05", {"delete": {"_index": "books", "_id": "none"}}, {"index": {"_index": RAW, "_id": "evil"}}, {"a": "one"})
bulk(
    "B05",
    {"index": {"_index": "books", "_id": "b05"}},
    {"index": {"_index": RAW, "_id": "evil"}},
    {"delete": {"_index": "books", "_id": "b05"}},
)
for verb in ("upsert", "INDEX", "index ", "reindex", "\u0131ndex"):
    bulk("B06", {verb: {"_index": "books"}}, {"a": "one"}, safe=(400,))
for extra in (
    {"pipeline": "zenith_p"},
    {"_type": "_doc"},
    {"parent": "1"},
    {"_routing": "zenith"},
    {"dynamic_templates": {"a": "x"}},
    {"require_alias": True},
    {"nope": 1},
):
    bulk("B07", {"index": {"_index": "books", "_id": "b07", **extra}}, {"a": "one"})
for options in (
    "pipeline=zenith_p",
    "routing=zenith",
    "require_alias=true",
    "_source=true",
    "index=zenith.books",
    "type=zenith.books",
):
    bulk("B08", {"index": {"_index": "books", "_id": "b08"}}, {"a": "one"}, target=f"/_bulk?{options}")
row("B09", request("PUT", "/_bulk/stream", ({"index": {"_index": "books"}}, {"a": "one"})), 400, 405, twin=BULK)
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
# A field of the attacker's own making stands for the one of its name that tells indices, or tenants, in a filter.
for kind, name, value in (
    ("runtime_mappings", "_index", "acme.books"),
    ("runtime_mappings", "_index", RAW),
    ("runtime_mappings", "_routing", "zenith.1:"),
    ("derived", "_index", "acme.books"),
):
    made = {name: {"type": "keyword", "script": {"source": f"emit('{value}')"}}}
    row(
        "B24",
        request("POST", "/books,lib/_search", {"size": 0, kind: made, "aggs": {"a": {"terms": {"field": "secret.keyword"}}}}),
        200,
        400,
        twin=SEARCH,
        before=(request("PUT", "/lib/_doc/1?refresh=true", {"secret": "own"}),),
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
    ("POST", "/_msearch/template", {}),
    ("POST", "/_analyze", {"text": "x", "index": RAW}),
    ("POST", "/_terms_enum", {"field": "k"}),
):
    row("B27-B41", request(method, target, body), 400, 404, 405)
for method, target, body in (  # served by some layouts: then for the tenant's own names (more of these in `attacks_admin`)
    ("POST", "/_search/template", {"source": "{}"}),
    ("PUT", "/_ingest/pipeline/p", {"processors": []}),
    ("PUT", "/_scripts/s", {"script": {"lang": "painless", "source": "1"}}),
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

# --- C: what a node tells of a query that it has run -----------------------------------------------------

ALIKE = "/refs/_search"  # an index that lies in one pool with another tenant's, wherever it can
PROFILED = request("POST", ALIKE, {"profile": True, "query": {"match_all": {}}})
for query in (
    {"prefix": {"secret": {"value": "canary", "rewrite": "scoring_boolean"}}},
    {"wildcard": {"secret": {"value": "c*", "rewrite": "top_terms_50"}}},
    {"fuzzy": {"secret": {"value": "quicj"}}},
    {"query_string": {"query": "canary*", "fields": ["secret"]}},
    {"match_phrase_prefix": {"secret": "canary"}},
    {"span_multi": {"match": {"prefix": {"secret": "canary"}}}},
):
    search("C06", {"profile": True, "query": query}, 200, 400, target=ALIKE, twin=PROFILED)
    search("C06", {"pr\u006ffile": True, "post_filter": query}, 200, 400, target=ALIKE, twin=PROFILED)
    search("C06", {"profile": True, "aggs": {"a": {"filters": {"filters": [query]}}}}, 200, 400, target=ALIKE, twin=PROFILED)
search(
    "C06", {"profile": True, "aggs": {"a": {"terms": {"field": "secret.keyword"}}}}, 200, 400, target="/_search", twin=PROFILED
)
