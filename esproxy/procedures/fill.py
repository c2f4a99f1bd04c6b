"""Fill a logical index with documents before anybody sees it: a copy of another (``pools.resize``).

    create, as ``filling`` · CAS its physical index · write, CAS a new batch each half a lease · CAS open · acknowledge

An entry that is being filled is not there for anybody: no name or pattern comes to it, nothing deletes it, and its name is taken.
Unlike a creation it is never finished by others, who do not know what was to be in it: whoever finds it left (its batch has not
changed for two leases, or its member is gone) gives it up, and it becomes a tombstone, whose documents are swept. So a copy is
there as a whole or not at all, wherever its worker stops. Who finds its own entry given up meanwhile has failed; what it has
written last is taken by the sweep's second pass, or by the audit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from esproxy.catalogue.change import NoChange, change_directory
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import FILLING, Directory, Entry, Index
from esproxy.catalogue.store import Steps
from esproxy.errors import Failed

BEATS = 4  # in the time after which others give it up


class Filling:
    """What is being filled. ``entry`` is as it will be, but for its state."""

    def __init__(self, cat: Catalogue, meta: Index) -> None:
        self.cat = cat
        self.meta = meta
        self.entry: Entry | None = None
        self.told = 0.0

    def place(self, physical: str) -> Steps[None]:
        """From here on there may be documents."""
        yield from self._tell(physical)

    def beat(self) -> Steps[None]:
        """To be called again and again: others see that it goes on. Raises Failed where they have given it up."""
        assert self.entry is not None
        if self.cat.clock() - self.told >= 2 * self.cat.lease / BEATS:
            yield from self._tell(self.entry.physical)

    def _tell(self, physical: str) -> Steps[None]:
        meta, batch = self.meta, self.cat.new_id()
        self.told = self.cat.clock()

        def mark(directory: Directory) -> None:
            entry = directory.indices.get(meta.name)
            if entry is None or entry.n != meta.n or entry.state != FILLING:
                raise NoChange
            directory.indices[meta.name] = replace(entry, physical=physical, by=self.cat.uuid, batch=batch)

        stored = yield from change_directory(self.cat, meta.tenant, mark)
        entry = stored.doc.indices.get(meta.name) if stored is not None else None
        if entry is None or entry.n != meta.n or entry.batch != batch:
            raise Failed(f"[{meta.name}] took too long to be filled")
        self.entry = entry


Fill = Callable[[Filling], Steps[None]]
