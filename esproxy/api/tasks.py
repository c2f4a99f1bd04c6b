"""Corrections for tasks, and for answers of what runs as one.

Rows as in ``overrides``, of which these are a part. Lists of tasks are made of the tenant's own (``esproxy.metadata.tasks``)
before a table restores them; the answers of calls about one task are such lists too.
"""

from __future__ import annotations

from esproxy.api.kinds import Kind
from esproxy.api.patch import Alias, Is, New, Row
from esproxy.api.schema import Dict, Items, Leaf, Ref, Union
from esproxy.api.words import INDEX, QUOTES, SHARDS, TEXT

_TASK = Leaf(Kind.TASK)
_INFO = Ref("tasks._types:TaskInfo")

ROWS: list[Row] = [
    Is("tasks._types:TaskInfo", "description", TEXT, QUOTES),
    Is("indices.forcemerge._types:ForceMergeResponseBody", "task", _TASK, "the definitions have a plain string"),
    New(
        "esproxy:TaskOutcome",
        {"failures": Ref("_types:BulkIndexByScrollFailure"), "index": INDEX, "_shards": SHARDS},
        "what a call that was not waited for would have answered: by query, a merge, an index made of another",
    ),
    Is("tasks.get:Response", "response", Ref("esproxy:TaskOutcome"), "the definitions do not say"),
    Alias(
        "tasks._types:TaskInfos",
        Union((Items(_INFO), Dict(_TASK, Ref("tasks._types:ParentTaskInfo")))),
        "keys are ids of tasks",
    ),
]
