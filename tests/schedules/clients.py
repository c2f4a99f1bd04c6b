"""What clients do in schedules, and the part of the Gateway that stands between them and the catalogue.

Each operation resolves its names by a Sight, sends one call to the node and checks the answer, as the Gateway does. Its
invocation, response and result go into a history; see checker.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import orjson

from esproxy.catalogue import scopes
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import OPEN, Directory
from esproxy.catalogue.names import path, scope
from esproxy.catalogue.pools import Plan
from esproxy.catalogue.sight import Sight
from esproxy.catalogue.store import JSON, parsed
from esproxy.errors import EsproxyError, Failed, Refusal
from esproxy.exchange import Call, Send
from esproxy.procedures.alias import change_aliases
from esproxy.procedures.create import create
from esproxy.procedures.delete import delete
from esproxy.procedures.state import close, reopen

TENANT = "acme"
Steps = Generator[Any, Any, Any]


@dataclass(slots=True, eq=False)
class Op:
    kind: str
    name: str
    start: int
    end: int | None = None  # None: never answered
    result: Any = None
    status: int = 0
    arg: Any = None
    via: str = ""


@dataclass(slots=True)
class History:
    ops: list[Op] = field(default_factory=list)


def record(world: Any, history: History, kind: str, name: str, steps: Steps, arg: Any = None, via: str = "") -> Steps:
    """Run an operation and note what its client saw."""
    op = Op(kind, name, world.step, arg=arg, via=via)
    history.ops.append(op)
    try:
        op.result = yield from steps
        op.status = 200
    except EsproxyError as error:
        op.status = error.status
        op.result = error.reason
    op.end = world.step


def resolve(directory: Directory, name: str) -> list[str]:
    """The index names behind a name, open ones."""
    if name in directory.aliases and directory.aliases[name].now:
        return sorted(t for t in directory.aliases[name].now if directory.indices[t].state == OPEN)
    entry = directory.indices.get(name)
    return [name] if entry is not None and entry.state == OPEN else []


def write(cat: Catalogue, name: str, value: str, auto_create: bool = True) -> Steps:
    sight = Sight(cat, TENANT)
    for _ in range(4):
        directory = sight.believe([name])
        if directory is None:
            yield from sight.look()
            directory = sight.directory
        assert directory is not None
        targets = resolve(directory, name)
        if len(targets) > 1:
            raise Refusal("alias has more than one index")
        if targets:
            break
        if not auto_create:
            raise Refusal(f"no such index [{name}]", status=404)
        yield from create(cat, TENANT, name, Plan("shared"), explicit=False)
        sight.again()
    else:
        raise Failed("still not there")
    sight.use([name])
    entry = directory.indices[targets[0]]
    at = scopes.routing(scope(TENANT, entry.n), scopes.Shards(), value, None)
    target = path(entry.physical, "_doc", f"{at}~{value}") + f"?routing={at}&refresh=true".encode()
    answer = yield Call(Send("main", "PUT", target, JSON, orjson.dumps({"value": value})))
    parsed(answer, 200, 201)
    if not sight.holds():
        yield from sight.confirm()
        if sight.changed:
            raise Failed("the index changed while the write was under way")
    return entry.n


def search(cat: Catalogue, name: str) -> Steps:
    """Values by logical index name; ``name`` may be ``*``."""
    sight = Sight(cat, TENANT)
    while True:
        pattern = name == "*"
        directory = sight.believe([] if pattern else [name], pattern)
        if directory is None:
            yield from sight.look()
            directory = sight.directory
        assert directory is not None
        if pattern:
            targets = [n for n, e in sorted(directory.indices.items()) if e.state == OPEN]
        else:
            targets = resolve(directory, name)
            if not targets:
                raise Refusal(f"no such index [{name}]", status=404)
        sight.use(targets if pattern else [name])
        found: dict[str, list[str]] = {}
        for target in targets:
            entry = directory.indices[target]
            body = {"size": 1000, "query": scopes.query([scope(TENANT, entry.n)])}
            answer = yield Call(Send("main", "POST", path(entry.physical, "_search"), JSON, orjson.dumps(body)))
            hits = parsed(answer, 200, 404).get("hits", {}).get("hits", [])
            found[target] = sorted(hit["_source"]["value"] for hit in hits)
        if not sight.holds():
            yield from sight.confirm()
            if sight.changed:
                if not sight.again():
                    raise Failed("the index changes all the time")
                continue
        return found


def create_index(cat: Catalogue, name: str) -> Steps:
    return (yield from create(cat, TENANT, name, Plan("shared"))).n


def delete_index(cat: Catalogue, name: str) -> Steps:
    return (yield from delete(cat, TENANT, [name]))


def close_index(cat: Catalogue, name: str) -> Steps:
    return (yield from close(cat, TENANT, [name]))


def reopen_index(cat: Catalogue, name: str) -> Steps:
    return (yield from reopen(cat, TENANT, [name]))


def set_alias(cat: Catalogue, alias: str, targets: list[str]) -> Steps:
    """Point the alias at those of the targets that exist."""
    chosen: dict[str, int] = {}

    def wanted(directory: Directory) -> dict[str, Any]:
        if alias in directory.indices:
            raise Refusal(f"an index exists with the same name as the alias [{alias}]")
        chosen.clear()
        chosen.update({t: e.n for t, e in directory.indices.items() if t in targets and e.state == OPEN})
        if targets and not chosen:
            raise Refusal("no such index", status=404)
        return {alias: {t: {} for t in chosen}}

    yield from change_aliases(cat, TENANT, wanted)
    return dict(chosen)
