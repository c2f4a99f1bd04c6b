"""Close and open logical indices. Closing contradicts what others may be doing and is two-phase; opening does not, because
whoever remembers an index as closed looks before it refuses."""

from __future__ import annotations

from dataclasses import replace

from esproxy.catalogue.change import NoChange, change_directory, present
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import CLOSED, CREATING, GONE, OPEN, Directory
from esproxy.catalogue.store import Steps
from esproxy.errors import no_such_index
from esproxy.procedures.two_phase import Edit, two_phase


def close(cat: Catalogue, tenant: str, wanted: list[str]) -> Steps[None]:
    numbers: dict[str, int] = {}

    def intend(directory: Directory) -> None:
        numbers.clear()
        numbers.update({name: directory.indices[name].n for name in _existing(directory, wanted)})
        due = [n for n in wanted if directory.indices[n].state == OPEN and directory.indices[n].then is None]
        if not due:
            raise NoChange
        for name in due:
            directory.indices[name] = replace(directory.indices[name], then=CLOSED, by=cat.uuid)

    yield from two_phase(cat, tenant, intend, lambda directory: shut(numbers)(directory))


def shut(numbers: dict[str, int]) -> Edit:
    def effect(directory: Directory) -> None:
        due = [n for n, e in directory.indices.items() if e.then == CLOSED and numbers.get(n) == e.n]
        if not due:
            raise NoChange
        for name in due:
            directory.indices[name] = replace(directory.indices[name], state=CLOSED, then=None, by=None)

    return effect


def reopen(cat: Catalogue, tenant: str, wanted: list[str]) -> Steps[None]:
    def edit(directory: Directory) -> None:
        entries = [directory.indices[name] for name in _existing(directory, wanted)]
        if all(e.state == OPEN and e.then != CLOSED for e in entries):
            raise NoChange
        for name in wanted:
            entry = directory.indices[name]
            if entry.then != GONE:
                directory.indices[name] = replace(entry, state=OPEN, then=None, by=None)

    yield from change_directory(cat, tenant, edit)
    yield from present(cat)


def _existing(directory: Directory, wanted: list[str]) -> list[str]:
    for name in wanted:
        entry = directory.indices.get(name)
        if entry is None or entry.state == CREATING:
            raise no_such_index(name)
    return wanted
