"""Mutants of what is done in pools: each binding at each kind, each rewriting, and each verification, switched off one by one.

In a pool the isolation is a stack, so a verification is shown by a fault beneath it: the filter is left off, or a name is not
resolved. ``besides`` are the other layers that would withhold the same answer; they are switched off in both runs, so that
what is withheld in the first and comes through in the second is this verification's doing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from esproxy import core
from esproxy.api.filter_path import FilterPath
from esproxy.api.kinds import Kind, Op
from esproxy.catalogue import scopes
from esproxy.rewriting import places, restore, rewrite
from esproxy.rewriting.restore import PoolAnswer
from esproxy.tenancy import target
from tests.oracle import path_mutants
from tests.oracle.mutants import Mutant
from tests.oracle.patches import BELIEVED, Patch, all_of, instead, nothing, replaced, unchanged

# Bindings that no call can show here, with the reason.
UNREACHABLE = {
    ("request", Kind.SEARCH_PIPELINE): "a name goes as one that is not there; by the client's own there is none either",
    ("request", Kind.TEMPLATE): "templates are kept under the tenant's prefix, as in dedicated",
    ("request", Kind.TASK): "a task comes from a by-query call that does not wait, which is refused",
    ("request", Kind.KQL): "nodes at hand have no kql query",
    ("request", Kind.ALIAS): "names of aliases stand in declarations, whose procedures read them from the parsed body",
    ("request", Kind.PATTERN): "patterns stand in templates, which go as in dedicated",
    ("request", Kind.ROUTING): "a routing stands beside an id, for which the body is looked at, or is read from the parsed body",
    ("answer", Kind.PATTERN): "no answer of a pool holds a template",
    ("answer", Kind.PIPELINE): "no answer of a pool names a pipeline",
    ("answer", Kind.SEARCH_PIPELINE): "no answer of a pool names a search pipeline",
    ("answer", Kind.TEMPLATE): "no answer of a pool names a template",
    ("answer", Kind.TASK): "no answer of a pool names a task",
    ("answer", Kind.SETTINGS): "settings are answered from the catalogue",
    ("answer", Kind.ALIAS): "aliases are answered from the catalogue",
}
FIRST = {
    ("request", Kind.INDEX): ("queries_term.metadata",),
    ("request", Kind.ID): ("mget.forms", "queries_term.terms"),
    ("request", Kind.FIELD): ("unmapped.asked_for", "mappings.dynamic"),
    ("request", Kind.SOURCE): ("search.renamed_fields",),
    ("request", Kind.DOC): ("mappings.dynamic", "queries_term.lookups"),
    ("request", Kind.PIPELINE): ("bulk.plain",),
    ("request", Kind.STORED_SCRIPT): ("scripts.using", "updates.scripts"),
    ("request", Kind.GROUP): ("statistics.stats",),
    ("request", Kind.EXPR): ("search.body_parameters", "by_query.many_searches"),
    ("request", Kind.SETTINGS): ("indices.pipelines_in_settings",),
    ("request", Kind.LUCENE): ("queries_text.query_strings",),
    ("request", Kind.SCRIPT): ("queries_compound.compound",),
    ("request", Kind.WRAPPER): ("queries_term.lookups",),
    ("request", Kind.CURSOR): ("cursors.points_in_time", "cursors.points_in_time_of_opensearch", "cursors.scrolling"),
    ("answer", Kind.INDEX): ("documents.lifecycle",),
    ("answer", Kind.EXPR): ("bulk.metadata",),
    ("answer", Kind.ID): ("documents.lifecycle",),
    ("answer", Kind.DOC): ("search.renamed_fields",),
    ("answer", Kind.NODE): ("statistics.shards", "statistics.search_shards"),
    ("answer", Kind.ADDRESS): ("statistics.search_shards",),
    ("answer", Kind.HIDDEN): ("statistics.stats", "statistics.search_shards"),
    ("answer", Kind.ROUTING): ("documents.routing", "search.sorting"),
    ("answer", Kind.TEXT): ("indices.bad_bodies", "bulk.parameters"),
    ("answer", Kind.CURSOR): ("cursors.scrolling",),
    ("answer", Kind.TAGGED): ("aggregations_bucket.terms",),
    ("answer", Kind.STORED_SCRIPT): ("search.body_parameters",),  # what an error quotes of a script
}


def _request_without(*kinds: Kind) -> Patch:
    """A request's bindings but these, wherever they are used."""
    stops = {key: action for key, action in target.STOPS.items() if key not in kinds}
    return lambda: all_of(instead(target, "STOPS", stops), instead(target, "UNFILTERED", core.Bindings(stops)))


def _answer_without(*kinds: Kind) -> Patch:
    def answer(keep_tags: bool, own: tuple[tuple[Kind, core.Action], ...]) -> core.Bindings:
        actions = dict.fromkeys(target.ANSWER_STOPS, core.Action(Op.STOP))
        actions |= {Kind.ROUTING: core.Action(Op.OMIT), Kind.HIDDEN: core.Action(Op.DROP)} | dict(own)
        if not keep_tags:
            actions[Kind.TAGGED] = core.Action(Op.STRIP)
        return core.Bindings({key: action for key, action in actions.items() if key not in kinds})

    return replaced(target, "_answer", answer)


def binding_mutants() -> Iterator[Mutant]:
    sides: dict[str, tuple[Callable[[Kind], Patch], tuple[Kind, ...]]] = {
        "request": (_request_without, target.REQUEST_STOPS),
        "answer": (_answer_without, (*target.ANSWER_STOPS, Kind.ROUTING, Kind.HIDDEN, Kind.TAGGED)),
    }
    for side, (make, kinds) in sides.items():
        for kind in kinds:
            if (side, kind) not in UNREACHABLE:
                yield Mutant(f"in pools: {side} binding of {kind.name}", make(kind), FIRST.get((side, kind), ()))


def _everything(_targets: Any) -> dict[str, Any]:
    return {"match_all": {}}


def _scope_alone(one: target.Target) -> dict[str, Any]:
    return scopes.query([one.scope])


def _same(value: Any) -> Any:
    return value


FILTER = instead(target, "filter_of", _everything)
REWRITING = [
    Mutant("in pools: the filter is left off", FILTER, ("search.url_parameters", "documents.lifecycle")),
    Mutant("in pools: aliases' filters are forgotten", instead(target, "_filtered", _scope_alone), ("aliases.properties",)),
    Mutant("in pools: names and ids stay", instead(places, "rewrite_places", nothing), ("queries_term.lookups",)),
    Mutant("in pools: a pool's terms are read", instead(rewrite, "check_search", nothing), ("search.suggesting",)),
    Mutant("in pools: texts come as they are", replaced(PoolAnswer, "text", unchanged), ("documents.versions",)),
    Mutant("in pools: errors tell the filter", instead(restore, "unwrapped", _same), ("queries_text.match_family",), ("es",)),
    Mutant("in pools: filter_path is forgotten", replaced(FilterPath, "apply", unchanged), ("root.response_filtering",)),
]


# --- verifications ------------------------------------------------------------------------------------------------


def _believing_name(self: PoolAnswer, physical: str) -> str:
    self.here = self.targets
    return physical


def _believing_id(self: PoolAnswer, physical: str) -> str:
    self.last, self.verified = self.targets[0], True
    return physical.partition(target.ID_END)[2]


def _astray() -> AbstractContextManager[Any]:
    """Other indices than the tenant's are searched, whole."""
    elsewhere = instead(target, "physical_expression", lambda targets: "pool~*")
    return all_of(FILTER, elsewhere, instead(target, "search_routing", lambda targets, given: {}))


def _blind() -> AbstractContextManager[Any]:
    """Ids are not looked at, so documents come without one that was verified."""
    return _answer_without(Kind.ID)()


def _unverified_document(self: PoolAnswer, kind: Kind, raw: bytes) -> bytes:
    return raw if kind is Kind.DOC else _CALL(self, kind, raw)


_CALL = PoolAnswer.__call__


@dataclass(frozen=True, slots=True)
class Verification:
    """``fault``: what goes wrong. ``besides``: other layers that are switched off. ``dropped``: the verification switched off."""

    name: str
    fault: Patch
    besides: tuple[Patch, ...]
    dropped: Patch
    call: str
    body: bytes | None = None

    def __str__(self) -> str:
        return self.name

    def with_it(self) -> AbstractContextManager[None]:
        return all_of(self.fault, *self.besides)

    def without_it(self) -> AbstractContextManager[None]:
        return all_of(self.fault, *self.besides, self.dropped)


BOOKS = "GET /books/_search?size=100"
IDS = replaced(PoolAnswer, "id", _believing_id)
DOCUMENTS = replaced(PoolAnswer, "__call__", _unverified_document)
ROUTINGS = replaced(PoolAnswer, "routing", lambda self, physical: b"")
NAMES = replaced(PoolAnswer, "name", _believing_name)
MATCHED = b'{"query":{"match_all":{}}}'
RECORD = b'{"index":{"_id":"7"}}\n{"n":1}\n'
VERIFICATIONS = [
    Verification("ids of hits", FILTER, (ROUTINGS,), IDS, BOOKS),
    Verification("routing values of hits", FILTER, (IDS,), ROUTINGS, BOOKS),
    Verification("index names of hits", _astray, (IDS, ROUTINGS), NAMES, BOOKS),
    Verification("documents without an id", _blind, (ROUTINGS,), DOCUMENTS, BOOKS),
    Verification(
        "ids of hits on the straight path", path_mutants.WHOLE, (BELIEVED, ROUTINGS), IDS, "POST /books/_search?size=100", MATCHED
    ),
    Verification("ids of items of a plain bulk", path_mutants.UNSCOPED, (BELIEVED,), IDS, "POST /books/_bulk", RECORD),
]


def unnoticed() -> list[Mutant]:
    """What nothing is to be seen of: all that no call reaches at once, and what nodes do as well."""
    request, answer = ([kind for where, kind in UNREACHABLE if where == side] for side in ("request", "answer"))
    seen = ("indices.created_with_everything", "templates.index_templates", "aliases.properties", "bulk.metadata", "mget.fields")
    without = _all(_request_without(*request), _answer_without(*answer))
    return [Mutant("in pools: no binding that no call reaches", without, seen), *path_mutants.unnoticed()]


def _all(*patches: Patch) -> Patch:
    return lambda: all_of(*patches)


def mutants() -> list[Mutant]:
    return [*binding_mutants(), *REWRITING, *path_mutants.mutants()]


__all__ = ["UNREACHABLE", "VERIFICATIONS", "Verification", "mutants", "unnoticed"]
