"""The lines of a bulk over indices in pools: read as nodes read them, and refused whole in their words.

An action line is one object with one action; its members are plain values. What a line says is read from the parsed object; the
core's pass is for strictness alone: one over the whole bulk, and where that finds something, one over each line until it is told.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson

from esproxy import core
from esproxy.bodies import bulk_splitter
from esproxy.bulkaction import check_action
from esproxy.errors import EsproxyError, Refusal, half_a_character
from esproxy.pools.pooled import Pooled
from esproxy.rewriting.places import text_of
from esproxy.rewriting.rewrite import PoolResolver
from esproxy.tenancy.target import UNFILTERED, Target

INVALID = "action_request_validation_exception"


@dataclass(slots=True)
class Record:
    verb: str
    meta: dict[str, Any]
    source: bytes | None
    name: str = ""
    target: Target | None = None
    out: bytes | None = None  # the source as it is sent
    routing: str | None = None  # the client's
    templates: dict[str, str] = field(default_factory=dict)  # dynamic templates that the client has given by path
    aliased: bool = False  # its name must be an alias's
    error: EsproxyError | None = None
    item: dict[str, Any] | None = None  # what the answer says of it, where that is known beforehand
    action: dict[str, Any] = field(default_factory=dict)
    there: bool | None = None  # the document of an update, where that has been asked
    piped: bool = False  # what it says now is what pipelines have made of it
    executed: list[str] = field(default_factory=list)  # these
    stopped: str | None = None  # the one that has made nothing of it

    @property
    def settled(self) -> bool:
        """It is not to be written."""
        return self.error is not None or self.item is not None or self.stopped is not None


def read_lines(request: Pooled) -> list[Record]:
    """Every record, with the client's own names. Raises Refusal for the whole bulk."""
    body = request.body
    if not body.endswith(b"\n"):
        raise Refusal("The bulk request must be terminated by a newline [\\n]")
    check = bulk_splitter(request.plan, request.pools.max_depth)
    check.feed(body, True)
    strict = check.status is core.Status.OK
    lines = body[:-1].split(b"\n")
    records: list[Record] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if not line.strip():
            continue
        verb, meta = _action(request, line, at, strict)
        source = None
        if verb != "delete":
            if at == len(lines):
                break  # an action with nothing behind it is dropped by nodes without a word
            source = lines[at]
            at += 1
        records.append(Record(verb, meta, source))
    if not records:
        raise Refusal("Validation Failed: 1: no requests added;", type=INVALID)
    for record in records:
        _read_meta(request.parts.get("index"), request.plan.query.get("routing"), record)
    return records


def _action(request: Pooled, line: bytes, number: int, strict: bool) -> tuple[str, dict[str, Any]]:
    try:
        action = orjson.loads(line)
    except orjson.JSONDecodeError:
        action = None
    else:
        check_action(action, number, request.product)
    if not strict:
        _check(request, line, number)
    if action is None:
        raise half_a_character()
    if len(action) != 1:
        raise Refusal(f"Malformed action/metadata line [{number}], found more than one action")
    ((verb, meta),) = action.items()
    return verb, meta


def _check(request: Pooled, line: bytes, number: int) -> None:
    state = request.plan.cluster.engine.tables.roots["bulk.action"]
    resolver = PoolResolver(request.plan, [])
    run = core.Pass(request.plan.cluster.engine.grammar, state, UNFILTERED, resolver, max_depth=request.pools.max_depth)
    run.feed(line, True)
    if run.status is not core.Status.OK:
        raise Refusal(f"Malformed action/metadata line [{number}]: {run.error}")


def _read_meta(default: str | None, routing: str | None, record: Record) -> None:
    meta = record.meta
    name = meta.pop("_index", None)
    record.name = text_of(name) if name is not None else default or ""
    if name is None and default is None:
        raise Refusal("Validation Failed: 1: index is missing;", type=INVALID)
    given = [meta.pop(key) for key in ("routing", "_routing") if key in meta]
    record.routing = next((text_of(value) for value in given if value is not None), routing)
    if meta.get("_id") is None:
        meta.pop("_id", None)
        if record.verb in ("update", "delete"):
            raise Refusal("Validation Failed: 1: id is missing;", type=INVALID)
