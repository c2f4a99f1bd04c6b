"""Points in time of one tenant, among all that a cluster has (OpenSearch, which lists them).

Nothing in a node's list says whose one is, but its id: there the node has written which shards it reads, each with the name of
its index, before anything else::

    version · number of shards · (index · uuid · number of the shard · node · cluster · context)… · filters of aliases

A point in time is a tenant's when all of its indices are, and there is one. An id that reads otherwise is nobody's.
"""

from __future__ import annotations

import base64
import binascii


class _Unread(Exception):
    """It is not as it should be."""


class _Reader:
    """Bytes as nodes write them."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def byte(self) -> int:
        if self.at >= len(self.data):
            raise _Unread
        self.at += 1
        return self.data[self.at - 1]

    def number(self) -> int:
        """Seven bits a byte, the lowest first."""
        value = 0
        for shift in range(0, 35, 7):
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return value
        raise _Unread

    def text(self) -> str:
        """As many UTF-16 units as are told first, of one to three bytes each."""
        units = []
        for _ in range(self.number()):
            byte = self.byte()
            if byte & 0x80 == 0:
                units.append(byte)
            elif byte & 0xE0 == 0xC0:
                units.append((byte & 0x1F) << 6 | self.byte() & 0x3F)
            elif byte & 0xF0 == 0xE0:
                units.append((byte & 0x0F) << 12 | (self.byte() & 0x3F) << 6 | self.byte() & 0x3F)
            else:
                raise _Unread
        return "".join(map(chr, units))

    def flag(self) -> bool:
        byte = self.byte()
        if byte > 1:
            raise _Unread
        return bool(byte)

    def skip(self, count: int) -> None:
        self.at += count
        if self.at > len(self.data):
            raise _Unread


def indices_of(pit: str) -> list[str] | None:
    """The names of the indices that a point in time is over; None where its id cannot be read."""
    try:
        reader = _Reader(base64.b64decode(pit.encode("ascii"), altchars=b"-_", validate=True))
        reader.number()  # the version of the node
        names = []
        for _ in range(reader.number()):
            names.append(reader.text())
            reader.text()  # the uuid of the index
            reader.number()  # of the shard
            reader.text()  # the node
            if reader.flag():
                return None  # of another cluster
            reader.skip(8)
            reader.text()  # the session that the context is of
    except (_Unread, binascii.Error, ValueError):
        return None
    return names


def is_own(pit: str, prefix: str) -> bool:
    names = indices_of(pit)
    return bool(names) and all(name.startswith((prefix, f".ds-{prefix}")) for name in names or ())
