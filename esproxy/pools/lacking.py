"""Fields that some indices of a request have and others do not.

Such a field goes to the pools of all by the name that it has there, so the pools of those without it must have nothing of that
name: it would be another tenant's. What pools have is asked before anything is sent. A neighbour may make a field while the
request is on its way, though, and then the node may fail by it, or a part of its shards. A field is claimed before its pool gets
it, so whatever a node has come upon is in the claims when its answer is there: after one that tells of something that went wrong
they are read again, and where one of the names has appeared the request is made anew, as for any field that others have.
"""

from __future__ import annotations

from esproxy.catalogue.fields import is_there
from esproxy.catalogue.store import Steps
from esproxy.exchange import Large, Reply
from esproxy.pools.pooled import Pooled
from esproxy.tenancy.fieldnames import Divided, FieldNames

# What stands in every answer that tells of something that went wrong, in whichever format.
WRONG = (b"error", b"failure")
SILENT = frozenset(("cat.count", "indices.validate_query"))  # whose answers need not tell


def check_lacking(request: Pooled, fields: FieldNames) -> Steps[None]:
    """Raises Divided where a pool has something by the name of a field that the request's index in it does not have."""
    for physical, targets in fields.lacking.items():
        for target in targets:
            if is_there(physical, (yield from request.fields_of_pool(target))):
                raise Divided.of_field(fields.sent.get(physical, physical))
            request.lacking.setdefault(target.physical, set()).add(physical)


def appeared(request: Pooled, reply: Reply | Large) -> Steps[bool]:
    """Has a pool got one of these fields since, by which the reply may have gone wrong?"""
    if not request.lacking or not _may_be_wrong(request, reply):
        return False
    if isinstance(reply, Large):  # it ends with the next call, so it is asked for anew, to be held
        request.holds_all = True
        return True
    for index, paths in request.lacking.items():
        there = yield from request.claimed(index)
        if any(is_there(path, there) for path in paths):
            return True
    return False


def _may_be_wrong(request: Pooled, reply: Reply | Large) -> bool:
    plan = request.plan
    if reply.status >= 400 or plan.filter_path is not None or plan.route.row.name in SILENT:
        return True
    told = reply.first if isinstance(reply, Large) else reply.body
    return any(word in told for word in WRONG)
