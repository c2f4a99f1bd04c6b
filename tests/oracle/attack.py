"""Attacks as a table: what a hostile tenant sends, which answers are safe, and the benign twin that must go on working.

``acme`` attacks; ``zenith`` is the victim, whose physical names (``zenith.books``) an attacker can guess but whose canaries it
cannot. Rows are grouped by what they try: A names in the URL, B names in bodies, W writes, G parsers and HTTP, I state and
configuration. Each request is the bytes that go over the socket, because half of the attacks are in how they are spelled.

Safe is: no canary in any byte that comes back, nothing of the victim's changed, one of the statuses in ``safe`` (None: the
connection was closed without an answer), and errors in Elasticsearch's shape unless ``http`` says that the HTTP layer answers.
Where a tenant has pools, an endpoint that they do not have yet may say so instead, to the attack and to its twin.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

HOST = "127.0.0.1"
VICTIM = "zenith"
RAW = "zenith.books"  # the victim's physical name


@dataclass(frozen=True, slots=True)
class Attack:
    row: str
    sent: bytes
    safe: tuple[int | None, ...]
    twin: bytes
    twin_status: tuple[int, ...] = (200,)
    http: bool = False  # answered below Elasticsearch's REST layer
    before: tuple[bytes, ...] = ()  # what the attacker has sent first: each row stands for itself
    ran: tuple[bytes, ...] = ()  # what the node has run for the victim, sent to the node itself
    shows: bytes = b""  # what the answer has to say all the same, where the tenant has the endpoint
    label: str = field(default="")

    @property
    def only_reads(self) -> bool:
        """Whether it and its twin are one request each that has no body and makes nothing."""
        return (
            not self.before
            and not self.ran
            and all(
                sent.startswith((b"GET ", b"HEAD ")) and sent.find(b"\r\n\r\n") == len(sent) - 4
                for sent in (self.sent, self.twin)
            )
        )

    def __str__(self) -> str:
        return f"{self.row} {self.label}"


def request(
    method: str, target: str, body: Any = None, headers: dict[str, str] | None = None, tenant: str | None = "acme"
) -> bytes:
    """A request as bytes. ``body``: JSON value, bytes, or a list of lines for NDJSON (a tuple)."""
    given = {"host": HOST, "connection": "close"}
    if tenant is not None:
        given["x-tenant"] = tenant
    payload = b""
    if body is not None:
        media = "application/json"
        if isinstance(body, bytes):
            payload = body
        elif isinstance(body, tuple):
            payload = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in body).encode()
            media = "application/x-ndjson"
        else:
            payload = json.dumps(body).encode()
        given |= {"content-type": media, "content-length": str(len(payload))}
    given |= headers or {}
    head = f"{method} {target} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return head.encode("latin-1") + b"\r\n" + payload


GET_OWN = request("GET", "/books/_search")
SEARCH = request("POST", "/books/_search", {"query": {"match_all": {}}})
BULK = request("POST", "/_bulk", ({"index": {"_index": "books", "_id": "twin"}}, {"a": "one"}))
ATTACKS: list[Attack] = []


def row(
    name: str, sent: bytes, *safe: int | None, twin: bytes = GET_OWN, twin_status: tuple[int, ...] = (200,), http: bool = False,
    before: tuple[bytes, ...] = (), ran: tuple[bytes, ...] = (), shows: bytes = b"",
) -> None:  # fmt: skip
    line = sent.split(b"\r\n", 1)[0].decode("latin-1")
    ATTACKS.append(Attack(name, sent, safe, twin, twin_status, http, before, ran, shows, f"{line[:70]}#{len(ATTACKS)}"))


def get(name: str, target: str, *safe: int | None, method: str = "GET", **more: Any) -> None:
    row(name, request(method, target), *safe, **more)


def search(name: str, body: Any, *safe: int | None, target: str = "/books/_search", twin: bytes = SEARCH) -> None:
    row(name, request("POST", target, body), *safe, twin=twin)


def bulk(name: str, *lines: Any, safe: tuple[int | None, ...] = (200, 400), target: str = "/_bulk") -> None:
    row(name, request("POST", target, tuple(lines)), *safe, twin=BULK)
