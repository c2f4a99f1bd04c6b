"""The compiled core's face in Python, and the only importer of the compiled modules.

Bytes and a table in, bytes and a status out. A pass never raises for what a body holds: its ``status``, ``offset`` and ``key``
say what is wrong, and ``error`` is the same as a `BodyError`, not raised. `rewrite` raises it. What a *resolver* raises
leaves the ``feed`` that called it. See docs/design/core.md for the rules.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

from esproxy import _pass
from esproxy._bulk import BulkPass
from esproxy._documents import Documents
from esproxy._hits import Hits
from esproxy._pass import WIDE, Alone, Pass, rewrite
from esproxy._table import Bindings, Table
from esproxy._texts import Texts
from esproxy.api.kinds import Kind, Mark, Op

__all__ = [
    "SLICE",
    "WIDE",
    "Action",
    "Alone",
    "Bindings",
    "BodyError",
    "BulkPass",
    "Documents",
    "Hits",
    "Kind",
    "Mark",
    "Op",
    "Pass",
    "Resolver",
    "Status",
    "Table",
    "Texts",
    "rewrite",
]

Resolver = Callable[[Kind, bytes], "bytes | None"]
SLICE = 1 << 20  # a larger body is fed in parts: a pass keeps its edits until their part has been put out


class Action(NamedTuple):
    """What a binding does at a kind. PREFIX: a is put in front · STRIP: a is taken away · WRAP: a before, b behind ·
    REFUSE: a is the reason · WATCH: a is looked for · absent: the value of a key that a state ensures."""

    op: Op
    a: bytes = b""
    b: bytes = b""
    absent: bytes = b""


class Status(IntEnum):
    """How a pass stands. The numbers are those of ext/esproxy/_memory.pxd; the words are the beginning of a message."""

    OK = 0, "all is well"
    SYNTAX = 1, "this is not JSON"
    ENCODING = 2, "this is not UTF-8 text"
    TRUNCATED = 3, "the body ends in the middle of a value"
    EMPTY = 4, "the body is empty"
    TRAILING = 5, "something follows the end of the body"
    DEPTH = 6, "the body is nested too deeply"
    DUPLICATE = 7, "a key comes twice"
    UNKNOWN_KEY = 8, "unknown field"
    OBJECT = 9, "an object cannot stand here"
    REFUSED = 10, "this is refused"
    VIOLATION = 11, "a name is not the tenant's"
    UNRESOLVED = 12, "this could not be resolved"
    RAISED = 13, "the resolver failed"
    ACTION = 14, "a bulk action is one object with one known key"
    NO_NEWLINE = 15, "the bulk body does not end with a line feed"
    TOO_LARGE = 16, "a record is too large"
    NO_MEMORY = 17, "there is no memory"

    words: str

    def __new__(cls, value: int, words: str) -> Status:
        status = int.__new__(cls, value)
        status._value_ = value
        status.words = words
        return status


MALFORMED = frozenset(
    (Status.SYNTAX, Status.ENCODING, Status.TRUNCATED, Status.EMPTY, Status.TRAILING, Status.DUPLICATE, Status.DEPTH)
)


class BodyError(ValueError):
    """A body that is not let through: what, where (a byte offset), under which key, and the reason of a refusal."""

    def __init__(self, status: Status, offset: int, key: bytes = b"", reason: str = "") -> None:
        super().__init__(status, offset, key, reason)
        self.status = status
        self.offset = offset
        self.key = key
        self.reason = reason

    @classmethod
    def of(cls, run: Pass | BulkPass, reasons: object = None) -> BodyError:
        """The failure of a pass that has failed."""
        error = run.error
        assert error is not None, "a pass that is well has no error"
        return error

    @property
    def malformed(self) -> bool:
        """Whether no parser would take it, whatever the endpoint."""
        return self.status in MALFORMED

    @property
    def words(self) -> str:
        return str(self)

    def __str__(self) -> str:
        what = self.reason or self.status.words
        key = self.key.decode(errors="replace")
        if self.status is Status.UNKNOWN_KEY:  # as nodes put it
            return f"{what} [{key}], at byte {self.offset}"
        under = f" under the key [{key}]" if key else ""
        return f"{what}, at byte {self.offset}{under}"


_pass.use(BodyError, Status)
