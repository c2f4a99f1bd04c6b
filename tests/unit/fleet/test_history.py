"""The checker of a fleet's history: nothing wrong with a good one, and each rule finds what was planted for it."""

from __future__ import annotations

import pytest

from tests.fleet.history import Op, violations


def op(kind: str, begin: float, end: float, *values: str, name: str = "a", status: int = 200, **more: object) -> Op:
    return Op(kind, str(more.pop("tenant", "one")), name, begin, end, status, values=values, **more)  # type: ignore[arg-type]


NOT_THERE = {"status": 404, "code": "index_not_found_exception"}


def good() -> list[Op]:
    """Two tenants; an index that is created, filled, read, deleted and made again; an alias that is swapped."""
    return [
        op("create", 0, 1),
        op("write", 2, 3, "v1"),
        op("write", 2, 3, "w1", tenant="two"),
        op("get", 4, 5, "v1", found=("v1",)),
        op("search", 4, 5, found=("v1",)),
        op("search", 4, 5, name="*", found=("v1",)),
        op("write", 4, 5, "v2", name="b"),
        op("alias", 6, 7, "a", name="x"),
        op("search", 8, 9, name="x", found=("v1",)),
        op("alias", 10, 11, "b", name="x"),
        op("search", 12, 13, name="x", found=("v2",)),
        op("delete", 14, 15),
        op("get", 16, 17, "v1", **NOT_THERE),
        op("create", 18, 19),
        op("search", 20, 21, found=()),
        op("write", 22, 23, "v3"),
        op("remove", 24, 25, "v3"),
        op("search", 26, 27, found=()),
    ]


def test_history_of_a_good_run_has_no_violation() -> None:
    assert violations(good()) == []


PLANTED = {
    "foreign: another's": ("foreign", [op("search", 30, 31, found=("w1",))]),
    "foreign: nobody's": ("foreign", [op("search", 30, 31, found=("never written",))]),
    "misplaced": ("misplaced", [op("search", 30, 31, found=("v2",))]),
    "resurrected after a delete": ("resurrected", [op("search", 16, 17, found=("v1",))]),
    "resurrected after a recreation": ("resurrected", [op("get", 20, 21, "v1", found=("v1",))]),
    "resurrected under a pattern": ("resurrected", [op("search", 20, 21, name="*", found=("v1", "v2"))]),
    "resurrected document": ("resurrected", [op("get", 26, 27, "v3", found=("v3",))]),
    "lost under its name": ("lost", [op("search", 5, 6, found=())]),
    "lost by its id": ("lost", [op("get", 5, 6, "v1", found=())]),
    "lost under a pattern": ("lost", [op("search", 12, 13, name="*", found=("v1",))]),
    "lost under an alias": ("lost", [op("search", 12, 13, name="x", found=())]),
    "lost of a bulk": ("lost", [op("write", 40, 41, "v4", "v5"), op("search", 42, 43, found=("v4",))]),
    "gone: get": ("gone", [op("get", 5, 6, "v1", **NOT_THERE)]),
    "gone: search of what a write made": ("gone", [op("search", 6, 7, name="b", **NOT_THERE)]),
    "baffled": ("baffled", [op("create", 16, 17, **NOT_THERE)]),
    "gone: delete": ("gone", [op("delete", 5, 6, **NOT_THERE)]),
    "gone: target of an alias": ("gone", [op("alias", 5, 6, "a", name="y", **NOT_THERE)]),
    "gone: alias": ("gone", [op("search", 8, 9, name="x", **NOT_THERE)]),
    "twice": ("twice", [op("create", 5, 6)]),
    "astray: the alias before the swap": ("astray", [op("search", 12, 13, name="x", found=("v1", "v2"))]),
}


@pytest.mark.parametrize("case", PLANTED)
def test_violation_that_was_planted_is_found(case: str) -> None:
    rule, ops = PLANTED[case]
    found = violations(good() + ops)
    assert any(line.startswith(rule) for line in found), found


ALLOWED = {
    "a read that overlaps the delete, old": [op("search", 14.5, 16, found=("v1",))],
    "a read that overlaps the delete, new": [op("search", 14.5, 16, **NOT_THERE)],
    "a read that overlaps the write": [op("search", 2.5, 4, found=())],
    "a write that was not acknowledged, found": [op("write", 30, 31, "v9", status=503), op("search", 32, 33, found=("v9",))],
    "a write that was not acknowledged, missing": [op("write", 30, 31, "v9", status=503), op("search", 32, 33, found=())],
    "a delete that broke takes effect later": [
        op("delete", 30, 31, name="b", status=0), op("get", 40, 41, "v2", name="b", found=("v2",)),
        op("get", 50, 51, "v2", name="b", **NOT_THERE),
    ],
    "a write that timed out lands in the next creation": [
        op("write", 13, 13.9, "v9", status=0, open=True), op("search", 20, 21, found=("v9",)),
    ],
    "an alias while it is swapped": [op("search", 10.5, 11, name="x", found=(value,)) for value in ("v1", "v2")],
    "already there": [op("create", 5, 6, status=400, code="resource_already_exists_exception")],
}  # fmt: skip


@pytest.mark.parametrize("case", ALLOWED)
def test_violation_is_not_seen_in_what_may_happen(case: str) -> None:
    assert violations(good() + ALLOWED[case]) == []


def test_delete_that_broke_is_over_when_its_index_was_created_anew() -> None:
    ops = [op("delete", 30, 31, status=0), op("create", 32, 33), op("write", 34, 35, "v9")]
    assert violations(good() + ops) == []
    wrong = violations([*good(), *ops, op("get", 36, 37, "v9", **NOT_THERE)])
    assert any(line.startswith("lost") for line in wrong) and any(line.startswith("gone") for line in wrong)
