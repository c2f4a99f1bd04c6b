"""``_rank_eval``: searches whose hits are rated. A template in it is rendered first and read as the search that it becomes, as
for ``_search/template``; the node gets searches alone."""

from __future__ import annotations

from esproxy import exact
from esproxy.answer import Whole, client_headers, client_status
from esproxy.bodies import rewritten
from esproxy.exchange import Answer, Call, Calls, Procedure, Reply, Send
from esproxy.heads import AnswerHead
from esproxy.plan import Plan
from esproxy.procedures.rendered import made_of, node_error, render
from esproxy.request import physical_headers, physical_target


def rank_eval(plan: Plan, body: bytes, media: bytes | None, limit: int, depth: int) -> Procedure:
    """``body``: the client's, with its names rewritten. Ends with the client's answer."""
    target = physical_target(plan)
    tree = exact.loads(body) if body else None
    if isinstance(tree, dict) and "templates" in tree:
        templates = {one["id"]: one["template"] for one in tree.pop("templates") if "id" in one and "template" in one}
        asked = [one for one in tree.get("requests", ()) if one.get("template_id") in templates]
        wanted = [templates[one.pop("template_id")] | {"params": one.pop("params", {})} for one in asked]
        told: list[Answer] = yield Calls([render(plan, template, limit) for template in wanted])
        state = plan.cluster.engine.tables.roots["msearch.body"]
        for one, template, answer in zip(asked, wanted, told, strict=True):
            if answer.status != 200:
                return node_error(plan, answer)
            one["request"] = exact.loads(rewritten(plan, state, made_of(answer, template), depth))
        body = exact.dumps(tree)
    plan.meta = None  # no answer tells what a search sorts by
    call = Call(Send(plan.cluster.name, "POST", target, physical_headers(plan, media), body, held=True), limit)
    answer = yield call
    head = AnswerHead(answer.status, answer.headers)
    restored = Whole(plan, head, limit).feed(answer.body, True)
    return Reply(client_status(plan, answer.status), client_headers(plan, head), restored)
