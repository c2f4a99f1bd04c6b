"""Which templates apply to an index, and what they and its creator's mapping come to."""

from __future__ import annotations

from typing import Any

import pytest

from esproxy.errors import Refusal
from esproxy.metadata.templates import Templates, aliases, laid_over, matches, with_defaults


def named(name: str, *patterns: str, priority: int | None = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "index_template": {"index_patterns": list(patterns), "priority": priority, **more}}


@pytest.mark.parametrize(
    ("pattern", "name", "matched"),
    [
        ("logs-*", "logs-a", True),
        ("logs-*", "logs", False),
        ("*", "anything", True),
        ("*a*b", "xaxxb", True),
        ("*a*b", "xaxxbc", False),
        ("l.gs", "logs", False),
        ("logs", "logs", True),
        ("", "logs", False),
        ("*b", "a\nb", True),
    ],
)
def test_pattern_stars_stand_for_anything_and_nothing_else_does(pattern: str, name: str, matched: bool) -> None:
    assert matches([pattern], name, hidden=False) is matched


def test_hidden_index_is_not_for_a_pattern_of_everything() -> None:
    assert not matches(["*"], "logs", hidden=True)
    assert matches(["*", "l*"], "logs", hidden=True)


def test_winner_is_the_match_of_highest_priority() -> None:
    found = Templates([named("a", "logs-*", priority=1), named("b", "logs-a*", priority=9), named("c", "x-*", priority=99)])
    winner = found.winner("logs-ab", hidden=False)
    assert winner is not None and winner["name"] == "b"
    assert found.winner("other", hidden=False) is None


def test_layers_are_components_in_order_and_the_template_on_top() -> None:
    winner = named("a", "*", composed_of=["two", "absent", "one"], template={"settings": {"n": 3}})
    found = Templates([winner], {"one": {"template": {"settings": {"n": 1}}}, "two": {"template": {"settings": {"n": 2}}}})
    assert [layer["settings"]["n"] for layer in found.layers(winner)] == [2, 1, 3]


def test_legacy_layers_are_all_that_match_by_their_order() -> None:
    legacy = {name: {"index_patterns": [pattern], "order": order} for name, pattern, order in (("a", "l*", 5), ("b", "*", 0))}
    legacy["c"] = {"index_patterns": ["x"], "order": 9}
    assert [layer["order"] for layer in Templates(legacy=legacy).legacy_layers("logs", hidden=False)] == [0, 5]


def test_placeholder_in_an_alias_is_the_index() -> None:
    assert aliases({"aliases": {"{index}-q": None, "all": {"routing": "a"}}}, "logs") == {"logs-q": {}, "all": {"routing": "a"}}


BASE: dict[str, Any] = {
    "dynamic": "strict",
    "dynamic_templates": [{"s": {"match": "s"}}, {"t": {"match": "t"}}],
    "_meta": {"a": {"b": 1}},
    "properties": {"k": {"type": "keyword", "ignore_above": 5}, "o": {"dynamic": False, "properties": {"x": {"type": "long"}}}},
}


@pytest.mark.parametrize("product", [True, False])
def test_mapping_over_another_merges_objects_and_replaces_fields(product: bool) -> None:
    over = {
        "dynamic": "true",
        "dynamic_templates": [{"s": {"match": "other"}}],
        "_meta": {"a": {"c": 2}},
        "properties": {"k": {"type": "text"}, "o": {"properties": {"y": {"type": "long"}}}},
    }
    made = laid_over(BASE, over, product)
    assert made["dynamic"] == "true"
    assert made["dynamic_templates"] == [{"s": {"match": "other"}}, {"t": {"match": "t"}}]
    assert made["_meta"] == {"a": {"b": 1, "c": 2}}
    assert made["properties"]["k"] == {"type": "text"}
    assert made["properties"]["o"]["properties"] == {"x": {"type": "long"}, "y": {"type": "long"}}
    assert ("dynamic" in made["properties"]["o"]) is not product  # Elasticsearch keeps the fields of an object and nothing else
    assert BASE["properties"]["o"]["properties"] == {"x": {"type": "long"}}


def test_object_becomes_something_else_in_elasticsearch_alone() -> None:
    nested = {"properties": {"o": {"type": "nested", "properties": {"y": {"type": "long"}}}}}
    both = {"x": {"type": "long"}, "y": {"type": "long"}}
    assert laid_over(BASE, nested, True)["properties"]["o"] == {"type": "nested", "properties": both}
    assert laid_over(BASE, {"properties": {"o": {"type": "long"}}}, True)["properties"]["o"] == {"type": "long"}
    with pytest.raises(Refusal, match="from non-nested to nested"):
        laid_over(BASE, nested, False)
    for one, other in (("k", {"properties": {}}), ("o", {"type": "long"})):
        with pytest.raises(Refusal, match=f"non object mapping .{one}. with"):
            laid_over(BASE, {"properties": {one: other}}, False)


def test_legacy_defaults_fill_in_at_any_depth() -> None:
    given = {"properties": {"k": {"type": "text"}}, "dynamic_templates": [{"s": {"match": "mine"}}]}
    made = with_defaults(given, BASE)
    assert made["properties"]["k"] == {"type": "text", "ignore_above": 5}
    assert made["dynamic"] == "strict"
    assert made["dynamic_templates"] == [{"s": {"match": "mine"}}, {"t": {"match": "t"}}]
    assert with_defaults({"l": ["b"]}, {"l": ["a", "b"]}) == {"l": ["a", "b"]}
