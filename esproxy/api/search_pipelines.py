"""Search pipelines, which OpenSearch alone has: their endpoints, and what one holds.

A pipeline stands between a client's search and what the node runs, behind the proxy. So what it holds is read as a search is, by
the type of each processor: a query in it is a query, a script a script. Only processors that work on the one search, or on the
hits it has found, are taken; none of these can name an index but in a query. The others reach out, to models and services that
are the whole cluster's.
"""

from __future__ import annotations

from esproxy.api.kinds import Kind
from esproxy.api.patch import Also, New, Row
from esproxy.api.schema import ANY, SCALAR, Dict, EndpointDef, Items, Leaf, Ref, Schema, Term, Union
from esproxy.api.words import QUERY, SEARCH, SEARCH_PIPELINE

_BODIES = ("_global.search:Request", SEARCH + "SearchRequestBody")
_OWN = "OpenSearch only"
_PIPELINE = Ref("esproxy:SearchPipeline")
_OUT = Leaf(Kind.REFUSE, "this processor reaches out, to models or services that are the whole cluster's")

# Stage → processor → its options, beside those that all have.
PROCESSORS: dict[str, dict[str, dict[str, Term]]] = {
    "request_processors": {
        "filter_query": {"query": QUERY},
        "oversample": {"sample_factor": SCALAR, "context_prefix": SCALAR},
        "acl_routing_search": dict.fromkeys(("acl_field", "extract_from_query"), SCALAR),
        "hierarchical_routing_search": dict.fromkeys(
            ("path_field", "anchor_depth", "path_separator", "enable_auto_detection"), SCALAR
        ),
        "temporal_routing_search": dict.fromkeys(
            ("timestamp_field", "granularity", "format", "enable_auto_detection", "hash_bucket"), SCALAR
        ),
        "neural_sparse_two_phase_processor": {"enabled": SCALAR, "two_phase_parameter": ANY},
    },
    "phase_results_processors": {
        "normalization-processor": {"normalization": ANY, "combination": ANY},
        "score-ranker-processor": {"combination": ANY},
    },
    # Fields here are paths in hits as their client gets them.
    "response_processors": {
        "collapse": {"field": SCALAR},
        "hybrid_score_explanation": {},
        "rename_field": {"field": SCALAR, "target_field": SCALAR},
        "sort": {"field": SCALAR, "order": SCALAR, "target_field": SCALAR},
        "split": dict.fromkeys(("field", "separator", "preserve_trailing", "target_field"), SCALAR),
        "truncate_hits": {"target_size": SCALAR, "context_prefix": SCALAR},
    },
}
REACHING_OUT = (
    "agentic_context", "agentic_query_translator", "mmr_over_sample", "mmr_rerank", "ml_inference", "neural_query_enricher",
    "personalize_search_ranking", "rerank", "retrieval_augmented_generation", "semantic_highlighter",
)  # fmt: skip
_COMMON = dict.fromkeys(("tag", "description", "ignore_failure"), SCALAR)


def _stages() -> list[Row]:
    rows: list[Row] = []
    for stage, processors in PROCESSORS.items():
        known: dict[str, Term] = dict.fromkeys(REACHING_OUT, _OUT)
        for name, options in processors.items():
            rows.append(New(f"esproxy:{stage}.{name}", {**_COMMON, **options}, "a processor of search pipelines"))
            known[name] = Ref(f"esproxy:{stage}.{name}")
        if stage == "request_processors":
            known["script"] = Ref("esproxy:SearchPipelineScript")
        rows.append(New(f"esproxy:{stage}", known, "processors, each by its type"))
    return rows


ROWS: list[Row] = [
    New("esproxy:SearchPipelineScript", dict(_COMMON), "a processor of search pipelines", parent=Ref("_types:Script")),
    *_stages(),
    New(
        "esproxy:SearchPipeline",
        {"description": SCALAR, "version": SCALAR, **{stage: Ref(f"esproxy:{stage}") for stage in PROCESSORS}},
        _OWN,
    ),
    New("esproxy:SearchPipelines", {}, "by their names", other=Dict(SEARCH_PIPELINE, _PIPELINE)),
    New("esproxy:SearchPipelineDone", {"acknowledged": SCALAR}, _OWN),
    *(
        Also(type_, {"search_pipeline": Union((SEARCH_PIPELINE, _PIPELINE))}, "one that is kept, or one for this search alone")
        for type_ in _BODIES
    ),
    # What each processor was given and made of it: the search before the node ran it, hits behind that.
    New(
        "esproxy:ProcessorResult",
        dict.fromkeys(("input_data", "output_data"), Union((Items(Ref(SEARCH + "Hit")), Ref(SEARCH + "SearchRequestBody")))),
        "asked for with verbose_pipeline",
    ),
    Also("_global.search:ResponseBody", {"processor_results": Ref("esproxy:ProcessorResult")}, _OWN),
]


def endpoints(schema: Schema) -> None:
    """Add them to the definitions."""
    common = dict.fromkeys(("error_trace", "filter_path", "human", "pretty", "master_timeout"), SCALAR)
    for name, method, request, response, options in (
        ("put", "PUT", _PIPELINE, "SearchPipelineDone", ("timeout",)),
        ("get", "GET", None, "SearchPipelines", ("local",)),
        ("delete", "DELETE", None, "SearchPipelineDone", ("timeout",)),
    ):
        urls = [((method,), "/_search/pipeline/{pipeline}")] + ([((method,), "/_search/pipeline")] if name == "get" else [])
        schema.endpoints[f"search_pipeline.{name}"] = EndpointDef(
            f"search_pipeline.{name}", urls, {"pipeline": SEARCH_PIPELINE}, {**common, **dict.fromkeys(options, SCALAR)},
            request, request is not None, Ref(f"esproxy:{response}"),
        )  # fmt: skip


ENDPOINTS = ("search_pipeline.put", "search_pipeline.get", "search_pipeline.delete")
