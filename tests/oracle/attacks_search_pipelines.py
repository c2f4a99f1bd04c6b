"""Attacks by search pipelines (OpenSearch): what stands between a search and the node shows nothing of others. Rows of
``attack``.

Elasticsearch knows none of this, so there all of it is refused, the twins too.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.oracle import attack
from tests.oracle.attack import RAW, request

row = partial(attack.row, twin_status=(200, 400, 405))

ONLY = {"request_processors": [{"filter_query": {"query": {"match_all": {}}}}]}
KEPT = request("PUT", "/_search/pipeline/twin", ONLY)
WITH = request("POST", "/books/_search", {"search_pipeline": ONLY})
STAGES = ("request_processors", "response_processors", "phase_results_processors")

QUERIES: tuple[Any, ...] = (
    {"terms": {"k": {"index": RAW, "id": "1", "path": "k"}}},
    {"more_like_this": {"like": [{"_index": RAW, "_id": "1"}], "min_term_freq": 1, "min_doc_freq": 1}},
    {"geo_shape": {"g": {"indexed_shape": {"index": RAW, "id": "1", "path": "g"}}}},
    {"term": {"_index": RAW}}, {"prefix": {"_index": "zenith"}}, {"query_string": {"query": f"_index:{RAW}"}},
    {"wrapper": {"query": "eyJ0ZXJtIjp7Il9pbmRleCI6Inplbml0aC5ib29rcyJ9fQ=="}},
    {"percolate": {"field": "q", "index": RAW, "id": "1"}},
    {"script": {"script": {"id": "zenith.plus"}}}, {"nope": {}},
)  # fmt: skip
for query in QUERIES:
    body = {"request_processors": [{"filter_query": {"query": query}}]}
    row("B51", request("PUT", "/_search/pipeline/evil", body), 200, 400, 405, twin=KEPT)
    ran = request("POST", "/books/_search?search_pipeline=evil&verbose_pipeline=true&preference=zenith", {})
    row("B51", ran, 200, 400, 404, twin=KEPT)
    row("B51", request("POST", "/books/_search", {"search_pipeline": body, "verbose_pipeline": True}), 200, 400, 404, twin=WITH)
    row("B51", request("POST", "/_msearch", ({"index": "books"}, {"search_pipeline": body})), 200, 400, 404, twin=WITH)

PROCESSORS: tuple[dict[str, Any], ...] = (
    {"ml_inference": {"model_id": "m", "query_template": '{"term":{"_index":"zenith.books"}}'}},
    {"agentic_query_translator": {"agent_id": "a"}}, {"neural_query_enricher": {"default_model_id": "m"}},
    {"rerank": {"ml_opensearch": {"model_id": "m"}}}, {"retrieval_augmented_generation": {"model_id": "m"}},
    {"personalize_search_ranking": {"campaign_arn": "a"}}, {"nope": {}}, {"": {}}, {"Script": {"source": "1"}},
    {"script": {"source": "ctx._source.size = 1", "nope": 1}}, {"filter_query": {"query": {"match_all": {}}, "index": RAW}},
    {"filter_query": {"query": {"match_all": {}}}, "ml_inference": {}},
)  # fmt: skip
for processor in PROCESSORS:
    for stage in STAGES:
        row("B51", request("PUT", "/_search/pipeline/evil", {stage: [processor]}), 400, 405, twin=KEPT)
        row("B51", request("POST", "/books/_search", {"search_pipeline": {stage: [processor]}}), 400, twin=WITH)
for raw in (
    b'{"request_processors":[{"\\u006dl_inference":{}}]}',
    b'{"request_processors":[],"request_processors":[{"ml_inference":{}}]}',
    b'{"\\u0072equest_processors":[{"ml_inference":{}}]}',
    b'{"request_processors":{"ml_inference":{}}}',
    b'{"request_processors":[[{"ml_inference":{}}]]}',
):
    row("B51", request("PUT", "/_search/pipeline/evil", raw), 400, 405, twin=KEPT)
for source in (
    "ctx._source.query = ['match_all': [:]]", "ctx._source.pipeline = 'zenith.p'", "ctx['_ind'+'ex'] = 'zenith' + '.books'",
    "ctx._source['indices'] = ['zenith' + '.books']", "ctx._source.size = 10000; ctx._source.explain = true",
):  # fmt: skip
    body = {"request_processors": [{"script": {"source": source}}]}
    row("B51", request("PUT", "/_search/pipeline/evil", body), 200, 400, 405, twin=KEPT)
    row("B51", request("GET", "/books/_search?search_pipeline=evil&preference=zenith"), 200, 400, 404, 500, twin=KEPT)
    row("B51", request("POST", "/books/_search", {"search_pipeline": body}), 200, 400, 500, twin=WITH)
for target in ("_index", "_id", "_routing", "_source._index", "fields._index"):
    body = {"response_processors": [{"rename_field": {"field": "k", "target_field": target, "ignore_failure": True}}]}
    row("B51", request("POST", "/books/_search", {"search_pipeline": body, "fields": ["k"]}), 200, 400, 500, twin=WITH)

row("B51", request("DELETE", "/_search/pipeline/evil"), 200, 400, 404, 405, twin=KEPT)
for name in ("zenith.stamp", "zenith~p", "*", "_all", "zenith.*", "*p", "a,zenith.p", "..%2Fzenith.p", "_none", "nope"):
    row("W19", request("GET", f"/_search/pipeline/{name}"), 200, 400, 404, 405, twin=KEPT)
    row("W19", request("PUT", f"/_search/pipeline/{name}", ONLY), 200, 400, 405, twin=KEPT)
    row("W19", request("DELETE", f"/_search/pipeline/{name}"), 200, 400, 404, 405, twin=KEPT)
    row("W19", request("GET", f"/books/_search?search_pipeline={name}&size=0"), 200, 400, twin=KEPT)
    row("W19", request("PUT", "/b51", {"settings": {"index.search.default_pipeline": name}}), 200, 400, twin=KEPT)
    row("W19", request("GET", "/b51/_search"), 200, 400, 404, twin=KEPT)
row("W19", request("GET", "/_search/pipeline?filter_path=*zenith*"), 200, 400, 404, 405, twin=KEPT)

# --- E05: all points in time, of whomever ------------------------------------------------------------------

ALL = "/_search/point_in_time/_all"
OWN_PITS = request("GET", ALL)
for target in (ALL, f"{ALL}?filter_path=*", f"{ALL}?human", "/_search/point_in_time/_all/_all", "/_search/point_in_time/*"):
    for method in ("GET", "DELETE"):
        row("E05", request(method, target), 200, 400, 404, 405, twin=OWN_PITS)
row("E05", request("DELETE", "/_search/point_in_time", {"pit_id": ["_all"]}), 200, 400, 404, 405, twin=OWN_PITS)
row("E05", request("POST", f"/{RAW}/_search/point_in_time?keep_alive=1m"), 400, 404, 405, twin=OWN_PITS)
