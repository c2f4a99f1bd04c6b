"""``_rank_eval`` over indices in pools: searches whose hits are rated.

Each of its searches is rewritten as any other, with the filter at every query root; templates are rendered first, so that none is
left for the node. A rating is of a document by index and id: the physical ones, where its index is searched. Any other rating
matches no hit, on a node neither, so it goes with a name under the tenant's prefix.
"""

from __future__ import annotations

from typing import Any

from esproxy import bodies, exact
from esproxy.answer import is_error
from esproxy.catalogue.store import Steps
from esproxy.errors import Refusal
from esproxy.exchange import Answer, Calls, Large, Reply
from esproxy.pools import wide
from esproxy.pools.bodies import parameters, search_body
from esproxy.pools.declared import declaration
from esproxy.pools.pooled import Pooled
from esproxy.pools.reply import JSON, path, reply, template
from esproxy.pools.targets import some
from esproxy.procedures.rendered import made_of, node_error, render
from esproxy.rewriting.places import text_of
from esproxy.rewriting.restore import unwrapped_error
from esproxy.tenancy.target import Target


def rank_eval(request: Pooled) -> Steps[Reply | Large]:
    plan = request.plan
    targets, absent = yield from _targets(request)
    query = yield from parameters(request, targets)
    names = [absent if part == wide.INDEX else part for part in template(request)] if absent else path(request, targets)
    if not request.body:  # refused, in the node's words
        return reply(request, (yield request.send("POST", names, query)))
    declaration(request)
    tree = exact.loads(request.body)
    asked = [one for one in tree.get("requests") or () if isinstance(one, dict)] if isinstance(tree, dict) else []
    if "templates" in tree:
        failed = yield from _render(request, tree, asked)
        if failed is not None:
            return node_error(plan, failed)
    state = plan.cluster.engine.tables.roots["msearch.body"]
    for one in asked:
        if isinstance(one.get("request"), dict):
            one["request"] = exact.loads((yield from search_body(request, targets, state, exact.dumps(one["request"]))))
        for rating in one.get("ratings") or ():
            if isinstance(rating, dict):
                _rate(request, targets, rating)
    where, body = template(request), exact.dumps(tree)
    if wide.fits(where, targets, query):
        answer = yield request.send("POST", names, query, body, request.media or JSON)
    else:
        answer = yield from wide.by_alias(request, where, targets, query, body)
    return reply(request, _as_asked(answer), filtered=True)


def _targets(request: Pooled) -> Steps[tuple[list[Target], str | None]]:
    """The indices that are searched; where one is missing none, and a name that the node will miss: it says so of each search."""
    try:
        return (yield from some(request, request.parts.get("index", "_all"))), None
    except Refusal as error:
        if error.status != 404 or "index" not in error.extra:
            raise
        return [], request.sent_apart(str(error.extra["index"]))


def _render(request: Pooled, tree: dict[str, Any], asked: list[dict[str, Any]]) -> Steps[Answer | None]:
    """Templates become the searches of the requests that name them. An answer: of a node that could not make one."""
    plan, pools = request.plan, request.pools
    own = exact.dumps({"requests": [], "metric": {}, "templates": tree.pop("templates")})
    listed = exact.loads(bodies.physical_body(plan, own, pools.max_depth))["templates"]
    plan.meta = None
    made = {one["id"]: one["template"] for one in listed if "id" in one and "template" in one}
    using = [one for one in asked if one.get("template_id") in made]
    wanted = [made[one.pop("template_id")] | {"params": one.pop("params", {})} for one in using]
    told: list[Answer] = yield Calls([render(plan, one, pools.max_body) for one in wanted])
    for one, kept, answer in zip(using, wanted, told, strict=True):
        if answer.status != 200:
            return answer
        one["request"] = exact.loads(made_of(answer, kept))
    return None


def _rate(request: Pooled, targets: list[Target], rating: dict[str, Any]) -> None:
    name, id = rating.get("_index"), rating.get("_id")
    if not isinstance(name, str) or id is None:
        return  # the node's to refuse
    rated = next((target for target in targets if target.name == name), None)
    rating["_index"] = request.sent_apart(name) if rated is None else rated.physical
    rating["_id"] = text_of(id) if rated is None else rated.id_front + text_of(id)


def _as_asked(answer: Answer) -> Answer:
    """The answer, with the errors of single searches as they are without the filter that was put around the query."""
    if is_error(answer.status, answer.body) or b'"failures":{}' in answer.body:
        return answer
    tree = exact.loads(answer.body)
    failures = tree.get("failures") or {}
    for id, failure in failures.items():
        if "error" in failure:
            failures[id] = {**failure, "error": unwrapped_error(failure["error"])}
    return Answer(answer.status, answer.headers, exact.dumps(tree))
