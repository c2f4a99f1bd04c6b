"""An in-memory node that answers the calls the catalogue's procedures make, as a real one does (test_model.py compares them).

What matters is kept: realtime gets see what is applied, searches see what was refreshed; sequence numbers are given out at
the *start* of a write and the write is applied at its *end*, so the global checkpoint stays below writes still under way
although later ones are acknowledged; a write to a missing index makes it; a delete by query deletes what it found at its
start, in two halves.

A call is executed by ``begin``, which returns its answer, or a function to be called later that ends it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import parse_qsl, unquote

import orjson

from esproxy.exchange import Answer, Send

Ending = Callable[[], Answer]


class Locked(Exception):
    """Another write of the same document is under way: this one has to queue."""


@dataclass(slots=True, frozen=True)
class Doc:
    seq_no: int
    source: Any
    routing: str | None


@dataclass(slots=True)
class Index:
    uuid: str
    body: dict[str, Any] | None  # None: made by a write
    docs: dict[str, Doc] = field(default_factory=dict)
    found: dict[str, Doc] = field(default_factory=dict)  # as of the last refresh
    seq_no: int = -1
    under_way: dict[int, str] = field(default_factory=dict)
    properties: dict[str, Any] = field(default_factory=dict)

    def checkpoint(self) -> int:
        return min(self.under_way, default=self.seq_no + 1) - 1

    def has_alias(self) -> bool:
        return bool((self.body or {}).get("aliases"))

    def refresh(self) -> None:
        self.found = dict(self.docs)


class Node:
    def __init__(self) -> None:
        self.indices: dict[str, Index] = {}
        self.made = 0
        self.applied: list[Callable[[str, str, Doc | None], None]] = []  # observers of every applied write

    def begin(self, send: Send) -> Answer | Ending:
        path, _, query = send.target.decode().partition("?")
        parts = [unquote(part) for part in path.strip("/").split("/")]
        params = dict(parse_qsl(query))
        body = orjson.loads(send.body) if send.body else None
        match send.method, parts:
            case "GET", [name, "_doc", id]:
                return self.get(name, id)
            case "PUT", [name, "_create", id]:
                return self.write(name, id, body, {**params, "op_type": "create"})
            case "PUT", [name, "_doc", id]:
                return self.write(name, id, body, params)
            case "DELETE", [name, "_doc", id]:
                return self.write(name, id, None, params)
            case "GET", [name, "_stats"]:
                return self.stats(name.split(","))
            case "GET", [patterns, "_stats", "docs,store"]:
                return answer(200, {"indices": {name: self.size(name) for name in self.listed(patterns)}})
            case "GET", [name, "_mapping"]:
                if name not in self.indices:
                    return missing(name)
                return answer(200, {name: {"mappings": {"properties": self.indices[name].properties}}})
            case "POST", [name, "_refresh"]:
                if name not in self.indices:
                    return missing(name)
                self.indices[name].refresh()
                return answer(200, {"_shards": {"total": 1, "successful": 1, "failed": 0}})
            case "POST", [name, "_search"]:
                return self.search(name, body)
            case "POST", [name, "_count"]:
                if name not in self.indices:
                    return missing(name)
                hits = [d for id, d in self.indices[name].found.items() if matches(body["query"], id, d)]
                return answer(200, {"count": len(hits), "_shards": {"failed": 0}})
            case "POST", [name, "_delete_by_query"]:
                return self.delete_by_query(name, body)
            case "PUT", [name, "_mapping"]:
                return self.put_mapping(name, body)
            case "PUT", [name]:
                name = next(iter(body.get("aliases", {})), name)  # an index with an alias is known by that alone
                if name in self.indices:
                    return error(400, "resource_already_exists_exception", f"index [{name}] already exists")
                if "refused" in body.get("mappings", {}).get("properties", {}):
                    return error(400, "mapper_parsing_exception", "no handler for type [refused]")
                self.make(name, body)
                return answer(200, {"acknowledged": True})
            case "HEAD", ["_alias", name]:
                return Answer(200 if name in self.indices and self.indices[name].has_alias() else 404, [], b"")
            case "HEAD", [name]:
                return Answer(200 if name in self.indices else 404, [], b"")
            case "DELETE", [name]:
                if name not in self.indices:
                    return missing(name)
                del self.indices[name]
                return answer(200, {"acknowledged": True})
            case "GET", ["_cat", "indices", patterns]:
                return answer(200, [{"index": name} for name in self.listed(patterns)])
        raise AssertionError(f"the model does not know {send.method} {send.target!r}")

    # --- documents -------------------------------------------------------------------------------------

    def get(self, name: str, id: str) -> Answer:
        if name not in self.indices:
            return missing(name)
        doc = self.indices[name].docs.get(id)
        if doc is None:
            return answer(404, {"_index": name, "_id": id, "found": False})
        return answer(200, {"_id": id, "_seq_no": doc.seq_no, "_primary_term": 1, "found": True, "_source": doc.source})

    def write(self, name: str, id: str, source: Any, params: dict[str, str]) -> Answer | Ending:
        if "require_alias" in params and name not in self.indices:
            return missing(name)
        index = self.indices.get(name) or (self.make(name, None) if source is not None else None)
        if index is None:
            return missing(name)
        if id in index.under_way.values():
            raise Locked
        old = index.docs.get(id)
        if params.get("op_type") == "create" and old is not None:
            return error(409, "version_conflict_engine_exception", f"[{id}]: version conflict, document already exists")
        if "if_seq_no" in params and old is None:
            return error(409, "version_conflict_engine_exception", f"[{id}]: version conflict, but no document was found")
        if "if_seq_no" in params and old is not None and old.seq_no != int(params["if_seq_no"]):
            return error(409, "version_conflict_engine_exception", f"[{id}]: version conflict, current has another seqNo")
        index.seq_no += 1
        seq_no = index.seq_no
        index.under_way[seq_no] = id

        def end() -> Answer:
            del index.under_way[seq_no]
            doc = None if source is None else Doc(seq_no, source, params.get("routing"))
            if doc is None:
                index.docs.pop(id, None)
            else:
                index.docs[id] = doc
            for observer in self.applied:
                observer(name, id, doc)
            if params.get("refresh") == "true":
                index.refresh()
            found = old is not None
            result = ("updated" if found else "created") if doc is not None else ("deleted" if found else "not_found")
            status = {"created": 201, "not_found": 404}.get(result, 200)
            return answer(status, {"_id": id, "result": result, "_seq_no": seq_no, "_primary_term": 1})

        return end

    def delete_by_query(self, name: str, body: Any) -> Answer | Ending:
        index = self.indices.get(name)
        if index is None:
            return missing(name)
        hits = [(id, d) for id, d in index.found.items() if matches(body["query"], id, d)]

        def delete(part: list[tuple[str, Doc]]) -> None:
            for id, doc in part:
                if index.docs.get(id) == doc and id not in index.under_way.values():
                    index.seq_no += 1
                    del index.docs[id]
                    for observer in self.applied:
                        observer(name, id, None)

        half = len(hits) // 2
        delete(hits[:half])
        if half:
            index.refresh()

        def end() -> Answer:
            delete(hits[half:])
            index.refresh()
            return answer(200, {"deleted": len(hits), "failures": []})

        return end

    def search(self, name: str, body: dict[str, Any]) -> Answer:
        if name not in self.indices:
            return missing(name)
        hits = [(id, d) for id, d in self.indices[name].found.items() if matches(body["query"], id, d)]
        hits.sort(key=lambda hit: hit[1].seq_no)
        found = [
            {"_id": id, "_seq_no": d.seq_no, "_primary_term": 1, "_source": d.source}
            | ({"_routing": d.routing} if d.routing else {})
            for id, d in hits[: body["size"]]
        ]
        return answer(200, {"timed_out": False, "_shards": {"failed": 0}, "hits": {"hits": found}})

    # --- indices -----------------------------------------------------------------------------------------

    def make(self, name: str, body: dict[str, Any] | None) -> Index:
        self.made += 1
        self.indices[name] = index = Index(f"uuid-{self.made}", body)
        index.properties = dict((body or {}).get("mappings", {}).get("properties", {}))
        return index

    def listed(self, patterns: str) -> list[str]:
        return [name for name in self.indices if any(fnmatchcase(name, pattern) for pattern in patterns.split(","))]

    def size(self, name: str) -> dict[str, Any]:
        count = len(self.indices[name].found)
        return {"primaries": {"docs": {"count": count}, "store": {"size_in_bytes": 100 * count}}}

    def stats(self, aliases: list[str]) -> Answer:
        gone = [name for name in aliases if name not in self.indices]
        return missing(gone[0]) if gone else answer(200, {"indices": {f"{name}-1": self.shard(name) for name in aliases}})

    def shard(self, name: str) -> dict[str, Any]:
        index = self.indices[name]
        copy = {
            "routing": {"primary": True, "state": "STARTED", "node": "n1"},
            "seq_no": {"max_seq_no": index.seq_no, "global_checkpoint": index.checkpoint()},
        }
        return {"uuid": index.uuid, "shards": {"0": [copy]}}

    def put_mapping(self, name: str, body: dict[str, Any]) -> Answer:
        index = self.indices.get(name)
        if index is None:
            return missing(name)
        for path, definition in body["properties"].items():
            old = index.properties.get(path)
            if old is not None and old.get("type") != definition.get("type"):
                reason = f"mapper [{path}] cannot be changed from type [{old['type']}] to [{definition['type']}]"
                return error(400, "illegal_argument_exception", reason)
        index.properties.update(body["properties"])  # other parameters are merged silently, as the node does with ignore_above
        return answer(200, {"acknowledged": True})


def matches(query: dict[str, Any], id: str, doc: Doc) -> bool:
    (kind, body), *_ = query.items()
    match kind:
        case "match_all":
            return True
        case "bool":
            wanted = all(matches(q, id, doc) for q in body.get("filter", []))
            return wanted and not any(matches(q, id, doc) for q in body.get("must_not", []))
        case "prefix":
            return (doc.routing or "").startswith(body["_routing"])
        case "range":
            return doc.seq_no > body["_seq_no"]["gt"]
    (name, value), *_ = body.items()
    held = doc.routing if name == "_routing" else doc.source.get(name)
    wanted = value if kind == "terms" else [value]
    return any(one in wanted for one in held) if isinstance(held, list) else held in wanted


def answer(status: int, body: Any) -> Answer:
    return Answer(status, [(b"content-type", b"application/json")], orjson.dumps(body))


def error(status: int, type: str, reason: str) -> Answer:
    return answer(status, {"error": {"type": type, "reason": reason}, "status": status})


def missing(name: str) -> Answer:
    return error(404, "index_not_found_exception", f"no such index [{name}]")
