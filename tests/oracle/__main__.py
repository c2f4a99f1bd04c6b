"""By hand: ``python -m tests.oracle direct URL [name…]`` · ``twice URL`` · ``compare URL PROXY TENANT [name…]`` ·
``coverage URL [url|parameter|request|response…]``.

``direct`` plays scenarios on a bare node and says which calls were not answered as the scenario expects;
``twice`` compares two direct runs with each other (what differs is missing in normalise.py); ``compare`` is the oracle.
The node must be empty and is emptied after each scenario.
"""

from __future__ import annotations

import sys

from tests.oracle.client import WireClient
from tests.oracle.compare import compare_runs
from tests.oracle.coverage import coverage, measure
from tests.oracle.run import Run, as_expected, engine_of, foreign_indices, play, wipe
from tests.oracle.scenario import Scenario, load


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
                    print(f"{scenario.name}: {played.call}\n   expected {played.call.expected(engine)}, got {played.raw.status}: "
                          f"{played.raw.body[:700].decode('utf-8', 'replace')}")
    calls = sum(len(run.played) for run in runs.values())
    good = sum(200 <= played.raw.status < 300 for run in runs.values() for played in run.played)
    print(f"{engine.kind} {'.'.join(map(str, engine.version))}: {len(runs)} scenarios, {calls} calls, {good} answered 2xx, {wrong} not as expected")
    return runs, wrong


def covered(url: str, rest: list[str]) -> int:
    """Shares, and what is missing of the kinds named (url, parameter, request, response)."""
    runs, _ = direct(url, load(), verbose=False)
    found = coverage(engine_of(WireClient(url)).kind)
    measure(found, list(runs.values()))
    for what in ("url", "parameter", "request", "response"):
        seen, known = found.share(what)
        print(f"{what}: {seen} of {known} ({100 * seen / known:.1f} %)")
    for what in rest:
        for transition in found.missing(what):
            print(found.describe(transition))
    return 0


def main(argv: list[str]) -> int:
    command, url, *rest = argv
    if command == "direct":
        return 1 if direct(url, chosen(rest))[1] else 0
    if command == "coverage":
        return covered(url, rest)
    if command == "twice":
        one, _ = direct(url, chosen(rest), verbose=False)
        two, _ = direct(url, chosen(rest), verbose=False)
        differences = [item for name in one for item in compare_runs(one[name], two[name], "none")]
    else:
        proxy, tenant, *names = rest
        one, _ = direct(url, chosen(names), verbose=False)
        client = WireClient(proxy, {"x-tenant": tenant})
        engine = engine_of(client)
        differences = []
        for name, run in one.items():
            other = play(run.scenario, client, engine, "dedicated")
            wipe(client)
            differences += compare_runs(run, other, "dedicated")
    for difference in differences:
        print(difference)
    print(f"{len(differences)} differences")
    return 1 if differences else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
