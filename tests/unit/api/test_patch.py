"""Corrections: each form, and that a row which fits nothing is an error."""

from __future__ import annotations

import pytest

from esproxy.api.kinds import Kind
from esproxy.api.patch import (
    Alias,
    Also,
    Ensure,
    Gone,
    Is,
    Keys,
    Member,
    New,
    Noted,
    Others,
    PatchError,
    QueryRoot,
    Row,
    Sole,
    Untagged,
    Variant,
    apply,
)
from esproxy.api.schema import SCALAR, Dict, Leaf, Ref, Root, Schema, TypeDef, Union

FIELD = Leaf(Kind.FIELD)


@pytest.fixture
def schema() -> Schema:
    types = (
        TypeDef("P", properties={"inherited": SCALAR}),
        TypeDef("A", parents=(Ref("P"),), properties={"a": SCALAR, "d": Dict(SCALAR, SCALAR)}),
        TypeDef("U", alias=Union((Ref("A"), Ref("P"))), tagged=True),
        TypeDef("D", alias=Dict(FIELD, SCALAR)),
        TypeDef("O", other=Dict(FIELD, SCALAR)),
    )
    return Schema({type_.name: type_ for type_ in types})


def test_forms_do_what_they_say(schema: Schema) -> None:
    apply(
        schema,
        [
            Is("A", "a", FIELD, ""),
            Keys("A", "d", Kind.ID, ""),
            Keys("D", None, Kind.COPY, ""),
            Keys("O", None, Kind.COPY, ""),
            Also("A", {"new": FIELD}, ""),
            QueryRoot("P", "inherited", ""),
            Ensure("A", ("new",), "", ("a",)),
            Noted("A", "AGGS", ""),
            New("N", {"n": FIELD}, "", shortcut="n", tag="t", parent=Ref("P")),
            Variant("V", "A", {"a": SCALAR}, ""),
            Member("U", Ref("N"), ""),
            Untagged("U", Ref("P"), ""),
            Others("P", Dict(SCALAR, FIELD), ""),
            Sole("P", ""),
        ],
    )
    assert schema.terms("A") == {"a": FIELD, "d": Dict(Leaf(Kind.ID), SCALAR), "new": FIELD, "inherited": Root(SCALAR)}
    assert schema.terms("V")["a"] == SCALAR
    assert schema.types["D"].alias == Dict(SCALAR, SCALAR)
    assert schema.other("O") == Dict(SCALAR, SCALAR)
    assert (schema.types["A"].ensure, schema.types["A"].unless, schema.types["A"].mark) == (("new",), ("a",), "AGGS")
    assert schema.terms("N") == {"n": FIELD, "inherited": Root(SCALAR)}
    assert schema.types["U"].alias == Union((Ref("A"), Ref("P"), Ref("N")))
    assert schema.types["U"].untagged == Ref("P")
    assert schema.types["P"].sole
    apply(schema, [Gone("A", ("a", "d"), ""), Alias("D", SCALAR, "")])
    assert set(schema.terms("A")) == {"new", "inherited"}
    assert schema.types["D"].alias == SCALAR


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (Is("Nowhere", "a", FIELD, "r"), "Is Nowhere: no such type"),
        (Is("A", "inherited", FIELD, "r"), r"no property \[inherited\] of its own"),
        (Is("A", "a", SCALAR, "r"), r"\[a\] is that already"),
        (Keys("A", "d", Kind.COPY, "r"), r"\[d\] is that already"),
        (Keys("A", "a", Kind.FIELD, "r"), "is no dictionary"),
        (Keys("P", None, Kind.FIELD, "r"), "has no keys of that sort"),
        (Also("A", {"inherited": FIELD}, "r"), r"\[inherited\] is known already"),
        (Gone("A", ("b",), "r"), r"no property \[b\] of its own"),
        (QueryRoot("A", "b", "r"), r"no property \[b\] of its own"),
        (Ensure("A", ("b",), "r"), r"no such property: \['b'\]"),
        (New("A", {}, "r"), "exists already"),
        (Variant("V", "Nowhere", {}, "r"), "no such type: Nowhere"),
        (Variant("V", "A", {"b": FIELD}, "r"), r"A has no \['b'\]"),
        (Alias("A", FIELD, "r"), "is no alias"),
        (Alias("D", Dict(FIELD, SCALAR), "r"), "stands for that already"),
        (Member("U", Ref("A"), "r"), "has that member already"),
        (Member("D", Ref("A"), "r"), "is no union"),
        (Untagged("D", Ref("A"), "r"), "has no tags"),
        (Others("O", Dict(FIELD, SCALAR), "r"), "has these already"),
    ],
)
def test_row_that_fits_nothing_is_an_error(schema: Schema, row: Row, words: str) -> None:
    with pytest.raises(PatchError, match=words):
        apply(schema, [row])


def test_mark_twice_is_an_error(schema: Schema) -> None:
    with pytest.raises(PatchError, match="is marked already"):
        apply(schema, [Noted("A", "AGGS", "r"), Noted("A", "AGGS", "r")])


def test_all_rows_at_fault_are_named_at_once(schema: Schema) -> None:
    with pytest.raises(PatchError) as error:
        apply(schema, [Is("A", "x", FIELD, "one"), Is("A", "y", FIELD, "two")])
    assert "one" in str(error.value) and "two" in str(error.value)
