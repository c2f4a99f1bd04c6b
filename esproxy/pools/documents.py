"""Operations on one document of an index in ``shared``.

The id and the routing get the scope in front. A document without an id gets one from the proxy, so that the node
sees one that carries the scope. A document's unknown fields are added to the index and its pool before it is sent.
"""

from __future__ import annotations

from urllib.parse import quote_plus

import orjson

from esproxy.answer import is_error
from esproxy.catalogue.store import Steps
from esproxy.errors import Refusal
from esproxy.exchange import Answer, Large, Reply
from esproxy.pools.bodies import NeedsDocument, document_body, parameters, search_body
from esproxy.pools.pooled import Pooled
from esproxy.procedures.made_id import created, new_id
from esproxy.rewriting.query import body_with_query
from esproxy.rewriting.restore import PoolAnswer, client_headers, finish, onward, restore
from esproxy.tenancy.one_name import no_alias
from esproxy.tenancy.target import Target

LONGEST_ID = 512  # bytes; a node's limit
EXTERNAL = ("external", "external_gte")


def write(request: Pooled) -> Steps[Reply | Large]:
    """``index``, ``create``, ``update``: the index is made by its first document."""
    plan = request.plan
    yield from _require_alias(request)
    target = yield from request.one(request.parts["index"], write=True, create=True)
    id = request.parts.get("id")
    query = yield from parameters(request, [target], routed=False)
    if query.get("require_alias") == "true":
        del query["require_alias"]  # the node would look at the physical name, which is never an alias
    if plan.route.row.name != "update":
        pipeline = target.pipeline(plan.query.get("pipeline"))
        query |= {} if pipeline is None else {"pipeline": pipeline}
    body = b""
    if request.body:
        assert plan.endpoint.request is not None
        try:
            body, target = yield from document_body(request, target, plan.endpoint.request, request.body, _needs_document)
        except NeedsDocument:
            answer = yield from _update_nothing(request, target, query)
            if is_error(answer.status, answer.body):
                return reply(request, answer, target, id)
            body, target = yield from document_body(request, target, plan.endpoint.request, request.body)
    template, method = plan.route.template, plan.head.method
    made = id is None
    if id is None:
        id, template, method = new_id(), ("{index}", "_doc", "{id}"), "PUT"
        query["op_type"] = "create"
    query |= target.routing(id, plan.query.get("routing"))
    path = _path(template, target, physical_id(target, id))
    call = request.send(method, path, query, body, request.media, held=made)
    answer = (yield from created(call, target.physical, path[-1], query)) if made else (yield call)
    return reply(request, answer, target, id)


def _needs_document(request: Pooled) -> bool:
    """Is this an update that brings fields only if its document is there?"""
    if request.plan.route.row.name != "update":
        return False
    try:
        tree = orjson.loads(request.body)
    except orjson.JSONDecodeError:
        return False
    return isinstance(tree, dict) and "doc" in tree and not tree.keys() & {"upsert", "doc_as_upsert", "scripted_upsert", "script"}


def _update_nothing(request: Pooled, target: Target, query: dict[str, str]) -> Steps[Answer]:
    """The same update of no field: it changes nothing, and says what a node has against it, if the document is not there."""
    id = request.parts["id"]
    path = _path(request.plan.route.template, target, physical_id(target, id))
    routed = query | target.routing(id, request.plan.query.get("routing"))
    return (yield request.send("POST", path, routed, b'{"doc":{}}', request.media))


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


def _require_alias(request: Pooled) -> Steps[None]:
    """Raises Refusal, before anything is made, where the client wants an alias and has named none."""
    if request.plan.query.get("require_alias") == "true":
        name = request.parts["index"]
        directory = yield from request.directory([name])
        if name in directory.aliases or request.apart(name, directory) or (yield from request.is_beside(name)):
            return
        raise no_alias(name)


def reply(request: Pooled, answer: Answer, target: Target, id: str | None) -> Reply | Large:
    plan = request.plan
    reader = PoolAnswer(plan, [target], {})
    if plan.route.row.name in ("get_source", "exists_source"):  # the answer is the document, found by its scoped id
        reader.found(target)
    headers = client_headers(plan, answer, reader)
    if any(name == b"location" for name, _ in answer.headers):
        headers.append((b"location", _location(target.name, id or request.parts["id"], target.given(plan.query.get("routing")))))
    if answer.more:
        return onward(plan, answer, reader, headers)
    return finish(plan, answer.status, headers, restore(plan, answer, reader))


def _location(name: str, id: str, routing: str | None) -> bytes:
    query = "" if not routing else f"?routing={_encoded(routing)}"
    return f"/{_encoded(name)}/_doc/{_encoded(id)}{query}".encode()


def _encoded(text: str) -> str:
    """As a node writes names into ``location``: form encoding."""
    return quote_plus(text, safe="*").replace("~", "%7E")
