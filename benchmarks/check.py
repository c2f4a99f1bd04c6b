"""Has anything become dearer? Measures again and compares ratios with those stored for this machine.

    python benchmarks/check.py                               # core, gateway and wire, as far as they are stored
    python benchmarks/check.py core gateway --quick
    python benchmarks/check.py --store NAME                  # nothing is compared; the figures are the stored ones from now on

Only ratios to the yardsticks of the same run are compared (nginx on the wire, orjson on the same bytes, an axis' first point),
since they move little with the machine's day. What is more than 10 % above the stored one is measured once more and counts with
the better of both: a machine that was busy with other things for a moment makes code look dear, hardly ever cheap. Exit status 1
when something is dearer still, 2 when nothing can be compared.

The stored results are those of ``results/*.json`` whose processor, cores, system and minor version of Python are this machine's.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import report

FOLDER = Path(__file__).parent
LIMIT = 1.10
MEASURED = ("core", "gateway", "wire", "scaling")
DEFAULT = MEASURED[:-1]

Results = dict[str, Any]


class CannotCompare(Exception):
    pass


# --- ratios ------------------------------------------------------------------------------------------------


def ratios(results: Results) -> dict[str, float]:
    """All ratios of a machine's results, by a name that says benchmark, row and yardstick."""
    return dict(found for key, result in sorted(results.items()) for found in _ratios(key, result))


def _ratios(key: str, result: Results) -> Iterator[tuple[str, float]]:
    kind = key.partition("-")[0]
    if kind == "core":
        for name, layouts in result["rows"].items():
            for layout, row in layouts.items():
                yield f"core: {name}, {layout}, × orjson", row["to_orjson"]
    elif kind == "gateway":
        for name, layouts in result["rows"].items():
            for layout, row in layouts.items():
                yield f"gateway: {name}, {layout}, × orjson", row["to_orjson"][0]
    elif kind == "wire":
        for name, targets in result["rows"].items():
            for target, row in targets.items():
                if "cpu_to_nginx" in row:
                    yield f"{key}: {name}, {target}, × nginx", row["cpu_to_nginx"][0]
    elif kind == "scaling":
        for point in result["points"]:
            yield f"{key}: {point['at']}, × the first point", point["ratio"][0]


@dataclass(frozen=True)
class Compared:
    name: str
    stored: float
    now: float

    @property
    def times(self) -> float:
        return self.now / self.stored

    @property
    def is_dearer(self) -> bool:
        return self.times > LIMIT


def compare(stored: dict[str, float], now: dict[str, float]) -> list[Compared]:
    """What is in both, the dearest first."""
    both = [Compared(name, stored[name], now[name]) for name in stored.keys() & now.keys()]
    return sorted(both, key=lambda one: (-one.times, one.name))


def better(first: dict[str, float], second: dict[str, float]) -> dict[str, float]:
    """Of what was measured twice, the smaller."""
    return first | {name: min(value, first.get(name, value)) for name, value in second.items()}


def dearer_benchmarks(compared: list[Compared]) -> list[str]:
    """The names of those that have to be measured again."""
    return sorted({one.name.partition(":")[0].partition("-")[0] for one in compared if one.is_dearer}, key=MEASURED.index)


def stored_for(machine: dict[str, Any], known: dict[str, Results]) -> Results:
    """The results of this machine. Raises CannotCompare."""
    for _, results in sorted(known.items()):
        if results and _same(next(iter(results.values()))["machine"], machine):
            return results
    raise CannotCompare(f"no results are stored for {machine}; `python benchmarks/check.py --store NAME` does it")


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    minor = [machine["python"].rpartition(".")[0] for machine in (one, other)]
    return minor[0] == minor[1] and all(one[name] == other[name] for name in ("cpu", "cores", "system"))


# --- measuring ---------------------------------------------------------------------------------------------


def commands(benchmark: str, stored: Results, args: argparse.Namespace) -> list[list[str]]:
    """How a benchmark is run: in the layouts that are stored; the wire with all targets that are."""
    upstream = ["--upstream", args.upstream] if args.upstream else []
    if benchmark == "core":
        return [["core.py", *(["--quick"] if args.quick else [])]]
    if benchmark == "gateway":
        return [["gateway.py", *(["--seconds", "0.3"] if args.quick else [])]]
    if benchmark == "wire":
        layouts = [key.partition("-")[2] for key in stored if key.startswith("wire-")] or ["shared"]
        short = ["--seconds", "1", "--rounds", "2"] if args.quick else []
        return [["wire.py", "--layout", layout, *short, *(["--all"] if args.all else []), *upstream] for layout in layouts]
    layouts = sorted({result["layout"] for key, result in stored.items() if key.startswith("scaling-")}) or ["dedicated"]
    return [["scaling.py", "--layout", layout, *(["--quick"] if args.quick else []), *upstream] for layout in layouts]


def measure(benchmarks: list[str], stored: Results, args: argparse.Namespace, store: str) -> None:
    """Raises CannotCompare when a benchmark failed: it computed something wrong, or could not be run."""
    for benchmark in benchmarks:
        for command in commands(benchmark, stored, args):
            print(f"== {' '.join(command)}", file=sys.stderr, flush=True)
            done = subprocess.run([sys.executable, str(FOLDER / command[0]), *command[1:], "--store", store], check=False)
            # Status 1 of scaling is a missed bar, which is no matter here.
            if done.returncode != 0 and not (benchmark == "scaling" and done.returncode == 1):
                raise CannotCompare(f"{command[0]} ended with status {done.returncode}")


def measured_ratios(benchmarks: list[str], stored: Results, args: argparse.Namespace) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "now.json"
        measure(benchmarks, stored, args, str(path))
        return ratios(json.loads(path.read_text()))


# --- the run -----------------------------------------------------------------------------------------------


def show(compared: list[Compared], limit: int = 12) -> None:
    print(f"\n{'stored':>10}{'now':>10}{'times':>8}")
    for one in compared[: max(limit, sum(one.is_dearer for one in compared))]:
        print(f"{one.stored:>10.3f}{one.now:>10.3f}{one.times:>8.2f}  {one.name}{'  DEARER' if one.is_dearer else ''}")


def run(args: argparse.Namespace) -> bool:
    known = {path.stem: json.loads(path.read_text()) for path in report.RESULTS.glob("*.json")}
    if args.store:
        measure(args.benchmark or list(DEFAULT), known.get(args.store, {}), args, args.store)
        return True
    stored = stored_for(report.machine(), known)
    wanted = [name for name in args.benchmark or DEFAULT if any(key.partition("-")[0] == name for key in stored)]
    if not wanted:
        raise CannotCompare("of these benchmarks nothing is stored for this machine")
    before = ratios(stored)
    now = measured_ratios(wanted, stored, args)
    if again := dearer_benchmarks(compare(before, now)):
        print(f"dearer, so measured once more: {', '.join(again)}", file=sys.stderr)
        now = better(now, measured_ratios(again, stored, args))
    compared = compare(before, now)
    show(compared)
    dearer = sum(one.is_dearer for one in compared)
    told = f"{len(compared)} ratios compared with the stored ones; {dearer} are more than {LIMIT - 1:.0%} above"
    print(f"\n{told}; {', '.join(sorted(set(DEFAULT) - set(wanted))) or 'nothing'} not compared")
    return not dearer


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("benchmark", nargs="*", help=f"any of: {', '.join(MEASURED)} (default: {', '.join(DEFAULT)})")
    options.add_argument("--quick", action="store_true", help="short runs, whose figures are less sure")
    options.add_argument("--all", action="store_true", help="on the wire also plain uvicorn, and the httpx transport")
    options.add_argument("--upstream", metavar="URL", help="a node that runs already, instead of one of our own")
    options.add_argument("--store", metavar="NAME", help="keep the figures in benchmarks/results/NAME.json and compare nothing")
    args = options.parse_args()
    if unknown := set(args.benchmark) - set(MEASURED):
        options.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    try:
        return 0 if run(args) else 1
    except CannotCompare as why:
        print(f"check: {why}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
