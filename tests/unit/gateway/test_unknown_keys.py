"""Keys that no definition knows, in the words of a node (taken from OpenSearch 3.8), and where it has other ones in ours."""

from __future__ import annotations

import pytest

from esproxy import unknownkeys
from tests.unit.gateway.whole import gateway, refused


def parsing(reason: str, col: int, key: str = "", line: int = 1) -> dict:
    cause = {"type": "parsing_exception", "reason": reason, "line": line, "col": col}
    named = {"caused_by": unnamed(col, key)} if key else {}
    return {"root_cause": [cause], **cause, **named}


def unnamed(col: int, key: str) -> dict:
    return {"type": "named_object_not_found_exception", "reason": f"[1:{col}] unknown field [{key}]"}


def unparsed(reason: str, cause: dict | None = None) -> dict:
    told = {"type": "x_content_parse_exception", "reason": reason}
    if cause is None:
        return {"root_cause": [told], **told}
    root = {key: value for key, value in cause.items() if key != "caused_by"}
    return {"root_cause": [root], **told, "caused_by": cause}


MUST = parsing("unknown query [termm] did you mean any of [term, terms]?", 36, "termm")
MUST.pop("root_cause")
KNOWN = [
    ("/x/_search", '{"query":{"boool":{}}}', parsing("unknown query [boool] did you mean [bool]?", 19, "boool")),
    ("/x/_search", '{"query":{"zzz":{}}}', parsing("unknown query [zzz]", 17, "zzz")),
    ("/x/_search", '{"query":{"bool":{"must":[{"termm":{}}]}}}', unparsed("[1:36] [bool] failed to parse field [must]", MUST)),
    ("/x/_search", '{"qery":{}}', parsing("Unknown key for a START_OBJECT in [qery].", 9)),
    ("/x/_search", '{"size":1,\n "qery": [1]}', parsing("Unknown key for a START_ARRAY in [qery].", 10, line=2)),
    ("/x/_search", '{"qery":null}', parsing("Unknown key for a VALUE_NULL in [qery].", 9)),
    ("/x/_count", '{"qery":{}}', parsing("request does not support [qery]", 2)),
    (
        "/x/_search",
        '{"aggs":{"a":{"aggs":{"b":{"summ":{}}},"terms":{"field":"k"}}}}',
        parsing("Unknown aggregation type [summ] did you mean [sum]?", 35, "summ"),
    ),
    (
        "/x/_search",
        '{"aggs":{"a":{"terms":{"field":"k","sizee":1}}}}',
        unparsed("[1:36] [terms] unknown field [sizee] did you mean [size]?"),
    ),
    (
        "/x/_search",
        '{"aggs":{"a":{"significant_terms":{"field":"k","jlp":{}}}}}',
        unparsed("[1:48] [significant_terms] unknown field [jlp] did you mean [jlh]?", unnamed(54, "jlp")),
    ),
    ("/x/_update/1", '{"dac":{"a":1}}', unparsed("[1:2] [UpdateRequest] unknown field [dac] did you mean [doc]?")),
    ("/x/_update/1", '{"upsert":{"a":[{},"x:{"]},"nope":1}', unparsed("[1:28] [UpdateRequest] unknown field [nope]")),
]  # fmt: skip
OTHERWISE = [  # where a node's words have not been learnt
    ("/x/_search", '{"query":{"match":{"a":{"quary":1}}}}'),
    ("/x/_search", '{"query":{"constant_score":{"filter":{"trm":{}}}}}'),
    ("/x/_search", '{"aggs":{"a":{"nested":{"paath":"k"}}}}'),
    ("/x/_search", '{"query":{"boool":1}}'),
]


@pytest.fixture(params=["elasticsearch", "opensearch"])
def gate(request):
    return gateway(request.param)


@pytest.mark.parametrize(("target", "body", "error"), KNOWN)
def test_unknown_key_is_refused_in_the_words_of_a_node(gate, target, body, error):
    assert refused(gate, "POST", target, body.encode()) == (400, {"error": error, "status": 400})


@pytest.mark.parametrize(("target", "body"), OTHERWISE)
def test_other_unknown_keys_are_refused_in_ours(gate, target, body):
    status, told = refused(gate, "POST", target, body.encode())
    assert status == 400 and ", at byte " in told["error"]["reason"]


def test_validation_tells_it_as_its_answer():
    body = b'{"query":{"boool":{}}}'
    cause = "NamedObjectNotFoundException"
    told = (
        f"ParsingException[unknown query [boool] did you mean [bool]?]; nested: {cause}[[1:19] unknown field [boool]];; "
        f"org.opensearch.core.xcontent.{cause}: [1:19] unknown field [boool]"
    )
    answer = refused(gateway("opensearch"), "POST", "/x/_validate/query?explain=true", body)
    assert answer == (200, {"valid": False, "error": told})
    answer = refused(gateway("elasticsearch"), "POST", "/x/_validate/query?explain=true", body)
    assert answer[1]["error"].endswith(f"[bool]?; org.elasticsearch.xcontent.{cause}: [1:19] unknown field [boool]")
    answer = refused(gateway("opensearch"), "POST", "/x/_validate/query", b'{"match_all":{}}')
    assert answer == (200, {"valid": False})


def test_path_to_a_key():
    body = rb'{"a":[{"b\"{":"}"},{"c":{"d":[[],{"e":1}]}}]}'
    assert unknownkeys.path_to(body, body.index(b'"e"')) == ["a", None, "c", "d", None]
    assert unknownkeys.path_to(body, 1) == []
