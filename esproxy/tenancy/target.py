"""One logical index in a pool, as requests use it, and what the layout ``shared`` does at each kind.

The **scope** ``<tenant>.<number>`` is the ``_routing`` of every document of a logical index and, with a colon, the front of its ``_id``. Both are
metadata that no document, update or script can change, so isolation rests on them alone (ARCHITECTURE section 5): a term on
``_routing`` filters every query root, and every id that comes back is checked for its scope before the scope is taken off.
"""

from __future__ import annotations

from functools import cached_property

import orjson

from esproxy import core
from esproxy.api.kinds import Kind, Op
from esproxy.catalogue import names
from esproxy.catalogue.documents import Entry, Index
from esproxy.core import Action
from esproxy.tenancy.layouts import NAMES, NAMESPACES

ID_END = ":"


class Target:
    """``index`` is the index document: declared mapping, settings, fields. Made anew when that changes."""

    def __init__(self, tenant: str, name: str, entry: Entry, index: Index) -> None:
        self.name = name
        self.entry = entry
        self.index = index
        self.scope = names.scope(tenant, entry.n)
        self.id_front = self.scope + ID_END

    @property
    def physical(self) -> str:
        return self.entry.physical

    def physical_id(self, id: str) -> str:
        return self.id_front + id

    @cached_property
    def renames(self) -> bool:
        """Does a field have a physical name of its own?"""
        return any(field.physical != path for path, field in self.index.fields.items())


def shared_request(targets: list[Target]) -> core.Bindings:
    """Requests over these targets: names, ids, routings and documents are stops; every query root gets the filter."""
    term = orjson.dumps(filter_of(targets))
    wrap = Action(Op.WRAP, b'{"bool":{"filter":[' + term + b'],"must":[', b"]}}", b'{"constant_score":{"filter":' + term + b"}}")
    stops = (*NAMES, *NAMESPACES, Kind.ID, Kind.ROUTING, Kind.FIELD, Kind.DOC, Kind.SETTINGS, Kind.LUCENE, Kind.KQL, Kind.SCRIPT, Kind.CURSOR, Kind.TASK)
    return core.Bindings({**dict.fromkeys(stops, Action(Op.STOP)), Kind.QUERY: wrap})


def filter_of(targets: list[Target]) -> dict[str, object]:
    """The query that only documents of these targets match."""
    scopes = [target.scope for target in targets]
    return {"term": {"_routing": scopes[0]}} if len(scopes) == 1 else {"terms": {"_routing": scopes}}


def shared_answer(*, keep_tags: bool) -> core.Bindings:
    """Answers from pools: a hit's index is told by its id, which comes behind it."""
    stops = (*NAMES, *NAMESPACES, Kind.ID, Kind.TEXT, Kind.SETTINGS, Kind.CURSOR)
    actions = {**dict.fromkeys(stops, Action(Op.STOP)), Kind.ROUTING: Action(Op.DROP)}
    if not keep_tags:
        actions[Kind.TAGGED] = Action(Op.STRIP)
    return core.Bindings(actions)


SHARED_ANSWER = shared_answer(keep_tags=False)
SHARED_TAGGED = shared_answer(keep_tags=True)
