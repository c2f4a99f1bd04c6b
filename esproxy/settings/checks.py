"""What needs more than one setting to be judged.

A check is one function over the settings that yields problems, listed in ``CHECKS`` with the settings it reads: when one
of those has problems of its own, the check waits until they are mended. ``WARNINGS`` are likewise, but stop nobody.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from ipaddress import ip_address

from esproxy.settings.models import Settings
from esproxy.settings.problems import Problem
from esproxy.settings.types import shown
from esproxy.tenancy.names import legal_tenant

Check = Callable[[Settings], Iterator[Problem]]
TENANT_PATTERN = re.compile(r"[a-z0-9_*-]+")
INDEX_PATTERN = re.compile(r"[^\s,/\\\"<>|?#:A-Z]+")
KEY_LENGTH = 32


def clusters_are_named(settings: Settings) -> Iterator[Problem]:
    if not settings.clusters:
        yield Problem("clusters", 'there is none: add [clusters.main] with nodes = ["http://127.0.0.1:9200"], or --upstream URL')
    elif settings.placement.cluster not in settings.clusters:
        names = ", ".join(sorted(settings.clusters))
        yield Problem("placement.cluster", f"there is no cluster {shown(settings.placement.cluster)}; there are: {names}")


def clusters_are_whole(settings: Settings) -> Iterator[Problem]:
    for name, cluster in settings.clusters.items():
        key = f"clusters.{name}"
        for node, times in Counter(cluster.nodes).items():
            if times > 1:
                yield Problem(f"{key}.nodes", f"{shown(node)} stands there {times} times: name each node once")
        for secret in ("password", "api_key"):
            if getattr(cluster, secret) is not None and getattr(cluster, f"{secret}_file") is not None:
                yield Problem(f"{key}.{secret}", f"set either {secret} or {secret}_file")
        password = cluster.password is not None or cluster.password_file is not None
        api_key = cluster.api_key is not None or cluster.api_key_file is not None
        if cluster.username is not None and not password:
            yield Problem(f"{key}.username", "needs password or password_file")
        if password and cluster.username is None:
            yield Problem(f"{key}.password", "needs username")
        if api_key and (password or cluster.username is not None):
            yield Problem(f"{key}.api_key", "set either an API key or a user name with its password")
        if cluster.client_key is not None and cluster.client_cert is None:
            yield Problem(f"{key}.client_key", "needs client_cert")
        if cluster.ca_file is not None and not any(node.startswith("https:") for node in cluster.nodes):
            yield Problem(f"{key}.ca_file", "has no use: no node is https")


def transport_can_do_it(settings: Settings) -> Iterator[Problem]:
    upstream = settings.upstream
    for name, wanted in (("http2", upstream.http2), ("proxy", upstream.proxy is not None)):
        if wanted and upstream.transport != "httpx":
            yield Problem(f"upstream.{name}", 'needs transport = "httpx"')
    if upstream.http2 and upstream.transport == "httpx" and find_spec("h2") is None:
        yield Problem("upstream.http2", "needs the package h2: pip install h2")


def one_way_to_identify(settings: Settings) -> Iterator[Problem]:
    if settings.identity.header is not None and settings.identity.index_pattern is not None:
        yield Problem("identity", "set either header or index_pattern: a tenant is named in one way")


def header_comes_from_trusted_peers(settings: Settings) -> Iterator[Problem]:
    if settings.identity.header is None or settings.identity.trusted_peers or is_loopback(settings.listen.host):
        return
    yield Problem(
        "listen.host",
        f"{shown(settings.listen.host)} is not loopback, and whoever reaches it could name any tenant in the header "
        f"{settings.identity.header}: set identity.trusted_peers to the addresses that may, or listen on 127.0.0.1",
    )


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def ports_differ(settings: Settings) -> Iterator[Problem]:
    listen = settings.listen
    if listen.port and listen.port == listen.admin_port:
        yield Problem("listen.admin_port", f"is the port for clients, {listen.port}: operators need one of their own (0: none)")


def tenants_are_legal(settings: Settings) -> Iterator[Problem]:
    for tenant, times in Counter(settings.tenants.ids).items():
        if not legal_tenant(tenant):
            wanted = "1 to 64 characters of a-z, 0-9, _ and -, the first a letter or digit"
            yield Problem("tenants.ids", f"{shown(tenant)} is no tenant id: {wanted}")
        if times > 1:
            yield Problem("tenants.ids", f"{shown(tenant)} stands there {times} times: name each tenant once")


def rules_have_patterns(settings: Settings) -> Iterator[Problem]:
    for number, rule in enumerate(settings.placement.rules):
        for pattern in rule.tenants:
            if not TENANT_PATTERN.fullmatch(pattern):
                yield Problem(f"placement.rules[{number}].tenants", f"{shown(pattern)} can match no tenant id")
        for pattern in rule.indices:
            if not INDEX_PATTERN.fullmatch(pattern):
                yield Problem(f"placement.rules[{number}].indices", f"{shown(pattern)} can match no index name")


def body_fits_no_less_than_window(settings: Settings) -> Iterator[Problem]:
    limits = settings.limits
    if limits.max_body < limits.window:
        yield Problem("limits.max_body", f"must be at least limits.window, {limits.window}, is {limits.max_body}")


def keys_are_long(settings: Settings) -> Iterator[Problem]:
    for number, key in enumerate(settings.secrets.keys):
        if len(key.get_secret_value()) < KEY_LENGTH:
            yield Problem(
                f"secrets.keys[{number}]", f"must have at least {KEY_LENGTH} characters: openssl rand -base64 32 makes one"
            )


def nobody_is_registered(settings: Settings) -> Iterator[Problem]:
    if settings.tenants.mode == "registered" and not settings.tenants.ids:
        yield Problem("tenants.ids", 'nobody is registered, so every request is refused: name the tenants, or set mode = "open"')


def ids_without_use(settings: Settings) -> Iterator[Problem]:
    if settings.tenants.mode == "open" and settings.tenants.ids:
        yield Problem("tenants.ids", 'has no use: mode = "open" lets in any tenant')


def certificates_not_verified(settings: Settings) -> Iterator[Problem]:
    for name, cluster in settings.clusters.items():
        if not cluster.verify and any(node.startswith("https:") for node in cluster.nodes):
            yield Problem(
                f"clusters.{name}.verify", "certificates are not verified: whoever stands between can read and change all"
            )


def cursors_end_with_the_process(settings: Settings) -> Iterator[Problem]:
    if not settings.secrets.keys:
        yield Problem(
            "secrets.keys", "unset: made anew at each start, so cursors end with a restart and do not pass between machines"
        )


CHECKS: list[tuple[Check, tuple[str, ...]]] = [
    (clusters_are_named, ("clusters", "placement.cluster")),
    (clusters_are_whole, ()),
    (transport_can_do_it, ("upstream.transport", "upstream.http2", "upstream.proxy")),
    (one_way_to_identify, ("identity.header", "identity.index_pattern")),
    (header_comes_from_trusted_peers, ("listen.host", "identity")),
    (ports_differ, ("listen.port", "listen.admin_port")),
    (tenants_are_legal, ("tenants.ids",)),
    (rules_have_patterns, ("placement.rules",)),
    (body_fits_no_less_than_window, ("limits.window", "limits.max_body")),
    (keys_are_long, ("secrets.keys",)),
]


def layouts_on_trial(settings: Settings) -> Iterator[Problem]:
    used = {settings.placement.layout, *(rule.layout for rule in settings.placement.rules)}
    for layout in sorted(used - {"dedicated"}):
        yield Problem("placement", f"the layout {layout} is experimental: not yet compared and attacked as dedicated is")


WARNINGS: list[Check] = [
    layouts_on_trial,
    nobody_is_registered,
    ids_without_use,
    certificates_not_verified,
    cursors_end_with_the_process,
]


def problems(settings: Settings, unusable: set[str]) -> list[Problem]:
    """All problems that the checks find. ``unusable``: paths of settings that have problems of their own."""
    return [
        problem for check, reads in CHECKS if not any(touches(path, unusable) for path in reads) for problem in check(settings)
    ]


def touches(path: str, unusable: set[str]) -> bool:
    """Whether a setting, or one in that section, or the section it is in, is unusable."""
    return any(f"{bad}.".startswith(f"{path}.") or f"{path}.".startswith(f"{bad}.") for bad in unusable)


def warnings(settings: Settings) -> list[Problem]:
    return [problem for check in WARNINGS for problem in check(settings)]
