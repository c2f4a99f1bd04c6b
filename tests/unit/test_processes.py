"""Which process of several plays a test."""

from __future__ import annotations

import pytest

from tests.processes import group_of, turn_of

IN = "tests/integration/test_x.py::test_x"


@pytest.mark.parametrize(
    ("id", "group"),
    [
        (f"{IN}[os3-dedicated-engine-E08 GET /_tasks?detailed HTTP/1.1#1798]", "os3"),
        (f"{IN}[es9]", "es9"),
        (f"{IN}[gzip-shared-es8]", "es8"),
        (f"{IN}[a-b]", "nodes"),
        (IN, "nodes"),
        ("tests/integration/test_fleet.py::test_x[es9-1]", "tests/integration/test_fleet.py-es9"),
        ("tests/unit/test_x.py::test_x[os3]", "tests/unit/test_x.py"),
    ],
)
def test_tests_of_one_engine_are_played_by_one_process(id, group):
    assert group_of(id) == group


def test_groups_that_take_longest_come_first():
    ids = ("tests/core/test_x.py::test_x", "tests/integration/test_embedded.py::test_x[os3]", f"{IN}[os3]")
    assert sorted(ids, key=turn_of) == [*reversed(ids)]
