"""What the core means, in plain Python: the oracle of its tests, slow and short.

`meaning` reads a body under a rule table and bindings and returns what should come out of it as a tree, with the status,
offset, marks and stops that go with it. `tree` reads any strict JSON into the same kind of tree, so that what the compiled
core has put out can be compared: a scalar that was copied is the very bytes that stood there (`Raw`), an edited one is a
Python value. Objects are lists of pairs, so that order and repetition show.

Nothing is shared with the compiled code but the format of its input, and nothing here knows about windows, edits or memory.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from esproxy.core import Action, Kind, Mark, Op, Status

SPACE = re.compile(rb"[ \t\n\r]*")
NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
UNFINISHED_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:(?:\.[0-9]+)?[eE][+-]?|\.)|-")
ESCAPE = re.compile(rb'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
UNFINISHED_ESCAPE = re.compile(rb"\\(?:u[0-9a-fA-F]{0,3})?")
PLAIN = re.compile(rb"[a-z0-9][a-z0-9_.-]*")
ANYTHING = (Kind.OPAQUE, Kind.DOC, Kind.SETTINGS)
OBJECTS = (*ANYTHING, Kind.QUERY)
FAR = 10**9


class Failed(Exception):
    def __init__(self, status: Status, offset: int) -> None:
        super().__init__(status, offset)
        self.status, self.offset = status, offset


class Raw(bytes):
    """A scalar as it stood in the body."""


class Left:
    """A value that is left out."""


@dataclass
class Meaning:
    status: Status = Status.OK
    offset: int = 0
    tree: Any = None
    marks: int = 0
    unknown: int = 0
    misses: int = 0
    asked: list[tuple[Kind, bytes]] = field(default_factory=list)
    asked_at: list[int] = field(default_factory=list)


def tree(body: bytes) -> Any:
    """Strict JSON as a tree. Raises Failed."""
    reader = Reader(body, [{"kind": "OPAQUE"}], {}, None, FAR)
    return reader.body(0)


def meaning(
    body: bytes,
    states: list[dict],
    root: int,
    actions: dict[Kind, Action],
    resolver: Callable[[Kind, bytes], bytes | None] | None = None,
    max_depth: int = 100,
) -> Meaning:
    reader = Reader(body, states, actions, resolver, max_depth)
    try:
        reader.out.tree = reader.body(root)
        reader.out.offset = len(body)
    except Failed as failed:
        reader.out.status, reader.out.offset = failed.status, failed.offset
    return reader.out


def same(value: Any, other: Any) -> bool:
    """Whether two trees mean the same; copied scalars have to be the same bytes."""
    if isinstance(value, list) and type(value) is type(other):
        return len(value) == len(other) and all(map(same, value, other))
    if isinstance(value, tuple) and isinstance(other, tuple):
        return value[0] == other[0] and same(value[1], other[1])
    if isinstance(value, Raw) and isinstance(other, Raw):
        return value == other
    if isinstance(value, Raw) or isinstance(other, Raw):
        plain = [json.loads(x) if isinstance(x, Raw) else x for x in (value, other)]
        return type(plain[0]) is type(plain[1]) and plain[0] == plain[1]
    return type(value) is type(other) and value == other


class Object(list):
    """Members as (key, value); an array is a plain list."""


class Reader:
    def __init__(self, body: bytes, states: list[dict], actions: dict[Kind, Action], resolver: Any, max_depth: int) -> None:
        self.body_, self.states, self.actions, self.resolver, self.max_depth = body, states, actions, resolver, max_depth
        self.at = 0
        self.depth = 0
        self.out = Meaning()

    # --- grammar

    def peek(self) -> bytes:
        """The next byte behind white space; b"" at the end."""
        self.at = SPACE.match(self.body_, self.at).end()
        return self.body_[self.at : self.at + 1]

    def wrong(self) -> Failed:
        if self.at >= len(self.body_):
            return Failed(Status.TRUNCATED, len(self.body_))
        return Failed(Status.ENCODING if self.body_[self.at] >= 0x80 else Status.SYNTAX, self.at)

    def expect(self, byte: bytes) -> None:
        if self.peek() != byte:
            raise self.wrong()
        self.at += 1

    def string(self) -> bytes:
        """The string at ``at``, quotes included."""
        start = self.at
        self.at += 1
        while True:
            rest = self.body_[self.at : self.at + 6]
            if not rest:
                raise self.wrong()
            if rest[0] == 0x22:
                self.at += 1
                return self.body_[start : self.at]
            if rest[0] == 0x5C:
                match = ESCAPE.match(rest)
                if not match:
                    raise Failed(Status.TRUNCATED, len(self.body_)) if UNFINISHED_ESCAPE.fullmatch(rest) else self.wrong()
                self.at += match.end()
            elif rest[0] < 0x20:
                raise self.wrong()
            elif rest[0] < 0x80:
                self.at += 1
            else:
                self.at += self.character(rest)

    def character(self, rest: bytes) -> int:
        decoder = codecs.getincrementaldecoder("utf-8")()
        for size in range(1, 5):
            if size > len(rest):
                raise Failed(*self._cut_short(rest))
            try:
                if decoder.decode(rest[size - 1 : size]):
                    return size
            except UnicodeDecodeError:
                raise Failed(Status.ENCODING, self.at) from None
        raise AssertionError("UTF-8 has at most four bytes")

    def _cut_short(self, rest: bytes) -> tuple[Status, int]:
        """The incremental decoder waits for more behind the beginning of a surrogate, which nothing could make right."""
        try:
            rest.decode()
        except UnicodeDecodeError as error:
            if error.reason != "unexpected end of data":
                return Status.ENCODING, self.at
        return Status.TRUNCATED, len(self.body_)

    def scalar(self) -> bytes:
        """The string, number or literal at ``at``."""
        first = self.peek()
        if first == b'"':
            return self.string()
        start = self.at
        for word in (b"true", b"false", b"null"):
            if word[:1] == first:
                for letter in word:
                    if self.at >= len(self.body_):
                        raise Failed(Status.TRUNCATED, len(self.body_))
                    if self.body_[self.at] != letter:
                        raise Failed(Status.SYNTAX, self.at)
                    self.at += 1
                return word
        matches = (NUMBER.match(self.body_, start), UNFINISHED_NUMBER.match(self.body_, start))
        self.at = longest = max((match.end() for match in matches if match), default=start)
        if longest == start or not NUMBER.fullmatch(self.body_, start, longest):
            raise self.wrong()
        return self.body_[start:longest]

    def enter(self) -> None:
        if self.depth >= self.max_depth:
            raise Failed(Status.DEPTH, self.at)
        self.depth += 1
        self.at += 1

    def members(self, close: bytes):
        """Positions at each member of the container that was entered; a generator that ends behind its closing byte."""
        if self.peek() == close:
            self.at += 1
        else:
            while True:
                yield
                if self.peek() == close:
                    self.at += 1
                    break
                self.expect(b",")
        self.depth -= 1

    def opaque(self) -> Any:
        """A value of which nothing is interpreted."""
        first = self.peek()
        if first == b"{":
            self.enter()
            pairs = Object()
            for _ in self.members(b"}"):
                if self.peek() != b'"':
                    raise self.wrong()
                key = json.loads(self.string())
                self.expect(b":")
                pairs.append((key, self.opaque()))
            return pairs
        if first == b"[":
            self.enter()
            return [self.opaque() for _ in self.members(b"]")]
        return Raw(self.scalar())

    def body(self, root: int) -> Any:
        if not self.peek():
            raise Failed(Status.EMPTY, len(self.body_))
        value = self.value(self.states[root])
        if self.peek():
            raise Failed(Status.TRAILING, self.at)
        return value

    # --- meaning

    def action(self, kind: Kind) -> Action:
        return Action(Op.REFUSE) if kind is Kind.REFUSE else self.actions.get(kind, Action(Op.COPY))

    def ask(self, kind: Kind, op: Op, start: int) -> Any:
        token = self.body_[start : self.at]
        if self.resolver is None:
            raise Failed(Status.VIOLATION if op is Op.STRIP else Status.UNRESOLVED, start)
        self.out.asked.append((kind, token))
        self.out.asked_at.append(start)
        answer = self.resolver(kind, token)
        if answer is None:
            self.out.misses += 1
            answer = token
        return tree(answer)

    def value(self, state: dict, slot: dict | None = None, keyed: bool = False) -> Any:
        """A value in a state. ``slot``: what its key is to the object it stands in."""
        slot = slot if slot is not None else {}
        kind = Kind[state.get("kind", "COPY")]
        action = self.action(kind)
        walked = "keys" in state or "other" in state
        first = self.peek()
        start = self.at
        if not first:
            raise self.wrong()
        if action.op is Op.REFUSE or (action.op is Op.DROP and not keyed):
            raise Failed(Status.REFUSED, start)
        if action.op is Op.DROP:
            self.opaque()
            return Left
        if "mark" in state:
            self.out.marks |= Mark[state["mark"]]
        if first == b"[":
            return self.array(state, kind, action, walked, slot)
        if first != b"{":
            return self.name_or_scalar(kind, action)
        if slot.get("spares"):
            slot["parent"]["spared"] = True
        if action.op is Op.STOP and kind in OBJECTS:
            self.opaque()
            return self.ask(kind, Op.STOP, start)
        if not walked and kind not in ANYTHING:
            raise Failed(Status.OBJECT, start)
        inside = self.object(state) if walked else self.opaque()
        if action.op is Op.WRAP:
            marker = "the body stands here"
            return _put(tree(action.a + json.dumps(marker).encode() + action.b), marker, inside)
        return inside

    def array(self, state: dict, kind: Kind, action: Action, walked: bool, slot: dict) -> Any:
        start = self.at
        if kind is Kind.OPAQUE and not walked and action.op is Op.STOP:
            self.opaque()
            return self.ask(kind, Op.STOP, start)
        if kind in ANYTHING and not walked and action.op is Op.COPY:
            return self.opaque()
        items = self.states[state["items"]] if "items" in state else state
        self.enter()
        values = [self.value(items, slot) for _ in self.members(b"]")]
        if not values and slot.get("absent"):
            values = [tree(slot["absent"])]
        return values

    def name_or_scalar(self, kind: Kind, action: Action) -> Any:
        start = self.at
        raw = self.scalar()
        if action.op is Op.COPY:
            return Raw(raw)
        if raw[:1] == b'"':
            return self.name(kind, action, raw, start)
        if action.op is Op.WRAP or kind in OBJECTS:
            return self.ask(kind, action.op, start)
        if raw == b"null" or action.op is Op.WATCH or (kind is Kind.SOURCE and raw in (b"true", b"false")):
            return Raw(raw)
        if action.op is Op.PREFIX and (raw in (b"true", b"false") or raw.isdigit()):
            return (action.a + raw).decode()
        if action.op is Op.STRIP and raw.startswith(action.a):
            return raw[len(action.a) :].decode()
        return self.ask(kind, action.op, start)

    def name(self, kind: Kind, action: Action, raw: bytes, start: int) -> Any:
        """A string, which may be a key, where something is done."""
        text = json.loads(raw)
        if any(0xD800 <= ord(c) <= 0xDFFF for c in text):
            raise Failed(Status.ENCODING, start)
        match action.op:
            case Op.PREFIX if PLAIN.fullmatch(raw[1:-1]):
                return action.a.decode() + text
            case Op.STRIP if raw[1:].startswith(action.a) and len(raw) > len(action.a) + 1:
                return json.loads(b'"' + raw[1 + len(action.a) :])
            case Op.WATCH:
                if text == action.a.decode():
                    self.out.marks |= Mark.META_FIELD
                return Raw(raw)
            case Op.REFUSE:
                raise Failed(Status.REFUSED, start)
        return self.ask(kind, action.op, start)

    def object(self, state: dict) -> Object:
        """An object whose keys are known."""
        self.enter()
        keys, ensured = state.get("keys", {}), state.get("ensure", [])
        pairs, seen, there, own = Object(), set(), set(), {"spared": False}
        for _ in self.members(b"}"):
            if self.peek() != b'"':
                raise self.wrong()
            start = self.at
            raw = self.string()
            key = json.loads(raw)
            if any(0xD800 <= ord(c) <= 0xDFFF for c in key):
                raise Failed(Status.ENCODING, start)
            if key in seen:
                raise Failed(Status.DUPLICATE, start)
            seen.add(key)
            slot = {}
            if key in keys:
                target, name = self.states[keys[key]], key
                slot = {
                    "spares": key in state.get("unless", []) and key not in ensured,
                    "parent": own,
                    "absent": self.absent(target) if key in ensured else b"",
                }
            elif "other" in state:
                name, target = self.other_key(state, raw, key, start)
            else:
                raise Failed(Status.UNKNOWN_KEY, start)
            self.expect(b":")
            if name is Left:
                self.opaque()
                continue
            value = self.value(target, slot, keyed=True)
            if value is not Left:
                there.add(key)
                pairs.append((name, value))
        for key in ensured:
            absent = self.absent(self.states[keys[key]])
            if key not in there and absent and not own["spared"]:
                pairs.append((key, tree(absent)))
        return pairs

    def absent(self, state: dict) -> bytes:
        return self.action(Kind[state.get("kind", "COPY")]).absent

    def other_key(self, state: dict, raw: bytes, key: str, start: int) -> tuple[Any, dict]:
        """A key that is not known by name: what becomes of it, and the state of its value."""
        kind, target = Kind[state["other"][0]], self.states[state["other"][1]]
        action = self.action(kind)
        if action.op is Op.DROP or self.action(Kind[target.get("kind", "COPY")]).op is Op.DROP:
            return Left, target
        if kind is Kind.UNKNOWN:
            self.out.unknown += 1
        if kind is Kind.TAGGED:
            tag, sharp, rest = raw[1:-1].partition(b"#")
            if not sharp or tag.decode() not in state.get("tags", {}):
                return key, target
            target = self.states[state["tags"][tag.decode()]]
            if action.op is Op.STRIP:
                return json.loads(b'"' + rest + b'"'), target
        if action.op is Op.COPY or (kind is Kind.TAGGED and action.op is Op.STRIP):
            return key, target
        name = self.name(kind, action, raw, start)
        return json.loads(name) if isinstance(name, Raw) else name, target


def _put(value: Any, marker: str, inside: Any) -> Any:
    """The tree with what stands for the body replaced by it."""
    if isinstance(value, Raw):
        return inside if value == json.dumps(marker).encode() else value
    if isinstance(value, tuple):
        return value[0], _put(value[1], marker, inside)
    if isinstance(value, list):
        return type(value)(_put(element, marker, inside) for element in value)
    return value
