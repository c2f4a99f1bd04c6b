"""Search templates for indices in pools: rendered by a node, then searched with like any other body (``procedures.rendered``).

Templates are kept by the nodes under the tenant's prefix, for every layout. What one was made into is a request of its own, under
the same belief in the directory as the one that named the template.
"""

from __future__ import annotations

from typing import Any

from esproxy import bodies, exact
from esproxy.answer import encode
from esproxy.api.filter_path import FilterPath
from esproxy.catalogue.store import Steps
from esproxy.errors import Refusal, UpstreamFailed
from esproxy.exchange import Large, Reply, Restorer
from esproxy.pools.msearch import msearch
from esproxy.pools.pooled import Pooled
from esproxy.pools.search import search
from esproxy.procedures.rendered import in_their_places, made_of, node_error, render, rendered, split, target_of, with_status
from esproxy.replies import json_headers
from esproxy.request import as_another
from esproxy.rewriting.query import physical_query

JSON = b"application/json"
NDJSON = b"application/x-ndjson"
END = 64  # more bytes than white space follows an answer


def search_template(request: Pooled) -> Steps[Reply | Large]:
    plan, pools = request.plan, request.pools
    if not request.body:
        raise Refusal("request body or source parameter is required", type="parse_exception")
    template = exact.loads(bodies.physical_body(plan, request.body, pools.max_depth))
    physical_query(plan, [], None)  # for its strictness
    told = yield render(plan, template, pools.max_body)
    if told.status != 200:
        return node_error(plan, told)
    inner = _inner(request, b"/_search", made_of(told, template), JSON)
    reply = yield from search(inner)
    if inner.product or reply.status != 200:
        return reply
    if isinstance(reply, Large):
        reply.restore = WithStatus(reply.restore)
        return reply
    return with_status(inner.plan, reply)


def _inner(request: Pooled, verb: bytes, body: bytes, media: bytes) -> Pooled:
    """The request that templates have become."""
    plan = as_another(request.plan, target_of(request.plan, verb), request.media or media)
    made = Pooled(request.pools, plan, body, request.media or media)
    made.sight = request.sight
    return made


class WithStatus:
    """A large answer with the status that OpenSearch tells at its end."""

    def __init__(self, restore: Restorer) -> None:
        self.restore = restore
        self.kept = b""

    def feed(self, chunk: bytes, last: bool) -> bytes:
        out = self.kept + self.restore.feed(chunk, last)
        if last:
            return out.rstrip().removesuffix(b"}") + b',"status":200}'
        self.kept = out[-END:]
        return out[:-END]


def msearch_template(request: Pooled) -> Steps[Reply | Large]:
    """Each search has an answer of its own; what could not be rendered has an error in its place."""
    plan, pools = request.plan, request.pools
    if not request.body:
        raise Refusal("request body or source parameter is required", type="parse_exception")
    headers, templates = split(plan, request.body, pools.max_depth)
    physical_query(plan, [], None)
    lines: list[bytes] = []
    errors = yield from rendered(plan, headers, templates, pools.max_body, lambda header, body: lines.extend((header, body)))
    inner = _inner(request, b"/_msearch", b"".join(line + b"\n" for line in lines), NDJSON)
    if None in errors and len(lines) == 2 * len(errors):
        return (yield from msearch(inner))
    path = inner.plan.query.pop("filter_path", None)
    tree: dict[str, Any] = {"took": 0, "responses": []}
    head = json_headers(plan.product, plan.head.get(b"accept"))
    if lines:
        reply = yield from msearch(inner)
        if isinstance(reply, Large):
            raise UpstreamFailed("overflow", "an answer that has to be put together")
        if reply.status != 200:
            return reply
        tree, head = exact.loads(reply.body), reply.headers
    in_their_places(tree, errors)
    return Reply(200, head, encode(plan, tree if path is None else FilterPath(path).apply(tree)))
