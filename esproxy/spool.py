"""Bytes that are written once, in order, and read later: in memory while they are few, in an unlinked file beyond.

The file has no name as soon as it is there, so nothing is left behind by whatever ends the process, and it is closed with the
last reference to its spool. Readers have places of their own: a body can be sent again from its start.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from io import BytesIO

SLICE = 64 << 10


class Spool:
    __slots__ = ("handle", "in_memory", "memory", "size")

    def __init__(self, in_memory: int) -> None:
        """``in_memory``: bytes above which it is a file."""
        self.in_memory = in_memory
        self.memory = BytesIO()
        self.handle = -1
        self.size = 0

    def __len__(self) -> int:
        return self.size

    def write(self, data: bytes) -> None:
        if self.handle < 0 and self.size + len(data) > self.in_memory:
            self._to_file()
        self.size += len(data)
        if self.handle < 0:
            self.memory.write(data)
        else:
            _write_all(self.handle, data)

    def _to_file(self) -> None:
        self.handle, path = tempfile.mkstemp(prefix="esproxy-")
        os.unlink(path)
        with self.memory.getbuffer() as held:
            _write_all(self.handle, held)
        self.memory = BytesIO()

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
        if self.handle >= 0:
            handle, self.handle = self.handle, -1
            os.close(handle)

    def __del__(self) -> None:
        if self.handle >= 0:
            os.close(self.handle)


def _write_all(handle: int, data: bytes | memoryview) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
