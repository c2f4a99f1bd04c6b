"""Random schedules of everything at once. ``SCHEDULES`` and ``FIRST_SEED`` in the environment make the long run (tox -e
schedules)."""

from __future__ import annotations

import logging
import os
import random

import pytest

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


def test_random_schedules_keep_the_promise(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, logger="esproxy.catalogue")  # trouble is what these schedules are made of
    seen: dict[tuple[str, int], int] = {}
    broken: list[str] = []
    for seed in range(FIRST_SEED, FIRST_SEED + SCHEDULES):
        stage = Stage(seed, proxies=1 + seed % 3)
        stage.late_comers = seed % 2
        try:
            wrong = stage.play(scripts(seed))
        except AssertionError as error:  # one that comes to no end, or lets an error out
            wrong = [str(error)]
        if wrong:
            broken.append(f"seed {seed}: {wrong}")
            print(broken[-1], flush=True)
        for op in stage.history.ops:
            seen[op.kind, op.status] = seen.get((op.kind, op.status), 0) + 1
    assert not broken, f"{len(broken)} of {SCHEDULES} schedules broke the promise:\n" + "\n".join(broken[:20])
    for kind in ("write", "search", "create", "delete", "alias"):
        assert seen.get((kind, 200), 0) > SCHEDULES / 20, f"hardly any {kind} went well: {seen}"
