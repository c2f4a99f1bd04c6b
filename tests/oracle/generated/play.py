"""Plays sequences of generated calls, directly and through a proxy, and keeps what came back.

Answers are kept as bytes and parsed when they are compared: there are tens of thousands. What breaks a connection, or is no
answer at all, is kept as an answer with the status 0, for on one side alone it is a difference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any

from tests.oracle.answer import Answer, Raw, parse
from tests.oracle.client import Client
from tests.oracle.generated.calls import Sequence
from tests.oracle.run import Played, sent
from tests.oracle.scenario import Call

Watch = Callable[[str, Call, Raw], None]


@dataclass(slots=True)
class Told:
    """What came back for one call: with what was saved until then."""

    target: str
    raw: Raw
    saved: dict[str, str]

    def played(self, call: Call) -> Played:
        return Played(call, self.target, call.body, self.raw, self.answer(call))

    def answer(self, call: Call) -> Answer:
        try:
            found = parse(self.raw, call.method)
        except ValueError as error:
            found = Answer(self.raw.status, {}, f"<unreadable: {type(error).__name__}>", "text")
        found.saved = self.saved
        return found

    @property
    def taken(self) -> bool:
        return 200 <= self.raw.status < 300


def play(sequence: Sequence, client: Client, watch: Watch | None = None, saved: dict[str, str] | None = None) -> list[Told]:
    """All calls in order, with what was saved before. A value to be saved that is not in an answer is not saved, on one side as
    on the other.
    """
    saved = saved or {}
    found: list[Told] = []
    for call in sequence.calls:
        try:
            target, _, raw = sent(call, client, saved)
        except (OSError, HTTPException) as error:
            client.close()
            target, raw = call.target, Raw(0, [], f"{type(error).__name__}: {error}".encode())
        if watch is not None:
            watch(sequence.name, call, raw)
        one = Told(target, raw, saved)
        if call.save and one.taken:
            body: Any = one.answer(call).body
            new = {name: str(body[key]) for name, key in call.save.items() if isinstance(body, dict) and key in body}
            saved = one.saved = saved | new
        found.append(one)
    return found
