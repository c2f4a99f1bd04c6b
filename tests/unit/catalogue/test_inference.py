"""Inference without a node: what is decided by ourselves. What a node would map is compared with nodes in tests/integration."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esproxy.catalogue.dates import date_format
from esproxy.catalogue.documents import Field
from esproxy.catalogue.dynamic_rules import Unparsed, compile_rules, number_kind
from esproxy.catalogue.dynamic_templates import templates
from esproxy.catalogue.fields import first_fields, flatten, nest
from esproxy.catalogue.inference import infer, new_fields, read
from esproxy.catalogue.renaming import Renames, logical_path
from esproxy.errors import EsproxyError, Refusal

ES, OS = ("elasticsearch", "9.4.3"), ("opensearch", "3.8.0")
ENGINES = [ES, OS]
TEXT = {"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 256}}}


def new(document: dict[str, Any], engine: tuple[str, str] = ES, mapping: dict[str, Any] | None = None, **settings: Any) -> Any:
    mapping = mapping or {}
    return new_fields(document, mapping, first_fields(mapping.get("properties", {})), *engine, settings)


# --- types -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "value, definition",
    [
        (1, {"type": "long"}),
        (1.0, {"type": "float"}),
        (True, {"type": "boolean"}),
        ("x", TEXT),
        ("1", TEXT),
        ("2020-01-01", {"type": "date"}),
        ([[2]], {"type": "long"}),
        ([None, "x"], TEXT),
        ({}, {"type": "object"}),
        ([{}], {"type": "object"}),
    ],
)
def test_new_fields_of_a_value(engine: tuple[str, str], value: Any, definition: dict[str, Any]) -> None:
    assert new({"a": value}, engine) == {"a": definition}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("value", [None, [], [None], [[], [None]]])
def test_new_fields_of_nothing(engine: tuple[str, str], value: Any) -> None:
    assert new({"a": value}, engine) == {}


@pytest.mark.parametrize("engine", ENGINES)
def test_new_fields_known_ones_are_not_among_them(engine: tuple[str, str]) -> None:
    mapping = {"properties": {"a": {"type": "keyword"}, "o": {"properties": {"b": {"type": "long"}}}}}
    assert new({"a": 1, "o": {"b": 2, "c": 3}, "o.d": 4}, engine, mapping) == {"o.c": {"type": "long"}, "o.d": {"type": "long"}}


@pytest.mark.parametrize("engine", ENGINES)
def test_new_fields_parents_come_first(engine: tuple[str, str]) -> None:
    assert list(new({"a.b.c": 1, "d": {"e": {"f": 1}}}, engine)) == ["a", "a.b", "a.b.c", "d", "d.e", "d.e.f"]


def test_new_fields_a_vector_is_elasticsearchs_alone() -> None:
    floats = {"v": [0.5] * 128}
    assert new(floats)["v"] == {"type": "dense_vector", "dims": 128, "index": True, "similarity": "cosine"}
    assert new(floats, ("elasticsearch", "8.10.4"))["v"] == new(floats, OS)["v"] == {"type": "float"}


def test_new_fields_values_that_disagree() -> None:
    assert new({"a": [1, 1.5]}) == {"a": {"type": "long"}}
    with pytest.raises(Refusal, match=r"mapper \[a\] cannot be changed from type \[long\] to \[float\]"):
        new({"a": [1, 1.5]}, OS)


def test_new_fields_under_runtime_are_marked() -> None:
    assert new({"a": {"b": 1.5}}, mapping={"dynamic": "runtime"}) == {"a.b": {"type": "double", "runtime": True}}


@pytest.mark.parametrize("engine", ENGINES)
def test_new_fields_under_strict_are_refused_by_name(engine: tuple[str, str]) -> None:
    mapping = {"dynamic": "strict", "properties": {"o": {"type": "object"}}}
    with pytest.raises(Refusal) as refused:
        new({"o": {"a": 1}}, engine, mapping)
    reason = "mapping set to strict, dynamic introduction of [a] within [o] is not allowed"
    assert refused.value.cause() == {"type": "strict_dynamic_mapping_exception", "reason": reason}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("key", ["mapping.total_fields.limit", "index.mapping.total_fields.limit"])
def test_new_fields_limit_counts_known_and_multi_fields(engine: tuple[str, str], key: str) -> None:
    mapping = {"properties": {"known": TEXT}}
    assert new({"a": 1, "b": 1}, engine, mapping, **{key: "4"})
    with pytest.raises(Refusal, match=r"failed to parse|Limit of total fields"):
        new({"a": 1, "b": "x"}, engine, mapping, **{key: "4"})


@pytest.mark.parametrize("engine", ENGINES)
def test_new_fields_nested_too_deep_is_refused(engine: tuple[str, str]) -> None:
    with pytest.raises(Refusal):
        new({"a": json.loads("[" * 600 + "1" + "]" * 600)}, engine)


def test_false_allow_templates_with_dots_maps_nothing() -> None:
    """A node of OpenSearch 3.8 never ends such a request."""
    mapping = {"dynamic": "false_allow_templates", "dynamic_templates": [{"t": {"match": "t", "mapping": {"type": "keyword"}}}]}
    assert new({"a.t": 1}, OS, mapping) == {}


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=9),
    lambda below: (
        st.lists(below, max_size=4) | st.dictionaries(st.sampled_from(["a", "b", "a.b", "b.c.a", "~2"]), below, max_size=4)
    ),
    max_leaves=20,
)
DOCUMENTS = st.dictionaries(st.sampled_from(["a", "b", "c", "a.b", "c.d.e"]), JSON, max_size=5)


@pytest.mark.parametrize("engine", ENGINES)
@given(document=DOCUMENTS)
def test_infer_twice_finds_nothing_new(engine: tuple[str, str], document: dict[str, Any]) -> None:
    rules = compile_rules({}, {}, *engine)
    try:
        found = infer(document, rules, {})
    except EsproxyError:
        return
    known = {path: Field(definition, path) for path, definition in found.items()}
    assert infer(document, rules, known) == {}
    assert flatten(nest(found)) == found  # parents are among them, before what is in them or not


@pytest.mark.parametrize(
    ("document", "refused"),
    [
        ({"a": [1, "x"]}, r"mapper \[a\] cannot be changed from type \[long\] to \[text\]"),
        ({"a": {"b": [0.5, 1]}}, r"mapper \[a.b\] cannot be changed from type \[float\] to \[long\]"),
        ({"a": [{"b": 1}, 2]}, r"can't merge a non object mapping \[a\] with an object mapping"),
        ({"a": [2, {"b": 1}]}, r"can't merge a non object mapping \[a\] with an object mapping"),
    ],
)
def test_values_that_would_make_two_fields_are_refused_by_elasticsearch_before_9(document, refused):
    with pytest.raises(Refusal, match=refused):
        new(document, ("elasticsearch", "8.19.13"))
    assert new(document)["a"]["type"] in ("long", "object")


def test_values_of_a_field_that_is_there_make_none_in_any_version():
    mapping = {"properties": {"a": {"type": "keyword"}}}
    assert new({"a": [1, "x"]}, ("elasticsearch", "8.19.13"), mapping) == {}
    assert new({"a": [1, None, 2]}, ("elasticsearch", "8.19.13")) == {"a": {"type": "long"}}


@pytest.mark.parametrize(("text", "before_9"), [("2020T10", True), ("2020-01-01T10Z+01", True), ("+12020T10", False)])
def test_date_that_javas_parser_alone_takes_is_one_before_9(text: str, before_9: bool) -> None:
    for version, taken in ((8, 19), before_9), ((9, 4), False):
        assert date_format("strict_date_optional_time", "elasticsearch", version).matches(text) is taken


def test_dates_of_two_formats_in_a_new_field_are_refused_before_9() -> None:
    document = {"a": ["2020-01-01", "2020/01/01"]}
    with pytest.raises(Refusal, match=r"parameter \[format\] from \[strict_date.*\n.*\[locale\] from \[en\] to \[\]"):
        new(document, ("elasticsearch", "8.19.13"))
    assert new(document, ("elasticsearch", "9.4.3")) == {"a": {"type": "date"}}


@pytest.mark.parametrize(
    ("values", "before_9", "since"),
    [
        ([0.5] * 130, 130, 130),
        ([*[0.5] * 130, None], 131, 130),
        ([*[0.5] * 127, [0.5]], 129, None),
        ([[0.5] * 64, [0.5] * 64], "none", None),
        ([*[0.5] * 4096, []], "none", 4096),
    ],
)
def test_vector_has_the_dimensions_that_the_version_counts(values: list[Any], before_9: Any, since: int | None) -> None:
    def dims(version: str) -> Any:
        field = new({"a": values}, ("elasticsearch", version))["a"]
        return field.get("dims", "none") if field["type"] == "dense_vector" else None

    assert (dims("8.19.13"), dims("9.4.3")) == (before_9, since)


# --- what is refused when it is declared -----------------------------------------------------------


@pytest.mark.parametrize(
    "form", ["nosuch", "YYYY-ww", "MMMM d", "yyyy-MM-dd z", "strict_date", "basic_date", "{yyyy}", "yyyy]", "'yyyy"]
)
def test_date_format_that_is_not_understood_is_refused(form: str) -> None:
    with pytest.raises(Refusal, match="not supported"):
        date_format(form, "elasticsearch", (9,))


def test_date_format_of_an_epoch_is_refused() -> None:
    with pytest.raises(Refusal, match=r"Epoch \[epoch_second\] is not supported as dynamic date format"):
        date_format("epoch_second", "opensearch", (3,))


@pytest.mark.parametrize("pattern", ["(a+)+", "(a|b)*", r"(a)\1", "(a", "[a-", r"\p{Alpha}"])
def test_template_expression_that_is_not_bounded_or_not_pythons_is_refused(pattern: str) -> None:
    with pytest.raises(Refusal, match="not supported here"):
        templates([{"t": {"match_pattern": "regex", "match": pattern, "mapping": {}}}], "elasticsearch")


def test_template_expression_on_a_long_name_is_refused() -> None:
    declared = [{"t": {"match_pattern": "regex", "match": "a*a*a*b", "mapping": {"type": "keyword"}}}]
    (template,) = templates(declared, "elasticsearch")
    assert template.matches("aab", "aab", "long")
    with pytest.raises(Refusal, match="may take too long"):
        template.matches("a" * 1000, "a" * 1000, "long")


@pytest.mark.parametrize(
    "pattern, text, matches",
    [
        ("*", "", True),
        ("a*", "a", True),
        ("a*a", "a", False),
        ("a*b*c", "aXbYc", True),
        ("a*b*c", "acb", False),
        ("*b*", "abc", True),
        ("a", "ab", False),
        ("**", "x", True),
        ("a.*", "a.b.c", True),
    ],
)
def test_template_wildcard(pattern: str, text: str, matches: bool) -> None:
    (template,) = templates([{"t": {"match": pattern, "mapping": {}}}], "opensearch")
    assert template.matches(text, text, "long") is matches


# --- reading ---------------------------------------------------------------------------------------


def test_read_keeps_whole_numbers_whole() -> None:
    assert read(b'{"a": 123456789012345678901234567890, "b": -0}') == {"a": 123456789012345678901234567890, "b": 0}


@pytest.mark.parametrize("raw", [b"", b"[]", b"1", b'{"a": NaN}', b'{"a": Infinity}', b"{", b"[" * 100_000, b"\xff"])
def test_read_refuses_what_is_no_document(raw: bytes) -> None:
    with pytest.raises(Refusal):
        read(raw)


@pytest.mark.parametrize("text", ["", " ", "x", "1_0", "0x10", "1L", "\u0661.5", "1\u00a0"])
def test_number_kind_of_no_number(text: str) -> None:
    assert number_kind(text) is None


# --- renaming --------------------------------------------------------------------------------------

KNOWN = {
    "a": Field({"type": "long"}, "a~2"),
    "o": Field({"type": "object"}, "o~3"),
    "o.p": Field({"type": "keyword"}, "o~3.p"),
    "o.n": Field({"type": "nested"}, "o~3.n"),
    "o.n.x": Field({"type": "text"}, "o~3.n.x~2"),
    "g": Field({"type": "geo_point"}, "g~2"),
    "t~1": Field({"type": "long"}, "t~1~1"),
    "plain": Field({"type": "long"}, "plain"),
}


@pytest.mark.parametrize(
    "logical, physical",
    [
        (b'{"a":1}', b'{"a~2":1}'),
        (b'{"o":{"p":1,"a":2}}', b'{"o~3":{"p":1,"a":2}}'),
        (b'{"o.p":1}', b'{"o~3.p":1}'),
        (b'{"o.n.x":1}', b'{"o~3.n.x~2":1}'),
        (b'{"o":{"n":[{"x":1},{"x":[2]}],"n.x":3}}', b'{"o~3":{"n":[{"x~2":1},{"x~2":[2]}],"n.x~2":3}}'),
        (b'{"g":{"a":1,"lat":2}}', b'{"g~2":{"a":1,"lat":2}}'),
        (b'{"t~1":1}', b'{"t~1~1":1}'),
        (b'{"u":{"a":1},"u.a":2,"a":1.50e+3}', b'{"u":{"a":1},"u.a":2,"a~2":1.50e+3}'),
        (b'{"\\u0061":"\\ud83d"}', b'{"a~2":"\\ud83d"}'),
    ],
)
def test_documents_are_renamed_both_ways(logical: bytes, physical: bytes) -> None:
    assert Renames.of(KNOWN).physical_document(logical) == physical
    assert json.loads(Renames.of(KNOWN).logical_document(physical)) == json.loads(logical)


def test_document_with_a_name_twice_is_none() -> None:
    with pytest.raises(ValueError, match="Duplicate field 'a'"):
        Renames.of(KNOWN).physical_document(b'{"a":null,"a":2}')


@pytest.mark.parametrize("raw", [b'{"plain" : 1}', b'{"x":{"a":1}}', b"{}", b"[]"])
def test_a_document_without_renamed_fields_is_the_same_object(raw: bytes) -> None:
    assert Renames.of(KNOWN).physical_document(raw) is raw
    assert Renames.of(KNOWN).logical_document(raw) is raw


def test_a_document_of_an_entry_without_renamed_fields_is_not_even_read() -> None:
    raw = b"not json"
    assert Renames.of({"plain": KNOWN["plain"]}).physical_document(raw) is raw


def test_unknown_members_can_be_hidden_from_the_pools_mapping() -> None:
    renames = Renames.of(KNOWN, hide_unknown=True)
    raw = b'{"age":"x","o":{"y":{"a":1}},"o.z.w":1,"g":{"lat":1},"v~2":3,"plain":4,"q":[{"a":1}]}'
    hidden = renames.physical_document(raw)
    assert list(json.loads(hidden)) == ["age~0", "o~3", "o~3.z~0.w", "g~2", "v~2~0", "plain", "q~0"]
    assert json.loads(hidden)["o~3"] == {"y~0": {"a": 1}}
    assert renames.logical_document(hidden) == raw


def test_a_name_that_became_known_stands_for_the_one_that_was_hidden() -> None:
    assert Renames.of(KNOWN).logical_document(b'{"plain~0":null,"x~0":1,"plain":2}') == b'{"x":1,"plain":2}'


def test_an_unknown_name_that_looks_physical_is_escaped() -> None:
    renames = Renames.of({"plain": KNOWN["plain"]})
    for raw, stored in (
        (b'{"x~5":null}', b'{"x~5~1":null}'),
        (b'{"x\\u007e5":[]}', b'{"x~5~1":[]}'),
        (b'{"a":"~"}', b'{"a":"~"}'),
    ):
        assert renames.physical_document(raw) == stored
        assert json.loads(renames.logical_document(stored)) == json.loads(raw)


def test_a_document_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(ValueError):
        Renames.of(KNOWN).physical_document(b'{"a":')


@given(document=DOCUMENTS)
def test_renaming_there_and_back_is_identity(document: dict[str, Any]) -> None:
    known = {
        "a": Field({"type": "object"}, "a~2"),
        "a.b": Field({"type": "long"}, "a~2.b~4"),
        "c": Field({"type": "object"}, "c"),
    }
    renames = Renames.of(known, hide_unknown=True)
    raw = json.dumps(document).encode()
    assert json.loads(renames.logical_document(renames.physical_document(raw))) == document


@pytest.mark.parametrize(
    "physical, logical", [("a", "a"), ("a~2.b", "a.b"), ("a~1~1", "a~1"), ("o~3.n.x~2", "o.n.x"), ("~2", "~2")]
)
def test_logical_path(physical: str, logical: str) -> None:
    assert logical_path(physical) == logical


# --- what a request asks for by name -----------------------------------------------------------------


def test_dynamic_template_that_a_request_names_is_taken_whatever_it_matches() -> None:
    mapping = {"dynamic_templates": [{"geo": {"match_mapping_type": "long", "mapping": {"type": "geo_point"}}}]}
    assert new_fields({"o": {"at": "1,2"}}, mapping, {}, *ES, {}, {"o.at": "geo"})["o.at"] == {"type": "geo_point"}
    with pytest.raises(EsproxyError, match=r"Can't find dynamic template for dynamic template name \[no\] of field \[at\]"):
        new_fields({"at": "1,2"}, mapping, {}, *ES, {}, {"at": "no"})


def test_place_of_a_field_that_is_refused_is_where_its_value_begins() -> None:
    raw = b'{"a": 1,\n "b" : 2}'
    with pytest.raises(Unparsed) as error:
        new_fields({"a": 1, "b": 2}, {"dynamic": "strict"}, first_fields({"a": {"type": "long"}}), *ES, {})
    assert error.value.at(raw).reason.startswith("[2:8] mapping set to strict, dynamic introduction of [b]")
    with pytest.raises(Unparsed) as error:
        new_fields({"b": 2}, {"dynamic": "strict"}, {}, *OS, {})
    assert error.value.at(raw).reason.startswith("mapping set to strict")


def test_names_keep_their_dots_where_there_are_no_subobjects() -> None:
    long = {"type": "long"}
    assert nest({"a.b": long, "c": long}, subobjects=False) == {"a.b": long, "c": long}
    flat = {"o": {"type": "object", "subobjects": False}, "o.a.b": long}
    assert nest(flat) == {"o": {"type": "object", "subobjects": False, "properties": {"a.b": long}}}
