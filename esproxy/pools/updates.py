"""Updates of one document of an index in a pool.

*Without a routing.* A node gives the document that an update with a part of it makes the routing that it had, where none came
with the request. In a pool one always does, the scope, and the node would take that for the document's. A record of a bulk
gives its document no routing, only finds it by one, so the update goes as the only one of a bulk, and its item is made the
answer. Updates by scripts keep what the document had on their own.

*With fields that the index does not have.* An update holds two documents, of which one is used: ``upsert`` where the document is
not there, ``doc`` where it is. A node makes the fields of that one alone, so it is asked first whether the document is there,
and the other does not go. When that has changed meanwhile, the answer shows it, and the update is made anew.
"""

from __future__ import annotations

from typing import Any

import orjson

from esproxy import exact
from esproxy.answer import encode, is_error
from esproxy.catalogue.store import Steps
from esproxy.errors import Failed, Refusal
from esproxy.exchange import Answer
from esproxy.pools.bodies import ROUNDS, NeedsDocument, document_body
from esproxy.pools.pooled import Pooled
from esproxy.tenancy.target import Target

OF_ACTION = {"retry_on_conflict": 31, "if_seq_no": 63, "if_primary_term": 63}  # what a record of a bulk has in its line: bits
NO_SHARDS = {"total": 0, "successful": 0, "failed": 0}
AS_UPSERT = "doc_as_upsert"
VERSIONED = ("version", "version_type")  # which nodes refuse


def update(
    request: Pooled, target: Target, path: list[str], query: dict[str, str], source: bytes
) -> Steps[tuple[Answer, Target]]:
    """The node's answer, and the target with the fields that the update brought. ``source``: the client's body; ``path`` and
    ``query``: as they are sent."""
    state = request.plan.endpoint.request
    assert state is not None
    query, source = _with_parameter(query, source)
    for _ in range(ROUNDS):
        there: bool | None = None
        try:
            body, target = yield from document_body(request, target, state, source, lambda: asks_for_document(source))
        except (NeedsDocument, Refusal) as why:
            if isinstance(why, Refusal) and not asks_for_document(source):
                raise
            there = yield from _is_there(request, path, query)
            body, target = yield from document_body(request, target, state, for_one_case(source, there=there))
        if _keeps_routing(request.plan.query, source):
            answer = yield from _as_bulk(request, path[0], path[-1], query, body)
        else:
            answer = yield request.send("POST", path, query, body, request.media)
        gone, come = there is True and answer.status == 404, there is False and answer.status == 200
        if not gone and not come:
            return answer, target
    raise Failed("the document comes and goes too fast")


def _with_parameter(query: dict[str, str], source: bytes) -> tuple[dict[str, str], bytes]:
    """``doc_as_upsert``, which a node takes as a parameter, too, in the body, where it has no other value: it decides which
    document is used, and a bulk has it nowhere else."""
    value = query.get(AS_UPSERT)
    try:
        tree = orjson.loads(source)
    except orjson.JSONDecodeError:
        return query, source
    if value not in ("", "true", "false") or not isinstance(tree, dict) or not tree or AS_UPSERT in tree:
        return query, source
    rest = {name: given for name, given in query.items() if name != AS_UPSERT}
    said = b"false" if value == "false" else b"true"
    return rest, source.replace(b"{", b'{"%b":%b,' % (AS_UPSERT.encode(), said), 1)


def _is_there(request: Pooled, path: list[str], query: dict[str, str]) -> Steps[bool]:
    routed = {name: value for name, value in query.items() if name == "routing"}
    answer = yield request.send("GET", [path[0], "_doc", path[-1]], {**routed, "_source": "false"})
    if answer.status not in (200, 404):
        raise Failed("whether the document is there could not be told")
    return bool(answer.status == 200)


# --- without a routing ----------------------------------------------------------------------------------


def _keeps_routing(query: dict[str, str], body: bytes) -> bool:
    """Is it an update that makes a document of its own and the parts that it is given? ``query``: the client's."""
    if query.get("routing") or not query.keys().isdisjoint(VERSIONED):
        return False
    if any(not _fits(query[name], bits) for name, bits in OF_ACTION.items() if name in query):
        return False  # which nodes refuse, in words about a parameter
    try:
        tree = orjson.loads(body)
    except orjson.JSONDecodeError:
        return False  # the node says what is wrong with it
    return isinstance(tree, dict) and isinstance(tree.get("doc"), dict) and "script" not in tree


def _fits(number: str, bits: int) -> bool:
    return number.isascii() and number.isdecimal() and int(number) < 1 << bits


def _as_bulk(request: Pooled, physical: str, id: str, query: dict[str, str], body: bytes) -> Steps[Answer]:
    """No line of a bulk holds a line feed, and in JSON one stands between tokens only."""
    rest = dict(query)
    action: dict[str, Any] = {name: rest.pop(name) for name in (*OF_ACTION, "routing") if name in rest}
    line = orjson.dumps({"update": {"_index": physical, "_id": id, **action}})
    lines = b"%b\n%b\n" % (line, body.replace(b"\n", b" "))
    answer = yield request.send("POST", ["_bulk"], rest, lines, request.media and request.media.replace(b"json", b"x-ndjson"))
    if answer.status != 200 or is_error(answer.status, answer.body):
        return answer
    return _of_item(request, answer)


def _of_item(request: Pooled, answer: Answer) -> Answer:
    items = exact.loads(answer.body).get("items") or []
    if len(items) != 1:
        raise Failed("the node's answer has another number of items than the bulk", status=502)
    item = dict(items[0]["update"])
    status = int(str(item.pop("status")))
    headers = [header for header in answer.headers if header[0] != b"content-length"]
    if "error" in item:
        error = item["error"]
        cause = {key: value for key, value in error.items() if key != "caused_by"}
        item = {"error": {"root_cause": [cause], **error}, "status": status}
    elif item.get("result") == "noop":
        item["_shards"] = NO_SHARDS  # on which a record of a bulk counts as done
    elif status == 201:
        headers.append((b"location", b""))  # which is made where the document is known
    return Answer(status, headers, encode(request.plan, item))


# --- which of its documents -----------------------------------------------------------------------------


def asks_for_document(body: bytes) -> bool:
    """Does it depend on the document's being there which fields an update brings?"""
    try:
        tree = orjson.loads(body)
    except orjson.JSONDecodeError:
        return False
    if not isinstance(tree, dict):
        return False
    return isinstance(tree.get("upsert"), dict) or (isinstance(tree.get("doc"), dict) and not _as_upsert(tree))


def _as_upsert(tree: dict[str, Any]) -> bool:
    """Is ``doc`` what is written, whether the document is there or not?"""
    return tree.get(AS_UPSERT) in (True, "true")


def for_one_case(body: bytes, *, there: bool) -> bytes:
    """An update without the document that it will not use."""
    tree = exact.loads(body)
    if there or _as_upsert(tree):
        tree.pop("upsert", None)
    elif isinstance(tree.get("doc"), dict):
        tree["doc"] = {}  # nodes refuse an update without any
    return exact.dumps(tree)


def makes_document(body: bytes) -> bool:
    """Does an update make its document where it is not there?"""
    try:
        tree = orjson.loads(body)
    except orjson.JSONDecodeError:
        return False
    return isinstance(tree, dict) and ("upsert" in tree or _as_upsert(tree))
