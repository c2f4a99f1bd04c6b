"""What a pass over a request body that ended early means: the node's error, with the line and the column where it knows them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import orjson

from esproxy import core, unknownkeys
from esproxy.api.kinds import Kind
from esproxy.bulkaction import check_action
from esproxy.errors import NotValid, Refusal
from esproxy.plan import Plan


class Place(NamedTuple):
    """Where in a body a chunk begins: bytes and line feeds before it, and where its first line begins."""

    size: int = 0
    lines: int = 0
    line_at: int = 0

    def behind(self, chunk: bytes) -> Place:
        lines = chunk.count(b"\n")
        line_at = self.size + chunk.rfind(b"\n") + 1 if lines else self.line_at
        return Place(self.size + len(chunk), self.lines + lines, line_at)


START = Place()


def refusal(plan: Plan, run: core.Pass | core.BulkPass, body: bytes, place: Place = START) -> Refusal:
    """What a pass that ended early means, in a node's terms. ``body``: the chunk that it ended in, which began at ``place``; of a
    bulk all of it or nothing."""
    error = run.error
    if run.status is core.Status.NO_NEWLINE:
        return Refusal("The bulk request must be terminated by a newline [\\n]")
    if isinstance(run, core.BulkPass):
        if body and run.status is core.Status.ACTION:
            with suppress(orjson.JSONDecodeError):
                return _no_action(orjson.loads(body.split(b"\n")[run.line - 1]), run, plan.product)
        return Refusal(f"Malformed action/metadata line or update body in line [{run.line}]: {error}")
    here = place.behind(body[: max(error.offset - place.size, 0)])
    line, col = here.lines + 1, error.offset - here.line_at + 1
    kind = "parsing_exception"
    if error.malformed:
        kind = "x_content_parse_exception" if plan.product else "parse_exception"
    elif plan.route.row.name == "indices.put_mapping" and error.key == b"_doc":
        return Refusal("Types cannot be provided in put mapping requests")
    if plan.route.row.names in (Kind.PIPELINE, Kind.SEARCH_PIPELINE):
        kind = "parse_exception"  # as nodes call what is wrong with a pipeline
    if run.status is core.Status.UNKNOWN_KEY and place is START:
        told = unknownkeys.refusal(plan, body, error.offset)
        if told is not None:
            return told
    if plan.route.row.name == "indices.validate_query":
        return NotValid(str(error), explained=plan.query.get("explain", "false") != "false", product=plan.product)
    return Refusal(str(error), type=kind, line=line, col=col)


def _no_action(action: Any, run: core.BulkPass, product: bool) -> Refusal:
    """Of a line that is JSON and no action: in a node's words, where it has some."""
    try:
        check_action(action, run.line, product)
    except Refusal as refused:
        return refused
    return Refusal(f"Malformed action/metadata line [{run.line}]: {run.error}")
