"""The README's section on performance, made of the stored results.

    python benchmarks/page.py            # writes it into README.md, between its marks
    python benchmarks/page.py --check    # status 1 when README.md has something else

Every ``results/*.json`` is a machine. Each benchmark's line says when, on what and under which load its figures were taken; a
figure above its bar is marked, and so is a benchmark that has not been run on that machine.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bars import BARS, LAYOUTS

README = Path(__file__).parents[1] / "README.md"
RESULTS = Path(__file__).with_name("results")
BEGIN = "<!-- Performance: made by `python benchmarks/page.py` from benchmarks/results. A test compares it. -->"
END = "<!-- end of performance -->"

Results = dict[str, Any]


def section(machines: dict[str, Results]) -> str:
    """The section's text, marks included."""
    parts = [BEGIN, "Compare ratios to the yardsticks of the same run, not microseconds; **bold** is above its bar."]
    for name, results in sorted(machines.items()):
        parts += [f"### {name}", *_machine(results)]
    return "\n\n".join([*parts, END]) + "\n"


def _machine(results: Results) -> Iterator[str]:
    taken = next(iter(results.values()))["machine"]
    yield f"{taken['cpu']}, {taken['cores']} cores, {taken['system']}, Python {taken['python']}."
    for prefix, render in RENDERED.items():
        found = {key: result for key, result in sorted(results.items()) if key == prefix or key.startswith(f"{prefix}-")}
        if found:
            yield from render(found)
        else:
            yield f"`{prefix}`: **not measured on this machine.**"
    yield _bars(results)


# --- one benchmark each --------------------------------------------------------------------------------------


def _core(found: Results) -> Iterator[str]:
    for result in found.values():
        yield f"**The core** (`core.py`): one pass over a body, × reading and writing it with orjson. {_when(result)}"
        yield _table(
            ["body", "bytes", *LAYOUTS],
            [
                [name, f"{next(iter(row.values()))['bytes']:,}", *(_core_cell(name, at, row.get(at)) for at in LAYOUTS)]
                for name, row in result["rows"].items()
            ],
        )


def _core_cell(name: str, layout: str, row: dict[str, float] | None) -> str:
    if row is None:
        return "–"
    ratio = _marked(f"{row['to_orjson']:.2f}", "core", ("rows", name, layout, "to_orjson"), row["to_orjson"])
    return f"{ratio} ({_marked(_ns(row['ns']), 'core', ('rows', name, layout, 'ns'), row['ns'])})"


def _gateway(found: Results) -> Iterator[str]:
    for result in found.values():
        yield f"**The Gateway** (`gateway.py`): CPU of an exchange without sockets, × orjson on its bodies. {_when(result)}"
        yield _table(
            ["request", *LAYOUTS],
            [
                [name, *(f"{row[at]['cpu_us'][0]:.1f} µs, {row[at]['to_orjson'][0]:.2f}" if at in row else "–" for at in LAYOUTS)]
                for name, row in result["rows"].items()
            ],
        )


def _wire(found: Results) -> Iterator[str]:
    for key, result in found.items():
        yield (
            f"**The wire** (`wire.py`, {result['layout']}): CPU of all processes per proxied request at "
            f"{result['connections']} connections, × nginx {result['nginx']}; {result['answers_compared']:,} answers compared "
            f"byte by byte. {_when(result)}"
        )
        rows = []
        for name, row in result["rows"].items():
            for target, figures in row.items():
                if target != "direct":
                    rows.append([name, target, *_wire_cells(key, name, target, figures)])
        yield _table(["request", "through", "CPU µs", "× nginx", "p50 added, alone", "RSS MiB"], rows)


def _wire_cells(key: str, name: str, target: str, figures: Results) -> Iterator[str]:
    yield f"{figures['cpu_us'][0]:.0f}"
    ratio = figures.get("cpu_to_nginx")
    yield "–" if ratio is None else _marked(_spread(ratio), key, ("rows", name, target, "cpu_to_nginx"), ratio[0])
    yield f"{figures['p50_added_alone_ms'][0]:.2f} ms"
    yield f"{figures['rss_mib']:.0f}"


def _load(found: Results) -> Iterator[str]:
    yield "**A realistic mix** (`locust_run.py`): open loop, direct and proxied in turn; milliseconds, medians over pairs."
    rows = []
    for result in found.values():
        for kind, row in result["rows"].items():
            against = "a stub" if result["against"] == "stub" else result["node"]
            cells = [_spread(row[f"p{part}_{which}_ms"]) for part in (50, 99) for which in ("direct", "added")]
            missed = kind == "all" and any("are added" in miss for miss in result["missed"])
            cells[1] = f"**{cells[1]}**" if missed else cells[1]
            rows.append([f"{result['layout']}, {against}", kind, *cells])
    yield _table(["through, against", "requests", "p50 direct", "p50 added", "p99 direct", "p99 added"], rows)
    for result in found.values():
        notes = [*result["missed"], *(["the spread is wider than the bar"] if result["unsteady"] else [])]
        yield (
            f"{result['layout']}, {result['against']}: {result['requests']:,} requests at {result['rate']:g} a second, "
            f"{result['errors']} errors, {result['share']['proxied'][0]:.0%} of the machine in use. {_when(result)}"
            + (f" **{'; '.join(notes)}.**" if notes else "")
        )


def _scaling(found: Results) -> Iterator[str]:
    yield "**Scaling** (`scaling.py`): CPU per request at the axis' last point, × its first."
    rows = []
    for key, result in found.items():
        axis = key.split("-", 2)[1]
        first, last = result["points"][0], result["points"][-1]
        plot = f"[curve](benchmarks/results/{result['plot']})" if result.get("plot") else "–"
        verdict = result["verdict"] if result["verdict"] == "kept" else f"**{result['verdict']}**"
        ends = f"{first['at']:,} → {last['at']:,}"
        rows.append([axis, result["layout"], ends, _spread(last["ratio"]), f"{result['bar']}", verdict, plot, _when(result)])
    yield _table(["axis", "layout", "from, to", "×", "bar", "", "", "taken"], rows)


def _memory(found: Results) -> Iterator[str]:
    for result in found.values():
        yield f"**Memory** (`memory.py`, {result['shell']}, streams of {result['mib']} MiB). {_when(result)}"
        yield _table(
            ["what", "MiB (a connection: KiB)"],
            [[name, _marked(f"{value:g}", "memory", ("figures", name), value)] for name, value in result["figures"].items()],
        )


RENDERED: dict[str, Callable[[Results], Iterator[str]]] = {
    "wire": _wire,
    "core": _core,
    "gateway": _gateway,
    "scaling": _scaling,
    "load": _load,
    "memory": _memory,
}


# --- bars ------------------------------------------------------------------------------------------------------


def _bars(results: Results) -> str:
    figures = [(bar, bar.figure(results)) for bar in BARS]
    above = [f"{bar.what} {value:g}, at most {bar.limit:g}" for bar, value in figures if value is not None and value > bar.limit]
    measured = sum(value is not None for _, value in figures)
    told = f"Bars: {measured - len(above)} of {measured} measured ones are kept; {len(BARS) - measured} have no figure here."
    return "\n".join([told, *([""] if above else []), *(f"* above its bar: {line}" for line in above)])


def _marked(text: str, benchmark: str, where: tuple[str, ...], value: float) -> str:
    above = any(bar.benchmark == benchmark and bar.where == where and value > bar.limit for bar in BARS)
    return f"**{text}**" if above else text


# --- text --------------------------------------------------------------------------------------------------------


def _when(result: Results) -> str:
    node = "" if result["node"] == "none" else f", {result['node']}"
    return f"{result['date']}{node}, load {result['load_before']:.1f} before."


def _spread(values: list[float]) -> str:
    middle, least, most = (f"{value:.2f}" for value in values)
    return f"{middle} ({least} to {most})"


def _ns(value: float) -> str:
    return f"{value:.0f} ns" if value < 1000 else f"{value / 1000:.1f} µs"


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# --- the README ----------------------------------------------------------------------------------------------


def stored() -> dict[str, Results]:
    return {path.stem: json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))}


def with_section(text: str, made: str) -> str:
    """The README with that section in place of its own. Raises ValueError when it has none."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END + "\n")
    if not (begin and end):
        raise ValueError("README.md has no marks for the section on performance")
    return before + made + after


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--check", action="store_true", help="write nothing, compare")
    args = options.parse_args()
    text = README.read_text()
    wanted = with_section(text, section(stored()))
    if args.check:
        if text != wanted:
            print("README.md: not the section of the stored results: run `python benchmarks/page.py`", file=sys.stderr)
        return int(text != wanted)
    README.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
