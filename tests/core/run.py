"""Running a body through the compiled core: whole, and in every way of cutting it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from esproxy.core import Bindings, BulkPass, Kind, Pass, Resolver, Status, Table

MakePass = Callable[[Resolver | None], Pass | BulkPass]


@dataclass
class Run:
    """What is to be the same in whatever cuts a body was fed."""

    output: bytes
    status: Status
    offset: int
    key: bytes
    reason: int
    marks: int
    unknown: int
    misses: int
    asked: list[tuple[Kind, bytes]] = field(default_factory=list)
    extra: Any = None


def run(make: MakePass, parts: Iterable[bytes], resolver: Resolver | None = None) -> Run:
    asked: list[tuple[Kind, bytes]] = []

    def ask(kind: Kind, token: bytes) -> bytes | None:
        asked.append((kind, token))
        return resolver(kind, token)

    one = make(ask if resolver is not None else None)
    parts = list(parts)
    output = b"".join([one.feed(part, i == len(parts) - 1) for i, part in enumerate(parts)])
    extra = (one.records, one.line, one.ops, [(n, str(e)) for n, e in one.broken]) if isinstance(one, BulkPass) else None
    if one.status is not Status.OK or one.misses:
        output = b""  # what left before is the caller's to throw away
    return Run(output, one.status, one.offset, one.key, one.reason, one.marks, one.unknown, one.misses, asked, extra)


def passes(table: Table, state: int, bindings: Bindings, **options: Any) -> MakePass:
    return lambda resolver: Pass(table, state, bindings, resolver, **options)


def cuts(body: bytes) -> Iterator[list[bytes]]:
    """Every two-way cut, and byte by byte, with and without an empty last part."""
    for i in range(len(body) + 1):
        yield [body[:i], body[i:]]
    single = [body[i : i + 1] for i in range(len(body))]
    yield [*single, b""]
    if single:
        yield single


def check_cuts(make: MakePass, body: bytes, resolver: Resolver | None = None) -> Run:
    """Run the body whole; raises AssertionError when any way of cutting it ends otherwise."""
    whole = run(make, [body], resolver)
    for parts in cuts(body):
        assert run(make, parts, resolver) == whole, f"cut into {parts if len(parts) < 9 else 'single bytes'}"
    return whole


def echo(kind: Kind, token: bytes) -> bytes:
    return token


def bracket(kind: Kind, token: bytes) -> bytes:
    """An answer of another length that tells what was asked."""
    return b'["zqs",' + token + b"]"


def quoted(kind: Kind, token: bytes) -> bytes:
    """An answer that can stand for a key."""
    return b'"zqs.%d.%s"' % (kind, token.hex().encode())


def miss(kind: Kind, token: bytes) -> None:
    return None
