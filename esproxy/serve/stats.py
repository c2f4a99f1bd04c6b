"""What a worker counts: plain dicts that the data path adds to, handed to the supervisor as differences.

Counting is on the path of every request, so it is a dict addition and nothing else; names, help texts and
formats are the admin side's (``esproxy.admin.metrics``). ``take`` returns what was counted since the last ``take``; the
supervisor adds it up, so what a worker counted outlives it (but for its last second).
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # seconds


class Stats:
    __slots__ = ("aborts", "bugs", "disconnects", "in_flight", "requests", "seconds", "seconds_sum", "short")

    def __init__(self) -> None:
        self.in_flight = 0
        self.clear()

    def clear(self) -> None:
        self.requests: dict[tuple[str, int], int] = {}  # (method, status)
        self.seconds = [0] * (len(BUCKETS) + 1)  # how many ended within each bucket, the last one is for longer
        self.seconds_sum = 0.0
        self.disconnects = 0  # clients that left before their answer was whole
        self.aborts = 0  # answers that were cut
        self.bugs = 0  # exceptions inside the proxy
        self.short = 0  # requests that were answered on the straight way, see esproxy.serve.short

    def ended(self, method: str, status: int, seconds: float) -> None:
        key = (method, status)
        self.requests[key] = self.requests.get(key, 0) + 1
        self.seconds[bisect_left(BUCKETS, seconds)] += 1
        self.seconds_sum += seconds

    def take(self) -> dict[str, Any]:
        """What was counted since the last time, ready for JSON; ``in_flight`` is as it is now."""
        taken = {
            "requests": [[method, status, count] for (method, status), count in self.requests.items()],
            "seconds": self.seconds,
            "seconds_sum": self.seconds_sum,
            "disconnects": self.disconnects,
            "aborts": self.aborts,
            "bugs": self.bugs,
            "short": self.short,
            "in_flight": self.in_flight,
        }
        self.clear()
        return taken
