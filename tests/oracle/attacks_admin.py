"""Attacks on what administers indices, what tells of them, and what they are made from. Rows of ``attack``."""

from __future__ import annotations

from tests.oracle.attack import RAW, get, request, row
from tests.oracle.attacks_bodies import LOOKUP

OPEN = request("POST", "/books/_open")
ANALYZE = request("POST", "/books/_analyze", {"text": "a b"})
VECTORS = request("GET", "/books/_termvectors/1")

# --- states of indices -----------------------------------------------------------------------------------

CLOSES = (f"/{RAW}/_close", f"/{RAW}/_open", f"/books,{RAW}/_close", "/zenith%2Ebooks/_close", "/%3Czenith.books%3E/_close")
for target in CLOSES:
    row("W34", request("POST", target), 404, twin=OPEN)
for place in ("*", "_all", "zenith.*,*", "*,-books,zenith.*", "*enith*", "-nope*"):
    row("W34", request("POST", f"/{place}/_close?expand_wildcards=all&ignore_unavailable=true"), 200, 400, 404, twin=OPEN)
for target in ("/_close", "/_open", "/_close?index=zenith.books", "/_open?index=zenith.books"):
    row("W34", request("POST", target), 400, 404, twin=OPEN)
MERGES = (f"/{RAW}/_forcemerge", f"/{RAW}/_cache/clear", "/_cache/clear?index=zenith.books", "/_forcemerge?index=zenith.books")
for target in MERGES:
    row("W34", request("POST", target), 404)

BLOCK = request("PUT", "/nothing*/_block/read")
for place in (RAW, "zenith.*", "zenith.*,-nope", "*enith*", "*:books"):
    row("W34", request("PUT", f"/{place}/_block/read"), 200, 400, 404, twin=BLOCK)
    row("W34", request("DELETE", f"/{place}/_block/write"), 200, 400, 404, 405, twin=BLOCK)
for block in ("write,read", "..", "write%2F..%2F..%2Fzenith.books", "_all"):
    row("W34", request("PUT", f"/books/_block/{block}"), 400, 404, 405, twin=BLOCK)

# --- figures and tables ----------------------------------------------------------------------------------

for api in ("_stats", "_stats/docs", "_segments", "_recovery", "_shard_stores", "_termvectors/1"):
    get("F05", f"/{RAW}/{api}", 404)
FIGURES = ("_stats", "_stats/_all?level=shards", "_segments", "_recovery?detailed=true", "_shard_stores?status=all")
for api in (*FIGURES, "_search_shards"):
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
ESCAPED = b'{"text":"a","filter":[{"type":"stop","stopwords\\u005fpath":"/etc/passwd"}]}'
row("B58", request("POST", "/_analyze", ESCAPED), 400, twin=ANALYZE)
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
MADE_UP = {"doc": {"secret": "canary quick"}, "term_statistics": True}
row("C06", request("POST", "/books/_termvectors", MADE_UP), 200, 400, twin=VECTORS)
for asked in ("fields=*", "fields=*&field_statistics=true", "term_statistics=true", "fields=secret,_id,_routing,_index"):
    get("C05", f"/books/_termvectors/1?{asked}", 200, 400, twin=VECTORS)
row("C06", request("POST", "/books/_mtermvectors", {"docs": [MADE_UP, {"_id": "zenith.1:1"}]}), 200, 400, twin=VECTORS)
row("C06", request("POST", "/books/_termvectors/1", {"filter": {}, "fields": ["*"]}), 200, 400, twin=VECTORS)
for routing in ("zenith.1:", "zenith", "*", ""):
    row("B29", request("POST", "/books/_termvectors/1", {"routing": routing}), 200, 400, 404, twin=VECTORS)

# --- templates -------------------------------------------------------------------------------------------

MADE = request("POST", "/_index_template/_simulate_index/books-x")
for pattern in ("*", "zenith.*", "*.books", "z*", "**", "*,zenith.*", "<zenith.{now/d}>", "-zenith.*", "_all", ".ds-zenith*", ""):
    given = {"settings": {"number_of_shards": 3}, "aliases": {"k01": {}}}
    evil = {"index_patterns": [pattern], "priority": 9999, "template": given}
    row("B36", request("PUT", "/_index_template/evil", evil), 200, 400, twin=MADE)
    old = {"index_patterns": [pattern], "order": 9999, "aliases": {"k02": {}}}
    row("B36", request("PUT", "/_template/evil", old), 200, 400, twin=MADE)
    row("B36", request("POST", "/_index_template/_simulate", evil), 200, 400, twin=MADE)
for body in (
    {"index_patterns": ["x*"], "composed_of": ["zenith.component"]},
    {"index_patterns": ["x*"], "template": {"settings": {"index.default_pipeline": "zenith_p"}}},
    {"index_patterns": ["x*"], "template": {"settings": {"index.routing.allocation.require._name": "x"}}},
    {"index_patterns": ["x*"], "template": {"mappings": {"properties": {"q": {"type": "percolator"}}}}},
    {"index_patterns": ["x*"], "template": {"aliases": {"x-{index}": {}}}},
    {"index_patterns": ["x*"], "template": {"aliases": {"a": {"filter": LOOKUP}}}},
    {"index_patterns": ["x*"], "data_stream": {}},
    {"index_patterns": {"x": "*"}},
    {"index_patterns": [["*"]]},
):
    row("B36", request("PUT", "/_index_template/evil", body), 200, 400, 404, twin=MADE)
row("B36", request("PUT", "/_index_template/evil", b'{"index_p\\u0061tterns":["\\u002a"],"priority":9998}'), 200, twin=MADE)
row("B36", request("PUT", "/_template/evil", {"template": "*", "order": 1}), 200, 400, twin=MADE)
for name in ("_evil", "evil,zenith.t", "*", "zenith.t", "../_cluster/settings", "a%2F..%2Fb"):
    row("B36", request("PUT", f"/_index_template/{name}", {"index_patterns": ["y*"], "priority": 3}), 200, 400, twin=MADE)
for kind in ("_index_template", "_template", "_component_template"):
    for name in ("*", "_all", "zenith.*", "*enith*", "evil,zenith.*", ""):
        get("F05", f"/{kind}/{name}" if name else f"/{kind}", 200, 400, 404)
        if name:
            row("W35", request("DELETE", f"/{kind}/{name}"), 200, 400, 404, twin=MADE)
    get("F05", f"/{kind}/zenith.t", 404, method="HEAD")
row("F05", request("POST", "/_index_template/_simulate_index/zenith.books"), 200, twin=MADE)
row("F05", request("POST", "/_index_template/_simulate/zenith.t"), 400, 404, twin=MADE)

# --- what makes an index of another ----------------------------------------------------------------------

for api in ("_clone", "_split", "_shrink"):
    row("B37", request("PUT", f"/{RAW}/{api}/mine", {"settings": {"number_of_shards": 1}}), 400, 404, 500)
    row("B37", request("PUT", f"/books/{api}/zenith.x", {"settings": {"number_of_shards": 1}}), 200, 400, 500)
    row("B37", request("PUT", f"/books/{api}/x", {"aliases": {"zenith.books": {}}}), 200, 400, 500)
    row("B37", request("PUT", f"/books,{RAW}/{api}/x"), 400, 404, 500)
row("B37", request("POST", "/zenith.alias/_rollover"), 400, 404)
row("B37", request("POST", "/zenith.alias/_rollover/zenith.x-000002"), 400, 404)
row("B37", request("POST", "/books/_rollover/%3Czenith.x-%7Bnow%2Fd%7D-1%3E"), 400, 404)
row("B37", request("POST", "/books/_rollover", {"aliases": {"zenith.books": {}}}), 400)

# --- names that stand in a body or in a path -------------------------------------------------------------

ALIASED = request("PUT", "/_alias", {"index": "books", "alias": "twin"})
for index in (RAW, f"books,{RAW}", "zenith.*", "<zenith.books>", ["books", RAW], {"x": RAW}, None, ""):
    row("B34", request("PUT", "/_alias", {"index": index, "alias": "mine"}), 200, 400, 404, twin=ALIASED)
    row("B34", request("PUT", "/_alias/mine", {"index": index}), 200, 400, 404, twin=ALIASED)
for target in ("/_alias", "/_alias/mine", "/books/_alias", "/books/_aliases"):
    row("B34", request("PUT", target, {"alias": "zenith.books"}), 200, 400, twin=ALIASED)
    row("B34", request("PUT", target, {}), 200, 400, twin=ALIASED)
    row("B34", request("PUT", target), 200, 400, twin=ALIASED)
row("B34", request("PUT", f"/{RAW}/_alias/mine", {"index": "books"}), 200, 400, 404, twin=ALIASED)
row("B34", request("PUT", "/books/_alias/mine", {"index": RAW}), 400, 404, twin=ALIASED)
row("B34", request("PUT", "/books/_alias/mine", {"filter": LOOKUP}), 200, 400, 404, twin=ALIASED)
for cursor in ("", "garbage", "zenith", "FGluY2x1ZGVfY29udGV4dF91dWlk"):
    row("E01", request("POST", f"/_search/scroll/{cursor or 'x'}", {"scroll_id": cursor}), 400, 404)
    row("E01", request("DELETE", f"/_search/scroll/{cursor or 'x'}", {"scroll_id": [cursor]}), 400, 404)

# --- what expressions stand for --------------------------------------------------------------------------

for place in ("*", "_all", "zenith.*", "*enith*", "*,-books", "zenith.books", "books,zenith.books", "%3Czenith.books%3E", "*:*"):
    get("F05", f"/_resolve/index/{place}?expand_wildcards=all", 200, 400, 404)
get("F05", "/_resolve/index?name=zenith.books", 400, 404, 405)
get("F05", "/_resolve/cluster/*", 400, 404, 405)

# --- the node and the cluster ----------------------------------------------------------------------------

NODES = request("GET", "/_nodes/_all/http")
for target in (
    "/_nodes", "/_nodes/_all/_all", "/_nodes/stats", "/_nodes/stats/_all", "/_nodes/stats/indices?level=shards", "/_nodes/*:*",
    "/_nodes/stats/indices?level=indices", "/_nodes/stats/ingest,adaptive_selection,http,transport", "/_nodes/_local/settings",
    "/_cluster/state", "/_cluster/state/_all/_all", "/_cluster/state/metadata?expand_wildcards=all", "/_cluster/stats",
    "/_cluster/settings?include_defaults=true", "/_cluster/settings?include_defaults&flat_settings", "/_cluster/pending_tasks",
    "/_remote/info", "/_cat/nodes?h=*", "/_cat/nodes?h=*&full_id&format=json", "/_cat/master?h=*", "/_cat/allocation?h=*",
    "/_cat/nodeattrs?h=*", "/_cat/plugins?h=*", "/_nodes/hot_threads", "/_nodes/usage", "/_nodes/_all/usage/_all",
    "/_cat/thread_pool?h=*", "/_cat/circuit_breaker?h=*", "/_cat/pending_tasks?h=*", "/_cat/repositories?h=*", "/_cat",
    "/_cat/snapshots/_all?h=*", "/_cat/snapshots/*?ignore_unavailable=true", "/_cat/segment_replication?h=*&detailed=true",
    "/_cat/fielddata?h=*", "/_cat/fielddata/*?h=*&format=json", "/_cat/fielddata?fields=*,zenith*", "/_cat/tasks?h=*&detailed",
    "/_cat/tasks?nodes=*&actions=*&h=*", "/_cat/component_templates?h=*", "/_cat/component_templates/zenith.*,*", "/_info/_all",
    "/_info/ingest", "/_license", "/_security/_authenticate", "/_snapshot/_all", "/_snapshot/_status", "/_data_stream/*",
    "/_health_report?verbose=true", "/_cluster/allocation/explain", "/_synonyms", "/_inference/_all", "/_features",
):  # fmt: skip
    row("F01", request("GET", target), 200, 400, twin=NODES)
STATE = request("GET", "/_cluster/state/metadata/books")
for place in (RAW, f"books,{RAW}", "zenith.*", "*enith*", "*,-books", "_all", "%3Czenith.books%3E", "-nope*", ".*"):
    row("F04", request("GET", f"/_cluster/state/_all/{place}"), 200, 400, 404, twin=STATE)
    everywhere = f"/_cluster/state/blocks,routing_nodes,metadata/{place}?expand_wildcards=all"
    row("F04", request("GET", everywhere), 200, 400, 404, twin=STATE)
row("F04", request("GET", "/_cluster/state?index=zenith.books"), 400, twin=STATE)
for settings in ({"transient": {"cluster.blocks.read_only": True}}, {"persistent": {"action.auto_create_index": "zenith.*"}}, {}):
    row("W35", request("PUT", "/_cluster/settings", settings), 400, twin=NODES)
for method, target in (
    ("POST", "/_nodes/reload_secure_settings"), ("GET", "/_nodes/_local/usage"), ("POST", "/_cluster/reroute"),
    ("GET", "/_cluster/allocation/explain"), ("POST", "/_cluster/voting_config_exclusions?node_names=x"),
):  # fmt: skip
    row("W35", request(method, target), 200, 400, 404, 405, twin=NODES)
