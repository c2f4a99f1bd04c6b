"""One tenant as the data plane sees it: its names and the compiled bindings of its layout."""

from __future__ import annotations

from functools import cached_property

from esproxy import core
from esproxy.tenancy.layouts import dedicated_answer, dedicated_request, name_collector, pattern_request
from esproxy.tenancy.names import PrefixNames


class Tenant:
    """Made once per tenant and kept; a few hundred bytes until used."""

    def __init__(self, tenant: str, separator: str, *, looked_at: bool) -> None:
        """``looked_at``: the tenant is told by index names, so every name is shown to the resolver."""
        self.id = tenant
        self.names = PrefixNames(tenant + separator)
        self.looked_at = looked_at

    @cached_property
    def mark(self) -> bytes:
        """What the id of every request of the tenant's begins with, and so the header of every task."""
        return f"{self.id}/".encode()

    @cached_property
    def prefix(self) -> bytes:
        return self.names.prefix.encode()

    @cached_property
    def request(self) -> core.Bindings:
        return PATTERN_REQUEST if self.looked_at else core.Bindings(dedicated_request(self.prefix))

    @cached_property
    def answer(self) -> core.Bindings:
        return core.Bindings(dedicated_answer(self.prefix, keep_tags=False))

    @cached_property
    def tagged_answer(self) -> core.Bindings:
        """For clients that asked for typed keys themselves."""
        return core.Bindings(dedicated_answer(self.prefix, keep_tags=True))


PATTERN_REQUEST = core.Bindings(pattern_request())
COLLECT = core.Bindings(name_collector())


class Tenants:
    """All tenants that have been seen, by id."""

    def __init__(self, separator: str, *, looked_at: bool) -> None:
        self.separator = separator
        self.looked_at = looked_at
        self._known: dict[str, Tenant] = {}

    def get(self, tenant: str) -> Tenant:
        """The tenant of an admitted id."""
        found = self._known.get(tenant)
        if found is None:
            found = self._known[tenant] = Tenant(tenant, self.separator, looked_at=self.looked_at)
        return found
