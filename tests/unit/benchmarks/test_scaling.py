"""Axes of the scaling benchmark: what is asked at a point, what the stub answers, what a curve's verdict is."""

from __future__ import annotations

import json

import answering
import curves
import pytest
import scaling


def point(at: int, *ratio: float) -> dict:
    return {"at": at, "ratio": list(ratio), "cpu_us": [60.0, 59.0, 61.0], "requests": 100}


def test_points_of_an_axis_differ_in_one_respect_and_begin_alike():
    for axis in scaling.AXES.values():
        points = [vars(axis.point(value)) for value in axis.values]
        changed = {name for one in points for name in one if one[name] != points[0][name]}
        assert len(changed) == 1
        assert list(axis.values) == sorted(axis.values)
    assert scaling.AXES["connections"].point(16) == scaling.AXES["busy"].point(16) == scaling.Point()


def test_axis_within_quick_has_its_ends_and_pools_their_limit():
    tenants = scaling.AXES["tenants"]
    assert tenants.within("dedicated", quick=False)[-1] == 100_000
    assert tenants.within("dedicated", quick=True) == (1, 100_000)
    assert tenants.within("shared", quick=False) == (1, 10, 100, 1000)


def test_cases_have_answers_that_tell_tenants_and_questions_apart():
    cases = scaling.cases_of(scaling.Point(tenants=4, indices=3), "t-")
    assert {case.tenant for case in cases} == {"t-0", "t-1", "t-2", "t-3"}
    by_answer = {}
    for case in cases:
        asked = (case.tenant, case.logical.target, case.logical.body)
        assert by_answer.setdefault(case.expected, asked) == asked
        hits = json.loads(case.expected)["hits"]["hits"]
        assert [hit["_source"]["owner"] for hit in hits] == [case.tenant] * answering.HITS
        assert f"/{hits[0]['_index']}/_search" == case.logical.target


def test_cases_of_many_tenants_are_bounded_and_follow_zipf():
    cases = scaling.cases_of(scaling.Point(tenants=100_000), "t-")
    assert len(cases) == scaling.ASKED
    first = sum(case.tenant == "t-0" for case in cases)
    assert first > 20 * sum(case.tenant == "t-99" for case in cases) > 0


def test_stub_answers_for_a_pool_what_the_client_gets_once_the_scope_is_off():
    pooled = answering.found(b"pool~x-1", b"acme.7:", b"acme", 3)
    own = pooled.replace(b"pool~x-1", b"logs").replace(b',"_routing":"acme.7:"', b"").replace(b"acme.7:", b"")
    assert own == answering.found(b"logs", b"", b"acme", 3)
    assert int(answering.WANTED.search(answering.question(3))[1]) == 3


@pytest.mark.parametrize(
    ("points", "wanted"),
    [
        ([point(1, 1.0, 0.9, 1.1), point(2, 1.2, 1.1, 1.29)], curves.KEPT),
        ([point(1, 1.0, 0.9, 1.1), point(2, 1.2, 1.1, 1.4)], curves.UNSURE),
        ([point(1, 1.0, 0.9, 1.1), point(2, 1.31, 1.1, 1.4), point(3, 1.0, 1.0, 1.0)], curves.MISSED),
    ],
)
def test_verdict_is_that_of_the_worst_point(points, wanted):
    assert curves.verdict(1.3, points) == wanted


def test_shown_has_time_ratio_and_requests():
    assert curves.shown(point(1, 1.02, 0.9, 1.1)) == "60.0 µs, × 1.02 (0.90 to 1.10), 100 requests"


def test_plot_is_the_same_for_the_same_figures(tmp_path):
    pytest.importorskip("matplotlib")
    machine = {"layout": "dedicated", "machine": {"cpu": "a cpu"}, "date": "2026-01-01", "bar": 1.3, "verdict": curves.KEPT}
    for name in ("one", "other"):
        curves.plot(tmp_path / f"{name}.svg", "nodes", machine | {"points": [point(1, 1.0, 0.9, 1.1), point(10, 1.1, 1.0, 1.2)]})
    one = (tmp_path / "one.svg").read_text()
    assert one == (tmp_path / "other.svg").read_text()
    assert "<svg" in one
