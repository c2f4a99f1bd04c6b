"""Bytes that are written once, in order, and read later: in memory while they are few, in an unlinked file beyond.

The file has no name as soon as it is there, so nothing is left behind by whatever ends the process, and it is closed with the
last reference to its spool. Readers have places of their own: a body can be sent again from its start.

All files of a process share one ``Room``. What does not fit, or finds the disk full, is a 507 for the one who wanted it; an
operator is told in the log.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterator
from io import BytesIO

from esproxy.errors import Failed

SLICE = 64 << 10

log = logging.getLogger("esproxy.spool")


class NoRoom(Failed):
    """A body or an answer that would have to lie on disk cannot."""

    def __init__(self, why: str) -> None:
        super().__init__("the proxy has no room for a body or an answer of this size", status=507)
        log.error("no room for a spool: %s", why)


class Room:
    """What the spools of this process may take on disk. ``folder`` None: where temporary files are."""

    def __init__(self) -> None:
        self.limit: int | None = None
        self.folder: str | None = None
        self.used = 0

    def take(self, size: int) -> None:
        """Raises NoRoom."""
        if self.limit is not None and self.used + size > self.limit:
            raise NoRoom(f"{self.used} bytes are taken of {self.limit}, and {size} more are wanted")
        self.used += size


room = Room()


class Spool:
    __slots__ = ("handle", "in_memory", "memory", "size", "taken")

    def __init__(self, in_memory: int) -> None:
        """``in_memory``: bytes above which it is a file."""
        self.in_memory = in_memory
        self.memory = BytesIO()
        self.handle = -1
        self.size = 0
        self.taken = 0  # of the room

    def __len__(self) -> int:
        return self.size

    def write(self, data: bytes) -> None:
        """Raises NoRoom."""
        if self.handle < 0 and self.size + len(data) > self.in_memory:
            self._to_file()
        if self.handle < 0:
            self.memory.write(data)
        else:
            self._to_disk(data)
        self.size += len(data)

    def _to_file(self) -> None:
        try:
            self.handle, path = tempfile.mkstemp(prefix="esproxy-", dir=room.folder)
            os.unlink(path)
        except OSError as error:
            raise NoRoom(str(error)) from error
        with self.memory.getbuffer() as held:
            self._to_disk(held)
        self.memory = BytesIO()

    def _to_disk(self, data: bytes | memoryview) -> None:
        room.take(len(data))
        self.taken += len(data)
        try:
            _write_all(self.handle, data)
        except OSError as error:
            raise NoRoom(str(error)) from error

    @property
    def held(self) -> int:
        """Bytes in memory."""
        return self.size if self.handle < 0 else 0

    def body(self) -> bytes | Spool:
        """What can be sent: bytes, or this spool when it is a file."""
        return self.memory.getvalue() if self.handle < 0 else self

    def whole(self) -> bytes:
        """All of it in memory."""
        return self.memory.getvalue() if self.handle < 0 else b"".join(self.parts())

    def parts(self, size: int = SLICE) -> Iterator[bytes]:
        """All of it from the start, a part at a time."""
        at = 0
        while at < self.size:
            if self.handle < 0:
                part = self.memory.getbuffer()[at : at + size].tobytes()
            else:
                part = os.pread(self.handle, size, at)
                if not part:
                    raise OSError("a spool ends before its end")
            at += len(part)
            yield part

    def close(self) -> None:
        self.memory, self.size = BytesIO(), 0
        self.__del__()

    def __del__(self) -> None:
        if self.handle >= 0:
            handle, self.handle = self.handle, -1
            os.close(handle)
            room.used -= self.taken
            self.taken = 0


def _write_all(handle: int, data: bytes | memoryview) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
