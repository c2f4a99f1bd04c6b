"""What a cluster is to the engine: addresses, credentials, TLS, times and bounds, as plain values.

Everything is checked here, when the engine is built, so that a wrong URL or certificate is a start-up error that names
the setting and not a 503 an hour later. Credentials belong to the cluster, never to a URL: a URL is shown in logs and on
admin pages. Times are seconds.
"""

from __future__ import annotations

import base64
import ssl
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from esproxy.heads import Headers

PORTS = {"http": 80, "https": 443}


@dataclass(slots=True, frozen=True)
class Address:
    """One node's URL, taken apart. ``netloc`` is the Host header; ``prefix`` a path that stands before every target."""

    url: str
    scheme: str
    host: str
    port: int
    netloc: str
    prefix: str

    @classmethod
    def parse(cls, url: str) -> Address:
        parts = urlsplit(url)
        if parts.scheme not in PORTS or not parts.hostname:
            raise ValueError(f"node [{url}]: expected http://host:port or https://host:port")
        if parts.username is not None or parts.password is not None:
            raise ValueError(f"node [{parts.scheme}://…@{parts.hostname}]: credentials go into username, password or api_key")
        if parts.query or parts.fragment:
            raise ValueError(f"node [{url}]: a query or fragment has no meaning here")
        port = parts.port if parts.port is not None else PORTS[parts.scheme]
        return cls(url, parts.scheme, parts.hostname, port, parts.netloc, parts.path.rstrip("/"))


@dataclass(slots=True)
class ClusterSpec:
    """``answer_timeout`` bounds the wait for a free connection, for the first byte of an answer and between its bytes,
    while it is the node's turn; ``total_timeout`` bounds the call. ``max_connections`` is per node."""

    nodes: list[str]
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    api_key: str | None = field(default=None, repr=False)  # the encoded form, as the cluster hands it out
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    ca: str | None = None  # PEM file; None: the system's
    client_cert: str | None = None
    client_key: str | None = None
    insecure_skip_verify: bool = False
    selector: str = "round_robin"
    connect_timeout: float = 5.0
    answer_timeout: float = 60.0
    total_timeout: float = 3600.0
    idle_timeout: float = 60.0
    max_connections: int = 100
    dead_node_backoff_factor: float = 1.0
    max_dead_node_backoff: float = 30.0
    http2: bool = False  # these two: only where the transport is httpx
    proxy: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not self.nodes:
            raise ValueError("nodes: at least one URL")
        if len(set(self.nodes)) != len(self.nodes):
            raise ValueError("nodes: the same URL twice")
        for url in self.nodes:
            Address.parse(url)
        if self.api_key is not None and self.username is not None:
            raise ValueError("api_key and username: one of them")
        if (self.username is None) != (self.password is None):
            raise ValueError("username and password: both or neither")
        if self.client_key is not None and self.client_cert is None:
            raise ValueError("client_key needs client_cert")
        for name in ("connect_timeout", "answer_timeout", "total_timeout", "idle_timeout", "max_connections"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}: must be above 0")

    def addresses(self) -> list[Address]:
        return [Address.parse(url) for url in self.nodes]

    def own_headers(self) -> Headers:
        """What every request to the cluster carries, credentials first."""
        own: Headers = []
        if self.api_key is not None:
            own.append((b"authorization", b"ApiKey " + self.api_key.encode()))
        elif self.username is not None:
            pair = f"{self.username}:{self.password}".encode()
            own.append((b"authorization", b"Basic " + base64.b64encode(pair)))
        own += [(name.lower().encode(), value.encode()) for name, value in self.headers.items()]
        return own

    def ssl_context(self) -> ssl.SSLContext | None:
        """None when no node is reached by TLS."""
        if not any(address.scheme == "https" for address in self.addresses()):
            return None
        context = ssl.create_default_context(cafile=self.ca)
        if self.insecure_skip_verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.client_cert is not None:
            context.load_cert_chain(self.client_cert, self.client_key)
        return context
