"""What an exchange holds on to, and how it ends: every way out of it goes through here, so nothing is left behind."""

from __future__ import annotations

import logging
from enum import Enum

from esproxy import asyaml
from esproxy.budget import Claim
from esproxy.bulkstream import BulkStream
from esproxy.common import Common
from esproxy.errors import EsproxyError, Violation
from esproxy.exchange import BODY, GO, Abort, Need, Procedure, Release, Reply, Resting, Step, Until
from esproxy.heads import Head
from esproxy.largebody import LargeBody
from esproxy.metadata.settings import UnknownSetting
from esproxy.plan import Plan
from esproxy.pools.pooled import Pools
from esproxy.procedures.unknown_setting import ASKING, in_nodes_words
from esproxy.refused import told
from esproxy.replies import reply
from esproxy.spool import Spool
from esproxy.wayback import WayBack

log = logging.getLogger("esproxy.gateway")


class State(Enum):
    BODY = "body"
    BUSY = "busy"
    SENT = "sent"
    ANSWER = "answer"
    DONE = "done"


class Holding:
    __slots__ = (
        "back", "bulk", "claim", "gateway", "head", "kept", "large", "media", "onward", "part", "parts", "plan", "pools",
        "size", "state", "wants", "whole", "yaml",
    )  # fmt: skip

    def __init__(self, gateway: Common, head: Head) -> None:
        self.gateway = gateway
        self.head = head
        self.state = State.BODY
        self.wants = BODY
        self.plan: Plan | None = None
        self.pools: Pools | None = None  # where its tenant may have indices in pools
        self.parts: list[bytes] = []  # of the body, while it is held
        self.size = 0
        self.whole = False
        self.yaml = asyaml.wanted(head)
        self.bulk: BulkStream | None = None  # the body is a bulk beyond the window
        self.part: Spool | None = None  # of that bulk, until it is answered
        self.large: LargeBody | None = None  # the body is another one beyond the window
        self.media: bytes | None = None
        self.back: WayBack | None = None
        self.onward: Resting | None = None  # the answer rests on the catalogue
        self.claim: Claim | None = None  # on memory, for a body or an answer that is not small
        self.kept: list[tuple[bytes, bool]] | None = None  # of the answer, while its claim waits

    def _release(self) -> None:
        if self.claim is not None:
            claim, self.claim = self.claim, None
            claim.release()

    def _ended(self, step: Step) -> Step:
        """The last step of this exchange."""
        self.state, self.wants = State.DONE, 0
        self._release()
        if not isinstance(step, Release):
            self._let_go()
        return asyaml.as_yaml(step) if self.yaml and isinstance(step, Reply) else step

    def _let_go(self) -> None:
        """Close what lies in files; memory goes by itself."""
        for file in (self.bulk, self.part, self.large):
            if file is not None:
                file.close()
        self.parts.clear()
        self.back = None

    def close(self) -> None:
        """The client is gone, or has been told something else than what this exchange would have said."""
        self.state, self.wants = State.DONE, 0
        self._release()
        self._let_go()

    def _refuse(self, error: EsproxyError) -> Step:
        if self.plan is not None:
            if isinstance(error, UnknownSetting) and self.plan.route.row.name in ASKING:
                self.state, self.wants = State.BUSY, 0
                return Need(in_nodes_words(self.plan, error, self.gateway.settings.limits.window))
            error = told(self.plan, error)
        if self.bulk is not None:
            error.headers = error.headers + self.bulk.told()
        pretty = b"pretty" in self.head.target.partition(b"?")[2] if self.plan is None else self.plan.pretty
        opaque = self.head.get(b"x-opaque-id")
        if opaque is not None:
            error.headers = [*error.headers, (b"x-opaque-id", opaque)]
        return self._ended(reply(error, product=self.gateway.product, pretty=pretty, accept=self.head.get(b"accept")))

    def _withhold(self, error: EsproxyError) -> Step:
        """The answer cannot be given: an error instead while nothing of it has left, else cut the connection."""
        if isinstance(error, Violation):
            self.gateway.violations += 1
            log.error("violation: %s in the answer to %s", error.where, self.plan.route.row.name if self.plan else "?")
        if self.back is not None and self.back.writing:
            return self._ended(Abort(str(error)))
        return self._refuse(error)


def turn(claim: Claim) -> Procedure:
    """Wait until it is granted."""
    yield Until(claim.tell)
    return GO
