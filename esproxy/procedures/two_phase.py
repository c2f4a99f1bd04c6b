"""Rule T: a change that contradicts what others may be doing.

    CAS the intention · wait until nobody believes the state before it · CAS the effect · acknowledge

Who meets the intention meanwhile looks each request up. A crash in between leaves an intention that anybody may finish (see
finish): the wait is the same for them.
"""

from __future__ import annotations

from collections.abc import Callable

from esproxy.catalogue.change import change_directory, followed
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import Directory
from esproxy.catalogue.store import Steps, Stored

Edit = Callable[[Directory], None]


def two_phase(cat: Catalogue, tenant: str, intend: Edit, effect: Edit) -> Steps[Stored[Directory] | None]:
    stored = yield from change_directory(cat, tenant, intend)
    if stored is None:
        return None
    yield from followed(cat, stored.seq_no)
    return (yield from change_directory(cat, tenant, effect))
