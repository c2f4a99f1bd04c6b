"""What leaves for the node."""

import base64

import orjson
import pytest

from tests.unit.gateway.whole import gateway, refused, sent


@pytest.fixture(params=["elasticsearch", "opensearch"])
def gate(request):
    return gateway(request.param)


@pytest.mark.parametrize(
    ("method", "target", "physical"),
    [
        ("GET", "/logs/_search", "/acme.logs/_search"),
        ("GET", "/_search", "/acme.*/_search"),
        ("GET", "/_all/_search", "/acme.*/_search"),
        ("GET", "/a,b*/_count", "/acme.a,acme.b*/_count"),
        ("GET", "/*,-b/_search?q=x:y", "/acme.*,-acme.b/_search?q=x:y"),
        ("GET", "/%3Clogs-%7Bnow%2Fd%7D%3E/_search", "/%3Cacme.logs-%7Bnow%2Fd%7D%3E/_search"),
        ("PUT", "/logs", "/acme.logs"),
        ("GET", "/logs/_doc/a%2Fb", "/acme.logs/_doc/a%2Fb"),
        ("GET", "/_mapping", "/acme.*/_mapping"),
        ("GET", "/_alias/cur", "/acme.*/_alias/acme.cur"),
        ("GET", "/logs/_search?routing=r&sort=a:asc", "/acme.logs/_search?routing=r&sort=a:asc"),
        ("GET", "/.kib*/_search", "/acme..kib*/_search?expand_wildcards=open,hidden"),
        ("GET", "/logs/_search?q=_index:logs%20AND%20a:b", "/acme.logs/_search?q=_index:acme.logs%20AND%20a:b"),
    ],
)
def test_target_is_the_tenants(gate, method, target, physical):
    assert sent(gate, method, target).target == physical


@pytest.mark.parametrize(
    ("body", "physical"),
    [
        (
            {"query": {"terms": {"u": {"index": "users", "id": "1", "path": "f"}}}},
            {"query": {"terms": {"u": {"index": "acme.users", "id": "1", "path": "f"}}}},
        ),
        ({"query": {"term": {"_index": "logs"}}}, {"query": {"term": {"_index": "acme.logs"}}}),
        ({"query": {"wildcard": {"_index": {"value": "lo*"}}}}, {"query": {"wildcard": {"_index": {"value": "acme.lo*"}}}}),
        ({"indices_boost": [{"logs": 2.0}]}, {"indices_boost": [{"acme.logs": 2.0}]}),
        (
            {"query": {"more_like_this": {"like": [{"_index": "logs", "_id": "1"}]}}},
            {"query": {"more_like_this": {"like": [{"_index": "acme.logs", "_id": "1"}]}}},
        ),
        ({"sort": ["_index"], "search_after": ["logs"]}, {"sort": ["_index"], "search_after": ["acme.logs"]}),
        ({"query": {"query_string": {"query": "_index:logs"}}}, {"query": {"query_string": {"query": "_index:acme.logs"}}}),
        ({"query": {"match": {"a": "acme.logs logs"}}}, {"query": {"match": {"a": "acme.logs logs"}}}),
    ],
)
def test_search_body_names_are_the_tenants(gate, body, physical):
    assert sent(gate, "POST", "/logs/_search", body).body == physical


def test_search_body_hidden_deep_is_found(gate):
    lookup = {"terms": {"u": {"index": "users", "id": "1", "path": "f"}}}
    physical = {"terms": {"u": {"index": "acme.users", "id": "1", "path": "f"}}}
    for place in (
        lambda q: {"post_filter": q},
        lambda q: {"query": {"bool": {"must_not": [{"bool": {"should": [q]}}]}}},
        lambda q: {"query": {"function_score": {"functions": [{"filter": q, "weight": 2}]}}},
        lambda q: {"aggs": {"a": {"filters": {"filters": {"f": q}}, "aggs": {"b": {"filter": q}}}}},
        lambda q: {"rescore": {"query": {"rescore_query": q}}},
        lambda q: {"highlight": {"fields": {"f": {"highlight_query": q}}}},
        lambda q: {"query": {"nested": {"path": "p", "query": q}}},
    ):
        out = sent(gate, "POST", "/logs/_search", place(lookup))
        assert out.body == place(physical)


def test_aggregations_are_asked_for_with_typed_keys_unless_the_client_does(gate):
    assert sent(gate, "POST", "/l/_search", {"aggs": {"a": {"max": {"field": "f"}}}}).target == "/acme.l/_search?typed_keys=true"
    assert (
        sent(gate, "POST", "/l/_search?typed_keys=true", {"aggs": {"a": {"max": {"field": "f"}}}}).target.count("typed_keys") == 1
    )
    assert "typed_keys" not in sent(gate, "POST", "/l/_search", {}).target


def test_bulk_names_are_the_tenants_and_documents_stay_byte_for_byte(gate):
    body = (
        b'{"index":{"_index":"a","_id":"1"}}\n{"x":  1, "_index":"victim"}\n{"delete":{"_id":"2"}}\n'
        b'{"update":{"_id":"3","_index":"b"}}\n{"doc":{"_index":"q"}}\n'
    )
    out = sent(gate, "POST", "/d/_bulk", body)
    assert out.target == "/acme.d/_bulk"
    assert out.send.body == (
        b'{"index":{"_index":"acme.a","_id":"1"}}\n{"x":  1, "_index":"victim"}\n{"delete":{"_id":"2"}}\n'
        b'{"update":{"_id":"3","_index":"acme.b"}}\n{"doc":{"_index":"q"}}\n'
    )


@pytest.mark.parametrize("name", ["true", "5"])
def test_bulk_index_that_is_no_string_is_the_text_a_node_would_read(gate, name):
    out = sent(gate, "POST", "/_bulk", b'{"index":{"_index":' + name.encode() + b"}}\n{}\n")
    assert orjson.loads(out.send.body.split(b"\n")[0])["index"]["_index"] == f"acme.{name}"


@pytest.mark.parametrize("name", ["_foo", "-foo", "+foo", ""])
def test_bulk_name_that_no_index_can_have_goes_as_it_is(gate, name):
    out = sent(gate, "POST", "/_bulk", b'{"index":{"_index":"' + name.encode() + b'"}}\n{}\n')
    assert orjson.loads(out.send.body.split(b"\n")[0])["index"]["_index"] == name


def test_bulk_all_is_never_sent(gate):
    assert b'"_all"' not in sent(gate, "POST", "/_bulk", b'{"delete":{"_index":"_all","_id":"1"}}\n').send.body


def test_msearch_headers_are_the_tenants(gate):
    body = b'{}\n{"query":{"match_all":{}}}\n{"index":["a","b"]}\n{}\n\n{}\n'
    body += b'{"index":[]}\n{}\n{"indices":"c,-d*"}\n{}\n{"index":null}\n{}\n'
    out = sent(gate, "POST", "/_msearch", body)
    assert out.target == "/acme.*/_msearch"
    headers = out.send.body.split(b"\n")[:-1:2]
    assert [orjson.loads(h).get("index", orjson.loads(h).get("indices")) if h else None for h in headers] == [
        None, ["acme.a", "acme.b"], None, ["acme.*"], ["acme.c", "-acme.d*"], ["acme.*"],
    ]  # fmt: skip


def test_create_index_body_names_and_settings(gate):
    body = {"settings": {"index": {"default_pipeline": "p", "number_of_shards": 1}}, "aliases": {"cur": {}}}
    assert sent(gate, "PUT", "/logs", body).body == {
        "settings": {"index": {"default_pipeline": "acme.p", "number_of_shards": 1}},
        "aliases": {"acme.cur": {}},
    }


def test_headers_that_go_upstream_are_few(gate):
    headers = [
        (b"authorization", b"x"),
        (b"cookie", b"x"),
        (b"x-opaque-id", b"me"),
        (b"x-forwarded-for", b"1"),
        (b"accept", b"application/json"),
    ]
    assert sorted(sent(gate, "GET", "/l/_search", headers=headers).send.headers) == [
        (b"accept", b"application/json"),
        (b"x-opaque-id", b"acme/me"),
    ]


@pytest.mark.parametrize("name", [b"x-opaque-id", b"accept", b"traceparent", b"tracestate"])
def test_header_that_a_node_would_choke_on_is_refused(gate, name):
    assert refused(gate, "GET", "/l/_search", headers=[(name, b"x" * 2000)])[0] == 400
    assert sent(gate, "GET", "/l/_search", headers=[(name, b"x" * 500)])


@pytest.mark.parametrize(
    "target", ["/" + "a," * 1500 + "b/_search", "/l/_search?preference=" + "x" * 4020, "/l/_doc/" + "%2F" * 1350]
)
def test_line_that_a_node_would_choke_on_once_rewritten_is_refused(gate, target):
    assert len(target) <= 4096
    assert refused(gate, "GET", target)[0] == 400


def test_body_from_the_query_string_is_a_body(gate):
    out = sent(
        gate,
        "GET",
        "/l/_search?source=%7B%22query%22:%7B%22term%22:%7B%22_index%22:%22l%22%7D%7D%7D&source_content_type=application/json",
    )
    assert out.target == "/acme.l/_search"
    assert out.body == {"query": {"term": {"_index": "acme.l"}}}


@pytest.mark.parametrize(
    ("method", "target", "body", "status", "type_"),
    [
        ("GET", "/l/_nope", b"", 400, None),
        ("PATCH", "/l", b"", 405, None),
        ("GET", "/l/_search?nope=1", b"", 400, "illegal_argument_exception"),
        ("POST", "/l/_search", b'{"quer":{}}', 400, "parsing_exception"),
        ("POST", "/l/_search", b'{"query":', 400, None),
        ("POST", "/l/_search", b'{"query":{"wrapper":{"query":"eyJub25zZW5zZSI6e319"}}}', 400, "parsing_exception"),
        ("GET", "/_foo/_search", b"", 400, "invalid_index_name_exception"),
        ("PUT", "/_foo", b"", 400, "invalid_index_name_exception"),
        ("GET", "/r:x/_search", b"", 404, None),
        ("POST", "/_bulk", b'{"index":{"_index":"a"}}\n{}', 400, "illegal_argument_exception"),
        ("POST", "/_bulk", b'{"index":{"_index":"a","nope":1}}\n{}\n', 400, "illegal_argument_exception"),
        ("POST", "/_bulk", b'{"index":{"_index":"a"},"delete":{"_index":"b"}}\n{}\n', 400, "illegal_argument_exception"),
        ("POST", "/_search/scroll", b'{"scroll_id":"raw"}', 400, "illegal_argument_exception"),
        ("PUT", "/l", b'{"mappings":{"properties":{"q":{"type":"percolator"}}}}', 400, "mapper_parsing_exception"),
        (
            "PUT",
            "/l/_mapping",
            b'{"properties":{"o":{"properties":{"q":{"type":"percolat\\u006fr"}}}}}',
            400,
            "mapper_parsing_exception",
        ),
        (
            "PUT",
            "/l/_mapping",
            b'{"dynamic_templates":[{"t":{"mapping":{"type":"percolator"}}}]}',
            400,
            "mapper_parsing_exception",
        ),
        ("PUT", "/l", b'{"mappings":{"dynamic":"false_allow_templates"}}', 400, "mapper_parsing_exception"),
        ("GET", "/_ml", b"", 400, "invalid_index_name_exception"),
        ("PUT", "/_cluster/settings", b"{}", 400, "illegal_argument_exception"),
        ("POST", "/_snapshot/mine", b"{}", 400, "illegal_argument_exception"),
        ("POST", "/_snapshot", b"{}", 405, None),
    ],
)
def test_refused_before_anything_is_sent(gate, method, target, body, status, type_):
    found, error = refused(gate, method, target, body)
    assert found == status
    if type_ is not None:
        assert error["error"]["type"] == type_


@pytest.mark.parametrize(
    ("headers", "tenant", "status"),
    [
        ((), None, 401),
        ((), "nobody", 403),
        ((), "ACME", 403),
        ([(b"x-tenant", b"zenith")], "acme", 400),
        ((), "acme,zenith", 403),
    ],
)
def test_tenant_that_is_not_clear_is_refused(gate, headers, tenant, status):
    assert refused(gate, "GET", "/l/_search", headers=headers, tenant=tenant)[0] == status


@pytest.mark.parametrize("media", [b"text/plain", b"application/yaml", b"application/smile", b"application/json; charset=utf-16"])
def test_media_type_that_is_not_read_is_refused(gate, media):
    assert refused(gate, "POST", "/l/_search", b"{}", headers=[(b"content-type", media)])[0] == 406


@pytest.mark.parametrize("media", [b"application/yaml, */*", b"application/smile", b"text/html, application/CBOR"])
def test_answer_that_is_not_json_is_refused(gate, media):
    assert refused(gate, "GET", "/l/_doc/1", headers=[(b"accept", media)])[0] == 406


def test_media_type_that_is_empty_is_refused(gate):
    assert refused(gate, "POST", "/l/_search", b"{}", headers=[(b"content-type", b"")])[0] == 400


@pytest.mark.parametrize(
    ("query", "physical"),
    [
        ({"multi_match": {"query": "l", "fields": ["_index"]}}, {"multi_match": {"query": "acme.l", "fields": ["_index"]}}),
        ({"query_string": {"query": "l OR m*", "default_field": "_index"}},
         {"query_string": {"query": "acme.l OR acme.m*", "default_field": "_index"}}),
        (
            {"bool": {"must": [{"multi_match": {"query": "l", "fields": ["a", "_index"]}}]}},
            {"bool": {"must": [{"dis_max": {
                "queries": [{"multi_match": {"query": "l", "fields": ["a"]}},
                            {"term": {"_index": {"value": "acme.l", "boost": 1.0}}}],
                "tie_breaker": 0.0,
            }}]}},
        ),
    ],
)  # fmt: skip
def test_queries_over_lists_of_fields_know_the_index(gate, query, physical):
    assert sent(gate, "POST", "/l/_search", {"query": query}).body == {"query": physical}


def test_query_in_base64_is_rewritten_like_any_other(gate):
    inner = base64.b64encode(orjson.dumps({"terms": {"u": {"index": "users", "id": "1", "path": "f"}}})).decode()
    out = sent(gate, "POST", "/l/_search", {"query": {"wrapper": {"query": inner}}}).body
    assert orjson.loads(base64.b64decode(out["query"]["wrapper"]["query"]))["terms"]["u"]["index"] == "acme.users"


def test_lookup_without_an_index_looks_in_the_tenants_default(gate):
    body = {"query": {"geo_shape": {"g": {"indexed_shape": {"id": "1"}}}}}
    assert sent(gate, "POST", "/l/_search", body).body["query"]["geo_shape"]["g"]["indexed_shape"]["index"] == "acme.shapes"


def test_body_where_none_belongs(gate):
    if gate.product:
        assert refused(gate, "GET", "/l/_doc/1", b"{}")[0] == 400
    else:
        assert sent(gate, "GET", "/l/_doc/1", b"{}").send.body == b""


def test_body_above_the_limit_is_a_413():
    gate = gateway(limits={"max_body": 2048})
    assert refused(gate, "POST", "/l/_search", b'{"query":{"term":{"a":"' + b"x" * 3000 + b'"}}}')[0] == 413


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"{}", "Malformed action/metadata line [3], expected FIELD_NAME but found [END_OBJECT]"),
        (b"[]", "Malformed action/metadata line [3], expected START_OBJECT but found [START_ARRAY]"),
        (b'{"index":', "Malformed action/metadata line or update body in line [3]: the body ends in the middle of a value"),
    ],
)
def test_action_line_without_an_action_is_refused_in_a_nodes_words(gate, line, told):
    _, answer = refused(gate, "POST", "/l/_bulk", b'{"index":{}}\n{"a":1}\n' + line + b'\n{"a":1}\n')
    assert answer["error"]["reason"].startswith(told)


@pytest.mark.parametrize("value", [None, 1, "x", [], [{}]])
def test_term_vectors_with_a_filter_that_no_node_comes_to_the_end_of_are_refused(gate, value):
    body = {"filter": value}
    refused(gate, "POST", "/logs/_termvectors/1", body)
    refused(gate, "POST", "/logs/_mtermvectors", {"ids": ["1"], "parameters": body})
    refused(gate, "POST", "/logs/_mtermvectors", {"docs": [{"_id": "1", **body}]})
    refused(gate, "POST", "/logs/_mtermvectors", {"docs": {"_id": "1", **body}})
