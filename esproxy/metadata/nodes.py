"""The nodes of a cluster of one's own: as many as there are, and none that can be told from another tenant's.

What an answer says of machines is the operator's: with a node's address a client could go past the proxy, and by its id two
tenants could find out that they share it. So ids and names of nodes are hashed under the cluster's uuid and the tenant, the same
for a tenant as long as the cluster lives, so that what one answer says of a node can be found in another; all addresses read
alike.
"""

from __future__ import annotations

import base64
import hashlib
import re

from esproxy.cluster import Cluster

ADDRESS = "127.0.0.1"
NOBODY = frozenset(("", "-", "n/a", "_na_"))  # what tables say where there is no node
WITH_PORT = re.compile(r"(\[.*\]|[^:]*):\d+")
LEASE = "peer_recovery/"  # in front of a node's id, in the name of a lease


def masked_node(cluster: Cluster, tenant: str, node: str) -> str:
    """A node's id or name as the tenant sees it: 22 characters, as ids have."""
    if node in NOBODY:
        return node
    if node.startswith(LEASE):
        return LEASE + masked_node(cluster, tenant, node.removeprefix(LEASE))
    key = str(cluster.info.get("cluster_uuid", "")).encode()[:64]
    digest = hashlib.blake2b(f"{tenant}/{node}".encode(), key=key, digest_size=16).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def masked_address(address: str) -> str:
    """An address, with a port where there was one."""
    if address in NOBODY:
        return address
    return ADDRESS + ":9300" if WITH_PORT.fullmatch(address) else ADDRESS
