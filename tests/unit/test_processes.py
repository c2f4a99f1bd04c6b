"""Which process of several plays a test."""

from __future__ import annotations

import pytest

from tests.processes import group_of

IN = "tests/integration/test_x.py::test_x"


@pytest.mark.parametrize(
    ("id", "group"),
    [
        (f"{IN}[os3-dedicated-engine-E08 GET /_tasks?detailed HTTP/1.1#1798]", "os3"),
        (f"{IN}[es9]", "es9"),
        (f"{IN}[gzip-shared-es8]", "es8"),
        (f"{IN}[a-b]", "nodes"),
        (IN, "nodes"),
        ("tests/unit/test_x.py::test_x[os3]", "tests/unit/test_x.py"),
    ],
)
def test_tests_of_one_engine_are_played_by_one_process(id, group):
    assert group_of(id) == group
