"""Attacks by writes: W. Rows of ``attack``."""

from __future__ import annotations

from tests.oracle.attack import RAW, request, row

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
