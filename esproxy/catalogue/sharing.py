"""How much is shared: logical indices, physical indices, and what is alone and why, per layout.

``measure`` computes it from the catalogue's own documents, so that anybody who has them (an operator's command, the demo, a
test) gets the same figures; ``sharing`` reads them.

*Pooled* is an index that lies where others may lie too. One that is not has a pool of one, and a reason from the closed list
(``pools.REASONS``); ``share`` is what is pooled of all that have none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from esproxy.catalogue import codec, names, pools
from esproxy.catalogue.documents import Directory, Index
from esproxy.catalogue.store import Steps, Store

SHOWN = 20  # names listed per reason


@dataclass(slots=True)
class Layout:
    """One layout's indices. ``alone``: reason → ``tenant/index``, for pools of one."""

    logical: int = 0
    pooled: int = 0
    physical: set[str] = field(default_factory=set)
    alone: dict[str, list[str]] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """Of the indices that nothing keeps from sharing, the part that is pooled; 1.0 when there is none."""
        reasoned = sum(len(found) for reason, found in self.alone.items() if reason in pools.REASONS)
        free = self.logical - reasoned
        return self.pooled / free if free else 1.0


@dataclass(slots=True)
class Sharing:
    layouts: dict[str, Layout] = field(default_factory=dict)

    def layout(self, name: str) -> Layout:
        return self.layouts.setdefault(name, Layout())


NO_REASON = "no reason"  # a pool of one that should not be


def measure(directories: Iterable[Directory], indices: Iterable[Index]) -> Sharing:
    """``indices`` may hold more than the directories name: of retired numbers, which do not count."""
    found = Sharing()
    reasons = {(index.tenant, index.n): index.reason for index in indices}
    for directory in directories:
        for name, entry in directory.indices.items():
            layout = found.layout(entry.layout)
            layout.logical += 1
            if entry.physical:
                layout.physical.add(entry.physical)
            if entry.family == names.family_of_one(directory.tenant, entry.n):
                reason = reasons.get((directory.tenant, entry.n)) or NO_REASON
                layout.alone.setdefault(reason, []).append(f"{directory.tenant}/{name}")
            else:
                layout.pooled += 1
    return found


def sharing(store: Store) -> Steps[Sharing]:
    """Of everything that the catalogue knows now. A cluster without a catalogue shares nothing."""
    if not (yield from store.alias_exists(store.catalogue)):
        return Sharing()
    yield from store.refresh(store.catalogue)
    directories = [codec.decode(Directory, hit["_source"]) for hit in (yield from store.find({"term": {"kind": "directory"}}))]
    indices = [codec.decode(Index, hit["_source"]) for hit in (yield from store.find({"term": {"kind": "index"}}))]
    return measure(directories, indices)


def add_dedicated(found: Sharing, physical: Iterable[str]) -> None:
    """Count the indices under tenants' own prefixes: each is one logical and one physical index."""
    for name in physical:
        layout = found.layout("dedicated")
        layout.logical += 1
        layout.physical.add(name)


def lines(found: Sharing) -> Iterator[str]:
    """As text for people."""
    if not found.layouts:
        yield "no indices"
    for name, layout in sorted(found.layouts.items()):
        if name == "dedicated":
            yield f"dedicated: {layout.logical} indices, each a physical index of its own"
            continue
        part = 100 * layout.pooled / layout.logical if layout.logical else 100.0
        yield (
            f"{name}: {layout.logical} logical indices, {layout.pooled} of them pooled ({part:.1f} %), in"
            f" {len(layout.physical)} physical indices; of those that nothing keeps from sharing, {100 * layout.share:.1f} % are"
        )
        for reason, alone in sorted(layout.alone.items()):
            more = f" and {len(alone) - SHOWN} more" if len(alone) > SHOWN else ""
            yield f"  pool of one: {', '.join(sorted(alone)[:SHOWN])}{more}: {pools.REASONS.get(reason, reason)}"
