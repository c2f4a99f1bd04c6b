"""``esproxy routes`` and ``esproxy rules``: the tables as text."""

from __future__ import annotations

import pytest

from esproxy.api.routes import ENDPOINTS
from esproxy.api.tables import load
from esproxy.cli import main
from esproxy.listing import ENGINES, routes, rules


@pytest.mark.parametrize("engine", ENGINES)
def test_every_endpoint_is_printed_with_how_it_is_served(engine):
    lines = list(routes(engine))
    known = load(engine).endpoints
    assert {line.split("  ")[1] for line in lines} == ENDPOINTS.keys() & known.keys()
    assert len(lines) == sum(len(known[name].urls) for name in ENDPOINTS.keys() & known.keys())
    assert all(line.split("  ")[2].startswith(("rewritten, in ", "made by the proxy, in ", "refused: ")) for line in lines)


def test_routes_tell_where_they_are_served(capsys):
    assert main(["routes", "--engine", "opensearch", " /{index}/_search "]) == 0
    assert capsys.readouterr().out == "GET POST /{index}/_search  search  rewritten, in every layout\n"
    assert main(["routes", "_reindex "]) == 0
    assert capsys.readouterr().out == "POST /_reindex  reindex  rewritten, in dedicated\n"


def test_rules_tell_kinds_and_reasons(capsys):
    assert main(["rules", "_global.search._types:Hit._id"]) == 0
    assert capsys.readouterr().out == "_global.search._types:Hit._id  ID  Is: the id of a document\n"
    opensearch = list(rules("opensearch", "esproxy:DeletePits.pit_id"))
    assert opensearch == ["esproxy:DeletePits.pit_id  CURSOR  New: OpenSearch only"]
    assert len(list(rules("elasticsearch"))) > 500


def test_word_that_no_line_holds_is_a_failure(capsys):
    assert main(["routes", "/_nope"]) == 1 and main(["rules", "no such thing"]) == 1
    assert capsys.readouterr().out == ""
