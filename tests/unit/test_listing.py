"""``esproxy routes``, ``esproxy rules`` and docs/endpoints.md: the tables as text."""

from __future__ import annotations

from pathlib import Path

import pytest

from esproxy.api.tables import load
from esproxy.cli import main
from esproxy.listing import ENGINES, page, routes, rules

PAGE = Path(__file__).parents[2] / "docs" / "endpoints.md"


@pytest.mark.parametrize("engine", ENGINES)
def test_every_endpoint_is_printed_with_how_it_is_served_or_why_not(engine):
    lines = list(routes(engine))
    tables = load(engine)
    assert {line.split("  ")[1] for line in lines} == tables.endpoints.keys() | tables.refused.keys()
    assert len(lines) == sum(len(one.urls) for one in tables.endpoints.values()) + sum(map(len, tables.refused.values()))
    assert all(line.split("  ")[2].startswith(("rewritten, in ", "made by the proxy, in ", "refused: ")) for line in lines)


def test_routes_tell_where_they_are_served(capsys):
    assert main(["routes", "--engine", "opensearch", " /{index}/_search "]) == 0
    assert capsys.readouterr().out == "GET POST /{index}/_search  search  rewritten, in every layout\n"
    assert main(["routes", "/_reindex  reindex "]) == 0
    assert capsys.readouterr().out == "POST /_reindex  reindex  rewritten, in every layout\n"


def test_routes_tell_why_not(capsys):
    assert main(["routes", "/_cluster/reroute "]) == 0
    assert capsys.readouterr().out.startswith("POST /_cluster/reroute  cluster.reroute  refused: machines, and where shards lie")


def test_page_of_endpoints_is_current():
    assert PAGE.read_text() == page(), "run: python -m esproxy.listing > docs/endpoints.md"


def test_rules_tell_kinds_and_reasons(capsys):
    assert main(["rules", "_global.search._types:Hit._id"]) == 0
    assert capsys.readouterr().out == "_global.search._types:Hit._id  ID  Is: the id of a document\n"
    opensearch = list(rules("opensearch", "esproxy:DeletePits.pit_id"))
    assert opensearch == ["esproxy:DeletePits.pit_id  CURSOR  New: OpenSearch only"]
    assert len(list(rules("elasticsearch"))) > 500


def test_word_that_no_line_holds_is_a_failure(capsys):
    assert main(["routes", "/_nope"]) == 1 and main(["rules", "no such thing"]) == 1
    assert capsys.readouterr().out == ""
