"""Mutants of what goes around the procedures of pools: searches on the straight path, plain bulks, what nodes keep for a tenant.

Each of these does again, in fewer steps, what another part does with more; so a mutant of that part says nothing of them. The
same holds for the verifications: the fault beneath is on the short way only, and so the answer that is withheld, or comes
through, has gone there.
"""

from __future__ import annotations

from typing import Any

from esproxy import core
from esproxy.catalogue import fields
from esproxy.core import Bindings
from esproxy.metadata import figures
from esproxy.pools import plain_bulk, statistics, straight, together
from esproxy.pools.plain_bulk import Records
from esproxy.pools.pooled import Pooled
from esproxy.tenancy.target import Target
from tests.oracle.mutants import Mutant
from tests.oracle.patches import Patch, instead, nothing, replaced

# What is switched off here and no scenario shows, with the reason.
UNREACHABLE = {
    "which members plain bulks take, but for routing": "a node does with the others, for an index and fields that are there, "
    "what the procedure does",
}

# --- the straight path ----------------------------------------------------------------------------------------


class Whole(Target):
    """All of its physical index."""

    @property
    def searched(self) -> Bindings:  # type: ignore[override]
        return self.written


def _as_given(_target: Target, id: str) -> str:
    return id


def _no(*_args: Any) -> bool:
    return False


def _yes(*_args: Any) -> bool:
    return True


WHOLE = replaced(straight, "Target", Whole)
STRAIGHT = [
    Mutant("on the straight path: the filter is left off", WHOLE, ("search.renamed_fields",)),
    Mutant("on the straight path: ids go as they are", replaced(straight, "physical_id", _as_given), ("documents.lifecycle",)),
    Mutant("on the straight path: no body needs a tree", replaced(straight, "needs_tree", _no), ("queries_term.lookups",)),
    Mutant(
        "on the straight path: what pools refuse is sent",
        replaced(straight, "check_search", nothing),
        ("search.hidden_metadata", "rare.queries"),
    ),
]

# --- plain bulks ----------------------------------------------------------------------------------------------


class Unscoped(Records):
    def aim(self, raw: bytes | None) -> Any:
        aimed = super().aim(raw)
        self.before_id = b'"'
        return aimed


class Unrouted(Records):
    """What edits point into is kept."""

    texts: tuple[bytes, ...] = ()

    def aim(self, raw: bytes | None) -> Any:
        aimed = super().aim(raw)
        self.behind_id = self.behind_id.partition(b',"routing":')[0]
        self.texts = (*self.texts, self.behind_id)
        return aimed


class Unnamed(Records):
    """``_index`` goes to the node as its client wrote it."""

    tokens: tuple[bytes | None, ...] = ()

    def aim(self, raw: bytes | None) -> Any:
        aimed = super().aim(raw)
        self.tokens = (*self.tokens, raw)
        self.name_token = raw or self.name_token
        return aimed


class Unread(Records):
    """Documents may have any field."""

    def aim(self, raw: bytes | None) -> Any:
        bindings, state, _ = super().aim(raw)
        return bindings, state, core.Documents()


def taking(*members: str) -> Patch:
    """Action lines may have these, too."""

    def table(engine: Any, named: bool) -> core.Table:
        rows = plain_bulk.states(engine, named)
        rows[plain_bulk.META]["keys"] |= dict.fromkeys(members, len(rows))
        return core.Table([*rows, {"kind": "OPAQUE"}], [])

    return replaced(plain_bulk, "table", table)


UNSCOPED = replaced(plain_bulk, "Records", Unscoped)
BULK = [
    Mutant("in plain bulks: ids go as they are", UNSCOPED, ("bulk.plain",)),
    Mutant("in plain bulks: no routing is given", replaced(plain_bulk, "Records", Unrouted), ("bulk.plain",)),
    Mutant("in plain bulks: names go as they are", replaced(plain_bulk, "Records", Unnamed), ("bulk.plain",)),
    Mutant("in plain bulks: new fields are let through", replaced(plain_bulk, "Records", Unread), ("bulk.plain",)),
    Mutant("in plain bulks: routings are given twice", taking("routing"), ("bulk.plain",)),
    Mutant("in plain bulks: any index takes them", replaced(plain_bulk, "_takes_plain", _yes), ("bulk.plain",)),
]

# --- what an index does not have, and what nodes keep or measure ------------------------------------------------

_SEND = Pooled.send


def _send_unprefixed(self: Pooled, method: str, path: list[str], *rest: Any, **named: Any) -> Any:
    """Stored scripts are asked for by the name that the client wrote."""
    prefix = self.plan.owner().names.prefix
    asked = [path[0], *(part.removeprefix(prefix) for part in path[1:])] if path[0] == "_scripts" else path
    return _SEND(self, method, asked, *rest, **named)


def _as_measured(shape: dict[str, Any], *_rest: Any, **_named: Any) -> dict[str, Any]:
    return shape


def _first(bodies: list[dict[str, Any]], _why: Any) -> dict[str, Any]:
    return bodies[0]


REST = [
    Mutant("in pools: fields that are not there go as they are", instead(fields, "unheld", str), ("unmapped.asked_for",)),
    Mutant("in pools: anybody's stored scripts are run", replaced(Pooled, "send", _send_unprefixed), ("scripts.using",)),
    Mutant("in pools: a pool's figures are an index's", instead(statistics, "alone", _yes), ("statistics.stats",)),
    Mutant("in pools: figures are those measured", replaced(figures, "told", _as_measured), ("statistics.stats",)),
]


def of_objects() -> list[Mutant]:
    """Where each index has an object of its own, in ``per-tenant``."""
    first = replaced(together, "_merged", _first)
    return [Mutant("of objects: a scroll has one index's query", first, ("cursors.scrolling_several",))]


def unnoticed() -> list[Mutant]:
    members = taking("require_alias", "dynamic_templates", "_source")
    return [Mutant("in plain bulks: all members are copied but routing", members, ("bulk.plain",))]


def mutants() -> list[Mutant]:
    return [*STRAIGHT, *BULK, *REST]


__all__ = ["UNREACHABLE", "UNSCOPED", "WHOLE", "mutants", "of_objects", "unnoticed"]
