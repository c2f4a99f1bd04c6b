"""What is known of a request or an answer before its body."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Headers = list[tuple[bytes, bytes]]  # names in lower case, as ASGI has them


class Head:
    """A request before its body. ``target`` is the raw request target, undecoded; ``peer`` the client's address.

    One head can stand for many requests, see ``esproxy/serve/known.py``; so it also keeps what follows from it alone."""

    __slots__ = ("_named", "_of", "headers", "method", "peer", "ready", "shortcut", "target", "yaml")

    def __init__(self, method: str, target: bytes, headers: Headers, peer: str | None = None) -> None:
        self.method = method
        self.target = target
        self.headers = headers
        self.peer = peer
        self._of: Headers | None = None  # the headers that ``_named`` was made of
        self._named: dict[bytes, bytes] | None = None
        self.ready: Any = None  # what was found for it, see esproxy/ready.py
        self.shortcut: Any = None  # what leads on from there, see esproxy/serve/short.py
        self.yaml: bool | None = None  # see esproxy/asyaml.py

    def __repr__(self) -> str:
        return f"Head({self.method!r}, {self.target!r}, {self.headers!r}, {self.peer!r})"

    def by_name(self) -> dict[bytes, bytes] | None:
        """The headers as a dict; None when one of them comes more than once."""
        if self._of is not self.headers:
            self._of = self.headers
            named = dict(self.headers)
            self._named = named if len(named) == len(self.headers) else None
        return self._named

    def get(self, name: bytes) -> bytes | None:
        """The value of a header; None when absent. For a header that came more than once, the first."""
        named = self.by_name()
        if named is not None:
            return named.get(name)
        return next((value for key, value in self.headers if key == name), None)

    def all(self, name: bytes) -> list[bytes]:
        return [value for key, value in self.headers if key == name]


@dataclass(slots=True)
class AnswerHead:
    """An answer before its body, from a node or for a client. ``length`` None: unknown, sent chunked."""

    status: int
    headers: Headers
    length: int | None = None
    # the same to any client, of one that is plain (esproxy/shortcut.py); made by esproxy/serve/short.py
    told: bytes | None = field(default=None, compare=False, repr=False)

    def get(self, name: bytes) -> bytes | None:
        return next((value for key, value in self.headers if key == name), None)
