"""Every endpoint that a definition knows is served or has one reason why not, and a client is told that reason."""

from __future__ import annotations

import re

import pytest

from esproxy.api import fetch, generate, verdicts
from esproxy.api.known import known
from esproxy.api.routes import ENDPOINTS
from esproxy.api.tables import load
from tests.unit.gateway.whole import gateway, refused

SERVED = load("elasticsearch").endpoints.keys() | load("opensearch").endpoints.keys()
REFUSED = load("elasticsearch").refused.keys() | load("opensearch").refused.keys()


@pytest.fixture(scope="module")
def every() -> dict[str, dict]:
    """Engine → everything that its definitions know."""
    try:
        out = {}
        for engine in generate.ENGINES:
            schema = generate.definitions()
            generate._prepare(engine, schema)
            out[engine] = known(engine, schema)
    except fetch.FetchError as error:
        if "sha256" in str(error):
            raise
        pytest.skip(f"the verdicts were NOT compared with the definitions: {error}")
    return out


def test_every_definition_has_one_verdict_and_every_verdict_a_definition(every):
    assert verdicts.faults(every["elasticsearch"] | every["opensearch"], SERVED) == []
    for engine, names in every.items():
        tables = load(engine)
        assert tables.endpoints.keys() | tables.refused.keys() == names.keys()


def test_every_path_that_a_definition_knows_leads_to_its_endpoint(every):
    for engine, names in every.items():
        tables = load(engine)
        places = {name: endpoint.urls for name, endpoint in tables.endpoints.items()} | tables.refused
        for name, urls in names.items():
            there = {(method, _bare(path)) for methods, path in places[name] for method in methods}
            assert {(method, _bare(path)) for methods, path in urls for method in methods} <= there, name


def _bare(path: str) -> str:
    return re.sub(r"\{[^}]*\}", "{}", path)


@pytest.mark.parametrize(
    ("more", "served", "fault"),
    [
        ({"indices.new_thing"}, set(), "indices.new_thing: no verdict"),
        (set(), {"strange"}, "strange: no definition knows it, and it is served"),
        (set(), {"cluster.put_settings"}, "cluster.put_settings: served, and refused"),
        ({"ml.new_thing"}, set(), None),
    ],
)
def test_what_has_no_verdict_or_two_is_told(more, served, fault):
    names = SERVED | REFUSED
    assert verdicts.faults(names | more, SERVED | served) == ([fault] if fault else [])


def test_verdict_on_nothing_is_told(monkeypatch):
    monkeypatch.setitem(verdicts.REFUSED, "because", ("nope.*", "ml.info", "cluster.put_settings"))
    assert verdicts.faults(SERVED | REFUSED, SERVED) == [
        "cluster.put_settings: 2 verdicts", "cluster.put_settings: two verdicts", "nope.*: a verdict on nothing",
    ]  # fmt: skip
    assert verdicts.reason("ml.info") == "because"  # what is named goes before what is meant by a namespace


def test_new_definition_without_a_verdict_ends_the_generation(monkeypatch):
    monkeypatch.setattr(verdicts, "REFUSED", {why: names for why, names in verdicts.REFUSED.items() if "eql.*" not in names})
    told = verdicts.faults(SERVED | REFUSED, SERVED)
    assert "eql.search: no verdict" in told and "sql.query: no verdict" in told and len(told) > 20


def test_name_without_a_verdict_has_no_reason():
    with pytest.raises(KeyError):
        verdicts.reason("search")


@pytest.mark.parametrize("engine", generate.ENGINES)
def test_refused_endpoint_is_a_400_with_its_reason(engine):
    gate, tables = gateway(engine), load(engine)
    for name, urls in tables.refused.items():
        for methods, path in urls:
            status, told = refused(gate, methods[0], re.sub(r"\{[^}]*\}", "x", path))
            assert status == 400, (name, path, told)
            assert told["error"]["type"] == "illegal_argument_exception"
            named = re.match(r"\[([\w.]+)\] is refused: (.*)", told["error"]["reason"])
            assert named is not None and named[2] == verdicts.reason(named[1])
            assert "acme" not in told["error"]["reason"]


def test_refused_path_under_another_method_is_a_405_and_an_unknown_one_has_no_handler():
    gate = gateway("elasticsearch")
    status, told = refused(gate, "POST", "/_ml/info")
    assert (status, told["status"]) == (405, 405) and "allowed: [GET]" in told["error"]
    assert refused(gate, "GET", "/_ml/nope/what") == (
        400, {"error": "no handler found for uri [/_ml/nope/what] and method [GET]"},
    )  # fmt: skip
    status, told = refused(gateway("opensearch"), "GET", "/_ml/info")
    assert (status, told) == (400, {"error": "no handler found for uri [/_ml/info] and method [GET]"})


def test_every_row_is_an_endpoint_of_the_tables_and_the_other_way_round():
    assert ENDPOINTS.keys() == SERVED
