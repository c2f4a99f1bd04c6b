"""When an alias rolls over, and how its conditions are told."""

from __future__ import annotations

from typing import Any

import pytest

from esproxy.metadata.figures import DOCUMENT
from esproxy.pools.rollover import judged, rolls_over

DAY = 86_400_000


@pytest.mark.parametrize(
    ("conditions", "told", "over"),
    [
        ({}, {}, True),
        ({"max_docs": 3}, {"max_docs": ("3", True)}, True),
        ({"max_docs": "4"}, {"max_docs": ("4", False)}, False),
        ({"max_docs": 4, "max_age": "7d"}, {"max_docs": ("4", False), "max_age": ("7d", True)}, True),
        ({"max_age": "200h"}, {"max_age": ("8.3d", False)}, False),
        ({"max_age": "0d"}, {"max_age": ("0s", True)}, True),
        ({"max_size": "1b"}, {"max_size": ("1b", True)}, True),
        ({"max_size": "2048kb"}, {"max_size": ("2mb", False)}, False),
        ({"max_primary_shard_docs": 3}, {"max_primary_shard_docs": ("3", False)}, False),
        ({"max_primary_shard_size": f"{2 * DOCUMENT}b"}, {"max_primary_shard_size": ("1kb", True)}, True),
        ({"min_docs": 3}, {"min_docs": ("3", True)}, True),
        ({"max_docs": 3, "min_age": "30d"}, {"max_docs": ("3", True), "min_age": ("30d", False)}, False),
    ],
)
def test_conditions_are_judged_by_the_index_itself(conditions: dict[str, Any], told: dict[str, Any], over: bool) -> None:
    found = judged(conditions, 7 * DAY, [2, 1])
    assert found == told
    assert rolls_over(found) is over


def test_empty_index_has_no_size() -> None:
    assert judged({"max_size": "1b"}, 0, [0, 0]) == {"max_size": ("1b", False)}
