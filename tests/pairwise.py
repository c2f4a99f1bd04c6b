"""Which combinations a test run plays by default: all pairs, not the full product.

Four things vary in a test of a tenant among others: the *case* (a scenario, an attack), the engine's *family*, the *placement*
of the tenants' indices, and the *transport* to the node. A defect hides in one of them or where two meet, hardly ever where
three do: so any two values meet in some test, and no case is played in all sixteen combinations.

* Family and placement: all eight. Each has one transport, laid out like a chessboard, so that each family and each placement
  has both.
* A case is played in each placement once: in two of them on one family, in the other two on the other one. Of the ways to deal
  placements so, those are taken that give the case both transports, and the case's name says which: over all cases the load is
  even, and a case that is added or taken away moves no other one.
* A test without a case (the official clients, pipelined requests) runs in all eight.
* A test that is marked ``dealt`` has layouts of its own (streams), and each of them on one family; so it meets both families.

`pytest --placement X` plays everything there: all cases on all engines, over the transports that `--transport` names.
"""

from __future__ import annotations

from itertools import combinations
from zlib import crc32

from tests.engines import FAMILIES
from tests.oracle.placements import PLACEMENTS

TRANSPORTS = ("engine", "httpx")


def transport_of(family: str, placement: str) -> str:
    """The one over which this family's tests in this placement go."""
    return TRANSPORTS[(FAMILIES.index(family) + PLACEMENTS.index(placement)) % 2]


# What the first family plays of a case; the other one plays the rest.
HALVES = tuple(
    half
    for half in combinations(PLACEMENTS, len(PLACEMENTS) // 2)
    if {transport_of(FAMILIES[0], placement) for placement in half} == set(TRANSPORTS)
)


def plays(case: str, family: str, placement: str) -> bool:
    """Whether a case is played on this family in this placement."""
    first = HALVES[crc32(case.encode()) % len(HALVES)]
    return (placement in first) == (family == FAMILIES[0])
