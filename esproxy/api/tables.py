"""The checked-in rule tables, typed.

``load("elasticsearch")`` or ``load("opensearch")``; each is read once per process. The states are handed as they are to
``esproxy.core.Table``; everything else is for the Gateway. Format: docs/design/rule-tables.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

import orjson

from esproxy.api.kinds import Kind

FORMAT = 1
Engine = Literal["elasticsearch", "opensearch"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One endpoint: ``urls`` as (methods, template); kinds of path and query parameters; ``refuse``: reason for each
    parameter of kind REFUSE; ``framing`` of the body when it is lines; states of request and answer, None without a body.
    A framed request's state is the one of its first line."""

    name: str
    urls: list[tuple[list[str], str]]
    path: dict[str, Kind]
    query: dict[str, Kind]
    refuse: dict[str, str]
    framing: Literal["bulk", "msearch", "templates"] | None
    body: Literal["none", "optional", "required"]
    request: int | None
    response: int | None


@dataclass(frozen=True, slots=True)
class Tables:
    """One engine's table. ``roots``: states of bodies that no endpoint names (``error``, ``bulk.action``, ``bulk.update``,
    ``bulk.doc``, ``msearch.header``, ``msearch.body``). ``refused``: where the endpoints are that are not served."""

    engine: Engine
    states: list[dict[str, Any]]
    reasons: list[str]
    roots: dict[str, int]
    endpoints: dict[str, Endpoint]
    refused: dict[str, list[tuple[list[str], str]]]


@cache
def load(engine: Engine) -> Tables:
    """One engine's table. Raises ValueError for an engine that has none, or a format that this code does not read."""
    file = resources.files("esproxy.api").joinpath("tables", f"{engine}.json")
    if not file.is_file():
        raise ValueError(f"no rule tables for the engine [{engine}]")
    raw = orjson.loads(file.read_bytes())
    if raw["format"] != FORMAT:
        raise ValueError(f"the rule tables of [{engine}] have format {raw['format']}, this code reads {FORMAT}")
    reasons = raw["reasons"]
    endpoints = {name: _endpoint(name, row, reasons) for name, row in raw["endpoints"].items()}
    return Tables(engine, raw["states"], reasons, raw["roots"], endpoints, raw["refused"])


def _endpoint(name: str, row: dict[str, Any], reasons: list[str]) -> Endpoint:
    return Endpoint(
        name=name,
        urls=[(methods, path) for methods, path in row["urls"]],
        path={key: Kind[kind] for key, kind in row["path"].items()},
        query={key: Kind[kind] for key, kind in row["query"].items()},
        refuse={key: reasons[at] for key, at in row.get("refuse", {}).items()},
        framing=row["framing"],
        body=row["body"],
        request=row["request"],
        response=row["response"],
    )
