"""One logical index in a pool, as requests use it, and what the core does at each kind for requests over some of them.

The **scope** ``<tenant>.<number>`` is the ``_routing`` of every document of a logical index and, with a colon, the front of its
``_id``. Both are metadata that no document, update or script can change, so isolation rests on them alone: a term on ``_routing``
filters every query root, and every id that comes back is checked for its scope before the scope is taken off.

What its fields are called and how its documents are stored is the layout's: ``Target.naming``. Two targets of a request may lie
in one physical index (``per-tenant``), so a target is known by its scope, not by its physical index.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import orjson

from esproxy import core
from esproxy.api.kinds import Kind, Op
from esproxy.catalogue import names
from esproxy.catalogue.documents import Entry, Index
from esproxy.core import Action
from esproxy.tenancy.layouts import NAMES, NAMESPACES
from esproxy.tenancy.naming import Naming, naming_of

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
    def naming(self) -> Naming:
        return naming_of(self.entry.layout, self.index)

    @cached_property
    def written(self) -> core.Bindings:
        """For documents of this index: made once for all of a bulk."""
        return request_bindings([self], filtered=False)


def physical_expression(targets: Sequence[Target]) -> str:
    """The physical indices of these targets, each once; empty without targets."""
    return ",".join(dict.fromkeys(target.physical for target in targets))


def scopes(targets: Sequence[Target]) -> str:
    """The routing of a request over these targets."""
    return ",".join(target.scope for target in targets)


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


def request_bindings(targets: list[Target], *, filtered: bool = True) -> core.Bindings:
    """Requests over these targets. ``filtered``: every query root gets their filter; else it is no search: documents, mappings, a
    query over one document of known scope."""
    actions = dict(STOPS)
    if len(targets) == 1:
        actions |= targets[0].naming.request
    if filtered:
        term = orjson.dumps(filter_of(targets))
        front, alone = b'{"bool":{"filter":[' + term + b'],"must":[', b'{"constant_score":{"filter":' + term + b"}}"
        actions[Kind.QUERY] = Action(Op.WRAP, front, b"]}}", alone)
    return core.Bindings(actions)


def answer_bindings(targets: Sequence[Target], *, keep_tags: bool) -> core.Bindings:
    """Answers from pools. Where some field has a physical name of its own, names of fields are dealt with too."""
    naming = targets[0].naming if len(targets) == 1 else None
    if naming is not None:
        return _answer(keep_tags, tuple(naming.answer.items()))
    renames = any(target.naming.any for target in targets)
    return _answer(keep_tags, ((Kind.FIELD, Action(Op.STOP)),) if renames else ())


@lru_cache(maxsize=10_000)
def _answer(keep_tags: bool, own: tuple[tuple[Kind, Action], ...]) -> core.Bindings:
    actions = {**dict.fromkeys(ANSWER_STOPS, Action(Op.STOP)), Kind.ROUTING: Action(Op.DROP), **dict(own)}
    if not keep_tags:
        actions[Kind.TAGGED] = Action(Op.STRIP)
    return core.Bindings(actions)


UNFILTERED = core.Bindings(STOPS)  # for what is about no target in particular: strictness, names read from the parsed text
