"""Whole runs: the tests played on the bare node, and as a tenant of a node that others share."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.conformance.calls import Definitions, Request
from tests.conformance.cleaning import Cleaner
from tests.conformance.others import TENANT, Others
from tests.conformance.player import Outcome, Player
from tests.conformance.reading import Test
from tests.conformance.wire import Answer, Target
from tests.integration.proxy import serve
from tests.oracle.client import WireClient
from tests.oracle.made import Made

Log = Callable[[str], None]
Watch = Callable[[Request, Answer], None]


@dataclass(slots=True)
class Run:
    """How the tests ended, and what went wrong that no test is about, each with the test after which it was seen."""

    outcomes: list[Outcome] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)  # bytes of others in an answer
    changes: list[str] = field(default_factory=list)  # others' data is not as it was
    left: list[str] = field(default_factory=list)  # a tenant could not be emptied; the next test had another one

    def by_key(self) -> dict[str, Outcome]:
        return {one.key: one for one in self.outcomes}

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False), "utf-8")


def saved(path: Path) -> Run:
    held = json.loads(path.read_text("utf-8"))
    return Run(**{**held, "outcomes": [Outcome(**one) for one in held["outcomes"]]})


def direct(node: str, tests: Iterable[Test], definitions: Definitions, log: Log) -> Run:
    """On a bare node, which must be empty and is emptied after each test."""
    run = Run()
    with closing(Target(node)) as target:
        cleaner, player = _ready(target, definitions, None)
        for test in tests:
            run.outcomes.append(player.play(test))
            log(str(run.outcomes[-1]))
            if left := cleaner.clean():
                raise RuntimeError(f"the node cannot be emptied after {test.key}: {left}")
    return run


def proxied(node: str, placement: str, tests: Iterable[Test], definitions: Definitions, log: Log) -> tuple[Run, Made]:
    """As a tenant of the node, which must be empty and is emptied at the end, with ten others on it and a proxy in front.

    With what the tenant made in pools on the way.
    """
    made = Made(TENANT)
    with closing(Target(node)) as target, closing(WireClient(node)) as wire, tempfile.TemporaryDirectory() as folder:
        cleaner = Cleaner(target)
        cleaner.begin()
        if indices := cleaner.kept["indices"]:
            raise RuntimeError(f"the node holds {sorted(indices)[:10]}; it must be empty")
        served = serve(node, Path(folder), placement, "engine", anybody=True)
        try:
            others = Others(target)
            others.settle(served.client)
            return _as_tenant(served.url, others, tests, definitions, log, lambda: made.look(wire)), made
        finally:
            served.stop()  # before the node is emptied: a proxy follows its catalogue
            if left := cleaner.clean():
                raise RuntimeError(f"the node cannot be emptied: {left[:10]}")


def _as_tenant(
    url: str, others: Others, tests: Iterable[Test], definitions: Definitions, log: Log, after: Callable[[], None]
) -> Run:
    """Through the proxy, which takes the tenant from ``x-tenant``. ``after`` is called after each test, before its data goes."""
    run = Run()
    tenants = _names()
    tenant = next(tenants)
    target = Target(url, {"x-tenant": tenant})
    seen: list[str] = []

    def watch(request: Request, answer: Answer) -> None:
        seen.extend(f"{request.method} {request.target}: {mark}" for mark in others.seen_in(answer))

    try:
        cleaner, player = _ready(target, definitions, watch)
        for test in tests:
            run.outcomes.append(player.play(test))
            log(str(run.outcomes[-1]))
            run.changes += [f"{test.key}: {what}" for what in others.changed()]
            run.leaks += [f"{test.key}: {what}" for what in seen]
            seen.clear()
            after()
            if left := cleaner.clean():
                run.left += [f"{test.key}: {tenant}: {what}" for what in left]
                target.close()
                tenant = next(tenants)
                target = Target(url, {"x-tenant": tenant})
                cleaner, player = _ready(target, definitions, watch)
    finally:
        target.close()
    return run


def _ready(target: Target, definitions: Definitions, watch: Watch | None) -> tuple[Cleaner, Player]:
    cleaner = Cleaner(target)
    cleaner.begin()
    return cleaner, Player(target, definitions, target.about(), watch)


def _names() -> Iterator[str]:
    """The tenant under test, and those that take its place when it cannot be emptied."""
    yield TENANT
    number = 1
    while True:
        number += 1
        yield f"{TENANT}-{number}"
