"""Heads of messages that have come before, byte for byte: what a parser made of them is used again instead of parsing anew.

Clients and nodes say the same few heads again and again. A parser is an automaton that stands at the same place between two
messages, so the same bytes mean the same there. Nothing is parsed by hand here, and nothing is concluded from bytes that no
parser has accepted:

* Kept is a head that the parser took from the beginning of a read that it found between messages, where the whole message was
  that read: the head up to its first empty line, behind it as many bytes as the content-length that the parser went by, or the
  chunks that it read.
* Found is a head only at the beginning of a read between messages, where exactly as many bytes are behind it; of a body in chunks
  the owner sees to that. All else (a message in several reads, several in one) goes to the parser. It is not told of messages
  found here, and need not be: it would stand where it stands.
* Whether a head may be kept (the connection goes on behind it, nothing has to be looked at closer) its owner says.

What is kept is shared by all messages with that head, and so is not to be changed.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from esproxy.recent import Recent

KEPT = 8192  # heads, of some 3 KiB each
LONGEST = 1024  # bytes
END = b"\r\n\r\n"

H = TypeVar("H")


class KnownHeads(Generic[H]):
    """``of``: beside its bytes, whose head it is."""

    __slots__ = ("recent",)

    def __init__(self) -> None:
        self.recent: Recent[tuple[str | None, bytes], tuple[H, int | None]] = Recent(KEPT)

    def find(self, data: bytes, of: str | None = None) -> tuple[H, int] | None:
        """The head of the message that this read is, if it is known, and where the body begins, or its chunks."""
        at = data.find(END, 0, LONGEST) + 4
        found = self.recent.get((of, data[:at])) if at > 4 else None
        return (found[0], at) if found is not None and found[1] in (None, len(data) - at) else None

    def keep(self, head: H, length: int | None, data: bytes, of: str | None = None) -> None:
        """The head that the parser made of this read, which is the whole message if it ends in so many bytes of body. None: in
        chunks, and the read begins with this head and no other."""
        first = data.find(END, 0, LONGEST) + 4
        at = first if length is None else len(data) - length
        if 4 < at == first:
            self.recent.put((of, data[:at]), (head, length))
