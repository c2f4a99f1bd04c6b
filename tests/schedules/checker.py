"""Judges a history against what the cluster's directory said at each moment.

The directory is changed by compare-and-set, so its versions are one sequence, and every operation must be explained by a
version that was in force at some moment between its invocation and its response (linearizability, with the directory's own
history as the order):

    write acknowledged   the name meant the number under which the document was stored
    search answered      the name meant exactly these numbers; all acknowledged before are among the hits, and nothing else is
    404                  the name meant nothing
    a change acknowledged   such a change came into force

Numbers of stored documents are read from the node, not from what an operation claims.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from esproxy.catalogue import codec
from esproxy.catalogue.documents import CLOSED, CREATING, OPEN, Directory, Index, Pool
from esproxy.catalogue.names import CATALOGUE, directory_id, parse_scope
from esproxy.catalogue.scopes import END
from tests.schedules.clients import TENANT, History, Op
from tests.schedules.model import Doc, Node


@dataclass(slots=True)
class Version:
    step: int
    indices: dict[str, int]  # open
    present: dict[str, int]  # in any state
    aliases: dict[str, tuple[str, ...]]
    closing: frozenset[str] = frozenset()

    def means(self, name: str) -> list[int]:
        if self.aliases.get(name):
            return [self.indices[t] for t in self.aliases[name] if t in self.indices]
        return [self.indices[name]] if name in self.indices else []


@dataclass(slots=True)
class Watcher:
    """Notes every version of the directory and every document stored, as the node applies them."""

    world: Any
    versions: list[Version] = field(default_factory=lambda: [Version(0, {}, {}, {})])
    stored: dict[str, int] = field(default_factory=dict)  # value → number

    def __call__(self, name: str, id: str, doc: Doc | None) -> None:
        if name == CATALOGUE and id == directory_id(TENANT) and doc is not None:
            d = codec.decode(Directory, doc.source)
            self.versions.append(
                Version(
                    self.world.step,
                    {n: e.n for n, e in d.indices.items() if e.state == OPEN},
                    {n: e.n for n, e in d.indices.items()},
                    {n: tuple(sorted(a.now)) for n, a in d.aliases.items() if a.now},
                    frozenset(n for n, e in d.indices.items() if e.then == CLOSED),
                )
            )
        elif doc is not None and doc.routing is not None:
            owner = parse_scope(doc.routing.removesuffix(END))
            assert owner is not None
            self.stored[doc.source["value"]] = owner[1]


def violations(history: History, watcher: Watcher) -> list[str]:
    found: list[str] = []
    acked = [(op, watcher.stored.get(op.arg)) for op in history.ops if op.kind == "write" and op.status == 200]
    for op in history.ops:
        if op.end is None:
            continue
        why = _judge(op, _during(history, watcher, op), acked, watcher, history)
        if why:
            found.append(f"{op.kind} {op.name} via {op.via} at {op.start}..{op.end}: {why} (result {op.result!r})")
    return found


def _during(history: History, watcher: Watcher, op: Op) -> list[Version]:
    """The versions in force at some moment of the operation, and the one before them. An addition that nobody has acknowledged
    when the operation begins need not be seen by everybody yet, so the version before it counts as well."""
    assert op.end is not None
    versions = watcher.versions
    first = max(at for at, v in enumerate(versions) if at == 0 or v.step < op.start)
    while first > 0:
        old, new = versions[first - 1], versions[first]
        if not _only_adds(old, new) or _acknowledged(history, watcher, old, new, op.start):
            break
        first -= 1
    return [v for v in versions[first:] if v.step <= op.end]


def _only_adds(old: Version, new: Version) -> bool:
    return old.indices.items() <= new.indices.items() and old.aliases.items() <= new.aliases.items()


def _acknowledged(history: History, watcher: Watcher, old: Version, new: Version, before: int) -> bool:
    """Has any client been told of what was added here? To be told that it exists already counts too."""
    added = {name: n for name, n in new.indices.items() if name not in old.indices}
    names = added.keys() | (new.aliases.keys() - old.aliases.keys())
    for op in history.ops:
        if op.end is None or op.end >= before or op.end < new.step:
            continue
        if op.status == 200 and op.kind in ("create", "alias", "reopen") and op.start <= new.step and op.name in names:
            return True
        if op.status == 200 and op.kind == "write" and watcher.stored.get(op.arg) in added.values():
            return True
        if op.status == 400 and op.kind == "create" and op.name in added:
            return True
    return False


def _judge(op: Op, versions: list[Version], acked: list[tuple[Op, int | None]], watcher: Watcher, history: History) -> str | None:
    changes = list(pairwise(versions))
    match op.kind, op.status:
        case "write", 200:
            number = watcher.stored.get(op.arg)
            if number is None:
                return "acknowledged and never stored"
            if not any(number in v.means(op.name) for v in versions):
                return f"acknowledged into {number}, which the name never meant meanwhile"
        case "search", 200:
            wrong = [_misread(op, v, acked, watcher, history) for v in versions]
            if all(wrong):
                return f"no moment explains it: {wrong}"
        case (("write" | "search"), 404):
            if all(v.means(op.name) for v in versions):
                return "404 although it was there all the time"
        case (("delete" | "close" | "reopen"), 404):
            if all(op.name in v.indices for v in versions):
                return "404 although it was there all the time"
        case "create", 200:
            if not any(op.name not in a.indices and op.name in b.indices for a, b in changes):
                return "acknowledged, and nothing was created"
        case "create", 400:
            if not any(op.name in v.present or op.name in v.aliases for v in versions):
                return "already exists, but never did"
        case "delete", 200:
            if not all(any(n in a.present.values() and n not in b.present.values() for a, b in changes) for n in op.result):
                return "acknowledged, and nothing was deleted"
        case "close", 200:
            # A reopening meanwhile takes a close back that has not come to effect: the two at once.
            undone = any(op.name in a.closing and op.name in b.indices and op.name not in b.closing for a, b in changes)
            if not undone and not any(op.name not in v.indices for v in versions):
                return "acknowledged, and it was open all the time"
        case "reopen", 200:
            if not any(op.name in v.indices for v in versions):
                return "acknowledged, and it was never open"
        case "alias", 200:
            if not any(_alias_is(v, op) for v in versions):
                return f"acknowledged, and it never pointed there: {[v.aliases for v in versions]}"
    return None


def _alias_is(version: Version, op: Op) -> bool:
    """As wanted, but for targets that were deleted meanwhile."""
    now = version.aliases.get(op.name, ())
    return set(now) <= set(op.result) and all(version.present.get(t) != n for t, n in op.result.items() if t not in now)


def _misread(op: Op, version: Version, acked: list[tuple[Op, int | None]], watcher: Watcher, history: History) -> str | None:
    if op.name == "*":
        meant = dict(version.indices)
    else:
        meant = {n: version.indices[n] for n in version.aliases.get(op.name, (op.name,)) if n in version.indices}
    if set(meant) != set(op.result):
        return f"at {version.step} it meant {meant}"
    if not meant and op.name != "*":
        return "it meant nothing"
    for name, values in op.result.items():
        alien = [v for v in values if watcher.stored[v] != meant[name]]
        opened = next(v.step for v in watcher.versions if meant[name] in v.indices.values())
        alien += [w.arg for w in history.ops if w.kind == "write" and w.arg in values and w.end is not None and w.end < opened]
        if alien:
            return f"at {version.step} {name} was {meant[name]}; {alien} are of another creation"
        lost = [w.arg for w, n in acked if n == meant[name] and w.end is not None and w.end < op.start and w.arg not in values]
        if lost:
            return f"at {version.step} {name} was {meant[name]}; {lost} were acknowledged before and are missing"
    return None


def disagreements(node: Node, history: History, watcher: Watcher) -> list[str]:
    """At the end, with everything swept: directory, pools, documents and tombstones tell the same."""
    found: list[str] = []
    catalogue = node.indices[CATALOGUE].docs
    raw = catalogue.get(directory_id(TENANT))
    directory = codec.decode(Directory, raw.source) if raw is not None else Directory(TENANT, 0)
    if directory.busy():
        found.append(f"left undone: {directory}")
    live = {e.n: e for e in directory.indices.values()}
    pools = [codec.decode(Pool, d.source) for id, d in catalogue.items() if id.startswith("pool:")]
    known = {g.physical for pool in pools for g in pool.generations}
    for entry in live.values():
        if entry.physical not in known or node.indices.get(entry.physical) is None or node.indices[entry.physical].body is None:
            found.append(f"{entry} is in no pool")
    metas = {codec.decode(Index, d.source).n for id, d in catalogue.items() if id.startswith("index:")}
    if set(live) - metas:
        found.append(f"index documents are missing for {set(live) - metas}")
    if {m for m in metas if m < directory.next} - set(live):
        found.append(f"index documents are left of {metas - set(live)}")
    kept = set()
    for name, index in node.indices.items():
        if not name.startswith("pool~"):
            continue
        if name not in known:
            found.append(f"physical index {name} is nobody's")
        for doc in index.docs.values():
            number = parse_scope((doc.routing or "").removesuffix(END))
            if number is None or number[1] not in live or live[number[1]].physical != name:
                found.append(f"{doc} lies in {name} and belongs to nobody")
            kept.add(doc.source["value"])
    for op in history.ops:
        if op.kind == "write" and op.status == 200 and watcher.stored[op.arg] in live and op.arg not in kept:
            found.append(f"the acknowledged write {op.arg} is gone")
    numbers: dict[int, str] = {}
    for version in watcher.versions:
        for name, n in version.present.items():
            if numbers.setdefault(n, name) != name:
                found.append(f"number {n} was used twice")
    for before, after in pairwise(watcher.versions):
        again = set(after.present.values()) - set(before.present.values())
        if any(n in v.present.values() for n in again for v in watcher.versions if v.step < before.step):
            found.append(f"one of the numbers {again} came back")
    if any(e.state == CREATING for e in live.values()):
        found.append("a creation was left")
    return found
