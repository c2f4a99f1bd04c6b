"""What answers tell of shards of several indices stands in the order of the clients' names."""

from __future__ import annotations

from typing import Any

from esproxy.rewriting.aggs import shapes, without_made_meta
from esproxy.rewriting.order import put_in_order


def failure(index: str, shard: int) -> dict[str, Any]:
    return {"shard": shard, "index": index, "reason": {"type": "x", "index": index}}


def test_failed_shards_are_in_the_order_of_numbers_and_names() -> None:
    failed = [failure("b", 0), failure("a", 1), failure("a", 0)]
    causes = [{"type": "x", "index": "b"}, {"type": "x", "index": "a"}]
    answer = {"error": {"root_cause": causes, "failed_shards": failed, "caused_by": failed[0]["reason"]}, "status": 400}
    put_in_order(answer)
    error: Any = answer["error"]
    assert error["failed_shards"] == [failure("a", 0), failure("b", 0), failure("a", 1)]
    assert [cause["index"] for cause in error["root_cause"]] == ["a", "b"]
    assert error["caused_by"] == {"type": "x", "index": "a"}


def test_cause_that_is_not_the_first_failures_stays() -> None:
    answer = {"error": {"failed_shards": [failure("b", 0), failure("a", 0)], "caused_by": {"type": "other"}}}
    put_in_order(answer)
    assert answer["error"]["caused_by"] == {"type": "other"}


def test_failures_of_documents_keep_their_order() -> None:
    failures = [{"index": "b", "id": "1", "cause": {}}, {"index": "a", "id": "2", "cause": {}}]
    answer = {"failures": list(failures), "_shards": {"failures": [failure("b", 0), failure("a", 0)]}}
    put_in_order(answer)
    assert answer["failures"] == failures
    assert [one["index"] for one in answer["_shards"]["failures"]] == ["a", "b"]


EVERY = {"constant_score": {"filter": {"prefix": {"_routing": "acme.1:"}}}}


def cleaned(aggs: Any, answer: Any) -> Any:
    without_made_meta(answer, shapes({"aggs": aggs}, EVERY))
    return answer


def test_empty_meta_that_the_scope_made_is_left_out() -> None:
    answer = {"g": {"meta": {}, "n": {"value": 1}}, "sterms#s": {"meta": {}, "buckets": []}}
    aggs = {"g": {"global": {}, "aggs": {"n": {"sum": {}}}}, "s": {"significant_terms": {"background_filter": EVERY}}}
    assert cleaned(aggs, answer) == {"g": {"n": {"value": 1}}, "sterms#s": {"buckets": []}}


def test_empty_meta_that_a_node_makes_stays() -> None:
    """Of a query of the client's, of what is around it, and what the client gave."""
    own = {"filter": {"match_all": {}}}
    aggs = {"g": {"global": {}, "aggs": {"f": own}}, "m": {"global": {}, "meta": {}}, "t": {"terms": {}, "aggs": {"f": own}}}
    answer = {
        "g": {"meta": {}, "f": {"meta": {}, "doc_count": 1}},
        "m": {"meta": {}},
        "t": {"meta": {}, "buckets": []},
    }
    assert cleaned(aggs, answer) == {
        "g": {"meta": {}, "f": {"meta": {}, "doc_count": 1}},
        "m": {"meta": {}},
        "t": {"meta": {}, "buckets": []},
    }


def test_empty_meta_goes_from_buckets_of_both_forms() -> None:
    aggs = {"t": {"terms": {}, "aggs": {"s": {"significant_text": {"background_filter": EVERY}}}}}
    answer = {"t": {"meta": {}, "buckets": {"x": {"s": {"meta": {}, "buckets": []}}}}}
    assert cleaned(aggs, answer) == {"t": {"buckets": {"x": {"s": {"buckets": []}}}}}
    answer = {"t": {"meta": {}, "buckets": [{"key": "x", "s": {"meta": {}, "buckets": []}}]}}
    assert cleaned(aggs, answer) == {"t": {"buckets": [{"key": "x", "s": {"buckets": []}}]}}
