"""The micro benchmarks of test_core.py as figures to keep: per input and layout nanoseconds, and how many times either yardstick.

    python benchmarks/core.py [--quick] [--store NAME]

pytest-benchmark calibrates and measures; of each row its least time counts, which is what the work costs when nothing disturbs
it, and is divided by the least time of the yardstick for the same input in the same run. All rows have ``ROUNDS`` turns, because
what disturbs lasts for seconds and can double what it meets: it would make a row dear and its yardstick not. A row with a wrong
result fails the run.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import report
from cases import Wrong

FOLDER = Path(__file__).parent
TIMING = ["--benchmark-min-time=0.0005"]  # seconds of a round: the clock's own grain must not show in 200 ns
ROUNDS = 5
ROUND = ["--benchmark-max-time=0.2"]  # seconds of a row
ROW = re.compile(r"test_(rewrite|yardstick_copy|yardstick_orjson)\[(.+?)\]$")
LAYOUT = re.compile(r"(.+)-(dedicated|shared|per-tenant)$")
COPY, ORJSON = "yardstick_copy", "yardstick_orjson"


def measured() -> dict[str, Any]:
    """What pytest-benchmark writes of one round. Raises Wrong when a row failed."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "benchmark.json"
        command = [sys.executable, "-m", "pytest", "--benchmark-only", "-q", "-p", "no:cacheprovider", f"--benchmark-json={out}"]
        command += [*TIMING, *ROUND, str(FOLDER / "test_core.py")]
        # The folder we stand in holds the sources: what is measured is what is installed.
        environment = {**os.environ, "PYTHONSAFEPATH": "1"}
        done = subprocess.run(command, cwd=FOLDER.parent, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Wrong(f"test_core.py failed:\n{done.stdout[-3000:]}{done.stderr[-1000:]}")
        found: dict[str, Any] = json.loads(out.read_text())
        return found


def figures(found: list[dict[str, Any]]) -> dict[str, dict[str, dict[str, float]]]:
    """Of all rounds, by input and layout."""
    least: dict[str, dict[str, float]] = {}
    size: dict[str, int] = {}
    for one in itertools.chain.from_iterable(each["benchmarks"] for each in found):
        row = ROW.search(one["name"])
        if row is None:
            continue
        if one["extra_info"]["correct"] is not True:
            raise Wrong(f"{one['name']} computed something wrong")
        times = least.setdefault(row[1], {})
        times[row[2]] = min(one["stats"]["min"], times.get(row[2], math.inf))
        size[row[2]] = one["extra_info"]["bytes"]
    rows: dict[str, dict[str, dict[str, float]]] = {}
    for case, seconds in least["rewrite"].items():
        named = LAYOUT.match(case)
        assert named is not None, case
        rows.setdefault(named[1], {})[named[2]] = {
            "ns": report.rounded(seconds * 1e9),
            "to_orjson": report.rounded(seconds / least[ORJSON][named[1]]),
            "to_copy": report.rounded(seconds / least[COPY][named[1]]),
            "bytes": size[case],
        }
    return rows


def show(rows: dict[str, dict[str, dict[str, float]]]) -> None:
    print(f"{'':<16}{'':<12}{'bytes':>10}{'ns':>12}{'× orjson':>10}{'× copy':>10}")
    for name, layouts in rows.items():
        for layout, row in layouts.items():
            print(f"{name:<16}{layout:<12}{row['bytes']:>10}{row['ns']:>12.0f}{row['to_orjson']:>10.3f}{row['to_copy']:>10.1f}")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="a short look: one round")
    options.add_argument("--store", metavar="NAME", help="keep the figures in benchmarks/results/NAME.json")
    args = options.parse_args()
    try:
        known = report.circumstances(None, None)
        found = [measured() for _ in range(1 if args.quick else ROUNDS)]
        rows = figures(found)
    except Wrong as wrong:
        print(f"core: WRONG: {wrong}", file=sys.stderr)
        return 1
    show(rows)
    if args.store:
        wide = {one["extra_info"]["wide"] for one in found[0]["benchmarks"]}.pop()
        report.store(args.store, known | {"rows": rows, "wide": wide}, "core")
    return 0


if __name__ == "__main__":
    sys.exit(main())
