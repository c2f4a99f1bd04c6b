"""What the scenarios hold, by the states of the rule tables: bodies that nodes have taken, cut to pieces.

A call that a scenario expects to be answered 2xx is taken by the node, for a test holds the scenarios to that; so nothing has
to be played to learn. Fields are renamed while it is taken in: those of indices that a scenario makes for itself become fields
of the same type of the generated calls' own world, so that a query on a date stays one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from esproxy.api.kinds import Kind
from esproxy.api.tables import Tables
from tests.oracle.coverage import TABLE, match
from tests.oracle.scenario import Call, Engine, Scenario, load, shared

WORLD = "world"  # the shared calls that each sequence begins with
LIKE_WORLD = ("library", "two", "vectors")  # shared calls whose indices the world's are like
FIELDS = (Kind.FIELD, Kind.SOURCE)
LARGE = 2500  # bytes: bodies that show many keys at once are cut to pieces only
Rename = Callable[[Kind, str], str]


@dataclass(frozen=True, slots=True)
class Taken:
    """A call that nodes take: the endpoint, its path's parameters in order, parameters, and the body as JSON or lines."""

    endpoint: str
    method: str
    template: str
    target: str
    body: Any
    ours: bool  # about indices that are like the world's


@dataclass(slots=True)
class Material:
    engine: Engine
    tables: Tables
    types: dict[str, str] = field(default_factory=dict)  # of the world's fields
    of_type: dict[str, list[str]] = field(default_factory=dict)
    calls: dict[str, list[Taken]] = field(default_factory=dict)  # by endpoint
    whole: dict[str, list[Any]] = field(default_factory=dict)  # by shape: objects that stand at such a state
    values: dict[tuple[str, str], list[Any]] = field(default_factory=dict)  # by shape and key
    beside: dict[tuple[str, str], set[str]] = field(default_factory=dict)  # by shape and key: keys seen beside it
    parameters: dict[str, dict[str, list[str]]] = field(default_factory=dict)  # by endpoint, by name
    documents: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # by index
    shapes: list[str] = field(default_factory=list)  # by state: equal for states with the same keys

    def shape(self, state: int) -> str:
        return self.shapes[state]

    def edge(self, state: int, key: str) -> int | None:
        """The state of a key's value."""
        here = self.tables.states[state]
        found: int | None = here.get("keys", {}).get(key, here["other"][1] if "other" in here else None)
        return found

    def renamed(self, state: int, value: Any, rename: Rename) -> Any:
        """The value with everything in it renamed that is a name of some kind."""
        here = self.tables.states[state]
        if isinstance(value, list):
            return [self.renamed(state, item, rename) for item in value]
        if isinstance(value, dict):
            out = {}
            for key, item in value.items():
                target = self.edge(state, key)
                name = rename(Kind[here["other"][0]], key) if key not in here.get("keys", {}) and "other" in here else key
                out[name] = item if target is None else self.renamed(target, item, rename)
            return out
        return rename(Kind[here["kind"]], value) if isinstance(value, str) and "kind" in here else value

    def learn(self, state: int, value: Any) -> None:
        if isinstance(value, list):
            for item in value:
                self.learn(state, item)
        if not isinstance(value, dict):
            return
        shape = self.shape(state)
        here = self.tables.states[state]
        if shape != "{}" and len(json.dumps(value)) < LARGE and value not in (kept := self.whole.setdefault(shape, [])):
            kept.append(value)
        for key, item in value.items():
            name = key if key in here.get("keys", {}) else "*"
            if item not in (kept := self.values.setdefault((shape, name), [])):
                kept.append(item)
            self.beside.setdefault((shape, name), set()).update(other for other in value if other in here.get("keys", {}))
            target = self.edge(state, key)
            if target is not None:
                self.learn(target, item)


def material(engine: Engine) -> Material:
    """All that the scenarios have for this engine."""
    from esproxy.api.tables import load as load_tables

    tables = load_tables(TABLE[engine.kind])  # type: ignore[arg-type]
    found = Material(engine, tables)
    found.shapes = [json.dumps({part: one.get(part, {}) for part in ("keys", "other")}, sort_keys=True) for one in tables.states]
    for call in shared(WORLD):
        if engine.is_one_of(call.engines):
            _world(found, call)
    for scenario in load():
        if scenario.runs_on(engine):
            _learn(found, scenario)
    return found


def _world(found: Material, call: Call) -> None:
    if "/_bulk" in call.target:
        lines = [json.loads(line) for line in (call.body or b"").splitlines()]
        for action, document in zip(lines[::2], lines[1::2], strict=True):
            index = action["index"].get("_index", call.target.split("/")[1])
            found.documents.setdefault(index, []).append(document)
        return
    for path, kind in fields_of(json.loads(call.body or b"{}")):
        found.types.setdefault(path, kind)
        if path not in (kept := found.of_type.setdefault(kind, [])):
            kept.append(path)


def fields_of(body: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Paths and types of the fields in a body that makes an index or adds to its mapping."""
    if not isinstance(body, dict):
        return
    if isinstance(body.get("mappings"), dict):
        yield from fields_of(body["mappings"])
    for inner in ("properties", "fields"):
        for name, one in body[inner].items() if isinstance(body.get(inner), dict) else ():
            if isinstance(one, dict):
                yield f"{path}{name}", str(one.get("type", "object"))
                yield from fields_of(one, f"{path}{name}.")


def _learn(found: Material, scenario: Scenario) -> None:
    types: dict[str, str] = {}
    ours = scenario.used in LIKE_WORLD

    def rename(kind: Kind, name: str) -> str:
        bare, sign, boost = name.partition("^")
        if ours or kind not in FIELDS or bare not in types or types[bare] not in found.of_type:
            return name
        return found.of_type[types[bare]][0] + sign + boost

    for call in scenario.calls:
        if not found.engine.is_one_of(call.engines):
            continue
        matched = match(found.tables, call.method, call.target)
        if matched is None or not call.expected(found.engine).startswith("2"):
            continue
        endpoint, template = matched
        try:
            body = _body(call)
        except ValueError:
            continue  # what only a lenient parser takes
        if call.method in ("PUT", "POST") and isinstance(body, dict):
            types.update(fields_of(body))
        for name, value in parse_qsl(call.target.partition("?")[2], keep_blank_values=True):
            kept = found.parameters.setdefault(endpoint.name, {}).setdefault(name, [])
            if value not in kept and "${" not in value:
                kept.append(value)
        if endpoint.framing == "bulk" and not _well_formed(body):
            continue
        if endpoint.request is not None and body is not None:
            for state, part in parts(found.tables, endpoint.name, body):
                found.learn(state, found.renamed(state, part, rename))
            if endpoint.framing is None:
                body = found.renamed(endpoint.request, body, rename)
        if not call.headers and "${" not in call.target:
            found.calls.setdefault(endpoint.name, []).append(Taken(endpoint.name, call.method, template, call.target, body, ours))


def _body(call: Call) -> Any:
    if not call.body:
        return None
    if call.media == "application/x-ndjson":
        lines = [json.loads(line) for line in call.body.split(b"\n") if line.strip()]
        if not all(isinstance(line, dict) for line in lines):
            raise ValueError("a line is no object")
        return lines
    return json.loads(call.body)


def _well_formed(lines: list[dict[str, Any]]) -> bool:
    """A bulk whose actions stand where they are looked for: some nodes take others."""
    rest = iter(lines)
    for action in rest:
        if len(action) != 1 or not isinstance(next(iter(action.values())), dict):
            return False
        if next(iter(action)) != "delete":
            next(rest, None)
    return True


def parts(tables: Tables, name: str, body: Any) -> Iterator[tuple[int, Any]]:
    """A body by states: one, or that of each line."""
    endpoint = tables.endpoints[name]
    assert endpoint.request is not None
    if endpoint.framing is None:
        yield endpoint.request, body
    elif endpoint.framing == "bulk":
        lines = iter(body)
        for action in lines:
            yield tables.roots["bulk.action"], action
            verb = next(iter(action))
            if verb != "delete":
                yield tables.roots["bulk.update" if verb == "update" else "bulk.doc"], next(lines, {})
    elif endpoint.framing == "msearch":
        for place, line in enumerate(body):
            yield tables.roots["msearch.header" if place % 2 == 0 else "msearch.body"], line
