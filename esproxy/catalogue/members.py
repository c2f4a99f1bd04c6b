"""Who else follows the catalogue, as one member sees it.

A member's document changes with each of its polls. One that has not changed for two leases on the observer's own clock is dead:
its own lease, which counts from before its last renewal, ended at least a lease ago. Clocks of two machines are never compared.

*Nobody else* is known in one of two ways: a list of the members that showed only this one, or, after that, that every change of
the members' index since has been this member's own (``quiet``: its sequence numbers follow one another without a gap).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from esproxy.catalogue.documents import Member
from esproxy.catalogue.store import Stored


@dataclass(slots=True)
class Seen:
    stored: Stored[Member]
    since: float  # when this beat was first seen here


class Members:
    def __init__(self, lease: float) -> None:
        self.lease = lease
        self.own: Stored[Member] | None = None
        self.others: dict[str, Seen] = {}
        self.quiet: int | None = None  # the last change of the index, when it is known to be ours and nobody else is there
        self.listed_at = float("-inf")

    def renewed(self, stored: Stored[Member]) -> None:
        """Our document was written."""
        if self.quiet is not None:
            self.quiet = stored.seq_no if stored.seq_no == self.quiet + 1 else None
        self.own = stored

    def lost(self) -> None:
        """Our document is gone: others took us for dead."""
        self.own = None
        self.quiet = None

    def listed(self, found: Iterable[Stored[Member]], began: float, ended: float) -> list[Stored[Member]]:
        """Take in a whole list, read at some moment between these two; the dead are returned, to be deleted.

        A beat counts as first seen when the answer was here, and as still there when the question was asked: in between this
        process may have been stopped for as long as you like, which makes nobody older."""
        others = {m.doc.uuid: m for m in found if self.own is None or m.doc.uuid != self.own.doc.uuid}
        for uuid, stored in others.items():
            seen = self.others.get(uuid)
            if seen is None or (seen.stored.term, seen.stored.seq_no) != (stored.term, stored.seq_no):
                self.others[uuid] = Seen(stored, ended)
        self.others = {uuid: seen for uuid, seen in self.others.items() if uuid in others}
        self.listed_at = began
        self.quiet = self.own.seq_no if self.own is not None and not others else None
        return [seen.stored for seen in self.others.values() if began - seen.since >= 2 * self.lease]

    def followed(self, seq_no: int) -> bool:
        """Has every other member, as last listed, followed so far?"""
        return all(seen.stored.doc.followed >= seq_no for seen in self.others.values())

    def leads(self) -> bool:
        """Is this member, of those last listed, the one that does what is enough when one does it?"""
        return self.own is not None and all(self.own.doc.uuid < uuid for uuid in self.others)

    def live(self, uuid: str | None) -> bool:
        return uuid is not None and (uuid in self.others or (self.own is not None and self.own.doc.uuid == uuid))
