"""Mappings and documents of which test_inference makes its cases."""

from __future__ import annotations

from typing import Any

Mapping = dict[str, Any]


def floats(count: int) -> list[float]:
    return [0.5] * count


def template(mapping: Mapping, **when: Any) -> Mapping:
    return {"dynamic_templates": [{"a template": {**when, "mapping": mapping}}]}


KEYWORD = {"type": "keyword"}
STRICT_PLACES: list[Mapping] = [
    {"a": 1},
    {"a": None},
    {"a": []},
    {"a": {}},
    {"a": {"b": 1}},
    {"a": [{"b": 1}]},
    {"a.b": 1},
    {"a.b": None},
    {"known": 1},
    {"o": {"a": 1}},
    {"o": {"a": None}},
    {"o.a": 1},
    {"o.a": None},
    {"o": {"b": {"c": 1}}},
    {"o.b.c": 1},
    {"o": {"b": [1]}},
    {"t_x": 1},
    {"t_x": [1]},
    {"t_x": None},
    {"t_x": [None]},
    {"t_x": []},
    {"ob_x": {"b": 1}},
    {"ob_y": {"t_b": 1}},
    {"ob_z.t_b": 1},
    {"a": {"t_b": 1}},
    {"t_o": {"z": 1}},
    {"t_o": [{"z": 1}]},
    {"ob_d": {"ob_e": {"f": 1}}},
    {"ob_f": {"ob_g": {}}},
]
PLACES: Mapping = {
    "properties": {"known": {"type": "long"}, "o": {"properties": {"k": {"type": "long"}}}},
    "dynamic_templates": [
        {"t": {"match": "t_*", "mapping": KEYWORD}},
        {"ob": {"match": "ob_*", "match_mapping_type": "object", "mapping": {"type": "object"}}},
    ],
}
VALUES: list[Mapping] = [
    {"s": "x", "l": 1, "f": 1.5, "b": True, "d": "2020-01-01", "d2": "2020/01/01 10:00:00", "n": None, "e": [], "o": {}, "h": ""},
    {"exp": 1e5, "one": 1.0, "zero": 0, "minus": -0.0, "least": -(2**63), "most": 2**63 - 1},
    {"big": 2**63},
    {"bigger": 12345678901234567890123},
    {"huge": 1e300},
    {"deep": {"er": {"x": [1, 2]}}, "deep.er.y": "z"},
    {"deep": {"er": {"x": [1.5], "w": {}}}},
    {"lists": [[[1]]], "objects": [{"a": 1}, {"b": "x"}], "nulls": [None, None, 1.5], "empty": [[], [[]]], "none": [{}]},
    {"dots.a": 1, "dots": {"c": 2}, "dots.d.e": "x"},
    {"late": None},
    {"late": "x"},
    {"late": 3},
]
MIXED: list[Mapping] = [
    {"a": [1, "x"]},
    {"b": ["x", 1]},
    {"c": [1, 1.5]},
    {"d": [1.5, 1]},
    {"e": [True, "x"]},
    {"f": ["x", True]},
    {"g": ["2020-01-01", "x"]},
    {"h": ["x", "2020-01-01"]},
    {"i": [1, "2"]},
    {"j": [True, 1]},
    {"k": [{"b": 1}, 2]},
    {"l": [2, {"b": 1}]},
    {"m": [{"b": 1}, {"b": 1.5, "c": "x"}]},
    {"n": ["2020-01-01", "2020/01/01"]},
    {"o.b": 1, "o": {"b": 1.5}},
    {"p": 1, "p.b": 2},
    {"q.b": 2, "q": 1},
    {"a": "s", "r": [1, 1.5]},
    {"a": 1, "s": [{"b": 1}, {"b": "x"}]},
    {"t": [1, 2, 1.5, "x"]},
    {"v": [1, 1.5], "u": [True, 1]},
    {"a0": 1, "w": [{"b": 1}, 2]},
    {"a0": 1, "x": [2, {"b": 1}]},
    {"y": ["2020/01/01", "2020/01/02"]},
]
NAMES_OF_FIELDS: list[Mapping] = [
    *(
        {name: 1}
        for name in [
            "",
            ".",
            "..",
            "a.",
            "b..",
            ".a",
            "a..b",
            " ",
            "a. .b",
            "a b",
            "  x",
            "x ",
            "a. b",
            "a.b.",
            "é",
            "a~2",
            "*",
            "a*",
        ]
    ),
    *({name: {"z": 1}} for name in ["", ".", "c.", ".a", "a..b", "a. .b", "d b", "d. b"]),
    *({name: None} for name in ["", "a..b", "e.b"]),
    {"f.b": []},
    {"g.b": {}},
    {"h.b": [None]},
    {"i.b": [{}]},
]
META: list[Mapping] = [
    *(
        {name: 1}
        for name in "_id _source _index _field_names _ignored _version _seq_no _nested_path _tier _feature _size _all _x".split()
    ),
    {"_routing": "x"},
    {"_doc_count": 1},
    {"_type": "x"},
    {"a": {"_id": 1}},
    {"a._source": "x"},
]
KNOWN: Mapping = {
    "g": {"type": "geo_point"},
    "r": {"type": "integer_range"},
    "c": {"type": "completion"},
    "al": {"type": "alias", "path": "kw"},
    "off": {"type": "object", "enabled": False},
    "kw": KEYWORD,
    "n": {"type": "nested"},
}
KNOWN_DOCUMENTS: list[Mapping] = [
    {"g": {"lat": 1, "lon": 2}},
    {"g": [{"lat": 1, "lon": 2}]},
    {"g": [1.5, 2.5]},
    {"g.lat": 1, "g.lon": 2},
    {"r": {"gte": 1, "lt": 3}},
    {"r.gte": 1},
    {"c": {"input": ["x"], "weight": 2}},
    {"off": {"a": 1}},
    {"off.a": 1},
    {"off": 3},
    {"off": [1, {"b": 2}]},
    {"off.a.b": {}},
    {"al": 1},
    {"al.x": 1},
    {"kw.x": 1},
    {"kw": {"x": 1}},
    {"kw": [{"x": 1}], "new": 1},
    {"n": {"a": 1}},
    {"n": [{"a": 1}, {"b": [2]}]},
    {"n.z": 1},
    {"n": 3, "z": 1},
    {"n": None, "kw": None, "g": None},
    {"n": [None, {"c.d": 1}]},
]
VECTORS: list[Mapping] = [
    *({f"v{count}": floats(count)} for count in (127, 128, 129, 4096, 4097)),
    {"l1": [1, *floats(130)]},
    {"l2": [*floats(130), 1]},
    {"n1": [*floats(130), None]},
    {"a1": [floats(64), floats(64)]},
    {"a2": [floats(128), floats(128)]},
    {"a3": [*floats(127), [0.5]]},
    {"a4": [*floats(128), []]},
    {"a5": [floats(3), floats(128)]},
    {"o1": [{"a": floats(64)}, {"a": floats(64)}]},
    {"o2": [{"a": floats(3)}, {"a": floats(128)}]},
    {"o3.a": floats(128)},
    {"o4": {"p": {"q": floats(200)}}},
    {"z": [0.0] * 128},
    {"s1": ["0.5"] * 128},
    {"x1": [{"b": x} for x in floats(128)]},
    {"w": [*floats(127), "1"]},
    {"y": 0.5},
    {"y": floats(128)},
]
VECTORS_OF_ARRAYS: list[Mapping] = [
    {"a": [[floats(3)], floats(128)]},
    {"b": [floats(127), [0.5]]},
    {"c": [{"a": floats(128)}, {"a": floats(3)}]},
    {"d": [None, *floats(128)]},
    {"e": [[], *floats(128)]},
    {"f": [[0.5], *floats(127)]},
    {"g": [*floats(4095), [0.5]]},
    {"h": [*floats(4096), []]},
    {"i": [floats(128), None]},
    {"j": [floats(128), []]},
    {"k": [floats(128), [0.5]]},
    {"l": [floats(128), 1]},
    {"m": [{"a": floats(128)}, {"a": "x"}]},
    {"n": [floats(128), {"a": 1}]},
    {"o": [*floats(128), {}]},
    {"p": [{"a": floats(2048)}, {"a": floats(2049)}]},
    {"q": [floats(4090), floats(10)]},
    {"r": [[[floats(130)]]]},
]
COPIES: Mapping = {
    "a": {"type": "keyword", "copy_to": ["b", "c.d"]},
    "e": {"type": "keyword", "copy_to": "f"},
    "g": {"type": "keyword", "copy_to": ["h"]},
    "n": {
        "type": "nested",
        "properties": {"x": {"type": "keyword", "copy_to": ["n.y"]}, "z": {"type": "keyword", "copy_to": ["rooted"]}},
    },
    "v": {"type": "float", "copy_to": "vs"},
}
COPY_DOCUMENTS: list[Mapping] = [
    {"a": 1},
    {"a": ["x", "y"]},
    {"e": "2020-01-01"},
    {"e": ["2020-01-02"]},
    {"g": [[1], [2]]},
    {"n": {"x": 1, "z": 2}},
    {"v": floats(130)},
]
TOTAL = {"index.mapping.total_fields.limit": 5}
DEPTH = {"index.mapping.depth.limit": 3}
TEMPLATED: list[Mapping] = [
    {"a": "x", "b": {"a": "x", "c": {"d": "y"}}},
    {"long_a": "5", "x": 7},
    {"p": 1.5, "q": 2, "r": True, "s": "2020-01-01", "t": "u"},
    {"a.b.c": "x"},
    {"d": "2020/01/01"},
    {"k": {"x": 1}},
    {"l": [{"x": 1}]},
    {"m": [[{"x": 1}]]},
    {"abc": 1, "aXbc": [1]},
    {"n": None, "o": []},
]
DYNAMICS = {
    "properties": {
        "yes": {"type": "object", "dynamic": True},
        "no": {"type": "object", "dynamic": False},
        "strict": {"type": "object", "dynamic": "strict"},
        "within": {"properties": {"no": {"type": "object", "dynamic": "false"}}},
    }
}
DYNAMICS_DOCUMENTS: list[Mapping] = [
    {place: value}
    for place in ("yes", "no", "strict", "within", "other")
    for value in ({"x": 1}, {"p": {"q": 1}}, {"p.r": 1}, {"n": None})
] + [{"within": {"no": {"x": 1}}}, {"within.no.x": 1}, {"strict.x": 1}, {"no.x.y": 1}, {"yes.x.y.z": [1]}]
