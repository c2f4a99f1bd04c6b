"""Delete logical indices.

    CAS then=gone · wait (T) · CAS entry → tombstone · acknowledge

From the second compare-and-set on the number is dead: nothing resolves to it any more, so its documents are invisible at
once, and a new index of that name gets the next number. The documents are swept later (sweep).
"""

from __future__ import annotations

from dataclasses import replace

from esproxy.catalogue.change import NoChange
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import GONE, MAKING, Directory, Tombstone
from esproxy.catalogue.store import Steps
from esproxy.errors import no_such_index
from esproxy.procedures.two_phase import Edit, two_phase


def delete(cat: Catalogue, tenant: str, wanted: list[str]) -> Steps[list[int]]:
    """The retired numbers. All or none: a Refusal when one of the names is no index."""
    numbers: dict[str, int] = {}

    def intend(directory: Directory) -> None:
        numbers.clear()
        for name in wanted:
            entry = directory.indices.get(name)
            if entry is None or entry.state in MAKING:
                raise no_such_index(name)
            numbers[name] = entry.n
        if all(directory.indices[name].then == GONE for name in wanted):
            raise NoChange
        for name in wanted:
            directory.indices[name] = replace(directory.indices[name], then=GONE, by=cat.uuid, batch=None)

    yield from two_phase(cat, tenant, intend, lambda directory: retire(numbers)(directory))
    return list(numbers.values())


def retire(numbers: dict[str, int]) -> Edit:
    """The effect: entries of these numbers become tombstones and leave every alias."""

    def effect(directory: Directory) -> None:
        due = [name for name, n in numbers.items() if name in directory.indices and directory.indices[name].n == n]
        if not due:
            raise NoChange
        for name in due:
            entry = directory.indices.pop(name)
            directory.tombstones.append(Tombstone(entry.n, entry.physical))
        for alias_name, alias in list(directory.aliases.items()):
            now = {target: p for target, p in alias.now.items() if target not in due}
            then = None if alias.then is None else {target: p for target, p in alias.then.items() if target not in due}
            if now or then:
                directory.aliases[alias_name] = replace(alias, now=now, then=then)
            else:
                del directory.aliases[alias_name]

    return effect
