"""Answers as YAML: the text, who asks for it, and that nothing else changes."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from esproxy import asyaml
from esproxy.exchange import Reply
from esproxy.heads import Head
from tests.conformance.reading import documents
from tests.unit.gateway.whole import ask, gateway, sent

ERROR = b'{"error":{"root_cause":[{"type":"x","reason":"no such \\"y\\""}],"type":"x"},"status":404}'
AS_NODES_SAY_IT = """---
error:
  root_cause:
  - type: "x"
    reason: "no such \\"y\\""
  type: "x"
status: 404
"""
ROWS = b'[{"alias":"a","filter":"-"},{"alias":"b","filter":"*"}]'
ROWS_AS_NODES_SAY_THEM = """---
- alias: "a"
  filter: "-"
- alias: "b"
  filter: "*"
"""
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (ERROR, AS_NODES_SAY_IT),
        (ROWS, ROWS_AS_NODES_SAY_THEM),
        (b"[]", "--- []\n"),
        (b"{}", "--- {}\n"),
        (b'{"a":[],"b":{},"c":null,"d":true}', "---\na: []\nb: {}\nc: null\nd: true\n"),
        (b'{"m":[1.0,1E+3,12345678901234567890]}', "---\nm:\n- 1.0\n- 1E+3\n- 12345678901234567890\n"),
        (b'{"a":[[1,[2]],[{"b":[3]}]]}', "---\na:\n- - 1\n  - - 2\n- - b:\n    - 3\n"),
        (b'{"true":1,"a b":1,"1":1,"":1,"x.y-z":1}', '---\n"true": 1\na b: 1\n"1": 1\n? ""\n: 1\nx.y-z: 1\n'),
        ('{"u":"\u2028é\\u0001"}'.encode(), '---\nu: "\\Lé\\x01"\n'),
        (b'{"l":"%b %b z"}' % (b"x" * 40, b"y" * 60), '---\nl: "' + "x" * 40 + " " + "y" * 60 + '\\\n  \\ z"\n'),
    ],
)
def test_json_becomes_the_yaml_of_nodes(body: bytes, said: str) -> None:
    assert asyaml.text(body) == said


@given(VALUES)
def test_yaml_means_what_the_json_does(value: Any) -> None:
    body = json.dumps(value).encode()
    read = yaml.safe_load(asyaml.text(b'{"a":' + body + b"}"))
    if not any(isinstance(one, float) for one in _leaves(value)):  # YAML 1.1 takes 1e16 for a text; what it says is the same
        assert read == {"a": value}
    assert [str(one) for one in documents(asyaml.text(b"[" + body + b"]"))] == [str([value])]


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict | list):
        return [leaf for one in (value.values() if isinstance(value, dict) else value) for leaf in _leaves(one)]
    return [value]


@pytest.mark.parametrize(
    ("target", "accept", "wanted"),
    [
        (b"/a/_doc/1", b"application/yaml", True),
        (b"/a/_doc/1", b"Application/YAML; charset=UTF-8", True),
        (b"/a/_doc/1", b"application/yaml, */*", False),
        (b"/a/_doc/1", b"application/json", False),
        (b"/a/_doc/1", None, False),
        (b"/a/_doc/1?format=yaml", b"application/json", True),
        (b"/a/_doc/1?format=json", b"application/yaml", False),
        (b"/a/_doc/format=yaml", None, False),
        (b"/a/_doc/1?date_format=yaml", None, False),
    ],
)
def test_yaml_is_asked_for_by_header_or_parameter(target: bytes, accept: bytes | None, wanted: bool) -> None:
    assert asyaml.wanted(Head("GET", target, [] if accept is None else [(b"accept", accept)])) is wanted


def test_answer_that_is_no_json_stays_as_it_is() -> None:
    plain = Reply(200, [(b"content-type", b"text/plain")], b"a b\n")
    assert asyaml.as_yaml(plain) is plain


def test_answer_keeps_its_other_headers() -> None:
    told = asyaml.as_yaml(Reply(404, [(b"warning", b"299"), (b"content-type", b"application/json; charset=UTF-8")], ERROR))
    assert (told.status, told.headers) == (404, [(b"warning", b"299"), (b"content-type", b"application/yaml")])
    assert told.body.decode() == AS_NODES_SAY_IT


YAML = [(b"accept", b"application/yaml")]


@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch"])
def test_node_is_asked_for_json_and_client_gets_yaml(engine: str) -> None:
    one = sent(gateway(engine), "GET", "/l/_doc/1", headers=YAML)
    assert (b"accept", b"application/json") in one.send.headers
    told = one.answer({"_index": "acme.l", "_id": "1", "found": False}, status=404)
    assert told.body == b'---\n_index: "l"\n_id: "1"\nfound: false\n'
    assert (b"content-type", b"application/yaml") in told.headers


def test_parameter_that_asks_for_yaml_is_not_sent_to_the_node() -> None:
    one = sent(gateway(), "GET", "/l/_doc/1?format=yaml")
    assert one.target == "/acme.l/_doc/1"
    assert one.answer({"_index": "acme.l"}).body == b'---\n_index: "l"\n'


def test_yaml_answer_is_written_when_it_is_whole() -> None:
    one = sent(gateway(limits={"window": 1024}), "GET", "/l/_search", headers=YAML)
    hits = b",".join(b'{"_index":"acme.l","_id":"%d","_source":{"pad":"%s"}}' % (i, b"x" * 100) for i in range(40))
    body = b'{"took":1,"hits":{"hits":[' + hits + b"]}}"
    steps = one.pieces(*(body[at : at + 500] for at in range(0, len(body), 500)))
    assert [type(step) for step in steps] == [Reply]
    assert documents(steps[0].body.decode())[0]["hits"]["hits"][39]["_index"] == "l"


def test_yaml_answer_with_anothers_name_is_withheld() -> None:
    one = sent(gateway(), "GET", "/l/_doc/1", headers=YAML)
    told = one.answer({"_index": "zenith.l", "_id": "1", "found": True})
    assert told.status == 500 and b"zenith" not in told.body
    assert told.body.startswith(b"---\nerror:\n")


def test_refusal_is_yaml_too() -> None:
    step = ask(gateway(), "GET", "/l/_doc/1?nonsense=1", headers=YAML)
    assert isinstance(step, Reply) and step.status == 400
    assert documents(step.body.decode())[0]["status"] == 400


def test_yaml_for_a_bulk_beyond_the_window_is_refused() -> None:
    lines = b'{"index":{"_index":"l","_id":"1"}}\n{"pad":"%s"}\n' % (b"x" * 2000)
    step = ask(gateway(limits={"window": 1024}), "POST", "/_bulk", lines, headers=YAML)
    assert isinstance(step, Reply) and step.status == 406
