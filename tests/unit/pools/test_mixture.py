"""Requests about indices in pools and of their own at once: one expression, one request, one answer."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from esproxy.catalogue.documents import Alias
from esproxy.exchange import Send
from tests.unit.pools.pool_gate import Gate, gate, hit, hits

RULES = [{"tenants": ["acme"], "indices": ["big-*"], "layout": "dedicated"}]
OUTSIDE = {
    "acme.big-1": {"aliases": {"acme.al": {"filter": {"term": {"w": "x"}}}}},
    "acme.big-shut": {"aliases": {}, "settings": {"index": {"verified_before_close": "true"}}},
    "acme.big-veiled": {"aliases": {}, "settings": {"index": {"hidden": "true"}}},
}


class Node:
    """A node with indices of the tenant's own; ``answers`` to what is asked beside."""

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer
        self.asked: list[Send] = []

    def __call__(self, send: Send) -> Any:
        if b"filter_path" in send.target:
            return OUTSIDE
        self.asked.append(send)
        return self.answer

    @property
    def sent(self) -> Send:
        assert len(self.asked) == 1, self.asked
        return self.asked[0]


def mixed(**more: Any) -> Gate:
    return gate("opensearch", rules=RULES, **more)


def by_prefix(it: Gate, target: str) -> bytes:
    """The target of a request that is about no pool."""
    node = Node(hits())
    assert it.ask("GET", target, b"", node)[0] == 200
    return node.sent.target


def test_name_of_its_own_goes_by_prefix() -> None:
    assert by_prefix(mixed(), "/big-1/_search") == b"/acme.big-1/_search"
    assert by_prefix(mixed(), "/big-1,unknown/_search") == b"/acme.big-1,acme.unknown/_search"
    assert by_prefix(mixed(), "/big-*/_search") == b"/acme.big-*/_search"


def test_pattern_is_one_search_over_both_with_a_clause_for_each() -> None:
    it, node = mixed(), Node(hits(hit("pool~logs-1", "acme.17:1"), {"_index": "acme.big-1", "_id": "acme.17:9", "_score": 1.0}))
    status, answer = it.ask("GET", "/*/_search", {"query": {"match_all": {}}}, node)
    assert status == 200
    assert [(one["_index"], one["_id"]) for one in answer["hits"]["hits"]] == [("logs", "1"), ("big-1", "acme.17:9")]
    assert node.sent.target.partition(b"/_search")[0] == b"/acme.big-1,pool~books-1,pool~logs-1"
    either = orjson.loads(node.sent.body)["query"]["bool"]["filter"][0]["bool"]["should"]
    assert {"terms": {"_index": ["acme.big-1", "\x00"]}} in either and len(either) == 3


def test_names_in_a_query_over_both_are_physical_and_leave_the_filter_alone() -> None:
    it, node = mixed(), Node(hits())
    body = {"indices_boost": [{"big-1": 2}], "query": {"bool": {"must": [{"term": {"_index": "big-1"}}, {"term": {"_id": "1"}}]}}}
    it.ask("GET", "/*/_search", body, node)
    sent = orjson.loads(node.sent.body)
    assert {"terms": {"_index": ["acme.big-1", "\x00"]}} in sent["query"]["bool"]["filter"][0]["bool"]["should"]
    by_name, by_id = sent["query"]["bool"]["must"][0]["bool"]["must"]
    assert by_name == {"terms": {"_index": ["acme.big-1"]}} and sent["indices_boost"] == [{"acme.big-1": 2}]
    assert sorted(by_id["terms"]["_id"]) == ["1", "acme.17:1", "acme.18:1"]


@pytest.mark.parametrize(("engine", "kind"), [("elasticsearch", "runtime_mappings"), ("opensearch", "derived")])
@pytest.mark.parametrize("name", ["_index", "_routing"])
def test_field_that_would_hide_what_the_filter_asks_for_is_refused_unsent(engine: str, kind: str, name: str) -> None:
    it, node = gate(engine, rules=RULES), Node(hits())
    made = {name: {"type": "keyword", "script": {"source": "emit('acme.big-1')"}}}
    status, answer = it.ask("POST", "/*/_search", {"size": 0, kind: made, "aggs": {"a": {"terms": {"field": "w"}}}}, node)
    assert status == 400 and "underscore" in answer["error"]["reason"]
    assert node.asked == []


def test_hit_of_an_index_outside_the_tenant_s_prefix_is_a_violation() -> None:
    it, node = mixed(), Node(hits({"_index": "zenith.big-1", "_id": "1", "_score": 1.0}))
    assert it.ask("GET", "/*/_search", b"", node)[0] == 500
    it, node = mixed(), Node(hits({"_index": "pool~logs-1", "_id": "zenith.1:1", "_score": 1.0}))
    assert it.ask("GET", "/*/_search", b"", node)[0] == 500


def test_alias_stands_for_indices_of_both_kinds_with_their_own_filters() -> None:
    it, node = mixed(aliases={"al": Alias({"books": {}})}), Node(hits())
    assert it.ask("GET", "/al/_search", b"", node)[0] == 200
    assert node.sent.target.partition(b"/_search")[0] == b"/acme.big-1,pool~books-1"
    either = orjson.loads(node.sent.body)["query"]["constant_score"]["filter"]["bool"]["should"]
    filtered = next(part["bool"]["filter"] for part in either if "bool" in part)
    assert filtered[0] == {"terms": {"_index": ["acme.big-1", "\x00"]}} and filtered[1]["bool"]["should"] == [
        {"term": {"w": "x"}}
    ]


def test_expression_with_a_missing_name_is_a_404_in_its_words() -> None:
    it = mixed()
    status, answer = it.ask("GET", "/logs,nope/_count", b"", Node())
    assert status == 404 and answer["error"]["reason"] == "no such index [nope]"


def test_options_say_which_indices_of_their_own_a_pattern_finds() -> None:
    it, node = mixed(), Node({"cluster": {}, "_shards": {"total": 1, "successful": 1, "failed": 0}})
    it.ask("POST", "/logs,big*/_refresh?expand_wildcards=open,hidden", b"", node)
    assert node.sent.target.partition(b"/_refresh")[0] in (b"/pool~logs-1,acme.big-1,acme.big-veiled",)
    it, node = mixed(), Node({"_shards": {"total": 1, "successful": 1, "failed": 0}})
    it.ask("POST", "/*,-logs/_refresh", b"", node)
    assert node.sent.target.partition(b"/_refresh")[0] == b"/acme.big-1,pool~books-1"


def test_mapping_of_both_kinds_is_told_in_one_answer() -> None:
    told = {
        "pool~logs-1": {"mappings": {"properties": {"w": {"type": "text"}, "theirs": {"type": "long"}}}},
        "acme.big-1": {"mappings": {"_routing": {"required": True}, "properties": {"theirs": {"type": "long"}}}},
    }
    answer = mixed().ask("GET", "/logs,big-1/_mapping", b"", Node(told))[1]
    assert answer["logs"]["mappings"] == {"properties": {"w": {"type": "text"}}}
    assert answer["big-1"]["mappings"] == told["acme.big-1"]["mappings"]


def test_bulk_writes_to_both_kinds() -> None:
    item = {"_version": 1, "result": "created", "_shards": {"total": 1, "successful": 1, "failed": 0}, "_seq_no": 0}
    done = {
        "took": 1, "errors": False,
        "items": [
            {"index": {"_index": "acme.big-1", "_id": "acme.17:1", **item, "_primary_term": 1, "status": 201}},
            {"index": {"_index": "pool~books-1", "_id": "acme.18:1", **item, "_primary_term": 1, "status": 201}},
        ],
    }  # fmt: skip
    lines = [{"index": {"_index": "big-1", "_id": "acme.17:1", "routing": "r"}}, {"w": "x"}]
    lines += [{"index": {"_index": "books", "_id": "1"}}, {"w": "x"}]
    it, node = mixed(), Node(done)
    status, answer = it.ask("POST", "/_bulk", b"".join(orjson.dumps(line) + b"\n" for line in lines), node)
    assert status == 200 and [one["index"]["_index"] for one in answer["items"]] == ["big-1", "books"]
    assert [one["index"]["_id"] for one in answer["items"]] == ["acme.17:1", "1"]
    first, _, second, _ = [orjson.loads(line) for line in node.sent.body.splitlines()]
    assert first["index"] == {"_index": "acme.big-1", "_id": "acme.17:1", "routing": "r"}
    assert second["index"]["_id"] == "acme.18:1" and second["index"]["_index"] == "pool~books-1"


def test_closed_index_of_its_own_is_left_to_the_node_unless_it_may_be_passed_by() -> None:
    it, node = mixed(), Node({"count": 0, "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0}})
    it.ask("GET", "/logs,big-shut/_count", b"", node)
    assert node.sent.target.partition(b"/_count")[0] == b"/pool~logs-1,acme.big-shut"
    it, node = mixed(), Node(node.answer)
    it.ask("GET", "/logs,big-shut/_count?ignore_unavailable=true", b"", node)
    assert node.sent.target.partition(b"/_count")[0] == b"/pool~logs-1"


def test_actions_on_aliases_of_indices_of_their_own_are_the_cluster_s() -> None:
    it, node = mixed(), Node({"acknowledged": True})
    limit = {"terms": {"k": {"index": "big-1", "id": "1", "path": "p"}}}
    actions = [{"add": {"index": "big-*", "alias": "now", "filter": limit}}, {"remove": {"index": "big-1", "alias": "al"}}]
    assert it.ask("POST", "/_aliases", {"actions": actions}, node) == (200, {"acknowledged": True})
    first, second = orjson.loads(node.sent.body)["actions"]
    limit["terms"]["k"]["index"] = "acme.big-1"
    assert first == {"add": {"index": "acme.big-1", "alias": "acme.now", "filter": limit}}
    assert second == {"remove": {"index": "acme.big-1", "alias": "acme.al"}}


def test_alias_cannot_have_the_name_of_an_index_of_its_own() -> None:
    status, answer = mixed().ask("PUT", "/logs/_alias/big-1", b"", Node())
    assert status == 400 and answer["error"]["type"] == "invalid_alias_name_exception"
