"""Search pipelines: the tenant's own names, queries in them read as queries, and no processor that reaches out."""

from __future__ import annotations

import orjson
import pytest

from tests.unit.gateway.whole import ask, gateway, refused, sent

LOOKUP = {"terms": {"k": {"index": "users", "id": "1", "path": "k"}}}
PHYSICAL = {"terms": {"k": {"index": "acme.users", "id": "1", "path": "k"}}}


def pipeline(query):
    script = {"script": {"source": "ctx._source.size = 1"}}
    return {"version": 1, "request_processors": [{"filter_query": {"tag": "t", "query": query}}, script]}


@pytest.fixture
def gate():
    return gateway("opensearch")


def test_pipeline_is_kept_under_the_tenants_name_and_read_as_a_search(gate):
    call = sent(gate, "PUT", "/_search/pipeline/p", pipeline(LOOKUP))
    assert call.target == "/_search/pipeline/acme.p" and call.body == pipeline(PHYSICAL)
    told = sent(gate, "GET", "/_search/pipeline/p").answer({"acme.p": pipeline(PHYSICAL)})
    assert orjson.loads(told.body) == {"p": pipeline(LOOKUP)}


@pytest.mark.parametrize(
    ("method", "asked", "physical"),
    [("GET", "", "acme.*"), ("GET", "/*", "acme.*"), ("GET", "/a,b*", "acme.a,acme.b*"), ("GET", "/zenith.p", "acme.zenith.p"),
     ("DELETE", "/*", "acme.*"), ("DELETE", "/a,zenith.*", "acme.a,acme.zenith.*"), ("PUT", "/a,b", "acme.a,b")],
)  # fmt: skip
def test_names_cannot_leave_the_tenant(gate, method, asked, physical):
    call = sent(gate, method, f"/_search/pipeline{asked}", pipeline({"match_all": {}}) if method == "PUT" else b"")
    assert call.target == f"/_search/pipeline/{physical}"


def test_pipeline_of_another_withholds_the_answer(gate):
    assert sent(gate, "GET", "/_search/pipeline").answer({"zenith.p": pipeline({"match_all": {}})}).status == 500


def test_search_names_the_tenants_pipeline(gate):
    assert sent(gate, "GET", "/l/_search?search_pipeline=p").target == "/acme.l/_search?search_pipeline=acme.p"
    assert sent(gate, "GET", "/l/_search?search_pipeline=_none").target == "/acme.l/_search?search_pipeline=_none"
    call = sent(gate, "POST", "/l/_search", {"search_pipeline": "p"})
    assert call.body == {"search_pipeline": "acme.p"}
    error = {"type": "illegal_argument_exception", "reason": "Pipeline acme.p is not defined"}
    told = call.answer({"error": {**error, "root_cause": [error]}, "status": 400}, 400)
    assert orjson.loads(told.body)["error"]["reason"] == "Pipeline p is not defined"


def test_pipeline_in_settings_is_named_to_its_client_in_errors(gate):
    error = {"type": "illegal_argument_exception", "reason": "Pipeline acme.p is not defined"}
    told = sent(gate, "GET", "/l/_search").answer({"error": {**error, "root_cause": [error]}, "status": 400}, 400)
    assert orjson.loads(told.body)["error"]["reason"] == "Pipeline p is not defined"


def test_pipeline_given_with_a_search_is_read_as_one(gate):
    assert sent(gate, "POST", "/l/_search", {"search_pipeline": pipeline(LOOKUP)}).body == {"search_pipeline": pipeline(PHYSICAL)}
    lines = b'{"index":"l"}\n' + orjson.dumps({"search_pipeline": pipeline(LOOKUP)}) + b"\n"
    assert orjson.loads(sent(gate, "POST", "/_msearch", lines).send.body.split(b"\n")[1])["search_pipeline"] == pipeline(PHYSICAL)


@pytest.mark.parametrize("stage", ["request_processors", "response_processors", "phase_results_processors"])
@pytest.mark.parametrize("kind", ["ml_inference", "rerank", "agentic_query_translator", "nope", ""])
def test_processor_that_reaches_out_is_refused(gate, stage, kind):
    body = {stage: [{kind: {}}]}
    assert refused(gate, "PUT", "/_search/pipeline/p", body)[0] == 400
    assert refused(gate, "POST", "/l/_search", {"search_pipeline": body})[0] == 400


def test_what_processors_saw_has_the_tenants_names(gate):
    seen = {"query": {"term": {"_index": {"value": "acme.l"}}}}
    hit = {"_index": "acme.l", "_id": "1", "_source": {}}
    results = [{"tag": "t", "input_data": {}, "output_data": seen}, {"input_data": [hit], "output_data": []}]
    told = sent(gate, "GET", "/l/_search?verbose_pipeline=true").answer({"hits": {"hits": [hit]}, "processor_results": results})
    out = orjson.loads(told.body)["processor_results"]
    assert out[0]["output_data"] == {"query": {"term": {"_index": {"value": "l"}}}} and out[1]["input_data"][0]["_index"] == "l"


def test_elasticsearch_has_none():
    assert refused(gateway("elasticsearch"), "PUT", "/_search/pipeline/p", pipeline({"match_all": {}}))[0] in (400, 405)
    assert ask(gateway("elasticsearch"), "POST", "/l/_search", {"search_pipeline": "p"}).status == 400
