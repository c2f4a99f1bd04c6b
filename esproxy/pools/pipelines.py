"""Ingest pipelines are kept by the nodes, as outside of pools. Elasticsearch keeps those that settings of an index name from
being deleted; it does not know the settings of indices in pools."""

from __future__ import annotations

from collections import defaultdict

from esproxy.catalogue.store import Steps
from esproxy.errors import Failed, Refusal
from esproxy.exchange import Reply
from esproxy.pools.pooled import Apart, Pooled
from esproxy.tenancy.expressions import matching
from esproxy.tenancy.placement import DEDICATED

SETTINGS = {"default": "index.default_pipeline", "final": "index.final_pipeline"}
SHOWN = 3  # indices, in words of a node


def delete_pipeline(request: Pooled) -> Steps[Reply]:
    if request.product:
        used: dict[str, dict[str, list[str]]] = defaultdict(lambda: {kind: [] for kind in SETTINGS})
        directory = yield from request.directory([], pattern=True)
        for name, entry in sorted(directory.indices.items()):
            if entry.layout == DEDICATED:
                continue
            settings = (yield from request.index_document(entry.n)).settings
            for kind, setting in SETTINGS.items():
                if settings.get(setting) is not None:
                    used[str(settings[setting])][kind].append(name)
        for pipeline in sorted(matching(request.parts["id"], list(used))):
            if (yield from _is_there(request, pipeline)):
                told = " and ".join(_told(kind, by) for kind, by in used[pipeline].items() if by)
                raise Refusal(f"pipeline [{pipeline}] cannot be deleted because it is {told}")
    raise Apart


def _told(kind: str, by: list[str]) -> str:
    return f"the {kind} pipeline for {len(by)} index(es) including [{','.join(by[:SHOWN])}]"


def _is_there(request: Pooled, pipeline: str) -> Steps[bool]:
    answer = yield request.send("GET", ["_ingest", "pipeline", request.plan.owner().names.inside + pipeline], {})
    if answer.status not in (200, 404):
        raise Failed("the cluster did not tell of a pipeline")
    return bool(answer.status == 200)
