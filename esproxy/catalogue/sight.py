"""What one exchange believes about its tenant's names, from its first look to its answer.

    sight = Sight(catalogue, tenant)
    directory = sight.believe(names, pattern)      from memory, or None: Need(sight.look()), then ask again
    sight.use(names)                               what the expression came to; noted for the answer
    …the request goes upstream, the answer comes…
    sight.holds()                                  rule A, from memory: True: deliver. False: Need(sight.confirm()), then
    sight.changed                                  False: deliver; True: a read is sent again (sight.again()), a write gets a 503

Memory is enough while the lease is held, for names that are known and have no change pending; for patterns only while alone,
because an index created elsewhere is not yet in memory. A look is a realtime get for this exchange alone: sharing one that
began before the exchange would miss what was acknowledged in between.

What an exchange rests on is the *footprint* of each name it used: number, physical index, state and blocks, and for an alias
its targets. A change that is only pending has not changed it yet: whoever makes it waits for us (rule T).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from esproxy.catalogue import names
from esproxy.catalogue.change import keep, read_directory
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import MAKING, OPEN, Alias, Directory, Entry, Index
from esproxy.catalogue.store import Steps
from esproxy.errors import Failed
from esproxy.exchange import GO, Go

AGAIN = 3  # how often a read is sent again before it fails

Footprint = tuple[Any, ...]


class Sight:
    __slots__ = ("catalogue", "changed", "directory", "fresh", "indices", "sent_again", "tenant", "used")

    def __init__(self, catalogue: Catalogue, tenant: str) -> None:
        self.catalogue = catalogue
        self.tenant = tenant
        self.directory: Directory | None = None
        self.fresh = False  # the directory was read for this exchange
        self.indices: dict[int, Index] = {}
        self.used: dict[str, Footprint] = {}
        self.changed = False
        self.sent_again = 0

    # --- on the way out ------------------------------------------------------------------------------

    def believe(self, wanted: Iterable[str], pattern: bool = False) -> Directory | None:
        """The directory to resolve these names by; None: look first."""
        if self.fresh:
            return self.directory
        cache = self.catalogue.cache
        if not cache.held() or (pattern and not cache.alone()):
            return None
        stored = cache.get(names.directory_id(self.tenant))
        if stored is None:
            return None
        directory: Directory = stored.doc
        if not all(_sure(directory, name) for name in wanted) or (pattern and directory.pending()):
            return None
        self.directory = directory
        return directory

    def look(self) -> Steps[Go]:
        """Read the directory now, for this exchange. A tenant without one has an empty one."""
        self.directory = yield from self._read()
        self.fresh = True
        return GO

    def use(self, resolved: Iterable[str]) -> None:
        """The logical names that the request came to, aliases among them."""
        assert self.directory is not None
        for name in resolved:
            self.used[name] = footprint(self.directory, name)

    def index(self, entry: Entry) -> Index | None:
        """Mapping, settings and fields of an entry, from memory; None: Need(sight.look_index(entry)). Fields are only ever added
        under one number, so an older version can lack one (a miss, which adds or finds it) but never be wrong about one."""
        stored = self.catalogue.cache.get(names.index_id(self.tenant, entry.n))
        return stored.doc if stored is not None else self.indices.get(entry.n)

    def look_index(self, entry: Entry) -> Steps[Go]:
        cat = self.catalogue
        mark = cat.cache.mark
        stored = yield from cat.store.get(Index, names.index_id(self.tenant, entry.n))
        if stored is None:
            raise Failed("an index changed while a request needed it")
        self.indices[entry.n] = keep(cat, stored, mark).doc
        return GO

    # --- when the answer comes -------------------------------------------------------------------------

    def holds(self) -> bool:
        """Rule A in memory: the lease is held and nothing used is changed or pending."""
        cache = self.catalogue.cache
        if not cache.held():
            return False
        stored = cache.get(names.directory_id(self.tenant))
        if stored is None:
            return False
        directory: Directory = stored.doc
        return all(_sure(directory, name) and footprint(directory, name) == was for name, was in self.used.items())

    def confirm(self) -> Steps[Go]:
        """Rule A by a realtime get."""
        directory = yield from self._read()
        self.changed = any(footprint(directory, name) != was for name, was in self.used.items())
        return GO

    def again(self) -> bool:
        """Start anew after a changed read; False when that has been done often enough."""
        self.directory, self.fresh, self.changed = None, False, False
        self.used.clear()
        self.sent_again += 1
        return self.sent_again <= AGAIN

    def _read(self) -> Steps[Directory]:
        stored = yield from read_directory(self.catalogue, self.tenant)
        return stored.doc if stored is not None else Directory(self.tenant, 0)


def footprint(directory: Directory, name: str) -> Footprint:
    """What a name means now, apart from what is only pending. ``()``: nothing."""
    entry = directory.indices.get(name)
    if entry is not None:
        return (entry.n, entry.physical, entry.state, *entry.blocks) if entry.state not in MAKING else ()
    alias = directory.aliases.get(name)
    if alias is None or not alias.now:
        return ()
    return tuple((target, *footprint(directory, target), properties) for target, properties in sorted(alias.now.items()))


def _sure(directory: Directory, name: str) -> bool:
    """Known to be open, and nothing pending on it. What is remembered as closed or blocked may not be so any more, and is looked
    up."""
    thing: Entry | Alias | None = directory.indices.get(name) or directory.aliases.get(name)
    match thing:
        case Entry():
            return thing.then is None and thing.state == OPEN and not thing.blocks
        case Alias():
            return thing.then is None and all(_sure(directory, target) for target in thing.now)
    return False
