"""Create a logical index in a pool.

    GET directory · CAS creating · PUT index document · GET or CAS pool · (HEAD, claims, PUT physical index, object) · CAS open ·
    acknowledge

The intention takes the number; whoever finds it can finish it once the index document is there, and withdraws it before. The
pool is read after the intention: whoever drops a pool seals it first and then looks for intentions, so one of the two sees
the other. The first write to an unknown index runs the same as first_write, a Need with the key ``("create", tenant, name)``,
and is content when others were faster.

In one worker only one creation makes a physical index, while others wait for it.

An index that is to be filled before anybody sees it is ``filling`` instead of ``creating``: see ``fill``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from esproxy.catalogue import names, pools
from esproxy.catalogue.change import NoChange, change, change_directory, present, read_directory
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import CREATING, FILLING, MAKING, OPEN, Claims, Directory, Entry, Index, Pool, Tombstone
from esproxy.catalogue.fields import first_claims, first_fields
from esproxy.catalogue.objects import logical_text, object_mapping
from esproxy.catalogue.store import Conflict, Steps, Stored
from esproxy.errors import EsproxyError, Failed, Refusal, invalid_index_name
from esproxy.exchange import GO, Go, Wait
from esproxy.procedures.drop_pool import seal
from esproxy.procedures.fill import Fill, Filling

ATTEMPTS = 80  # longer, with the waits between them, than it takes to call an intention abandoned
GENERATIONS = 3  # that turn out to be full when an object is put into them
BROKEN_MAPPING = "Failed to parse mapping"
UNPARSED = (BROKEN_MAPPING, "Invalid [path]", "Limit of")  # what is told already, or found when the mapping has been parsed


Declare = Callable[[Directory], Steps[pools.Plan]]


def create(
    cat: Catalogue,
    tenant: str,
    name: str,
    plan: pools.Plan,
    explicit: bool = True,
    declare: Declare | None = None,
    fill: Fill | None = None,
) -> Steps[Entry]:
    """The open entry; a Refusal when it is there already (``explicit``) or the node refuses its mapping or settings.
    ``declare`` tells the plan anew once the directory has been read, for what in it decides more than placement and creator.
    ``fill`` writes what is to be in it when it is seen first."""
    if plan.dedicated is not None and (yield from cat.store.exists(plan.dedicated)):
        raise _exists(name)
    for _ in range(ATTEMPTS):
        stored = yield from read_directory(cat, tenant)
        directory = stored.doc if stored is not None else Directory(tenant, cat.epoch_seconds())
        if name in directory.aliases and directory.aliases[name].now:
            raise invalid_index_name(name, "already exists as alias")
        entry = directory.indices.get(name)
        if entry is not None and entry.state in MAKING:
            if cat.abandoned(entry.by, (tenant, entry.n, entry.state, entry.batch)):
                yield from finish_making(cat, tenant, name, entry)
            else:
                yield Wait(cat.times.look)
            continue
        if entry is not None:
            yield from present(cat)  # to be told that it exists is an acknowledgement too
            if explicit:
                raise _exists(name)
            return entry
        if name in directory.aliases:  # one that is being made
            yield Wait(cat.times.look)
            continue
        wanted = plan if declare is None else (yield from declare(directory))
        opened = yield from _make(cat, tenant, name, wanted, stored, fill)
        if opened is not None:
            yield from present(cat)
            return opened
    raise Failed(f"[{name}] could not be created: others change it all the time")


def first_write(cat: Catalogue, tenant: str, name: str, plan: pools.Plan) -> Steps[Go]:
    """For a write that met no such index: when it ends, the exchange looks again."""
    yield from create(cat, tenant, name, plan, explicit=False)
    return GO


def finish_making(cat: Catalogue, tenant: str, name: str, entry: Entry) -> Steps[None]:
    """An entry that somebody left: opened, but where it was to be filled first: then it is given up."""
    if entry.state == FILLING:
        yield from _withdraw(cat, tenant, name, entry.n)
    else:
        yield from finish_creating(cat, tenant, name, entry.n)


def finish_creating(cat: Catalogue, tenant: str, name: str, number: int) -> Steps[Entry | None]:
    """From the intention to the open entry, for one that somebody else left. None: it was withdrawn, or is gone."""
    meta = yield from cat.store.get(Index, names.index_id(tenant, number))
    if meta is None:
        yield from _withdraw(cat, tenant, name, number)
        return None
    return (yield from _open(cat, meta.doc, None))


def _make(
    cat: Catalogue, tenant: str, name: str, plan: pools.Plan, known: Stored[Directory] | None, fill: Fill | None
) -> Steps[Entry | None]:
    """From nothing to the open entry. None: somebody was faster, or took it back."""
    mine: Entry | None = None

    def intend(directory: Directory) -> None:
        nonlocal mine
        if name in directory.indices or name in directory.aliases:
            raise NoChange
        family = pools.family(plan, tenant, name, directory.next)
        state = CREATING if fill is None else FILLING
        mine = Entry(directory.next, plan.layout, family, "", state, by=cat.uuid, hidden=plan.hidden, blocks=plan.blocks)
        directory.next += 1
        directory.indices[name] = mine

    stored = yield from change_directory(cat, tenant, intend, known)
    if mine is None or stored is None or stored.doc.indices.get(name) != mine:
        return None
    fields = first_fields(plan.mapping.get("properties", {})) if plan.layout == "shared" else {}
    reason = pools.reason_for_one(plan)
    created = cat.epoch_seconds() * 1000
    doc = Index(tenant, name, mine.n, plan.layout, mine.family, plan.mapping, plan.settings, created, reason, fields)
    try:
        yield from cat.store.create(names.index_id(tenant, mine.n), doc)
    except Conflict:
        found = yield from cat.store.get(Index, names.index_id(tenant, mine.n))
        if found is None or found.doc != doc:  # not our own attempt whose answer was lost
            yield from _withdraw(cat, tenant, name, mine.n)
            return None
    return (yield from _open(cat, doc, stored, fill))


def _open(cat: Catalogue, meta: Index, known: Stored[Directory] | None, fill: Fill | None = None) -> Steps[Entry | None]:
    tenant, name, number = meta.tenant, meta.name, meta.n
    try:
        physical = yield from _ensure_pool(cat, meta)
    except Refusal:
        yield from _withdraw(cat, tenant, name, number)
        raise
    if fill is not None:
        known = None
        try:
            filling = Filling(cat, meta)
            yield from filling.place(physical)
            yield from fill(filling)
        except EsproxyError:
            yield from _withdraw(cat, tenant, name, number)
            raise

    def opening(directory: Directory) -> None:
        entry = directory.indices.get(name)
        if entry is None or entry.n != number or entry.state != (CREATING if fill is None else FILLING):
            raise NoChange
        directory.indices[name] = replace(entry, physical=physical, state=OPEN, by=None, batch=None)

    stored = yield from change_directory(cat, tenant, opening, known)
    entry = stored.doc.indices.get(name) if stored is not None else None
    if entry is not None and entry.n == number:
        return entry
    if fill is not None:
        raise Failed(f"[{name}] took too long to be filled")
    yield from _withdraw(cat, tenant, name, number)  # others have taken it back, and may not have seen its document
    return None


def _ensure_pool(cat: Catalogue, meta: Index) -> Steps[str]:
    """The physical index that takes a new entry of this family, made if need be."""
    for _ in range(GENERATIONS):
        physical = yield from _generation(cat, meta)
        if meta.layout == "shared" or meta.reason is not None:
            return physical
        try:
            yield from cat.store.put_mapping(physical, object_mapping(meta.mapping, meta.n))
            return physical
        except Refusal as error:
            if not pools.lacks_room(error.reason, meta.mapping):
                error.reword(lambda text: logical_text(text, meta.n))
                if error.reason.startswith(UNPARSED):
                    raise
                # OpenSearch says so of the mapping of a new index, and not of an addition, which this is
                told = f"{BROKEN_MAPPING} [_doc]: {error.reason}"
                raise Refusal(told, type="mapper_parsing_exception", caused_by=error.cause()) from None
            full = error  # of the fields of others, and of those that documents brought since it was last looked at
        yield from seal(cat, meta.family, physical)
    raise full


def _generation(cat: Catalogue, meta: Index) -> Steps[str]:
    """The newest open generation of the family, as a physical index that is there."""
    plan = pools.Plan(meta.layout, meta.mapping, meta.settings)

    def choose(pool: Pool) -> None:
        if pool.newest_open() is not None:
            raise NoChange
        pools.open_generation(pool)

    def begin() -> Pool:
        return pools.new_pool(plan, meta.family, cat.epoch_seconds())

    stored = yield from cat.store.get(Pool, names.pool_id(meta.family))
    if stored is None or stored.doc.newest_open() is None:
        stored = yield from change(cat, Pool, names.pool_id(meta.family), choose, begin)
    generation = stored.doc.newest_open() if stored is not None else None
    if stored is None or generation is None:
        raise Failed("a pool has no open generation")
    physical = generation.physical
    while physical in cat.making:
        yield Wait(cat.times.turn)
    cat.making.add(physical)
    try:
        yield from _make_physical(cat, meta.layout, stored.doc, physical)
    finally:
        cat.making.discard(physical)
    return physical


def _make_physical(cat: Catalogue, layout: str, pool: Pool, physical: str) -> Steps[None]:
    if (yield from cat.store.exists(physical)):
        return
    if layout == "shared":
        explicit = first_claims(pool.mapping.get("properties", {}))
        try:
            yield from cat.store.create(names.claims_id(physical), Claims(physical, explicit))
        except Conflict:
            pass  # made by whoever makes the same pool with us
    yield from cat.store.create_index(physical, pools.body(pool, layout, cat.caps))


def _withdraw(cat: Catalogue, tenant: str, name: str, number: int) -> Steps[None]:
    """Take an intention back. Where documents may have been written under its number, it leaves a tombstone."""

    def drop(directory: Directory) -> None:
        entry = directory.indices.get(name)
        if entry is None or entry.n != number or entry.state not in MAKING:
            raise NoChange
        del directory.indices[name]
        if entry.physical:
            directory.tombstones.append(Tombstone(number, entry.physical))

    yield from change_directory(cat, tenant, drop)
    meta = yield from cat.store.get(Index, names.index_id(tenant, number))
    if meta is not None:
        stored = yield from read_directory(cat, tenant)
        if stored is None or not stored.doc.knows(number):
            yield from cat.store.remove(meta)


def _exists(name: str) -> Refusal:
    reason = f"index [{name}] already exists"
    return Refusal(reason, type="resource_already_exists_exception", index_uuid="_na_", index=name)
