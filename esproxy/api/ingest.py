"""Corrections for ingest pipelines.

Rows as in ``overrides``, of which these are a part. Processors are read behind the pass, each by its type
(``esproxy.metadata.ingest``), and so are their answers.
"""

from __future__ import annotations

from esproxy.api.patch import Also, Is, Row
from esproxy.api.schema import ANY
from esproxy.api.words import PIPELINE

_READ = "read behind the pass, by the type of each processor"

ROWS: list[Row] = [
    *(Is("ingest.put_pipeline:Request", prop, ANY, _READ) for prop in ("processors", "on_failure", "_meta")),
    Is("ingest.simulate:Request", "pipeline", ANY, _READ),
    Is("ingest.simulate:Request", "docs", ANY, "in logical indices, which is what a pipeline sees"),
    *(
        Also(type_, {"executed_pipelines": PIPELINE}, "those that a write ran; not what they ran in turn")
        for type_ in ("_global.bulk:ResponseItem", "_types:WriteResponseBase")
    ),
]
