"""A round: generated calls on a bare node, and then as one tenant among others, in one placement after the other."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field

from tests.oracle.answer import Raw
from tests.oracle.client import WireClient
from tests.oracle.coverage import coverage, match, measure
from tests.oracle.generated.calls import Sequence, sequences
from tests.oracle.generated.judge import Judge, Verdicts, node_name
from tests.oracle.generated.material import Material, material
from tests.oracle.generated.play import Told, play
from tests.oracle.neighbours import Neighbours, clear, differing
from tests.oracle.run import Run, engine_of, wipe, wipe_beside
from tests.oracle.scenario import Call, Scenario


@dataclass(slots=True)
class Directly:
    """What a bare node says."""

    material: Material
    sequences: list[Sequence]
    node: str  # its name
    told: list[list[Told]] = field(default_factory=list)

    def reached(self) -> list[str]:
        """Lines: how many endpoints and transitions of the tables the calls have shown."""
        lines, endpoints = [], set()
        for young in (False, True):
            found = coverage(self.material.engine.kind, young=young)
            for sequence, told in zip(self.sequences, self.told, strict=True):
                played = [told[place].played(sequence.calls[place]) for place in sequence.counted if told[place].taken]
                measure(found, [Run(Scenario(sequence.name, "", []), played)])
            what = ("url", "parameter", "request")
            shares = (f"{name}s {seen} of {known}" for name in what for seen, known in [found.share(name)])
            lines.append(f"{'young' if young else 'explored'} endpoints: {', '.join(shares)}")
            endpoints |= {where for kind, where, _ in found.seen if kind == "url"}
        calls = [sequence.calls[place] for sequence in self.sequences for place in sequence.counted]
        named = {matched[0].name for call in calls if (matched := match(self.material.tables, call.method, call.target))}
        return [f"{len(named)} endpoints asked, {len(endpoints)} of them taken", *lines]


def directly(node: WireClient, calls: int, seed: int) -> Directly:
    learnt = material(engine_of(node))
    found = Directly(learnt, list(sequences(learnt, seed, calls)), node_name(node))
    for sequence in found.sequences:
        found.told.append(play(sequence, node))
        clear(node)
        wipe_beside(node)
    return found


@dataclass(slots=True)
class Played:
    """What a tenant of twenty saw. ``changed``: of the others' state, by what the tenant did."""

    judge: Judge
    leaks: list[tuple[str, Call, list[str]]] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)

    @property
    def verdicts(self) -> Verdicts:
        return self.judge.verdicts


def through(directly: Directly, client: WireClient, neighbours: Neighbours, placement: str) -> Played:
    """``client`` speaks to the proxy as the tenant under test, and is closed."""
    found = Played(Judge(directly.material, placement, (directly.node, node_name(client))))
    before = neighbours.state()

    def watch(name: str, call: Call, raw: Raw) -> None:
        who = neighbours.leaks(raw)
        if who:
            found.leaks.append((name, call, who))

    with closing(client):
        for sequence, told in zip(directly.sequences, directly.told, strict=True):
            found.judge.sequence(sequence, told, play(sequence, client, watch))
            wipe(client)
    found.changed = differing(before, neighbours.state())
    return found
