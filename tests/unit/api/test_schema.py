"""Reading definitions: each form that a type can have, in a schema of a few lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from esproxy.api.kinds import Kind
from esproxy.api.schema import ANY, SCALAR, Dict, Items, Leaf, Ref, Schema, Union, Var, read, unite, unite_versions

STRING = {"kind": "instance_of", "type": {"name": "string", "namespace": "_builtins"}}
TEXT = Ref("t:Text")


def ref(name: str, *generics: Any) -> dict[str, Any]:
    namespace, _, name = name.rpartition(":")
    return {"kind": "instance_of", "type": {"name": name, "namespace": namespace}, "generics": list(generics)}


def prop(name: str, type_: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "type": type_, "required": False, **more}


def interface(name: str, *properties: Any, **more: Any) -> dict[str, Any]:
    return {"kind": "interface", "name": {"namespace": "t", "name": name}, "properties": list(properties), **more}


def alias(name: str, type_: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"kind": "type_alias", "name": {"namespace": "t", "name": name}, "type": type_, **more}


@pytest.fixture
def load(tmp_path: Path):
    def load(*types: dict[str, Any], endpoints: tuple[dict[str, Any], ...] = ()) -> Schema:
        path = tmp_path / "schema.json"
        path.write_text(json.dumps({"types": types, "endpoints": endpoints}))
        return read(path)

    return load


def test_arrays_vanish(load) -> None:
    schema = load(interface("A", prop("a", {"kind": "array_of", "value": ref("t:Text")})))
    assert schema.terms("t:A") == {"a": TEXT}


def test_inherited_properties_are_there_and_the_nearest_wins(load) -> None:
    schema = load(
        interface("A", prop("a", ref("t:Text")), prop("b", STRING)),
        interface("B", prop("b", ref("t:Text")), inherits={"type": {"namespace": "t", "name": "A"}}),
    )
    assert schema.terms("t:B") == {"a": TEXT, "b": TEXT}


def test_generics_are_filled_in_through_inheritance(load) -> None:
    variable = ref("t.A:T")
    schema = load(
        interface("A", prop("a", {"kind": "array_of", "value": variable}), generics=[{"name": "T", "namespace": "t.A"}]),
        interface("B", inherits={"type": {"namespace": "t", "name": "A"}, "generics": [ref("t:Text")]}),
    )
    assert schema.terms("t:B") == {"a": TEXT}
    assert schema.terms("t:A") == {"a": Var("T")}


def test_property_comes_by_its_aliases(load) -> None:
    schema = load(interface("A", prop("aggregations", STRING, aliases=["aggs"])))
    assert set(schema.terms("t:A")) == {"aggregations", "aggs"}


def test_additional_property_is_what_other_keys_are(load) -> None:
    behaviour = {"type": {"namespace": "_spec_utils", "name": "AdditionalProperty"}, "generics": [ref("t:Field"), ref("t:Text")]}
    schema = load(interface("A", behaviors=[behaviour]), interface("B", inherits={"type": {"namespace": "t", "name": "A"}}))
    assert schema.other("t:B") == Dict(Ref("t:Field"), TEXT)


def test_unknown_behaviour_is_an_error(load) -> None:
    with pytest.raises(ValueError, match="unknown behaviour Magic"):
        load(interface("A", behaviors=[{"type": {"namespace": "_spec_utils", "name": "Magic"}}]))


def test_unknown_kind_of_type_is_an_error(load) -> None:
    with pytest.raises(ValueError, match="unknown kind of type: magic"):
        load(alias("A", {"kind": "magic"}))


def test_scalars_any_and_enums(load) -> None:
    schema = load(
        interface(
            "A", prop("a", STRING), prop("b", {"kind": "user_defined_value"}), prop("c", {"kind": "literal_value", "value": "x"})
        ),
        {"kind": "enum", "name": {"namespace": "t", "name": "E"}, "members": [{"name": "x"}]},
    )
    assert schema.terms("t:A") == {"a": SCALAR, "b": ANY, "c": SCALAR}
    assert schema.types["t:E"].alias == SCALAR


def test_dictionary_beside_a_list_of_something_else_keeps_its_items_apart(load) -> None:
    named = {"kind": "dictionary_of", "key": STRING, "value": ref("t:Text"), "singleKey": False}
    listed = {"kind": "array_of", "value": ref("t:Text")}
    schema = load(
        alias("Both", {"kind": "union_of", "items": [named, listed]}),
        alias("Same", {"kind": "union_of", "items": [named, {"kind": "array_of", "value": named}]}),
    )
    assert schema.types["t:Both"].alias == Union((Dict(SCALAR, TEXT), Items(TEXT)))
    assert schema.types["t:Same"].alias == Dict(SCALAR, TEXT)


def test_external_tag_and_shortcut_are_kept(load) -> None:
    schema = load(
        alias("U", {"kind": "union_of", "items": [ref("t:A"), ref("t:B")]}, variants={"kind": "external_tag"}),
        interface("A", prop("a", STRING), variantName="a_tag", shortcutProperty="a"),
    )
    assert schema.types["t:U"].tagged
    assert (schema.types["t:A"].tag, schema.types["t:A"].shortcut) == ("a_tag", "a")


def test_union_is_flat_without_repetition() -> None:
    assert unite(TEXT, Union((SCALAR, TEXT))) == Union((TEXT, SCALAR))
    assert unite(TEXT, TEXT) == TEXT


# --- versions ---------------------------------------------------------------------------------------


def test_label_of_either_version_stays(load) -> None:
    new, old = (
        load(interface("A", prop("a", STRING), prop("b", STRING))),
        load(interface("A", prop("a", ref("t:Text")), prop("c", STRING))),
    )
    united = unite_versions([new, old])
    assert united.terms("t:A") == {"a": Union((SCALAR, TEXT)), "b": SCALAR, "c": SCALAR}


def endpoint(method: str, path: str, **query: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    name = {"namespace": "t", "name": "Request"}
    return (
        {
            "kind": "request",
            "name": name,
            "path": [],
            "query": [prop(k, v) for k, v in query.items()],
            "body": {"kind": "no_body"},
        },
        {"kind": "response", "name": {"namespace": "t", "name": "Response"}, "body": {"kind": "value", "value": STRING}},
        {
            "name": "e",
            "request": name,
            "response": {"namespace": "t", "name": "Response"},
            "urls": [{"methods": [method], "path": path}],
        },
    )


def test_urls_and_parameters_of_either_version_stay(load) -> None:
    *types, row = endpoint("GET", "/a", x=STRING)
    new = load(*types, endpoints=(row,))
    *types, row = endpoint("POST", "/b", x=ref("t:Text"), y=STRING)
    old = load(*types, endpoints=(row,))
    united = unite_versions([new, old]).endpoints["e"]
    assert united.urls == [(("GET",), "/a"), (("POST",), "/b")]
    assert united.query == {"x": Union((SCALAR, TEXT)), "y": SCALAR}
    assert united.request is None


def test_refused_leaf_keeps_its_reason() -> None:
    assert Leaf(Kind.REFUSE, "a") != Leaf(Kind.REFUSE, "b")
