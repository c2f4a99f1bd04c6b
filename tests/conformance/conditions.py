"""Which tests are for a target: ``skip`` names versions it is not for, and features that whoever plays it must have."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tests.conformance.values import Unplayable, listed

FEATURES = frozenset(
    "allowed_warnings allowed_warnings_regex arbitrary_key close_to contains default_shards exists headers is_after "
    "node_selector stash_in_key stash_in_path stash_path_replace warnings warnings_regex yaml".split()
)
WORDS = {"version", "features", "reason"}


class Skipped(Exception):
    """The test is not for this target."""


@dataclass(frozen=True, slots=True)
class About:
    """What a target says of itself at ``/``."""

    family: str  # elasticsearch or opensearch
    version: str


def check(argument: dict[str, Any], about: About) -> None:
    """Raises Skipped where the target is not meant, and for a feature that the player lacks."""
    if unknown := argument.keys() - WORDS:
        raise Unplayable(f"skip with {sorted(unknown)}")
    for text in listed(argument.get("features")):
        for feature in str(text).split(","):
            if feature.strip() not in FEATURES:
                raise Skipped(f"the player has no feature {feature.strip()}")
    if "version" in argument and within(str(argument["version"]), about):
        raise Skipped(f"not for {about.version}: {argument.get('reason', '')}")


def within(ranges: str, about: About) -> bool:
    """Whether the target's version is in ``7.0.0 - 7.9.99, 2.1.0 - `` or ``all``; an open end reaches as far as versions go."""
    if ranges.strip() == "all":
        return True
    own = _place(about.version, about.family)
    for one in ranges.split(","):
        low, dash, high = (part.strip() for part in one.partition("-"))
        below = bool(low) and own < _place(low, about.family)
        above = bool(high) and own > _place(high, about.family)
        if dash and not below and not above:
            return True
    return False


def _place(version: str, family: str) -> tuple[int, ...]:
    """OpenSearch counts the versions of Elasticsearch that it descends from (up to 7) as older than its own first."""
    numbers = [int(one) for one in re.findall(r"\d+", version)[:3]]
    own = not (family == "opensearch" and numbers[0] >= 5)
    return (int(own), *numbers, *[0] * (3 - len(numbers)))
