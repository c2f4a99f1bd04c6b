"""What a process holds in memory of bodies and answers, shared out fairly among tenants.

Whoever is about to hold more than ``FREE`` of one body or answer *claims* as much as it may come to hold. A claim that does not
fit waits, which its holder turns into back-pressure: it reads no further until it is told. Requests and answers have a budget
each, since a request's body is held while its answer is awaited: in one, all could hold bodies and wait for room for answers.

Fair: a tenant may hold at most as much as it leaves free for the others (dynamic thresholds, as in packet switches). So one alone
gets half of a budget, a second one half of the rest, and there is always room for one who comes new. Everybody may have one claim
if it fits at all. When room comes free, the waiting tenant that holds least is served first.

What has to be read as a tree takes many times its bytes (``tree_cost``), which nobody knows before it is there. So a claim can
*grow*, and one that cannot is refused, as a node's circuit breaker refuses: to wait while holding could be to wait for oneself.

Invariants: ``used`` is the sum of granted claims and never above ``limit``; a claim is released exactly once, granted or not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from esproxy.errors import data_too_large

FREE = 128 << 10


class Claim:
    __slots__ = ("budget", "granted", "size", "tenant", "wake")

    def __init__(self, budget: Budget, tenant: str, size: int) -> None:
        self.budget = budget
        self.tenant = tenant
        self.size = size
        self.granted = False
        self.wake: Callable[[], None] | None = None

    def tell(self, wake: Callable[[], None]) -> None:
        """Call back when it is granted, from within whatever releases another."""
        if self.granted:
            wake()
        else:
            self.wake = wake

    def grow(self, size: int) -> None:
        """Raises Refusal when so much cannot be had now."""
        self.budget.grow(self, size)

    def release(self) -> None:
        self.budget.release(self)


class Budget:
    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self.held: dict[str, int] = {}
        self.waiting: dict[str, deque[Claim]] = {}

    def claim(self, tenant: str, size: int) -> Claim:
        made = Claim(self, tenant, min(size, self.limit))
        if tenant not in self.waiting and self._fits(made):
            self._grant(made)
        else:
            self.waiting.setdefault(tenant, deque()).append(made)
        return made

    def take(self, tenant: str, size: int) -> Claim:
        """A claim that does not wait. Raises Refusal."""
        made = Claim(self, tenant, 0)
        self._grant(made)
        self.grow(made, size)
        return made

    @contextmanager
    def tree(self, tenant: str, body: bytes) -> Iterator[None]:
        """While a body is read as a tree that is not kept. Raises Refusal where there is no room for it now."""
        claim = self.take(tenant, tree_cost(body)) if len(body) > FREE else None
        try:
            yield
        finally:
            if claim is not None:
                claim.release()

    def grow(self, claim: Claim, size: int) -> None:
        if not claim.granted:  # it waits no longer
            self._dequeue(claim)
            claim.size = 0
            self._grant(claim)
        more, others = size - claim.size, self.held[claim.tenant] - claim.size
        free = self.limit - self.used - more
        if more <= 0:
            return
        if free < 0 or (others and others + size > free):
            raise data_too_large(size, self.limit)
        claim.size = size
        self.used += more
        self.held[claim.tenant] += more

    def _fits(self, claim: Claim) -> bool:
        free, held = self.limit - self.used - claim.size, self.held.get(claim.tenant, 0)
        return free >= 0 and (not held or held + claim.size <= free)

    def _grant(self, claim: Claim) -> None:
        claim.granted = True
        self.used += claim.size
        self.held[claim.tenant] = self.held.get(claim.tenant, 0) + claim.size

    def release(self, claim: Claim) -> None:
        if claim.granted:
            self.used -= claim.size
            self.held[claim.tenant] -= claim.size
            claim.granted = False
            if not self.held[claim.tenant]:
                del self.held[claim.tenant]
        else:
            self._dequeue(claim)
        claim.size, claim.wake = 0, None
        self._serve()

    def _dequeue(self, claim: Claim) -> None:
        queue = self.waiting.get(claim.tenant, ())
        if claim in queue:
            queue.remove(claim)
            if not queue:
                del self.waiting[claim.tenant]

    def _serve(self) -> None:
        """Grant what fits now."""
        granted: list[Claim] = []
        for tenant in sorted(self.waiting, key=lambda tenant: self.held.get(tenant, 0)):
            queue = self.waiting[tenant]
            while queue and self._fits(queue[0]):
                self._grant(queue[0])
                granted.append(queue.popleft())
            if not queue:
                del self.waiting[tenant]
        for claim in granted:
            if claim.wake is not None:
                wake, claim.wake = claim.wake, None
                wake()


def tree_cost(body: bytes) -> int:
    """What a JSON body takes when it is read as a tree and written again: documents less, nothing more than three times that
    (tests/unit/serve/test_budget.py)."""
    texts = len(body) * (2 if body.isascii() else 6)
    return len(body) + texts + 128 * (body.count(b",") + body.count(b"{") + body.count(b"["))
