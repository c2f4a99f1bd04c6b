"""The checked-in tables are whole, and the loader gives them as they are."""

from __future__ import annotations

import pytest

from esproxy.api import endpoints, opensearch
from esproxy.api.kinds import Kind, Mark
from esproxy.api.tables import Tables, load

ENGINES = ("elasticsearch", "opensearch")
ROOTS = {"error", "query", "bulk.action", "bulk.update", "bulk.doc", "msearch.header", "msearch.body"}


@pytest.fixture(params=ENGINES)
def tables(request: pytest.FixtureRequest) -> Tables:
    return load(request.param)


def test_engine_without_tables_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"no rule tables for the engine \[solr\]"):
        load("solr")  # type: ignore[arg-type]


def test_tables_are_read_once() -> None:
    assert load("elasticsearch") is load("elasticsearch")


def test_every_target_is_a_state_and_every_state_is_reached(tables: Tables) -> None:
    reached = {0, 1, *tables.roots.values()}
    reached |= {state for e in tables.endpoints.values() for state in (e.request, e.response) if state is not None}
    todo = list(reached)
    while todo:
        row = tables.states[todo.pop()]
        targets = {*row.get("keys", {}).values(), *row.get("tags", {}).values()}
        targets |= {row["other"][1]} if "other" in row else set()
        targets |= {row["items"]} if "items" in row else set()
        todo += targets - reached
        reached |= targets
    assert reached == set(range(len(tables.states)))


def test_states_say_only_what_the_format_knows(tables: Tables) -> None:
    for row in tables.states:
        assert row.keys() <= {"kind", "keys", "other", "tags", "items", "ensure", "unless", "mark", "reason"}
        assert row.get("kind", "COPY") in Kind.__members__
        assert row.get("mark", "AGGS") in Mark.__members__
        assert (row.get("kind") == "REFUSE") == ("reason" in row)
        assert ("tags" in row) <= (row.get("other", ["", 0])[0] == "TAGGED")
        assert {*row.get("ensure", ()), *row.get("unless", ())} <= row.get("keys", {}).keys()
        if row.get("kind") in ("OPAQUE", "REFUSE", "DOC", "SETTINGS"):
            assert not row.keys() & {"keys", "other", "items"}
    assert tables.states[0] == {"kind": "OPAQUE"}
    assert tables.states[1] == {}


def test_ensured_keys_are_roots_of_queries_or_names(tables: Tables) -> None:
    ensured = {(key, tables.states[row["keys"][key]]["kind"]) for row in tables.states for key in row.get("ensure", ())}
    assert ensured == {("query", "QUERY"), ("filter", "QUERY"), ("background_filter", "QUERY"), ("index", "INDEX")}


def test_roots_are_those_that_the_gateway_uses(tables: Tables) -> None:
    assert tables.roots.keys() == ROOTS
    assert tables.endpoints["bulk"].request == tables.roots["bulk.action"]
    assert tables.endpoints["msearch"].request == tables.roots["msearch.header"]


def test_endpoints_are_those_that_were_chosen() -> None:
    assert load("elasticsearch").endpoints.keys() == set(endpoints.ENDPOINTS)
    assert load("opensearch").endpoints.keys() == set(opensearch.ENDPOINTS)


def test_every_part_of_a_url_has_a_kind(tables: Tables) -> None:
    for endpoint in tables.endpoints.values():
        parts = {part[1:-1] for _, url in endpoint.urls for part in url.split("/") if part.startswith("{")}
        assert parts == endpoint.path.keys(), endpoint.name


def test_body_and_state_of_a_request_go_together(tables: Tables) -> None:
    for endpoint in tables.endpoints.values():
        assert (endpoint.body == "none") == (endpoint.request is None), endpoint.name


def test_refused_parameters_have_their_reason(tables: Tables) -> None:
    for endpoint in tables.endpoints.values():
        assert endpoint.refuse.keys() == {name for name, kind in endpoint.query.items() if kind is Kind.REFUSE}
    assert "as a body" in tables.endpoints["search"].refuse["source"]


@pytest.mark.parametrize(
    ("endpoint", "parameter", "kind"),
    [
        ("search", "q", Kind.LUCENE),
        ("search", "sort", Kind.FIELD),
        ("search", "routing", Kind.ROUTING),
        ("search", "_source", Kind.SOURCE),
        ("search", "_source_includes", Kind.FIELD),
        ("search", "size", Kind.COPY),
        ("search", "filter_path", Kind.COPY),
        ("msearch", "index", Kind.EXPR),
        ("index", "pipeline", Kind.PIPELINE),
        ("scroll", "scroll_id", Kind.CURSOR),
        ("cat.count", "q", Kind.LUCENE),
        ("delete_by_query", "ignore_throttled", Kind.COPY),
    ],
)
def test_kinds_of_parameters(tables: Tables, endpoint: str, parameter: str, kind: Kind) -> None:
    assert tables.endpoints[endpoint].query[parameter] is kind


@pytest.mark.parametrize(
    ("endpoint", "part", "kind"),
    [
        ("search", "index", Kind.EXPR),
        ("index", "index", Kind.INDEX),
        ("get", "id", Kind.ID),
        ("indices.put_alias", "name", Kind.ALIAS),
        ("indices.get_settings", "name", Kind.COPY),
        ("indices.get_field_mapping", "fields", Kind.FIELD),
        ("clear_scroll", "scroll_id", Kind.CURSOR),
    ],
)
def test_kinds_of_path_parts(tables: Tables, endpoint: str, part: str, kind: Kind) -> None:
    assert tables.endpoints[endpoint].path[part] is kind


# Endpoints that take an index in the path or in a parameter, one that takes its cursor so, and one its fields.
TWICE = frozenset(("cat.fielddata", "cat.recovery", "indices.analyze", "indices.clear_cache", "msearch", "scroll"))


def test_path_parts_are_no_parameters(tables: Tables) -> None:
    for endpoint in tables.endpoints.values():
        both = endpoint.path.keys() & endpoint.query.keys()
        assert both <= {"index", "scroll_id", "fields"} and (not both or endpoint.name in TWICE), endpoint.name


def test_engines_have_their_own_spellings() -> None:
    elastic, open_ = load("elasticsearch"), load("opensearch")
    assert "cluster_manager_timeout" in open_.endpoints["indices.create"].query
    assert "cluster_manager_timeout" not in elastic.endpoints["indices.create"].query
    assert open_.endpoints["search"].query["search_pipeline"] is Kind.SEARCH_PIPELINE
    assert "open_point_in_time" not in open_.endpoints and "create_pit" not in elastic.endpoints
