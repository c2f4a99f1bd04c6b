"""From samples to figures, a table, and a file.

Per row and target, medians over rounds with least and most in brackets:

    CPU µs    of the target's whole process tree, per request, at 16 connections
    × nginx   that, divided by nginx's in the same round: the figure to compare; all else depends on machine and moment
    req/s     at 16 connections, beside wrk, the stub and whatever else the machine does
    p50, p99  milliseconds above direct's, at one connection and at 16, where it is mostly waiting for one's turn
    RSS MiB   of the whole tree, pages that processes share counted for each
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import statistics
import subprocess
from pathlib import Path
from typing import Any

from cases import TENANTS, Case
from load import CONNECTIONS, Sample

from esproxy import __version__

RESULTS = Path(__file__).with_name("results")


def figures(samples: dict[str, list[tuple[Sample, Sample]]]) -> dict[str, dict[str, Any]]:
    """Per target: [median, least, most] over the rounds; each round is compared with direct and nginx in the same round."""
    direct, nginx = samples["direct"], samples.get("nginx")
    found: dict[str, dict[str, Any]] = {}
    for name, rounds in samples.items():
        row: dict[str, Any] = {"requests": sum(busy.requests for busy, _ in rounds)}
        row["per_second"] = spread([busy.per_second for busy, _ in rounds])
        if name != "direct":
            row["cpu_us"] = spread([busy.cpu for busy, _ in rounds])
            row["rss_mib"] = round(max(busy.rss for busy, _ in rounds) / 2**20, 1)
            for at, which in ((0, "busy"), (1, "alone")):
                for part in ("p50", "p99"):
                    added = [getattr(pair[at], part) - getattr(base[at], part) for pair, base in zip(rounds, direct, strict=True)]
                    row[f"{part}_added_{which}_ms"] = spread([us / 1000 for us in added])
        if nginx is not None and name not in ("direct", "nginx"):
            row["cpu_to_nginx"] = spread([busy.cpu / base.cpu for (busy, _), (base, _) in zip(rounds, nginx, strict=True)])
        found[name] = row
    return found


def spread(values: list[float]) -> list[float]:
    return [rounded(value) for value in (statistics.median(values), min(values), max(values))]


def rounded(value: float) -> float:
    return float(f"{value:.4g}")


def show(name: str, cases: list[Case], found: dict[str, dict[str, Any]]) -> None:
    sizes = [len(case.expected) for case in cases]
    asked = [len(case.logical.body) for case in cases]
    what = f"bodies of {min(asked)} to {max(asked)} bytes, answers of {min(sizes)} to {max(sizes)}"
    print(f"\n{name}: {len(cases)} cases, all answers right; {what}")
    form = "  {:<16}{:>22}{:>20}{:>8}{:>18}{:>18}{:>9}"
    print(form.format("", "CPU µs", "× nginx", "req/s", "p50/p99 at 1", "p50/p99 at 16", "RSS MiB"))
    for target, row in found.items():
        if target == "direct":
            print(form.format(target, "", "", f"{row['per_second'][0]:.0f}", "", "", ""))
            continue
        late = [f"+{row[f'p50_added_{w}_ms'][0]:.2f}/{row[f'p99_added_{w}_ms'][0]:.2f}" for w in ("alone", "busy")]
        ratio = _shown(row["cpu_to_nginx"], 2) if "cpu_to_nginx" in row else ""
        print(form.format(target, _shown(row["cpu_us"], 1), ratio, f"{row['per_second'][0]:.0f}", *late, row["rss_mib"]))


def _shown(values: list[float], places: int) -> str:
    middle, least, most = (f"{value:.{places}f}" for value in values)
    return f"{middle} ({least}–{most})"


def store(name: str, results: dict[str, Any], benchmark: str) -> None:
    """Beside what other benchmarks have stored for the same machine. ``name``: the machine's, or a path that ends in .json."""
    path = Path(name) if name.endswith(".json") else RESULTS / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    known = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(known | {benchmark: results}, indent=1, sort_keys=True) + "\n")
    print(f"\nstored in {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")


def machine() -> dict[str, Any]:
    cpuinfo = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(":")[2].strip() for line in cpuinfo if line.startswith("model name")), platform.machine())
    return {"cpu": model, "cores": os.cpu_count(), "system": platform.system(), "python": platform.python_version()}


def circumstances(version: dict[str, Any] | None, nginx: str | None) -> dict[str, Any]:
    """Where and with what the figures were taken. ``version`` is what the node says of itself, where there is one."""
    said = subprocess.run([nginx, "-v"], capture_output=True, text=True, check=True).stderr.strip() if nginx else "missing"
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": machine(),
        "esproxy": __version__,
        "nginx": said.rpartition("/")[2],
        "node": "none" if version is None else f"{version.get('distribution', 'elasticsearch')} {version['number']}",
        "connections": CONNECTIONS,
        "tenants": len(TENANTS),
        "load_before": rounded(os.getloadavg()[0]),
    }
