"""By hand:

    python -m tests.conformance NODE [PLACEMENT …] [--only PATTERN] [--every] [--direct FILE] [--save FOLDER]

Plays the listed tests (``--every``: all of the suite) whose names hold a match of PATTERN on the node, and then as a tenant of
it in each PLACEMENT (tests/oracle/placements.py); prints each test, the comparison, and what is not as the lists of misses say,
which is also the exit status. The node must be empty, and is emptied. ``--direct`` keeps the direct run in a file, and reads it
from there when it is there already; ``--save`` keeps the other runs as FOLDER/<family>-<placement>.json. A node whose data lies
in memory is several times as fast.
"""

from __future__ import annotations

import argparse
import re
import sys
from contextlib import closing
from pathlib import Path

from esproxy.catalogue.sharing import lines
from tests.conformance import calls, fetch, reading, runs
from tests.conformance.report import comparison, judge, listed, misses
from tests.conformance.wire import Target
from tests.oracle.placements import PLACEMENTS


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=(__doc__ or "").split("\n\n")[2])
    parser.add_argument("node")
    parser.add_argument("placements", nargs="*", metavar="PLACEMENT", help=f"any of {', '.join(PLACEMENTS)}")
    parser.add_argument("--only", type=re.compile, default=re.compile(""), metavar="PATTERN")
    parser.add_argument("--every", action="store_true")
    parser.add_argument("--direct", type=Path, metavar="FILE")
    parser.add_argument("--save", type=Path, metavar="FOLDER")
    return parser.parse_args()


def log(line: str) -> None:
    print(line, flush=True)


def main() -> int:
    asked = arguments()
    with closing(Target(asked.node)) as target:
        family = target.about().family
    definitions = calls.load(fetch.definitions(family))
    names = listed(family)
    counted = set(names)
    tests = [one for one in reading.load(fetch.suite()) if asked.only.search(one.key) and (asked.every or one.key in counted)]
    if asked.direct is not None and asked.direct.exists():
        bare = runs.saved(asked.direct)
    else:
        bare = runs.direct(asked.node, tests, definitions, log)
        if asked.direct is not None:
            bare.save(asked.direct)
    good = True
    for placement in asked.placements:
        run, made = runs.proxied(asked.node, placement, tests, definitions, log)
        if asked.save is not None:
            run.save(asked.save / f"{family}-{placement}.json")
        log("\n".join(comparison(names, bare.by_key(), run.by_key())))
        verdict = judge(names, bare.by_key(), run.by_key(), misses(family, placement))
        for title, found in (
            ("no known miss, and fails", map(str, verdict.failed)),
            ("a known miss, and passes", verdict.healed),
            ("listed, and does not pass directly", map(str, verdict.not_directly)),
            ("seen of others", run.leaks),
            ("changed of others'", run.changes),
            ("could not be removed", run.left),
        ):
            log("\n".join([f"{title}:", *found]))
        log("\n".join(f"sharing: {line}" for line in lines(made.sharing())))
        log(f"{family} {placement}: {verdict.passed} of {verdict.asked} ({verdict.share:.2%})")
        good = good and verdict.good and not run.leaks and not run.changes
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
