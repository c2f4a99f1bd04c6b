"""The frame of a request to a tenant that may have indices in pools.

    believe or look → resolve → rewrite → call → restore, verify → rule A → Reply

``pooled`` is one procedure without a key: it belongs to its client. What it rests on, the directory of its tenant, is believed
from memory or read for it (``Sight``), and when the answer is there it is asked whether that still holds: a read that does not
is done again from the start, a write is a 503, because it may have reached an index that was deleted meanwhile. The same is
done where it came upon a field of others that was not there before (``lacking``).

A family (``documents``, ``search``, …) is a function of a ``Pooled``: straight-line code that resolves, calls and
makes the reply. Its outcome for a name that placement gives to ``dedicated`` is ``Apart``: the exchange goes on by prefix.
"""

from __future__ import annotations

from collections.abc import Callable

import orjson

from esproxy.catalogue.sight import Sight
from esproxy.catalogue.store import Steps
from esproxy.errors import Failed, half_a_character
from esproxy.exchange import GO, Large, Onward, Procedure, Reply
from esproxy.plan import Plan
from esproxy.pools.creation import Creation
from esproxy.pools.lacking import appeared
from esproxy.pools.pooled import Apart, Missing, Pooled, Pools

Family = Callable[[Pooled], Steps[Reply | Large]]


def pooled(request: Pooled, family: Family, *, write: bool) -> Procedure:
    """Run a family's code under rule A."""
    sight = request.sight
    while True:
        try:
            reply = yield from family(request)
        except orjson.JSONDecodeError as error:
            if "surrogate" not in error.msg:
                raise
            raise half_a_character() from None
        except Missing as error:
            request.plan.create = error.name
            return GO
        except Apart:
            request.plan.apart = True
            return GO
        if not sight.holds():
            yield from sight.confirm()
        if not sight.changed and not (yield from appeared(request, reply)):
            return reply if isinstance(reply, Reply) else Onward(reply, sight.holds, lambda written: still_true(sight))
        if write:
            raise Failed("the index was changed while the request was under way")
        if not sight.again():
            raise Failed("the index changes all the time")
        request.targets.clear()
        request.sent_as.clear()
        request.searched.clear()
        request.undo.clear()
        request.fresh.clear()
        request.pool_fields.clear()
        request.lacking.clear()
        request.alike.clear()
        request.beside = None


def still_true(sight: Sight) -> Procedure:
    """Rule A for an answer of which a part has left: it cannot be asked for again."""
    yield from sight.confirm()
    if sight.changed:
        raise Failed("the index was changed while its answer was under way")
    return GO


def first_write(pools: Pools, plan: Plan, name: str) -> Procedure:
    """Make the index that a write named. Shared by all who need it, so it may be there already."""
    yield from Creation(Pooled(pools, plan, b"", None), name).make(explicit=False)
    return GO
