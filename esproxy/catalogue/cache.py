"""Directories and index documents in memory, and how far they may be believed.

Three spans of time, by a clock that runs on while the process is suspended:

    lease     from before a poll's first call, for ``lease`` seconds: until then every change that others may have seen
              acknowledged before that poll is in here
    settled   from a lease after this member's document was written: before, others may act as if they were alone, so no poll that
              began before is believed
    alone     as the lease, when the poll found no other live member

A document is cached only if no poll has been applied since its read began (``mark``), because a poll that passed in between
may have known better and found nothing here to replace. What is here already is replaced by whatever is newer.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from esproxy.catalogue.store import Stored

Clock = Callable[[], float]


class Cache:
    def __init__(self, clock: Clock, limit: int = 100_000) -> None:
        self.clock = clock
        self.limit = limit
        self.docs: OrderedDict[str, Stored[Any]] = OrderedDict()
        self.mark = 0  # polls applied
        self.epoch = ""
        self.followed = -1
        self.lease_from = float("-inf")
        self.lease_until = float("-inf")
        self.settled_from = float("inf")
        self.alone_until = float("-inf")

    # --- what may be believed ------------------------------------------------------------------------

    def held(self) -> bool:
        """May what is cached be acted on?"""
        return self.settled_from <= self.lease_from and self.clock() < self.lease_until

    def alone(self) -> bool:
        """Is nobody else following, so that even what is not cached is known?"""
        return self.held() and self.clock() < self.alone_until

    def grant(self, start: float, seconds: float, alone: bool) -> None:
        """A whole poll that began at ``start`` went well."""
        self.lease_from = start
        self.lease_until = start + seconds
        self.alone_until = self.lease_until if alone else float("-inf")

    # --- documents -------------------------------------------------------------------------------------

    def get(self, id: str) -> Stored[Any] | None:
        return self.docs.get(id)

    def put(self, stored: Stored[Any], mark: int) -> None:
        """Keep what was read or written; ``mark`` as it was before the call."""
        old = self.docs.get(stored.id)
        if old is None:
            if mark != self.mark:
                return
            while len(self.docs) >= self.limit:
                self.docs.popitem(last=False)
        elif not stored.newer(old):
            return
        self.docs[stored.id] = stored

    def forget(self, id: str) -> None:
        self.docs.pop(id, None)

    # --- following ---------------------------------------------------------------------------------------

    def apply(self, changes: list[Stored[Any]], followed: int) -> None:
        """Replace what changed; what is not cached stays out."""
        for change in changes:
            old = self.docs.get(change.id)
            if old is not None and change.newer(old):
                self.docs[change.id] = change
        self.followed = followed
        self.mark += 1

    def reset(self, epoch: str, followed: int) -> None:
        """Believe nothing cached: another primary, another index, or a first poll."""
        self.docs.clear()
        self.epoch = epoch
        self.followed = followed
        self.mark += 1
