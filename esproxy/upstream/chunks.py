"""Bodies in chunks, behind heads that have come before (``esproxy/known.py``): Elasticsearch answers searches so.

The head says nothing of such a body's end, so the framing has to be read each time: by the parser that reads all answers, one of
its own, which is shown a head of ours and calls for nothing but the parts of the body. A body that a read does not hold whole, or
that has anything behind it, is none of its business.
"""

from __future__ import annotations

import httptools

HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


class Chunks:
    """For one read at a time; between two of them nothing is kept."""

    __slots__ = ("ended", "more", "parser", "parts")

    def __init__(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        self.parts: list[bytes] = []
        self.ended = self.more = False

    def whole(self, data: bytes) -> bytes | None:
        """The body that these chunks are; None where they are not all of one, and nothing else."""
        try:
            self.parser.feed_data(HEAD + data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self.ended = False
        parts, whole = self.parts, self.ended and not self.more
        self.parts, self.ended, self.more = [], False, False
        if not whole:
            self.parser = httptools.HttpResponseParser(self)  # this one stands in the middle of something
            return None
        return parts[0] if len(parts) == 1 else b"".join(parts)

    # --- callbacks of the parser

    def on_message_begin(self) -> None:
        self.more = self.ended

    def on_body(self, data: bytes) -> None:
        self.parts.append(data)

    def on_message_complete(self) -> None:
        self.ended = True
