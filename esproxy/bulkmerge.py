"""One answer of many: the answers to the parts of a streamed bulk, merged without being parsed as a whole.

A bulk's answer is a frame, a few numbers and booleans, around ``items``, which stand last on every engine. The frames are read
and added up, ``took`` as a sum; the items go to a spool as they come, which is a file beyond its first part, since the merged
answer can be as large as the bulk. A client's ``filter_path`` may have left out any of it. An answer
that does not look so is none.
"""

from __future__ import annotations

import re
from collections.abc import Generator

import orjson

from esproxy.errors import Failed
from esproxy.exchange import Release
from esproxy.heads import Headers
from esproxy.spool import Spool

IN_MEMORY = 1 << 20
FRAME = re.compile(rb'\s*\{(?:\s*"[a-z_]+"\s*:\s*(?:\d+|true|false)\s*,)*\s*"items"\s*:\s*\[')
LONGEST_FRAME = 4096
TAIL = 64  # what stands behind the items is shorter
END = re.compile(rb"\s*\]\s*\}\s*\Z")


class Merged:
    def __init__(self) -> None:
        self.frame: dict[str, int | bool] = {}
        self.spool = Spool(IN_MEMORY)
        self.any_items = False  # so a comma stands before the next
        self.listed = False  # some part had ``items`` at all
        self.start = b""  # of the answer under way, until its items begin
        self.tail: bytes | None = None  # what may be its end; None before its items
        self.bare = True  # no item of it yet

    def feed(self, data: bytes, last: bool) -> None:
        """More of one part's restored answer. Raises Failed."""
        if self.tail is None:
            data = self._begin(data, last)
            if self.tail is None:
                return
        data = self.tail + data
        if not last:
            self._items(data[:-TAIL])
            self.tail = data[-TAIL:]
            return
        end = END.search(data)
        if end is None:
            raise odd()
        self._items(data[: end.start()])
        self.tail, self.bare = None, True

    def _begin(self, data: bytes, last: bool) -> bytes:
        """Look for the beginning of the items; what follows it."""
        self.start += data
        found = FRAME.match(self.start)
        if found is not None:
            start, self.start = self.start, b""
            self._add(found[0] + b"]}")
            self.tail, self.listed = b"", True
            return start[found.end() :]
        if last:
            start, self.start = self.start, b""
            self._add(start)
        elif len(self.start) > LONGEST_FRAME:
            raise odd()
        return b""

    def _add(self, frame: bytes) -> None:
        try:
            tree = orjson.loads(frame)
        except orjson.JSONDecodeError:
            raise odd() from None
        if not isinstance(tree, dict) or tree.pop("items", []):
            raise odd()
        for key, value in tree.items():
            if isinstance(value, bool):
                self.frame[key] = self.frame.get(key, False) or value
            elif isinstance(value, int):
                self.frame[key] = self.frame.get(key, 0) + value
            else:
                raise odd()

    def _items(self, data: bytes) -> None:
        if self.bare:
            data = data.lstrip()
            if not data:
                return
            self.bare = False
            if self.any_items:
                self.spool.write(b",")
            self.any_items = True
        self.spool.write(data)

    def release(self, status: int, headers: Headers) -> Release:
        """The whole answer."""
        before, after = orjson.dumps(self.frame), b"}"
        if self.listed:
            before = before[:-1] + (b"," if self.frame else b"") + b'"items":['
            after = b"]}"
        else:
            before = before[:-1]
        return Release(status, headers, len(before) + len(self.spool) + len(after), _pieces(before, self.spool, after))

    def close(self) -> None:
        self.spool.close()


def odd() -> Failed:
    return Failed("the node's answer to a bulk could not be understood", status=502)


def _pieces(before: bytes, spool: Spool, after: bytes) -> Generator[bytes, None, None]:
    try:  # also closed when the client leaves before the end
        yield before
        yield from spool.parts()
        yield after
    finally:
        spool.close()
