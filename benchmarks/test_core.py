"""Micro benchmarks of the core, each beside two yardsticks in the same run: copying the body, and parsing
and writing it with orjson.

    pytest benchmarks/test_core.py --benchmark-group-by=group --benchmark-columns=min,median,ops

Every row says in ``extra_info`` whether what it computed was right (and fails when it was not), how many bytes went in, and on
which search of wide.h it ran. The layouts that are not built yet are stood in for by bindings of their shape, so that their price
is known.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files

import orjson
import pytest

from benchmarks.inputs import INPUTS, PREFIX, Input
from esproxy.core import WIDE, Action, Bindings, BulkPass, Kind, Op, Pass, Table, rewrite
from esproxy.tenancy.layouts import dedicated_answer, dedicated_request

CONTENT = json.loads(files("esproxy.api").joinpath("tables/opensearch.json").read_text())
TABLE = Table(CONTENT["states"], CONTENT["reasons"])
STATES = {
    "search": CONTENT["endpoints"]["search"]["request"],
    "answer": CONTENT["endpoints"]["search"]["response"],
    "document": CONTENT["endpoints"]["index"]["request"],
}
PREFIXED = Action(Op.PREFIX, PREFIX.encode())
FILTER = b'{"term":{"_routing":"acme.7"}}'
FILTERED = Action(Op.WRAP, b'{"bool":{"must":', b',"filter":[' + FILTER + b"]}}", FILTER)
REQUESTS = {
    "dedicated": dedicated_request(PREFIX.encode()),
    "shared": {Kind.INDEX: PREFIXED, Kind.ID: PREFIXED, Kind.QUERY: FILTERED},
    "per-tenant": {
        **dict.fromkeys((Kind.INDEX, Kind.ID, Kind.FIELD, Kind.SOURCE), PREFIXED),
        Kind.QUERY: FILTERED,
        Kind.DOC: Action(Op.WRAP, b'{"n7":', b"}"),
    },
}
ANSWERS = {"dedicated": dedicated_answer(PREFIX.encode(), keep_tags=False)}


def echo(kind: Kind, token: bytes) -> bytes:
    return token


def worker(case: Input, layout: str) -> Callable[[], bytes]:
    """What rewrites the input once."""
    body = case.body
    bindings = Bindings((ANSWERS if case.place == "answer" else REQUESTS)[layout])
    if case.place == "bulk":
        roots = CONTENT["roots"]
        doc = None if layout == "dedicated" else roots["bulk.doc"]
        return lambda: BulkPass(TABLE, roots["bulk.action"], roots["bulk.update"], doc, bindings, echo).feed(body, True)
    state = STATES[case.place]
    if case.name == "empty":
        return lambda: rewrite(TABLE, state, bindings, body)
    return lambda: Pass(TABLE, state, bindings, echo).feed(body, True)


def is_right(case: Input, layout: str, out: bytes) -> bool:
    """Checked apart from the core: parse, undo what the layout does, compare."""
    lines = [orjson.loads(line) for line in out.splitlines()]
    given = [orjson.loads(part) for part in case.parts]
    text = out.decode()
    if case.place == "answer":
        return PREFIX not in text and lines == orjson.loads(case.body.replace(PREFIX.encode(), b"").join((b"[", b"]")))
    if layout != "dedicated" and case.place == "search":
        if case.name == "empty":
            return lines == [{"query": {"term": {"_routing": "acme.7"}}}]
        if "acme.7" not in text:
            return False
    return [undo(line) for line in lines] == [undo(value) for value in given]


def undo(value):
    """The value without the prefix, the filter and the nesting."""
    if isinstance(value, list):
        return [undo(inside) for inside in value]
    if isinstance(value, dict):
        if list(value) == ["n7"]:
            return undo(value["n7"])
        if list(value) == ["bool"] and list(value["bool"]) == ["must", "filter"] and "acme.7" in str(value["bool"]["filter"]):
            return undo(value["bool"]["must"])
        return {key.removeprefix(PREFIX): undo(inside) for key, inside in value.items()}
    return value.removeprefix(PREFIX) if isinstance(value, str) else value


CASES = [
    pytest.param(case, layout, id=f"{case.name}-{layout}", marks=pytest.mark.benchmark(group=case.name))
    for case in INPUTS
    for layout in (ANSWERS if case.place == "answer" else REQUESTS)
]
ALONE = [pytest.param(case, id=case.name, marks=pytest.mark.benchmark(group=case.name)) for case in INPUTS]


def note(benchmark, case: Input, correct: bool) -> None:
    benchmark.extra_info.update(correct=correct, bytes=len(case.body), wide=WIDE)
    assert correct


@pytest.mark.parametrize(("case", "layout"), CASES)
def test_rewrite(benchmark, case, layout):
    out = benchmark(worker(case, layout))
    note(benchmark, case, is_right(case, layout, out))


@pytest.mark.parametrize("case", ALONE)
def test_yardstick_copy(benchmark, case):
    out = benchmark(bytearray, case.body)
    note(benchmark, case, out == case.body)


@pytest.mark.parametrize("case", ALONE)
def test_yardstick_orjson(benchmark, case):
    parts = case.parts
    if len(parts) == 1:
        out = [benchmark(lambda: orjson.dumps(orjson.loads(case.body)))]
    else:
        out = benchmark(lambda: [orjson.dumps(orjson.loads(part)) for part in parts])
    note(benchmark, case, out == parts)
