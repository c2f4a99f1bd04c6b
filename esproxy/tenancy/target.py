"""One logical index in a pool, as requests use it, and what the core does at each kind for requests over some of them.

The **scope** ``<tenant>.<number>`` stands, with a colon, in front of the ``_id`` and ``_routing`` of every document of a logical
index (esproxy.catalogue.scopes). Both are metadata that no document, update or script can change, so isolation rests on them
alone: a query for the scope in ``_routing`` filters every query root, and every id and routing value that comes back is checked
for its scope before the scope is taken off.

What its fields are called and how its documents are stored is the layout's: ``Target.naming``. Two targets of a request may lie
in one physical index (``per-tenant``), so a target is known by its scope, not by its physical index.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Generic, TypeVar

import orjson

from esproxy import core
from esproxy.api.kinds import Kind, Op
from esproxy.catalogue import names, scopes
from esproxy.catalogue.documents import Entry, Index
from esproxy.catalogue.known import Known
from esproxy.core import Action
from esproxy.errors import Refusal, Violation
from esproxy.tenancy.joins import join_paths, scoped, unscoped
from esproxy.tenancy.layouts import NAMES, NAMESPACES
from esproxy.tenancy.naming import Naming, naming_of, required

ID_END = scopes.END
ABSENT = "~absent~"
OURS = "\x00"  # no index's name
NOWHERE = "_esproxy~refused"  # no index can have such a name: one item's error on every node
FIELDS = (Kind.FIELD, Kind.SOURCE)
LANGUAGES = (Kind.LUCENE, Kind.KQL, Kind.SCRIPT, Kind.WRAPPER)
REQUEST_STOPS = (
    *NAMES,
    *NAMESPACES,
    *FIELDS,
    *LANGUAGES,
    Kind.ID,
    Kind.ROUTING,
    Kind.DOC,
    Kind.SETTINGS,
    Kind.CURSOR,
    Kind.TASK,
    Kind.GROUP,
)
MACHINES = (Kind.NODE, Kind.ADDRESS)
ANSWER_STOPS = (*NAMES, *NAMESPACES, *MACHINES, Kind.ID, Kind.DOC, Kind.TEXT, Kind.SETTINGS, Kind.CURSOR, Kind.TASK)

STOPS = {
    **dict.fromkeys(REQUEST_STOPS, Action(Op.STOP)),
    Kind.INDEX: Action(Op.STOP, absent=b'"shapes"'),
}  # where nodes look by default


T = TypeVar("T")


class of_index(Generic[T]):
    """A property that the index document alone decides: made once for each version of it, and kept with it."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self.make = make
        self.name = make.__name__

    def __get__(self, target: Target, owner: type) -> T:
        made = target.index.made
        try:
            value: T = made[self.name]
        except KeyError:
            value = made[self.name] = self.make(target)
        return value


class Target:
    """``index`` is the index document: declared mapping, settings, fields. ``filters``: of the aliases it was reached
    through, when it was by aliases alone."""

    dedicated = False  # an index of its own, see esproxy.tenancy.dedicated

    def __init__(self, tenant: str, name: str, entry: Entry, index: Index, filters: tuple[dict[str, Any], ...] = ()) -> None:
        self.name = name
        self.entry = entry
        self.index = index
        self.filters = filters
        self.routed: frozenset[str] = frozenset()  # the routing values that its aliases give a search
        self.by_alias: tuple[str, str] | None = None  # the alias that an operation named, and the routing value that it gives
        self.scope = names.scope(tenant, entry.n)
        self.id_front = self.scope + ID_END

    @of_index
    def shards(self) -> scopes.Shards:
        return scopes.Shards.of(self.index.settings)

    @of_index
    def uuid(self) -> str:
        """What tells one creation of an index from the next, as 22 characters."""
        digest = hashlib.blake2b(self.scope.encode(), digest_size=16, person=b"esproxy index").digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

    @of_index
    def requires_routing(self) -> bool:
        return required(self.index.mapping)

    def routing(self, id: str, given: str | None) -> dict[str, str]:
        """The physical ``routing`` of a document, as a parameter. ``given``: its client's. None is sent where the client had to
        give one: the pool requires one too, so the node says what it says. Raises Refusal for another than its alias's."""
        given = self.given(given)
        if self.requires_routing and not given:
            return {}
        return {"routing": scopes.routing(self.scope, self.shards, id, given)}

    def given(self, routing: str | None) -> str | None:
        """The routing value of an operation whose client gave this one."""
        if self.by_alias is None:
            return routing
        alias, value = self.by_alias
        if routing is not None and routing != value:
            given = f"was provided with routing value [{routing}], rejecting operation"
            raise Refusal(f"Alias [{alias}] has index routing associated with it [{value}], and {given}")
        return value

    @of_index
    def piped(self) -> bool:
        """Whether its settings name pipelines that its documents go through."""
        settings = self.index.settings
        return any(settings.get(f"index.{name}_pipeline") not in (None, "_none") for name in ("default", "final"))

    def given_routing(self, stored: str) -> str | None:
        """The client's routing of a document, None where it gave none. Raises Violation for another scope's."""
        try:
            return scopes.given(stored, self.scope, self.shards)
        except ValueError:
            raise Violation("a routing") from None

    @of_index
    def known(self) -> Known:
        """Which documents bring no field."""
        return Known(self.index.mapping, self.index.settings, self.index.fields)

    @of_index
    def documents(self) -> core.Documents | None:
        """Documents that are stored without a question."""
        naming = self.naming
        if self.joins or naming.odd is None:
            return None
        return core.Documents(self.known.table if naming.inferred else None, naming.front, naming.odd)

    @of_index
    def hit(self) -> tuple[bytes, bytes, bytes | None]:
        """For ``core.Hits``: what stands before an id, the routing of a document that was given none, what stands before a
        document."""
        front = b'"' + self.id_front.encode()
        return front, front + b'"' if self.shards.count == 1 else b"", None if self.joins else self.naming.front

    @of_index
    def plain(self) -> frozenset[bytes]:
        """Names of fields, as they stand in a body, that need no thought: they are there, and called so in the pool."""
        if self.naming.any or self.joins:
            return frozenset()
        found = set()
        for path, field in self.index.fields.items():
            if field.physical == path:
                found |= {path, *(f"{path}.{name}" for name in field.type.get("fields") or {})}
        return frozenset(orjson.dumps(name) for name in found if not name.startswith("_") and "#" not in name and "*" not in name)

    @of_index
    def joins(self) -> list[str]:
        """The fields of type join."""
        return list(join_paths(self.index.mapping.get("properties")))

    def stored(self, raw: bytes, *, routed: bool) -> bytes:
        """A document as it is stored. Raises Refusal."""
        return self.naming.document(scoped(raw, self.joins, self.id_front, routed=routed) if self.joins else raw)

    def source(self, raw: bytes) -> bytes:
        """A stored document, or the part of it that a node gives, as the client wrote it."""
        own = self.naming.source(raw)
        return unscoped(own, self.joins, self.id_front) if self.joins else own

    @property
    def physical(self) -> str:
        return self.entry.physical

    @of_index
    def naming(self) -> Naming:
        return naming_of(self.entry.layout, self.index)

    @of_index
    def written(self) -> core.Bindings:
        """For documents of this index."""
        return _request_bindings([self], filtered=False)

    @of_index
    def restored(self) -> tuple[core.Bindings, core.Bindings]:
        """For answers about this index, without tags and with."""
        own = tuple(self.naming.answer.items())
        return _answer(False, own), _answer(True, own)

    @of_index
    def searched(self) -> core.Bindings:
        """For searches over all of this index."""
        return _request_bindings([self], filtered=True)


def absent(tenant: str, name: str) -> str:
    """What is sent for what the nodes keep and pools do not have: the node says that it is not there."""
    return tenant + ABSENT + name


def physical_expression(targets: Sequence[Target]) -> str:
    """The physical indices of these targets, each once; empty without targets."""
    return ",".join(dict.fromkeys(target.physical for target in targets))


def search_routing(targets: Sequence[Target], given: str | None) -> dict[str, str]:
    """The ``routing`` of a request over these targets, as a parameter: none where it changes nothing, or one has none. The
    client's own, because a document is on the shard that its client's routing picks."""
    if all(target.shards.count == 1 and not target.dedicated for target in targets):
        return {}
    asked = frozenset(filter(None, (given or "").split(",")))
    values = [asked & target.routed if asked and target.routed else asked | target.routed for target in targets]
    return {"routing": ",".join(sorted(frozenset.union(*values)))} if all(values) else {}


def filter_of(targets: list[Target]) -> dict[str, Any]:
    """The query that only documents of these targets match."""
    whole = [target.scope for target in targets if not target.filters and not target.dedicated]
    if len(whole) == len(targets):
        return scopes.query(whole)
    own = [target.physical for target in targets if not target.filters and target.dedicated]
    parts = [*scopes.clauses(whole), *([_own(own)] if own else [])]
    parts += [_filtered(target) for target in targets if target.filters]
    return {"bool": {"should": parts, "minimum_should_match": 1}}


def _filtered(target: Target) -> dict[str, Any]:
    either = {"bool": {"should": list(target.filters), "minimum_should_match": 1}}
    its = _own([target.physical]) if target.dedicated else scopes.query([target.scope])
    return {"bool": {"filter": [its, either]}}


def _own(physical: list[str]) -> dict[str, Any]:
    """What documents in indices of their own match, with a mark that it is none of the client's."""
    return {"terms": {"_index": [*physical, OURS]}}


def request_bindings(targets: list[Target], *, filtered: bool = True, defines: bool = False) -> core.Bindings:
    """Requests over these targets. ``filtered``: every query root gets their filter; else it is no search: documents, mappings, a
    query over one document of known scope. ``defines``: it has fields of its own among the names, so each is looked at."""
    if len(targets) == 1 and not targets[0].dedicated and not targets[0].filters and not defines:
        return targets[0].searched if filtered else targets[0].written
    return _request_bindings(targets, filtered=filtered, defines=defines)


def _request_bindings(targets: list[Target], *, filtered: bool, defines: bool = False) -> core.Bindings:
    actions = dict(STOPS)
    if len(targets) == 1:
        actions |= {} if defines else targets[0].naming.request
        if targets[0].joins:
            actions[Kind.DOC] = Action(Op.STOP)  # ids of parents are in documents
    if filtered:
        term = orjson.dumps(filter_of(targets))
        front, alone = b'{"bool":{"filter":[' + term + b'],"must":[', b'{"constant_score":{"filter":' + term + b"}}"
        actions[Kind.QUERY] = Action(Op.WRAP, front, b"]}}", alone)
    return core.Bindings(actions)


def answer_bindings(targets: Sequence[Target], *, keep_tags: bool, renamed: bool = False) -> core.Bindings:
    """Answers from pools. Where some field has a physical name of its own, or was sent by one (``renamed``), names of fields are
    dealt with too."""
    if len(targets) == 1 and not renamed:
        return targets[0].restored[keep_tags]
    renames = renamed or any(target.naming.any for target in targets)
    return _answer(keep_tags, ((Kind.FIELD, Action(Op.STOP)),) if renames else ())


@lru_cache(maxsize=10_000)
def _answer(keep_tags: bool, own: tuple[tuple[Kind, Action], ...]) -> core.Bindings:
    actions = dict.fromkeys(ANSWER_STOPS, Action(Op.STOP)) | {Kind.ROUTING: Action(Op.OMIT), Kind.HIDDEN: Action(Op.DROP)}
    actions |= dict(own)
    if not keep_tags:
        actions[Kind.TAGGED] = Action(Op.STRIP)
    return core.Bindings(actions)


UNFILTERED = core.Bindings(STOPS)  # for what is about no target in particular: strictness, names read from the parsed text
