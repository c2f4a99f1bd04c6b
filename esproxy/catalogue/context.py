"""What every procedure of one worker shares: the store, the cache, who else is there, and what was injected.

Nothing here is per request. ``clock`` runs on while the process is suspended (CLOCK_BOOTTIME); ``epoch_seconds`` is the wall
clock, used for nothing but first numbers; ``new_id`` makes uuids.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from esproxy.catalogue import names
from esproxy.catalogue.cache import Cache, Clock
from esproxy.catalogue.members import Members
from esproxy.catalogue.store import Store


@dataclass(slots=True, frozen=True)
class Times:
    """Seconds. ``lease`` is only proposed here: the catalogue's own says what holds."""

    lease: float = 5.0
    poll: float = 1.0
    look: float = 0.2  # between two looks at what another is doing
    turn: float = 0.02  # between two looks at what this worker itself is doing
    grace: float = 10.0  # between the two passes of a sweep
    upkeep: float = 300.0  # between two looks at all pools, and two audits
    drift: float = 1.05  # how much longer a lease is waited for than held


@dataclass(slots=True, frozen=True)
class Caps:
    """When a generation takes no new index any more; and the node's own limit, which leaves room for those inside."""

    fields: int = 1_000
    documents: int = 100_000_000
    bytes: int = 50 << 30
    node_fields: int = 10_000


@dataclass(slots=True)
class Catalogue:
    store: Store
    cache: Cache
    clock: Clock
    epoch_seconds: Callable[[], int]
    new_id: Callable[[], str]
    times: Times = field(default_factory=Times)
    caps: Caps = field(default_factory=Caps)
    physical: str = names.PHYSICAL  # where to look for physical indices that are, or may have been, this catalogue's
    members: Members = field(init=False)
    uuid: str = field(init=False)  # of this member; a new one for each time it joins
    first_seen: dict[Hashable, float] = field(default_factory=dict)
    changing: set[str] = field(default_factory=set)  # documents that this worker is changing just now
    alike: set[tuple[str, str, str]] = field(default_factory=set)  # pools, field aliases and paths that this worker has put
    making: set[str] = field(default_factory=set)  # physical indices that a creation of this worker makes just now

    def __post_init__(self) -> None:
        self.members = Members(self.times.lease)
        self.uuid = self.new_id()

    @property
    def lease(self) -> float:
        return self.members.lease

    @property
    def outlast(self) -> float:
        """How long to wait so that every lease held now has ended."""
        return self.lease * self.times.drift

    def age(self, what: Hashable) -> float:
        """For how long this worker has been seeing something left undone, on its own clock."""
        now = self.clock()
        if len(self.first_seen) > 100_000:
            self.first_seen.clear()  # waits begin anew
        return now - self.first_seen.setdefault(what, now)

    def abandoned(self, by: str | None, what: Hashable) -> bool:
        """Should we finish what member ``by`` began? Judged wrongly it only costs calls: finishing is safe at any time."""
        return self.age(what) >= (2 * self.lease if self.members.live(by) else self.times.look)
