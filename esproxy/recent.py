"""A memory of what was asked for lately, bounded by two generations.

A full young generation becomes the old one, and what is asked for again moves to the young one. So whoever brings a new key each
time pushes out what is not in use, and costs the others no more than a second making.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """At most twice ``kept`` values."""

    __slots__ = ("kept", "old", "young")

    def __init__(self, kept: int) -> None:
        self.kept = kept
        self.young: dict[K, V] = {}
        self.old: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        value = self.young.get(key)
        if value is None:
            value = self.old.get(key)
            if value is not None:
                self.put(key, value)
        return value

    def put(self, key: K, value: V) -> None:
        if len(self.young) >= self.kept:
            self.old, self.young = self.young, {}
        self.young[key] = value
