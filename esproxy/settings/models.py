"""The settings as frozen models: one class per section, one field per setting, its description beside it.

This is the only list of settings there is: the loader, ``esproxy check``, the flags and docs/settings.md read it.
A setting is one field with a type that checks it alone; what needs two settings is a check in ``checks.py``.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from esproxy.settings.types import (
    HeaderName,
    IndexPattern,
    Names,
    Networks,
    Nodes,
    Secret,
    Secrets,
    Separator,
    Size,
    read_list,
    read_table,
    shown,
)

LAYOUTS_AVAILABLE = ("dedicated", "per-tenant", "shared")  # the one list: a layout is offered once it is here
DEFAULT_HEADER = "x-tenant"


def check_layout(layout: str) -> str:
    if layout not in LAYOUTS_AVAILABLE:
        raise ValueError(f"must be one of {', '.join(map(shown, LAYOUTS_AVAILABLE))}, is {shown(layout)}")
    return layout


Layout = Annotated[str, AfterValidator(check_layout)]


class Section(BaseModel):
    """Frozen, and an unknown key is an error. Defaults are checked like anything else."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, hide_input_in_errors=True)


class Listen(Section):
    """Where clients and operators reach the proxy, and the processes behind it."""

    host: str = Field("127.0.0.1", min_length=1, description="Address for clients. Not loopback: see identity.trusted_peers.")
    port: int = Field(8080, ge=0, le=65535, description="Port for clients. 0: any free one, named in the log.")
    admin_host: str = Field("127.0.0.1", min_length=1, description="Address of the admin port.")
    admin_port: int = Field(8081, ge=0, le=65535, description="Port of /-/healthy, /-/ready and /metrics. 0: off.")
    workers: int = Field(1, ge=1, le=256, description="Worker processes.")
    keep_alive: float = Field(75.0, gt=0, description="Seconds after which an idle client connection is closed.")
    client_timeout: float = Field(
        120.0, gt=0, description="Seconds in which a client must send of its body, or take of its answer, when it is its turn."
    )
    shell: Literal["protocol", "asgi"] = Field(
        "protocol",
        description="`protocol`: requests are served straight from the parser; `asgi`: by the ASGI application, as elsewhere.",
    )
    drain_delay: float = Field(
        0.0, ge=0, description="Seconds between failing /-/ready and the end of accepting, so that load balancers notice."
    )
    drain_timeout: float = Field(30.0, gt=0, description="Seconds that requests in flight have to end when a worker stops.")


class Cluster(Section):
    """One Elasticsearch or OpenSearch cluster, and how the proxy signs in to it."""

    nodes: Nodes = Field(min_length=1, description="URLs of its nodes, one or more: `http://host:port`.")
    username: str | None = Field(None, description="User name for Basic authentication.")
    password: Secret | None = Field(None, description="Password of that user.")
    password_file: str | None = Field(None, description="A file that holds the password.")
    api_key: Secret | None = Field(None, description="API key, encoded as the cluster gave it. Instead of a user name.")
    api_key_file: str | None = Field(None, description="A file that holds the API key.")
    ca_file: str | None = Field(None, description="Certificates (PEM) to verify https nodes with. Unset: the system's.")
    client_cert: str | None = Field(None, description="Certificate (PEM) that the proxy shows to https nodes.")
    client_key: str | None = Field(None, description="Key of that certificate, when it is in a file of its own.")
    verify: bool = Field(True, description="Verify the certificates of https nodes. Off only for experiments.")


class Rule(Section):
    """A placement rule: the first whose patterns match decides when a logical index is created."""

    tenants: Names = Field(["*"], min_length=1, description="Patterns of tenant ids.")
    indices: Names = Field(["*"], min_length=1, description="Patterns of logical index names.")
    layout: Layout = Field(description="Layout of the indices that match.")


class Placement(Section):
    """Where a tenant's logical index is placed."""

    layout: Layout = Field(
        "dedicated", description=f"Layout unless a rule says otherwise. One of: {', '.join(LAYOUTS_AVAILABLE)}."
    )
    cluster: str = Field("main", min_length=1, description="The cluster that tenants live in.")
    separator: Separator = Field(
        ".", description="Stands between tenant and logical name in physical names: a character that no tenant id holds."
    )
    rules: Annotated[list[Rule], BeforeValidator(read_list)] = Field([], description="Placement rules, in order.")


class Identity(Section):
    """How a request names its tenant: by a header, or in its index names."""

    header: HeaderName | None = Field(
        None, description=f"Header that names the tenant. `{DEFAULT_HEADER}` when index_pattern is not set."
    )
    index_pattern: IndexPattern | None = Field(
        None,
        description="Pattern over index names with a group `tenant`, and `prefix` and `postfix` if wanted. Instead of header.",
    )
    trusted_peers: Networks = Field(
        [],
        description="Addresses and networks whose tenant header is believed, besides loopback. Needed when listen.host is not.",
    )

    @model_validator(mode="before")
    @classmethod
    def name_the_header(cls, data: Any) -> Any:
        """Whoever names neither way has the header."""
        if isinstance(data, dict) and data.get("header") is None and data.get("index_pattern") is None:
            return {**data, "header": DEFAULT_HEADER}
        return data


class Tenants(Section):
    """Who is let in."""

    mode: Literal["registered", "open"] = Field("registered", description="`registered`: only ids; `open`: any legal id.")
    ids: Names = Field([], description="The tenants there are: 1 to 64 characters of `a-z 0-9 _ -`, the first a letter or digit.")


class Upstream(Section):
    """The way to the clusters."""

    transport: Literal["engine", "httpx"] = Field(
        "engine",
        description="`engine`: the proxy's own connections; `httpx`: a stock httpx client (slower; HTTP/2, forward proxies).",
    )
    connect_timeout: float = Field(5.0, gt=0, description="Seconds to reach a node.")
    answer_timeout: float = Field(120.0, gt=0, description="Seconds without a byte of the answer after which it is a 504.")
    total_timeout: float = Field(3600.0, gt=0, description="Seconds after which a call is ended, whatever still moves.")
    max_connections: int = Field(256, ge=1, description="Connections per node and worker; requests above it wait for one.")
    keep_alive: float = Field(60.0, gt=0, description="Seconds after which an idle connection to a node is closed.")
    selector: Literal["round_robin", "least_loaded"] = Field("round_robin", description="Which live node takes the next call.")
    http2: bool = Field(False, description="Speak HTTP/2 to https nodes. Needs transport `httpx` and the package h2.")
    proxy: str | None = Field(None, min_length=1, description="URL of a forward proxy on the way. Needs transport `httpx`.")


class Limits(Section):
    """Bounds of what one request may take. Sizes are bytes, or text such as `"16mb"`."""

    window: Size = Field(
        16 << 20, ge=1 << 10, description="What is understood whole before any of it is sent; beyond it, it streams."
    )
    max_held: Size = Field(
        256 << 20,
        ge=1 << 20,
        description="What a worker holds in memory of bodies and answers that are not small, half for each; others wait. "
        "An answer that has to be read as a tree and would take more: 429.",
    )
    max_body: Size = Field(100 << 20, ge=1 << 10, description="Largest request body that is not a bulk. Above it: 413.")
    max_spool: Size = Field(
        16 << 30,
        ge=1 << 20,
        description="What a worker may keep on disk, in files, of bodies and answers too large for memory. Above it: 507.",
    )
    spool_folder: str | None = Field(
        None, min_length=1, description="Where those files are. Unset: with the system's temporary ones; should be on a disk."
    )
    max_depth: int = Field(100, ge=10, le=1000, description="Deepest nesting of a JSON body.")
    max_inflate: int = Field(
        500, ge=10, le=1100, description="Times that a compressed body above 1 MiB may grow. Above it: 413. gzip ends at 1032."
    )
    min_compress: Size = Field(1400, ge=0, description="Smallest answer that is compressed for clients that accept gzip.")


class Log(Section):
    """What is written to standard error."""

    level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least level that is written.")
    format: Literal["json", "text"] = Field("json", description="`json`: an object per line; `text`: for people.")


class Keys(Section):
    """Keys that are the same for all proxies in front of a cluster."""

    keys: Secrets = Field(
        [], description="Seal cursors: the first seals, all open. At least 32 characters each. Unset: made anew at each start."
    )


class Settings(Section):
    """All settings. ``load.load`` makes them from file, environment and flags."""

    listen: Annotated[Listen, BeforeValidator(read_table)] = Listen()
    clusters: Annotated[dict[str, Annotated[Cluster, BeforeValidator(read_table)]], BeforeValidator(read_table)] = {}
    placement: Annotated[Placement, BeforeValidator(read_table)] = Placement()
    identity: Annotated[Identity, BeforeValidator(read_table)] = Identity()
    tenants: Annotated[Tenants, BeforeValidator(read_table)] = Tenants()
    upstream: Annotated[Upstream, BeforeValidator(read_table)] = Upstream()
    limits: Annotated[Limits, BeforeValidator(read_table)] = Limits()
    log: Annotated[Log, BeforeValidator(read_table)] = Log()
    secrets: Annotated[Keys, BeforeValidator(read_table)] = Keys()
