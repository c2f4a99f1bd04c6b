"""Calls that are answered differently though no deviation says so: defects that are known, small and not mended yet.

Each row: a scenario, the beginning of the call (method, target, headers, body), the engines (``es``, ``os>=3``, as scenarios name
them) and the layouts in which it differs (``mixed``: in a mixture alone), and what differs. The oracle lets exactly these calls
differ, and fails when a listed one no longer does.
"""

from __future__ import annotations

from collections.abc import Collection

from tests.oracle.scenario import Engine

# Scenarios of endpoints that indices in pools do not have yet: any call of theirs is refused there.
NOT_IN_POOLS = (
    *("tasks.not_waited_for", "tasks.failing", "tasks.under_way", "tasks.wrongly"),
    *("search_pipelines.running", "search_pipelines.processors"),
    "reindex.as_task",
    "cursors.all_points_in_time",
    "dashboards.moving",
)
# Scores of a term among the names of ignored fields count documents with such fields in all indices of the physical one.
IGNORED = (
    'POST /mal/_search {"query": {"term": {"_ignored"',
    'POST /mal/_search {"query": {"match": {"_ignored"',
    'POST /mal,fine/_search {"query": {"term": {"_ignored"',
)
KNOWN: tuple[tuple[str, str, str, str, str], ...] = (
    *((name, "", "es os", "per-tenant shared", "not in pools yet") for name in NOT_IN_POOLS),
    *(("queries_term.ignored", call, "es", "per-tenant", "how rare a name is in the physical index") for call in IGNORED),
    ("found_os.parameters", "POST /left/_update_by_query?pipeline=true", "os", "per-tenant shared", "not in pools yet"),
    ("found_es.parameters", "POST /left/_update_by_query?pipeline=true", "es", "per-tenant shared", "not in pools yet"),
    ("statistics.cat_aliases", "GET /_count?q=seen:1", "os", "dedicated", "a pattern goes over aliases, all itself does not"),
    ("statistics.cat_aliases", "GET /*/_count?q=seen:1", "os", "dedicated", "a pattern goes over aliases, all itself does not"),
    (
        "updates.scripts",
        'POST /books/_update/1 {"script": "throw new Exception(ctx._index)"}',
        "es os<3",
        "dedicated",
        "the place of a fault within what is written otherwise",
    ),
    (
        "generated.hidden_aliases",
        "PUT /b/_alias/h",
        "es os",
        "mixed",
        "an alias's properties in an index of its own are the node's",
    ),
    ("documents.content", 'PUT /books/_doc/1 { "b"', "es os", "shared", "which of two faults of one document is told, and where"),
    ("rare.mapping_roots", "PUT /m3", "es", "shared", "a warning of the past"),
    ("rare.mapping_roots", "PUT /m6", "es>=9", "shared", "a warning of the past"),
    (
        "queries_text.spans",
        'POST /lib/_search {"query": {"span_term": {"_id": {',
        "os",
        "per-tenant shared",
        "an id without a scope is not there, so there is no error about it",
    ),
    (
        "search.url_parameters",
        "GET /_search?force_synthetic_source=true",
        "es<9",
        "per-tenant shared",
        "refused: the version fails at it where any index in the physical one has a keyword with ignore_above",
    ),
    (
        "search.highlighting",
        'POST /_search {"query": {"bool": {"must": [{"term": {"_index"',
        "os",
        "per-tenant",
        "marks in the field _index are an error",
    ),
    (
        "found_os.two",
        'POST /_search {"derived"',
        "os",
        "per-tenant",
        "a node that sorts over several indices skips those where it finds no such field, and there it is a derived one",
    ),
    (
        "search.body_parameters",
        'POST /_search {"derived"',
        "os",
        "per-tenant",
        "a node that sorts over several indices skips those where it finds no such field, and there it is a derived one",
    ),
)


def rows_in(scenario: str, engine: Engine, layouts: Collection[str]) -> set[int]:
    """The rows of a scenario that hold for these engines and layouts, by their place in KNOWN."""
    return {
        i
        for i, (name, _, engines, where, _) in enumerate(KNOWN)
        if name == scenario and engine.is_one_of(engines.split()) and not set(where.split()).isdisjoint(layouts)
    }


def known(scenario: str, call: str, engine: Engine, layouts: Collection[str]) -> int | None:
    """The row for a call, as ``Call.line`` says it."""
    return next((i for i in sorted(rows_in(scenario, engine, layouts)) if call.startswith(KNOWN[i][1])), None)
