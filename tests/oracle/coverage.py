"""How good the scenarios are: the share of the rule tables' transitions that they exercise in calls answered 2xx.

A *transition* is one of

    url       (endpoint, method, template)
    parameter (endpoint, name)              REFUSEd ones are not counted: no 2xx can come of them
    request   (state, key)                  a known key, ``*`` for any other
    response  (state, key)                  likewise; reported, without a bar: what a node answers is the node's

Only endpoints that are served count, and of a bulk only the items that were answered 2xx. States are walked as
docs/design/rule-tables.md says, by a few lines of its own: the compiled core is what is being tested.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

from esproxy.api.kinds import Kind
from esproxy.api.routes import ENDPOINTS
from esproxy.api.tables import Endpoint, Engine, Tables, load
from tests.oracle.answer import Answer, Number, Raw
from tests.oracle.run import Played, Run
from tests.oracle.scenario import Call

TABLE = {"es": "elasticsearch", "os": "opensearch"}
FRAMES = {"bulk": ("bulk.update",), "msearch": ("msearch.body",)}  # tables of lines that are not the endpoint's own

Transition = tuple[str, Any, str]  # what, where, which
# Endpoints that `python -m tests.oracle.explore` has been over. The others are young: measured apart, by floors of their own.
EXPLORED = frozenset(
    """bulk cat.count cat.health cat.indices clear_scroll close_point_in_time cluster.health count create create_pit delete
    delete_by_query delete_pit exists exists_source explain field_caps get get_source index indices.create indices.delete
    indices.delete_alias indices.exists indices.exists_alias indices.flush indices.get indices.get_alias
    indices.get_field_mapping indices.get_mapping indices.get_settings indices.put_alias indices.put_mapping
    indices.put_settings indices.refresh indices.update_aliases indices.validate_query info mget msearch open_point_in_time
    ping scroll search update update_by_query""".split()
)


@dataclass(slots=True)
class Coverage:
    tables: Tables
    known: set[Transition] = field(default_factory=set)
    seen: set[Transition] = field(default_factory=set)
    paths: dict[int, str] = field(default_factory=dict)  # state → one way to it, for reports
    roots: set[int] = field(default_factory=set)  # states of whole request bodies
    unknown: dict[str, str] = field(default_factory=dict)  # what the node says it does not know, in its words

    def share(self, what: str) -> tuple[int, int]:
        known = {one for one in self.known if one[0] == what}
        return len(known & self.seen), len(known)

    def missing(self, what: str) -> list[Transition]:
        return sorted((one for one in self.known - self.seen if one[0] == what), key=str)

    def possible(self, what: str) -> tuple[int, int]:
        """The same of what the node at hand can take at all: without keys that it says it does not know, and what
        only they lead to. ``unknown_<engine>.json`` holds its words; a key that a scenario does show is possible."""
        known = self.reachable() if what == "request" else {one for one in self.known if one[0] == what} - self.refused()
        return len(known & self.seen), len(known)

    def refused(self) -> set[Transition]:
        return {one for one in self.known - self.seen if self.describe(one) in self.unknown}

    def reachable(self) -> set[Transition]:
        """Transitions of requests that can be come to without a key that the node does not know."""
        refused = self.refused()
        queue = list(self.roots)
        reached = set(queue)
        found: set[Transition] = set()
        while queue:
            state = queue.pop()
            for key, target in edges(self.tables.states[state]):
                transition = ("request", state, key)
                if transition in self.known and transition not in refused:
                    found.add(transition)
                    if target not in reached:
                        reached.add(target)
                        queue.append(target)
        return found

    def rest(self) -> list[Transition]:
        """What could be shown and is not."""
        parameters = {one for one in self.known if one[0] in ("parameter", "url")} - self.refused()
        return sorted((self.reachable() | parameters) - self.seen, key=str)

    def describe(self, transition: Transition) -> str:
        what, where, which = transition
        if what in ("request", "response"):
            return f"{what}: {self.paths.get(where, where)} → {which}"
        return f"{what}: {where} → {which}"


def edges(state: dict[str, Any]) -> Iterator[tuple[str, int]]:
    yield from state.get("keys", {}).items()
    for tag, target in state.get("tags", {}).items():
        yield f"{tag}#*", target
    if "other" in state:
        yield "*", state["other"][1]


def refuses(tables: Tables, state: int) -> bool:
    return tables.states[state].get("kind") == "REFUSE"


def coverage(kind: str, *, young: bool = False) -> Coverage:
    """What there is to cover: of the endpoints that have been explored, or of the young ones."""
    tables = load(TABLE[kind])  # type: ignore[arg-type]
    file = Path(__file__).parent / f"unknown_{kind}.json"
    found = Coverage(tables, unknown=json.loads(file.read_text()) if file.exists() else {})
    for name in served(tables):
        if (name in EXPLORED) is young:
            continue
        endpoint = tables.endpoints[name]
        for methods, template in endpoint.urls:
            found.known |= {("url", name, f"{method} {template}") for method in methods}
        found.known |= {("parameter", name, one) for one, meaning in endpoint.query.items() if meaning is not Kind.REFUSE}
        requests = [endpoint.request] if endpoint.request is not None else []
        requests += [tables.roots[also] for also in FRAMES.get(endpoint.framing or "", ())]
        for root in requests:
            found.roots.add(root)
            _reach(found, "request", root, name)
        if endpoint.response is not None:
            _reach(found, "response", endpoint.response, name)
    return found


def served(tables: Tables) -> list[str]:
    """The endpoints of these tables that the proxy serves."""
    return [name for name in ENDPOINTS if name in tables.endpoints]


def _reach(found: Coverage, what: str, root: int, name: str) -> None:
    found.paths.setdefault(root, name)
    queue = [root]
    visited = {root}
    while queue:
        state = queue.pop(0)
        for key, target in edges(found.tables.states[state]):
            if what == "request" and refuses(found.tables, target):
                continue
            if what == "response" and key == "*" and found.tables.states[state]["other"][0] == "UNKNOWN":
                continue  # a key that no definition knows is no transition
            found.known.add((what, state, key))
            if target not in visited:
                visited.add(target)
                found.paths.setdefault(target, f"{found.paths[state]}.{key}")
                queue.append(target)


def measure(found: Coverage, runs: list[Run]) -> None:
    """Adds what these runs exercised."""
    for run in runs:
        for played in run.played:
            if 200 <= played.raw.status < 300:
                _call(found, played)


def leave_out(found: Coverage, calls: list[Call]) -> None:
    """Of what is known, what only these calls show: they are meant for later versions than the node at hand."""
    later = Coverage(found.tables)
    for call in calls:
        _call(later, Played(call, call.target, call.body, Raw(200, [], b""), Answer(200, {}, None, "none")))
    found.known -= later.seen - found.seen


def _call(found: Coverage, played: Played) -> None:
    matched = match(found.tables, played.call.method, played.sent)
    if matched is None:
        return
    endpoint, template = matched
    found.seen.add(("url", endpoint.name, f"{played.call.method} {template}"))
    for name, _ in parse_qsl(played.sent.partition("?")[2].replace(";", "&"), keep_blank_values=True):
        found.seen.add(("parameter", endpoint.name, name))
    if played.body and endpoint.request is not None:
        if endpoint.framing == "bulk":
            _bulk(found, endpoint, played)
        elif endpoint.framing == "msearch":
            _msearch(found, endpoint, played)
        else:
            try:
                body = json.loads(played.body)
            except ValueError:
                return  # what only a lenient parser takes (comments) is not in the grammar
            walk(found, "request", endpoint.request, body)
    if endpoint.response is not None and played.answer.layout not in ("none", "text"):
        walk(found, "response", endpoint.response, played.answer.body)


def match(tables: Tables, method: str, target: str) -> tuple[Endpoint, str] | None:
    """The endpoint of a target, as nodes route: segments in order, words before placeholders."""
    segments = [part for part in target.partition("?")[0].split("/") if part]
    for endpoint, template, parts in _routes(tables.engine).get((method, len(segments)), ()):
        if all(_fits(part, segment) for part, segment in zip(parts, segments, strict=True)):
            return endpoint, template
    return None


@cache
def _routes(engine: Engine) -> dict[tuple[str, int], list[tuple[Endpoint, str, list[str]]]]:
    """By method and number of segments; those with more words first."""
    tables = load(engine)
    found: dict[tuple[str, int], list[tuple[Endpoint, str, list[str]]]] = {}
    for name in served(tables):
        for methods, template in tables.endpoints[name].urls:
            parts = [part for part in template.split("/") if part]
            for method in methods:
                found.setdefault((method, len(parts)), []).append((tables.endpoints[name], template, parts))
    for routes in found.values():
        routes.sort(key=lambda route: -sum(not part.startswith("{") for part in route[2]))
    return found


def _fits(part: str, segment: str) -> bool:
    if part.startswith("{"):
        return not segment.startswith("_") or part != "{index}" or segment == "_all"
    return part == segment or part == unquote(segment)


def _bulk(found: Coverage, endpoint: Endpoint, played: Played) -> None:
    """Action lines and update bodies of the items that went well."""
    assert played.body is not None and endpoint.request is not None
    lines = iter(played.body.replace(b"\r\n", b"\n").split(b"\n"))
    items = played.answer.body.get("items") if isinstance(played.answer.body, dict) else None
    good = [next(iter(item.values())).get("status", Number("200")).text[:1] == "2" for item in items] if items else []
    for place, line in enumerate(iter(lambda: next((one for one in lines if one.strip()), b""), b"")):
        action = json.loads(line)
        verb = next(iter(action))
        body = next(lines, b"") if verb != "delete" else b""
        if place < len(good) and good[place]:
            walk(found, "request", endpoint.request, action)
            if verb == "update":
                walk(found, "request", found.tables.roots["bulk.update"], json.loads(body))


def _msearch(found: Coverage, endpoint: Endpoint, played: Played) -> None:
    """Headers and bodies of the searches that went well."""
    assert played.body is not None
    lines = played.body.replace(b"\r\n", b"\n").rstrip(b"\n").split(b"\n")
    responses = played.answer.body.get("responses") if isinstance(played.answer.body, dict) else None
    pairs = list(zip(lines[::2], lines[1::2], strict=False))  # nodes leave out a last header without a body
    told = responses is not None and len(responses) == len(pairs)  # a filter may have left some out
    for place, (header, body) in enumerate(pairs):
        if not told or "error" not in responses[place]:
            walk(found, "request", found.tables.roots["msearch.header"], json.loads(header or b"{}"))
            walk(found, "request", found.tables.roots["msearch.body"], json.loads(body))


def walk(found: Coverage, what: str, at: int, value: Any) -> None:
    state = found.tables.states[at]
    if isinstance(value, list):
        for item in value:
            walk(found, what, at, item)
    elif isinstance(value, dict):
        for key, item in value.items():
            tag, sharp, _ = key.partition("#")
            if key in state.get("keys", {}):
                step, target = key, state["keys"][key]
            elif sharp and tag in state.get("tags", {}):
                step, target = f"{tag}#*", state["tags"][tag]
            elif "other" in state:
                step, target = "*", state["other"][1]
            else:
                continue
            found.seen.add((what, at, step))
            walk(found, what, target, item)
