"""Random schedules of everything at once. ``SCHEDULES`` and ``FIRST_SEED`` in the environment make the long run (tox -e
schedules)."""

from __future__ import annotations

import os
import random

from tests.schedules.play import Script, Stage

SCHEDULES = int(os.environ.get("SCHEDULES", "2000"))
FIRST_SEED = int(os.environ.get("FIRST_SEED", "0"))


def scripts(seed: int) -> list[Script]:
    r = random.Random(f"random {seed}")

    def op() -> tuple[object, ...]:
        kinds = ["write", "search", "create", "delete", "alias", "pattern", "search alias", "write alias", "close", "reopen"]
        kind = r.choices(kinds, [30, 22, 14, 12, 6, 6, 5, 3, 3, 3])[0]
        match kind.split():
            case ["alias"]:
                return ("alias", "x", r.choice([["a"], ["b"], ["a", "b"], []]))
            case ["pattern"]:
                return ("search", "*")
            case [what, "alias"]:
                return (what, "x")
        return (kind, r.choice("ab"))

    return [[op() for _ in range(r.randint(3, 7))] for _ in range(r.randint(2, 4))]


def test_random_schedules_keep_the_promise() -> None:
    seen: dict[tuple[str, int], int] = {}
    for seed in range(FIRST_SEED, FIRST_SEED + SCHEDULES):
        stage = Stage(seed, proxies=1 + seed % 3)
        stage.late_comers = seed % 2
        wrong = stage.play(scripts(seed))
        assert not wrong, f"seed {seed}: {wrong}"
        for op in stage.history.ops:
            seen[op.kind, op.status] = seen.get((op.kind, op.status), 0) + 1
    for kind in ("write", "search", "create", "delete", "alias"):
        assert seen.get((kind, 200), 0) > SCHEDULES / 20, f"hardly any {kind} went well: {seen}"
