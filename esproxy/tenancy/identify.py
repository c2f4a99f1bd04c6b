"""Who is asking: the tenant of a request.

Two ways, one of which is configured. **Header**: a trusted header names the tenant; it is believed only from loopback
or configured peers, must stand exactly once, and must be a legal id. **Index pattern** (es-tmnt's way): the tenant is a named
group of a pattern over index names; the name the client writes stays its logical name, and every name in
one request must belong to the same tenant.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Network, IPv6Network, ip_address

from esproxy.errors import Refusal
from esproxy.heads import Head
from esproxy.tenancy.names import legal_tenant

MAX_PEERS = 10_000


class Registry:
    """The tenants there are. Mode ``open`` admits any legal id."""

    def __init__(self, mode: str, ids: list[str]) -> None:
        self.open = mode == "open"
        self.ids = frozenset(ids)

    def admit(self, tenant: str) -> str:
        """The tenant, if it may come in. Raises Refusal, the same for unknown and illegal."""
        if legal_tenant(tenant) and (self.open or tenant in self.ids):
            return tenant
        raise Refusal("the tenant is unknown", status=403, type="security_exception")


class HeaderIdentity:
    """The tenant is named by a header."""

    def __init__(self, header: str, registry: Registry, trusted: list[IPv4Network | IPv6Network]) -> None:
        self.header = header.lower().encode("ascii")
        self.registry = registry
        self.trusted = trusted
        self._believed: dict[str, bool] = {}  # few peers talk to a proxy, and taking an address apart costs 2 µs

    def tenant(self, head: Head) -> str:
        """Raises Refusal: 401 without the header, 403 for an unknown tenant or a peer that is not believed."""
        values = head.all(self.header)
        if len(values) != 1:
            name = self.header.decode()
            if values:
                raise Refusal(f"the header [{name}] is given more than once")
            raise Refusal(f"the header [{name}] that names the tenant is missing", status=401, type="security_exception")
        if not self.believes(head.peer):
            raise Refusal("this address may not name a tenant", status=403, type="security_exception")
        return self.registry.admit(values[0].decode("latin-1"))

    def believes(self, peer: str | None) -> bool:
        """In-process callers have no address and are believed, as are Unix sockets."""
        if peer is None:
            return True
        believed = self._believed.get(peer)
        if believed is None:
            address = ip_address(peer)
            believed = address.is_loopback or any(address in network for network in self.trusted)
            if len(self._believed) < MAX_PEERS:
                self._believed[peer] = believed
        return believed


class PatternIdentity:
    """The tenant is read from index names by a pattern with a group ``tenant``."""

    def __init__(self, pattern: str, registry: Registry) -> None:
        self.pattern = re.compile(pattern)
        self.registry = registry

    def tenant_of(self, name: str) -> str:
        """The tenant that an index name or pattern names. Raises Refusal."""
        found = self.pattern.fullmatch(name)
        if found is None:
            raise Refusal(f"the index name [{name}] does not tell the tenant")
        return self.registry.admit(found["tenant"])
