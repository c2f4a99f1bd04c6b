"""A call that is answered differently → the shortest that still is, as a scenario.

Both sides are played again and again: on the node itself, under the bare names, while the tenants' indices lie there under
theirs, and through the proxy. So a call that sees everything (``_all``, no index at all) sees too much directly; whatever shows
another tenant's there is no candidate. First the calls between it and the world are left out, then keys, items and
parameters of the call itself. A read is sent alone where the same calls stand before it as the last time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from tests.oracle.client import WireClient
from tests.oracle.compare import Difference
from tests.oracle.generated.calls import WRITES, Sequence
from tests.oracle.generated.judge import DIFFERS, Judge
from tests.oracle.generated.play import play
from tests.oracle.neighbours import TENANT, Neighbours, physical_indices
from tests.oracle.run import wipe, wipe_beside
from tests.oracle.scenario import Call

TRIES, RESETS = 200, 25  # calls, and worlds, that are made for one cause, at most


@dataclass(slots=True)
class Shrinker:
    node: WireClient
    proxy: WireClient
    judge: Judge
    neighbours: Neighbours
    lasting: frozenset[str]  # physical indices that are not of this
    standing: list[Call] | None = None  # what both sides have, nothing written since
    saved: tuple[dict[str, str], dict[str, str]] = field(default_factory=lambda: ({}, {}))
    tries: int = 0
    resets: int = 0

    def shrink(self, sequence: Sequence, place: int) -> tuple[list[Call], Difference] | None:
        """The calls that are left and the difference; None where it does not show again."""
        self.tries = self.resets = 0
        world, last = sequence.calls[: sequence.counted[0]], sequence.calls[place]
        calls = [*world, last]
        wanted = self.differs(calls)
        if wanted is None:  # what was written before is needed
            calls = sequence.calls[: place + 1]
            wanted = self.differs(calls)
        if wanted is None:
            return None

        def still(candidate: list[Call]) -> bool:
            if self.tries >= TRIES or self.resets >= RESETS:
                return False
            found = self.differs(candidate)
            return found is not None and found[0] == wanted[0]

        reads = [place for place in range(len(world), len(calls) - 1) if self.judge.endpoint(calls[place]) not in WRITES]
        if still(candidate := [call for place, call in enumerate(calls) if place not in reads]):
            calls = candidate
        calls = _fewer(calls, range(len(calls) - 2, len(world) - 1, -1), still)
        calls = [*calls[:-1], smallest(calls[-1], lambda call: still([*calls[:-1], call]))]
        found = self.differs(calls)
        return None if found is None else (calls, found[1])

    def differs(self, calls: list[Call]) -> tuple[tuple[bool, bool], Difference] | None:
        """Whether the last of them does: whether the node takes it and whether the status differs, and the difference."""
        self.tries += 1
        before, last = calls[:-1], calls[-1]
        if self.standing != before:
            self.resets += 1
            self.clear()
            told = [play(Sequence("", before, []), client) for client in (self.node, self.proxy)]
            self.saved = tuple(one[-1].saved if one else {} for one in told)  # type: ignore[assignment]
            self.standing = before
        one, two = (
            play(Sequence("", [last], []), client, saved=saved)[0]
            for client, saved in zip((self.node, self.proxy), self.saved, strict=True)
        )
        if self.judge.endpoint(last) in WRITES or last.save:
            self.standing = None
        if self.neighbours.leaks(one.raw):
            return None
        verdict, found = self.judge.call(("shrunk", len(before)), last, one, two)
        if verdict != DIFFERS:
            return None
        status = next((item for item in found if item.path == "status"), None)
        return (one.taken, status is not None), status or found[0]

    def clear(self) -> None:
        wipe(self.proxy)
        names = set(physical_indices(self.node)) - self.lasting
        bare = sorted(name for name in names if not name.startswith(f"{TENANT}.") and "~" not in name)
        if bare:
            self.node.send("DELETE", "/" + ",".join(quote(name, safe="") for name in bare), {}, None)
        wipe_beside(self.node)


def _fewer(calls: list[Call], places: range, still: Callable[[list[Call]], bool]) -> list[Call]:
    """Without those of these places that are not needed."""
    for place in places:
        candidate = calls[:place] + calls[place + 1 :]
        if still(candidate):
            calls = candidate
    return calls


def smallest(call: Call, still: Callable[[Call], bool]) -> Call:
    """The call with all left out, parameters first, without which it ``still`` does what is looked for."""
    path, _, query = call.target.partition("?")
    parameters = [one for one in query.split("&") if one]
    for parameter in list(parameters):
        rest = [one for one in parameters if one is not parameter]
        candidate = replace(call, target=path + ("?" + "&".join(rest) if rest else ""))
        if still(candidate):
            call, parameters = candidate, rest
    if call.body is None:
        return call
    if still(candidate := replace(call, body=None, media=None)):
        return candidate
    framed = call.media == "application/x-ndjson"
    body = [json.loads(line) for line in call.body.splitlines()] if framed else json.loads(call.body)
    end = "\n" if framed else ""
    while True:
        for smaller in _smaller(body):
            lines = smaller if framed else [smaller]
            candidate = replace(call, body="".join(json.dumps(line, ensure_ascii=False) + end for line in lines).encode())
            if still(candidate):
                call, body = candidate, smaller
                break
        else:
            return call


def _smaller(value: Any) -> Iterator[Any]:
    """Each way to take one thing out, the largest first: a part in the place of the whole, a key, an item."""
    if isinstance(value, dict):
        for item in value.values():
            inner = item if isinstance(item, dict) else item[0] if isinstance(item, list) and len(item) == 1 else None
            if isinstance(inner, dict):
                yield from (part for part in inner.values() if isinstance(part, dict))
                yield inner
        for key in value:
            yield {other: item for other, item in value.items() if other != key}
        for key, item in value.items():
            for smaller in _smaller(item):
                yield {**value, key: smaller}
    elif isinstance(value, list):
        for place in range(len(value)):
            yield value[:place] + value[place + 1 :]
        for place, item in enumerate(value):
            for smaller in _smaller(item):
                yield [*value[:place], smaller, *value[place + 1 :]]


def scenario(name: str, about: str, engine: str, calls: list[Call], world: list[Call]) -> str:
    """YAML, as it stands in a file of tests/scenarios."""
    lines = [f"{name}:", f"  about: {json.dumps(about, ensure_ascii=False)}", f"  engines: {engine}", "  calls:"]
    if calls[: len(world)] == world:
        lines, calls = [*lines, "    - {use: world}"], calls[len(world) :]
    for call in calls:
        one: dict[str, Any] = {"do": str(call)}
        if call.body is not None and call.media == "application/x-ndjson":
            one["lines"] = [json.loads(line) for line in call.body.splitlines()]
        elif call.body is not None:
            one["body"] = json.loads(call.body)
        if call.save:
            one["save"] = call.save
        lines.append(f"    - {json.dumps(one, ensure_ascii=False)}")
    return "\n".join(lines) + "\n"
