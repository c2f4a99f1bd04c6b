"""Corpus files: readable cases, each run whole and in every way of cutting its input.

tests/corpus/core/*.txt. A case has a heading (``=== words``), a line with state, bindings and options (a resolver of
tests/core/run.py, ``depth=``, ``record=``), and parts: ``--- in`` and either ``--- out`` or ``--- fails``;
``marks``, ``unknown``, ``misses``, ``ops`` and ``broken`` where they are not zero. ``--- in %``: percent-encoded, for
bytes that cannot stand in a text.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

import pytest

from esproxy.core import BulkPass, Mark, Status
from tests.core import run as resolvers
from tests.core.run import check_cuts, passes
from tests.core.tables import BINDINGS, ROOTS, TABLE

FOLDER = Path(__file__).parent.parent / "corpus" / "core"
FAILS = re.compile(r"(?P<status>[A-Z_]+) at (?P<offset>\d+)(?: under (?P<key>.*?))?(?:: (?P<reason>.*))?")
PARTS = {"in", "out", "fails", "marks", "unknown", "misses", "ops", "broken"}


class Case(NamedTuple):
    heading: str
    root: str
    bindings: str
    options: list[str]
    parts: dict[str, bytes]


def cases(path: Path) -> list[Case]:
    found = []
    for text in re.split(r"^=== ", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
        head, *rest = re.split(r"^--- ", text, flags=re.M)
        heading, options = head.strip().split("\n")
        root, bindings, *others = [word.strip() for word in options.split(",")]
        parts = {}
        for part in rest:
            title, _, body = part.partition("\n")
            name, *percent = title.split()
            assert name in PARTS and name not in parts, f"{path.name}: {heading}: {title}"
            body = body.removesuffix("\n") if part is rest[-1] else body  # the blank line before the next heading
            if root != "bulk" or percent or name not in ("in", "out"):
                body = body.removesuffix("\n")
            body = body.removesuffix("…\n")
            parts[name] = unquote_to_bytes(body) if percent else body.encode()
        found.append(Case(heading, root, bindings, others, parts))
    return found


def every_case():
    for path in sorted(FOLDER.glob("*.txt")):
        for case in cases(path):
            yield pytest.param(case, id=f"{path.stem}: {case.heading}")


@pytest.mark.parametrize("case", list(every_case()))
def test_case_in_every_cut(case):
    options = dict(option.split("=") for option in case.options if "=" in option)
    names = [option for option in case.options if "=" not in option]
    resolver = getattr(resolvers, names[0]) if names else None
    depth = int(options.pop("depth", 100))
    if case.root == "bulk":
        record = {"max_record": int(options.pop("record"))} if "record" in options else {}
        doc = ROOTS["doc"] if case.bindings in ("shared", "per-tenant") else None

        def make(ask):
            return BulkPass(TABLE, ROOTS["action"], ROOTS["update"], doc, BINDINGS[case.bindings], ask, max_depth=depth, **record)
    else:
        make = passes(TABLE, ROOTS[case.root], BINDINGS[case.bindings], max_depth=depth)
    assert not options, "an option that is not known"
    told = check_cuts(make, case.parts["in"], resolver)
    if "fails" in case.parts:
        assert told.status is not Status.OK, told.output
        words = FAILS.fullmatch(case.parts["fails"].decode())
        key = (words["key"] or "").encode()
        assert (told.status.name, told.offset, told.key) == (words["status"], int(words["offset"]), key)
        failed = make(resolver)
        failed.feed(case.parts["in"], True)
        assert (failed.error.status, failed.error.reason) == (told.status, words["reason"] or "")
        return
    assert (told.status, told.offset) == (Status.OK, len(case.parts["in"])), told.key
    if told.misses:
        assert told.misses == int(case.parts["misses"])
        assert told.output == b""
    else:
        assert told.output == case.parts["out"]
    marks = sum(Mark[name] for name in case.parts.get("marks", b"").decode().split())
    assert (told.marks, told.unknown) == (marks, int(case.parts.get("unknown", b"0")))
    if case.root == "bulk":
        assert " ".join(f"{verb} {n}" for verb, n in told.extra[2].items()).encode() == case.parts["ops"]
        assert [f"{n} {error}" for n, error in told.extra[3]] == case.parts.get("broken", b"").decode().splitlines()
