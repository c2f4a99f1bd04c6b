"""``_analyze`` for a tenant in pools: with the analyzers and fields of an index, or with the node's own where none is named."""

from __future__ import annotations

import orjson

from esproxy.catalogue.store import Steps
from esproxy.errors import Refusal
from esproxy.exchange import Large, Reply
from esproxy.pools.bodies import search_body
from esproxy.pools.declared import declaration
from esproxy.pools.pooled import Pooled
from esproxy.pools.reply import JSON, reply
from esproxy.rewriting.query import physical_query


def analyze(request: Pooled) -> Steps[Reply | Large]:
    """The index is named in the path or in a parameter."""
    if not request.body:
        raise Refusal("request body or source parameter is required", type="parse_exception")
    body = orjson.dumps(declaration(request))
    query = physical_query(request.plan, [], None)
    named = request.parts.get("index")
    if named is None:
        return reply(request, (yield request.send("POST", ["_analyze"], query, body, JSON, held=True)))
    target = yield from request.one(named)
    state = request.plan.endpoint.request
    assert state is not None
    body = yield from search_body(request, [target], state, body, filtered=False)
    return reply(request, (yield request.send("POST", [target.physical, "_analyze"], query, body, JSON, held=True)))
