"""From terms to the states of a rule table.

A JSON value can be of several types at once (a union, an alias that grew, two versions' opinions). A **state** stands for
such a set of *members*: subset construction, with the types as the nondeterministic automaton and object keys as its
letters. Arrays and aliases are empty moves. So the walker never has to try alternatives, and there is exactly one
state for a value whatever the path that led to it.

    members      Leaf(kind) | Ref(interface) | Dict(key, value) | ROOT
    state        what all its members say together: one kind, known keys, what other keys are

Two members that know the same key merge their targets. Two members that give a value different kinds are an error of the
definitions or of an override, and end the generation with the path at fault: a position has one meaning.

Requests and answers are built apart: a request refuses a key that no member knows, an answer copies and counts it. What
follows is in ``minimise``.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from esproxy.api.kinds import Kind
from esproxy.api.schema import Dict, Items, Leaf, Ref, Root, Schema, Term, Union, Var, substitute

OPAQUE_STATE, SCALAR_STATE = 0, 1
# Kinds of whole values, which are not walked into.
WHOLE = frozenset((Kind.OPAQUE, Kind.REFUSE, Kind.DOC, Kind.SETTINGS))
# Of two kinds at one position the wider one, where one says less than the other.
WIDER = {frozenset((Kind.INDEX, Kind.EXPR)): Kind.EXPR, frozenset((Kind.FIELD, Kind.SOURCE)): Kind.SOURCE}
# Kinds whose value is noted when seen in a request.
MARKS = {Kind.SCRIPT: "SCRIPT", Kind.DOC: "DOC"}


@dataclass(frozen=True, slots=True)
class Flag:
    name: str


ROOT = Flag("ROOT")
Member = Leaf | Ref | Dict | Items | Flag
Members = frozenset[Member]


class GrammarError(ValueError):
    """The definitions and overrides give some position two meanings, or none."""


@dataclass(slots=True)
class State:
    """One JSON value, see docs/design/rule-tables.md. Targets are indices into the list of states."""

    kind: Kind = Kind.COPY
    keys: dict[str, int] | None = None
    other: tuple[Kind, int] | None = None
    tags: dict[str, int] = field(default_factory=dict)
    items: int | None = None
    ensure: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    mark: str | None = None
    reason: str = ""

    def shape(self) -> tuple[Any, ...]:
        """What tells two states apart without following them."""
        return (
            self.kind,
            None if self.keys is None else tuple(sorted(self.keys)),
            self.other and self.other[0],
            tuple(sorted(self.tags)),
            self.items is not None,
            self.ensure,
            self.unless,
            self.mark or "",
            self.reason,
        )

    def targets(self) -> list[int]:
        """Following states in an order that depends on the shape alone."""
        out = [self.keys[key] for key in sorted(self.keys)] if self.keys else []
        out += [self.tags[tag] for tag in sorted(self.tags)]
        out += [self.other[1]] if self.other else []
        return out + ([self.items] if self.items is not None else [])


@dataclass(slots=True)
class _Draft:
    """What one state will be, with sets of members for its targets."""

    keys: dict[str, set[Member]] | None = None
    key_kind: Kind | None = None
    rest: set[Member] = field(default_factory=set)
    tags: dict[str, set[Member]] = field(default_factory=dict)


class Builder:
    """Subset construction over one schema. ``labels``: kind of a named type; ``undecided``: named types that mean
    different things in different places, so that each property of theirs needs a verdict of its own."""

    def __init__(self, schema: Schema, labels: dict[str, Kind], undecided: frozenset[str]) -> None:
        self.schema = schema
        self.labels = labels
        self.undecided = undecided
        self.states: list[State] = [State(Kind.OPAQUE), State()]
        self.errors: list[str] = []
        self.named: dict[str, str] = {}  # "type.property" → kinds, of everything reached that is more than a copy
        self._numbers: dict[tuple[bool, Members], int] = {}
        self._paths: dict[int, str] = {}
        self._todo: deque[tuple[int, bool, Members]] = deque()
        self._members: dict[Term, Members] = {}

    # --- members ---------------------------------------------------------------------------------

    def members(self, term: Term) -> Members:
        """What the term stands for once aliases, unions and shortcuts are resolved. Raises GrammarError."""
        known = self._members.get(term)
        if known is None:
            known = self._members[term] = frozenset(self._resolve(term, frozenset()))
        return known

    def _resolve(self, term: Term, open_: frozenset[Term]) -> set[Member]:
        if isinstance(term, (Leaf, Dict, Items)):
            return {term}
        if isinstance(term, Var):
            return {Leaf(Kind.DOC)}
        if isinstance(term, Root):
            return {ROOT} | self._resolve(term.of, open_)
        if isinstance(term, Union):
            return set().union(*(self._resolve(item, open_) for item in term.items))
        if term.name in self.labels:
            return {Leaf(self.labels[term.name])}
        if term.name in self.undecided:
            raise GrammarError(f"{term.name} needs a verdict")
        if term in open_:
            return set()
        type_ = self.schema.types.get(term.name)
        if type_ is None:
            raise GrammarError(f"no such type: {term.name}")
        if type_.alias is not None:
            body = type_.alias
            if term.args:
                body = substitute(body, dict(zip(type_.generics, term.args, strict=True)))
            return self._resolve(body, open_ | {term})
        out: set[Member] = {term}
        if type_.shortcut:
            out |= self._resolve(self.schema.terms(term.name, term.args)[type_.shortcut], open_ | {term})
        return out

    # --- states ----------------------------------------------------------------------------------

    def root(self, term: Term, *, answer: bool, path: str) -> int:
        """The state of a whole body. All states that follow are built on the way; see ``errors`` afterwards."""
        try:
            number = self._number(self.members(term), answer, path)
        except GrammarError as error:
            self.errors.append(f"{path}: {error}")
            return OPAQUE_STATE
        while self._todo:
            self._build(*self._todo.popleft())
        return number

    def kind(self, term: Term) -> Kind:
        """The kind of a parameter, which is always a scalar or a comma list. Raises GrammarError."""
        return self._kind({m for m in self.members(term) if isinstance(m, Leaf)})[0]

    def _number(self, members: Members, answer: bool, path: str) -> int:
        if not answer:
            if members == {Leaf(Kind.COPY)}:
                return SCALAR_STATE
            if members == {Leaf(Kind.OPAQUE)}:
                return OPAQUE_STATE
        key = (answer, members)
        if key not in self._numbers:
            self._numbers[key] = len(self.states)
            self._paths[len(self.states)] = path
            self._todo.append((len(self.states), answer, members))
            self.states.append(State())
        return self._numbers[key]

    def _build(self, number: int, answer: bool, members: Members) -> None:
        path = self._paths[number]
        state = self.states[number]
        try:
            state.kind, state.reason = self._kind({m for m in members if isinstance(m, Leaf)})
        except GrammarError as error:
            self.errors.append(f"{path}: {error}")
            return
        if not answer:
            state.mark = self._mark(state.kind, members, path)
        if state.kind in WHOLE:
            if self._hides(members):
                self.errors.append(f"{path}: is {state.kind.name} and yet an object that holds names")
            return
        if ROOT in members:
            state.kind = Kind.QUERY
        draft = self._draft(members, answer, path)
        if draft.keys is not None:
            state.keys = {key: self._target(draft.keys[key], answer, f"{path}.{key}") for key in sorted(draft.keys)}
        if draft.key_kind is not None:
            state.other = draft.key_kind, self._target(draft.rest, answer, f"{path}.<{draft.key_kind.name}>")
            state.tags = {tag: self._target(draft.tags[tag], answer, f"{path}.{tag}#") for tag in sorted(draft.tags)}
        elif answer:
            state.other = Kind.UNKNOWN, self._target({Leaf(Kind.OPAQUE)}, False, path)
        items = [m for m in members if isinstance(m, Items)]
        if items:
            state.items = self._target(set().union(*(self._resolved(m.of, f"{path}[]") for m in items)), answer, f"{path}[]")
        if not answer:
            objects = [self.schema.types[m.name] for m in members if isinstance(m, Ref)]
            state.ensure = tuple(sorted({key for type_ in objects for key in type_.ensure}))
            state.unless = tuple(sorted({key for type_ in objects for key in type_.unless}))

    def _target(self, members: set[Member], answer: bool, path: str) -> int:
        return self._number(frozenset(members), answer, path)

    def _kind(self, leaves: set[Leaf]) -> tuple[Kind, str]:
        kinds = {leaf.kind for leaf in leaves} - {Kind.COPY}
        if len(kinds) > 1:
            wider = WIDER.get(frozenset(kinds))
            if wider is None:
                raise GrammarError(f"is {' and '.join(sorted(kind.name for kind in kinds))} at once")
            return wider, ""
        reasons = sorted(leaf.reason for leaf in leaves if leaf.reason)
        return (kinds.pop() if kinds else Kind.COPY), (reasons[0] if reasons else "")

    def _hides(self, members: Members) -> bool:
        """Whether objects among the members hold kinds, which would go unseen where the value is taken as a whole."""
        todo, seen = [m for m in members if not isinstance(m, Leaf)], set()
        while todo:
            member = todo.pop()
            if member in seen:
                continue
            seen.add(member)
            if isinstance(member, Leaf):
                if member.kind not in (Kind.COPY, Kind.OPAQUE):
                    return True
            elif isinstance(member, Ref):
                todo += [m for term in self.schema.terms(member.name, member.args).values() for m in self.members(term)]
                other = self.schema.other(member.name, member.args)
                todo += [] if other is None else [other]
            elif isinstance(member, Dict):
                todo += [*self.members(member.key), *self.members(member.value)]
            else:
                return True
        return False

    def _mark(self, kind: Kind, members: Members, path: str) -> str | None:
        marks = {self.schema.types[m.name].mark for m in members if isinstance(m, Ref)} | {MARKS.get(kind)}
        marks.discard(None)
        if len(marks) > 1:
            self.errors.append(f"{path}: has the marks {sorted(map(str, marks))}")
        return min(marks, key=str) if marks else None

    def _draft(self, members: Members, answer: bool, path: str) -> _Draft:
        """Keys and targets of all object members together."""
        draft = _Draft()
        objects = []
        for member in sorted((m for m in members if isinstance(m, (Ref, Dict))), key=repr):
            keys, other = self._object(member, path) if isinstance(member, Ref) else ({}, member)
            objects.append((member, keys, other))
            if isinstance(member, Ref) and draft.keys is None:
                draft.keys = {}
            if other is not None:
                self._merge_other(draft, other, answer, path)
        sole = {
            key: keys[key]
            for ref, keys, _ in objects
            if isinstance(ref, Ref) and self.schema.types[ref.name].sole
            for key in keys
        }
        for key in {key for _, keys, _ in objects for key in keys}:
            assert draft.keys is not None
            target = draft.keys[key] = set(sole.get(key, ()))
            for _, known, other in () if key in sole else objects:
                if key in known:
                    target |= known[key]
                elif other is not None and not (answer and self._tagged(other.value)):  # a tagged key has a # in it
                    target |= self._resolved(other.value, f"{path}.{key}")
        return draft

    def _object(self, ref: Ref, path: str) -> tuple[dict[str, Members], Dict | None]:
        keys: dict[str, Members] = {}
        for prop, term in self.schema.terms(ref.name, ref.args).items():
            owner = self._owner(ref.name, prop)
            keys[prop] = self._resolved(term, f"{path}.{prop} ({owner}, {prop})")
            self._note(f"{owner}.{prop}", keys[prop])
        return keys, self.schema.other(ref.name, ref.args)

    def _note(self, where: str, members: Members) -> None:
        """Remember what a property was found to be, so that a later version cannot lose it unnoticed."""
        kinds = {m.kind.name for m in members if isinstance(m, Leaf)}
        kinds |= {
            f"keys {m.kind.name}"
            for d in members
            if isinstance(d, Dict)
            for m in self._resolved(d.key, f"{where} keys")
            if isinstance(m, Leaf)
        }
        kinds |= {"QUERY"} if ROOT in members else set()
        if kinds - {"COPY", "OPAQUE", "keys COPY"}:
            self.named[where] = " ".join(sorted(kinds - {"COPY", "keys COPY"}))

    def _owner(self, name: str, prop: str) -> str:
        """The type that a row of overrides has to name for this property."""
        for level, _ in self.schema.lineage(name):
            if prop in level.properties:
                return level.name
        return name

    def _resolved(self, term: Term, path: str) -> Members:
        try:
            return self.members(term)
        except GrammarError as error:
            self.errors.append(f"{path}: {error}")
            return frozenset({Leaf(Kind.COPY)})

    def _merge_other(self, draft: _Draft, other: Dict, answer: bool, path: str) -> None:
        tagged = self._tagged(other.value) if answer else None
        if tagged is not None:
            for tag, member in tagged.items():
                draft.tags.setdefault(tag, set()).update(member)
            draft.key_kind = Kind.TAGGED
            draft.rest |= self._untagged(other.value)
            return
        kinds = {self._kind({m for m in self._resolved(other.key, f"{path} keys") if isinstance(m, Leaf)})[0]}
        if draft.key_kind is not Kind.TAGGED:
            kinds |= {draft.key_kind} if draft.key_kind is not None else set()
            kinds -= {Kind.COPY} if len(kinds) > 1 else set()
            if len(kinds) > 1:
                self.errors.append(f"{path}: its keys are {sorted(k.name for k in kinds)} at once")
            draft.key_kind = min(kinds)
        draft.rest |= self._resolved(other.value, f"{path}.*")

    def _untagged(self, term: Term) -> Members:
        assert isinstance(term, Ref)
        untagged = self.schema.types[term.name].untagged
        return self.members(untagged) if untagged else frozenset({Leaf(Kind.OPAQUE)})

    def _tagged(self, term: Term) -> dict[str, Members] | None:
        """For a union whose members are told by typed_keys: tag → members."""
        if not isinstance(term, Ref) or term.name in self.labels:
            return None
        type_ = self.schema.types[term.name]
        if not type_.tagged:
            return None
        union = substitute(type_.alias, dict(zip(type_.generics, term.args, strict=True)))  # type: ignore[arg-type]
        assert isinstance(union, Union)
        out: dict[str, Members] = {}
        for item in union.items:
            assert isinstance(item, Ref)
            tag = self.schema.types[item.name].tag
            if tag is None:
                self.errors.append(f"{item.name}: a member of {term.name} without a tag")
            else:
                out[tag] = out.get(tag, frozenset()) | self.members(item)
        return out
