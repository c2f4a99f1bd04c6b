"""What clients of a fleet did and were told, and what in it cannot be.

An operation began and ended at known times; between them it took effect, if it did. Nothing else orders two operations than
that one ended before the other began. What may have happened is decided in favour of the proxies, what must have happened
rests on acknowledgements:

* answered with 2xx: it took effect, between its two times;
* answered with 4xx: it took no effect;
* a 5xx, or a connection that broke: it may have taken effect, or may yet. A *change of names* that was left half done is
  finished by whoever finds it, until somebody else's acknowledged change of the same name shows that it is over. A *document* is
  bound to the creation that was there while its request was under way;
* a time-out: as before, and the request itself may still be under way in a process that is stopped (``Op.open``).

Values are written once each, so a value that is read tells which write it came from, and whose it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

CREATES = ("create", "write")  # a write makes its index
READS = ("get", "search")
EVERYTHING = "*"  # the name of a search over all indices
INFINITY = float("inf")


@dataclass(slots=True)
class Op:
    """``status`` 0: no answer. ``code``: the type of an error. ``values``: written, looked for by id, or read.

    create, delete        name
    write, remove         name, values: documents put into it, or one taken out
    get                   name, values: the document asked for; found: itself, or nothing
    search                name (an index, an alias, or ``*``), refreshed before; found: what was read
    alias                 name, values: the only index it is to point at
    """

    kind: str
    tenant: str
    name: str
    begin: float
    end: float = INFINITY
    status: int = 0
    code: str = ""
    values: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    open: bool = False
    via: str = ""

    @property
    def acknowledged(self) -> bool:
        return 200 <= self.status < 300

    @property
    def refused(self) -> bool:
        return 400 <= self.status < 500 and self.status not in (408, 429)

    @property
    def no_index(self) -> bool:
        return self.status == 404 and self.code == "index_not_found_exception"

    def __str__(self) -> str:
        told = f"{self.status} {self.code}".strip() if self.status else "no answer"
        what = f"{self.kind} {self.tenant}/{self.name} {','.join(self.values)}".strip()
        return f"[{self.begin:.3f}–{self.end:.3f} {what} via {self.via}: {told}]"


@dataclass
class Names:
    """What one tenant did, by logical name."""

    ops: list[Op]
    by_name: dict[str, list[Op]] = field(init=False)
    writes: dict[str, Op] = field(init=False)  # value → what wrote it
    removals: dict[str, list[Op]] = field(init=False)

    def __post_init__(self) -> None:
        self.by_name = defaultdict(list)
        self.removals = defaultdict(list)
        self.writes = {}
        for op in self.ops:
            self.by_name[op.name].append(op)
            if op.kind == "write":
                self.writes |= dict.fromkeys(op.values, op)
            elif op.kind == "remove" and not op.refused:
                self.removals[op.values[0]].append(op)

    @cached_property
    def deletes(self) -> dict[str, list[tuple[float, float]]]:
        """By name: when deletes of it may have taken effect."""
        by_name = self.by_name.items()
        return {name: [self._span(op) for op in ops if op.kind == "delete" and not op.refused] for name, ops in by_name}

    @cached_property
    def pointings(self) -> dict[str, list[tuple[Op, float, float]]]:
        """By alias: changes of it, and when each may have taken effect."""
        aliases = {op.name for op in self.ops if op.kind == "alias"}
        return {a: [(op, *self._span(op)) for op in self.by_name[a] if op.kind == "alias" and not op.refused] for a in aliases}

    def _span(self, op: Op) -> tuple[float, float]:
        """When a change of a name may have taken effect. One that was not acknowledged is over when a later one of the same name
        has been: that one met what was left of it and ended it, or came to a new creation."""
        if op.acknowledged:
            return op.begin, op.end
        if op.open:
            return op.begin, INFINITY
        kinds = ("create", "delete") if op.kind == "delete" else (op.kind,)
        later = [o.end for o in self.by_name[op.name] if o.kind in kinds and o.acknowledged and o.begin > op.end]
        return op.begin, min(later, default=INFINITY)

    def deleted_until(self, name: str, before: float) -> float:
        """The last moment at which a delete of this name that began before ``before`` may have taken effect."""
        return max((end for begin, end in self.deletes.get(name, ()) if begin <= before), default=-INFINITY)

    def may_be_deleted(self, name: str, after: float, before: float) -> bool:
        """May a delete of this name have taken effect between these two moments?"""
        return self.deleted_until(name, before) >= after


def violations(ops: Iterable[Op]) -> list[str]:
    """Everything in a history that the promise rules out."""
    ops = sorted(ops, key=lambda op: op.begin)
    owners = {value: op.tenant for op in ops if op.kind == "write" for value in op.values}
    found = [wrong for op in ops if (wrong := foreign(op, owners))]
    for tenant in sorted({op.tenant for op in ops}):
        names = Names([op for op in ops if op.tenant == tenant])
        for op in names.ops:
            for rule in RULES:
                found += [f"{rule.__name__}: {op}: {why}" for why in rule(op, names)]
    return found


def foreign(op: Op, owners: dict[str, str]) -> str | None:
    """No tenant sees what is another's, or what nobody wrote."""
    alien = [value for value in op.found if owners.get(value) != op.tenant]
    return f"foreign: {op}: {alien} are not this tenant's" if alien else None


def misplaced(op: Op, names: Names) -> Iterable[str]:
    """What is read by an index's name was written into it."""
    if op.kind in READS and op.acknowledged and op.name != EVERYTHING and op.name not in names.pointings:
        elsewhere = [v for v in op.found if v in names.writes and names.writes[v].name != op.name]
        if elsewhere:
            yield f"{elsewhere} were written elsewhere"


def resurrected(op: Op, names: Names) -> Iterable[str]:
    """What was there before an acknowledged delete began is not read after it."""
    if op.kind not in READS or not op.acknowledged:
        return
    for value in op.found:
        write = names.writes.get(value)
        if write is None or write.open:
            continue
        deletes = (d for d in names.by_name[write.name] if d.kind == "delete" and d.acknowledged)
        for delete in (*deletes, *(r for r in names.removals[value] if r.acknowledged)):
            if write.end < delete.begin and delete.end < op.begin:
                yield f"{value}, by {write}, was deleted by {delete}"
                break


def lost(op: Op, names: Names) -> Iterable[str]:
    """What was acknowledged before a read began is found by it, unless it may have been deleted since."""
    if op.kind not in READS or not (op.acknowledged or op.no_index):
        return
    until: dict[str, float] = {}
    found = set(op.found)
    for value in wanted(op, names):
        write = names.writes[value]
        if value in found or not write.acknowledged or write.end >= op.begin:
            continue
        if write.name not in until:
            until[write.name] = names.deleted_until(write.name, op.end)
        if until[write.name] >= write.begin:
            continue
        if any(removal.begin <= op.end for removal in names.removals[value]):
            continue
        yield f"{value}, by {write}, is missing"


def wanted(op: Op, names: Names) -> Iterable[str]:
    """The values that a read is about."""
    if op.kind == "get":
        return [value for value in op.values if value in names.writes]
    if op.name == EVERYTHING:
        return names.writes
    targets = {op.name} if op.name not in names.pointings else target_of(op, names)
    return [value for value, write in names.writes.items() if write.name in targets]


def target_of(op: Op, names: Names) -> set[str]:
    """The index that an alias certainly stood for all through a read; none where that is not certain."""
    spans = names.pointings[op.name]
    before = [(end, change) for change, _, end in spans if change.acknowledged and end < op.begin]
    if not before:
        return set()
    _, last = max(before, key=lambda pair: pair[0])
    if any(change is not last and begin <= op.end and end >= last.begin for change, begin, end in spans):
        return set()
    target = last.values[0]
    return set() if names.may_be_deleted(target, last.begin, op.end) else {target}


def gone(op: Op, names: Names) -> Iterable[str]:
    """No 404 for an index, or an alias, that has been acknowledged, unless it may have been deleted since."""
    if not op.no_index or op.name == EVERYTHING:
        return
    if op.kind != "alias" and op.name in names.pointings:
        if target_of(op, names):
            yield "the alias had been acknowledged"
        return
    name = op.values[0] if op.kind == "alias" else op.name
    creation = last_creation(name, names, op)
    if creation is not None:
        yield f"it was there since {creation}"


def twice(op: Op, names: Names) -> Iterable[str]:
    """An index that is there is not created again."""
    if op.kind == "create" and op.acknowledged:
        creation = last_creation(op.name, names, op)
        if creation is not None:
            yield f"it was there since {creation}"


def baffled(op: Op, names: Names) -> Iterable[str]:
    """A creation is told that it was done, or that the index is there; never that there is none."""
    if op.kind == "create" and op.no_index:
        yield "a creation needs no index to be there"


def last_creation(name: str, names: Names, op: Op) -> Op | None:
    """An acknowledged sign that the index was there, after which no delete can have taken effect before the operation ended."""
    for sign in names.by_name[name]:
        there = sign.acknowledged if sign.kind in CREATES else sign.kind == "get" and bool(sign.found)
        if there and sign.end < op.begin and not names.may_be_deleted(name, sign.begin, op.end):
            return sign
    return None


def astray(op: Op, names: Names) -> Iterable[str]:
    """What is read through an alias lies in an index that it may have stood for."""
    if op.kind != "search" or not op.acknowledged or op.name not in names.pointings:
        return
    certain = target_of(op, names)
    if certain:
        outside = [v for v in op.found if v in names.writes and names.writes[v].name not in certain]
        if outside:
            yield f"{outside} do not lie in {sorted(certain)}"


RULES = (misplaced, resurrected, lost, gone, twice, baffled, astray)
