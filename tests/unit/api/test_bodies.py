"""The corpus of bodies: what running nodes accept passes the table, and names stand where they should."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from esproxy.api.tables import Tables, load
from tests.unit.api.reading import Refused, read

BODIES = Path(__file__).parent / "bodies"
ENGINES = ("elasticsearch", "opensearch")


def entries(name: str) -> list[dict[str, Any]]:
    return yaml.safe_load((BODIES / f"{name}.yaml").read_text())


def accepting(entry: dict[str, Any]) -> list[str]:
    return [engine for engine in ENGINES if engine in (*entry["nodes"], *entry.get("documented", ()))]


def parts(tables: Tables, entry: dict[str, Any]) -> list[tuple[int, Any]]:
    """(state, body) of an entry; of each line, for a body of lines."""
    endpoint = tables.endpoints[entry.get("endpoint", "search")]
    if "lines" not in entry:
        assert endpoint.request is not None
        return [(endpoint.request, entry["body"])]
    lines = iter(entry["lines"])
    out = []
    for line in lines:
        if endpoint.framing == "msearch":
            out += [(tables.roots["msearch.header"], line), (tables.roots["msearch.body"], next(lines))]
            continue
        out.append((tables.roots["bulk.action"], line))
        action = next(iter(line))
        if action != "delete":
            out.append((tables.roots["bulk.update" if action == "update" else "bulk.doc"], next(lines)))
    return out


def wrapped(name: str, entry: dict[str, Any]) -> dict[str, Any]:
    forms = {"queries": lambda body: {"query": body}, "aggregations": lambda body: {"size": 0, "aggs": body}}
    return {**entry, "body": forms[name](entry["body"])} if name in forms else entry


CORPUS = [
    pytest.param(engine, wrapped(name, entry), id=f"{name}-{number}-{engine}")
    for name in ("queries", "aggregations", "search", "documents", "indices")
    for number, entry in enumerate(entries(name))
    for engine in accepting(entry)
]


@pytest.mark.parametrize(("engine", "entry"), CORPUS)
def test_body_accepted_by_nodes_passes(engine: str, entry: dict[str, Any]) -> None:
    tables = load(engine)
    found = [kind for state, body in parts(tables, entry) for kind in read(tables, state, body)]
    if engine == accepting(entry)[0]:
        assert found == entry["kinds"]


REFUSED = [
    pytest.param(engine, entry, id=f"{entry['why']}-{engine}")
    for entry in entries("refused")
    for engine in entry.get("engines", ENGINES)
]


@pytest.mark.parametrize(("engine", "entry"), REFUSED)
def test_body_that_is_not_understood_is_refused(engine: str, entry: dict[str, Any]) -> None:
    tables = load(engine)
    with pytest.raises(Refused, match=entry["why"]):
        for state, body in parts(tables, entry):
            list(read(tables, state, body))


@pytest.mark.parametrize("entry", entries("answers"), ids=lambda entry: entry["name"])
def test_names_in_answers_have_kinds(entry: dict[str, Any]) -> None:
    for engine in entry.get("engines", ENGINES):
        tables = load(engine)
        root = entry.get("root")
        state = tables.roots[root] if root else tables.endpoints[entry["endpoint"]].response
        assert state is not None
        assert list(read(tables, state, entry["answer"])) == entry["kinds"], engine


@pytest.mark.parametrize("engine", ENGINES)
def test_every_answer_takes_an_error_or_is_a_document(engine: str) -> None:
    tables = load(engine)
    error = {"error": {"root_cause": [{"type": "t", "reason": "no such index [x]", "index": "x"}], "index": "x"}, "status": 404}
    for endpoint in tables.endpoints.values():
        if endpoint.response is None:
            continue
        expected = ["DOC"] if endpoint.name == "get_source" else ["TEXT no such index [x]", "EXPR x", "EXPR x"]
        assert list(read(tables, endpoint.response, error)) == expected, endpoint.name
