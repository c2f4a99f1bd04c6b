"""Placement rules: which layout a new logical index gets.

A rule acts when an index is created and never again: where an index lies is recorded in its tenant's directory, not recomputed.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Protocol

DEDICATED, SHARED = "dedicated", "shared"


class RuleLike(Protocol):
    tenants: Sequence[str]
    indices: Sequence[str]
    layout: str


class Placement:
    """``rules`` in order, then ``default``."""

    def __init__(self, default: str, rules: Sequence[RuleLike]) -> None:
        self.default = default
        self.rules = list(rules)
        self.layouts = lru_cache(maxsize=10_000)(self._layouts)

    @property
    def pools(self) -> bool:
        """Can anybody be given a pool?"""
        return any(layout != DEDICATED for layout in (self.default, *(rule.layout for rule in self.rules)))

    def layout(self, tenant: str, index: str) -> str:
        """The layout of a new index: the first rule that matches tenant and name."""
        for rule in self.rules:
            if _matches(tenant, rule.tenants) and _matches(index, rule.indices):
                return rule.layout
        return self.default

    def _layouts(self, tenant: str) -> frozenset[str]:
        """Every layout that an index of this tenant can be given."""
        found = set()
        for rule in self.rules:
            if _matches(tenant, rule.tenants):
                found.add(rule.layout)
                if "*" in rule.indices:
                    return frozenset(found)
        return frozenset(found | {self.default})


def _matches(text: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns)
