"""Whether two answers to a generated call are one, deviations aside; and the differences by cause.

A scenario names the rows of ``esproxy.api.deviations`` that its calls show. Here a call has a row where its construct is in the
call (``CONSTRUCTS``), or, for rows that refuse, where the refusal says so in the proxy's own words (``WORDS``): then what
the row lets differ is not compared. When a write is answered differently, by a row or by a defect, what comes behind it in its
sequence sees something else: where that differs, it is set aside.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from tests.oracle.client import Client
from tests.oracle.compare import Difference, compare, runs
from tests.oracle.coverage import match
from tests.oracle.generated.calls import WRITES, Sequence
from tests.oracle.generated.material import Material
from tests.oracle.generated.play import Told
from tests.oracle.placements import layouts_in
from tests.oracle.scenario import Call

EQUAL, DEVIATES, LATER_IN_POOLS, BEHIND, DIFFERS = "equal", "deviations", "not in pools yet", "behind another", "different"
FIGURES = r"/_(stats|segments|recovery|shard_stores|cat|nodes|cluster/stats|upgrade)\b"
# Rows without a refusal, by what in a call shows them.
CONSTRUCTS = (
    ("random-score", r"random_score"),
    ("doc-order", r'"_doc"|[?&]sort=[^&]*_doc'),
    ("measures", FIGURES),
    ("term-figures", r"/_m?termvectors"),
)
# Rows that refuse, by the words of the refusal.
WORDS = (
    ("pool-terms", r"\[(suggest|rewrite|index_filter)\] is not available"),
    ("fields-at-large", r"not hand all of them on|kql query is not available|not available for several indices at once"),
    ("across", r"not available for several indices at once|which documents come first|types in these indices that cannot"),
    ("across", r"a document of another index to be like|has different names in the pools of these indices"),
    ("declared-once", r"can only be set when the index is created|cannot be made a \[runtime\]|of type \[lookup\]"),
    ("root-parameters", r"of a mapping cannot be changed for an index in a pool that has others in it"),
    ("declared-once", r"of a mapping can only be set when the index is created"),
    ("declared-once", r"that begins? with an underscore|cannot be copied to|script that computes names of fields"),
    ("root-parameters", r"\] of a mapping can"),
    ("term-figures", r"made of the terms of the whole pool"),
    ("strict-body", r"unknown field \[[^\]]*\], at byte|, at byte \d"),
    ("strict-body", r"\] unknown field \[|unknown query \[|Unknown (key|aggregation type) |request does not support \["),
    ("outside", r"no such remote cluster|remote indices were requested"),
)
NOT_YET = re.compile(rb"is not available yet for indices in pools|what a pipeline makes of a search is not seen")


@dataclass(slots=True)
class Verdicts:
    """Of one layout. ``causes``: differences by cause, with where they were found."""

    counts: Counter[str] = field(default_factory=Counter)
    rows: Counter[str] = field(default_factory=Counter)
    causes: dict[str, list[Difference]] = field(default_factory=dict)
    taken: int = 0  # by the bare node
    calls: int = 0

    def add(self, cause: str, difference: Difference) -> None:
        self.causes.setdefault(cause, []).append(difference)

    def report(self) -> list[str]:
        """Lines with all figures."""
        share = 100 * self.taken / max(self.calls, 1)
        lines = [f"{self.calls} calls, {self.taken} taken by the node ({share:.1f} %)"]
        lines.append(", ".join(f"{self.counts[one]} {one}" for one in (EQUAL, DEVIATES, LATER_IN_POOLS, BEHIND, DIFFERS)))
        lines += [f"  {count:>6} by the row {row}" for row, count in self.rows.most_common()]
        lines += [f"  {len(found):>6} {cause}" for cause, found in sorted(self.causes.items(), key=lambda one: -len(one[1]))]
        return lines


def node_name(client: Client) -> str:
    return client.send("GET", "/_cat/nodes?h=name", {}, None).body.decode().strip()


@dataclass(slots=True)
class Judge:
    material: Material
    placement: str
    nodes: tuple[str, str]  # names of the node, as it says and as the tenant's cluster does
    verdicts: Verdicts = field(default_factory=Verdicts)

    def sequence(self, sequence: Sequence, direct: list[Told], proxied: list[Told]) -> None:
        behind = False
        for place, (call, one, two) in enumerate(zip(sequence.calls, direct, proxied, strict=True)):
            counted = place in sequence.counted
            if not set(re.findall(r"\$\{(\w+)\}", call.line())) <= one.saved.keys():
                continue  # what it goes on with was not given
            if counted:
                self.verdicts.calls += 1
                self.verdicts.taken += one.taken
            verdict, differences = self.call((sequence.name, place), call, one, two)
            if behind and verdict == DIFFERS:
                verdict, differences = BEHIND, []
            self.verdicts.counts[verdict] += 1 if counted else 0
            if differences:
                self.verdicts.add(self.cause(call, differences, one, two), differences[0])
            behind = behind or (verdict != EQUAL and self.endpoint(call) in WRITES)

    def call(self, where: tuple[str, int], call: Call, one: Told, two: Told) -> tuple[str, list[Difference]]:
        layouts = layouts_in(self.placement)
        left, right = one.played(call), two.played(call)
        for played, node in zip((left, right), self.nodes, strict=True):
            played.answer.saved = played.answer.saved | {"node": node}
            if isinstance(played.answer.body, str):  # where names are not replaced that are short
                played.answer.body = re.sub(rf"(?<!\S){re.escape(node)}(?!\S)", "<node>", played.answer.body)
        found = compare(where, left, right, layouts)
        if not found:
            return EQUAL, []
        if layouts != {"dedicated"}:
            for played in (left, right):
                _without_cut(played.answer.body, "scored" if "shared" in layouts else "ties")
            if not compare(where, left, right, layouts):
                self.verdicts.rows["equal-hits"] += 1
                return DEVIATES, []
        for names in self.rows(call, two):
            excused = compare(where, replace(left, call=replace(call, differs=names)), right, layouts)
            if not excused:
                self.verdicts.rows[names] += 1
                return DEVIATES, []
            found = min(found, excused, key=len)
        if layouts != {"dedicated"} and NOT_YET.search(two.raw.body):
            return LATER_IN_POOLS, []
        return DIFFERS, found

    def rows(self, call: Call, proxied: Told) -> list[str]:
        """Names of rows that the call shows: those without refusals together, each with one."""
        line, words = call.line(), proxied.raw.body.decode("utf-8", "replace")
        named = [name for name, pattern in CONSTRUCTS if re.search(pattern, line)]
        refused = {name: None for name, pattern in WORDS if re.search(pattern, words)}
        return [" ".join(part) for part in (named, *([one] for one in refused)) if part]

    def endpoint(self, call: Call) -> str:
        matched = match(self.material.tables, call.method, call.target)
        return matched[0].name if matched else "?"

    def cause(self, call: Call, differences: list[Difference], direct: Told, proxied: Told) -> str:
        """What is alike for differences of one defect: endpoint, path and what stands there, without names and numbers."""
        first = next((one for one in differences if one.path == "status"), differences[0])
        path = re.sub(r"(?<=/)\d+(?=/|$)", "#", first.path)
        path = re.sub(r"aggregations/.*/", "aggregations/…/", path)
        reason = next((one for one in differences if one.path.endswith("reason")), first)
        said = [re.findall(rb'"reason":"((?:[^"\\]|\\.)*)', told.raw.body)[-1:] for told in (direct, proxied)]
        words = "".join(f" ({_blank(text[0].decode('utf-8', 'replace'))})" for text in said if text and first.path == "status")
        return f"{self.endpoint(call)} {path}: {_blank(reason.direct)} → {_blank(reason.proxied)}{words}"


def _without_cut(tree: Any, order: str) -> None:
    """Of pages that end among equal hits these are left out: which of them are on the page is the order that is the pool's."""
    for item in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        _without_cut(item, order)
    hits = tree.get("hits") if isinstance(tree, dict) else None
    if isinstance(hits, list) and hits and all(isinstance(hit, dict) for hit in hits):
        total = tree.get("total")
        count = total.get("value") if isinstance(total, dict) else total
        if count is None or int(str(count)) > len(hits):
            tree["hits"] = [hit for run in runs(hits, order)[:-1] for hit in run]


def _blank(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return re.sub(r"\[[^\]]*\]|'[^']*'|\"[^\"]*\"|\d+", "#", text)[:110]
