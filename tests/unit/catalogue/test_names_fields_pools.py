"""Names, fields and the choice of a pool."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esproxy.catalogue import fields, names, pools
from esproxy.catalogue.context import Caps
from esproxy.catalogue.documents import Field, Generation, Pool
from esproxy.catalogue.objects import object_mapping
from esproxy.catalogue.pools import Plan
from esproxy.errors import Refusal

LONG, TEXT = {"type": "long"}, {"type": "text"}
SEGMENT = st.text("ab~12", min_size=1, max_size=6)


@given(SEGMENT)
def test_segment_of_its_own_name_is_restored(segment: str):
    assert fields.restored(fields.own_name(segment)) == segment


@given(st.lists(st.tuples(SEGMENT, st.sampled_from([LONG, TEXT, {"type": "keyword"}])), max_size=12))
def test_fields_placed_never_share_a_name_with_another_definition(wanted: list[tuple[str, dict[str, Any]]]):
    claims: dict[str, dict[str, Any]] = {}
    for name, definition in wanted:
        placed = fields.place({name: definition}, {}, claims)[name]
        assert claims[placed.physical] == definition and fields.restored(placed.physical) == name


def test_field_below_a_clashing_name_follows_its_parent():
    claims = {"a": LONG}
    placed = fields.place({"a.b.c": TEXT}, {}, claims)
    assert {path: f.physical for path, f in placed.items()} == {"a": "a~2", "a.b": "a~2.b", "a.b.c": "a~2.b.c"}
    assert fields.place({"a.d": TEXT}, placed, claims)["a.d"].physical == "a~2.d"


def test_field_below_a_concrete_value_is_refused():
    with pytest.raises(Refusal, match="found a concrete value"):
        fields.place({"a.b": TEXT}, {"a": Field(LONG, "a")}, {"a": LONG})


def test_names_keep_their_dots_where_there_are_no_subobjects():
    claims: dict[str, dict[str, Any]] = {}
    at_root = fields.place({"a": LONG, "a.b": TEXT}, {}, claims, alone=True, dotted=True)
    assert {path: f.physical for path, f in at_root.items()} == {"a": "a", "a.b": "a.b"}
    claims = {"o": {"type": "object"}}
    known = fields.place({"o": {"type": "object", "subobjects": False}}, {}, claims)
    below = fields.place({"o.a": LONG, "o.a.b": TEXT, "o.c~1.d": TEXT}, known, claims)
    assert {path: f.physical for path, f in below.items()} == {"o.a": "o~2.a", "o.a.b": "o~2.a.b", "o.c~1.d": "o~2.c~1~1.d"}


def test_field_of_the_index_is_not_placed_again():
    assert fields.place({"a": TEXT}, {"a": Field(LONG, "a")}, {"a": LONG}) == {}


@pytest.mark.parametrize(
    ("definition", "common"),
    [
        ({"type": "long", "null_value": 1}, {}),
        ({"type": "text", "fields": {"k": {"type": "keyword", "null_value": "x"}}}, {}),
        ({"type": "geo_point"}, {}),
        (LONG, {"dynamic": "runtime"}),
        (LONG, {"dynamic": False}),
        (LONG, None),
    ],
)
def test_field_that_unknown_values_could_meet_never_has_its_plain_name(definition: dict[str, Any], common: Any):
    claims: dict[str, dict[str, Any]] = {}
    assert fields.place({"a": definition, "a~3": definition}, {}, claims, common)["a"].physical == "a~2"
    assert claims.keys() == {"a~2", "a~3~2"}
    assert fields.place({"a": definition}, {}, claims, common)["a"].physical == "a~2"
    assert fields.place({"a": definition}, {}, {"a": definition}, common)["a"].physical == "a"  # which all indices declare
    assert fields.place({"a": definition}, {}, {}, common, alone=True)["a"].physical == "a"


def test_field_in_an_object_that_ignores_what_it_does_not_know_never_has_its_plain_name():
    known = {"o": Field({"type": "object", "dynamic": False}, "o"), "p": Field({"type": "object", "dynamic": True}, "p")}
    placed = fields.place({"o.x.y": LONG, "p.x": LONG}, known, {}, {"dynamic": False})
    assert {path: field.physical for path, field in placed.items()} == {"o.x": "o.x~2", "o.x.y": "o.x~2.y~2", "p.x": "p.x"}


def test_definition_that_names_other_fields_names_them_as_they_are_called():
    claims = {"b": TEXT, "o": LONG}
    below = {"type": "text", "fields": {"raw": {"type": "keyword"}}}
    wanted = {
        "a": {"type": "text", "copy_to": ["b", "o.x"]}, "b": LONG, "o.x": LONG, "m": below,
        "z": {"type": "alias", "path": "o.x"}, "y": {"type": "alias", "path": "m.raw"},
    }  # fmt: skip
    placed = fields.place(wanted, {}, claims)
    assert claims["a"]["copy_to"] == ["b~2", "o~2.x"] and claims["z"]["path"] == "o~2.x" and claims["y"]["path"] == "m.raw"
    assert placed["a"].type["copy_to"] == ["b", "o.x"]


@pytest.mark.parametrize(
    ("definition", "told"),
    [
        ({"type": "alias", "path": "secret"}, r"Invalid \[path\] value \[secret\] for field alias \[a\]: an alias must refer to"),
        ({"type": "alias", "path": "a"}, "cannot refer to itself"),
        ({"type": "alias", "path": "m.raw"}, "must refer to an existing field"),
        ({"type": "text", "copy_to": "secret"}, r"\[a\] cannot be copied to \[secret\]"),
    ],
)
def test_definition_that_names_a_field_of_others_is_refused(definition: dict[str, Any], told: str):
    claims = {"secret": LONG, "m": {"type": "text", "fields": {"raw": {"type": "keyword"}}}}
    with pytest.raises(Refusal, match=told):
        fields.place({"a": definition}, {"m": Field(TEXT, "m")}, claims)
    assert set(claims) == {"secret", "m"}
    alone = fields.place({"a": definition}, {}, {}, alone=True)
    assert alone["a"].physical == "a"


@pytest.mark.parametrize("path", ["secret", "a.b", "a~2", "a~00", "~00", "", ".a", "o.x~3.y"])
def test_name_that_an_index_does_not_have_is_none_that_a_pool_has(path: str):
    sent = fields.unheld(path)
    claims: dict[str, Any] = {}
    fields.place({path or "x": LONG, "c~00.b": TEXT, "secret~00": TEXT, "~00": TEXT, "esproxy": TEXT}, {}, claims)
    assert not fields.is_there(sent, claims) and not fields.is_there(sent.partition(".")[0], claims)
    assert not path or path.startswith(".") or ".".join(map(fields.restored, sent.split(".")[:1])) == path.partition(".")[0]


@pytest.mark.parametrize(
    ("path", "physical"),
    [
        ("t", "t~2"), ("t.raw", "t~2.raw"), ("t.other", None), ("t._2gram", "t~2._2gram"), ("o", "o"), ("o.x", "o.x"),
        ("o.y", None),
        ("f.any.key", "f.any.key"), ("r.topic", "r.topic"), ("secret", None), ("o._x", None), ("", None),
    ],
)  # fmt: skip
def test_path_of_an_index_is_its_fields_and_what_their_types_make(path: str, physical: str | None):
    known = {
        "t": Field({"type": "text", "fields": {"raw": {"type": "keyword"}}}, "t~2"),
        "o": Field({"type": "object"}, "o"), "o.x": Field(LONG, "o.x"),
        "f": Field({"type": "flattened"}, "f"), "r": Field({"type": "rank_features"}, "r"),
    }  # fmt: skip
    assert fields.held(path, known) == physical
    claims = {field.physical: field.type for field in known.values()}
    assert physical is None or fields.is_there(physical, claims)


def test_mapping_that_copies_to_what_it_does_not_have_is_alone():
    copied = {"properties": {"a": {"type": "text", "copy_to": ["b", "later"]}, "b": TEXT}}
    templates = [{"t": {"mapping": {"type": "keyword", "copy_to": "all"}}}]
    assert fields.strangers(copied) == {"later"} and fields.strangers({"dynamic_templates": templates}) == {"all"}
    assert fields.strangers({"dynamic_templates": templates, "properties": {"all": TEXT}}) == set()
    for layout, reason in (("shared", "copies"), ("per-tenant", None)):
        assert pools.reason_for_one(Plan(layout, copied)) == reason


def test_mapping_flattened_and_nested_is_the_same():
    mapping = {"a": LONG, "o": {"type": "object", "properties": {"x": TEXT, "n": {"type": "nested", "properties": {"y": LONG}}}}}
    assert fields.nest(fields.flatten(mapping)) == mapping


def test_scope_is_parsed_as_it_is_made():
    assert names.parse_scope(names.scope("ac-me", 17)) == ("ac-me", 17)
    assert [names.parse_scope(text) for text in ("", "acme", "acme.", ".1", "acme.x", "acme.-1")] == [None] * 6


@pytest.mark.parametrize("logical", ["logs", "logs-2026.11.21", ".hidden", "é" * 127, "a" * 255])
def test_physical_name_holds_a_tilde_before_its_first_dot_and_fits(logical: str):
    name = names.physical(names.family_shared(logical, {}, {}), 1_000_000)
    assert "~" in name.partition(".")[0] and len(name.encode()) <= 255


def test_family_differs_by_name_mapping_and_settings_only():
    plan = Plan("shared", {"dynamic": False, "properties": {"a": LONG, "b": TEXT}}, {"index.number_of_shards": 1})
    same = Plan("shared", {"properties": {"b": TEXT, "a": LONG}, "dynamic": False}, {"index.number_of_shards": 1})
    assert pools.family(plan, "acme", "logs", 1) == pools.family(same, "zenith", "logs", 9)
    others = [Plan("shared", {**plan.mapping, "dynamic": True}, plan.settings), Plan("shared", plan.mapping, {})]
    assert len({pools.family(p, "acme", "logs", 1) for p in [plan, *others]} | {pools.family(plan, "acme", "web", 1)}) == 4


def test_family_per_tenant_is_one_for_all_mappings():
    plans = [Plan("per-tenant", {"properties": {"a": LONG}}), Plan("per-tenant", {"properties": {"a": TEXT}})]
    families = {pools.family(plan, "acme", name, n) for n, (plan, name) in enumerate(zip(plans, ["logs", "web"], strict=True))}
    assert len(families) == 1 and pools.family(plans[0], "zenith", "logs", 1) not in families


def test_family_per_tenant_differs_where_fields_change_how_all_documents_are_read():
    types = ["long", "nested", "dense_vector", "sparse_vector"]
    plans = [Plan("per-tenant", {"properties": {"o": {"properties": {"a": {"type": kind}}}}}) for kind in types]
    plain, nested, dense, sparse = (pools.family(plan, "acme", "logs", 1) for plan in plans)
    assert len({plain, nested, dense}) == 3 and dense == sparse
    assert plain == pools.family(Plan("per-tenant"), "acme", "logs", 1)


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (Plan("shared", {"properties": {"o": {"properties": {"j": {"type": "join"}}}}}), "join"),
        (Plan("shared", {"properties": {"q": {"type": "completion"}}}), "completion"),
        (Plan("shared", {"properties": {"q": {"type": "text", "fields": {"s": {"type": "completion"}}}}}), "completion"),
        (Plan("shared", {"properties": {"q": {"type": "percolator"}}}), "percolator"),
        (Plan("shared", {}, {"index.analysis.analyzer.mine.type": "custom"}), "analysis"),
        (Plan("shared", {}, {"index.sort.field": "a"}), "sorting"),
        (Plan("shared", {}, {"index.mode": "time_series"}), "mode"),
        (Plan("shared", {"_source": {"enabled": False}}), "root parameters"),
        (Plan("shared", {"runtime": {"r": {"type": "long"}}}), "root parameters"),
        (Plan("per-tenant", {"date_detection": False}), "root parameters"),
        (Plan("shared", occasion="data stream"), "data stream"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_index_that_cannot_share_has_a_pool_of_one(plan: Plan, reason: str):
    assert pools.reason_for_one(plan) == reason and reason in pools.REASONS
    assert pools.family(plan, "acme", "logs", 7) == "one~acme-7"


@pytest.mark.parametrize("plan", [Plan("shared"), Plan("shared", {"dynamic": "strict"}, {"index.mode": "standard"})])
def test_index_without_a_reason_shares(plan: Plan):
    assert pools.reason_for_one(plan) is None


def test_root_parameters_are_the_physical_index_of_a_pool_of_one():
    plan = Plan("per-tenant", {"date_detection": False, "dynamic": False, "properties": {"a": LONG}})
    pool = pools.new_pool(plan, "one~acme-7", 1)
    assert pools.body(pool, "per-tenant", Caps())["mappings"] == {**plan.mapping, "_routing": {"required": True}}
    del plan.mapping["date_detection"]
    shared = pools.new_pool(plan, "own~acme-1", 1)
    assert pools.body(shared, "per-tenant", Caps())["mappings"] == {"dynamic": "strict", "_routing": {"required": True}}
    assert object_mapping(plan.mapping, 7) == {"n7": {"type": "object", "dynamic": False, "properties": {"a": LONG}}}


def test_generation_is_never_used_twice():
    pool = Pool("f", {}, {})
    assert pools.open_generation(pool).physical == "f-1" and pools.open_generation(pool).physical == "f-1"
    pool.generations = [Generation(1, "f-1", "sealed")]
    assert pools.open_generation(pool).physical == "f-2"
    pool.generations = []
    assert pools.open_generation(pool).physical == "f-3"


@pytest.mark.parametrize(
    ("reason", "nested", "lacks"),
    [
        ("Limit of total fields [9000] has been exceeded", 0, True),
        ("Limit of nested fields [2] has been exceeded", 1, True),
        ("Limit of nested fields [2] has been exceeded", 2, True),
        ("Limit of nested fields [2] has been exceeded", 3, False),  # an empty one would not take it either
        ("Limit of mapping depth [20] has been exceeded", 0, False),
    ],
)
def test_refusal_for_what_others_have_is_told_from_one_for_the_mapping_itself(reason: str, nested: int, lacks: bool):
    inner = {f"n{number}": {"type": "nested"} for number in range(1, nested)}
    mapping = {"properties": {"a": LONG, **({"n": {"type": "nested", "properties": inner}} if nested else {})}}
    assert pools.lacks_room(reason, mapping) is lacks


def test_pool_is_full_at_any_cap():
    caps = Caps(fields=10, documents=100, bytes=1000)
    assert not pools.full(9, 99, 999, caps)
    assert pools.full(10, 0, 0, caps) and pools.full(0, 100, 0, caps) and pools.full(0, 0, 1000, caps)
