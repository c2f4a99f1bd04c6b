"""One logical index in a pool, as requests use it, and what the layout ``shared`` does at each kind.

The **scope** ``<tenant>.<number>`` is the ``_routing`` of every document of a logical index and, with a colon, the front of its
``_id``. Both are metadata that no document, update or script can change, so isolation rests on them alone: a term on ``_routing``
filters every query root, and every id that comes back is checked for its scope before the scope is taken off.

Two targets of a request never lie in one physical index: a pool's name holds the logical name, which a tenant has once.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any

import orjson

from esproxy import core
from esproxy.api.kinds import Kind, Op
from esproxy.catalogue import names
from esproxy.catalogue.documents import Entry, Index
from esproxy.catalogue.renaming import Renames
from esproxy.core import Action
from esproxy.tenancy.layouts import NAMES, NAMESPACES

ID_END = ":"
FIELDS = (Kind.FIELD, Kind.SOURCE)
LANGUAGES = (Kind.LUCENE, Kind.KQL, Kind.SCRIPT, Kind.WRAPPER)
REQUEST_STOPS = (*NAMES, *NAMESPACES, *FIELDS, *LANGUAGES, Kind.ID, Kind.ROUTING, Kind.DOC, Kind.SETTINGS, Kind.CURSOR, Kind.TASK)
ANSWER_STOPS = (*NAMES, *NAMESPACES, Kind.ID, Kind.DOC, Kind.TEXT, Kind.SETTINGS, Kind.CURSOR, Kind.TASK)

STOPS = {
    **dict.fromkeys(REQUEST_STOPS, Action(Op.STOP)),
    Kind.INDEX: Action(Op.STOP, absent=b'"shapes"'),
}  # where nodes look by default


class Target:
    """``index`` is the index document: declared mapping, settings, fields. ``filters``: of the aliases it was reached
    through, when it was by aliases alone."""

    def __init__(self, tenant: str, name: str, entry: Entry, index: Index, filters: tuple[dict[str, Any], ...] = ()) -> None:
        self.name = name
        self.entry = entry
        self.index = index
        self.filters = filters
        self.scope = names.scope(tenant, entry.n)
        self.id_front = self.scope + ID_END

    @property
    def physical(self) -> str:
        return self.entry.physical

    @cached_property
    def renamed(self) -> dict[str, str]:
        """Logical path → physical, for the fields that have a physical name of their own."""
        return {path: field.physical for path, field in self.index.fields.items() if field.physical != path}

    @cached_property
    def renames(self) -> Renames | None:
        """How its documents are stored, None when as they are. Where unknown members are ignored, they must not meet another's field."""
        declared = [self.index.mapping, *(field.type for field in self.index.fields.values())]
        return Renames.of(
            self.index.fields, any("dynamic" in d and str(d["dynamic"]).lower() in ("false", "none") for d in declared)
        )


def filter_of(targets: list[Target]) -> dict[str, Any]:
    """The query that only documents of these targets match."""
    if not any(target.filters for target in targets):
        scopes = [target.scope for target in targets]
        return {"term": {"_routing": scopes[0]}} if len(scopes) == 1 else {"terms": {"_routing": scopes}}
    return {"bool": {"should": [_one_filter(target) for target in targets], "minimum_should_match": 1}}


def _one_filter(target: Target) -> dict[str, Any]:
    term: dict[str, Any] = {"term": {"_routing": target.scope}}
    if not target.filters:
        return term
    either = {"bool": {"should": list(target.filters), "minimum_should_match": 1}}
    return {"bool": {"filter": [term, either]}}


def shared_request(targets: list[Target]) -> core.Bindings:
    """Requests over these targets: every name is a stop; every query root gets the filter."""
    term = orjson.dumps(filter_of(targets))
    wrap = Action(Op.WRAP, b'{"bool":{"filter":[' + term + b'],"must":[', b"]}}", b'{"constant_score":{"filter":' + term + b"}}")
    return core.Bindings({**STOPS, Kind.QUERY: wrap})


@cache
def shared_answer(*, keep_tags: bool, renames: bool) -> core.Bindings:
    """Answers from pools. ``renames``: some field has a physical name of its own, so names of fields are stops too."""
    stops = (*ANSWER_STOPS, Kind.FIELD) if renames else ANSWER_STOPS
    actions = {**dict.fromkeys(stops, Action(Op.STOP)), Kind.ROUTING: Action(Op.DROP)}
    if not keep_tags:
        actions[Kind.TAGGED] = Action(Op.STRIP)
    return core.Bindings(actions)


# For what is no search: documents, mappings, and queries over one document of known scope.
UNFILTERED = core.Bindings(STOPS)
