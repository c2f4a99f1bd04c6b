"""What a bulk body means, in plain Python: lines over the oracle of single bodies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from esproxy.core import Action, Kind, Op, Status
from tests.core.reference import Meaning, meaning, tree

LOOK = {Kind.INDEX: Action(Op.STOP)}
VERBS = ("index", "create", "update", "delete")


@dataclass
class Bulk:
    status: Status = Status.OK
    offset: int = 0
    line: int = 0
    records: list[str] = field(default_factory=list)
    lines: list[Any] = field(default_factory=list)  # trees; bytes for lines that are copied
    broken: list[int] = field(default_factory=list)
    asked: list[Any] = field(default_factory=list)


def bulk(
    body: bytes, states: list[dict], action: int, update: int, doc: int | None, actions: dict, resolver: Any, target: Any = None
) -> Bulk:
    """``target``: as BulkPass has it, with a dict of actions for bindings, asked at every record. An action line is then
    read twice, so that what is wrong with its index is found first."""
    out = Bulk()
    at, verb, bindings = 0, "", actions

    def walk(line: bytes, state: int) -> Meaning:
        told = meaning(line, states, state, bindings, resolver)
        out.asked += told.asked
        return told

    def fail(status: Status, offset: int) -> Bulk:
        out.status, out.offset = status, offset
        return out

    if not body:
        return fail(Status.EMPTY, 0)
    *lines, rest = body.split(b"\n")
    for line in lines:
        out.line += 1
        if not verb and not line.strip(b" \t\r"):
            out.lines.append(line)
        elif not verb:
            if target is not None:
                looked = meaning(line, states, action, LOOK, lambda kind, token: token)
                if len(looked.asked) > 1:  # a list of indices
                    return fail(Status.ACTION, at + looked.asked_at[1])
                if looked.status is not Status.OK:
                    return fail(looked.status, at + looked.offset)
                bindings, doc = target(looked.asked[0][1] if looked.asked else None)
            told = walk(line, action)
            if told.status is not Status.OK:
                return fail(told.status, at + told.offset)
            seen = _keys(line)
            if len(seen) != 1 or seen[0] not in VERBS:
                return fail(Status.ACTION, at)
            verb = seen[0]
            out.lines.append(told.tree)
            if verb == "delete":
                out.records.append(verb)
                verb = ""
        else:
            state = update if verb == "update" else doc
            told = walk(line, state) if state is not None else None
            if told is None:
                out.lines.append(line)
            elif told.status is Status.OK:
                out.lines.append(told.tree)
            elif verb == "update":
                return fail(told.status, at + told.offset)
            else:
                out.broken.append(len(out.records))
                out.lines.append(b"{")
            out.records.append(verb)
            verb = ""
        at += len(line) + 1
    out.offset = len(body)
    if rest:
        out.line += 1
        return fail(Status.NO_NEWLINE, len(body))
    return out


def _keys(line: bytes) -> list[str]:
    value = tree(line)
    return [pair[0] for pair in value] if type(value).__name__ == "Object" else []
