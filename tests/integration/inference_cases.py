"""Mappings, documents and texts for test_inference: what is known to be decided in its own way, and a generator for the rest."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from tests.integration.inference_documents import (
    COPIES,
    COPY_DOCUMENTS,
    DEPTH,
    DYNAMICS,
    DYNAMICS_DOCUMENTS,
    KEYWORD,
    KNOWN,
    KNOWN_DOCUMENTS,
    META,
    MIXED,
    NAMES_OF_FIELDS,
    PLACES,
    STRICT_PLACES,
    TEMPLATED,
    TOTAL,
    VALUES,
    VECTORS,
    VECTORS_OF_ARRAYS,
    Mapping,
    floats,
    template,
)


@dataclass(frozen=True)
class Case:
    mapping: Mapping
    documents: list[Mapping]
    settings: Mapping = field(default_factory=dict)


BOTH: dict[str, Case] = {
    "values": Case({}, VALUES),
    "values, numbers detected": Case({"numeric_detection": True}, [*VALUES, {"a": "1", "c": "1.5", "d": "x", "e": "2020-01-01"}]),
    "values, no dates": Case({"date_detection": False}, VALUES),
    "mixed": Case({}, MIXED),
    "names": Case({}, NAMES_OF_FIELDS),
    "metadata": Case({}, META),
    "known types": Case({"properties": KNOWN}, KNOWN_DOCUMENTS),
    "vectors": Case({}, VECTORS),
    "vectors of texts": Case({"numeric_detection": True}, [{"s": ["0.5"] * 128}, {"t": ["1"] * 128}]),
    "vectors, a template": Case(
        template({"type": "float"}, match_mapping_type="double"), [{"a": floats(128)}, {"b": [floats(128)]}]
    ),
    "vectors, another template": Case(template({"type": "double"}, match="d"), [{"a": floats(128)}, {"d": floats(128)}]),
    "vectors, known": Case(
        {"properties": {"a": {"type": "float"}, "n": {"type": "nested"}}}, [{"a": floats(128)}, {"n": {"x": floats(128)}}]
    ),
    "copies": Case({"properties": COPIES}, COPY_DOCUMENTS),
    "copies, strict": Case({"properties": COPIES, "dynamic": "strict"}, COPY_DOCUMENTS),
    "copies, false": Case({"properties": COPIES, "dynamic": False}, COPY_DOCUMENTS),
    "copies, by template": Case(
        template({"type": "keyword", "copy_to": "all.{name}"}, match="c*"), [{"c1": 1}, {"c2": ["x", "y"]}, {"o": {"c3": 1}}]
    ),
    "dynamic true": Case({"dynamic": True, **PLACES}, STRICT_PLACES),
    "dynamic false": Case({"dynamic": False, **PLACES}, STRICT_PLACES),
    "dynamic strict": Case({"dynamic": "strict", **PLACES}, STRICT_PLACES),
    "dynamic of objects": Case(DYNAMICS, DYNAMICS_DOCUMENTS),
    "dynamic of objects, strict": Case({**DYNAMICS, "dynamic": "strict"}, DYNAMICS_DOCUMENTS),
    "dynamic of objects, false": Case({**DYNAMICS, "dynamic": "false"}, DYNAMICS_DOCUMENTS),
    "total fields": Case(
        {},
        [
            dict.fromkeys("abcdef", 1),
            dict.fromkeys("abc", "x"),
            {"a": {"b": {"c": {"d": 1, "e": 1, "f": 1}}}},
            {"a": "x", "b": "x", "c": 1},
            {"d": 1},
            {"a": "y"},
        ],
        TOTAL,
    ),
    "total fields, alias": Case(
        {"properties": {"a": {"type": "long"}, "al": {"type": "alias", "path": "a"}}},
        [dict.fromkeys("bcde", 1), dict.fromkeys("bcd", 1)],
        TOTAL,
    ),
    "depth": Case(
        {},
        [{"a": {"b": {"c": {"d": 1}}}}, {"a.b.c.d": 1}, {"a": {"b": {"c": {}}}}, {"a": {"b": {"c": 1}}}, {"x.y": {"z.w": 1}}],
        DEPTH,
    ),
    "depth of the default": Case({}, [{".".join("a" * 20): 1}, {".".join("b" * 21): 1}]),
    "name length": Case(
        {}, [{"a" * 41: 1}, {"o": {"b" * 41: "x"}}, {"c" * 40: 1}, {"d" * 41: {}}], {"index.mapping.field_name_length.limit": 40}
    ),
    "nested fields": Case(
        template({"type": "nested"}, match_mapping_type="object"),
        [{"a": {"b": 1}, "c": {}}, {"a": [{"b": 1}, {"b": 2}]}, {"d": {}}, {"a": {"e": {}}}, {"x.y": 1}],
        {"index.mapping.nested_fields.limit": 1},
    ),
    "template of names": Case(template(KEYWORD, match="a"), TEMPLATED),
    "template of paths": Case(template(KEYWORD, path_match="b.*", match_mapping_type="string"), TEMPLATED),
    "template of paths for all": Case(
        template({"type": "{dynamic_type}", "store": True}, path_match="*.x", path_unmatch="k.*"), TEMPLATED[3:]
    ),
    "template of an expression": Case(template({"type": "long"}, match_pattern="regex", match="^long_.*$"), TEMPLATED),
    "template of all leaves": Case(
        template({"type": "{dynamic_type}", "store": True}, match_mapping_type="*", unmatch="d"), TEMPLATED
    ),
    "template of names that vary": Case(
        template({"type": "text", "fields": {"{name}_kw": KEYWORD}}, match_mapping_type="string"), TEMPLATED
    ),
    "template of dates": Case(template({"store": True}, match_mapping_type="date"), TEMPLATED),
    "template of dates with a format": Case(template({"type": "date", "format": "yyyy/MM/dd"}, match="d"), TEMPLATED),
    "template of dates as nanoseconds": Case(template({"type": "date_nanos"}, match_mapping_type="date"), TEMPLATED),
    "template of dates as keywords": Case(template(KEYWORD, match_mapping_type="date"), TEMPLATED),
    "template of texts, no dates": Case({**template(KEYWORD, match_mapping_type="string"), "date_detection": False}, TEMPLATED),
    "template of objects off": Case(template({"type": "object", "enabled": False}, match_mapping_type="object"), TEMPLATED),
    "template of objects false": Case(template({"dynamic": False}, match_mapping_type="object"), TEMPLATED),
    "template of objects strict": Case(template({"dynamic": "strict"}, match="k", match_mapping_type="object"), TEMPLATED),
    "template of objects nested": Case(template({"type": "nested"}, match_mapping_type="object"), TEMPLATED[:3] + TEMPLATED[5:]),
    "template of objects with properties": Case(
        template(
            {"properties": {"x": KEYWORD, "z": {"dynamic": "strict", "properties": {"w": {"type": "byte"}}}}},
            match_mapping_type="object",
        ),
        [{"a": {"x": 1, "y": 2}}, {"b": {"z": {"w": 1}}}, {"c": {"z": {"v": 1}}}, {"d.x": 5}, {"e": {"z.w": 1}}],
    ),
    "template of objects as points": Case(
        template({"type": "geo_point"}, match="g"), [{"g": {"lat": 1, "lon": 2}}, {"o": {"g": [1.5, 2.5]}}, {"p.g": "1,2"}]
    ),
    "template of an object for values": Case(
        template({"type": "object"}, match="a"), [{"a": 1}, {"b": {"a": "x"}}, {"a": {"b": 1}}]
    ),
    "template of an alias": Case(template({"type": "alias", "path": "z"}, match="a"), [{"z": 1}, {"a": 1}, {"b": 1}]),
    "templates in order": Case(
        {"dynamic_templates": [{"1": {"match": "a", "mapping": KEYWORD}}, {"2": {"match": "a*", "mapping": {"type": "text"}}}]},
        [{"a": 1, "ab": 2}, {"b": {"abc": "x"}}],
    ),
    "templates deep": Case(
        {"dynamic_templates": [{"n": {"match": "x", "mapping": {"type": "object", "dynamic": False}}}]},
        [{"m": {"x": {"y": {"z": 1}, "k": 1}, "w": 1}}, {"m.x.q": 1}, {"r.x.q": 1}],
    ),
    "date formats": Case(
        {"dynamic_date_formats": ["yyyy-MM-dd", "dd/MM/yyyy"]}, [{"a": "2020-01-05", "c": "05/01/2020", "d": "2020/01/05"}]
    ),
    "date formats, none": Case({"dynamic_date_formats": []}, [{"a": "2020-01-05"}]),
    "date formats, one text": Case({"dynamic_date_formats": "yyyy-MM-dd"}, [{"a": "2020-01-05"}]),
    "switches as texts": Case(
        {"dynamic": "true", "date_detection": "false", "numeric_detection": "true"}, [{"a": "1", "b": "2020-01-01"}]
    ),
    "enabled false": Case(
        {"properties": {"off": {"enabled": False, "type": "object"}}, "dynamic": "strict"}, [{"off": {"a": None}}, {"off.b.c": 1}]
    ),
}

ELASTICSEARCH: dict[str, Case] = {
    "dynamic runtime": Case({"dynamic": "runtime", **PLACES}, STRICT_PLACES),
    "dynamic runtime, values": Case({"dynamic": "runtime"}, [*VALUES, *VECTORS[:3]]),
    "dynamic runtime of an object": Case(
        {"properties": {"o": {"type": "object", "dynamic": "runtime"}}}, [{"o": {"x": 1, "p": {"q": "r"}}, "s": 1}]
    ),
    "runtime fields known": Case(
        {"runtime": {"rt": {"type": "long"}, "o.r": {"type": "long"}}},
        [{"rt": 1}, {"o.r": 1}, {"o": {"r": 1, "s": 1}}, {"rt": [1]}, {"rt": {"a": 1}}, {"rt.x": 1}],
    ),
    "runtime total fields": Case(
        {"runtime": {"x": {"type": "long"}, "y": {"type": "long"}}}, [dict.fromkeys("abcd", 1), dict.fromkeys("abc", 1)], TOTAL
    ),
    "vectors of several arrays": Case({}, VECTORS_OF_ARRAYS),
    "subobjects off": Case(
        {"subobjects": False},
        [
            {"a.b": 1},
            {"c": {"b": 1}},
            {"d": 1, "d.b": 2},
            {"e": {}},
            {"f.b": None, "f": []},
            {"h": [{"a": 1}, {"b.c": "x"}]},
            {"v": {"w": floats(128)}},
        ],
    ),
    "subobjects off in an object": Case(
        {"properties": {"o": {"type": "object", "subobjects": False}}},
        [{"o": {"a.b": 1, "c": {"d": 1}}, "p.q": 1}, {"o.x.y": 1}, {"o": {"a.b": 2, "a": {"z": 1}}}],
    ),
    "subobjects off by template": Case(
        template({"type": "object", "subobjects": False}, match="m"), [{"m": {"a.b": 1, "c": {"d": 1}}}, {"m.e.f": 1}]
    ),
    "subobjects off, strict": Case({"subobjects": False, "dynamic": "strict"}, [{"x": 1}, {"x.y": 1}, {"x": {"y": 1}}]),
    "flattened": Case(
        {"properties": {"f": {"type": "flattened"}}}, [{"f": {"a": 1}}, {"f.a": 1}, {"f": [{"a": 1}]}, {"f.b.c": {"d": 1}}]
    ),
    "template of flattened": Case(template({"type": "flattened"}, match_mapping_type="object"), TEMPLATED),
    "template of vectors": Case(template({"type": "dense_vector", "dims": 3}, match="v"), [{"v": [1, 2, 3]}, {"w": [1, 2, 3]}]),
    "template of lists": Case(template(KEYWORD, match=["a", "l*"], unmatch=["b", "long*"]), TEMPLATED),
    "template of kinds": Case(template(KEYWORD, match_mapping_type=["long", "double"]), TEMPLATED),
    "template of other kinds": Case(template(KEYWORD, unmatch_mapping_type=["long", "object"]), TEMPLATED),
    "template of nothing": Case(template(KEYWORD, unmatch="b"), TEMPLATED),
    "template of no path": Case(template(KEYWORD, path_unmatch="b.*"), TEMPLATED),
    "template at run time": Case({"dynamic_templates": [{"t": {"match": "*", "runtime": {}}}]}, TEMPLATED),
    "template of kinds at run time": Case(
        {"dynamic_templates": [{"t": {"match_mapping_type": ["double", "string"], "runtime": {"type": "{dynamic_type}"}}}]},
        TEMPLATED,
    ),
    "template under runtime": Case(
        {"dynamic": "runtime", **template(KEYWORD, match="t")}, [{"t": 1}, {"a": {"t": 1}}, {"b": {"u": 1}}]
    ),
}

OPENSEARCH: dict[str, Case] = {
    "dynamic strict_allow_templates": Case({"dynamic": "strict_allow_templates", **PLACES}, STRICT_PLACES),
    "dynamic false_allow_templates": Case({"dynamic": "false_allow_templates", **PLACES}, STRICT_PLACES),
    "allow templates of kinds": Case(
        {"dynamic": "strict_allow_templates", **template(KEYWORD, match_mapping_type="long")}, [{"a": 1}, {"b": [1]}, {"c": "x"}]
    ),
    "rank_features": Case({"properties": {"rf": {"type": "rank_features"}}}, [{"rf": {"x": 1.5}}, {"rf.x": 1.5}]),
    "template of all leaves, no values": Case(template({"doc_values": False}, match_mapping_type="*"), TEMPLATED),
    "flat_object": Case({"properties": {"f": {"type": "flat_object"}}}, [{"f": {"a": 1}}, {"f.a": 1}, {"f": {"b": {"c": 1}}}]),
    "template of lists": Case(template(KEYWORD, match=["a", "b"]), TEMPLATED),
    "template of flat_object": Case(
        template({"type": "flat_object"}, match_mapping_type="object"), [{"a": {"x": 1}}, {"b": {"c": {"d": 1}}}, {"e": 1}]
    ),
}

NAMES = sorted({*BOTH, *ELASTICSEARCH, *OPENSEARCH})


SINCE_3 = ("dynamic false_allow_templates",)  # of OpenSearch


def case(name: str, family: str) -> Case | None:
    return (ELASTICSEARCH if family == "elasticsearch" else OPENSEARCH).get(name) or BOTH.get(name)


# --- generated -------------------------------------------------------------------------------------

LEAVES: list[Any] = [
    1,
    0,
    -5,
    2.5,
    1e3,
    True,
    False,
    "x",
    "",
    "12",
    "1.5",
    "2020-01-01",
    "2020-01-01T10:00:00Z",
    "2020/01/01",
    "a b",
    None,
]


def generated(chance: random.Random, family: str) -> Case:
    names = ["a", "b", "c", "long_d", "e", "f.g", "a.h", "a.b.c"]

    def value(depth: int) -> Any:
        kind = chance.random()
        if depth and kind < 0.25:
            return {chance.choice(names): value(depth - 1) for _ in range(chance.randrange(4))}
        if depth and kind < 0.4:
            return [value(depth - 1) for _ in range(chance.randrange(4))]
        return chance.choice(LEAVES)

    def definition() -> Mapping:
        kind = chance.random()
        if kind < 0.4:
            return {"type": "object", **({"dynamic": chance.choice([True, False, "strict"])} if chance.random() < 0.6 else {})}
        return chance.choice(
            [KEYWORD, {"type": "nested"}, {"type": "text"}, {"type": "object", "enabled": False}, {"type": "double"}]
        )

    def rule() -> Mapping:
        rule: Mapping = chance.choice(
            [
                {"match": chance.choice("abce*")},
                {"path_match": chance.choice(["a.*", "*.b", "a.b"])},
                {"match_mapping_type": "long"},
                {"match_mapping_type": "string", "unmatch": "b"},
                {"match_mapping_type": "double"},
                {"match_pattern": "regex", "match": "l[a-z]+_.?"},
            ]
        )
        kinds = [{"type": "keyword"}, {"type": "text", "fields": {"raw": KEYWORD}}, {"type": "keyword", "copy_to": "copied"}]
        leaf = rule.get("match_mapping_type") is not None
        return {**rule, "mapping": chance.choice([*kinds, {"store": True}] if leaf else kinds)}

    mapping: Mapping = {"properties": {name: definition() for name in chance.sample("abcexyz", 3)}}
    if chance.random() < 0.5:
        mapping["dynamic_templates"] = [{f"t{number}": rule()} for number in range(chance.randrange(1, 4))]
    for key, chances in (("numeric_detection", 0.2), ("date_detection", 0.3)):
        if chance.random() < chances:
            mapping[key] = chance.choice([True, False])
    if chance.random() < 0.3:
        mapping["dynamic"] = chance.choice([True, False, "strict", *(["runtime"] if family == "elasticsearch" else [])])
    documents = [{chance.choice(names): value(3) for _ in range(chance.randrange(1, 5))} for _ in range(20)]
    return Case(mapping, documents)
