"""The indices that an expression names, with the filters of the aliases that named them."""

from __future__ import annotations

from esproxy.catalogue.store import Steps
from esproxy.pools.bodies import filter_body
from esproxy.pools.pooled import Pooled
from esproxy.tenancy.expressions import CHOICES, Options
from esproxy.tenancy.target import Target


def some(request: Pooled, expression: str, options: Options | None = None, *, stay: bool = False) -> Steps[list[Target]]:
    """The indices of an expression, none among them. ``stay``: not Apart, even if they are all their own."""
    if options is None and request.plan.query.keys().isdisjoint(CHOICES):
        known = request.one_open(expression)
        if known is not None:
            return [(yield from request.target(expression, known))]
    resolved, directory = yield from request.resolved(expression, options or request.options(), stay=stay)
    targets = []
    for name, filters in resolved.found.items():
        target = yield from request.target(name, directory)
        target.routed = resolved.routed.get(name, target.routed)
        for limit in filters or ():
            target.filters += ((yield from filter_body(request, target, limit)),)
        targets.append(target)
    return targets
