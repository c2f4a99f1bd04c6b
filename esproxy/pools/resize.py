"""``_shrink``, ``_split`` and ``_clone`` of an index in a pool: a new index of the same layout, with the mapping and settings of
the source and a copy of its documents.

A node links files; in a pool they are others' too, so documents are written anew under the new index's number (``copying``), and
nobody sees it before they are all there (``procedures.fill``). Templates do not apply, as on nodes.

What can be said of the body alone a node says, asked for a source that is not there. What it says of source and target together
is said here, in its words and in its order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from esproxy.catalogue.documents import Directory
from esproxy.catalogue.pools import PARTITION, RECOVERED_FROM, RESIZE_NAME, RESIZE_UUID, RESIZED
from esproxy.catalogue.scopes import Shards
from esproxy.catalogue.store import Steps, parsed
from esproxy.errors import Failed, Refusal
from esproxy.exchange import Answer, Large, Reply
from esproxy.metadata.figures import DOCUMENT
from esproxy.metadata.nodes import node_id
from esproxy.pools.admin import already_exists, check_free, made
from esproxy.pools.copying import check_whole, copy_documents
from esproxy.pools.counts import documents
from esproxy.pools.creation import Copy, Creation
from esproxy.pools.declared import active_shards, answer, check_active_shards, declaration, known_parameters
from esproxy.pools.pooled import NOT_THERE, Apart, Pooled
from esproxy.pools.reply import reply as node_reply
from esproxy.pools.rollover import BYTES, amount
from esproxy.pools.settings import flat_all, flat_settings
from esproxy.procedures.fill import Filling
from esproxy.tenancy.blocks import BLOCKS
from esproxy.tenancy.expressions import concrete
from esproxy.tenancy.one_name import check_new_name, unresolved
from esproxy.tenancy.target import Target

SHARDS = "index.number_of_shards"
ROUTING = "index.number_of_routing_shards"
SOFT_DELETES = "index.soft_deletes.enabled"
READ_ONLY = "index.blocks.read_only"
SIZES = ("max_shard_size", "max_primary_shard_size")
# Of one creation of an index, or of one resize; and what nodes do not copy.
NOT_COPIED = frozenset(
    (
        "index.provided_name",
        SHARDS,
        ROUTING,
        "index.number_of_replicas",
        "index.allocation.max_retries",
        *RESIZED,
    )
)
FIXED = (
    "index.mode", "index.mapping.source.mode", "index.recovery.use_synthetic_source",
    "index.sort.field", "index.sort.order", "index.sort.mode", "index.sort.missing",
)  # fmt: skip


def resize(request: Pooled) -> Steps[Reply | Large]:
    kind = request.plan.route.row.name.rpartition(".")[2]
    known_parameters(request)
    check_active_shards(request)
    tree = declaration(request)
    name = request.parts["target"]  # in which no node resolves dates
    source = yield from _source(request, name)
    refused = yield from _refused(request, kind, name)
    if refused is not None:
        return refused
    given = tree.get("settings") or {}
    if request.product and not {PARTITION, PARTITION.removeprefix("index.")}.isdisjoint(flat_all(given)):
        raise Refusal("cannot provide a routing partition size value when resizing an index")
    own = flat_settings(given)
    asked = Asked(kind, name, own, request.product, node_id(request.plan.cluster, request.tenant))
    most = next((amount(tree[key], BYTES) for key in SIZES if tree.get(key) is not None), None)
    size = DOCUMENT * sum((yield from documents(request, [source])).values()) if most else 0
    shards = asked.shards(source, size, most)
    yield from _check_target(request, name)
    asked.check(source)
    check_whole(source)
    settings = asked.settings(source, shards)
    mapping = yield from _mapping(request, source)

    def fill(filling: Filling) -> Steps[None]:
        assert filling.entry is not None
        into = Target(request.tenant, name, filling.entry, filling.meta)
        yield from copy_documents(request, source, into, filling)
        if not request.sight.holds():
            yield from request.sight.confirm()
            if request.sight.changed:
                raise Failed(f"[{source.name}] was changed while it was copied")

    copy = Copy(source.entry.layout, fill)
    creation = Creation(request, name, mapping, settings, tree.get("aliases"), copy)
    entry = yield from made(request, name, creation)
    acknowledged = yield from active_shards(request, entry.physical)
    return answer(request, {"acknowledged": True, "shards_acknowledged": acknowledged, "index": name})


def _source(request: Pooled, target: str) -> Steps[Target]:
    """The source. Raises Apart for one that is in no pool, or not there at all: which the node says."""
    name = yield from request.dated(request.parts["index"], single=True)
    directory = yield from request.directory([name])
    if name not in directory.indices or not concrete(directory, name):
        if request.plan.cluster.before_3 and name in directory.aliases and directory.aliases[name].now:
            raise unresolved(name)  # it takes an alias for an index that is not there, newer ones fail at both alike
        yield from check_free(request, target)
        raise Apart
    request.sight.use([name])
    entry = directory.indices[name]
    if request.product:  # Elasticsearch looks at no block but for writes, and takes closed ones
        found = Target(request.tenant, name, entry, (yield from request.index_document(entry.n)))
    else:
        request.check_blocks([name], directory)
        found = yield from request.target(name, directory)
    return (yield from request.renewed(found))


def _refused(request: Pooled, kind: str, target: str) -> Steps[Reply | Large | None]:
    """What the node says of body and parameters."""
    where = [NOT_THERE, f"_{kind}", request.sent_apart(target)]
    query = {key: value for key, value in request.plan.query.items() if key == "copy_settings"}
    told: Answer = yield request.send("PUT", where, query, request.body, request.media, held=True)
    return node_reply(request, told) if told.status == 400 and NOT_THERE.encode() not in told.body else None


def _check_target(request: Pooled, name: str) -> Steps[None]:
    check_new_name(name, request.product)
    directory: Directory = yield from request.directory([name])
    if concrete(directory, name) and name in directory.indices:
        taken = Refusal(f"index [{name}] already exists", type="resource_already_exists_exception", index_uuid="_na_", index=name)
        raise (yield from already_exists(request, name, taken))


def _mapping(request: Pooled, source: Target) -> Steps[dict[str, Any]]:
    """All of it, with what documents have brought."""
    told = parsed((yield request.send("GET", [source.physical, "_mapping"], {})), 200)
    found: dict[str, Any] = source.naming.mapping(told[source.physical]["mappings"])
    return found


# --- what becomes of it -------------------------------------------------------------------------------


@dataclass(slots=True, frozen=True)
class Asked:
    """``own``: the settings of the body, by their whole names."""

    kind: str
    target: str
    own: dict[str, Any]
    product: bool
    node: str

    def shards(self, source: Target, size: int, most: int | None) -> int:
        """How many the target gets. ``size``: of the source, in bytes; ``most``: of one shard of the target. Raises Refusal."""
        count = source.shards.count
        if not self.product and "read_only" in source.entry.blocks and READ_ONLY not in self.own:
            told = f"target index [{self.target}] will be blocked by [{READ_ONLY}=true] which is copied from the source index"
            raise Refusal(f"{told} [{source.name}], this will disable metadata writes and cause the shards to be unassigned")
        given = self.own.get(SHARDS)
        if given is not None and most and self.product and self.kind == "shrink":
            raise Refusal(f"Cannot set both {SHARDS} and max_primary_shard_size for the target index")
        if given is not None:
            wanted = int(given)
        elif self.kind == "shrink":
            wanted = _fewest(count, size, most)
        else:
            wanted = count
        if self.kind == "shrink" and count < wanted:
            raise Refusal(f"the number of target shards [{wanted}] must be less that the number of source shards [{count}]")
        if self.kind == "split" and count > wanted:
            raise Refusal(f"the number of source shards [{count}] must be less that the number of target shards [{wanted}]")
        if self.kind == "clone" and count != wanted:
            same = f" source shards ( {count})" if self.product else f"source shards ({count})"
            raise Refusal(f"the number of target shards ({wanted}) must be the same as the number of {same}")
        if count < wanted and wanted % count:
            raise Refusal(f"the number of source shards [{count}] must be a factor of [{wanted}]")
        if count % wanted and count > wanted:
            raise Refusal(f"the number of source shards [{count}] must be a multiple of [{wanted}]")
        if self.kind == "split" and count > 1 and source.shards.routing % wanted:
            told = f"the number of routing shards [{source.shards.routing}] must be a multiple of the target shards [{wanted}]"
            raise Refusal(told, status=500, type="illegal_state_exception")
        if ROUTING in self.own and not (self.kind == "split" and count == 1):
            raise Refusal(f"cannot provide {ROUTING} on resize")
        if _true(source.index.settings.get(SOFT_DELETES, True)) and not _true(self.own.get(SOFT_DELETES, True)):
            raise Refusal(f"Can't disable [{SOFT_DELETES}] setting on resize")
        return wanted

    def check(self, source: Target) -> None:
        """What is said once the target may be made. Raises Refusal."""
        if not any("write" in BLOCKS[block].levels for block in source.entry.blocks):
            must = "be read-only" if self.product else "block write operations"
            told = f'index {source.name} must {must} to resize index. use "index.blocks.write=true"'
            raise Refusal(told, status=500, type="illegal_state_exception")
        for name in FIXED if self.product else ():
            if self.own.get(name) is not None:
                raise Refusal(f"can't change setting [{name}] during resize")
        if self.kind == "shrink" and source.shards.count == 1:
            raise Refusal("can't shrink an index with only one shard")

    def settings(self, source: Target, shards: int) -> dict[str, Any]:
        """All of the target's."""
        kept = {name: value for name, value in source.index.settings.items() if name not in NOT_COPIED and name not in self.own}
        made = {name: value for name, value in kept.items() if value is not None} | self.own
        made |= {SHARDS: str(shards), PARTITION: "1"}
        if not self.product:  # Elasticsearch forgets of which index it was made
            made |= {RESIZE_NAME: source.name, RESIZE_UUID: source.uuid}
            made |= {RECOVERED_FROM: self.node} if self.kind == "shrink" else {}
        if source.shards.count > 1 and Shards.of(made).routing != source.shards.routing:
            made[ROUTING] = str(source.shards.routing)
        return made


def _fewest(count: int, size: int, most: int | None) -> int:
    """Shards of which none is larger than ``most``: as many as divide those there are."""
    if not most or not size:
        return 1
    least = math.ceil(size / most)
    return next(number for number in range(1, count + 1) if count % number == 0 and (number >= least or number == count))


def _true(value: Any) -> bool:
    return str(value).lower() != "false"
