"""Is the oracle any good? Mutants of the proxy: one binding, rewriting or verification switched off each; all must be caught.

A mutant is a patch of the running code, made by a context manager, under which the app is built anew in this process. It is
*caught* when some scenario gives a difference that the unmutated proxy does not give, shows a canary, or breaks off.

*Verifications* never speak up while everything else is right, so they are tested with a fault beneath them: the tenant's
prefix is left off on the way to the node, which then answers with what is not the tenant's. With the verification such answers
are withheld (500); without it, they come through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from esproxy import answer, bodies, plan
from esproxy.api.filter_path import FilterPath
from esproxy.api.kinds import Kind
from esproxy.heads import Head
from esproxy.metadata import cat as tables
from esproxy.metadata import ingest, tasks
from esproxy.procedures import reindex
from esproxy.ready import ReadyHeads
from esproxy.tenancy import layouts, tenant
from esproxy.tenancy.metafields import MetaFields
from esproxy.tenancy.names import PrefixNames
from tests.oracle.patches import Patch, instead, replaced, unchanged

# Bindings that no call of an endpoint served so far can show, with the reason: where they stand, another endpoint must come
# first.
UNREACHABLE = {
    ("request", Kind.TASK): "no body names a task",
    ("request", Kind.PATTERN): "a template of everybody's would stay with the neighbours; attacks on templates watch it",
    ("request", Kind.KQL): "nodes at hand have no kql query",
    ("answer", Kind.ALIAS): "aliases are INDEX positions in these answers",
    ("answer", Kind.EXPR): "no answer of these endpoints holds an expression",
    ("answer", Kind.PIPELINE): "pipelines in answers stand in settings",
    ("answer", Kind.STORED_SCRIPT): "no answer of these endpoints names a stored script",
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """``first``: scenarios that are likely to catch it, to be tried before all others; for a verification, the call that shows
    it. ``engines``: where there is anything to see of it, as scenarios say it.
    """

    name: str
    make: Patch
    first: tuple[str, ...] = ()
    engines: tuple[str, ...] = ("es", "os")

    def __str__(self) -> str:
        return self.name


def without(function: Callable[..., dict[Kind, Any]], kind: Kind) -> Callable[..., dict[Kind, Any]]:
    """A layout's bindings but one."""

    def mutated(*args: Any, **kwargs: Any) -> dict[Kind, Any]:
        return {key: action for key, action in function(*args, **kwargs).items() if key is not kind}

    return mutated


def binding_mutants() -> Iterator[Mutant]:
    """One for each binding of the layout, as the layout itself lists them."""
    sides = {
        "request": ("dedicated_request", layouts.dedicated_request, layouts.dedicated_request(b"x.")),
        "answer": ("dedicated_answer", layouts.dedicated_answer, layouts.dedicated_answer(b"x.", keep_tags=False)),
    }
    for side, (attribute, function, actions) in sides.items():
        for kind in actions:
            if (side, kind) not in UNREACHABLE:
                yield Mutant(
                    f"{side} binding of {kind.name}",
                    replaced(tenant, attribute, without(function, kind)),
                    FIRST.get((side, kind), ()),
                    ("os+processors",) if kind is Kind.SEARCH_PIPELINE else ("es", "os"),
                )


FIRST = {
    ("request", Kind.INDEX): ("mget.forms", "queries_term.lookups"),
    ("request", Kind.EXPR): ("search.body_parameters",),
    ("request", Kind.ALIAS): ("indices.created_with_everything",),
    ("request", Kind.PIPELINE): ("bulk.item_errors",),
    ("request", Kind.STORED_SCRIPT): ("updates.scripts",),
    ("request", Kind.FIELD): ("aggregations_bucket.by_index", "search.sorting_by_index"),
    ("request", Kind.SETTINGS): ("indices.pipelines_in_settings",),
    ("request", Kind.LUCENE): ("queries_text.query_strings",),
    ("request", Kind.SCRIPT): ("queries_compound.compound",),
    ("request", Kind.WRAPPER): ("queries_term.lookups",),
    ("answer", Kind.INDEX): ("documents.lifecycle",),
    ("answer", Kind.LUCENE): ("aliases.filter_as_text",),
    ("answer", Kind.TEXT): ("indices.bad_bodies", "bulk.parameters"),
    ("answer", Kind.SETTINGS): ("indices.lifecycle",),
    ("answer", Kind.TAGGED): ("aggregations_bucket.by_index",),
    ("request", Kind.TEMPLATE): ("templates.index_templates",),
    ("answer", Kind.TEMPLATE): ("templates.index_templates", "templates.component"),
    ("answer", Kind.PATTERN): ("templates.index_templates", "templates.legacy"),
    ("answer", Kind.NODE): ("statistics.cat_shards", "statistics.shards"),
    ("answer", Kind.ADDRESS): ("statistics.cat_shards", "statistics.shards"),
    ("answer", Kind.HIDDEN): ("statistics.shards", "statistics.stats"),
    ("answer", Kind.SCRIPT): ("scripts.storing",),
    ("request", Kind.CURSOR): ("cursors.scrolling",),
    ("answer", Kind.CURSOR): ("cursors.scrolling",),
    ("answer", Kind.TASK): ("tasks.not_waited_for",),
    ("request", Kind.SEARCH_PIPELINE): ("search_pipelines.running",),
    ("answer", Kind.SEARCH_PIPELINE): ("search_pipelines.keeping",),
}


def _as_written(source: str, _prefix: str) -> str:
    return source


def _pipelines_as_written() -> AbstractContextManager[Any]:
    return patch.dict(bodies.CHANGES, {"ingest.put_pipeline": lambda plan, body: body})


def _inside_alone(inner: str, _prefix: str, name: str) -> dict[str, Any]:
    return {"processors": [{"pipeline": {"name": inner + name}}]}


REWRITING = [
    Mutant("names in paths go as they are", replaced(PrefixNames, "one", unchanged), ("documents.lifecycle",)),
    Mutant("expressions go as they are", replaced(PrefixNames, "expression", unchanged), ("expressions.counting",)),
    Mutant(
        "no index means all of the cluster's",
        replaced(PrefixNames, "everything", lambda self, spelled: "*"),
        ("expressions.every_endpoint",),
    ),
    Mutant("pipelines and scripts go as they are", replaced(plan.Plan, "name", unchanged), ("documents.write_parameters",)),
    Mutant("Lucene text goes as it is", replaced(plan.Plan, "lucene", unchanged), ("queries_text.query_strings",)),
    Mutant("names of bulk items go as they are", replaced(plan.Plan, "bulk_name", unchanged), ("bulk.default_index",)),
    Mutant(
        "scripts go as they are",
        replaced(bodies.RequestResolver, "_script", unchanged),
        ("queries_compound.compound", "updates.scripts"),
    ),
    Mutant(
        "values that go with _index go as they are",
        replaced(MetaFields, "rewrite_inputs", unchanged),
        ("search.sorting_by_index",),
    ),
    Mutant("values of _index come as they are", replaced(MetaFields, "restore", unchanged), ("search.sorting_by_index",)),
    Mutant("settings come as they are", replaced(answer, "restore_settings", lambda tree, *rest: tree), ("indices.lifecycle",)),
    Mutant(
        "texts come as they are",
        replaced(plan, "restore_text", lambda text, *rest, **named: text),
        ("indices.bad_bodies",),
    ),
    Mutant("scripts of a reindex go as they are", replaced(reindex, "guarded", _as_written), ("reindex.scripted",)),
    Mutant("nothing is around a pipeline", instead(ingest, "outside", _inside_alone), ("ingest.running",)),
    Mutant("names in a pipeline go as they are", _pipelines_as_written, ("ingest.running",)),
    Mutant("filter_path is forgotten", replaced(FilterPath, "apply", unchanged), ("root.response_filtering",)),
]


# --- verifications, each with a fault beneath it --------------------------------------------------------------


def _unprefixed() -> AbstractContextManager[Any]:
    """The fault: expressions and names reach the node without the tenant's prefix, and it answers with decoys."""
    stack = ExitStack()
    for mutant in REWRITING[:3]:
        stack.enter_context(mutant.make())
    return stack


def _believing_name(self: Any, physical: str) -> str:
    return physical


@contextmanager
def _names_unverified() -> Iterator[None]:
    """Answers' names are handed on, whoever's they are."""
    with _unprefixed(), patch.object(answer.AnswerResolver, "name", _believing_name):
        yield


@contextmanager
def _rows_unverified() -> Iterator[None]:
    """Rows of a cat table are handed on, whoever's they are."""
    with _unprefixed(), patch.object(tables, "restore_rows", lambda rows, *rest: rows):
        yield


def _location_unverified() -> AbstractContextManager[Any]:
    stack = ExitStack()
    stack.enter_context(_unprefixed())
    stack.enter_context(patch.object(answer, "_location", lambda plan, value: value))
    stack.enter_context(patch.object(answer.AnswerResolver, "name", _believing_name))
    return stack


PROBE = "probe"  # an unprefixed index made for the purpose
FAULT = Mutant("the prefix is left off", _unprefixed)
VERIFICATIONS = [
    Mutant("names in answers are not verified", _names_unverified, ("GET /_search?size=100",)),
    Mutant("rows of cat tables are not verified", _rows_unverified, ("GET /_cat/indices",)),
    Mutant("the header location is not verified", _location_unverified, (f"PUT /{PROBE}/_doc/1",)),
]


# --- what two tenants could see of each other in one proxy -----------------------------------------------------

_KEY = ReadyHeads.key


def _anybodys_key(self: ReadyHeads, head: Head) -> tuple[Any, str | None]:
    key, id = _KEY(self, head)
    return (None if key is None else (*key[:3], None, *key[4:])), id


anybodys_heads = replaced(ReadyHeads, "key", _anybodys_key)
anybodys_tasks = replaced(tasks, "is_own", lambda task, tenant: True)


def mutants() -> list[Mutant]:
    return [*binding_mutants(), *REWRITING]


__all__ = ["FAULT", "PROBE", "UNREACHABLE", "VERIFICATIONS", "Mutant", "anybodys_heads", "anybodys_tasks", "mutants"]
