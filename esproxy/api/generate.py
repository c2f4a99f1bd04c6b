"""Make the rule tables from the pinned definitions: ``python -m esproxy.api.generate [--check] [--forget] [--cache DIR]``.

    definitions (fetch) → terms (schema), versions united → rows of corrections (overrides, opensearch; applied by patch)
                        → states (grammar), the fewest of them (minimise) → JSON

The result is checked in; ``--check`` makes it anew and compares, which a test does too. Equal definitions and rows give
equal bytes.

Beside the tables stands what each property was found to be (``labels.json``). Versions of the definitions lose labels now
and then; one that is lost ends the generation until a row brings it back, or ``--forget`` says that it was wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from esproxy.api import endpoints, fetch, opensearch, overrides, patch, verdicts
from esproxy.api.grammar import Builder, GrammarError, State
from esproxy.api.kinds import Kind
from esproxy.api.known import Urls, known
from esproxy.api.minimise import minimise
from esproxy.api.schema import EndpointDef, Schema, Term, read, unite, unite_versions

FORMAT = 1
TABLES = Path(__file__).parent / "tables"
ENGINES = ("elasticsearch", "opensearch")


class GenerateError(ValueError):
    """Positions without one meaning, or rows that fit nothing."""


@dataclass(slots=True)
class Made:
    """One engine's table before it is text. ``refused``: the endpoints that are not served, and where they would be."""

    engine: str
    states: list[State]
    roots: dict[str, int]
    endpoints: dict[str, dict[str, Any]]
    reasons: list[str]
    labels: dict[str, str]
    refused: dict[str, Urls]

    @property
    def transitions(self) -> int:
        return sum(len(state.targets()) for state in self.states)


def definitions(cache: Path | None = None) -> Schema:
    """All pinned versions, united and not yet corrected."""
    return unite_versions([read(path) for path in fetch.schemas(cache).values()])


def make(engine: str, schema: Schema, cache: Path | None = None) -> Made:
    """One engine's table. Changes ``schema``. Raises GenerateError with every fault there is."""
    _prepare(engine, schema)
    every = known(engine, schema, cache)
    builder = Builder(schema, overrides.LABELS, overrides.UNDECIDED)
    chosen = [schema.endpoints[name] for name in sorted(schema.endpoints) if name in set(_chosen(engine))]
    roots = {name: builder.root(term, answer=name in overrides.ANSWERS, path=name) for name, term in overrides.ROOTS.items()}
    rows = {endpoint.name: _row(engine, endpoint, every[endpoint.name], builder, roots) for endpoint in chosen}
    builder.errors += [f"{key}: unused row" for key in _unused(engine, chosen)]
    if builder.errors:
        raise GenerateError("\n".join(dict.fromkeys(builder.errors)))
    made = _minimal(engine, builder.states, roots, rows)
    made.labels = dict(sorted(builder.named.items()))
    made.refused = {name: urls for name, urls in every.items() if name not in rows}
    return made


def _prepare(engine: str, schema: Schema) -> None:
    try:
        patch.apply(schema, overrides.ROWS)
        if engine == "opensearch":
            patch.apply(schema, opensearch.ROWS)
    except patch.PatchError as error:
        raise GenerateError(str(error)) from None
    if engine == "opensearch":
        opensearch.endpoints(schema)


def _chosen(engine: str) -> Sequence[str]:
    return opensearch.ENDPOINTS if engine == "opensearch" else endpoints.ENDPOINTS


# --- endpoints ------------------------------------------------------------------------------------------


def _row(engine: str, endpoint: EndpointDef, urls: Urls, builder: Builder, roots: dict[str, int]) -> dict[str, Any]:
    name = endpoint.name
    framing = endpoints.FRAMING.get(name)
    query = {key: _parameter(name, key, term, endpoints.QUERY, builder) for key, term in endpoint.query.items()}
    path = {key: _parameter(name, key, term, endpoints.PATH, builder) for key, term in endpoint.path.items()}
    query = {key: kind for key, kind in query.items() if (name, key) not in endpoints.IN_PATH}
    query |= endpoints.EXTRA["*"] | endpoints.EXTRA.get(name, {})
    if engine == "opensearch":
        query = {key: kind for key, kind in query.items() if key not in opensearch.NO_PARAMETERS}
        query |= opensearch.extra(name, query)
    if path.get("index") is Kind.EXPR:
        query |= endpoints.WITH_EXPRESSION
    refuse: dict[str, str] = {}
    if endpoint.request is not None:
        refuse = dict(endpoints.REFUSED_WITH_BODY)
        query |= dict.fromkeys(refuse, Kind.REFUSE)
    if framing:
        request: int | None = roots[overrides.FRAMED[framing]]
    else:
        request = None if endpoint.request is None else builder.root(endpoint.request, answer=False, path=f"{name} request")
    response = None
    if endpoint.response is not None and name not in endpoints.VIRTUAL | endpoints.BECOME:
        response = builder.root(_answer(endpoint, builder), answer=True, path=f"{name} answer")
    return {
        "urls": [[list(methods), url] for methods, url in dict.fromkeys((*urls, *endpoints.URLS.get(name, ())))],
        "path": path,
        "query": dict(sorted(query.items())),
        "refuse": refuse,
        "framing": framing,
        "body": "none" if endpoint.request is None else "required" if endpoint.required else "optional",
        "request": request,
        "response": response,
    }


def _parameter(endpoint: str, name: str, term: Term, rows: dict[tuple[str, str], Kind], builder: Builder) -> Kind:
    for key in ((endpoint, name), ("*", name)):
        if key in rows:
            return rows[key]
    try:
        return builder.kind(term)
    except GrammarError as error:
        builder.errors.append(f"{endpoint}?{name}: {error}")
        return Kind.REFUSE


def _answer(endpoint: EndpointDef, builder: Builder) -> Term:
    """The answer's own type or an error, save where the answer is a document and any key may be the client's."""
    assert endpoint.response is not None
    if any(member.kind is Kind.DOC for member in builder.members(endpoint.response) if hasattr(member, "kind")):
        return endpoint.response
    return unite(endpoint.response, overrides.ERROR)


def _unused(engine: str, chosen: list[EndpointDef]) -> list[str]:
    """Rows for parameters that no chosen endpoint has. What OpenSearch does not have, Elasticsearch does."""
    out = []
    absent = {name for name in endpoints.ENDPOINTS if engine == "opensearch" and name not in opensearch.ENDPOINTS}
    for rows, kind in ((endpoints.PATH, "path"), (endpoints.QUERY, "query")):
        for name, parameter in rows:
            if name not in absent and not any(e.name == name or name == "*" for e in chosen if parameter in getattr(e, kind)):
                out.append(f"{kind} parameter {name}:{parameter}")
    known = {e.name for e in chosen} | {"*"}
    out += [f"extra parameters of {name}" for name in endpoints.EXTRA if name not in known and engine == "elasticsearch"]
    return out + [f"endpoint {name}" for name in _chosen(engine) if name not in known]


# --- the table --------------------------------------------------------------------------------------------


def _minimal(engine: str, states: list[State], roots: dict[str, int], rows: dict[str, dict[str, Any]]) -> Made:
    order = [roots[name] for name in sorted(roots)]
    order += [rows[name][side] for name in sorted(rows) for side in ("request", "response") if rows[name][side] is not None]
    small, numbers = minimise(states, order)
    new = dict(zip(order, numbers, strict=True))
    reasons = sorted({s.reason for s in small if s.reason} | {r for row in rows.values() for r in row["refuse"].values()})
    for row in rows.values():
        row["request"] = new.get(row["request"])
        row["response"] = new.get(row["response"])
        row["refuse"] = {name: reasons.index(reason) for name, reason in sorted(row["refuse"].items())}
    return Made(engine, small, {name: new[number] for name, number in sorted(roots.items())}, rows, reasons, {}, {})


def text(made: Made) -> str:
    """The table's file: one line per state and per endpoint, so that a diff shows what changed."""
    sources = {f"{fetch.PACKAGE}@{version}": sum_ for version, sum_ in fetch.VERSIONS.items()} | fetch.SPECS[made.engine]
    rows = {name: {k: v for k, v in row.items() if k != "refuse" or v} for name, row in made.endpoints.items()}
    parts = [
        ("format", str(FORMAT)),
        ("engine", json.dumps(made.engine)),
        ("generator", json.dumps("python -m esproxy.api.generate")),
        ("sources", json.dumps(sources)),
        ("reasons", _lines(json.dumps(reason) for reason in made.reasons)),
        ("roots", json.dumps(made.roots)),
        ("endpoints", _by_name({name: _plain(row) for name, row in rows.items()})),
        ("refused", _by_name(made.refused)),
        ("states", _lines(_compact(_state(state, made.reasons)) for state in made.states)),
    ]
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {body}" for name, body in parts) + "\n}\n"


def _state(state: State, reasons: list[str]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if state.kind is not Kind.COPY:
        out["kind"] = state.kind.name
    if state.keys is not None:
        out["keys"] = state.keys
    if state.other is not None:
        out["other"] = [state.other[0].name, state.other[1]]
    if state.tags:
        out["tags"] = state.tags
    if state.items is not None:
        out["items"] = state.items
    for name in ("ensure", "unless"):
        if getattr(state, name):
            out[name] = list(getattr(state, name))
    if state.mark:
        out["mark"] = state.mark
    if state.reason:
        out["reason"] = reasons.index(state.reason)
    return out


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {k: {n: kind.name for n, kind in v.items()} if k in ("path", "query") else v for k, v in row.items()}


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _by_name(rows: dict[str, Any]) -> str:
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {_compact(row)}" for name, row in rows.items()) + "\n}"


def _lines(items: Any) -> str:
    return "[\n" + ",\n".join(items) + "\n]"


# --- labels -----------------------------------------------------------------------------------------------------


def known_labels() -> dict[str, dict[str, str]]:
    """Engine → property → kinds, as checked in."""
    path = TABLES / "labels.json"
    return json.loads(path.read_text()) if path.exists() else {}


def lost(made: Made, known: dict[str, dict[str, str]]) -> list[str]:
    """Properties that were more than a copy and are so no longer."""
    return [f"{where}: was {kinds}" for where, kinds in known.get(made.engine, {}).items() if where not in made.labels]


# --- command line ---------------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m esproxy.api.generate", description="Make the rule tables.")
    parser.add_argument("--check", action="store_true", help="only compare with what is checked in; status 1 when it differs")
    parser.add_argument("--forget", action="store_true", help="labels that were lost were wrong")
    parser.add_argument("--cache", type=Path, help="where fetched definitions are kept")
    options = parser.parse_args(argv)
    before, labels, status = known_labels(), {}, 0
    served: set[str] = set()
    refused: set[str] = set()
    for engine in ENGINES:
        begin = time.perf_counter()
        made = make(engine, definitions(options.cache), options.cache)
        served |= made.endpoints.keys()
        refused |= made.refused.keys()
        body = text(made)
        seconds = time.perf_counter() - begin
        missing = [] if options.forget else lost(made, before)
        if missing:
            raise GenerateError("\n".join(f"{engine}: the definitions have lost a label: {line}" for line in missing))
        labels[engine] = made.labels
        word = _store(TABLES / f"{engine}.json", body, options.check)
        status |= word == DIFFERS
        print(
            f"{engine}: {len(made.endpoints)} endpoints, {len(made.refused)} refused, {len(made.states)} states, "
            f"{made.transitions} transitions, {len(body)} bytes, {seconds:.1f} s, {word}"
        )
    if faults := verdicts.faults(served | refused, served):
        raise GenerateError("\n".join(faults))
    word = _store(TABLES / "labels.json", json.dumps(labels, indent=0, sort_keys=True) + "\n", options.check)
    return status | (word == DIFFERS)


DIFFERS = "DIFFERS from what is checked in"


def _store(path: Path, body: str, check: bool) -> str:
    if path.exists() and path.read_text() == body:
        return "as checked in"
    if check:
        return DIFFERS
    path.write_text(body)
    return "written"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (GenerateError, fetch.FetchError) as error:
        sys.exit(f"{error}")
