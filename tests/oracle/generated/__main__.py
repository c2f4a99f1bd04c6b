"""By hand:

    python -m tests.oracle.generated NODE --layout shared --calls 10000 --seed 1

plays generated calls on NODE, which must be empty and is emptied, then the same as one tenant of twenty through a proxy of its
own for each ``--layout`` (all, by default), and prints the share of calls that the node takes, endpoints and transitions
that were reached, what differs by cause, and for the causes the shortest call that shows them, as scenarios.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from tests.integration.proxy import Served, serve
from tests.oracle.client import WireClient
from tests.oracle.generated.judge import DIFFERS, Judge
from tests.oracle.generated.rounds import Directly, Played, directly, through
from tests.oracle.generated.shrink import Shrinker, scenario
from tests.oracle.generated.tenants import TENANTS, settle
from tests.oracle.neighbours import TENANT, Decoys, Neighbours, clear, physical_indices
from tests.oracle.placements import PLACEMENTS
from tests.oracle.run import foreign_indices, wipe


def shortest(causes: list[str], found: Played, directly: Directly, served: Served, neighbours: Neighbours) -> list[str]:
    """Prints a scenario for each of these causes that shows again here; the others are returned."""
    node, left = neighbours.node, []
    world = directly.sequences[0].calls[: directly.sequences[0].counted[0]]
    by_name = {sequence.name: sequence for sequence in directly.sequences}
    with closing(served.client()) as client:
        wipe(client)
        judge = Judge(directly.material, found.judge.placement, found.judge.nodes)
        shrinker = Shrinker(node, client, judge, neighbours, frozenset(physical_indices(node)))
        for cause in causes:
            for first in found.verdicts.causes[cause][:3]:
                shrunk = shrinker.shrink(by_name[first.scenario], first.place)
                if shrunk is not None:
                    text = scenario("found", cause, directly.material.engine.kind, shrunk[0], world)
                    print(text, shrunk[1], "", sep="\n", flush=True)
                    break
            else:
                left.append(cause)
        shrinker.clear()
    return left


def shrink(found: Played, bare: Directly, served: Served, neighbours: Neighbours, url: str, most: int) -> Served:
    """For each cause the shortest call that shows it: among the others, and alone for calls about all indices, which see the
    others' when they are made directly. The proxy that is given is stopped, the one that is returned runs.
    """
    node = neighbours.node
    causes = sorted(found.verdicts.causes, key=lambda cause: -len(found.verdicts.causes[cause]))[:most]
    Decoys.remove(node, (*TENANTS, TENANT))
    names = ",".join(call.target[1:] for call in bare.sequences[0].calls[: bare.sequences[0].counted[0]] if call.method == "PUT")
    node.send("DELETE", f"/{names}?ignore_unavailable=true", {}, None)  # the decoys
    left = shortest(causes, found, bare, served, neighbours)
    served.stop()
    clear(node)
    served = serve(url, served.log.parent, found.judge.placement, "engine", anybody=True)
    for cause in shortest(left, found, bare, served, neighbours):
        print(f"not shown again: {cause}", found.verdicts.causes[cause][0], "", sep="\n", flush=True)
    return served


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.generated", description=__doc__)
    parser.add_argument("node")
    parser.add_argument("--layout", action="append", choices=PLACEMENTS)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shrink", type=int, default=40, help="of how many causes the shortest call is looked for")
    parser.add_argument("--differing", type=float, default=0, help="the share of calls that may differ")
    asked = parser.parse_args(argv)
    node = WireClient(asked.node)
    if left := foreign_indices(node):
        raise SystemExit(f"{asked.node} is not empty: {left[:10]}")
    bare = directly(node, asked.calls, asked.seed)
    print("\n".join(bare.reached()), flush=True)
    wrong = 0
    for placement in asked.layout or PLACEMENTS:
        with tempfile.TemporaryDirectory() as folder:
            served = serve(asked.node, Path(folder), placement, "engine", anybody=True)
            try:
                neighbours = settle(node, served.client, bare.material.engine)
                found = through(bare, served.client(), neighbours, placement)
                print(f"\n== {placement} ==", *found.verdicts.report(), sep="\n")
                print(f"{len(found.leaks)} leaks", *found.leaks[:10], f"{len(found.changed)} changes", *found.changed, sep="\n")
                rest = sorted(found.verdicts.causes.values(), key=len, reverse=True)[asked.shrink :]
                print(*(several[0] for several in rest), sep="\n\n", flush=True)
                served = shrink(found, bare, served, neighbours, asked.node, asked.shrink)
                several = found.verdicts.counts[DIFFERS] > asked.differing * found.verdicts.calls
                wrong += len(found.leaks) + len(found.changed) + several
            finally:
                served.stop()
                Decoys.remove(node, (*TENANTS, TENANT))
                clear(node)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
