"""Names that the catalogue makes: document ids, scopes, families, physical indices.

Every physical name holds ``~`` before its first ``.`` (no tenant id can hold one, so no tenant's prefix reaches it) and ends in a
generation that is never used twice, so a late write can never land in a successor.
"""

from __future__ import annotations

import hashlib
from typing import Any
from urllib.parse import quote

import orjson

# Aliases: a write to one that is gone fails (``require_alias``), where one to an index would make it anew, empty and mapped by
# whatever was written first.
CATALOGUE = "esproxy~catalogue"
MEMBERS = "esproxy~members"
MANY = "many~"  # the beginning of aliases that stand for many pools during one call
PHYSICAL = "pool~*,own~*,one~*"  # whatever a catalogue makes, of this deployment or another
LEASE = "lease"  # the document that tells every member the lease
LONGEST = 120  # characters of a logical name that go into a family's name; the digest tells longer ones apart


def behind(alias: str) -> str:
    """The index that an alias of ours stands for when we make it. One that an operator puts back may end otherwise."""
    return f"{alias}-1"


def directory_id(tenant: str) -> str:
    return f"directory:{tenant}"


def index_id(tenant: str, number: int) -> str:
    return f"index:{tenant}:{number}"


def pool_id(family: str) -> str:
    return f"pool:{family}"


def claims_id(physical: str) -> str:
    return f"claims:{physical}"


def member_id(uuid: str) -> str:
    return f"member:{uuid}"


def scope(tenant: str, number: int) -> str:
    """The discriminator: the document's ``_routing``, and the front of its ``_id``."""
    return f"{tenant}.{number}"


def object_name(number: int) -> str:
    """What a logical index's documents are nested in, in ``per-tenant``."""
    return f"n{number}"


def parse_scope(text: str) -> tuple[str, int] | None:
    tenant, dot, number = text.rpartition(".")
    return (tenant, int(number)) if dot and tenant and number.isascii() and number.isdigit() else None


def digest(*parts: Any) -> str:
    """A short hash of JSON values, independent of key order."""
    return hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


def family_shared(logical: str, mapping: Any, settings: Any) -> str:
    return f"pool~{_clip(logical)}-{digest(logical, mapping, settings)}"


def family_per_tenant(tenant: str, settings: Any, traits: list[str]) -> str:
    return f"own~{tenant}-{digest(tenant, settings, *traits)}"


def family_of_one(tenant: str, number: int) -> str:
    return f"one~{tenant}-{number}"


def is_of_one(family: str) -> bool:
    return family.startswith("one~")


def physical(family: str, generation: int) -> str:
    return f"{family}-{generation}"


def parse_physical(name: str) -> tuple[str, int] | None:
    """Family and generation of a name that looks like one of ours."""
    family, dash, generation = name.rpartition("-")
    return (family, int(generation)) if dash and family and generation.isascii() and generation.isdigit() else None


def _clip(logical: str) -> str:
    """A name of up to 255 bytes may not fit with its digest and generation; what is cut is in the digest."""
    return logical.encode()[:LONGEST].decode(errors="ignore")


def path(*parts: str) -> bytes:
    """A request path of its segments, each percent-encoded."""
    return "".join("/" + quote(part, safe="~-._*,") for part in parts).encode()
