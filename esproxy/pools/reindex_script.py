"""The script of a ``_reindex`` from or to pools, run by a node over documents as the client knows them.

A node that copies runs it over what is stored. Here documents are at hand as their client wrote them, and ``_simulate`` runs a
script over documents that it is given, and writes nothing: what a reindex calls ``ctx`` (the metadata of a document, ``_source``,
``op``) is for it a document with metadata. Whatever names, ids and routing values come out are the client's own, and are written
as such, so no script gets further than its client.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from esproxy import exact
from esproxy.catalogue.store import Steps
from esproxy.errors import Refusal
from esproxy.pools.pooled import Pooled
from esproxy.pools.within import ask

OPS = ("index", "delete", "noop")
CONTEXT = frozenset(("_source", "op", "_now"))
GIVEN = ("_routing", "_version")


class Ended(Exception):
    """A request within did not end well: its answer is the client's."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(status)
        self.status = status
        self.body = body


@dataclass(slots=True)
class Outcome:
    """``changed``: of the metadata, what is not as it was."""

    op: str
    source: dict[str, Any]
    changed: dict[str, Any]


def inline(request: Pooled, script: Any) -> Steps[dict[str, Any]]:
    """The script with its source, where one that is stored is named. Raises Refusal."""
    if not isinstance(script, dict):
        raise Refusal("[reindex] script is an object", type="x_content_parse_exception")
    if "id" not in script:
        return script
    if script.keys() - {"id", "params"}:
        raise Refusal("a script that is stored has an [id] and [params]")
    id = script["id"]
    status, told = yield from ask(request, "GET", ["_scripts", str(id)])
    if status == 404:
        raise Refusal(f"unable to find script [{id}] in cluster state", status=404, type="resource_not_found_exception")
    if status != 200:
        raise Ended(status, told)
    stored: dict[str, Any] = exact.loads(told)["script"]
    return {"lang": stored["lang"], "source": stored["source"]} | {key: script[key] for key in ("params",) if key in script}


def run_script(request: Pooled, script: dict[str, Any], hits: list[dict[str, Any]]) -> Steps[list[Outcome]]:
    """What becomes of each hit. Raises Ended with the node's error, Refusal."""
    docs = []
    for hit in hits:
        meta = {name: hit[name] for name in ("_index", "_id", *GIVEN) if name in hit}
        docs.append({**meta, "_source": {"_source": hit["_source"], "op": "index"}})
    body = exact.dumps({"pipeline": {"processors": [{"script": script}]}, "docs": docs})
    status, told = yield from ask(request, "POST", ["_ingest", "pipeline", "_simulate"], {}, body)
    with request.pools.answers.tree(request.tenant, told):
        tree = exact.loads(told)
    if status != 200:
        _bare(tree.get("error"))
        raise Ended(status, exact.dumps(tree))
    for one in tree["docs"]:
        if "error" in one:
            raise Ended(400, exact.dumps({"error": _bare(one["error"]), "status": 400}))
    return [_outcome(hit, one["doc"]) for hit, one in zip(hits, tree["docs"], strict=True)]


def _outcome(hit: dict[str, Any], doc: dict[str, Any]) -> Outcome:
    made = doc["_source"]
    unknown = sorted(made.keys() - CONTEXT)
    if unknown:
        raise Refusal(f"Invalid fields added to context [{','.join(unknown)}]")
    op, source = made.get("op"), made.get("_source")
    if op not in OPS:
        raise Refusal(f"Operation type [{op}] not allowed, only [noop, index, delete] are allowed")
    if not isinstance(source, dict):
        raise Refusal("the script has left no [_source]")
    changed = {name: doc.get(name) for name in ("_index", "_id", "_routing") if doc.get(name) != hit.get(name)}
    version = doc.get("_version")
    if str(version) != str(hit["_version"]):
        changed["_version"] = None if version is None else int(version)
    return Outcome(op, source, changed)


def _bare(error: Any) -> Any:
    """Without what tells that it was a pipeline's."""
    for holder in (error, *error.get("root_cause", ())) if isinstance(error, dict) else ():
        holder.pop("processor_type", None)
    return error
