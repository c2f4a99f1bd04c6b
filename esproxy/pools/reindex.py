"""``_reindex`` from and to indices in pools: a scroll and bulks of the client's own (``within``), page by page.

A node that copied by itself would take ids, routing values and names of fields along as they are in the pool. So it is done as a
client would do it that has only searches and bulks, and nothing is read or written that it could not read or write by these. One
page is held at a time. When the client goes, no further page is read.

What can be said of the body alone a node says, asked for a source that is not there. A script is run over documents as the client
knows them (``reindex_script``). Where all indices are their own, the request goes to the node whole.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import orjson

from esproxy import exact
from esproxy.budget import FREE, Claim, tree_cost
from esproxy.catalogue.store import Steps
from esproxy.errors import EsproxyError, Failed, Refusal, UpstreamFailed
from esproxy.exchange import Answer, Large, Reply, Wait
from esproxy.pools.declared import answer, declaration
from esproxy.pools.pooled import NOT_THERE, Apart, Pooled
from esproxy.pools.reindex_script import Ended, Outcome, inline, run_script
from esproxy.pools.reply import reply as node_reply
from esproxy.pools.within import ask
from esproxy.rewriting.query import physical_query
from esproxy.tenancy.expressions import Options, concrete
from esproxy.tenancy.one_name import behind, no_alias
from esproxy.tenancy.placement import DEDICATED

BATCH = 1_000  # documents at once, unless the client says so
HELD = 200  # at most, whatever it says
MOST_SLICES = 20  # that nodes make by themselves
NDJSON = b"application/x-ndjson"
OF_THE_BULK = ("timeout", "wait_for_active_shards", "require_alias")
OURS = frozenset(("index", "size", "remote"))  # of a source; all else is the search's
TOLD = frozenset(("size", "from", "_source", "stored_fields", "track_total_hits", "terminate_after"))  # the node judges
SORTED = (  # of Elasticsearch
    "The sort option in reindex is deprecated. Instead consider using query filtering to find the desired subset of data."
)
VERSIONED = ("external", "external_gte")
CONFLICT = 409
BREAKER = "circuit_breaking_exception"
SCROLL_ID = re.compile(rb'"_scroll_id"\s*:\s*"([^"\\]+)"')


@dataclass(slots=True)
class Tally:
    """What an answer tells."""

    total: int = 0
    updated: int = 0
    created: int = 0
    deleted: int = 0
    noops: int = 0
    seen: int = 0
    version_conflicts: int = 0
    throttled: float = 0.0
    failures: list[dict[str, Any]] = field(default_factory=list)

    def told(self, batch: int, rate: float) -> dict[str, Any]:
        return {
            "total": self.total, "updated": self.updated, "created": self.created, "deleted": self.deleted,
            "batches": -(-self.seen // batch), "version_conflicts": self.version_conflicts, "noops": self.noops,
            "retries": {"bulk": 0, "search": 0},
            "throttled_millis": int(self.throttled * 1000), "requests_per_second": rate, "throttled_until_millis": 0,
        }  # fmt: skip


def reindex(request: Pooled) -> Steps[Reply | Large]:
    physical_query(request.plan, [], None)  # for its strictness
    tree = declaration(request, required=True)
    refused = yield from _refused(request)
    if refused is not None:
        return refused
    source, dest, began = tree["source"], tree["dest"], request.cat.clock()
    expression = ",".join(source["index"]) if isinstance(source["index"], list) else source["index"]
    places, slices = yield from _checked(request, expression, dest)
    if "script" in tree:
        tree["script"] = yield from inline(request, tree["script"])
    job = Job(request, [expression] if "sort" in source else places, tree)
    tallies = [Tally() for _ in range(slices)]
    try:
        for at, tally in enumerate(tallies):
            yield from job.run(tally, None if slices == 1 else {"id": at, "max": slices}, job.share(at, slices))
            if tally.failures:
                break
        if request.plan.query.get("refresh", "false") != "false":
            yield from job.refresh()
    except Ended as ended:
        return Reply(ended.status, answer(request, {}).headers, ended.body)
    request.sight.used.clear()  # what was read and written was believed by itself
    return job.reply(tallies, request.cat.clock() - began)


def _refused(request: Pooled) -> Steps[Reply | Large | None]:
    """What the node says of body and parameters."""
    body = orjson.loads(request.body)
    source, dest = body.get("source"), body.get("dest")
    if isinstance(source, dict) and source.get("index"):
        body["source"] = {"index": NOT_THERE, **{key: value for key, value in source.items() if key in TOLD}}
    if isinstance(dest, dict) and isinstance(dest.get("index"), str):
        body["dest"] = {**dest, "index": request.sent_apart(dest["index"])}
    body.pop("script", None)
    query = {key: value for key, value in request.plan.query.items() if key not in ("filter_path", "require_alias", "refresh")}
    told: Answer = yield request.send("POST", ["_reindex"], query, orjson.dumps(body), request.media, held=True)
    return node_reply(request, told) if told.status == 400 and NOT_THERE.encode() not in told.body else None


def _checked(request: Pooled, expression: str, dest: dict[str, Any]) -> Steps[tuple[list[str], int]]:
    """What is read one after the other, as nodes do; how many slices are wanted. Raises Apart where all indices are their own,
    Refusal where they cannot be from and to."""
    found, directory = yield from request.resolved(expression, Options.of(request.plan.query), stay=True)
    entries = {name: directory.indices[name] for name in found.found}
    name = yield from request.dated(dest["index"], single=True)
    directory = yield from request.look_beside((yield from request.directory([name])), [name])
    layout = request.pools.placement.layout(request.tenant, name)
    if concrete(directory, name):
        written = name if name in directory.indices else behind(name, directory, True)
        layout = directory.indices[written].layout
        if written in entries:
            told = f"reindex cannot write into an index its reading from [{dest['index']}]"
            raise Refusal(f"Validation Failed: 1: {told};", type="action_request_validation_exception")
    if {layout, *(entry.layout for entry in entries.values())} == {DEDICATED}:
        raise Apart
    if request.plan.query.get("require_alias", "false") != "false" and name not in directory.aliases:
        raise no_alias(name)
    plain = not found.routed and not any(found.found.values())  # else an alias says what is to be read
    places = sorted(entries) if entries and plain else [expression]
    wanted = request.plan.query.get("slices", "1")
    if wanted != "auto":
        return places, int(wanted)
    counts = [MOST_SLICES] if entries else [1]
    for one in entries:
        target = yield from request.target(one, request.seen)
        counts.append(1 if target.dedicated else target.shards.count)
    return places, min(counts)


class Job:
    """The pages of one call."""

    def __init__(self, request: Pooled, places: list[str], tree: dict[str, Any]) -> None:
        source, dest = tree["source"], tree["dest"]
        self.request = request
        self.places = places
        self.dest = dest
        query = request.plan.query
        self.batch = int(source.get("size", BATCH))
        self.rate = float(query.get("requests_per_second", "-1"))
        self.script = tree.get("script")
        self.proceeds = tree.get("conflicts") == "proceed"
        most = query.get("max_docs", tree.get("max_docs", tree.get("size")))
        self.most = None if most is None else int(most)
        self.search: dict[str, Any] = {"sort": ["_seq_no"], **{key: value for key, value in source.items() if key not in OURS}}
        self.search |= {"version": True, "track_total_hits": True}  # whatever is said of them, as on nodes
        self.keep = query.get("scroll", "5m")
        self.scroll = ""
        self.claim: Claim | None = None  # for the page that is held
        self.sorted = "sort" in source
        self.verb = "create" if dest.get("op_type") == "create" else "index"
        self.written_to: set[str] = set()

    def share(self, at: int, slices: int) -> int | None:
        """Of ``max_docs``, that of one slice."""
        return self.most if self.most is None or slices == 1 else self.most // slices + (at < self.most % slices)

    def run(self, tally: Tally, part: dict[str, int] | None, left: int | None) -> Steps[None]:
        """All pages of a slice, or of everything."""
        for place in self.places:
            try:
                page = yield from self._first(place, part)
                try:
                    yield from self._pages(page, tally, left)
                except (EsproxyError, Ended):
                    yield from self._close()
                    raise
                yield from self._close()
            finally:
                self._release()
            if tally.failures or tally.seen == left:
                return

    def _pages(self, page: dict[str, Any], tally: Tally, left: int | None) -> Steps[None]:
        tally.total += page["hits"]["total"]["value"]
        if left is not None:
            tally.total = min(tally.total, left)
        while page["hits"]["hits"] and tally.seen < tally.total:
            hits = page["hits"]["hits"][: tally.total - tally.seen]
            tally.seen += len(hits)
            for hit in hits:
                if "_source" not in hit:
                    raise Refusal(f"[{hit['_index']}][{hit['_id']}] didn't store _source")
            yield from self._write(hits, tally)
            if tally.failures or tally.seen >= tally.total:
                return
            if self.rate > 0:
                tally.throttled += len(hits) / self.rate
                yield Wait(len(hits) / self.rate)
            page = yield from self._page(["_search", "scroll"], {}, {"scroll": self.keep, "scroll_id": self.scroll})

    def _first(self, place: str, part: dict[str, int] | None) -> Steps[dict[str, Any]]:
        body = self.search if part is None else {**self.search, "slice": part}
        size = min(self.batch, HELD)
        while True:
            try:
                return (yield from self._page([place, "_search"], {"scroll": self.keep}, {**body, "size": size}))
            except UpstreamFailed as error:
                if error.what != "overflow" or size == 1:
                    raise
            except Refusal as error:  # there is no room for a page of this size
                yield from self._close()
                if error.type != BREAKER or size == 1:
                    raise
            size = max(1, size // 10)

    def _page(self, path: list[str], query: dict[str, str], body: dict[str, Any]) -> Steps[dict[str, Any]]:
        status, told = yield from ask(self.request, "POST", path, query, exact.dumps(body))
        if status != 200:
            raise Ended(status, told)
        self._hold(told)
        page: dict[str, Any] = exact.loads(told)
        self.scroll = page.get("_scroll_id", "")  # none where nothing is searched
        if page["_shards"]["failed"] or page["timed_out"]:
            raise Failed("not all documents could be read")
        return page

    def _hold(self, told: bytes) -> None:
        """Have room for this page as a tree, in the place of the last one. Raises Refusal; its scroll is known then."""
        self._release()
        if len(told) <= FREE:
            return
        try:
            self.claim = self.request.pools.answers.take(self.request.tenant, tree_cost(told))
        except Refusal:
            found = SCROLL_ID.search(told)  # which nodes say first
            self.scroll = found[1].decode() if found is not None else self.scroll
            raise

    def _release(self) -> None:
        claim, self.claim = self.claim, None
        if claim is not None:
            claim.release()

    def _close(self) -> Steps[None]:
        if self.scroll:
            yield from ask(self.request, "DELETE", ["_search", "scroll"], {}, orjson.dumps({"scroll_id": [self.scroll]}))

    def _write(self, hits: list[dict[str, Any]], tally: Tally) -> Steps[None]:
        lines: list[bytes] = []
        if self.script is None:
            for hit in hits:
                lines += [orjson.dumps({self.verb: self._action(hit)}), exact.dumps(hit["_source"])]
        else:
            outcomes = yield from run_script(self.request, self.script, hits)
            for hit, outcome in zip(hits, outcomes, strict=True):
                lines += self._scripted(hit, outcome)
                tally.noops += outcome.op == "noop"
        if not lines:
            return
        query = {name: self.request.plan.query[name] for name in OF_THE_BULK if name in self.request.plan.query}
        if "pipeline" in self.dest:
            query["pipeline"] = self.dest["pipeline"]
        status, told = yield from ask(self.request, "POST", ["_bulk"], query, b"\n".join(lines) + b"\n", NDJSON)
        if status != 200:
            raise Ended(status, told)
        for item in (next(iter(one.values())) for one in orjson.loads(told)["items"]):
            if "error" not in item:
                self.written_to.add(item["_index"])
                tally.created += item["result"] == "created"
                tally.updated += item["result"] == "updated"
                tally.deleted += item["result"] in ("deleted", "not_found")
                continue
            tally.version_conflicts += item["status"] == CONFLICT
            if item["status"] != CONFLICT or not self.proceeds:
                failure = {"index": item["_index"], "id": item["_id"], "cause": item["error"], "status": item["status"]}
                tally.failures.append(failure)

    def _action(self, hit: dict[str, Any]) -> dict[str, Any]:
        action: dict[str, Any] = {"_index": self.dest["index"], "_id": hit["_id"]}
        routing = str(self.dest.get("routing", "keep"))
        if routing.startswith("="):
            action["routing"] = routing[1:]
        elif routing == "keep" and "_routing" in hit:
            action["routing"] = hit["_routing"]
        if self.dest.get("version_type") in VERSIONED:
            action |= {"version": hit["_version"], "version_type": self.dest["version_type"]}
        return action

    def _scripted(self, hit: dict[str, Any], outcome: Outcome) -> list[bytes]:
        """The lines of a document that a script has been over. What it has not changed is as without it."""
        action = self._action(hit)
        for name, value in outcome.changed.items():
            action.pop(name.removeprefix("_"), None)
            if name == "_version":
                action.pop("version_type", None)
                action |= {} if value is None else {"version": value, "version_type": "external"}
            elif value is None:
                action.pop(name, None)
            else:
                action[name if name in ("_index", "_id") else "routing"] = value
        if outcome.op == "noop":
            return []
        line = orjson.dumps({"delete" if outcome.op == "delete" else self.verb: action})
        return [line] if outcome.op == "delete" else [line, exact.dumps(outcome.source)]

    def refresh(self) -> Steps[None]:
        for name in sorted(self.written_to):
            yield from ask(self.request, "POST", [name, "_refresh"])

    def reply(self, tallies: list[Tally], took: float) -> Reply:
        parts = [tally.told(self.batch, self.rate) for tally in tallies]
        failures = [failure for tally in tallies for failure in tally.failures]
        told: dict[str, Any] = {"took": int(took * 1000), "timed_out": False, **(parts[0] if len(parts) == 1 else _summed(parts))}
        if "slice" in self.search:
            told["slice_id"] = self.search["slice"]["id"]
        if len(parts) > 1:
            told["slices"] = [{"slice_id": at, **part} for at, part in enumerate(parts)]
        told["failures"] = failures
        warned = [SORTED] if self.sorted else []
        return answer(self.request, told, max((200, *(failure["status"] for failure in failures))), warned)


def _summed(parts: list[dict[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for part in parts:
        for key, value in part.items():
            if isinstance(value, dict):
                out[key] = {name: out.get(key, {}).get(name, 0) + number for name, number in value.items()}
            elif key == "requests_per_second":
                out[key] = value if value < 0 else out.get(key, 0.0) + value
            else:
                out[key] = out.get(key, 0) + value
    return out
