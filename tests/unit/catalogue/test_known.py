"""Documents of which all fields are known: what is said without a walk is what both engines' walks say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esproxy.catalogue.documents import Field
from esproxy.catalogue.dynamic_rules import compile_rules
from esproxy.catalogue.inference import infer
from esproxy.catalogue.known import Known
from esproxy.errors import EsproxyError

ENGINES = [("elasticsearch", "9.4.3"), ("opensearch", "3.8.0")]
TYPES: dict[str, dict[str, Any]] = {
    "n": {"type": "long"},
    "t": {"type": "text", "fields": {"keyword": {"type": "keyword"}}},
    "g": {"type": "geo_point"},
    "c": {"type": "keyword", "copy_to": "made"},
    "r": {"type": "long", "runtime": True},
    "o": {"type": "object"},
    "o.n": {"type": "long"},
    "o.p": {"type": "object", "dynamic": "strict"},
    "o.p.t": {"type": "text"},
    "nested": {"type": "nested"},
    "nested.n": {"type": "long"},
    "off": {"type": "object", "enabled": False},
    "flat": {"type": "object", "subobjects": False},
    "flat.a.b": {"type": "long"},
    "lost.n": {"type": "long"},
}
FIELDS = {path: Field(definition, path) for path, definition in TYPES.items()}
NAMES = st.sampled_from([*"ntgcropab", "nested", "off", "flat", "lost", "new", "o.n", "", " ", "_id"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
MAPPINGS = [{}, {"dynamic": "strict"}, {"dynamic": "false"}, {"subobjects": False}]


def has_all(document: Any, mapping: dict[str, Any] | None = None, settings: dict[str, Any] | None = None) -> bool:
    return Known(mapping or {}, settings or {}, FIELDS).has_all(json.dumps(document).encode())


@pytest.mark.parametrize("engine", ENGINES, ids=[name for name, _ in ENGINES])
@pytest.mark.parametrize("mapping", MAPPINGS, ids=str)
@given(document=st.dictionaries(NAMES, VALUES, max_size=5))
def test_document_that_is_said_to_bring_nothing_brings_nothing(engine, mapping, document):
    if has_all(document, mapping):
        assert infer(document, compile_rules(mapping, {}, *engine), FIELDS) == {}


def test_fields_at_any_depth_are_told():
    """Else every document would be walked."""
    deep = {"n": 1, "t": ["x", None], "g": [1.5, 2], "o": {"n": None, "p": {"t": "x"}}, "nested": [{"n": 1}, {"n": [2, 3]}]}
    assert has_all({}) and has_all(deep) and has_all({"n": [[1], [[2]]], "nested": [[{"n": 1}], {"n": 2}]})


@pytest.mark.parametrize(
    "document",
    [
        [], None, {"new": 1}, {"o": {"new": 1}}, {"nested": [{"n": 1}, {"new": 1}]}, {"o.n": 1}, {"c": 1}, {"r": 1},
        {"flat": {"a.b": 1}}, {"lost": {"n": 1}}, {"n": {"x": 1}}, {"n": [{"x": 1}]}, {"n": [[{"x": 1}]]},
        {"nested": [[{"new": 1}]]}, [{"n": 1}], 5, "n",
    ],
)  # fmt: skip
def test_what_is_rare_is_left_to_the_walk(document):
    assert not has_all(document)


@pytest.mark.parametrize("raw", [b"", b"{", b'{"n":1', b'{"n":1} x', b'{"n":1,"n":2}', b'{"\\ud800":1}', b'{"n":"\xff"}'])
def test_what_is_no_document_is_left_to_the_walk(raw):
    assert not Known({}, {}, FIELDS).has_all(raw)


@pytest.mark.parametrize("raw", [b' { "n" : 1 } ', b'{"\\u006e":1}', b'{"n":"\\ud800"}', b'{"n":1e999}', b'{"n":null}'])
def test_document_is_known_however_it_is_written(raw):
    assert Known({}, {}, FIELDS).has_all(raw)


@pytest.mark.parametrize(("mapping", "settings"), [({"subobjects": False}, {}), ({}, {"index.mapping.depth.limit": 1})])
def test_index_with_rules_of_its_own_is_left_to_the_walk(mapping, settings):
    assert not has_all({"n": 1}, mapping, settings)


def test_walk_refuses_what_is_not_told():
    """The one of two ways that is taken decides the same: a strict object's new field."""
    with pytest.raises(EsproxyError, match="strict"):
        infer({"o": {"p": {"x": 1}}}, compile_rules({}, {}, *ENGINES[0]), FIELDS)
