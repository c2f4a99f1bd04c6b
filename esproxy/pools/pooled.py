"""A request to a tenant that may have indices in pools, and what it believes: names, the indices that they stand for, and calls.

``frame`` runs it; families of endpoints (``families``) are straight-line code over it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import orjson

from esproxy import request as requests
from esproxy.api.target import build
from esproxy.budget import Budget, Claim
from esproxy.catalogue import names
from esproxy.catalogue.change import keep
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import CLOSED, OPEN, Claims, Directory, Entry, Index
from esproxy.catalogue.pools import Plan as IndexPlan
from esproxy.catalogue.sight import Sight
from esproxy.catalogue.store import Steps
from esproxy.errors import Failed, Refusal
from esproxy.exchange import Call, Send
from esproxy.heads import Head
from esproxy.plan import Plan
from esproxy.pools.mixture import whole_directory
from esproxy.procedures.fields import add_fields
from esproxy.replies import own_media
from esproxy.rewriting.undo import Undo
from esproxy.tenancy.blocks import check_blocks
from esproxy.tenancy.cursors import PoolCursor
from esproxy.tenancy.dedicated import OUTSIDE, DedicatedTarget
from esproxy.tenancy.expressions import (
    DEFAULTS,
    MAY_BE_CLOSED,
    Options,
    Resolved,
    concrete,
    index_closed,
    is_pattern,
    resolve,
    terms_of,
)
from esproxy.tenancy.names import FORBIDDEN
from esproxy.tenancy.one_name import behind, check_new_name, missing
from esproxy.tenancy.placement import DEDICATED, Placement
from esproxy.tenancy.target import Target

if TYPE_CHECKING:
    from esproxy.pools.within import Begun

NOT_THERE = "esproxy~none~"  # the beginning of names that no index has


class Apart(Exception):
    """This request is for ``dedicated`` indices."""


class Missing(Exception):
    """A write named an index that is to be made first."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass(slots=True)
class Pools:
    """What the requests of all tenants share."""

    catalogue: Catalogue
    placement: Placement
    max_depth: int
    window: int = 16 << 20
    max_body: int = 100 << 20  # what is held whole at most, of a request or an answer
    answers: Budget = field(default_factory=lambda: Budget(128 << 20))
    begin: Callable[[Head], Begun] | None = None  # another request of a client, see ``within``


class Pooled:
    """One request, and what it believes."""

    def __init__(self, pools: Pools, plan: Plan, body: bytes, media: bytes | None) -> None:
        self.pools = pools
        self.plan = plan
        self.body = body
        self.media = media
        self.tenant = plan.owner().id
        self.parts = dict(plan.parts)
        if "index" in plan.query and plan.route.with_index is not None:  # nodes read it there too
            self.parts["index"] = plan.query["index"]
        self.sight = Sight(pools.catalogue, self.tenant)
        self.beside: Directory | None = None  # the directory with what was asked for of what is outside of pools
        self.fresh: dict[int, Index] = {}  # index documents read for this request
        self.targets: dict[str, Target] = {}  # scope → target: all that the answer may speak of
        self.sent_as: dict[str, str] = {}  # other physical names that were sent → what the client wrote
        self.searched: set[int] = set()  # numbers of the indices that a cursor in the answer is over
        self.cursors: dict[str, str] = {}  # the node's → the client's, of those that came with the request
        self.lifts_a_block = False  # so no block keeps it from that
        self.pool_fields: dict[str, dict[str, dict[str, Any]]] = {}  # fields of pools, by physical index
        self.lacking: dict[str, set[str]] = {}  # physical index → names of fields that were sent there because it has none such
        self.holds_all = False  # no answer goes on to the client before it is all there
        self.alike: dict[str, str] = {}  # paths → what all pools of the search call the field that have it
        self.filtered_by: str | None = None  # the search pipeline that the parameters name and that has been run
        self.simulations = 0  # of pipelines, that were asked for
        self.undo: list[Undo] = []  # for each search, what its answer owes to how it was asked

    @property
    def product(self) -> bool:
        return self.plan.product

    @property
    def cat(self) -> Catalogue:
        return self.pools.catalogue

    @property
    def mixture(self) -> bool:
        return DEDICATED in self.pools.placement.layouts(self.tenant)

    # --- names -----------------------------------------------------------------------------------------

    def directory(self, wanted: Iterable[str], pattern: bool = False) -> Steps[Directory]:
        """The directory to resolve these names by."""
        found = self.sight.believe(wanted, pattern)
        if found is None:
            yield from self.sight.look()
            found = self.sight.directory
        assert found is not None
        return found

    @property
    def seen(self) -> Directory:
        """What the names of this request were resolved by."""
        found = self.beside or self.sight.directory
        assert found is not None
        return found

    def look_beside(self, directory: Directory, terms: Iterable[str]) -> Steps[Directory]:
        """The directory, in a mixture with what the terms find outside of pools."""
        if self.mixture:
            known = directory if self.beside is None else self.beside
            self.beside = yield from whole_directory(known, self.plan, terms)
        return self.seen

    def apart(self, name: str, directory: Directory) -> bool:
        """Is a name the prefix's, because the directory has none and placement gives it no pool?"""
        return not concrete(directory, name) and self.pools.placement.layout(self.tenant, name) == DEDICATED

    def options(self) -> Options:
        name = self.plan.route.row.name
        if name == "cat.shards" and self.product:
            return Options.of(self.plan.query, closed=True, expand="open,closed")
        return Options.of(self.plan.query, closed=name in MAY_BE_CLOSED, **DEFAULTS.get(name, {}))

    def dated(self, expression: str, *, single: bool = False) -> Steps[str]:
        """The expression with its date math resolved, by the node: it tells the name that it does not find, and there is no index
        whose name begins as the one that it is asked for."""
        out = []
        for term in [expression] if single else expression.split(","):
            sign, math = ("-", term[1:]) if term.startswith("-") else ("", term)
            if math.startswith("<") and math.endswith(">") and ("{" in math or "\\" in math):
                term = sign + (yield from self._dated(math))
            elif single and math.startswith("<") and math.endswith(">") and len(math) > 2:
                term = math[1:-1]
            out.append(term)
        return ",".join(out)

    def _dated(self, math: str) -> Steps[str]:
        if "," in math or "'" in math:
            raise Refusal(f"date math with commas or quotes is not allowed in index names: [{math}]")
        asked = self.send("GET", [f"<{NOT_THERE}{math[1:]}", "_count"], {"allow_no_indices": "false"})
        answer = yield asked
        told = orjson.loads(answer.body).get("error", {})
        name = str(told.get("index", ""))
        if answer.status == 404 and name.startswith(NOT_THERE):
            return name.removeprefix(NOT_THERE)
        if answer.status >= 500 or not told:
            raise Failed("the node did not resolve the date math of a name")
        reason = str(told.get("reason", "")).replace(NOT_THERE, "")
        raise Refusal(reason, status=answer.status, type=str(told.get("type")), **_rest(told))

    def one(self, name: str, *, write: bool = False, create: bool = False) -> Steps[Target]:
        """The index of an operation on one: named by itself, or by an alias of one index, or of one that takes writes.
        Raises Missing where it may be made."""
        name = yield from self.dated(name, single=True)
        directory = yield from self.directory([name])
        if self.apart(name, directory):
            raise Apart
        if not concrete(directory, name):
            if (yield from self.is_beside(name)):
                raise Apart
            if create:
                check_new_name(name, self.product)
                raise Missing(name)
            raise missing(name, self.product, self.plan.cluster.before_9)
        self.sight.use([name])
        if name in directory.aliases:
            directory = yield from self.look_beside(directory, [name])
            index = behind(name, directory, write)
            self.check_blocks([index], directory)
            target = yield from self.target(index, directory)
            value = directory.aliases[name].now[index].get("index_routing")
            target.by_alias = None if value is None else (name, value)
            return target
        self.check_blocks([name], directory)
        return (yield from self.target(name, directory))

    def check_blocks(self, indices: Iterable[str], directory: Directory) -> None:
        """Raises Refusal where one of these indices has a block against what the request does."""
        blocked = [(name, directory.indices[name].blocks) for name in indices if directory.indices[name].blocks]
        if blocked and not self.lifts_a_block:
            version = str(self.plan.cluster.info["version"]["number"])
            check_blocks(self.plan.route.row.name, blocked, version, self.product)

    def is_beside(self, name: str) -> Steps[bool]:
        """In a mixture: is there an index of its own by a name that the directory does not have, or an alias of some?"""
        return self.mixture and (yield from self.cat.store.exists(self.own_name(name)))

    def own_name(self, name: str) -> str:
        """The physical name of an index of its own."""
        return self.plan.owner().names.prefix + name

    def terms(self, expression: str) -> list[str]:
        """The terms of an expression. Raises Refusal."""
        return terms_of(expression, product=self.product, before_9=self.plan.cluster.before_9)

    def evaluated(self, directory: Directory, expression: str, options: Options) -> Resolved:
        """The indices of an expression, as the cluster's version reads it. Raises Refusal."""
        return resolve(directory, expression, options, product=self.product, before_9=self.plan.cluster.before_9)

    def resolved(self, expression: str, options: Options, *, stay: bool = False) -> Steps[tuple[Resolved, Directory]]:
        expression = yield from self.dated(expression)
        terms = self.terms(expression)
        pattern = is_pattern(expression)
        named = [term for term in terms if "*" not in term and not term.startswith("-")]
        directory = yield from self.directory(named, pattern)
        if self.mixture:
            absent = [name for name in named if not concrete(directory, name)]
            if absent and len(absent) == len(terms) and not stay:
                raise Apart
            if pattern or absent or any(name in directory.aliases for name in named):
                directory = yield from self.look_beside(directory, terms)
        found = self.evaluated(directory, expression, options)
        if found.found and not stay and all(directory.indices[name].layout == DEDICATED for name in found.found):
            raise Apart
        self.sight.use(found.used)
        self.check_blocks(found.found, directory)
        return found, directory

    def one_open(self, name: str) -> Directory | None:
        """The directory from memory, if this is the name of one index in a pool, open and not blocked: it needs no resolving."""
        directory = self.sight.believe((name,))
        entry = None if directory is None else directory.indices.get(name)
        if entry is None or entry.state != OPEN or entry.blocks or entry.layout == DEDICATED:
            return None
        self.sight.use((name,))
        return directory

    def remembered(self, name: str) -> Target | None:
        """The target of one open index in a pool, where memory has all of it."""
        directory = self.one_open(name)
        entry = None if directory is None else directory.indices[name]
        index = None if entry is None else self._in_memory(entry.n)
        return None if entry is None or index is None else Target(self.tenant, name, entry, index)

    def target(self, name: str, directory: Directory, filters: tuple[dict[str, Any], ...] = ()) -> Steps[Target]:
        entry = directory.indices[name]
        if entry.layout == DEDICATED:
            own = DedicatedTarget(self.tenant, name, entry, filters)
            self.targets[own.scope] = own
            return own
        index = yield from self.index_document(entry.n)
        target = Target(self.tenant, name, entry, index, filters)
        if entry.state == CLOSED and self.plan.route.row.name not in MAY_BE_CLOSED:
            raise index_closed(name, target.uuid)
        self.targets[target.scope] = target
        return target

    def over(self, targets: Iterable[Target]) -> None:
        """A cursor in the answer will be over these."""
        self.searched |= {target.entry.n for target in targets}

    def seal(self, cursor: str) -> str:
        """The client's token for a node's cursor."""
        plan = self.plan
        kind = "scroll" if "scroll" in plan.query else plan.route.row.cursor
        if cursor in self.cursors:
            return self.cursors[cursor]
        bare = any(undo.bare for undo in self.undo)
        sorts = tuple(None if how is None else how.kind for undo in self.undo[-1:] for how in undo.sorts)
        made = PoolCursor(cursor, tuple(sorted(self.searched)), bare, sorts)
        return made.seal(plan.sealer, tenant=self.tenant, kind=kind, cluster=plan.cluster.name)

    def index_document(self, number: int, *, anew: bool = False) -> Steps[Index]:
        """What is too big for the directory. From memory it may lack fields of the last second, nothing else."""
        known = None if anew and number not in self.fresh else self._in_memory(number)
        if known is not None:
            return known
        mark = self.cat.cache.mark
        stored = yield from self.cat.store.get(Index, names.index_id(self.tenant, number))
        if stored is None:
            raise Failed("an index is being deleted")
        self.fresh[number] = keep(self.cat, stored, mark).doc
        return self.fresh[number]

    def _in_memory(self, number: int) -> Index | None:
        """What was read for this request, or what is cached and may be believed."""
        if number in self.fresh:
            return self.fresh[number]
        cache = self.cat.cache
        cached = cache.get(names.index_id(self.tenant, number)) if cache.held() else None
        return None if cached is None else cached.doc

    def renewed(self, target: Target) -> Steps[Target]:
        """The target with its fields as they are now."""
        if target.dedicated:
            return target
        index = yield from self.index_document(target.entry.n, anew=True)
        new = Target(self.tenant, target.name, target.entry, index, target.filters)
        new.routed, new.by_alias = target.routed, target.by_alias
        self.targets[new.scope] = new
        return new

    def freshest(self, targets: list[Target]) -> Steps[list[Target]]:
        """The targets as they are now in every worker's eyes."""
        if self.cat.cache.alone():
            return targets
        out = []
        for target in targets:
            out.append((yield from self.renewed(target)))
        return out

    def fields_of_pool(self, target: Target) -> Steps[dict[str, dict[str, Any]]]:
        """The fields that the pool of a target has, everybody's. Read anew: in memory one of the last second could be missing."""
        if target.physical not in self.pool_fields:
            self.pool_fields[target.physical] = yield from self.claimed(target.physical)
        return self.pool_fields[target.physical]

    def claimed(self, physical: str) -> Steps[dict[str, dict[str, Any]]]:
        """The fields of a pool as they are now."""
        stored = yield from self.cat.store.get(Claims, names.claims_id(physical))
        if stored is None:
            raise Failed("a pool has no record of its fields")
        return stored.doc.fields

    def lookup(self, name: str) -> Steps[Target | str]:
        """The index that a query looks a document up in; the name to send when it is not there."""
        directory = yield from self.directory([name])
        if not concrete(directory, name):
            if self.mixture:
                return (yield from self.outside(name, directory))
            return self.sent_apart(name)
        target = yield from self.one(name)
        if not target.dedicated:
            self.plan.looked_up.add(target.id_front)
        return target

    def outside(self, name: str, directory: Directory) -> Steps[Target]:
        """The index of its own that a name stands for, or would if it were there."""
        physical = self.plan.owner().names.one(name, {}, product=self.product)
        entry = Entry(OUTSIDE, DEDICATED, "", physical=physical, state=OPEN)
        return (yield from self.target(name, replace(directory, indices={name: entry})))

    def sent_apart(self, name: str) -> str:
        """A physical name under the tenant's own prefix for a name that is not there, so that the node says so."""
        plain = "".join("~" if c in FORBIDDEN else c for c in name)
        physical = self.plan.owner().names.one(plain, {}, product=self.product)
        self.sent_as[physical] = name
        return physical

    # --- making what a write needs -------------------------------------------------------------------

    def index_plan(self, name: str, mapping: dict[str, Any], settings: dict[str, Any]) -> IndexPlan:
        dedicated = self.plan.owner().names.prefix + name
        return IndexPlan(self.pools.placement.layout(self.tenant, name), mapping, settings, dedicated=dedicated)

    def add(self, target: Target, wanted: dict[str, dict[str, Any]]) -> Steps[None]:
        """Fields that documents brought."""
        limit = target.index.settings.get("index.mapping.total_fields.limit", 1000)
        yield from add_fields(self.cat, self.tenant, target.name, target.entry.n, target.physical, wanted, int(limit))
        self.fresh.pop(target.entry.n, None)

    # --- calls -----------------------------------------------------------------------------------------

    def send(
        self,
        method: str,
        path: list[str],
        query: dict[str, str],
        body: bytes = b"",
        media: bytes | None = None,
        *,
        large: bool = False,
        held: bool = False,
    ) -> Call:
        """``media``: of a body that is ours, plain JSON or lines of it. ``large``: an answer above the window is taken as far as
        it came, if it can be restored so. ``held``: it may be sent again, though it is no GET."""
        plan = self.plan
        if self.product and media is not None and self.media is None:
            media = _as_accepted(media, own_media(plan.head.get(b"accept")))
        headers = requests.physical_headers(plan, media if body else None)
        again = held or method in ("GET", "HEAD") or plan.route.row.name in requests.REPEATABLE
        send = Send(plan.cluster.name, method, build(path, query), headers, body, True, again)
        tree = plan.filter_path is not None or plan.meta is not None
        window = self.pools.window if large and not tree and not self.holds_all else None
        return Call(send, self.pools.max_body, window, self.claim, tree and requests.is_read(plan))

    def claim(self) -> Claim:
        return self.pools.answers.claim(self.tenant, self.pools.window)


def _as_accepted(media: bytes, accepted: bytes | None) -> bytes:
    """Elasticsearch takes its own media types only on both ways."""
    return media if accepted is None else accepted.replace(b"json", media.rpartition(b"/")[2])


def _rest(error: dict[str, Any]) -> dict[str, Any]:
    """What an error of the node tells beside type and reason, and names nothing."""
    return {key: value for key, value in error.items() if key in ("caused_by",)}
