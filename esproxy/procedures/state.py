"""Close and open logical indices.

Closing contradicts what others may be doing and is two-phase. Opening does not, because whoever remembers an index as closed
looks before it refuses; it takes back a close that has not come to effect.

A close that meets a deletion under way brings it to effect: acknowledged as closed, an index must not take another write.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from esproxy.catalogue.change import NoChange, change_directory, followed, present
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import CLOSED, GONE, MAKING, OPEN, Directory
from esproxy.catalogue.store import Steps
from esproxy.errors import Failed, no_such_index
from esproxy.procedures.delete import retire
from esproxy.procedures.two_phase import Edit

ATTEMPTS = 10


def close(cat: Catalogue, tenant: str, wanted: list[str]) -> Steps[None]:
    batch = cat.new_id()
    numbers: dict[str, int] = {}

    def intend(directory: Directory) -> None:
        if not numbers:
            numbers.update({name: directory.indices[name].n for name in _existing(directory, wanted)})
        mine = _still(directory, numbers)
        due = [name for name in mine if directory.indices[name].state == OPEN and directory.indices[name].then is None]
        if not due:
            raise NoChange
        for name in due:
            directory.indices[name] = replace(directory.indices[name], then=CLOSED, by=cat.uuid, batch=batch)

    for _ in range(ATTEMPTS):
        stored = yield from change_directory(cat, tenant, intend)
        if stored is None:
            return
        pending = {name: stored.doc.indices[name] for name in _still(stored.doc, numbers)}
        pending = {name: entry for name, entry in pending.items() if entry.then in (CLOSED, GONE)}
        if not pending:
            return
        yield from followed(cat, stored.seq_no)
        going = {name: entry.n for name, entry in pending.items() if entry.then == GONE}
        if going:
            yield from change_directory(cat, tenant, retire(going))
        stored = yield from change_directory(cat, tenant, shut({e.batch for e in pending.values() if e.then == CLOSED}))
        if stored is None or not any(stored.doc.indices[name].then == GONE for name in _still(stored.doc, numbers)):
            return
    raise Failed("others change these indices all the time")


def shut(batches: Set[str | None]) -> Edit:
    def effect(directory: Directory) -> None:
        due = [name for name, entry in directory.indices.items() if entry.then == CLOSED and entry.batch in batches]
        if not due:
            raise NoChange
        for name in due:
            directory.indices[name] = replace(directory.indices[name], state=CLOSED, then=None, by=None, batch=None)

    return effect


def reopen(cat: Catalogue, tenant: str, wanted: list[str]) -> Steps[None]:
    def edit(directory: Directory) -> None:
        due = [name for name in _existing(directory, wanted) if directory.indices[name].state != OPEN]
        due += [name for name in wanted if directory.indices[name].then == CLOSED]
        if not due:
            raise NoChange
        for name in due:
            entry = directory.indices[name]
            then, by = (GONE, entry.by) if entry.then == GONE else (None, None)
            directory.indices[name] = replace(entry, state=OPEN, then=then, by=by, batch=None)

    yield from change_directory(cat, tenant, edit)
    yield from present(cat)


def _still(directory: Directory, numbers: dict[str, int]) -> list[str]:
    return [name for name, n in numbers.items() if name in directory.indices and directory.indices[name].n == n]


def _existing(directory: Directory, wanted: list[str]) -> list[str]:
    for name in wanted:
        entry = directory.indices.get(name)
        if entry is None or entry.state in MAKING:
            raise no_such_index(name)
    return wanted
