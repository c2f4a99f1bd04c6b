"""Refusals in the words that a node has for them, and warnings about names that it does not get to see."""

from __future__ import annotations

import orjson
import pytest

from esproxy.cluster import Cluster
from esproxy.errors import Refusal
from tests.unit.gateway.test_scripts import Played
from tests.unit.gateway.whole import INFO, ask, gateway, refused, sent

UNKNOWN = {"type": "settings_exception", "reason": "unknown setting [index.nope] did you mean [index.mode]?"}
NO_NAME = {"type": "invalid_index_name_exception", "reason": "Invalid index name [acme.NONE], must be lowercase"}
DOTTED = b"begins with a dot (.), which is deprecated, and will not be allowed in a future Elasticsearch version."


def error(cause: dict) -> tuple[int, dict]:
    return 400, {"error": {"root_cause": [cause], **cause}, "status": 400}


def warnings(reply) -> list[bytes]:
    return [value for name, value in reply.headers if name == b"warning"]


@pytest.fixture
def gate():
    return gateway("elasticsearch")


@pytest.fixture
def other():
    return gateway("opensearch")


@pytest.mark.parametrize(
    ("method", "target", "body", "asked"),
    [
        ("PUT", "/x", {"settings": {"priority": 1, "index": {"nope": 1}}}, {"priority": 1, "index": {"nope": 1}}),
        ("PUT", "/x/_settings", {"nope": 1}, {"nope": 1}),
        ("PUT", "/x/_settings", {"settings": {"nope": 1}, "priority": 2}, {"nope": 1, "priority": 2}),
    ],
)
def test_unknown_setting_is_told_as_the_node_tells_it(gate, method, target, body, asked):
    played = Played(ask(gate, method, target, body), error(UNKNOWN))
    assert (played.reply.status, played.told["error"]["reason"]) == (400, UNKNOWN["reason"])
    (send,) = played.sends
    assert (send.method, send.target, orjson.loads(send.body)) == ("PUT", b"/acme.NONE", {"settings": asked})


def test_setting_that_the_node_knows_and_a_tenant_may_not_set_is_unknown(gate, other):
    for one, kind in ((gate, "illegal_argument_exception"), (other, "settings_exception")):
        with pytest.raises(Refusal, match=r"unknown setting \[index.routing.allocation.require.rack\] please check") as raised:
            Played(ask(one, "PUT", "/x", {"settings": {"routing.allocation.require.rack": "a"}}), error(NO_NAME))
        assert raised.value.type == kind


def test_nothing_is_believed_of_a_node_that_does_not_refuse(gate):
    with pytest.raises(Refusal, match="unknown setting"):
        Played(ask(gate, "PUT", "/x", {"settings": {"nope": 1}}), {"acknowledged": True})


def test_setting_of_the_nodes_own_has_words_by_endpoint(other):
    for target, words in (("/x", "can not be set explicitly"), ("/x/_settings", "can not update private setting")):
        body = {"settings": {"uuid": "a"}}
        with pytest.raises(Refusal, match=words):
            Played(ask(other, "PUT", target, body), error(NO_NAME))


def test_remote_name_is_told_by_what_is_asked_of_it(gate):
    assert refused(gate, "GET", "/a:b/_search")[1]["error"]["type"] == "no_such_remote_cluster_exception"
    status, told = refused(gate, "GET", "/x,a:b,c:d")
    assert status == 400 and told["error"]["reason"].endswith("but remote indices were requested: [a:b, c:d]")


def test_parameter_that_a_node_had_not_read_is_not_offered(gate):
    told = [refused(gate, "GET", f"/x/_search?{name}=1")[1]["error"]["reason"] for name in ("sizze", "rooting")]
    assert told[0].endswith("unrecognized parameter: [sizze]") and told[1].endswith("did you mean [routing]?")


def test_parameter_that_came_with_9_is_not_offered_before(gate):
    newest = refused(gate, "GET", "/x/_doc/1?_source_include=a")[1]["error"]["reason"]
    gate.clusters["main"] = Cluster("main", "elasticsearch", {**INFO, "version": {"number": "8.19.13"}})
    older = refused(gate, "GET", "/x/_doc/1?_source_include=a")[1]["error"]["reason"]
    assert "[_source_includes, _source_excludes" in older
    assert "_source_exclude_vectors" in newest and "_source_exclude_vectors" not in older


def test_name_with_a_dot_in_front_is_warned_of(gate):
    (warned,) = warnings(ask(gate, "PUT", "/."))
    assert warned.startswith(b'299 Elasticsearch-9.4.3-Unknown "Index [.] name ') and DOTTED in warned
    made = {"acknowledged": True, "shards_acknowledged": True, "index": "acme..x"}
    first, second = warnings(sent(gate, "PUT", "/.x").answer(made))
    assert DOTTED in first and b"index name [.x] starts with a dot '.'" in second
    for hidden in ({"hidden": True}, {"index": {"hidden": "true"}}, {"index.hidden": "true"}):
        assert len(warnings(sent(gate, "PUT", "/.x", {"settings": hidden}).answer(made))) == 1
    assert len(warnings(sent(gate, "PUT", "/.x").answer(error(UNKNOWN)[1], 400))) == 1
    assert warnings(ask(gate, "PUT", "/.x?zz=1")) == warnings(ask(gate, "PUT", "/.x", b'{"settings":')) == []
    assert warnings(sent(gate, "PUT", "/x").answer(made)) == []


def test_pattern_of_a_template_with_a_dot_in_front_is_warned_of(gate, other):
    body = {"index_patterns": [".x*", "y"]}
    (warned,) = warnings(sent(gate, "PUT", "/_index_template/t", body).answer({"acknowledged": True}))
    assert b"Index [.x*] name " + DOTTED in warned
    assert warnings(sent(other, "PUT", "/_index_template/t", body).answer({"acknowledged": True})) == []


def test_refused_legacy_template_is_warned_of(gate, other):
    body = {"index_patterns": ["_x"]}
    (warned,) = warnings(ask(gate, "PUT", "/_template/t", body))
    assert b"Legacy index templates are deprecated" in warned
    assert warnings(ask(other, "PUT", "/_template/t", body)) == []


def test_no_index_at_all_is_told_without_a_pattern(gate, other):
    known = {"type": "index_not_found_exception", "reason": "no such index [acme.*]", "resource.id": "acme.*", "index": "acme.*"}
    for one, name in ((gate, "_all"), (other, "null")):
        told = orjson.loads(sent(one, "GET", "/_search?allow_no_indices=false").answer(error(known)[1], 404).body)["error"]
        assert told["reason"] == f"no such index [{name}] and no indices exist" and told["resource.id"] == "_all"


def test_one_index_that_is_all_of_them_is_none(other):
    assert refused(other, "GET", "/_all/_doc/1")[1]["error"]["reason"] == "no such index [_all] and no indices exist"


def test_empty_name_is_compared_with_the_index_as_it_is(gate):
    assert sent(gate, "POST", "/x/_search", {"query": {"term": {"_index": ""}}}).body == {"query": {"term": {"_index": ""}}}
    action = {"add": {"index": "x", "alias": "a", "filter": {"term": {"_index": ""}}}}
    (kept,) = sent(gate, "POST", "/_aliases", {"actions": [action]}).body["actions"]
    assert kept["add"]["filter"] == {"term": {"_index": "acme."}}


def test_shards_of_all_indices_tell_no_aliases_on_opensearch(gate, other):
    shards = {"nodes": {}, "indices": {"acme.a": {"aliases": ["acme.b"]}}, "shards": []}
    for one, target, told in (
        (other, "/_search_shards", {}),
        (other, "/a/_search_shards", {"aliases": ["b"]}),
        (gate, "/_search_shards", {"aliases": ["b"]}),
    ):
        assert orjson.loads(sent(one, "GET", target).answer(shards).body)["indices"] == {"a": told}
