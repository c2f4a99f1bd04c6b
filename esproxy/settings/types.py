"""Types of single settings: sizes, lists, node URLs, networks, secrets, patterns.

Each accepts what TOML gives and what an environment variable gives (text), and says in one sentence what it wants.
A validator raises ``ValueError`` with a text that reads on after the key: ``listen.port: must be …``.
"""

from __future__ import annotations

import json
import re
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, PlainSerializer, SecretStr, SerializationInfo

UNITS = {"": 1, "b": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
SIZE = re.compile(r"(\d+)\s*([a-z]*)", re.ASCII)
HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# Legal in index names and in no tenant id, and without a meaning in URLs, index expressions, date math or Lucene.
SEPARATORS = ".~@"
MASK = "********"
REVEAL = {"reveal": True}


def shown(value: Any) -> str:
    """A value as it stands in messages: as JSON, cut when long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else text[:77] + "..."


def read_size(value: Any) -> Any:
    """Bytes as a number, or with a unit of 1024 as Elasticsearch has them: ``"16mb"`` is 16 MiB."""
    if not isinstance(value, str):
        return value
    found = SIZE.fullmatch(value.strip().lower())
    if found is None or found[2] not in UNITS:
        raise ValueError(f'must be a size such as 1048576, "512kb" or "16mb", is {shown(value)}')
    return int(found[1]) * UNITS[found[2]]


def read_list(value: Any) -> Any:
    """A list; as text (environment, flags) JSON, or items between commas."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        try:
            return json.loads(value)
        except ValueError as error:
            raise ValueError(f"must be a list: this is no JSON ({error})") from error
    return [item.strip() for item in value.split(",") if item.strip()]


def read_table(value: Any) -> Any:
    """A table; as text (environment) JSON."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError as error:
        raise ValueError(f"must be a table: this is no JSON ({error})") from error


def check_node(url: str) -> str:
    """``http://host:port`` and nothing more."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"must be a URL such as http://127.0.0.1:9200, is {shown(url)} ({error})") from error
    if parts.username is not None or parts.password is not None:
        raise ValueError("must not hold a user name or password: use the settings username and password of the cluster")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"must be a URL such as http://127.0.0.1:9200, is {shown(url)}")
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        raise ValueError(f"must end after the port, is {shown(url)}")
    if port is None or port == 0:
        raise ValueError(f"must name the port, as in {parts.scheme}://{parts.hostname}:9200, is {shown(url)}")
    return url.rstrip("/")


def check_header(name: str) -> str:
    if not HEADER_NAME.fullmatch(name):
        raise ValueError(f"must be the name of a header, is {shown(name)}")
    return name.lower()


def check_separator(text: str) -> str:
    if len(text) == 1 and text in SEPARATORS:
        return text
    choice = " ".join(shown(one) for one in SEPARATORS)
    why = ": a tenant id can hold it" if re.fullmatch(r"[a-z0-9_-]", text) else ""
    raise ValueError(f"must be one of {choice}, is {shown(text)}{why}")


def check_index_pattern(text: str) -> str:
    """A pattern over index names that captures the tenant."""
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise ValueError(f"must be a regular expression, is {shown(text)} ({error})") from error
    if "tenant" not in pattern.groupindex:
        raise ValueError(f"must have a group (?P<tenant>…), is {shown(text)}")
    strange = sorted(set(pattern.groupindex) - {"tenant", "prefix", "postfix"})
    if strange:
        raise ValueError(f"may have the groups tenant, prefix and postfix, has {shown(strange)}")
    return text


def check_network(value: Any) -> Any:
    if isinstance(value, (IPv4Network, IPv6Network)):
        return value
    try:
        return ip_network(value)
    except ValueError as error:
        why = ", which has bits of a host set" if "host bits" in str(error) else ""
        raise ValueError(f"must be an address or network such as 10.0.0.0/8, is {shown(value)}{why}") from error


def write_secret(value: SecretStr, info: SerializationInfo) -> str:
    """Masked wherever settings are written out, except to a worker, who is handed them over a pipe."""
    return value.get_secret_value() if info.context == REVEAL else MASK


Size = Annotated[int, BeforeValidator(read_size)]
Node = Annotated[str, AfterValidator(check_node)]
Names = Annotated[list[str], BeforeValidator(read_list)]
Nodes = Annotated[list[Node], BeforeValidator(read_list)]
Network = Annotated[IPv4Network | IPv6Network, BeforeValidator(check_network), PlainSerializer(str)]
Networks = Annotated[list[Network], BeforeValidator(read_list)]
HeaderName = Annotated[str, AfterValidator(check_header)]
Separator = Annotated[str, AfterValidator(check_separator)]
IndexPattern = Annotated[str, AfterValidator(check_index_pattern)]
Secret = Annotated[SecretStr, PlainSerializer(write_secret)]
Secrets = Annotated[list[Secret], BeforeValidator(read_list)]
