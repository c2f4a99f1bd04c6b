"""Finish what others began and left: creations, and changes between their two phases.

Nothing depends on who finishes. An intention counts as left when its member is not there, or after two leases on our own clock.
"""

from __future__ import annotations

from esproxy.catalogue.change import change_directory, followed, read_directory
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import CLOSED, GONE, MAKING
from esproxy.catalogue.store import Steps
from esproxy.errors import Refusal
from esproxy.procedures.alias import finish_aliases
from esproxy.procedures.create import finish_making
from esproxy.procedures.delete import retire
from esproxy.procedures.state import shut


def finish(cat: Catalogue, tenant: str) -> Steps[None]:
    stored = yield from read_directory(cat, tenant)
    if stored is None:
        return
    entries = stored.doc.indices.items()
    for name, entry in entries:
        if entry.state in MAKING and cat.abandoned(entry.by, (tenant, entry.n, entry.state, entry.batch)):
            try:
                yield from finish_making(cat, tenant, name, entry)
            except Refusal:
                pass  # the node refuses this index; the intention was withdrawn, and its creator is told so or is gone
    left = [(name, e) for name, e in entries if e.then is not None and cat.abandoned(e.by, (tenant, e.n, e.then, e.batch))]
    if left:
        yield from followed(cat, stored.seq_no)
        gone = {name: e.n for name, e in left if e.then == GONE}
        if gone:
            yield from change_directory(cat, tenant, retire(gone))
        closing = {e.batch for _, e in left if e.then == CLOSED}
        if closing:
            yield from change_directory(cat, tenant, shut(closing))
    yield from finish_aliases(cat, tenant)
