"""A bulk larger than the window: several upstream bulks, one after the other, and one answer.

The core lets records leave whole, so whatever has been rewritten can be cut where a feed ended. Sub-bulks are bounded by bytes
and by records (the answer to many deletes outgrows their request) and sent in order, each when the one before has been
answered: the order of actions on one id is kept, and the memory held is one sub-bulk and what was read meanwhile.

The merged answer can be as large as the bulk, and whether it has errors is known last; its items go to a spool, which is a file
beyond its first part. ``took`` is summed. A broken action line or a sub-bulk that the node refuses ends the bulk with that
error; how many records were taken before says the header ``x-esproxy-records-taken``, since a node would have taken none (a row
of the deviations table).

States: READ (records are collected) → SENT (a sub-bulk is answered) → READ … → DONE.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import IO

import orjson

from esproxy import core
from esproxy.answer import Walk, is_error, restore_error
from esproxy.bodies import bulk_pass, refusal
from esproxy.errors import EsproxyError, Failed
from esproxy.exchange import Release, Reply
from esproxy.request import Plan

SUB_BYTES = 8 << 20
SUB_RECORDS = 20_000
ANSWER_LIMIT = 256 << 20
SLICE = 64 << 10
TAKEN = b"x-esproxy-records-taken"


class BulkStream:
    """One streamed bulk: feed it the client's bytes, take sub-bulks, give it their answers."""

    def __init__(self, plan: Plan, max_depth: int, spool: IO[bytes]) -> None:
        self.plan = plan
        self.run: core.BulkPass = bulk_pass(plan, max_depth)
        self.ready: list[bytes] = []  # rewritten records of the next sub-bulk
        self.size = 0
        self.began_at = 0  # records that had left when it began
        self.whole = False
        self.failed: EsproxyError | None = None  # of the client's bytes; told after what came before has been answered
        self.taken = 0
        self.took = 0
        self.errors = False
        self.spool = spool
        self.items = 0
        self.parts: list[bytes] = []
        self.answer_size = 0

    # --- the way in ------------------------------------------------------------------------------

    def feed(self, chunk: bytes, last: bool) -> None:
        """More of the client's bulk. What is wrong with it is in ``failed``."""
        if self.failed is not None or self.whole:
            return
        out = self.run.feed(chunk, last)
        if self.run.status is not core.Status.OK:
            self.failed = refusal(self.plan, self.run, b"")
        elif out:
            self.ready.append(out)
            self.size += len(out)
        self.whole = last

    def due(self) -> bool:
        """Is there a sub-bulk to send, or nothing more to come?"""
        full = self.size >= SUB_BYTES or self.run.records - self.began_at >= SUB_RECORDS
        return full or self.whole or self.failed is not None

    def take(self) -> bytes:
        """The next sub-bulk; empty when there is none."""
        body = b"".join(self.ready) if self.failed is None else b""
        self.ready.clear()
        self.size = 0
        self.began_at = self.run.records
        return body

    # --- the way back ------------------------------------------------------------------------------

    def feed_answer(self, status: int, chunk: bytes, last: bool) -> Reply | None:
        """A part of a sub-bulk's answer. A Reply ends the bulk: the node refused it. Raises Failed and Violation."""
        self.answer_size += len(chunk)
        if self.answer_size > ANSWER_LIMIT:
            raise Failed("the answer to a part of the bulk is too large", status=502)
        self.parts.append(chunk)
        if not last:
            return None
        body = b"".join(self.parts)
        self.parts.clear()
        self.answer_size = 0
        if status >= 400:
            if not is_error(status, body):
                raise Failed("the node's answer could not be understood", status=502)
            return Reply(status, self.headers(), restore_error(self.plan, body))
        assert self.plan.endpoint.response is not None
        self._merge(orjson.loads(Walk(self.plan, self.plan.endpoint.response).feed(body, True)))
        self.taken = self.began_at
        return None

    def _merge(self, answer: dict) -> None:
        self.took += answer.get("took", 0)
        self.errors = self.errors or answer.get("errors", False)
        for item in answer.get("items", ()):
            self.spool.write(b"," if self.items else b"")
            self.spool.write(orjson.dumps(item))
            self.items += 1

    def headers(self) -> list[tuple[bytes, bytes]]:
        """For an error after records have been taken."""
        return [(TAKEN, b"%d" % self.taken)] if self.taken else []

    def release(self, status: int, headers: list[tuple[bytes, bytes]]) -> Release:
        """The whole answer."""
        before = b'{"took":%d,"errors":%s,"items":[' % (self.took, b"true" if self.errors else b"false")
        after = b"]}"
        length = len(before) + self.spool.tell() + len(after)
        return Release(status, headers, length, _pieces(before, self.spool, after))


def _pieces(before: bytes, spool: IO[bytes], after: bytes) -> Generator[bytes, None, None]:
    with spool:  # also closed when the client leaves before the end
        yield before
        spool.seek(0)
        while data := spool.read(SLICE):
            yield data
        yield after
