"""The node of a cluster of one's own: one, whatever there is behind it, and none that can be told from another tenant's.

What an answer says of machines is the operator's: with a node's address a client could go past the proxy, and by its id two
tenants could find out that they share it. So wherever an answer tells of a node it tells of the tenant's one: its id, which is
its name too, is hashed from the cluster's uuid and the tenant, the same as long as the cluster lives; all addresses read
alike. What such a node says when it is asked for by itself (``_nodes``) is made here as well. Its HTTP address is the one by
which the client reaches the proxy, so that a client which looks for further nodes finds the way it came.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from esproxy.cluster import Cluster

ADDRESS = "127.0.0.1"
TRANSPORT = f"{ADDRESS}:9300"
NOBODY = frozenset(("", "-", "n/a", "_na_"))  # what tables say where there is no node
WITH_PORT = re.compile(r"(\[.*\]|[^:]*):\d+")
HOST = re.compile(r"([A-Za-z0-9_.-]+|\[[0-9a-fA-F:.]+\]):\d{1,5}")  # of a client's header
LEASE = "peer_recovery/"  # in front of a node's id, in the name of a lease
# A node in a text: of a shard that is profiled or, in a stack trace, has failed, and of an error that came from another node.
NODE_IN_TEXT = re.compile(r"(?:^|(?<=[{ ]))\[([\w-]{22})\](?=\[[^\]]+\]\[\d+\](?:$|: ))")
REMOTE_IN_TEXT = re.compile(r"\[[^\[\]]+\]\[(\[[^\]]+\]|[^\[\]]+):\d+\](?=\[(indices|cluster|internal):)")
ROLES = {
    True: (
        "data", "data_cold", "data_content", "data_frozen", "data_hot", "data_warm", "ingest", "master", "remote_cluster_client",
    ),
    False: ("cluster_manager", "data", "ingest", "remote_cluster_client"),
}  # fmt: skip
LETTERS = {True: "cdfhimrsw", False: "dimr"}  # of the roles, in a table
ANY = frozenset(("_all", "_local", "_master", "_cluster_manager", "_elected"))


def node_id(cluster: Cluster, tenant: str) -> str:
    """Of the tenant's node: 22 characters, as ids have."""
    key = str(cluster.info.get("cluster_uuid", "")).encode()[:64]
    digest = hashlib.blake2b(f"{tenant}/node".encode(), key=key, digest_size=16).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def masked_node(cluster: Cluster, tenant: str, node: str) -> str:
    """A node's id or name as the tenant sees it."""
    if node in NOBODY:
        return node
    if node.startswith(LEASE):
        return LEASE + masked_node(cluster, tenant, node.removeprefix(LEASE))
    return node_id(cluster, tenant)


def masked_address(address: str) -> str:
    """An address, with a port where there was one."""
    if address in NOBODY:
        return address
    return TRANSPORT if WITH_PORT.fullmatch(address) else ADDRESS


def masked_text(cluster: Cluster, tenant: str, text: str) -> str:
    """A node's words without nodes."""
    if "][" not in text:
        return text
    own = node_id(cluster, tenant)
    return REMOTE_IN_TEXT.sub(f"[{own}][{TRANSPORT}]", NODE_IN_TEXT.sub(f"[{own}]", text))


@dataclass(frozen=True, slots=True)
class VirtualNode:
    """The one that a tenant sees. ``http``: the address that its client wrote."""

    id: str
    http: str
    product: bool
    cluster_name: str
    version: dict[str, Any]

    @staticmethod
    def of(cluster: Cluster, tenant: str, host: bytes | None) -> VirtualNode:
        told = (host or b"").decode("latin-1")
        http = told if HOST.fullmatch(told) else f"{ADDRESS}:9200"
        info = cluster.info
        name, version = str(info.get("cluster_name", "")), info.get("version")
        return VirtualNode(node_id(cluster, tenant), http, cluster.product, name, version if isinstance(version, dict) else {})

    @property
    def roles(self) -> tuple[str, ...]:
        return ROLES[self.product]

    def header(self) -> dict[str, Any]:
        """What every answer about a node begins with."""
        return {"name": self.id, "transport_address": TRANSPORT, "host": ADDRESS, "ip": ADDRESS}

    def selected(self, wanted: str | None) -> bool:
        """Whether a list of nodes in a path means this one, as nodes read it: term after term."""
        if not wanted:
            return True
        found = False
        for term in wanted.split(","):
            role, colon, value = term.partition(":")
            if term in ANY:
                found = True
            elif not colon:
                found = found or any(fnmatchcase(name, term) for name in (self.id, ADDRESS))
            elif self._has(role) and value in ("true", "false"):
                found = value == "true"
        return found

    def _has(self, role: str) -> bool:
        return role in self.roles or role in ("master", "cluster_manager")

    def counted(self, wanted: str | None, told: dict[str, Any]) -> dict[str, Any]:
        """The answer about some nodes. ``told``: what this one says of itself."""
        here = self.selected(wanted)
        count = {"total": int(here), "successful": int(here), "failed": 0}
        return {"_nodes": count, "cluster_name": self.cluster_name, "nodes": {self.id: told} if here else {}}
