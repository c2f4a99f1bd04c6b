"""Every way to name a field in a request, as a function of the name.

In a pool of ``shared`` a name that is not the client's own may be that of another tenant's field, with a type, a format and
values. So each of these is asked about the victim's fields (``victims``) and about one that nobody has: the answers have to be
the same but for the name, which is as long as the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

INDEX = "guessed"
NOBODY = "f_none"
KINDS = ("stored", "docvalue")


class Asked(NamedTuple):
    """A request; on an engine that does not know it it is refused whatever the field is."""

    method: str
    target: str
    body: Any = None
    lines: tuple[Any, ...] = ()

    def payload(self) -> bytes | None:
        if self.lines:
            return "".join(json.dumps(line) + "\n" for line in self.lines).encode()
        return None if self.body is None else json.dumps(self.body).encode()


def victims(canary: str) -> dict[str, Any]:
    """The victim's mapping. The date's format is in the node's errors about its values."""
    return {
        "f_date": {"type": "date", "format": f"yyyy'{canary}'MM"},
        "f_long": {"type": "long"},
        "f_bool": {"type": "boolean"},
        "f_word": {"type": "keyword"},
        "f_text": {"type": "text"},
        "f_pnt_": {"type": "geo_point"},
        "f_nest": {"type": "nested", "properties": {"v": {"type": "long"}}},
        "f_obj_": {"properties": {"v": {"type": "long"}}},
        "_under": {"type": "long"},
        "own_": {"properties": {"x": {"type": "date", "format": f"yyyy'{canary}'MM"}, "y": {"type": "long"}}},
        "both": {"type": "text", "fields": {"f": {"type": "keyword"}}},
    }


# Names of the victim's → one that nobody has, which the same is asked about.
PAIRS = {
    **dict.fromkeys(("f_date", "f_long", "f_bool", "f_word", "f_text", "f_pnt_", "f_nest", "f_obj_"), NOBODY),
    "f_obj_.v": "f_none.v",
    "f_nest.v": "f_none.v",
    "_under": "_nobod",
    "own_.x": "own_.w",  # in an object that the attacker has, too
    "both.f": "both.g",  # a multi-field of a field that the attacker has, too
}


def queries(name: str) -> Iterator[Any]:
    yield {"term": {name: "x"}}
    yield {"terms": {name: ["x", 1]}}
    yield {"range": {name: {"gte": "x"}}}
    yield {"match": {name: "xx yy"}}
    yield {"match_phrase": {name: "xx yy"}}
    yield {"match_bool_prefix": {name: "xx yy"}}
    yield {"prefix": {name: "x"}}
    yield {"wildcard": {name: "x*"}}
    yield {"regexp": {name: "x.*"}}
    yield {"fuzzy": {name: "xx"}}
    yield {"exists": {"field": name}}
    yield {"exists": {"field": name[:-1] + "*"}}
    yield {"bool": {"must_not": {"exists": {"field": name}}}}
    for text in (f"{name}:xx", f"{name}:[1 TO zz]", f"_exists_:{name}", f"({name}:xx) AND {name}:yy", f"{name[:-1]}\\*:xx"):
        yield {"query_string": {"query": text}}
    yield {"query_string": {"query": "xx yy", "fields": [name]}}
    yield {"query_string": {"query": "xx", "fields": [name[:-1] + "*"]}}
    yield {"query_string": {"query": "xx", "default_field": name}}
    yield {"simple_query_string": {"query": "xx", "fields": [name + "^2"]}}
    yield {"multi_match": {"query": "xx", "fields": [name, "k"]}}
    yield {"multi_match": {"query": "xx yy", "type": "phrase_prefix", "fields": [name]}}
    yield {"nested": {"path": name, "query": {"match_all": {}}}}
    yield {"nested": {"path": name, "ignore_unmapped": True, "query": {"match_all": {}}}}
    yield {"geo_distance": {"distance": "1km", name: [1, 2]}}
    yield {"distance_feature": {"field": name, "pivot": "1d", "origin": "now"}}
    yield {"terms_set": {"k": {"terms": ["red"], "minimum_should_match_field": name}}}
    yield {"more_like_this": {"fields": [name], "like": "xx", "min_term_freq": 1, "min_doc_freq": 1}}
    yield {"function_score": {"field_value_factor": {"field": name}}}
    yield {"function_score": {"field_value_factor": {"field": name, "missing": 1}}}
    yield {"function_score": {"gauss": {name: {"origin": 1, "scale": 1}}}}
    yield {"intervals": {name: {"match": {"query": "xx"}}}}
    yield {"span_term": {name: "xx"}}
    yield {"script": {"script": {"source": f"doc['{name}'].size() == 0"}}}
    yield {"script": {"script": {"source": f"doc.containsKey('{name}')"}}}
    yield {"script": {"script": {"source": "doc.containsKey(params.f)", "params": {"f": name}}}}
    yield {"script": {"script": {"source": "doc[params['f']].size() == 0", "params": {"f": name}}}}
    yield {"script": {"script": {"source": f"doc['{name[:2]}' + '{name[2:]}'].size() == 0"}}}
    like = {"_index": INDEX, "doc": {name: "xx", "k": "red"}}
    yield {"more_like_this": {"fields": ["k"], "like": [like], "min_term_freq": 1, "min_doc_freq": 1}}


def aggregations(name: str) -> Iterator[Any]:
    for kind in "terms avg cardinality value_count missing stats rare_terms significant_terms geo_bounds".split():
        yield {kind: {"field": name}}
    yield {"terms": {"field": name, "missing": "x"}}
    yield {"terms": {"field": name, "min_doc_count": 0}}
    yield {"min": {"field": name, "missing": "x"}}
    yield {"date_histogram": {"field": name, "fixed_interval": "1d"}}
    yield {"histogram": {"field": name, "interval": 1}}
    yield {"date_range": {"field": name, "ranges": [{"from": "x"}]}}
    yield {"nested": {"path": name}}
    yield {"composite": {"sources": [{"s": {"terms": {"field": name, "missing_bucket": True}}}]}}
    yield {"multi_terms": {"terms": [{"field": name}, {"field": "k"}]}}
    yield {"top_hits": {"sort": [name]}}
    yield {"top_metrics": {"metrics": {"field": name}, "sort": {"k": "desc"}}}
    yield {"weighted_avg": {"value": {"field": name}, "weight": {"field": name}}}


def searches(name: str) -> Iterator[Any]:
    yield {"sort": [name]}
    yield {"sort": [{name: {"order": "desc", "unmapped_type": "long"}}]}
    yield {"docvalue_fields": [{"field": name, "format": "zz"}]}
    yield {"fields": [{"field": name, "format": "zz"}]}
    yield {"fields": [name, name[:-1] + "*", {"field": name, "include_unmapped": True}]}
    yield {"stored_fields": [name]}
    yield {"collapse": {"field": name}}
    yield {"query": {"term": {"k": "red"}}, "highlight": {"fields": {name: {}, name[:-1] + "*": {}, "k": {}}}}
    yield {"script_fields": {"x": {"script": {"source": f"doc['{name}'].value"}}}}
    yield {"script_fields": {"x": {"script": {"source": "def d = doc; d.containsKey(params.f)", "params": {"f": name}}}}}
    yield {"script_fields": {"x": {"script": {"source": f"params['d' + 'oc'].containsKey('{name}')"}}}}
    yield {"rescore": {"query": {"rescore_query": {"range": {name: {"gte": "x"}}}}}}
    yield {"post_filter": {"range": {name: {"gte": "x"}}}}


def asked(name: str) -> Iterator[Asked]:
    """All of them."""
    search = f"/{INDEX}/_search"
    for query in queries(name):
        yield Asked("POST", search, {"query": query})
    for aggregation in aggregations(name):
        yield Asked("POST", search, {"size": 0, "aggs": {"a": aggregation}})
    for body in searches(name):
        yield Asked("POST", search, body)
    for parameters in (f"sort={name}:desc", f"q={name}:xx", f"q=xx&df={name}", *(f"{kind}_fields={name}" for kind in KINDS)):
        yield Asked("GET", f"{search}?{parameters}")
    yield Asked("GET", f"/{INDEX}/_doc/1?stored_fields={name}")
    yield Asked("GET", f"/{INDEX}/_field_caps?fields={name}")
    yield Asked("GET", f"/{INDEX}/_mapping/field/{name}")
    for query in ({"range": {name: {"gte": "x"}}}, {"query_string": {"query": "xx"}}, {"exists": {"field": name[:-1] + "*"}}):
        yield Asked("POST", f"/{INDEX}/_validate/query?explain=true", {"query": query})
        yield Asked("POST", f"/{INDEX}/_count", {"query": query})
    yield Asked("POST", f"/{INDEX}/_explain/1", {"query": {"term": {name: "xx"}}})
    yield Asked("POST", f"/{INDEX}/_analyze", {"field": name, "text": "Aa Bb"})
    yield Asked("POST", f"/{INDEX}/_delete_by_query", {"query": {"range": {name: {"gte": "x"}}}})
    yield Asked("POST", "/_mget", {"docs": [{"_index": INDEX, "_id": "1", "stored_fields": [name]}]})
    yield Asked("POST", "/_msearch", lines=({"index": INDEX}, {"sort": [name]}))
    yield Asked("PUT", f"/{INDEX}/_mapping", {"properties": {"other": {"type": "alias", "path": name}}})
    yield Asked("PUT", f"/{INDEX}/_mapping", {"properties": {"other": {"type": "keyword", "copy_to": name}}})
