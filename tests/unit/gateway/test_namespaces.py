"""Names that are no index's: templates, and what they match."""

from __future__ import annotations

import orjson
import pytest

from tests.unit.gateway.whole import gateway, refused, sent


@pytest.fixture
def gate():
    return gateway("opensearch")


def test_template_and_all_that_it_names_gets_the_prefix(gate):
    body = {
        "index_patterns": ["logs-*", "*", "-x"],
        "composed_of": ["base"],
        "template": {"aliases": {"all": {}, "{index}-z": {}}},
    }
    one = sent(gate, "PUT", "/_index_template/logs", body)
    assert one.target == "/_index_template/acme.logs"
    assert one.body == {
        "index_patterns": ["acme.logs-*", "acme.*", "acme.-x"],
        "composed_of": ["acme.base"],
        "template": {"aliases": {"acme.all": {}, "{index}-z": {}}},
    }


@pytest.mark.parametrize("pattern", [["_x"], "_all", ["a", "_"]])
def test_pattern_that_only_the_prefix_would_make_legal_is_refused(gate, pattern):
    status, body = refused(gate, "PUT", "/_index_template/logs", {"index_patterns": pattern})
    assert status == 400 and body["error"]["type"] == "invalid_index_template_exception"


def test_alias_with_the_index_inside_is_refused(gate):
    for endpoint in ("_template", "_index_template"):
        aliases = {"aliases": {"a-{index}": {}}}
        body = {"index_patterns": ["x"], **(aliases if endpoint == "_template" else {"template": aliases})}
        status, told = refused(gate, "PUT", f"/{endpoint}/t", body)
        assert status == 400 and "placeholder" in told["error"]["reason"]


def test_names_of_a_path_get_the_prefix_one_by_one(gate):
    assert sent(gate, "GET", "/_template/a*,b").target == "/_template/acme.a*,acme.b"
    assert sent(gate, "DELETE", "/_index_template/*").target == "/_index_template/acme.*"
    assert sent(gate, "GET", "/_component_template").target == "/_component_template/acme.*"


def test_all_templates_of_a_tenant_that_has_none_are_found(gate):
    answer = sent(gate, "GET", "/_index_template").answer({"index_templates": []}, 404)
    assert answer.status == 200
    assert sent(gate, "GET", "/_index_template/x*").answer({"index_templates": []}, 404).status == 404


def test_template_of_somebody_else_withholds_the_answer(gate):
    found = {"index_templates": [{"name": "zenith.t", "index_template": {"index_patterns": ["zenith.*"]}}]}
    assert sent(gate, "GET", "/_index_template/t").answer(found).status == 500
    found["index_templates"][0]["name"] = "acme.t"
    assert sent(gate, "GET", "/_index_template/t").answer(found).status == 500


def test_texts_about_templates_name_them_as_the_client_does(gate):
    words = "index template [acme.t] has index patterns [acme.x*] matching [acme.u] with patterns (acme.u => [acme.x*])"
    error = {"error": {"type": "illegal_argument_exception", "reason": words}, "status": 400}
    told = sent(gate, "PUT", "/_index_template/t", {"index_patterns": ["x*"]}).answer(error, 400)
    assert b"index template [t] has index patterns [x*] matching [u] with patterns (u => [x*])" in told.body


def test_open_and_close_want_an_index(gate):
    for verb in ("_open", "_close"):
        status, body = refused(gate, "POST", f"/{verb}")
        assert status == 400 and body["error"]["reason"] == "Validation Failed: 1: index is missing;"


def test_target_of_a_resize_is_a_name_of_the_tenants(gate):
    assert sent(gate, "PUT", "/a/_clone/b").target == "/acme.a/_clone/acme.b"
    assert sent(gate, "POST", "/a/_rollover/a-2").target == "/acme.a/_rollover/acme.a-2"
    assert refused(gate, "PUT", "/a/_clone/_b")[0] == 400


def test_analysis_with_files_of_a_node_is_refused(gate):
    body = {"text": "a", "tokenizer": "standard", "filter": [{"type": "multiplexer", "filters": [{"synonyms_path": "x"}]}]}
    assert refused(gate, "POST", "/_analyze", body)[0] == 400
    assert sent(gate, "POST", "/_analyze?index=a", {"text": "a"}).target == "/acme.a/_analyze"


def test_alias_may_be_named_in_the_body(gate):
    one = sent(gate, "PUT", "/_alias", {"index": "a,b*", "alias": "x"})
    assert (one.target, one.body) == ("/_alias", {"index": "acme.a,acme.b*", "alias": "acme.x"})
    assert sent(gate, "PUT", "/a/_alias", {"alias": "x"}).target == "/acme.a/_alias"


def test_cursor_of_the_body_goes_before_the_one_of_the_path(gate):
    opened = sent(gate, "POST", "/a/_search?scroll=1m", {}).answer({"_scroll_id": "raw", "hits": {"hits": []}})
    cursor = orjson.loads(opened.body)["_scroll_id"]
    for target in ("/_search/scroll/nothing?scroll=1m", "/_search/scroll?scroll_id=nothing&scroll=1m"):
        one = sent(gate, "POST", target, {"scroll_id": cursor})
        assert (one.target, one.body) == ("/_search/scroll?scroll=1m", {"scroll_id": "raw"})
    assert refused(gate, "POST", "/_search/scroll/nothing", {"scroll": "1m"})[0] == 400


def test_body_that_is_no_query_is_not_valid(gate):
    assert refused(gate, "POST", "/a/_validate/query", {"nope": 1}) == (200, {"valid": False})
    status, body = refused(gate, "POST", "/a/_validate/query?explain=true", {"nope": 1})
    assert status == 200 and "nope" in body["error"]


def test_types_of_mappings_are_refused_as_nodes_do(gate):
    status, body = refused(gate, "PUT", "/a/_mapping", {"_doc": {"properties": {}}})
    assert (status, body["error"]["reason"]) == (400, "Types cannot be provided in put mapping requests")
