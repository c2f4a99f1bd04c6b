"""Every exchange twice: wherever the straight way (esproxy/shortcut.py) would be gone, it is compared with the general one.

``watch`` wraps the exchanges of a process. What a shortcut would have sent and told must be what the exchange has sent and told,
unless it says that this is not for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from esproxy import shortcut
from esproxy.exchange import Reply, Send
from esproxy.gateway import Exchange
from esproxy.heads import AnswerHead, Head

counts = {"sent": 0, "told": 0}


def watch(replace: Callable[[type, str, Any], None]) -> None:
    """``replace``: sets an attribute of a class, as monkeypatch.setattr does."""
    feed, open_answer = Exchange.feed, Exchange.open_answer
    ways: dict[int, tuple[Exchange, shortcut.Shortcut]] = {}

    def watched_feed(self: Exchange, chunk: bytes, last: bool) -> Any:
        fresh = self.plan is None and not self.parts
        step = feed(self, chunk, last)
        if fresh and last and self.plan is not None and self.gateway.ready is not None:
            way = way_of(self, len(chunk))
            out = way.sent(chunk) if way is not None else None
            if way is not None and out is not None:
                sent = way.send
                assert isinstance(step, Send), step
                assert (sent.cluster, sent.method, sent.target) == (step.cluster, step.method, step.target)
                assert (sent.headers, sent.held, out, step.last) == (step.headers, step.held, step.body, True)
                counts["sent"] += 1
                ways[id(self)] = self, way
        return step

    def watched_answer(self: Exchange, head: AnswerHead, attempt: int, chunk: bytes = b"", last: bool = False) -> Any:
        before = unknown(self)
        step = open_answer(self, head, attempt, chunk, last)
        once = unknown(self)
        _, way = ways.pop(id(self), (None, None))
        if way is not None and last and (out := way.restored(head, chunk)) is not None:
            assert unknown(self) - once == once - before
            way.heads.cluster.unknown_keys -= once - before
            told = shortcut.plain_headers(head) + way.opaque
            assert isinstance(step, Reply), step
            assert (step.status, step.headers, step.body) == (head.status, told, out)
            counts["told"] += 1
        return step

    def unknown(exchange: Exchange) -> int:
        return exchange.gateway.unknown_keys

    def way_of(exchange: Exchange, size: int) -> shortcut.Shortcut | None:
        heads, head = exchange.gateway.ready, exchange.head
        if size and head.get(b"content-length") is None:  # as a head has it that came over a wire
            head = Head(head.method, head.target, [*head.headers, (b"content-length", b"%d" % size)], head.peer)
        if heads.find(head) is None:
            return None
        return shortcut.of(exchange.gateway, head) or None

    replace(Exchange, "feed", watched_feed)
    replace(Exchange, "open_answer", watched_answer)
