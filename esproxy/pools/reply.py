"""Where a request to pools goes when it names several indices or none, and the client's answer."""

from __future__ import annotations

from esproxy import exact
from esproxy.answer import encode, is_error
from esproxy.exchange import Answer, Large, Reply
from esproxy.pools.pooled import Pooled
from esproxy.rewriting.order import in_logical_order
from esproxy.rewriting.restore import PoolAnswer, client_headers, finish, onward, restore, unwrapped
from esproxy.tenancy.target import Target, physical_expression

JSON = b"application/json"
NDJSON = b"application/x-ndjson"


def path(request: Pooled, targets: list[Target]) -> list[str]:
    """The segments upstream."""
    expression = physical_expression(targets) or nothing(request)
    return [expression if part == "{index}" else part for part in template(request)]


def template(request: Pooled) -> list[str]:
    """The segments, of which one stands for indices."""
    return list(request.plan.route.with_index or request.plan.route.template)


def nothing(request: Pooled) -> str:
    """An expression under the tenant's prefix that matches nothing."""
    return request.plan.owner().names.nothing


def reply(request: Pooled, answer: Answer, *, filtered: bool = False) -> Reply | Large:
    """The client's answer. ``filtered``: a filter was put around its query."""
    plan = request.plan
    reader = PoolAnswer(plan, request.targets.values(), request.sent_as)
    reader.seal = request.seal
    if answer.more:
        return onward(plan, answer, reader, client_headers(plan, answer, reader))
    body = restore(plan, answer, reader)
    if filtered:
        body = unwrapped(body)
    if len(reader.indices) > 1:
        body = in_logical_order(plan, body)
    if plan.meta is not None and not is_error(answer.status, answer.body):
        body = encode(plan, plan.meta.restore(exact.loads(body), reader.name))
    return finish(plan, answer.status, client_headers(plan, answer, reader), body)
