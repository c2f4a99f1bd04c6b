"""The smallest list of states that reads the same bodies.

All states, of requests and answers, are minimised together by partition refinement (Moore) and numbered breadth first from the
sorted roots, so the result depends on nothing but the language, and a diff of two tables shows a change of language.
"""

from __future__ import annotations

from typing import Any

from esproxy.api.grammar import OPAQUE_STATE, SCALAR_STATE, State


def minimise(states: list[State], roots: list[int]) -> tuple[list[State], list[int]]:
    """The smallest equivalent list of states, and the roots in it. States 0 and 1 keep their numbers."""
    block = _refine(states)
    first: dict[int, int] = {}
    for number, b in enumerate(block):
        first.setdefault(b, number)
    order: list[int] = []
    placed: dict[int, int] = {}

    def place(number: int) -> None:
        if block[number] not in placed:
            placed[block[number]] = len(order)
            order.append(first[block[number]])

    place(OPAQUE_STATE)
    place(SCALAR_STATE)
    for root in roots:
        place(root)
    at = 0
    while at < len(order):
        for target in states[order[at]].targets():
            place(target)
        at += 1
    return [_renumbered(states[number], block, placed) for number in order], [placed[block[root]] for root in roots]


def _refine(states: list[State]) -> list[int]:
    """The block of every state: states of one block cannot be told apart by any value."""
    block = _numbered([state.shape() for state in states])
    while True:
        finer = _numbered([(block[i], tuple(block[t] for t in state.targets())) for i, state in enumerate(states)])
        if max(finer) == max(block):
            return finer
        block = finer


def _numbered(signatures: list[Any]) -> list[int]:
    numbers: dict[Any, int] = {}
    return [numbers.setdefault(signature, len(numbers)) for signature in signatures]


def _renumbered(state: State, block: list[int], placed: dict[int, int]) -> State:
    def new(target: int) -> int:
        return placed[block[target]]

    return State(
        state.kind,
        None if state.keys is None else {key: new(target) for key, target in state.keys.items()},
        state.other and (state.other[0], new(state.other[1])),
        {tag: new(target) for tag, target in state.tags.items()},
        None if state.items is None else new(state.items),
        state.ensure,
        state.unless,
        state.mark,
        state.reason,
    )
