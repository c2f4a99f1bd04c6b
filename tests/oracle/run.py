"""Plays a scenario against one base and keeps the answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from esproxy.api.deviations import DEVIATIONS
from tests.oracle.answer import Answer, Number, Raw, parse
from tests.oracle.client import Client
from tests.oracle.scenario import Call, Engine, Scenario

SCRIPTS = ("plus", "named", "find", "mark")  # names that scenarios use for stored scripts
BLOCKS = ("read_only", "read_only_allow_delete", "metadata")  # a node lifts one at a time
Watcher = Callable[[Scenario, Call, Raw], None]


@dataclass(slots=True)
class Played:
    """One call with what came back. ``sent`` is the target with its saved values filled in."""

    call: Call
    sent: str
    body: bytes | None
    raw: Raw
    answer: Answer


@dataclass(slots=True)
class Run:
    scenario: Scenario
    played: list[Played] = field(default_factory=list)
    ended: bool = False  # by a call that was refused as a row says, from whose answer a value was wanted


REFUSED = {row.name: row.refused.split("|") for row in DEVIATIONS if row.refused}


class Unplayable(Exception):
    """A scenario that cannot go on: a value to be saved is not in the answer."""


def engine_of(client: Client) -> Engine:
    """Kind and version of the node, as its root says, and whether it has processors of search pipelines."""
    body = parse(client.send("GET", "/", {}, None), "GET").body
    version = body["version"]
    number = tuple(int(part) for part in version["number"].split("-")[0].split("."))
    if version.get("distribution") != "opensearch":
        return Engine("es", number)
    parts = client.send("GET", "/_nodes/search_pipelines?filter_path=nodes.*.search_pipelines", {}, None).body
    return Engine("os", number, frozenset({"processors"} if b'"filter_query"' in parts else ()))


def play(scenario: Scenario, client: Client, engine: Engine, run: Run | None = None, watch: Watcher | None = None) -> Run:
    """All calls of a scenario that are meant for this engine, in order. Whoever gives ``run`` has what was played even when it
    breaks off.
    """
    run = Run(scenario) if run is None else run
    saved: dict[str, str] = {}
    for call in scenario.calls:
        if not engine.is_one_of(call.engines):
            continue
        target, body, raw = sent(call, client, saved)
        if watch is not None:
            watch(scenario, call, raw)
        answer = parse(raw, call.method)
        refused = any(str(raw.status) in REFUSED.get(name, ()) for name in (call.differs or "").split())
        if not (refused and call.save):
            for name, path in call.save.items():
                saved[name] = _pick(answer.body, path, f"{scenario.name}: {call}")
        answer.saved = dict(saved)
        run.played.append(Played(call, target, body, raw, answer))
        if refused and call.save:
            run.ended = True
            return run
    return run


def sent(call: Call, client: Client, saved: dict[str, str]) -> tuple[str, bytes | None, Raw]:
    """Target and body as they are sent, with what was saved in its places, and what comes back."""
    target = _fill(call.target, saved)
    body = call.body
    if body is not None:
        body = _fill(body.decode("utf-8", "surrogateescape"), saved).encode("utf-8", "surrogateescape")
    headers = ({"content-type": call.media} if call.media else {}) | call.headers
    filled = {name: _fill(value, saved) for name, value in headers.items() if value is not None}
    return target, body, client.send(call.method, target, filled, body)


def _fill(text: str, saved: dict[str, str]) -> str:
    return re.sub(r"\$\{(\w+)\}", lambda match: saved[match[1]] if match[1] in saved else match[0], text)


def _pick(body: Any, path: str, where: str) -> str:
    value = body
    for part in path.split("."):
        try:
            value = value[int(part)] if isinstance(value, list) else value[part]
        except (KeyError, IndexError, TypeError):
            raise Unplayable(f"{where}: no {path} in {str(body)[:300]}") from None
    return value.text if isinstance(value, Number) else str(value)


def as_expected(played: Played, engine: Engine) -> bool:
    """Whether the status is the one that the scenario says a bare node answers."""
    wanted, got = played.call.expected(engine), str(played.answer.status)
    return wanted == got or (wanted.endswith("xx") and wanted[0] == got[0])


def wipe(client: Client) -> None:
    """Deletes every index, alias and template that the client can see. Only for nodes that are the oracle's own."""
    raw = delete(client, "*", "?expand_wildcards=open,closed,hidden")
    if raw.status not in (200, 404):
        raise RuntimeError(f"cannot empty the node: {raw.status} {raw.body[:300]!r}")
    wipe_beside(client)


def delete(client: Client, names: str, query: str = "") -> Raw:
    """Deletes indices, those with blocks that forbid it, too."""
    raw = client.send("DELETE", f"/{names}{query}", {}, None)
    if raw.status == 403:
        for block in BLOCKS:
            setting = f'{{"index.blocks.{block}":false}}'.encode()
            client.send("PUT", f"/{names}/_settings{query}", {"content-type": "application/json"}, setting)
        raw = client.send("DELETE", f"/{names}{query}", {}, None)
    return raw


def wipe_beside(client: Client) -> None:
    """Deletes what is no index: pipelines, stored scripts, templates."""
    for target in ("/_ingest/pipeline/*", "/_search/pipeline/*", *(f"/_scripts/{script}" for script in SCRIPTS)):
        raw = client.send("DELETE", target, {}, None)
        if raw.status not in (200, 404, 400):
            raise RuntimeError(f"cannot empty the node: {raw.status} {raw.body[:300]!r}")
    for kind in ("_index_template", "_template", "_component_template"):  # refused where the client's indices are in pools
        raw = client.send("DELETE", f"/{kind}/*", {}, None)
        if raw.status not in (200, 404, 400):
            raise RuntimeError(f"cannot empty the node: {raw.status} {raw.body[:300]!r}")


def foreign_indices(client: Client) -> list[str]:
    """Names of what lies on a node and is not hidden by the engine itself."""
    raw = client.send("GET", "/_cat/indices?h=index&expand_wildcards=all", {}, None)
    return [name for name in raw.body.decode().split() if not name.startswith((".internal", ".opendistro", ".plugins", ".tasks"))]
