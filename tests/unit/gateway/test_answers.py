"""What comes back to the client."""

import orjson
import pytest

from esproxy import exact
from esproxy.answer import is_error
from esproxy.errors import Failed, Violation
from esproxy.exchange import Abort, Answer, Calls, Reply, Write
from esproxy.upstream.engine_api import Failure
from tests.unit.gateway.whole import JSON, ask, gateway, refused, sent


@pytest.fixture(params=["elasticsearch", "opensearch"])
def gate(request):
    return gateway(request.param)


def hit(index="acme.l", **more):
    return {"_index": index, "_id": "1", "_score": 1.0, "_source": {"_index": "acme.l", "a": "acme.l"}, **more}


def found(*hits, **more):
    return {
        "took": 1,
        "timed_out": False,
        "hits": {"total": {"value": 1, "relation": "eq"}, "max_score": 1.0, "hits": list(hits)},
        **more,
    }


def test_hits_lose_the_prefix_and_documents_stay(gate):
    reply = sent(gate, "GET", "/l/_search").answer(found(hit()))
    assert orjson.loads(reply.body)["hits"]["hits"] == [hit("l")]


def test_key_that_no_definition_knows_is_copied_and_counted(gate):
    new = {"took_by_magic": {"_index": "acme.l"}}
    assert orjson.loads(sent(gate, "GET", "/l/_search").answer(found(hit(), **new)).body).items() >= new.items()
    assert gate.unknown_keys == 1
    (step,) = sent(gate, "GET", "/l/_search").pieces(b'{"took":1,"a":', b"1}")
    assert isinstance(step, Reply) and step.body == b'{"took":1,"a":1}'
    assert gate.unknown_keys == 2


@pytest.mark.parametrize("index", ["zenith.l", "l", "acme-eu.l", "acmel", "", "ACME.l"])
def test_hit_of_another_withholds_the_answer(gate, index):
    reply = sent(gate, "GET", "/l/_search").answer(found(hit(), hit(index)))
    assert reply.status == 500
    assert b"zenith" not in reply.body
    assert gate.violations == 1


@pytest.mark.parametrize(
    ("method", "target", "body", "answer"),
    [
        ("GET", "/l/_doc/1", b"", {"_index": "zenith.l", "_id": "1", "found": True, "_source": {}}),
        ("PUT", "/l/_doc/1", {}, {"_index": "zenith.l", "_id": "1", "result": "created"}),
        (
            "POST",
            "/_mget",
            {"docs": [{"_index": "l", "_id": "1"}]},
            {"docs": [{"_index": "zenith.l", "_id": "1", "found": True}]},
        ),
        (
            "POST",
            "/_bulk",
            b'{"delete":{"_index":"l","_id":"1"}}\n',
            {"took": 1, "errors": False, "items": [{"delete": {"_index": "zenith.l", "_id": "1", "status": 200}}]},
        ),
        (
            "POST",
            "/l/_search",
            {"aggs": {"t": {"top_hits": {}}}},
            {**found(), "aggregations": {"top_hits#t": {"hits": {"hits": [hit("zenith.l")]}}}},
        ),
        ("GET", "/l/_search", b"", found(hit(inner_hits={"x": {"hits": {"hits": [hit("zenith.l")]}}}))),
        ("GET", "/l", b"", {"zenith.l": {"aliases": {}}}),
        ("GET", "/l/_mapping", b"", {"zenith.l": {"mappings": {}}}),
    ],
)
def test_name_of_another_anywhere_withholds_the_answer(gate, method, target, body, answer):
    headers = [(b"content-type", b"application/x-ndjson")] if target == "/_bulk" else []
    reply = sent(gate, method, target, body, headers).answer(answer)
    assert reply.status == 500
    assert b"zenith" not in reply.body


def test_typed_keys_are_taken_off_again(gate):
    plan = sent(gate, "POST", "/l/_search", {"aggs": {"a": {"max": {"field": "f"}}}})
    assert orjson.loads(plan.answer({**found(), "aggregations": {"max#a": {"value": 1.0}}}).body)["aggregations"] == {
        "a": {"value": 1.0}
    }


def test_typed_keys_stay_for_a_client_that_asked(gate):
    plan = sent(gate, "POST", "/l/_search?typed_keys=true", {"aggs": {"a": {"max": {"field": "f"}}}})
    assert orjson.loads(plan.answer({**found(), "aggregations": {"max#a": {"value": 1.0}}}).body)["aggregations"] == {
        "max#a": {"value": 1.0}
    }


def test_buckets_and_sort_values_on_the_index_lose_the_prefix(gate):
    plan = sent(
        gate,
        "POST",
        "/l/_search",
        {"sort": ["_index"], "aggs": {"w": {"terms": {"field": "_index"}}, "k": {"terms": {"field": "k"}}}},
    )
    buckets = [{"key": "acme.l", "doc_count": 1}]
    answer = {**found(hit(sort=["acme.l"])), "aggregations": {"sterms#w": {"buckets": buckets}, "sterms#k": {"buckets": buckets}}}
    out = orjson.loads(plan.answer(answer).body)
    assert out["hits"]["hits"][0]["sort"] == ["l"]
    assert out["aggregations"] == {"w": {"buckets": [{"key": "l", "doc_count": 1}]}, "k": {"buckets": buckets}}


def test_bucket_of_anothers_index_withholds_the_answer(gate):
    plan = sent(gate, "POST", "/l/_search", {"aggs": {"w": {"terms": {"field": "_index"}}}})
    assert (
        plan.answer({**found(), "aggregations": {"sterms#w": {"buckets": [{"key": "zenith.l", "doc_count": 1}]}}}).status == 500
    )


def test_error_texts_and_fields_lose_the_prefix(gate):
    cause = {"type": "index_not_found_exception", "reason": "no such index [acme.l]", "resource.id": "acme.l", "index": "acme.l"}
    reply = sent(gate, "GET", "/l/_search").answer({"error": {"root_cause": [cause], **cause}, "status": 404}, 404)
    assert reply.status == 404
    assert b"acme" not in reply.body
    assert orjson.loads(reply.body)["error"]["reason"] == "no such index [l]"


def test_missing_alias_beside_a_found_one(gate):
    answer = {"error": "alias [acme.b] missing", "status": 404, "acme.l": {"aliases": {"acme.a": {}}}}
    reply = sent(gate, "GET", "/_alias/a,b").answer(answer, 404)
    assert orjson.loads(reply.body) == {"error": "alias [b] missing", "status": 404, "l": {"aliases": {"a": {}}}}


def test_location_and_warning_headers_lose_the_prefix(gate):
    headers = [
        (b"content-type", b"application/json"),
        (b"location", b"/acme.l/_doc/1"),
        (b"warning", b'299 x "index [acme.l] is old"'),
        (b"set-cookie", b"x"),
    ]
    reply = sent(gate, "PUT", "/l/_doc/1", {}, [(b"x-opaque-id", b"me")]).answer(
        {"_index": "acme.l", "_id": "1", "result": "created"}, 201, headers
    )
    assert reply.headers == [
        (b"content-type", b"application/json"), (b"location", b"/l/_doc/1"),
        (b"warning", b'299 x "index [l] is old"'), (b"x-opaque-id", b"me"),
    ]  # fmt: skip


def cat(gate, target, *answers):
    """The procedure of a cat table, answered call by call."""
    need = ask(gate, "GET", target)
    yielded = next(need.procedure)
    try:
        for answer in answers:
            calls = yielded.calls if isinstance(yielded, Calls) else [yielded]
            made = [Answer(200, JSON, body if isinstance(body, bytes) else orjson.dumps(body)) for body in answer]
            assert len(made) == len(calls)
            yielded = need.procedure.send(made if isinstance(yielded, Calls) else made[0])
    except StopIteration as end:
        return end.value
    raise AssertionError("the procedure wants more")


ROWS = [
    {"health": "green", "index": "acme.long-name", "docs.count": "10"},
    {"health": "red", "index": "acme.l", "docs.count": None},
]


def test_cat_table_is_drawn_anew(gate):
    reply = cat(gate, "/_cat/indices?v", [ROWS])
    assert reply.body == b"health index     docs.count\ngreen  long-name         10\nred    l                   \n"
    assert (b"content-type", b"text/plain; charset=UTF-8") in reply.headers


def test_cat_table_as_json(gate):
    assert orjson.loads(cat(gate, "/_cat/indices?format=json", [ROWS[:1]]).body) == [{**ROWS[0], "index": "long-name"}]


def test_cat_table_that_is_empty_has_the_nodes_header(gate):
    assert cat(gate, "/_cat/indices?v", [[]], [b"health index\n"]).body == b"health index\n"
    with pytest.raises(Failed):
        cat(gate, "/_cat/indices?v", [[]], [b"health index\ngreen zenith.x\n"])


def test_cat_row_of_another_is_a_violation(gate):
    with pytest.raises(Violation):
        cat(gate, "/_cat/indices", [[{"index": "zenith.l"}]])


def test_cat_health_is_the_tenants(gate):
    row = {"epoch": "1", "status": "red", "shards": "99", "unassign": "9", "active_shards_percent": "1.0%"}
    health = {
        "status": "yellow", "active_shards": 1, "active_primary_shards": 1, "relocating_shards": 0, "initializing_shards": 0,
        "unassigned_shards": 1, "unassigned_primary_shards": 0, "number_of_pending_tasks": 7,
        "active_shards_percent_as_number": 1.0,
    }  # fmt: skip
    rows = orjson.loads(cat(gate, "/_cat/health?format=json", [[row], health]).body)
    assert rows == [{"epoch": "1", "status": "yellow", "shards": "1", "unassign": "1", "active_shards_percent": "50.0%"}]


def test_filter_path_over_index_names_is_the_proxys(gate):
    plan = sent(gate, "GET", "/l/_mapping?filter_path=l.mappings")
    assert "filter_path" not in plan.target
    assert orjson.loads(plan.answer({"acme.l": {"mappings": {"x": 1}, "y": 2}}).body) == {"l": {"mappings": {"x": 1}}}


def test_cursor_is_sealed_and_opened_for_its_owner_alone(gate):
    token = orjson.loads(sent(gate, "GET", "/l/_search?scroll=1m").answer({**found(), "_scroll_id": "RAW"}).body)["_scroll_id"]
    assert "RAW" not in token
    assert sent(gate, "POST", "/_search/scroll", {"scroll_id": token}).body == {"scroll_id": "RAW"}
    assert refused(gate, "POST", "/_search/scroll", {"scroll_id": token}, tenant="zenith")[0] == 400


def test_tenants_have_a_cluster_uuid_of_their_own(gate):
    uuids = {
        orjson.loads(sent(gate, "GET", "/", tenant=tenant).answer({"cluster_uuid": "u" * 22, "version": {}}).body)["cluster_uuid"]
        for tenant in ("acme", "zenith")
    }
    assert len(uuids) == 2
    assert "u" * 22 not in uuids


def test_answer_beyond_the_window_streams_and_a_late_violation_cuts():
    gate = gateway(limits={"window": 1024})
    head = b'{"hits":{"hits":['
    good = orjson.dumps(hit(pad="x" * 600)) + b","
    steps = sent(gate, "GET", "/l/_search").pieces(head, good, good, orjson.dumps(hit()) + b"]}}")
    assert [type(step) for step in steps] == [Write, Write]
    assert steps[0].head.length is None
    assert b'acme.l",' not in (steps[0].data + steps[1].data).replace(b'"_source":{"_index":"acme.l","a":"acme.l"}', b"")
    steps = sent(gate, "GET", "/l/_search").pieces(head, good, good, orjson.dumps(hit("zenith.l")) + b"]}}")
    assert [type(step) for step in steps] == [Write, Abort]


def test_answer_cut_anywhere_is_the_same(gate):
    body = orjson.dumps(found(hit(), hit(highlight={"a": ["acme.l"]})))
    whole = sent(gate, "GET", "/l/_search").answer(body).body
    for at in range(1, len(body)):
        (step,) = sent(gate, "GET", "/l/_search").pieces(body[:at], body[at:])
        assert step.body == whole


@pytest.mark.parametrize(("what", "status"), [("connect", 503), ("timeout", 504), ("broken", 502), ("overflow", 502)])
def test_failure_of_the_upstream_has_its_status(gate, what, status):
    step = sent(gate, "GET", "/l/_search").exchange.fail_answer(Failure(what, "127.0.0.1:9"))
    assert isinstance(step, Reply)
    assert step.status == status
    assert b"127.0.0.1" not in step.body


@pytest.mark.parametrize("body", [b"not json", b'{"hits":', b""])
def test_answer_that_is_no_json_is_a_502(gate, body):
    assert sent(gate, "GET", "/l/_search").answer(body).status == 502


def test_own_errors_carry_the_product_header_of_elasticsearch_only():
    for engine in ("elasticsearch", "opensearch"):
        step = sent(gateway(engine), "GET", "/l/_search").exchange.fail_answer(Failure("connect"))
        assert ((b"x-elastic-product", b"Elasticsearch") in step.headers) is (engine == "elasticsearch")


def test_indented_answer_is_written_as_nodes_do_to_the_blank() -> None:
    tree = {"a b": {}, "l": [], "m": [1, {"n": None}], "t": "é\n", "big": exact.loads(b"1.50")}
    assert exact.pretty(tree).decode() == (
        '{\n  "a b" : { },\n  "l" : [ ],\n  "m" : [\n    1,\n    {\n      "n" : null\n    }\n  ],\n'
        '  "t" : "é\\n",\n  "big" : 1.50\n}\n'
    )


@pytest.mark.parametrize(
    ("status", "body", "known"),
    [
        (404, b'{"error":{"type":"x"},"status":404}', True),
        (404, b'{\n  "error" : {\n    "type" : "x"\n  }\n}\n', True),
        (200, b'{"error":"a field of a document"}', False),
        (404, b'{"_index":"a","_id":"1","found":false}', False),
        (404, b'{\n  "_index" : "a",\n  "error" : true\n}\n', False),
        (404, b"", False),
    ],
)
def test_error_is_known_however_it_is_set(status, body, known):
    assert is_error(status, body) is known
