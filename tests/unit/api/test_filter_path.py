import pytest

from esproxy.api.filter_path import FilterPath

TREE = {"took": 1, "hits": {"total": {"value": 2}, "hits": [{"_id": "1", "_source": {"a.b": 1, "c": 2}}, {"_id": "2"}]}}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("took", {"took": 1}),
        ("hits.hits._id", {"hits": {"hits": [{"_id": "1"}, {"_id": "2"}]}}),
        ("hits.*.value", {"hits": {"total": {"value": 2}}}),
        ("**.value", {"hits": {"total": {"value": 2}}}),
        ("**._source.a\\.b", {"hits": {"hits": [{"_source": {"a.b": 1}}]}}),
        ("-hits", {"took": 1}),
        ("-hits.hits,-took", {"hits": {"total": {"value": 2}}}),
        ("hits,-**._source", {"hits": {"total": {"value": 2}, "hits": [{"_id": "1"}, {"_id": "2"}]}}),
        ("t*", {"took": 1}),
        ("nope", {}),
    ],
)
def test_filter_path_leaves(text, left):
    assert FilterPath(text).apply(TREE) == left
