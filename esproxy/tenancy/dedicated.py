"""An index of its own as a target beside indices in pools, for requests that are about both.

All documents in it are its tenant's, under the client's own ids, routing values and fields; so nothing in it is scoped, and
what keeps a search over both to the tenant is a clause for its physical name, which is the tenant's alone. A hit is known by
that name, which comes before its id: the id of a document of its own may read like a scoped one.
"""

from __future__ import annotations

from typing import Any

from esproxy.catalogue.documents import Entry, Index
from esproxy.tenancy.placement import DEDICATED
from esproxy.tenancy.target import Target

ALONE = "it is no pool"
OUTSIDE = 0  # the number of an index of its own, which has none


class DedicatedTarget(Target):
    dedicated = True

    def __init__(self, tenant: str, name: str, entry: Entry, filters: tuple[dict[str, Any], ...] = ()) -> None:
        index = Index(tenant, name, entry.n, DEDICATED, entry.family, {}, {}, reason=ALONE)
        super().__init__(tenant, name, entry, index, filters)
        self.scope = f"\x00{name}"  # a key; it is in no document and no text
        self.id_front = ""

    def routing(self, id: str, given: str | None) -> dict[str, str]:
        given = self.given(given)
        return {"routing": given} if given else {}

    def given_routing(self, stored: str) -> str | None:
        return stored
