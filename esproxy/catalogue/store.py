"""The upstream calls of the catalogue, as generators: ``answer = yield Call(...)`` made readable.

Reads of single documents are realtime gets; changes are compare-and-set (``if_seq_no`` and ``if_primary_term``, or
``_create``); what is found by search is only as new as the last refresh, so ``refresh`` is a call of its own and fails
unless every copy took part. A call whose outcome is not known (no answer, a 5xx, a 429) raises Failed; ``Conflict`` is a
compare-and-set that lost. CAS bodies carry uuids (see change), so the engine may repeat any of these calls.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import orjson

from esproxy.catalogue import codec, scopes
from esproxy.catalogue.documents import Document
from esproxy.catalogue.names import path
from esproxy.errors import Failed, Refusal
from esproxy.exchange import Answer, Call, Calls, Send, Wait

T = TypeVar("T")
Steps = Generator[Call | Calls | Wait, Any, T]  # what a part of a procedure is; a whole one ends with an Outcome
D = TypeVar("D", bound=Document)

JSON = [(b"content-type", b"application/json")]
PAGE = 500  # changes read per search
SWEPT = 10_000  # documents deleted per call, so that no call outlasts the upstream timeout


class Conflict(Failed):
    """A compare-and-set met another state than it expected. Where nobody expects it, it fails what is under way, which may be
    tried again."""

    def __init__(self) -> None:
        super().__init__("the catalogue was changed by another worker at the same moment")


class Missing(Failed):
    """There is no catalogue: it was deleted, or nobody has made it yet."""

    def __init__(self, detail: str = "") -> None:
        super().__init__("the catalogue is missing in the cluster", detail=detail)


@dataclass(slots=True, frozen=True)
class Stored(Generic[D]):
    """A document as read or written: what it says and which version of it this is."""

    id: str
    seq_no: int
    term: int
    doc: D

    def newer(self, other: Stored[Any]) -> bool:
        return (self.term, self.seq_no) > (other.term, other.seq_no)


@dataclass(slots=True, frozen=True)
class Shard:
    """The catalogue's primary: which index and node this is, and how far its changes are settled."""

    epoch: str
    max_seq_no: int
    checkpoint: int  # global: every in-sync copy has everything up to here


@dataclass(slots=True, frozen=True)
class Store:
    cluster: str
    catalogue: str  # an alias, as is the next
    members: str

    # --- single documents ------------------------------------------------------------------------

    def get(self, kind: type[D], id: str, index: str | None = None) -> Steps[Stored[D] | None]:
        """The document by realtime get; None when there is none. A missing catalogue is Failed, not None."""
        answer = yield self.call("GET", path(index or self.catalogue, "_doc", id))
        body = parsed(answer, 200, 404)
        if "found" not in body:
            raise Missing
        if not body["found"]:
            return None
        return Stored(id, body["_seq_no"], body["_primary_term"], codec.decode(kind, body["_source"]))

    def create(self, id: str, doc: D, index: str | None = None) -> Steps[Stored[D]]:
        answer = yield self.call("PUT", path(index or self.catalogue, "_create", id) + b"?require_alias=true", codec.encode(doc))
        return _written(answer, id, doc)

    def replace(self, old: Stored[D], doc: D, index: str | None = None) -> Steps[Stored[D]]:
        query = b"?if_seq_no=%d&if_primary_term=%d&require_alias=true" % (old.seq_no, old.term)
        answer = yield self.call("PUT", path(index or self.catalogue, "_doc", old.id) + query, codec.encode(doc))
        return _written(answer, old.id, doc)

    def remove(self, old: Stored[Any], index: str | None = None) -> Steps[None]:
        """Delete exactly this version; gone already is fine, another version is a Conflict."""
        query = b"?if_seq_no=%d&if_primary_term=%d" % (old.seq_no, old.term)
        answer = yield self.call("DELETE", path(index or self.catalogue, "_doc", old.id) + query)
        if answer.status == 409 and b"no document was found" not in answer.body:
            raise Conflict
        parsed(answer, 200, 404, 409)

    # --- following ---------------------------------------------------------------------------------

    def shards(self) -> Steps[tuple[Shard, Shard]]:
        """The primaries of catalogue and members, in one call. Missing when one of them is."""
        target = path(f"{self.catalogue},{self.members}", "_stats") + b"?level=shards&filter_path=indices.*.uuid,"
        answer = yield self.call("GET", target + b"indices.*.shards.*.seq_no,indices.*.shards.*.routing")
        if answer.status == 404:
            raise Missing
        indices = parsed(answer, 200).get("indices", {})
        return _primary(indices, self.catalogue), _primary(indices, self.members)

    def refresh(self, index: str) -> Steps[bool]:
        """Make what was written findable, on every copy. False when there is no such index."""
        answer = yield self.call("POST", path(index, "_refresh"))
        body = parsed(answer, 200, 404)
        if answer.status == 404:
            return False
        if body["_shards"]["failed"]:
            raise Failed("a copy could not be refreshed")
        return True

    def find(self, query: dict[str, Any], index: str | None = None) -> Steps[list[dict[str, Any]]]:
        """All hits in the order of their changes, as of the last refresh. Each has _id, _seq_no, _primary_term, _source."""
        hits: list[dict[str, Any]] = []
        after = -1
        while True:
            body = {
                "size": PAGE,
                "query": {"bool": {"filter": [query, {"range": {"_seq_no": {"gt": after}}}]}},
                "sort": [{"_seq_no": "asc"}],
                "seq_no_primary_term": True,
                "track_total_hits": False,
            }
            answer = yield self.call("POST", path(index or self.catalogue, "_search"), orjson.dumps(body))
            found = parsed(answer, 200)
            if found["_shards"]["failed"] or found["timed_out"]:
                raise Failed("the catalogue could not be searched whole")
            page = found["hits"]["hits"]
            hits += page
            if len(page) < PAGE:
                return hits
            after = page[-1]["_seq_no"]

    def beyond(self, seq_no: int) -> Steps[list[dict[str, Any]]]:
        return (yield from self.find({"range": {"_seq_no": {"gt": seq_no}}}))

    # --- physical indices ----------------------------------------------------------------------------

    def create_index(self, name: str, body: dict[str, Any]) -> Steps[bool]:
        """True when made, False when it was there. A body that the node refuses is a Refusal with the node's reason."""
        answer = yield self.call("PUT", path(name), orjson.dumps(body))
        if answer.status == 400:
            error = _error(answer)
            if error.get("type") == "resource_already_exists_exception":
                return False
            raise _refusal(error, name)
        parsed(answer, 200)
        return True

    def exists(self, name: str) -> Steps[bool]:
        return (yield from self._is_there(path(name)))

    def alias_exists(self, name: str) -> Steps[bool]:
        """An index of that name is none."""
        return (yield from self._is_there(path("_alias", name)))

    def _is_there(self, target: bytes) -> Steps[bool]:
        answer = yield self.call("HEAD", target)
        if answer.status not in (200, 404):
            raise Failed(f"the cluster answered the catalogue with {answer.status}")
        return answer.status == 200

    def drop_index(self, name: str) -> Steps[None]:
        parsed((yield self.call("DELETE", path(name))), 200, 404)

    def physical_indices(self, pattern: str) -> Steps[list[str]]:
        target = path("_cat", "indices", pattern) + b"?format=json&h=index&expand_wildcards=all"
        answer = yield self.call("GET", target)
        return [row["index"] for row in parsed(answer, 200)]

    def aliases(self, pattern: str) -> Steps[dict[str, list[str]]]:
        """The indices behind each."""
        out: dict[str, list[str]] = {}
        answer = yield self.call("GET", path("_alias", pattern))
        found = {} if answer.status == 404 else parsed(answer, 200)
        for index, told in found.items():
            for alias in told["aliases"]:
                out.setdefault(alias, []).append(index)
        return out

    def remove_alias(self, alias: str, indices: list[str]) -> Steps[None]:
        """One of them gone meanwhile leaves all as they are."""
        body = orjson.dumps({"actions": [{"remove": {"indices": indices, "alias": alias}}]})
        parsed((yield self.call("POST", b"/_aliases", body)), 200, 404)

    def put_mapping(self, name: str, properties: dict[str, Any], root: dict[str, Any] | None = None) -> Steps[None]:
        """Add fields, and what stands beside them in the mapping (``root``: runtime fields …); what the node refuses is a
        Refusal. A node merges some changes of a known field silently (``ignore_above``), so nothing is put that the pool's
        Claims do not hold in the same form."""
        mapping = {"properties": properties} | (root or {})
        answer = yield self.call("PUT", path(name, "_mapping"), orjson.dumps(mapping))
        if answer.status == 400:
            raise _refusal(_error(answer), name)
        parsed(answer, 200)

    def sizes(self, pattern: str) -> Steps[dict[str, tuple[int, int]]]:
        """Documents and bytes in the primaries of each physical index."""
        target = path(pattern, "_stats", "docs,store") + b"?expand_wildcards=all&filter_path=indices.*.primaries"
        found = parsed((yield self.call("GET", target)), 200).get("indices", {})
        shards = {name: stats["primaries"] for name, stats in found.items()}
        return {name: (s["docs"]["count"], s["store"]["size_in_bytes"]) for name, s in shards.items() if "docs" in s}

    def mapping(self, name: str) -> Steps[dict[str, Any]]:
        """The properties that the node has now."""
        found = parsed((yield self.call("GET", path(name, "_mapping"))), 200, 404)
        return found.get(name, {}).get("mappings", {}).get("properties", {})

    # --- documents of a dead number ------------------------------------------------------------------

    def delete_scope(self, name: str, scope: str) -> Steps[None]:
        """Delete what a refresh has made visible of this scope, up to SWEPT documents."""
        query = b"?conflicts=proceed&refresh=true&max_docs=%d" % SWEPT
        body = orjson.dumps({"query": scopes.query([scope])})
        answer = yield self.call("POST", path(name, "_delete_by_query") + query, body)
        if parsed(answer, 200, 404).get("failures"):
            raise Failed("a sweep could not delete everything")

    def count_scope(self, name: str, scope: str) -> Steps[int]:
        body = orjson.dumps({"query": scopes.query([scope])})
        found = parsed((yield self.call("POST", path(name, "_count"), body)), 200, 404)
        if "_shards" in found and found["_shards"]["failed"]:
            raise Failed("a sweep could not count everything")
        return found.get("count", 0)

    def foreign_scopes(self, name: str, known: list[str], size: int = 1000) -> Steps[set[str]]:
        """Scopes of documents outside the known ones, from the first ``size`` of them."""
        query = {"bool": {"must_not": scopes.clauses(known)}}
        body = {"size": size, "query": query, "_source": False, "track_total_hits": False}
        found = parsed((yield self.call("POST", path(name, "_search"), orjson.dumps(body))), 200, 404)
        return {hit.get("_routing", "").partition(scopes.END)[0] for hit in found.get("hits", {}).get("hits", [])}

    def call(self, method: str, target: bytes, body: bytes = b"") -> Call:
        return Call(Send(self.cluster, method, target, JSON if body else [], body, held=True))


def parsed(answer: Answer, *expected: int) -> Any:
    """The body of an answer with one of these statuses; anything else is Failed, with the node's reason for the log."""
    if answer.status not in expected:
        raise Failed(f"the cluster answered the catalogue with {answer.status}", detail=repr(answer.body[:500]))
    try:
        return orjson.loads(answer.body)
    except orjson.JSONDecodeError as error:
        raise Failed("the cluster answered the catalogue with what is not JSON", detail=repr(answer.body[:100])) from error


def _written(answer: Answer, id: str, doc: D) -> Stored[D]:
    if answer.status == 409:
        raise Conflict
    if answer.status == 404:
        raise Missing
    body = parsed(answer, 200, 201)
    return Stored(id, body["_seq_no"], body["_primary_term"], doc)


def _error(answer: Answer) -> dict[str, Any]:
    error = parsed(answer, answer.status).get("error", {})
    return error if isinstance(error, dict) else {"reason": error}


def _refusal(error: dict[str, Any], name: str) -> Refusal:
    """What a node says against a physical index, which is not named."""
    extra = {"caused_by": error["caused_by"]} if "caused_by" in error else {}
    refusal = Refusal(str(error.get("reason", "")), type=str(error.get("type", Refusal.type)), **extra)
    refusal.reword(lambda text: text.replace(f"[{name}]", "[_doc]"))
    return refusal


def _primary(indices: dict[str, Any], alias: str) -> Shard:
    """``epoch`` changes when the index is another one or its primary moved: then nothing cached may be believed."""
    for index in (found for name, found in indices.items() if name.startswith(f"{alias}-")):
        for copy in index.get("shards", {}).get("0", []):
            if copy["routing"]["primary"] and copy["routing"]["state"] in ("STARTED", "RELOCATING"):
                seq = copy["seq_no"]
                return Shard(f"{index['uuid']}/{copy['routing']['node']}", seq["max_seq_no"], seq["global_checkpoint"])
    raise Failed("the catalogue has no primary shard that is there")
