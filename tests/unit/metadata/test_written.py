"""Filters of aliases as nodes write them (taken from OpenSearch 3.8 and Elasticsearch 9.4)."""

from __future__ import annotations

from typing import Any

import pytest

from esproxy.metadata.written import as_written, of_several

TERM = {"term": {"k": "a"}}
ES = [
    (TERM, {"term": {"k": {"value": "a"}}}),
    ({"term": {"k": {"value": "a", "boost": 2, "_name": "x"}}}, {"term": {"k": {"value": "a", "boost": 2.0, "_name": "x"}}}),
    ({"terms": {"k": ["a", "b"]}}, {"terms": {"k": ["a", "b"], "boost": 1.0}}),
    ({"exists": {"field": "k"}}, {"exists": {"field": "k", "boost": 1.0}}),
    ({"range": {"n": {"gt": "now-1d"}}}, {"range": {"n": {"gt": "now-1d", "boost": 1.0}}}),
    ({"ids": {"values": ["1", 2]}}, {"ids": {"values": ["1", "2"], "boost": 1.0}}),
    ({"prefix": {"k": "a"}}, {"prefix": {"k": {"value": "a", "boost": 1.0}}}),
    (
        {"bool": {"must": TERM, "must_not": [{"match_all": {}}], "minimum_should_match": 1}},
        {
            "bool": {
                "must": [{"term": {"k": {"value": "a"}}}],
                "must_not": [{"match_all": {"boost": 1.0}}],
                "minimum_should_match": "1",
                "boost": 1.0,
            }
        },
    ),
]


@pytest.mark.parametrize(("given", "written"), ES)
def test_elasticsearch_writes(given: Any, written: Any) -> None:
    assert as_written(given, True) == written


def test_opensearch_writes_what_nobody_gave() -> None:
    assert as_written(TERM, False) == {"term": {"k": {"value": "a", "boost": 1.0}}}
    one = {"term": {"k": {"value": "a", "boost": 1.0}}}
    told = as_written({"bool": {"filter": TERM}}, False)
    assert told == {"bool": {"filter": [one], "adjust_pure_negative": True, "boost": 1.0}}


def test_of_several_aliases_one_has_to_match() -> None:
    told = of_several([TERM, {"match_all": {}}], False)["bool"]
    assert told.keys() == {"should", "adjust_pure_negative", "boost"} and len(told["should"]) == 2
    assert of_several([TERM], True) == {"term": {"k": {"value": "a"}}}


CASELESS = {"term": {"k": {"value": 1, "case_insensitive": True}}}
OTHERS = [{"match": {"k": "a"}}, {"bool": {"must": {"match": {"k": "a"}}}}, CASELESS]


@pytest.mark.parametrize("filter", OTHERS)
def test_others_stay_as_they_were_given(filter: Any) -> None:
    assert as_written(filter, True) == filter
