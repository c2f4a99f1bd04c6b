"""Operations on one document of an index in ``shared``.

A document goes through pipelines first, where there are any (``pools.ingest``). Its id and routing get the scope in front; one
without an id gets one from the proxy, so that the node sees one that carries the scope. Its unknown fields are added to the index
and its pool before it is sent.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote_plus

import orjson

from esproxy.answer import Whole
from esproxy.answer import client_headers as own_headers
from esproxy.catalogue.store import Steps
from esproxy.errors import Refusal
from esproxy.exchange import Answer, Large, Reply
from esproxy.heads import AnswerHead
from esproxy.pools.bodies import document_body, parameters, search_body
from esproxy.pools.bulk_lines import Record
from esproxy.pools.ingest import NO_PIPELINE, check_not_piped, ingest, nothing_made, twice
from esproxy.pools.pooled import Apart, Pooled
from esproxy.pools.updates import update
from esproxy.procedures.made_id import created, new_id
from esproxy.rewriting.query import body_with_query, physical_query
from esproxy.rewriting.restore import PoolAnswer, client_headers, finish, onward, restore
from esproxy.rewriting.rewrite import PoolResolver
from esproxy.tenancy.one_name import no_alias
from esproxy.tenancy.target import Target

LONGEST_ID = 512  # bytes; a node's limit
EXTERNAL = ("external", "external_gte")


def write(request: Pooled) -> Steps[Reply | Large]:
    """``index``, ``create``, ``update``: the index is made by its first document."""
    plan = request.plan
    record = _record(request)
    if plan.route.row.name != "update":
        yield from ingest(request, [record])
    if record.stopped is not None:
        return (yield from _stopped(request, record))
    if record.error is not None:
        raise record.error
    yield from _require_alias(request, record.name)
    try:
        target = yield from request.one(record.name, write=True, create=True)
    except Apart:
        if not record.piped:
            raise
        query = physical_query(plan, [], PoolResolver(plan, [])) | {"pipeline": NO_PIPELINE}
        return (yield from _outside(request, record, query))[1]
    if plan.route.row.name == "update":
        check_not_piped(plan, [target])
    id, routing = record.meta.get("_id"), record.routing
    query = yield from parameters(request, [target], routed=False)
    query.pop("pipeline", None)
    if query.get("require_alias") == "true":
        del query["require_alias"]  # the node would look at the physical name, which is never an alias
    if plan.route.row.name == "update" and record.source:
        assert id is not None
        query |= target.routing(id, routing)
        path = _path(plan.route.template, target, physical_id(target, id))
        answer, target = yield from update(request, target, path, query, record.source)
        return reply(request, answer, target, id, routing)
    body = b""
    if record.source:
        state = plan.endpoint.request
        assert state is not None
        body, target = yield from document_body(request, target, state, record.source, routing=routing)
    template, method = plan.route.template, plan.head.method
    made = id is None
    if made or record.piped:
        template, method = ("{index}", "_doc", "{id}"), "PUT"
        query = _conditions(query, record)
    if id is None:
        id = new_id()
        query["op_type"] = "create"
    query |= target.routing(id, routing)
    path = _path(template, target, physical_id(target, id))
    call = request.send(method, path, query, body, request.media, held=made)
    answer = (yield from created(call, target.physical, path[-1], query)) if made else (yield call)
    return reply(request, answer, target, id, routing)


CONDITIONS = ("version", "version_type", "if_seq_no", "if_primary_term")


def _record(request: Pooled) -> Record:
    """A write of one document as a record of a bulk."""
    plan, query = request.plan, request.plan.query
    made = "id" not in request.parts and "op_type" not in query  # a node makes an id for it, which is new
    verb = "create" if made or plan.route.row.name == "create" or query.get("op_type") == "create" else "index"
    meta: dict[str, Any] = {name: query[name] for name in CONDITIONS if name in query}
    if "id" in request.parts:
        meta["_id"] = request.parts["id"]
    aliased = query.get("require_alias") == "true"
    return Record(verb, meta, request.body or None, request.parts["index"], routing=query.get("routing"), aliased=aliased)


def _conditions(query: dict[str, str], record: Record) -> dict[str, str]:
    """Parameters with what a record says now."""
    kept = {name: value for name, value in query.items() if name not in (*CONDITIONS, "op_type")}
    if record.verb == "create":
        kept["op_type"] = "create"
    return kept | {name: str(record.meta[name]) for name in CONDITIONS if name in record.meta}


def _stopped(request: Pooled, record: Record) -> Steps[Reply]:
    """Pipelines have made nothing of the document."""
    physical_query(request.plan, [], PoolResolver(request.plan, []))  # for its strictness
    query = {"pipeline": request.plan.name(record.stopped or ""), "require_alias": "true"}
    told, answered = yield from _outside(request, record, query)
    if nothing_made(told.get("error")) or ("error" not in told and told.get("result") != "noop"):
        raise twice(record)
    return answered


def _outside(request: Pooled, record: Record, query: dict[str, str]) -> Steps[tuple[dict[str, Any], Reply]]:
    """A document written outside of pools: what the node said, and the client's answer."""
    plan = request.plan
    path = [plan.index(record.name, creatable=True), "_doc"]
    method = "POST"
    if "_id" in record.meta:
        path.append(record.meta["_id"])
        method = "PUT"
    query = _conditions(query, record)
    if record.routing is not None:
        query["routing"] = record.routing
    answer = yield request.send(method, path, query, record.source or b"", request.media)
    head = AnswerHead(answer.status, answer.headers)
    body = Whole(plan, head, request.pools.max_body).feed(answer.body, True)
    return orjson.loads(answer.body), Reply(answer.status, own_headers(plan, head), body)


def read(request: Pooled) -> Steps[Reply | Large]:
    """``get``, ``exists``, ``get_source``, ``exists_source``."""
    return (yield from _on_one(request, write=False))


def delete(request: Pooled) -> Steps[Reply | Large]:
    return (yield from _on_one(request, write=True))


def explain(request: Pooled) -> Steps[Reply | Large]:
    """The document is found by its scope, so no filter is needed, and none shows in the explanation."""
    plan = request.plan
    target = yield from request.one(request.parts["index"])
    body = body_with_query(plan, request.body)
    if body:
        assert plan.endpoint.request is not None
        body = yield from search_body(request, [target], plan.endpoint.request, body, filtered=False)
    id = request.parts["id"]
    query = yield from parameters(request, [target], routed=False)
    query |= target.routing(id, plan.query.get("routing"))
    path = _path(plan.route.template, target, physical_id(target, id))
    answer = yield request.send("POST" if body else plan.head.method, path, query, body, request.media or JSON)
    return reply(request, answer, target, None)


JSON = b"application/json"


def _on_one(request: Pooled, *, write: bool) -> Steps[Reply | Large]:
    plan = request.plan
    # a deletion by a version of its own makes the index, so that older writes cannot come after it
    create = write and plan.query.get("version_type") in EXTERNAL
    target = yield from request.one(request.parts["index"], write=write, create=create)
    id = request.parts["id"]
    query = yield from parameters(request, [target], routed=False)
    query |= target.routing(id, plan.query.get("routing"))
    path = _path(plan.route.template, target, physical_id(target, id))
    method = "GET" if plan.head.method == "HEAD" else plan.head.method  # its answer tells the length that a HEAD's has
    answer = yield request.send(method, path, query, large=True)
    return reply(request, answer, target, None)


def physical_id(target: Target, id: str) -> str:
    """Raises Refusal for an id that no document can have."""
    size = len(id.encode())
    if size > LONGEST_ID:
        raise Refusal(
            f"Validation Failed: 1: id [{id}] is too long, must be no longer than {LONGEST_ID} bytes but was: {size};",
            type="action_request_validation_exception",
        )
    room = LONGEST_ID - len(target.id_front)
    if size > room:
        raise Refusal(f"id is too long for an index in a pool: it can be no longer than {room} bytes but was: {size}")
    return target.id_front + id


def _path(template: tuple[str, ...], target: Target, id: str) -> list[str]:
    values = {"{index}": target.physical, "{id}": id}
    return [values.get(part, part) for part in template]


def _require_alias(request: Pooled, name: str) -> Steps[None]:
    """Raises Refusal, before anything is made, where the client wants an alias and has named none."""
    if request.plan.query.get("require_alias") == "true":
        directory = yield from request.directory([name])
        if name in directory.aliases or request.apart(name, directory) or (yield from request.is_beside(name)):
            return
        raise no_alias(name)


def reply(request: Pooled, answer: Answer, target: Target, id: str | None, routing: str | None = None) -> Reply | Large:
    plan = request.plan
    reader = PoolAnswer(plan, [target], {})
    if plan.route.row.name in ("get_source", "exists_source"):  # the answer is the document, found by its scoped id
        reader.found(target)
    headers = client_headers(plan, answer, reader)
    if any(name == b"location" for name, _ in answer.headers):
        headers.append((b"location", _location(target.name, id or request.parts["id"], target.given(routing))))
    if answer.more:
        return onward(plan, answer, reader, headers)
    return finish(plan, answer.status, headers, restore(plan, answer, reader))


def _location(name: str, id: str, routing: str | None) -> bytes:
    query = "" if not routing else f"?routing={_encoded(routing)}"
    return f"/{_encoded(name)}/_doc/{_encoded(id)}{query}".encode()


def _encoded(text: str) -> str:
    """As a node writes names into ``location``: form encoding."""
    return quote_plus(text, safe="*").replace("~", "%7E")
