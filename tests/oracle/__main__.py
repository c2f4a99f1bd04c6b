"""By hand:

    python -m tests.oracle direct URL [name…]                                plays on a bare node: which calls are not as expected
    python -m tests.oracle twice URL [name…]                                 two direct runs: what normalise.py lacks
    python -m tests.oracle record URL FILE [name…]                           keeps direct runs, to compare with later
    python -m tests.oracle compare URL PROXY TENANT PLACEMENT [name…]        the oracle
    python -m tests.oracle compare --recorded FILE PROXY TENANT PLACEMENT [name…]
    python -m tests.oracle coverage URL [url|parameter|request|response…]    shares, and what is missing of these

Names are beginnings of scenario names. The node of the direct runs must be empty and is emptied after each scenario. With a
record none is needed, and the proxy's cluster may hold anything: what the tenant has is deleted through the proxy, before the
first and after each scenario. FILE is a pickle: read none but your own.
"""

from __future__ import annotations

import pickle
import sys
from contextlib import closing
from pathlib import Path

from tests.oracle.client import WireClient
from tests.oracle.compare import compare_runs
from tests.oracle.coverage import coverage, measure
from tests.oracle.known import known
from tests.oracle.placements import PLACEMENTS, layouts_in
from tests.oracle.run import Run, Unplayable, as_expected, engine_of, foreign_indices, play, wipe
from tests.oracle.scenario import Engine, Scenario, load


def chosen(names: list[str]) -> list[Scenario]:
    return [one for one in load() if not names or any(one.name.startswith(name) for name in names)]


def direct(url: str, scenarios: list[Scenario], verbose: bool = True) -> tuple[dict[str, Run], int]:
    client = WireClient(url)
    left = foreign_indices(client)
    if left:
        raise SystemExit(f"{url} is not empty: {left[:10]}")
    engine = engine_of(client)
    runs: dict[str, Run] = {}
    wrong = 0
    for scenario in scenarios:
        if not scenario.runs_on(engine):
            continue
        run = runs[scenario.name] = play(scenario, client, engine)
        wipe(client)
        for played in run.played:
            if not as_expected(played, engine):
                wrong += 1
                if verbose:
                    print(
                        f"{scenario.name}: {played.call}\n   expected {played.call.expected(engine)}, got {played.raw.status}: "
                        f"{played.raw.body[:700].decode('utf-8', 'replace')}"
                    )
    calls = sum(len(run.played) for run in runs.values())
    good = sum(200 <= played.raw.status < 300 for run in runs.values() for played in run.played)
    title = f"{engine.kind} {'.'.join(map(str, engine.version))}"
    print(f"{title}: {len(runs)} scenarios, {calls} calls, {good} answered 2xx, {wrong} not as expected")
    return runs, wrong


def recorded(file: str, scenarios: list[Scenario]) -> dict[str, Run]:
    """What ``record`` has kept; scenarios that were changed since are told and left out."""
    runs: dict[str, Run] = pickle.loads(Path(file).read_bytes())
    stale = [one.name for one in scenarios if one.name in runs and runs[one.name].scenario != one]
    if stale:
        print(f"changed since they were recorded, and left out: {' '.join(stale)}")
    return {one.name: runs[one.name] for one in scenarios if one.name in runs and one.name not in stale}


def compare(runs: dict[str, Run], proxy: str, tenant: str, placement: str) -> int:
    """Plays through the proxy; prints each difference, and then a line for each scenario."""
    lines = [f"{'scenario':<44} calls  equal  known  differ"]
    totals = [0, 0, 0, 0]
    with closing(WireClient(proxy, {"x-tenant": tenant})) as client:
        engine = engine_of(client)
        wipe(client)
        for name, run in runs.items():
            figures, note = compare_one(run, client, engine, placement)
            totals = [total + figure for total, figure in zip(totals, figures, strict=True)]
            lines.append(f"{name:<44}{figures[0]:>6}{figures[1]:>7}{figures[2]:>7}{figures[3]:>8}{note}")
    print("\n".join(lines))
    print(f"{f'{placement}, {engine.kind}: {len(runs)} scenarios':<44}{totals[0]:>6}{totals[1]:>7}{totals[2]:>7}{totals[3]:>8}")
    return 1 if totals[3] else 0


def compare_one(run: Run, client: WireClient, engine: Engine, placement: str) -> tuple[list[int], str]:
    """(calls, equal, known, differing) and what else is to be said. Calls after a break count as differing."""
    layouts, name = {placement, *layouts_in(placement)}, run.scenario.name
    other, note = Run(run.scenario), ""
    try:
        play(run.scenario, client, engine, other)
    except (Unplayable, ValueError, OSError) as broken:
        note = f"  broke off: {type(broken).__name__}: {broken}"
        print(f"{name}:{note}")
        client.close()
    wipe(client)
    found = compare_runs(Run(run.scenario, run.played[: len(other.played)]), other, placement)
    listed = {one.place for one in found if known(name, one.call.line(), engine, layouts) is not None}
    for one in found:
        if one.place not in listed:
            print(one)
    differing = len({one.place for one in found} - listed) + (0 if other.ended else len(run.played) - len(other.played))
    return [len(run.played), len(run.played) - differing - len(listed), len(listed), differing], note


def covered(url: str, rest: list[str]) -> int:
    """Shares, and what is missing of the kinds named (url, parameter, request, response)."""
    runs, _ = direct(url, load(), verbose=False)
    for young in (False, True):
        found = coverage(engine_of(WireClient(url)).kind, young=young)
        measure(found, list(runs.values()))
        print("endpoints that are not explored yet" if young else "endpoints")
        for what in ("url", "parameter", "request", "response"):
            seen, known = found.share(what)
            seen, possible = found.possible(what)
            print(f"  {what}: {seen} of {possible} ({100 * seen / possible:.1f} %) that can be shown, of {known} in all")
        for what in rest:
            for transition in found.missing(what):
                print(found.describe(transition))
    return 0


def main(argv: list[str]) -> int:
    match argv:
        case ["direct", url, *names]:
            return 1 if direct(url, chosen(names))[1] else 0
        case ["coverage", url, *kinds]:
            return covered(url, kinds)
        case ["record", url, file, *names]:
            Path(file).write_bytes(pickle.dumps(direct(url, chosen(names))[0]))
            return 0
        case ["compare", "--recorded", file, proxy, tenant, placement, *names] if placement in PLACEMENTS:
            return compare(recorded(file, chosen(names)), proxy, tenant, placement)
        case ["compare", url, proxy, tenant, placement, *names] if placement in PLACEMENTS:
            return compare(direct(url, chosen(names), verbose=False)[0], proxy, tenant, placement)
        case ["twice", url, *names]:
            one, two = (direct(url, chosen(names), verbose=False)[0] for _ in range(2))
            found = [item for name in one for item in compare_runs(one[name], two[name], "none")]
            print("\n".join(map(str, found)))
            return 1 if found else 0
    print(__doc__, f"Placements: {' '.join(PLACEMENTS)}", sep="\n", file=sys.stderr)
    return 2


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
