"""Cursors (scroll ids, point in time ids) as sealed tokens.

What a node hands out says which shards of which indices it reads, and works for whoever has it. A client gets a token instead:
the node's id under authenticated encryption, bound to tenant, kind and cluster. A token of another tenant or kind, a raw id of
a node or a changed byte does not open; nothing of it reaches a node (a made-up scroll id can take an Elasticsearch node down: it
reads a length out of it and allocates that). The same token sent twice is legitimate. Expiry is the cluster's.

The same id always gives the same token, as a client that compares them expects: the nonce is a keyed hash of what is sealed, so
no two different texts meet under one nonce.

Format: URL-safe base64 of nonce (12 bytes) and AES-256-GCM of the id; the bound data is authenticated, not carried. The first key
seals, every key opens, so keys can be rotated; all processes in front of a cluster must have the same.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

NONCE = 12
POOLED = "pooled "  # in front of a kind: no cursor of a pool opens as one by prefix, or the other way round


class Sealer:
    """Seals and opens cursors with the configured keys (text of any length, the first one seals)."""

    def __init__(self, keys: list[str]) -> None:
        if not keys:
            raise ValueError("at least one key is needed to seal cursors")
        self._nonce_key = hashlib.blake2b(keys[0].encode(), digest_size=32, person=b"esproxy nonce").digest()
        self._keys = [AESGCM(hashlib.blake2b(key.encode(), digest_size=32, person=b"esproxy cursor").digest()) for key in keys]

    def seal(self, cursor: str, *, tenant: str, kind: str, cluster: str) -> str:
        """The token for a node's cursor."""
        bound = _bound(tenant, kind, cluster)
        nonce = hashlib.blake2b(bound + b"\n" + cursor.encode(), key=self._nonce_key, digest_size=NONCE).digest()
        sealed = self._keys[0].encrypt(nonce, cursor.encode(), bound)
        return base64.urlsafe_b64encode(nonce + sealed).decode()

    def open(self, token: str, *, tenant: str, kind: str, cluster: str) -> str | None:
        """The node's cursor, or None when the token is not one of this tenant, kind and cluster."""
        try:
            raw = base64.b64decode(token.encode("ascii"), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            return None
        if base64.urlsafe_b64encode(raw).decode() != token:
            return None  # another spelling of the same bytes is a changed token
        bound = _bound(tenant, kind, cluster)
        for key in self._keys:
            try:
                return key.decrypt(raw[:NONCE], raw[NONCE:], bound).decode()
            except (InvalidTag, ValueError):
                continue
        return None


def _bound(tenant: str, kind: str, cluster: str) -> bytes:
    return f"{tenant}\n{kind}\n{cluster}".encode()


@dataclass(frozen=True, slots=True)
class PoolCursor:
    """A cursor over indices in pools: the node's, and the numbers of the logical indices it was opened over. A node knows only
    their pools, and its snapshot keeps what was deleted since; the numbers tell whose hits are restored, and whether all of
    them are still there."""

    cursor: str
    numbers: tuple[int, ...]
    bare: bool = False  # hits go to the client without their ids, as it asked (``stored_fields: _none_``)
    sorts: tuple[str | None, ...] = ()  # how values that hits are sorted by are read (``esproxy.rewriting.decoded``)

    def seal(self, sealer: Sealer, *, tenant: str, kind: str, cluster: str) -> str:
        text = json.dumps([self.cursor, self.numbers, self.bare, *([self.sorts] if self.sorts else [])], separators=(",", ":"))
        return sealer.seal(text, tenant=tenant, kind=POOLED + kind, cluster=cluster)

    @classmethod
    def open(cls, sealer: Sealer, token: str, *, tenant: str, kind: str, cluster: str) -> PoolCursor | None:
        text = sealer.open(token, tenant=tenant, kind=POOLED + kind, cluster=cluster)
        if text is None:
            return None
        cursor, numbers, bare, *sorts = json.loads(text)
        return cls(cursor, tuple(numbers), bare, tuple(*sorts))
