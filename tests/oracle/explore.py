"""Looks for calls that exercise what the hand-written scenarios do not: ``python -m tests.oracle.explore NODE``.

For each transition of a request's table that no scenario shows, bodies that the node has taken and that pass the transition's
state are tried again with the key put in, with values that this key has had elsewhere. What the node takes becomes a
call of ``tests/scenarios/found_<engine>.yaml``; what it refuses in words that say it does not know the key goes, with these
words, into ``tests/oracle/unknown_<engine>.json``, which is the reason why no scenario can show it. What is neither stays to
be done by hand. Both files are checked in; run this, on an empty node, when tables, scenarios or engines change.
"""

from __future__ import annotations

import copy
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.oracle.by_hand import BY_HAND, FIRST, PLAIN, QUERY_PARAMETERS, SCALARS, TWINS, TYPICAL
from tests.oracle.client import WireClient
from tests.oracle.coverage import Coverage, Transition, coverage, match, measure, walk
from tests.oracle.neighbours import clear
from tests.oracle.run import Played, Run, engine_of, play
from tests.oracle.scenario import FOLDER, Call, Engine, Scenario, load, shared

HERE = Path(__file__).parent
SETUPS = ("library", "two", "vectors", "")  # "" for calls that make an index: they need none
UNKNOWN = re.compile(
    r"unknown (field|query|parameter|key|retriever|rescorer|interval type|smoothing)|Unknown aggregation"
    r"|unsupported parameter|query does not support|unsupported field|unrecognized"
    r"|does ?n[o']t support (object|field|array|parameter|values of type)"
    r"|No handler for type|Unknown key for|Unexpected (field|token)"
    r"|no longer supported|\[\w+\] is not registered|failed to recognize|doesn't support\b",
    re.IGNORECASE,
)
# A value of the wrong shape, or one thing too many beside it: says nothing about the key.
SHAPE = re.compile(
    r"wo aggregation type definitions|malformed|Expected \[START_|expected \[START_|[Uu]nexpected token|VALUE_|START_|END_"
    r"|multiple fields"
)


@dataclass(slots=True)
class Context:
    """A body that the node has taken, and where in it a state stands."""

    setup: str
    call: Call
    body: Any
    way: tuple[Any, ...]


@dataclass(slots=True)
class Explorer:
    node: WireClient
    engine: Engine
    found: Coverage
    contexts: dict[int, list[Context]] = field(default_factory=dict)
    examples: dict[str, list[Any]] = field(default_factory=dict)  # values by key
    taken: dict[str, list[tuple[str, Any]]] = field(default_factory=dict)  # by setup: (METHOD target, body)
    urls: list[tuple[str, str]] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)

    def learn(self, setup: str | None, call: Call, body: Any) -> None:
        """Contexts and examples from a call that the node has taken; ``setup`` None: it stands on more than shared calls."""
        matched = match(self.found.tables, call.method, call.target)
        if matched is None or matched[0].request is None or matched[0].framing:
            return
        for state, key, way, value in visits(self.found, matched[0].request, body, ()):
            if key is not None:
                kept = self.examples.setdefault(key, [])
                if value not in kept and len(kept) < 12:
                    kept.append(value)
            elif setup is not None:
                here = self.contexts.setdefault(state, [])
                if len(here) < 6 and not any(one.body == body for one in here):
                    here.append(Context(setup, call, body, way))

    def prepare(self, setup: str) -> None:
        for call in shared(setup) if setup else []:
            if self.engine.is_one_of(call.engines):
                self.node.send(call.method, call.target, {"content-type": call.media or "application/json"}, call.body)

    def explore(self, setup: str) -> None:
        """Everything that is missing and has a context with this setup."""
        self.prepare(setup)
        for transition in self.found.missing("request"):
            if transition not in self.found.seen:
                self.attempt(setup, transition)

    def attempt(self, setup: str, transition: Transition) -> None:
        _, state, key = transition
        said: list[str] = []
        else_wise = False  # a value of some kind was refused for another reason: the key is known
        for context in self.contexts.get(state, []):
            if context.setup != setup:
                continue
            for body in self.variants(context, state, key):
                status, text = self.send(context.call, body)
                if 200 <= status < 300:
                    self.took(context, body)
                    if transition in self.found.seen:
                        self.refused.pop(self.found.describe(transition), None)
                        return
                elif UNKNOWN.search(text) and re.search(rf"\b{re.escape(key)}\b", text) and "multiple fields" not in text:
                    said.append(text)
                elif not SHAPE.search(text):
                    else_wise = True
        if said and key != "*" and not else_wise:
            self.refused.setdefault(self.found.describe(transition), min(said, key=len))

    def variants(self, context: Context, state: int, key: str) -> Iterator[Any]:
        """The context's body with the key put in, beside what is there or, where an object holds one of many, in its place."""
        definition = self.found.tables.states[state]
        inner = definition.get("keys", {}).get(key)
        for name in [key] if key != "*" else ["n", "k", "t", "x", "gp", "v", "a"]:
            values = [*TYPICAL.get(name, ()), *self.examples.get(name, []), *SCALARS]
            if inner is not None and self.found.tables.states[inner].get("keys"):
                values.sort(key=lambda value: not isinstance(value, (dict, list)))
            if alternatives(definition):
                values = [value for value in values if isinstance(value, dict)]
            for value in values[:28]:
                for whole in (False, True) if alternatives(definition) else (False,):
                    body = copy.deepcopy(context.body)
                    at = body
                    for step in context.way:
                        at = at[step]
                    if whole:
                        at.clear()
                    at[name] = copy.deepcopy(value)
                    yield body

    def send(self, call: Call, body: Any) -> tuple[int, str]:
        raw = self.node.send(call.method, call.target, {"content-type": "application/json"}, json.dumps(body).encode())
        if call.method == "PUT" and call.target.count("/") == 1 and 200 <= raw.status < 300:
            self.node.send("DELETE", call.target.partition("?")[0], {}, None)
        text = raw.body.decode("utf-8", "replace")
        reason = re.findall(r'"reason":"((?:[^"\\]|\\.)*)"', text)
        return raw.status, reason[-1] if reason else text[:200]

    def took(self, context: Context, body: Any) -> None:
        before = len(self.found.seen)
        matched = match(self.found.tables, context.call.method, context.call.target)
        assert matched is not None and matched[0].request is not None
        walk(self.found, "request", matched[0].request, body)
        if len(self.found.seen) > before:
            self.taken.setdefault(context.setup, []).append((str(context.call), body))

    def parameters(self) -> None:
        """URL parameters, on one plain call of each endpoint."""
        self.prepare("two")
        for transition in self.found.missing("parameter"):
            _, endpoint, name = transition
            if endpoint not in PLAIN:
                continue
            for value in ("true", "1", "5s", "open", "x", "k", "0", "zone", "painless", "proceed", "auto", "a,b"):
                if self.parameter(transition, endpoint, name, value):
                    break

    def parameter(self, transition: Transition, endpoint: str, name: str, value: str) -> bool:
        """Whether more values need not be tried."""
        calls = [FIRST[endpoint]] if endpoint in FIRST else []
        (text, body) = PLAIN[endpoint]
        query = name in QUERY_PARAMETERS and "_query" not in endpoint
        text += f"{'&' if '?' in text else '?'}{name}={value}" + ("&q=k:a" if query and name != "q" else "")
        calls.append((text, "" if query else body))
        for text, body in calls:
            method, _, target = text.partition(" ")
            raw = self.node.send(method, target, {"content-type": media_of(target)} if body else {}, body.encode() or None)
        if 200 <= raw.status < 300:
            self.found.seen.add(transition)
            self.urls += calls
            return True
        if b"unrecognized parameter" in raw.body:
            self.refused[self.found.describe(transition)] = f"request contains unrecognized parameter: [{name}]"
            return True
        return False

    def reasons(self) -> dict[str, str]:
        """Why what is missing cannot be shown, as far as is known."""
        found = dict(self.refused)
        for transition in self.found.missing("request") + self.found.missing("parameter"):
            text = self.found.describe(transition)
            twin = self.found.describe(("parameter", TWINS.get(transition[1], ""), transition[2]))
            if transition[0] == "parameter" and twin in self.refused:
                found.setdefault(text, self.refused[twin])
            for engine, pattern, why in BY_HAND:
                if engine in ("", self.engine.kind) and re.search(pattern, text):
                    found.setdefault(text, why)
        return dict(sorted(found.items()))


def media_of(target: str) -> str:
    return "application/x-ndjson" if "_bulk" in target or "_msearch" in target else "application/json"


def alternatives(state: dict[str, Any]) -> bool:
    """An object with one key of many: a query, an aggregation, a retriever, an interval, a suggester."""
    return bool(
        {"match_all", "avg", "standard", "all_of", "phrase", "laplace", "jlh", "hnsw", "span_term"} & state.get("keys", {}).keys()
    )


def visits(found: Coverage, at: int, value: Any, way: tuple[Any, ...]) -> Iterator[tuple[int, str | None, tuple[Any, ...], Any]]:
    """(state, None, way to the object, object) for each object, and (state, key, way, value) for each of its keys."""
    state = found.tables.states[at]
    if isinstance(value, list):
        for place, item in enumerate(value):
            yield from visits(found, at, item, (*way, place))
    elif isinstance(value, dict):
        yield at, None, way, value
        for key, item in value.items():
            target = state.get("keys", {}).get(key)
            if target is None and "other" in state:
                target = state["other"][1]
            if target is not None:
                yield at, key, way, item
                yield from visits(found, target, item, (*way, key))


def setup_of(scenario: Scenario, played: Played) -> str | None:
    """The shared calls that this call stands on; None when it stands on more."""
    if played.call.method == "PUT" and re.fullmatch(r"/[a-z0-9-]+(\?.*)?", played.call.target):
        return ""
    return scenario.used if scenario.used in SETUPS and played.call.target.partition("?")[0].endswith("/_search") else None


def main(argv: list[str]) -> int:
    node = WireClient(argv[0])
    engine = engine_of(node)
    found = coverage(engine.kind)
    explorer = Explorer(node, engine, found)
    for scenario in load():
        if scenario.runs_on(engine) and not scenario.name.startswith("found_"):
            run: Run = play(scenario, node, engine)
            clear(node)
            measure(found, [run])
            for played in run.played:
                if 200 <= played.raw.status < 300 and played.body:
                    try:
                        explorer.learn(setup_of(scenario, played), played.call, json.loads(played.body))
                    except ValueError:
                        continue  # lines, or what only a lenient parser takes
    print("before:", found.share("request"), found.share("parameter"))
    for _ in range(2):  # what is found opens the way to more
        for setup in SETUPS:
            explorer.explore(setup)
            clear(node)
        for setup, calls in explorer.taken.items():
            for text, body in calls:
                method, _, target = text.partition(" ")
                explorer.learn(setup, Call(method, target), body)
    explorer.parameters()
    clear(node)
    print("after:", found.share("request"), found.share("parameter"))
    write(explorer)
    return 0


def write(explorer: Explorer) -> None:
    kind = explorer.engine.kind
    lines = ["# Found by `python -m tests.oracle.explore NODE`: calls that the node takes, with keys that no other scenario has."]
    for setup, calls in explorer.taken.items():
        about = f"Calls with keys that no other scenario has ({setup or 'making indices'})."
        lines += ["", f"{setup or 'creations'}:", f"  about: {about}", f"  engines: {kind}", "  calls:"]
        lines += [f"    - {{use: {setup}}}"] if setup else []
        for place, (text, body) in enumerate(calls):
            method, _, target = text.partition(" ")
            lines.append(_call({"do": f"{method} {target if setup else f'/found-{place}'}", "body": body}))
    lines += ["", "parameters:", "  about: Parameters that no other scenario has.", f"  engines: {kind}", "  calls:"]
    lines.append("    - {use: two}")
    for text, content in explorer.urls:
        lines.append(_call({"do": text} | ({"raw": content, "headers": {"content-type": media_of(text)}} if content else {})))
    (FOLDER / f"found_{kind}.yaml").write_text("\n".join(lines) + "\n")
    (HERE / f"unknown_{kind}.json").write_text(json.dumps(explorer.reasons(), indent=1, ensure_ascii=False) + "\n")


def _call(call: dict[str, Any]) -> str:
    return f"    - {json.dumps(call, ensure_ascii=False)}"  # YAML is read as JSON is meant


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
