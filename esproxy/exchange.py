"""What passes between shells, Gateway and engine: steps, and what procedures yield.

Nothing here does I/O. A *step* is what the
Gateway asks for; there is at most one per call. Steps are small slotted classes: GATEWAY measurements put a
NamedTuple at twice their cost. See docs/design/gateway.md for who calls what in which order.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from dataclasses import dataclass
from typing import Any, Protocol

from esproxy.budget import Claim
from esproxy.heads import AnswerHead, Headers
from esproxy.spool import Spool

BODY, ANSWER = 1, 2  # bits of ``Exchange.wants``: more of the request's body, more of the answer


# --- steps: what the Gateway asks for ------------------------------------------------------------


@dataclass(slots=True)
class Send:
    """Start an upstream call. ``body`` is its first part; ``last`` when it is all of it, which can also lie in a spool; ``held``
    when the engine may repeat the call on a fresh connection because body is whole and the call is safe to repeat."""

    cluster: str
    method: str
    target: bytes
    headers: Headers
    body: bytes | Spool = b""
    last: bool = True
    held: bool = False


@dataclass(slots=True)
class More:
    """The next part of the body of the Send under way."""

    data: bytes
    last: bool


@dataclass(slots=True)
class Write:
    """Bytes for the client. The first one of an exchange carries the head."""

    data: bytes
    last: bool
    head: AnswerHead | None = None


@dataclass(slots=True)
class Reply:
    """A whole answer for the client; nothing (more) goes upstream."""

    status: int
    headers: Headers
    body: bytes


@dataclass(slots=True)
class Release:
    """A whole answer of ``length`` bytes that is not held in memory: its parts come from a spool."""

    status: int
    headers: Headers
    length: int
    parts: Generator[bytes, None, None]  # closed by whoever carries it out


@dataclass(slots=True)
class Need:
    """Run a procedure, then ``resume``. Exchanges that wait under the same ``key`` share one run, which
    outlives its clients; without a key the procedure dies with its client."""

    procedure: Procedure
    key: Hashable | None = None


@dataclass(slots=True)
class Abort:
    """Cut the client's connection so that it cannot take the answer for whole, and end the upstream call."""

    why: str


Step = Send | More | Write | Reply | Release | Need | Abort


# --- what procedures yield -----------------------------------------------------------------------


@dataclass(slots=True)
class Call:
    """One upstream call, answered as a whole ``Answer`` of at most ``limit`` bytes.

    ``window``: a 2xx answer above so many bytes is given as far as it came, as an Answer with ``more``: the procedure ends with
    ``Onward``, or drops the rest by going on with anything else. ``claim`` makes a claim on memory for an answer that is not
    small; one that will be read as a ``tree`` takes more, and is held until the procedure has ended."""

    send: Send
    limit: int = 64 << 20
    window: int | None = None
    claim: Callable[[], Claim] | None = None
    tree: bool = False


@dataclass(slots=True)
class Calls:
    """Several upstream calls at once → list of Answer, in order."""

    calls: list[Call]


@dataclass(slots=True)
class Wait:
    """Go on after so many seconds."""

    seconds: float


@dataclass(slots=True)
class Until:
    """Go on when it calls back: ``tell`` is given what to call."""

    tell: Callable[[Callable[[], None]], None]


@dataclass(slots=True)
class Answer:
    """A node's answer: all of it, unless there is ``more``. ``attempt``: 2 when the request was sent a second time."""

    status: int
    headers: Headers
    body: bytes
    more: bool = False
    attempt: int = 1


@dataclass(slots=True, frozen=True)
class Go:
    """A procedure's outcome: memory is filled, look again."""


GO = Go()


class Restorer(Protocol):
    """What makes a client's answer of a node's, as it comes. Raises Violation, or Failed when it cannot be understood."""

    def feed(self, chunk: bytes, last: bool) -> bytes: ...


@dataclass(slots=True)
class Large:
    """The client's part of an answer that there is more of: ``first`` and the rest go through ``restore``."""

    status: int
    headers: Headers
    restore: Restorer
    first: bytes


@dataclass(slots=True)
class Onward:
    """A procedure's outcome: a large answer goes on to the client, which is a ``Resting`` one. ``claim``: on memory, for what has
    come of it."""

    answer: Large
    holds: Callable[[], bool]
    confirm: Callable[[bool], Procedure]
    claim: Claim | None = None
    void: bool = False


class Resting(Protocol):
    """An answer that rests on the catalogue. ``holds`` is asked before its last bytes leave: is that still true? When it does not
    know, ``confirm`` finds out, told whether bytes have left; what that raises cuts the answer. ``void``: it was not true, and
    since nothing has left, the request is looked at again."""

    void: bool

    @property
    def holds(self) -> Callable[[], bool]: ...
    @property
    def confirm(self) -> Callable[[bool], Procedure]: ...


Outcome = Reply | Go | Onward
Procedure = Generator[Call | Calls | Wait | Until, Any, Outcome]
