"""Elasticsearch's own users in files (the file realm), for clusters that ask who calls.

Security is on when a cluster is given users; TLS stays off, as everything is on loopback. Every user is a superuser.
The format of a stored password is the one of Elasticsearch's ``PBKDF2`` hasher: ``{PBKDF2}<rounds>$<salt>$<hash>`` with
HMAC-SHA-512, 32 bytes each, base64.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

SETTINGS = {
    "xpack.security.enabled": "true",
    "xpack.security.http.ssl.enabled": "false",
    "xpack.security.transport.ssl.enabled": "false",
}
# Elasticsearch answers for these itself and never looks into the file.
RESERVED = frozenset(
    ("elastic", "kibana", "kibana_system", "logstash_system", "beats_system", "apm_system", "remote_monitoring_user")
)
_ROUNDS = 10_000


def write_users(config: Path, users: Mapping[str, str]) -> None:
    """Write the file realm's two files into a node's config folder."""
    (config / "users").write_text("".join(f"{name}:{_hash(word)}\n" for name, word in users.items()), encoding="utf-8")
    (config / "users_roles").write_text(f"superuser:{','.join(users)}\n", encoding="utf-8")


def _hash(password: str) -> str:
    salt = os.urandom(32)
    derived = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, _ROUNDS, 32)
    return f"{{PBKDF2}}{_ROUNDS}${base64.b64encode(salt).decode()}${base64.b64encode(derived).decode()}"
