"""An answer on its way to the client: held while it fits the window, written as it comes beyond.

What is held is one buffer that is given away without a copy. The answer to a HEAD is counted and not held: its length is that of
the body which a GET would have had.
"""

from __future__ import annotations

from io import BytesIO

from esproxy.exchange import Reply, Restorer, Write
from esproxy.heads import AnswerHead


class WayBack:
    """``window`` None: it cannot be given before it is whole."""

    __slots__ = ("counts", "fed", "head", "out", "restore", "size", "window", "writing")

    def __init__(self, head: AnswerHead, restore: Restorer, window: int | None, *, counts: bool) -> None:
        self.head = head
        self.restore = restore
        self.window = None if counts else window
        self.counts = counts
        self.out: BytesIO | None = None
        self.size = 0
        self.fed = 0  # of the node's answer, without its last part
        self.writing = False  # bytes have left

    def hold(self, out: bytes) -> None:
        self.size += len(out)
        if not self.counts and out:
            if self.out is None:
                self.out = BytesIO()
            self.out.write(out)

    def give(self, out: bytes, last: bool) -> Write | Reply | None:
        """What can be said to the client when this has been restored."""
        if self.writing and self.out is None:
            return Write(out, last) if out or last else None
        if last and not self.size and not self.counts:
            return Reply(self.head.status, self.head.headers, out)
        self.hold(out)
        if last:
            return self.end()
        if self.window is None or self.size <= self.window:
            return None
        self.writing = True
        return Write(self._held(), False, AnswerHead(self.head.status, self.head.headers, None))

    def end(self) -> Write | Reply:
        """The rest of it, or all."""
        if self.counts:
            return Write(b"", True, AnswerHead(self.head.status, self.head.headers, self.size))
        held = self._held()
        return Write(held, True) if self.writing else Reply(self.head.status, self.head.headers, held)

    def _held(self) -> bytes:
        held, self.out = self.out, None
        return b"" if held is None else held.getvalue()
