"""The checked-in tables are what the pinned definitions and the rows of today give.

The definitions are fetched through npm into the user's cache when they are not there. Without npm (and without a filled
cache) these tests are skipped, and say so.
"""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from esproxy.api import endpoints, fetch, generate, opensearch, overrides
from esproxy.api.kinds import Kind
from esproxy.api.patch import Is
from esproxy.api.schema import SCALAR, Schema, read, unite_versions


@pytest.fixture(scope="module")
def paths() -> dict[str, Path]:
    try:
        return fetch.schemas()
    except fetch.FetchError as error:
        if "sha256" in str(error):
            raise
        pytest.skip(f"the rule tables were NOT compared with their definitions: {error}")


@pytest.fixture(scope="module")
def pristine(paths: dict[str, Path]) -> Schema:
    return unite_versions([read(path) for path in paths.values()])


@pytest.fixture
def definitions(pristine: Schema) -> Schema:
    return copy.deepcopy(pristine)


@pytest.mark.parametrize("engine", generate.ENGINES)
def test_tables_are_as_checked_in_to_the_byte(engine: str, definitions: Schema) -> None:
    made = generate.make(engine, definitions)
    assert generate.text(made) == (generate.TABLES / f"{engine}.json").read_text()
    assert generate.known_labels()[engine] == made.labels


def test_generator_checks_without_writing(
    paths: dict[str, Path], capsys: pytest.CaptureFixture[str], monkeypatch, tmp_path: Path
) -> None:
    assert generate.main(["--check"]) == 0
    assert capsys.readouterr().out.count("as checked in") == 2
    monkeypatch.setattr(generate, "TABLES", tmp_path)
    assert generate.main(["--check"]) == 1
    assert not list(tmp_path.iterdir())
    assert generate.main([]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"elasticsearch.json", "opensearch.json", "labels.json"}


def test_label_that_the_definitions_lose_ends_the_generation(definitions: Schema, monkeypatch) -> None:
    known = generate.known_labels()
    definitions.types["_types.query_dsl:ExistsQuery"].properties["field"] = SCALAR
    made = generate.make("elasticsearch", definitions)
    assert generate.lost(made, known) == ["_types.query_dsl:ExistsQuery.field: was FIELD"]
    monkeypatch.setattr(generate, "known_labels", lambda: {"elasticsearch": {"Gone.property": "INDEX"}})
    with pytest.raises(generate.GenerateError, match=r"lost a label: Gone\.property: was INDEX"):
        generate.main(["--check"])


@pytest.mark.parametrize("version", list(fetch.VERSIONS))
def test_union_has_every_type_property_endpoint_and_parameter_of_each_version(
    version: str, paths: dict[str, Path], pristine: Schema
) -> None:
    one = read(paths[version])
    for name, type_ in one.types.items():
        assert type_.properties.keys() <= pristine.types[name].properties.keys(), name
    for name, endpoint in one.endpoints.items():
        united = pristine.endpoints[name]
        assert endpoint.query.keys() <= united.query.keys() and endpoint.path.keys() <= united.path.keys(), name
        assert all(url in united.urls for url in endpoint.urls), name


def test_label_of_the_older_version_comes_back(pristine: Schema) -> None:
    """Body routings are plain strings in 9.5 and labelled in 8.19."""
    labels = generate.known_labels()["elasticsearch"]
    assert labels["_global.bulk:OperationBase.routing"] == "ROUTING"
    assert labels["_types.query_dsl:TermsLookup.routing"] == "ROUTING"


@pytest.mark.parametrize("name", [row.type + "." + row.property for row in overrides.VERDICTS if isinstance(row, Is)])
def test_undecided_type_without_its_verdict_ends_the_generation(name: str, definitions: Schema, monkeypatch) -> None:
    rows = [row for row in overrides.ROWS if not (isinstance(row, Is) and f"{row.type}.{row.property}" == name)]
    monkeypatch.setattr(overrides, "ROWS", rows)
    type_, _, prop = name.rpartition(".")
    undecided = [t for t in overrides.UNDECIDED if t in repr(definitions.types[type_].properties[prop])]
    if not undecided:  # a plain string: the label is lost instead
        made = generate.make("elasticsearch", definitions)
        assert [line.split(":")[-2] for line in generate.lost(made, generate.known_labels())] != []
        return
    with pytest.raises(generate.GenerateError, match=f"{prop}.*needs a verdict"):
        generate.make("elasticsearch", definitions)


def test_row_that_hits_nothing_ends_the_generation(definitions: Schema, monkeypatch) -> None:
    monkeypatch.setattr(overrides, "ROWS", [*overrides.ROWS, Is("_types:Nowhere", "x", SCALAR, "a test")])
    with pytest.raises(generate.GenerateError, match=r"Is _types:Nowhere: no such type \(row: a test\)"):
        generate.make("elasticsearch", definitions)


@pytest.mark.parametrize("table", ["PATH", "QUERY"])
def test_unused_row_for_a_parameter_ends_the_generation(table: str, definitions: Schema, monkeypatch) -> None:
    monkeypatch.setitem(getattr(endpoints, table), ("search", "nowhere"), Kind.COPY)
    with pytest.raises(generate.GenerateError, match="search:nowhere: unused row"):
        generate.make("elasticsearch", definitions)


def test_endpoint_that_no_definition_knows_ends_the_generation(definitions: Schema, monkeypatch) -> None:
    monkeypatch.setattr(endpoints, "ENDPOINTS", (*endpoints.ENDPOINTS, "nowhere"))
    with pytest.raises(generate.GenerateError, match="endpoint nowhere: unused row"):
        generate.make("elasticsearch", definitions)


def test_every_row_has_a_reason() -> None:
    assert all(row.why for row in (*overrides.ROWS, *opensearch.ROWS))


# --- fetching -----------------------------------------------------------------------------------------


def test_file_with_another_sum_is_refused(tmp_path: Path) -> None:
    for version in fetch.VERSIONS:
        (tmp_path / f"schema-{version}.json").write_text("{}")
    with pytest.raises(fetch.FetchError, match="its sha256 is"):
        fetch.schemas(tmp_path)


def test_missing_npm_is_named_with_what_to_do(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(fetch.shutil, "which", lambda name: None)
    with pytest.raises(fetch.FetchError, match=r"npm is needed .* apt-get install npm"):
        fetch.schemas(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("engine", list(fetch.SPECS))
def test_missing_maven_is_named_with_what_to_do(engine: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(fetch.shutil, "which", lambda name: None)
    with pytest.raises(fetch.FetchError, match=r"Maven is needed to fetch org\.\w+:rest-api-spec:\S+: .* apt-get install maven"):
        fetch.specs(engine, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_cache_follows_xdg(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert fetch.default_cache() == tmp_path / "esproxy" / "definitions"
