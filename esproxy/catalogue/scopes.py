"""The scope in metadata: which documents of a pool are whose, and which shard they are on.

Every document in a pool has the scope of its logical index, ``acme.17``, and a colon in front of its ``_id`` and ``_routing``.
Behind it stands what the client gave, nothing where it gave no routing: ``acme.17:here``, ``acme.17:``. Neither can be changed by
a document, an update or a script, so a query for what begins with the scope finds all documents of the index and no others.

**Shards.** On a node the routing, or else the id, picks the shard. In a physical index of several shards a number is appended,
``acme.17:here:3``: the first for which the node picks the very shard that it would pick for the client's own. So a routed search
finds what it would find, a wrong routing misses what it would miss, and an id may be there twice where it may be. How a shard is
picked depends on the version that made the index (measured: the hash modulo the shards on Elasticsearch 9.4; before, and on
OpenSearch, its share of the routing shards); the number suits both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

END = ":"
FEW = 64  # up to here one clause for each scope; nodes bound clauses, and the length of a regular expression
LONGEST = 900
_C1, _C2, _MASK = 0xCC9E2D51, 0x1B873593, 0xFFFFFFFF


def query(scopes: Sequence[str]) -> dict[str, Any]:
    """What matches the documents of these scopes alone."""
    if len(scopes) == 1:
        return {"prefix": {"_routing": scopes[0] + END}}
    if not scopes:
        return {"match_none": {}}
    return {"bool": {"should": clauses(scopes), "minimum_should_match": 1}}


def clauses(scopes: Sequence[str]) -> list[dict[str, Any]]:
    if len(scopes) <= FEW:
        return [{"prefix": {"_routing": scope + END}} for scope in scopes]
    out, size = [[]], 0  # type: list[list[str]], int
    for scope in scopes:
        literal = scope.replace(".", "\\.")  # a scope's only character with a meaning
        if size + len(literal) > LONGEST:
            out.append([])
            size = 0
        out[-1].append(literal)
        size += len(literal) + 1
    return [{"regexp": {"_routing": f"({'|'.join(part)}){END}.*"}} for part in out]


class Shards(NamedTuple):
    """How a physical index picks shards, as its settings say."""

    count: int = 1
    routing: int = 1024  # of which each shard has an equal share
    partition: int = 1  # over how many shards one routing spreads

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Shards:
        def number(name: str) -> int | None:
            value = settings.get(f"index.{name}", settings.get(name))
            return None if value is None else int(value)

        count = number("number_of_shards") or 1
        splits = max(1, 10 - (count - 1).bit_length())
        return cls(count, number("number_of_routing_shards") or count << splits, number("routing_partition_size") or 1)

    def picked(self, routing: str, id: str) -> tuple[int, int]:
        """The shard, as either kind of index picks it."""
        return self._of(murmur3(routing), id)

    def _of(self, hashed: int, id: str) -> tuple[int, int]:
        if self.partition > 1:
            hashed = _signed(hashed + murmur3(id) % self.partition)
        return hashed % self.routing // (self.routing // self.count), hashed % self.count


def routing(scope: str, shards: Shards, id: str, given: str | None) -> str:
    """The ``_routing`` of a document. ``given``: what its client gave."""
    front = scope + END + (given or "")
    if shards.count == 1:
        return front
    wanted, stored = shards.picked(given or id, id), scope + END + id
    state = _blocks(_utf16(front + END))
    number = 0
    while shards._of(_finished(state, _utf16(str(number))), stored) != wanted:
        number += 1
    return f"{front}{END}{number}"


def given(stored: str, scope: str, shards: Shards) -> str | None:
    """What the client gave, None for nothing. Raises ValueError where it is another scope's."""
    if not stored.startswith(scope + END):
        raise ValueError(stored)
    own = stored[len(scope) + 1 :]
    return (own if shards.count == 1 else own.rpartition(END)[0]) or None


# --- the nodes' hash ---------------------------------------------------------------------------------


class _State(NamedTuple):
    hash: int
    size: int
    tail: bytes


def murmur3(text: str) -> int:
    """MurmurHash3, 32 bits, signed, of UTF-16 in little endian: what both engines hash routing values with."""
    return _finished(_blocks(_utf16(text)), b"")


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")


def _blocks(data: bytes) -> _State:
    return _onward(_State(0, 0, b""), data)


def _onward(state: _State, data: bytes) -> _State:
    data = state.tail + data
    hashed, whole = state.hash, len(data) & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * _C1 & _MASK
        hashed ^= (k << 15 | k >> 17) * _C2 & _MASK
        hashed = ((hashed << 13 | hashed >> 19) & _MASK) * 5 + 0xE6546B64 & _MASK
    return _State(hashed, state.size + whole, data[whole:])


def _finished(state: _State, data: bytes) -> int:
    hashed, size, tail = _onward(state, data)
    if tail:
        k = int.from_bytes(tail, "little") * _C1 & _MASK
        hashed ^= (k << 15 | k >> 17) * _C2 & _MASK
    hashed ^= size + len(tail)
    hashed = (hashed ^ hashed >> 16) * 0x85EBCA6B & _MASK
    hashed = (hashed ^ hashed >> 13) * 0xC2B2AE35 & _MASK
    return _signed(hashed ^ hashed >> 16)


def _signed(number: int) -> int:
    return (number + 0x80000000 & _MASK) - 0x80000000
