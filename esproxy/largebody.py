"""A request's body beyond the window that is no bulk: kept in a file until it is whole, up to the node's own limit.

Where the core can, it rewrites the body as it comes, so that what is in the file is what will be sent, and the body is in memory
at no time. What has to be looked at as a tree (the mappings of a new index, values of the field ``_index``) is read back when it
is whole. Indices in pools get their bodies as they are: their procedures read them whole.
"""

from __future__ import annotations

from esproxy.bodies import Rewriter
from esproxy.errors import too_large
from esproxy.spool import Spool

IN_MEMORY = 1 << 20


class LargeBody:
    def __init__(self, rewrite: Rewriter | None, limit: int) -> None:
        self.rewrite = rewrite
        self.limit = limit
        self.size = 0  # of the client's body
        self.spool = Spool(IN_MEMORY)

    def feed(self, chunk: bytes, last: bool) -> None:
        """Raises Refusal."""
        self.size += len(chunk)
        if self.size > self.limit:
            raise too_large(self.limit)
        self.spool.write(chunk if self.rewrite is None else self.rewrite.feed(chunk, last))

    def body(self) -> bytes | Spool:
        """What is sent. Raises Refusal."""
        if self.rewrite is None or not self.rewrite.wants_whole:
            return self.spool.body()
        return self.rewrite.end(self.spool.whole())

    def close(self) -> None:
        self.spool.close()
