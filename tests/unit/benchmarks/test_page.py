"""The README's section on performance is what the stored results say."""

from __future__ import annotations

import bars
import page
import pytest

MACHINE = {"cpu": "a cpu", "cores": 2, "system": "Linux", "python": "3.11.7"}
TAKEN = {"machine": MACHINE, "date": "2026-01-02", "node": "opensearch 3.8.0", "load_before": 0.25}


def test_readme_has_the_section_of_the_stored_results():
    text = page.README.read_text()
    assert text == page.with_section(text, page.section(page.stored())), "python benchmarks/page.py"


def test_section_replaces_only_what_is_between_the_marks():
    text = f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n"
    made = page.section({})
    assert page.with_section(text, made) == f"before\n{made}after\n"
    assert page.with_section(page.with_section(text, made), made) == page.with_section(text, made)


def test_readme_without_marks_is_an_error():
    with pytest.raises(ValueError, match="no marks"):
        page.with_section("no section", "made")


def test_every_stored_benchmark_is_rendered():
    for results in page.stored().values():
        assert {key.partition("-")[0] for key in results} <= page.RENDERED.keys()


def test_what_was_not_measured_is_said():
    made = page.section({"one": {"memory": TAKEN | {"shell": "protocol", "mib": 64, "figures": {"10,000 tenants": 12.5}}}})
    assert made.count("not measured on this machine") == len(page.RENDERED) - 1
    assert f"1 of 1 measured ones are kept; {len(bars.BARS) - 1} have no figure here" in made


@pytest.mark.parametrize(("value", "shown"), [(39.9, "| 39.9 |"), (40.5, "| **40.5** |")])
def test_figure_above_its_bar_is_marked_and_listed(value, shown):
    made = page.section({"one": {"memory": TAKEN | {"shell": "protocol", "mib": 64, "figures": {"10,000 tenants": value}}}})
    assert shown in made
    assert ("above its bar: 10,000 tenants: MiB 40.5, at most 40" in made) == (value > 40)


def test_core_and_gateway_are_tables_by_layout():
    row = {"ns": 1500.0, "to_orjson": 0.31, "to_copy": 9.0, "bytes": 94}
    spread = {"cpu_us": [12.0, 11.0, 13.0], "to_orjson": [1.5, 1.4, 1.6], "to_copy": [20.0, 19.0, 21.0]}
    core = TAKEN | {"node": "none", "rows": {"simple": {"dedicated": row, "shared": row | {"to_orjson": 0.2}}}}
    made = page.section({"one": {"core": core, "gateway": TAKEN | {"rows": {"get by id": {"shared": spread}}}}})
    assert "| simple | 94 | **0.31** (1.5 µs) | 0.20 (1.5 µs) | – |" in made
    assert "| get by id | – | 12.0 µs, 1.50 | – |" in made
    assert "2026-01-02, load 0.2 before" in made


def test_scaling_shows_ends_verdict_and_curve():
    points = [{"at": 1, "ratio": [1.0, 0.9, 1.1]}, {"at": 100_000, "ratio": [1.4, 1.3, 1.5]}]
    axis = TAKEN | {"layout": "dedicated", "bar": 1.3, "points": points, "verdict": "MISSED", "plot": "one-scaling.svg"}
    made = page.section({"one": {"scaling-tenants-dedicated": axis}})
    row = "| tenants | dedicated | 1 → 100,000 | 1.40 (1.30 to 1.50) | 1.3 | **MISSED** |"
    assert f"{row} [curve](benchmarks/results/one-scaling.svg) |" in made


def test_load_marks_what_is_missed_and_unsteady():
    row = {f"p{part}_{which}_ms": [2.0, 1.0, 3.0] for part in (50, 99) for which in ("direct", "proxied", "added")}
    missed = ["2.00 ms are added to the median request, more than 0.30"]
    result = TAKEN | {"layout": "dedicated", "against": "node", "rows": {"all": row, "get": row}, "requests": 1000, "errors": 0,
                      "rate": 50.0, "share": {"proxied": [0.21, 0.2, 0.22]}, "missed": missed, "unsteady": True}  # fmt: skip
    made = page.section({"one": {"load-node-dedicated": result}})
    assert "| all | 2.00 (1.00 to 3.00) | **2.00 (1.00 to 3.00)** |" in made
    assert "| get | 2.00 (1.00 to 3.00) | 2.00 (1.00 to 3.00) |" in made
    assert "**2.00 ms are added to the median request, more than 0.30; the spread is wider than the bar.**" in made


def test_bars_name_different_figures():
    places = [(bar.benchmark, bar.where) for bar in bars.BARS]
    assert len(set(places)) == len(places)
