"""The catalogue's documents, typed. Their JSON form is in codec.

Values inside a document are frozen; a document is a bag of them that belongs to whoever decoded it until it is cached, and is
never changed after.

A **pending** change (``then``) is the first phase of one that contradicts what others may be doing; ``by`` names the member that
means to finish it, and ``batch`` the change it belongs to, so that aliases swapped together take effect together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

CREATING, FILLING, OPEN, CLOSED = "creating", "filling", "open", "closed"  # states of an entry
MAKING = (CREATING, FILLING)  # nobody sees it yet
GONE = "gone"  # pending only: the entry becomes a tombstone
STATES = (*MAKING, OPEN, CLOSED)
LAYOUTS = ("shared", "per-tenant")
SEALED = "sealed"  # of a generation: takes no new index

Targets = dict[str, dict[str, Any]]  # logical index → alias properties as the client gave them


@dataclass(slots=True, frozen=True)
class Entry:
    """One logical index in a directory."""

    n: int
    layout: str
    family: str
    physical: str = ""  # empty while creating, and until there is something to fill
    state: str = CREATING
    then: str | None = None
    by: str | None = None
    batch: str | None = None  # of a close: one that was taken back is not mistaken for the next; of a filling: it goes on
    hidden: bool = False  # patterns pass it by
    blocks: tuple[str, ...] = ()  # what the proxy refuses to do with it


@dataclass(slots=True, frozen=True)
class Alias:
    now: Targets
    then: Targets | None = None
    by: str | None = None
    batch: str | None = None


@dataclass(slots=True, frozen=True)
class Tombstone:
    n: int
    physical: str
    by: str | None = None  # who sweeps it


@dataclass(slots=True)
class Directory:
    tenant: str
    next: int
    changes: list[str] = field(default_factory=list)
    indices: dict[str, Entry] = field(default_factory=dict)
    aliases: dict[str, Alias] = field(default_factory=dict)
    templates: bool | None = None  # has the tenant ever had any? None: nobody has asked the cluster yet
    tombstones: list[Tombstone] = field(default_factory=list)

    def pending(self) -> bool:
        return any(e.then for e in self.indices.values()) or any(a.then is not None for a in self.aliases.values())

    def busy(self) -> bool:
        """Something is left to be finished, by whoever finds it."""
        return bool(self.tombstones) or self.pending() or any(e.state in MAKING for e in self.indices.values())

    def names(self) -> list[str]:
        """What keeps a pool from being dropped: physical indices, and families of creations under way."""
        held = {e.physical or e.family for e in self.indices.values()} | {t.physical for t in self.tombstones}
        return sorted(held)

    def knows(self, n: int) -> bool:
        return any(e.n == n for e in self.indices.values()) or any(t.n == n for t in self.tombstones)


@dataclass(slots=True)
class Index:
    """One creation of a logical index: what is too big for the directory."""

    tenant: str
    name: str
    n: int
    layout: str
    family: str
    mapping: dict[str, Any]
    settings: dict[str, Any]
    created: int = 0  # milliseconds since 1970
    reason: str | None = None  # of a pool of one
    fields: dict[str, Field] = field(default_factory=dict)  # logical path → what it is
    changes: list[str] = field(default_factory=list)
    made: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)  # of it, for all who use it


@dataclass(slots=True, frozen=True)
class Field:
    """A field of a logical index. ``physical`` differs from its path only where the pool has that name with another type."""

    type: dict[str, Any]
    physical: str


@dataclass(slots=True, frozen=True)
class Generation:
    g: int
    physical: str
    state: str = OPEN  # or SEALED


@dataclass(slots=True)
class Pool:
    """A family's pools, newest last. ``next`` only grows, so no physical name comes back; it starts with the time of day in
    seconds (``first``), so not even in a catalogue that was lost and begun anew."""

    family: str
    mapping: dict[str, Any]
    settings: dict[str, Any]
    first: int = 1
    next: int = 1
    generations: list[Generation] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)

    def gave(self, g: int) -> bool:
        """Did this document ever give out that generation?"""
        return self.first <= g < self.next

    def newest_open(self) -> Generation | None:
        return next((g for g in reversed(self.generations) if g.state == OPEN), None)


@dataclass(slots=True)
class Claims:
    """Which fields one physical index has: physical path → definition, ``{"type": "object"}`` for objects. Written before the
    node's mapping, so two tenants never give one field two definitions."""

    physical: str
    fields: dict[str, dict[str, Any]] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)


@dataclass(slots=True, frozen=True)
class Member:
    """A worker process. ``beat`` changes with each poll; ``followed`` is the checkpoint it acts on."""

    uuid: str
    beat: int
    followed: int


@dataclass(slots=True, frozen=True)
class Lease:
    seconds: float


Document = Directory | Index | Pool | Claims | Member | Lease
Changing = Directory | Index | Pool | Claims  # those that carry change uuids
