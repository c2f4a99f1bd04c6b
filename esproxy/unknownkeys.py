"""A key that no definition knows, refused in a node's words where it has some of its own: an unknown query, an unknown kind of
aggregation, a key inside of one, or of a body that is read by one parser.

Nothing of this is asked of a node, which might know the key and act on it. Where the key stands is read from the body, which was
well-formed up to there, and what could stand there instead from the rule table; nodes offer what is more than half alike.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import orjson

from esproxy.errors import NotValid, Refusal, near
from esproxy.plan import Plan

TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],:]', re.DOTALL)
MEMBER = re.compile(rb'("(?:[^"\\]|\\.)*")\s*:\s*(?=([{\["\-0-9tfn]))', re.DOTALL)
CLAUSES = ("must", "filter", "should", "must_not")
AGGS = ("aggs", "aggregations")
BESIDE_KINDS = (*AGGS, "meta")  # keys of an aggregation that are no kind of one
HEURISTICS = ("significant_terms", "significant_text")  # whose parsers look an unknown key up among heuristics
# Aggregations whose bodies are read by one parser, which says so of a key that it does not know.
PARSED = frozenset(
    ("auto_date_histogram", "avg", "cardinality", "date_histogram", "date_range", "extended_stats", "geo_bounds", "geo_centroid",
     "histogram", "ip_range", "max", "median_absolute_deviation", "min", "missing", "range", "rare_terms", "stats",
     "sum", "terms", "value_count", "variable_width_histogram", "weighted_avg", *HEURISTICS)
)  # fmt: skip
BODIES = {"update": "UpdateRequest"}
QUERIES = ("count", "indices.validate_query")  # bodies that hold a query and nothing else
TOKENS = {b"{": "START_OBJECT", b"[": "START_ARRAY", b'"': "VALUE_STRING", b"t": "VALUE_BOOLEAN", b"f": "VALUE_BOOLEAN",
          b"n": "VALUE_NULL"}  # fmt: skip


class At(NamedTuple):
    """A place in a body, as nodes count."""

    line: int
    col: int

    @classmethod
    def of(cls, body: bytes, offset: int) -> At:
        front = body[:offset]
        return cls(front.count(b"\n") + 1, offset - front.rfind(b"\n"))

    def __str__(self) -> str:
        return f"[{self.line}:{self.col}]"


def refusal(plan: Plan, body: bytes, offset: int) -> Refusal | None:
    """The node's error about the key at ``offset``; None where it is not known what a node says there."""
    found = MEMBER.match(body, offset)
    state = plan.endpoint.request
    if found is None or state is None or plan.endpoint.framing is not None:
        return None
    path = path_to(body, offset)
    key = orjson.loads(found[1])
    token, at, value_at = found[2], At.of(body, offset), At.of(body, found.end())
    name = plan.route.row.name
    if not path:
        if name in BODIES:
            return _unknown_field(at, BODIES[name], key, _known(plan, path))
        if name in QUERIES:
            return _not_parsed(plan, f"request does not support [{key}]", at)
        if name == "search":
            return _not_parsed(plan, f"Unknown key for a {TOKENS.get(token, 'VALUE_NUMBER')} in [{key}].", value_at)
    if token != b"{" and not (len(path) > 2 and path[-3] in AGGS):
        return None
    if path and path[0] == "query":
        return _query(plan, path, key, value_at)
    return _aggregation(plan, path, key, at, value_at) if path and path[0] in AGGS else None


def _query(plan: Plan, path: list[str | None], key: str, at: At) -> Refusal | None:
    clauses: list[str] = []
    rest = path[1:]
    while len(rest) > 1 and rest[0] == "bool" and rest[1] in CLAUSES:
        clauses.append(str(rest[1]))
        rest = rest[3:] if rest[2:3] == [None] else rest[2:]
    if rest or (clauses and plan.route.row.name in QUERIES):
        return None
    error = _not_named(plan, f"unknown query [{key}]{did_you_mean(key, _known(plan, path))}", key, at)
    for clause in reversed(clauses):
        around = f"{at} [bool] failed to parse field [{clause}]"
        error = Refusal(around, type="x_content_parse_exception", caused_by=error.cause())
    return error


def _aggregation(plan: Plan, path: list[str | None], key: str, at: At, value_at: At) -> Refusal | None:
    rest = path
    while len(rest) > 2 and rest[0] in AGGS and rest[2] in AGGS:
        rest = rest[2:]
    known = _known(plan, path)
    if len(rest) == 2:
        kinds = [kind for kind in known if kind not in BESIDE_KINDS]
        return _not_named(plan, f"Unknown aggregation type [{key}]{did_you_mean(key, kinds)}", key, value_at)
    if len(rest) != 3 or rest[2] not in PARSED:
        return None
    error = _unknown_field(at, rest[2], key, known)
    if rest[2] in HEURISTICS:
        error.extra["caused_by"] = _named_nothing(key, value_at)
    return error


def _unknown_field(at: At, parser: str | None, key: str, known: list[str]) -> Refusal:
    return Refusal(f"{at} [{parser}] unknown field [{key}]{did_you_mean(key, known)}", type="x_content_parse_exception")


def _not_parsed(plan: Plan, reason: str, at: At, **more: Any) -> Refusal:
    if plan.route.row.name == "indices.validate_query":
        unnamed = more.get("caused_by", {}).get("reason", "")
        explained = plan.query.get("explain", "false") != "false"
        return NotValid(reason, explained=explained, product=plan.product, unnamed=unnamed)
    return Refusal(reason, type="parsing_exception", line=at.line, col=at.col, **more)


def _not_named(plan: Plan, reason: str, key: str, at: At) -> Refusal:
    return _not_parsed(plan, reason, at, caused_by=_named_nothing(key, at))


def _named_nothing(key: str, at: At) -> dict[str, Any]:
    return {"type": "named_object_not_found_exception", "reason": f"{at} unknown field [{key}]"}


def did_you_mean(key: str, known: list[str]) -> str:
    like = near(key, known)
    if not like:
        return ""
    return f" did you mean [{like[0]}]?" if len(like) == 1 else f" did you mean any of [{', '.join(like)}]?"


def path_to(body: bytes, offset: int) -> list[str | None]:
    """The keys, and None for each list, that lead to the object which the key at ``offset`` stands in. What stands before it is
    JSON."""
    path: list[str | None] = []
    keys: list[str | None] = []  # of each object that is open the key that was read last, None for a list
    last = b""
    for token in TOKEN.findall(body[:offset]):
        if token in (b"{", b"["):
            if keys:
                path.append(keys[-1])
            keys.append(None)
        elif token in (b"}", b"]"):
            keys.pop()
            if keys:
                path.pop()
        elif token == b":":
            keys[-1] = orjson.loads(last)
        last = token
    return path


def _known(plan: Plan, path: list[str | None]) -> list[str]:
    """The keys that may stand in the object at the end of the path."""
    states = plan.cluster.engine.tables.states
    at = plan.endpoint.request or 0
    for key in path:
        row = states[at]
        at = row.get("items", at) if key is None else row.get("keys", {}).get(key, row.get("other", ("COPY", 1))[1])
    return list(states[at].get("keys", ()))
