"""Change aliases: add, remove, swap; all of one request take effect at once.

    CAS then · wait (T) · CAS now · acknowledge

A name that is new as an alias is an addition, looked up before a 404 like any unknown name, and needs no second phase; but
in one request with a change of a known alias it waits with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from esproxy.catalogue.change import NoChange, change_directory, followed, present, read_directory
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import GONE, Alias, Directory, Targets
from esproxy.catalogue.store import Steps
from esproxy.errors import Failed
from esproxy.exchange import Wait
from esproxy.procedures.delete import retire
from esproxy.procedures.two_phase import Edit

Wanted = Callable[[Directory], dict[str, Targets]]  # the new targets of each alias to change, {} to remove; may refuse
ATTEMPTS = 50


class _Busy(Exception):
    """Another request's change of one of these aliases is under way."""


def change_aliases(cat: Catalogue, tenant: str, wanted: Wanted, leaving: Sequence[str] = ()) -> Steps[None]:
    """``leaving``: indices that are deleted with the change, and for it to take effect."""
    batch = cat.new_id()
    numbers: dict[str, int] = {}
    for _ in range(ATTEMPTS):
        try:
            stored = yield from change_directory(
                cat, tenant, lambda directory: _intend(cat, directory, wanted, batch, leaving, numbers)
            )
        except _Busy:
            yield Wait(cat.times.look)
            yield from finish_aliases(cat, tenant)
            continue
        if stored is not None and (numbers or any(alias.batch == batch for alias in stored.doc.aliases.values())):
            yield from followed(cat, stored.seq_no)
            yield from change_directory(cat, tenant, _effect(numbers, batch))
        yield from present(cat)
        return
    raise Failed("others change these aliases all the time")


def take_effect(batches: set[str]) -> Edit:
    def effect(directory: Directory) -> None:
        due = [name for name, alias in directory.aliases.items() if alias.then is not None and alias.batch in batches]
        if not due:
            raise NoChange
        for name in due:
            then = directory.aliases[name].then
            if then:
                directory.aliases[name] = Alias(then)
            else:
                del directory.aliases[name]

    return effect


def _effect(numbers: dict[str, int], batch: str) -> Edit:
    def effect(directory: Directory) -> None:
        edits = [take_effect({batch})] if not numbers else [retire(numbers), take_effect({batch})]
        idle = 0
        for edit in edits:
            try:
                edit(directory)
            except NoChange:
                idle += 1
        if idle == len(edits):
            raise NoChange

    return effect


def _intend(
    cat: Catalogue, directory: Directory, wanted: Wanted, batch: str, leaving: Sequence[str], numbers: dict[str, int]
) -> None:
    targets = wanted(directory)
    numbers.clear()
    numbers.update({name: directory.indices[name].n for name in leaving if name in directory.indices})
    changed = {name: new for name, new in targets.items() if _now(directory, name) != new or _pending(directory, name)}
    if not changed and not numbers:
        raise NoChange
    if any(_pending(directory, name) for name in changed):
        raise _Busy
    known = bool(numbers) or any(_now(directory, name) for name in changed)
    for name in numbers:
        directory.indices[name] = replace(directory.indices[name], then=GONE, by=cat.uuid, batch=None)
    for name, new in changed.items():
        if known:
            directory.aliases[name] = replace(directory.aliases.get(name, Alias({})), then=new, by=cat.uuid, batch=batch)
        else:
            directory.aliases[name] = Alias(new)


def finish_aliases(cat: Catalogue, tenant: str) -> Steps[None]:
    """Bring changes to effect that somebody left between their two phases."""
    stored = yield from read_directory(cat, tenant)
    if stored is None:
        return
    pending = {a.batch: a.by for a in stored.doc.aliases.values() if a.then is not None and a.batch is not None}
    left = {batch for batch, by in pending.items() if cat.abandoned(by, (tenant, batch))}
    if left:
        yield from followed(cat, stored.seq_no)
        yield from change_directory(cat, tenant, take_effect(left))


def _now(directory: Directory, name: str) -> Targets:
    return directory.aliases[name].now if name in directory.aliases else {}


def _pending(directory: Directory, name: str) -> bool:
    return name in directory.aliases and directory.aliases[name].then is not None
