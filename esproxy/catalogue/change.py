"""One change of one document, and the wait that makes a change two-phase.

``change`` reads (realtime), edits, and writes by compare-and-set until it wins. Each change carries a uuid that the document
keeps for a while, so a write whose answer was lost is recognised as one's own instead of being done twice.

``followed`` is rule T's wait: when it ends, whoever still acts on the state before ``seq_no`` no longer holds its lease and
will look before it believes. It is enough to wait one lease; that every live member says it has followed, or that there is
no other, ends it sooner. It must begin after the change is written: whoever joined unseen before is still in its first lease
and caches nothing.

``present`` ends only while others must count with this member: what is acknowledged then, none of them can miss by taking
itself for alone.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import fields, replace
from typing import TypeVar

from esproxy.catalogue import codec, names
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import Changing, Directory, Index, Member
from esproxy.catalogue.store import Conflict, Steps, Stored
from esproxy.errors import Failed
from esproxy.exchange import Wait

D = TypeVar("D", bound=Changing)
ATTEMPTS = 30


class NoChange(Exception):
    """Raised by an edit: the document is already as wanted."""


def change(
    cat: Catalogue,
    kind: type[D],
    id: str,
    edit: Callable[[D], None],
    empty: Callable[[], D] | None = None,
    known: Stored[D] | None = None,
) -> Steps[Stored[D] | None]:
    """The document after ``edit``, which changes it in place, or raises before it changes anything; ``empty`` makes what a
    missing one starts from. None when it is missing and may not be made, or was not. ``known`` is a version read just now, and
    saves reading it again: when it is not the newest any more, the compare-and-set says so.

    In one worker the changes of a document take turns: that saves the attempts that they would cost one another."""
    if id in cat.changing:
        known = None  # it will not be the newest
    while id in cat.changing:
        yield Wait(cat.times.turn)
    cat.changing.add(id)
    try:
        return (yield from _change(cat, kind, id, edit, empty, known))
    finally:
        cat.changing.discard(id)


def _change(
    cat: Catalogue, kind: type[D], id: str, edit: Callable[[D], None], empty: Callable[[], D] | None, known: Stored[D] | None
) -> Steps[Stored[D] | None]:
    mark, uuid = cat.cache.mark, cat.new_id()
    for attempt in range(ATTEMPTS):
        if attempt == 0 and known is not None:
            old: Stored[D] | None = Stored(known.id, known.seq_no, known.term, own(known.doc))
        else:
            old = yield from cat.store.get(kind, id)
        if old is not None and uuid in old.doc.changes:
            return keep(cat, old, mark)  # an earlier attempt of ours whose answer was lost
        if old is not None:
            doc = old.doc
        elif empty is not None:
            doc = empty()
        else:
            return None
        try:
            edit(doc)
        except NoChange:
            if attempt == 0 and known is not None:
                continue
            return None if old is None else keep(cat, old, mark)
        doc.changes[:] = [*doc.changes, uuid][-codec.REMEMBERED :]
        try:
            new = yield from cat.store.create(id, doc) if old is None else cat.store.replace(old, doc)
        except Conflict:
            yield Wait(0)
        except Failed:
            yield Wait(cat.times.look)
        else:
            return keep(cat, new, mark)
    raise Failed("the catalogue changes too fast")


def own(doc: D) -> D:
    """A copy to edit: what is in a document is frozen, but for its lists and dicts."""
    parts = {f.name: getattr(doc, f.name) for f in fields(doc) if f.init}
    return replace(doc, **{name: copy(part) for name, part in parts.items() if isinstance(part, (list, dict))})


def change_directory(
    cat: Catalogue, tenant: str, edit: Callable[[Directory], None], known: Stored[Directory] | None = None
) -> Steps[Stored[Directory] | None]:
    """As change; a tenant without a directory starts with an empty one, whose numbers begin at the time of day."""
    id = names.directory_id(tenant)
    return (yield from change(cat, Directory, id, edit, lambda: Directory(tenant, cat.epoch_seconds()), known))


def followed(cat: Catalogue, seq_no: int) -> Steps[None]:
    deadline = cat.clock() + cat.outlast
    while not cat.cache.alone() and cat.clock() < deadline:
        yield from list_members(cat)
        if cat.members.followed(seq_no):
            return
        yield Wait(max(0.0, min(cat.times.look, deadline - cat.clock())))


def list_members(cat: Catalogue) -> Steps[None]:
    """Look who is there, and delete the dead."""
    began = cat.clock()
    yield from cat.store.refresh(cat.store.members)
    hits = yield from cat.store.find({"match_all": {}}, cat.store.members)
    found = [Stored(h["_id"], h["_seq_no"], h["_primary_term"], codec.decode(Member, h["_source"])) for h in hits]
    for dead in cat.members.listed(found, began, cat.clock()):
        try:
            yield from cat.store.remove(dead, cat.store.members)
        except Conflict:
            pass  # it lives: the next list will tell


def present(cat: Catalogue) -> Steps[None]:
    deadline = cat.clock() + 2 * cat.outlast
    while not cat.cache.held():
        if cat.clock() >= deadline:
            raise Failed("this worker does not follow the catalogue")
        yield Wait(cat.times.look)


def read_directory(cat: Catalogue, tenant: str) -> Steps[Stored[Directory] | None]:
    """By realtime get. What a member knows it also keeps: whoever takes itself for alone must not answer from less than it
    has told."""
    mark = cat.cache.mark
    stored = yield from cat.store.get(Directory, names.directory_id(tenant))
    return None if stored is None else keep(cat, stored, mark)


def keep(cat: Catalogue, stored: Stored[D], mark: int) -> Stored[D]:
    if isinstance(stored.doc, (Directory, Index)):  # what polls follow
        cat.cache.put(stored, mark)
    return stored
