"""A bulk larger than the window: several upstream bulks, one after the other, and one answer.

The core cuts it into *parts* at record boundaries, bounded by bytes and by records (the answer to many deletes outgrows their
request). A part is sent when the one before has been answered: the order of actions on one id is kept, and the memory held is one
part and what was read meanwhile. Where its tenant has no pools, a part leaves the core rewritten and is sent as it is; else it is
a bulk of its own for the procedure that serves such bulks, which resolves its names, adds its fields and restores its items. A
record may be larger than all that: its document flows through the core into the part's spool, and the file is what is sent.

A broken action line, or a part that is refused, ends the bulk with that error; how many records were taken before says the header
``x-esproxy-records-taken``, since a node would have taken none (a row of the deviations table).

States: READ (a part is collected) → SENT (it is answered) → READ … → DONE.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from esproxy import core
from esproxy.answer import Walk, is_error, restore_error
from esproxy.bodies import bulk_pass, bulk_splitter
from esproxy.bodyerrors import refusal
from esproxy.bulkmerge import Merged
from esproxy.errors import EsproxyError, Failed, too_large
from esproxy.exchange import Release, Reply
from esproxy.plan import Plan
from esproxy.spool import Spool

if TYPE_CHECKING:
    from esproxy.config import Limits

PART_BYTES = 8 << 20  # or the window, if that is less
PART_RECORDS = 20_000
POOL_BYTES = 1 << 20  # where every record is read in Python, between two of which nobody else is served
POOL_RECORDS = 2_000
SLICE = 64 << 10  # of what is read, so that a part does not end much later than it could
ANSWER_LIMIT = 256 << 20
TAKEN = b"x-esproxy-records-taken"


class BulkStream:
    """One streamed bulk: feed it the client's bytes, take parts, give it their answers."""

    def __init__(self, plan: Plan, limits: Limits, *, pooled: bool) -> None:
        self.plan = plan
        self.max_record = limits.max_body
        size, self.records = (POOL_BYTES, POOL_RECORDS) if pooled else (PART_BYTES, PART_RECORDS)
        self.bytes = min(size, limits.window)
        make = bulk_splitter if pooled else bulk_pass
        self.run = make(plan, limits.max_depth, max_record=self.max_record, flow=self.bytes)
        self.backlog: deque[bytes] = deque()  # read from the client, not yet by the core
        self.part = self._new_part()
        self.began_at = 0  # records that had left when the part began
        self.whole = False  # the client's last byte is here
        self.read = False  # and the core has read it
        self.failed: EsproxyError | None = None  # of the client's bytes; told after what came before has been answered
        self.taken = 0
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []  # of the last answer
        self.merged = Merged()
        self.walk: Walk | None = None
        self.error: list[bytes] = []
        self.answer_size = 0

    def _new_part(self) -> Spool:
        return Spool(self.bytes * 2)

    # --- the way in ------------------------------------------------------------------------------

    def feed(self, chunk: bytes, last: bool) -> None:
        """More of the client's bulk."""
        if chunk:
            self.backlog.append(chunk)
        self.whole = last

    def due(self) -> bool:
        """Read on; is there a part to send, or nothing more to come? What is wrong with the client's bytes is in ``failed``."""
        while not self.full() and not self.read and self.failed is None and (self.backlog or self.whole):
            chunk = self.backlog.popleft() if self.backlog else b""
            if len(chunk) > SLICE:
                self.backlog.appendleft(chunk[SLICE:])
                chunk = chunk[:SLICE]
            self._read(chunk)
        return self.full() or self.read or self.failed is not None

    def full(self) -> bool:
        return self.run.between and (self.part.size >= self.bytes or self.run.records - self.began_at >= self.records)

    def _read(self, chunk: bytes) -> None:
        self.read = self.whole and not self.backlog
        out = self.run.feed(chunk, self.read)
        if self.run.status is core.Status.OK:
            self.part.write(out)
        elif self.run.status is core.Status.TOO_LARGE:
            self.failed = too_large(self.max_record)
        else:
            self.failed = refusal(self.plan, self.run, b"")

    def take(self) -> Spool | None:
        """The next part; None when there is none."""
        part, self.part = self.part, self._new_part()
        self.began_at = self.run.records
        if self.failed is None and part.size:
            return part
        part.close()
        return None

    # --- the way back ------------------------------------------------------------------------------

    def feed_answer(self, chunk: bytes, last: bool) -> Reply | None:
        """More of the node's answer to what was sent; its head is in ``status`` and ``headers``. A Reply ends the bulk: the node
        refused it. Raises Failed and Violation."""
        self.answer_size += len(chunk)
        if self.answer_size > ANSWER_LIMIT:
            raise Failed("the answer to a part of the bulk is too large", status=502)
        if self.status >= 400:
            self.error.append(chunk)
        else:
            if self.walk is None:
                assert self.plan.endpoint.response is not None
                self.walk = Walk(self.plan, self.plan.endpoint.response)
            self.merged.feed(self.walk.feed(chunk, last), last)
        return self._refused() if last else None

    def _refused(self) -> Reply | None:
        self.walk, self.answer_size = None, 0
        if self.status < 400:
            self.taken = self.began_at
            return None
        body = b"".join(self.error)
        if not is_error(self.status, body):
            raise Failed("the node's answer could not be understood", status=502)
        return Reply(self.status, self.headers + self.told(), restore_error(self.plan, body))

    def answered(self, reply: Reply) -> Reply | None:
        """A procedure's answer to what was taken."""
        self.status, self.headers = reply.status, reply.headers
        if reply.status >= 400:
            return Reply(reply.status, reply.headers + self.told(), reply.body)
        self.merged.feed(reply.body, True)
        self.taken = self.began_at
        return None

    def told(self) -> list[tuple[bytes, bytes]]:
        """For an error after records have been taken."""
        return [(TAKEN, b"%d" % self.taken)] if self.taken else []

    def release(self) -> Release:
        """The whole answer."""
        return self.merged.release(self.status, self.headers)

    def close(self) -> None:
        self.part.close()
        self.merged.close()
        self.backlog.clear()
