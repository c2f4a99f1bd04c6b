"""The races of the catalogue as named cases: what clients do, under which trouble, and which rule closes it.

Each is a small play that is likely to meet its race; test_races runs it with the rule on (no seed may fail) and off (some
seed must). Races too rare for that are played by hand in test_directed.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from esproxy.catalogue.context import Caps
from tests.schedules.play import Script, Stage
from tests.schedules.world import Chances

CALM = {"lost": 0.0, "unanswered": 0.0, "late": 0.0, "stop": 0.0, "kill": 0.0, "slow": 0.0, "leap": 0.0}
QUIET = Chances(**CALM)
LATE = Chances(**{**CALM, "data_slow": 0.3, "late": 0.02})
JOINS = Chances(**CALM, tick=0.12)
STOPS = Chances(**{**CALM, "stop": 0.006}, data_slow=0.1)
DRAGS = Chances(**CALM, drag=0.4)


@dataclass(slots=True)
class Case:
    rule: str
    scripts: Callable[[random.Random], list[Script]]
    chances: Chances = field(default_factory=Chances)
    proxies: int = 2
    late_comers: int = 0
    pool_drops: float = 0.3
    warm: bool = True
    caps: Caps = field(default_factory=Caps)
    seeds_on: int = 60
    seeds_off: int = 1500

    def run(self, seed: int) -> list[str]:
        stage = Stage(seed, self.chances, self.proxies, self.caps)
        stage.late_comers, stage.pool_drops, stage.warm = self.late_comers, self.pool_drops, self.warm
        return stage.play(self.scripts(random.Random(f"races {seed}")))


def _mixed(*ops: str, names: str = "a", clients: int = 3, length: int = 5) -> Callable[[random.Random], list[Script]]:
    """Clients that pick from these: "write", "search", "create", "delete", "pattern", "alias", "write alias", "search alias"."""

    def pick(r: random.Random) -> tuple:  # type: ignore[type-arg]
        op, name = r.choice(ops), r.choice(names)
        match op.split():
            case ["pattern"]:
                return ("search", "*")
            case ["alias"]:
                return ("alias", "x", r.choice([["a"], ["b"], ["a", "b"]]))
            case [kind, "alias"]:
                return (kind, "x")
        return (op, name)

    return lambda r: [[pick(r) for _ in range(length)] for _ in range(clients)]


def _first(*ops: tuple, then: Callable[[random.Random], list[Script]]) -> Callable[[random.Random], list[Script]]:  # type: ignore[type-arg]
    """One client's operations in front of what the clients do."""

    def scripts(r: random.Random) -> list[Script]:
        first, *rest = then(r)
        return [[*ops, *first], *rest]

    return scripts


CASES: dict[str, Case] = {
    "a bulk in flight while its index is deleted and made again": Case(
        "numbers", _mixed("write", "delete", "create", "search"), LATE, pool_drops=0.0
    ),
    "a recreation before the delete is acknowledged": Case("two-phase", _mixed("write", "write", "delete", "create"), QUIET),
    "an alias is swapped while others read through it": Case(
        "two-phase", _first(("create", "a"), ("create", "b"), then=_mixed("alias", "search alias", "search alias")), QUIET
    ),
    "an index is closed while others write to it": Case("two-phase", _mixed("write", "write", "close", "reopen"), QUIET),
    "a creation meets the sweep of its predecessor": Case("compare-and-set", _mixed("write", "delete", "create")),
    "a late write lands after the sweep counted zero": Case(
        "second pass and audit", _first(("write", "a"), then=_mixed("write", "write", "delete")), LATE, pool_drops=0.0
    ),
    "a paused read meets a running sweep": Case(
        "answer check", _first(("write", "a"), ("write", "a"), then=_mixed("search", "write", "delete")), LATE, pool_drops=0.0
    ),
    "a process stops between its check and its send": Case(
        "answer check", _first(("write", "a"), ("write", "a"), then=_mixed("search", "search", "delete")), STOPS, pool_drops=0.0
    ),
    "a creation is acknowledged, then a pattern through another proxy": Case(
        "realtime patterns", _mixed("create", "pattern", "delete", names="ab"), QUIET
    ),
    "a pool is dropped while an entry is created in it: intention": Case(
        "intention names its family",
        _mixed("create", "delete", names="ab"),
        Chances(slow=0.03, stop=0.0, kill=0.0),
        pool_drops=1.0,
    ),
    "a joining member is not counted with yet": Case(
        "first lease uncached", _mixed("write", "delete", "search", "create"), JOINS, proxies=1, late_comers=2
    ),
    "a member not counted with acknowledges a creation": Case(
        "presence before acknowledging",
        _mixed("create", "pattern", "pattern", names="abcde", length=8),
        QUIET,
        proxies=1,
        late_comers=3,
    ),
    "a member is taken for dead too soon": Case(
        "death after two leases", _mixed("write", "delete", "search", "search", length=12), Chances(**CALM, tick=0.08)
    ),
    "a change below the checkpoint is not yet findable": Case(
        "refresh before following", _mixed("write", "delete", "search", "create"), QUIET
    ),
    "a change is acknowledged before an earlier one is applied": Case(
        "global checkpoint", _mixed("write", "delete", "search", "search", names="ab", clients=4, length=9), DRAGS
    ),
    "a read that began before a poll is cached after it": Case(
        "mark", _mixed("write", "delete", "search", "search", length=9), Chances(**{**CALM, "slow": 0.02}, forget=0.1)
    ),
}
