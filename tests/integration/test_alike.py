"""Searches that are one thing over several indices, by a field that not all of them have, or not by one name: what comes of it
does not depend on which fields others have in the pools."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from tests.integration.test_pools import CANARY, Tenant, fresh, pair, three

__all__ = ["pair", "three"]
KIND = "KIND"  # stands for the type of ``x``
TYPES = {"long": 7, "keyword": "seven", "date": "2026-01-07", "double": 7.5}
SEARCHES: list[dict[str, Any]] = [
    {"size": 0, "aggs": {"a": {"terms": {"field": "x"}}, "m": {"missing": {"field": "x"}}}},
    {"size": 0, "aggs": {"a": {"terms": {"field": "x", "min_doc_count": 0}}, "c": {"value_count": {"field": "x"}}}},
    {"size": 0, "aggs": {"a": {"filter": {"exists": {"field": "x"}}, "aggs": {"b": {"cardinality": {"field": "x"}}}}}},
    {"size": 0, "aggs": {"a": {"top_hits": {"sort": [{"x": {"unmapped_type": KIND}}], "docvalue_fields": ["x"]}}}},
    {"collapse": {"field": "x"}, "sort": ["k"], "docvalue_fields": ["x"]},
    {"sort": [{"x": {"order": "asc", "unmapped_type": KIND}}, "k"], "aggs": {"a": {"max": {"field": "k"}}}},
    {"size": 0, "query": {"query_string": {"query": "x:*"}}, "aggs": {"a": {"terms": {"field": "x"}}}},
    {"size": 0, "aggs": {"a": {"terms": {"field": "o.p"}}, "b": {"terms": {"field": "t.raw"}}}},
]


def filled(one: Tenant, kind: str, *, other: Tenant | None, lacking: bool) -> str:
    """Two indices, of which the second has no ``x`` (``lacking``), or has it after the ``other`` had one of another type."""
    stem = fresh()
    properties = {"k": {"type": "long"}}
    for name in ("a", "b"):
        for tenant in (one, other):
            if tenant is not None:
                tenant.ok("PUT", f"/{stem}-{name}", {"mappings": {"properties": properties}})
    if other is not None:
        text = {"type": "text", "fields": {"raw": {"type": "ip", "ignore_malformed": True}}}
        foreign = {"x": text, "o": {"properties": {"p": text}}, "t": text}
        other.ok("PUT", f"/{stem}-b/_mapping", {"properties": foreign})
        other.ok("PUT", f"/{stem}-b/_doc/1?refresh=true", {"k": 9, "x": CANARY, "o": {"p": CANARY}, "t": CANARY})
    own: dict[str, Any] = {"x": {"type": kind}, "o": {"properties": {"p": {"type": kind}}}}
    own["t"] = {"type": "text", "fields": {"raw": {"type": "keyword"}}}
    one.ok("PUT", f"/{stem}-a/_mapping", {"properties": own})
    value = TYPES[kind]
    one.ok("PUT", f"/{stem}-a/_doc/1?refresh=true", {"k": 1, "x": value, "o": {"p": value}, "t": "some text"})
    document: dict[str, Any] = {"k": 2}
    if not lacking:
        one.ok("PUT", f"/{stem}-b/_mapping", {"properties": own})
        document |= {"x": value, "o": {"p": value}, "t": "some text"}
    one.ok("PUT", f"/{stem}-b/_doc/2?refresh=true", document)
    return stem


def told(one: Tenant, stem: str, target: str, body: dict[str, Any]) -> Any:
    status, tree = one.call("POST", target.format(stem=stem), body)
    assert CANARY not in one.text
    assert "~" not in one.text.replace(tree.get("_scroll_id", "~"), ""), one.text
    for key in ("took", "_scroll_id"):
        tree.pop(key, None)
    return status, one.text and str(tree).replace(stem, "STEM")


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("lacking", [True, False], ids=["lacking", "renamed"])
def test_search_over_several_indices_is_answered_as_if_nobody_else_had_the_field(
    pair: tuple[Tenant, Tenant], kind: str, lacking: bool
) -> None:
    one, two = pair
    beside, alone = filled(one, kind, other=two, lacking=lacking), filled(one, kind, other=None, lacking=lacking)
    searches = [orjson.loads(orjson.dumps(body).replace(KIND.encode(), kind.encode())) for body in SEARCHES]
    for body in searches:
        for target in ("/{stem}-*/_search?typed_keys=true", "/{stem}-*/_search?scroll=1m&size=1"):
            if "collapse" in body and "scroll" in target:
                continue
            found = told(one, beside, target, body)
            assert found == told(one, alone, target, body), body
            assert found[0] == (400 if "collapse" in body and kind == "date" else 200), found
    lines: list[Any] = []
    for stem in (beside, alone):
        for body in searches:
            lines += [{"index": f"{stem}-*"}, body]
    answers = [{**answer, "took": 0} for answer in one.ok("POST", "/_msearch", lines)["responses"]]
    half = len(SEARCHES)
    assert str(answers[:half]).replace(beside, "STEM") == str(answers[half:]).replace(alone, "STEM")
    mapping = one.ok("GET", f"/{beside}-a/_mapping")[f"{beside}-a"]
    assert mapping == one.ok("GET", f"/{alone}-a/_mapping")[f"{alone}-a"]
    assert set(one.ok("GET", f"/{beside}-a/_field_caps?fields=*")["fields"]) >= {"x", "k"}
    assert "~" not in one.text
