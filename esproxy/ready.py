"""What has been understood of a request's head, kept for the next request with the same one.

Clients send the same few heads again and again: only the body differs from search to search. All that the Gateway does before
it looks at a body (tenant, target, route, parameters, the node's target) is a function of method, target, tenant header and
content type, under settings and tables that do not change while a ``Cluster`` lives. So it is done once and kept for
that ``Cluster``: a *ready* plan, of which each exchange gets a twin of its own, and the target that goes to the node.

Kept is only what is certain to be the same again:

* the tenant is told by the header (index patterns read bodies too); of one who may have indices in pools no target is kept,
  because a catalogue changes;
* the endpoint's answer is its rule table's, and the target holds nothing that a body or a cursor has a say in: an index in the
  path where the endpoint could do without, no ``source``, no cursor, no meta field;
* it was understood without a refusal.

Ids of documents are too many to be kept: ``/books/_doc/1`` is kept as ``/books/_doc/`` (and its parameters), and a twin gets its
own id. So it is where the id needs no thought, being of letters, digits, ``-`` and ``_`` behind the first, all of which stand for
themselves in a path; any other is understood each time.

Whether the peer may name a tenant is asked each time. What a body does to a plan it does to the twin; if it brought names that
could change the target (``spelled`` has grown), the target is made anew.

Bounds: the ``KEPT`` heads of ``esproxy/recent.py``, with targets up to ``LONGEST`` bytes; nothing of one tenant can be found by
another, since the tenant is in the key. A ``Head`` that a shell uses again (it has come byte for byte) remembers what was found
for it, and in which memory: no key has to be made.
"""

from __future__ import annotations

import re

from esproxy.api.kinds import Kind
from esproxy.cluster import Cluster
from esproxy.errors import Refusal
from esproxy.heads import Head
from esproxy.plan import Plan, Ready
from esproxy.recent import Recent
from esproxy.request import media_type, physical_target
from esproxy.tenancy.identify import HeaderIdentity

KEPT = 8192
LONGEST = 512
UNLIKE = frozenset({"source", "source_content_type", "index", "filter_path"})  # parameters that a body or an answer is read for

Key = tuple[str, bytes, bool, "bytes | None", "bytes | None"]  # the bool: an id was taken out of the target
document = re.compile(rb"(/[^/?]+/_doc/)([A-Za-z0-9-][A-Za-z0-9_-]*)(\?.*)?").fullmatch


class ReadyHeads:
    """What is kept for one cluster."""

    __slots__ = ("cluster", "identity", "kept")

    def __init__(self, cluster: Cluster, identity: HeaderIdentity) -> None:
        self.cluster = cluster
        self.identity = identity
        self.kept: Recent[Key, Ready] = Recent(KEPT)

    def key(self, head: Head) -> tuple[Key | None, str | None]:
        """None for a head that is not to be kept: a header that comes twice may matter. Beside it the id of a document, which is
        not kept."""
        named, target, id = head.by_name(), head.target, None
        if named is None or len(target) > LONGEST:
            return None, None
        if b"/_doc/" in target and (found := document(target)) is not None:
            target, id = found[1] + (found[3] or b""), found[2].decode()
        return (head.method, target, id is not None, named.get(self.identity.header), named.get(b"content-type")), id

    def find(self, head: Head) -> Plan | None:
        if head.ready is None or head.ready[0] is not self:
            key, id = self.key(head)
            ready = None if key is None else self.kept.get(key)
            if ready is None:
                return None
            head.ready, head.shortcut = (self, ready, id), None
        _, ready, id = head.ready
        return ready.twin(head, id) if self.identity.believes(head.peer) else None

    def keep(self, plan: Plan, *, pooled: bool = False) -> Plan:
        """The same plan, ready to be found from now on if it can be. ``pooled``: it leads to a procedure for pools."""
        key, id = self.key(plan.head)
        if key is None or not is_alike(plan, id):
            return plan
        neutral = plan.twin(Head(plan.head.method, plan.head.target, []))
        try:
            target = None if pooled else physical_target(neutral)
            media = media_type(plan) if key[4] is not None else None
        except Refusal:
            return plan  # it is said in its own time
        if neutral.meta is not None or neutral.help:
            return plan
        ready = Ready(neutral, target, media, id)
        self.kept.put(key, ready)
        plan.head.ready, plan.head.shortcut = (self, ready, id), None  # the shell may use this very head again
        return ready.twin(plan.head, id)


def is_alike(plan: Plan, id: str | None) -> bool:
    """Whether nothing but the head decides what the head leads to, where ``id`` stands for itself."""
    row, known = plan.route.row, plan.endpoint.query
    return (
        row.answer is None
        and plan.parts.get("id") == id
        and plan.parts.keys() <= {"index", "id"}
        and ("index" in plan.parts or not row.all)
        and not plan.query.keys() & UNLIKE
        and not any(known.get(name) is Kind.CURSOR for name in plan.query)
    )
