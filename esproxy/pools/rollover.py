"""``_rollover`` of an alias whose write index is in a pool: the new index is made as any is, and the alias moved as any is.

The conditions are judged by what is known of the index itself: when it was made, how many documents it has, and the sizes that
``_stats`` tells of so many. Whether they can be read is the node's to say: it is asked for an alias that is not there.
"""

from __future__ import annotations

import re
from typing import Any

from esproxy.answer import is_error
from esproxy.catalogue.documents import Directory
from esproxy.catalogue.store import Steps
from esproxy.errors import Refusal
from esproxy.exchange import Answer, Large, Reply
from esproxy.metadata import cat
from esproxy.metadata.figures import DOCUMENT
from esproxy.pools.admin import already_exists
from esproxy.pools.aliases import new_targets
from esproxy.pools.counts import by_shard
from esproxy.pools.creation import Creation
from esproxy.pools.declared import active_shards, answer, check_active_shards, declaration, known_parameters
from esproxy.pools.pooled import NOT_THERE, Apart, Pooled
from esproxy.pools.reply import reply as node_reply
from esproxy.pools.settings import flat_settings
from esproxy.procedures.alias import change_aliases
from esproxy.tenancy.expressions import concrete
from esproxy.tenancy.one_name import check_new_name
from esproxy.tenancy.placement import DEDICATED

NUMBERED = re.compile(r"(.*)-(\d+)", re.DOTALL)
AMOUNT = re.compile(r"(-?\d+(?:\.\d+)?)\s*([a-z]*)")
MILLIS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
BYTES = {"b": 1, **dict(cat.UNITS), **{name[0]: factor for name, factor in cat.UNITS}}


def rollover(request: Pooled) -> Steps[Reply | Large]:
    known_parameters(request)
    check_active_shards(request)
    alias = request.parts["alias"]
    tree = declaration(request)
    refused = yield from _refused(request, alias)
    if refused is not None:
        return refused
    directory = yield from request.directory([alias])
    if request.apart(alias, directory):
        raise Apart
    directory = yield from request.look_beside(directory, [alias])
    old, explicit = _source(request, directory, alias)
    if directory.indices[old].layout == DEDICATED:
        raise Apart
    request.sight.use([alias])
    request.check_blocks([old], directory)
    target = yield from request.target(old, directory)
    new, provided = yield from _new_name(request, old, str(target.index.settings.get("index.provided_name", old)))
    check_new_name(new, request.product)
    if request.pools.placement.layout(request.tenant, new) == DEDICATED:
        raise Refusal(f"[{new}] would be an index of its own, and [{old}] is in a pool: roll over to a name that is in one, too")
    directory = yield from request.directory([new])
    if concrete(directory, new):
        taken = Refusal(f"index [{new}] already exists", type="resource_already_exists_exception", index_uuid="_na_", index=new)
        raise (yield from already_exists(request, new, taken))
    counts = yield from by_shard(request, [target])
    age = request.cat.epoch_seconds() * 1000 - target.index.created
    conditions = judged(tree.get("conditions") or {}, age, list(counts.values()))
    dry = request.plan.query.get("dry_run", "false") == "true"
    over = not dry and rolls_over(conditions)
    shards = False
    if over:
        settings = flat_settings(tree.get("settings") or {}) | ({} if provided == new else {"index.provided_name": provided})
        aliases = {name: given for name, given in (tree.get("aliases") or {}).items() if name != alias}
        entry = yield from Creation(request, new, tree.get("mappings"), settings, aliases).make()
        hidden = {"is_hidden": True} if directory.aliases[alias].now[old].get("is_hidden") else {}
        changes = [("add", new, alias, hidden | ({"is_write_index": True} if explicit else {}))]
        changes.append(("add", old, alias, {**hidden, "is_write_index": False}) if explicit else ("remove", old, alias, {}))
        yield from change_aliases(request.cat, request.tenant, lambda now: new_targets(now, changes, request.plan.cluster))
        shards = yield from active_shards(request, entry.physical)
        request.sight.used.clear()  # what this rests on is what it has changed
    told = {"acknowledged": over, "shards_acknowledged": shards, "old_index": old, "new_index": new}
    told |= {"rolled_over": over, "dry_run": dry, **({"lazy": False} if request.product else {})}
    return answer(request, {**told, "conditions": {f"[{name}: {said}]": met for name, (said, met) in conditions.items()}})


def _refused(request: Pooled, alias: str) -> Steps[Reply | Large | None]:
    """What the node says of the body."""
    if not request.body:
        return None
    told: Answer = yield request.send("POST", [NOT_THERE, "_rollover"], {"dry_run": "true"}, request.body, request.media)
    if is_error(told.status, told.body) and NOT_THERE.encode() not in told.body:
        return node_reply(request, told)
    return None


def _source(request: Pooled, directory: Directory, alias: str) -> tuple[str, bool]:
    """The index that the alias writes to, and whether it says so. Raises Refusal."""
    if alias in directory.indices and concrete(directory, alias):
        raise Refusal("rollover target is a [concrete index] but one of [alias,data_stream] was expected")
    if not concrete(directory, alias):
        reason = f"rollover target [{alias}] does not exist"
        if request.product:
            raise Refusal(reason, status=404, type="resource_not_found_exception")
        raise Refusal(reason)
    now = directory.aliases[alias].now
    writers = [name for name, properties in now.items() if properties.get("is_write_index")]
    if writers:
        return writers[0], True
    if len(now) != 1 or "is_write_index" in next(iter(now.values())):
        raise Refusal(f"rollover target [{alias}] does not point to a write index")
    return next(iter(now)), False


def _new_name(request: Pooled, old: str, provided: str) -> Steps[tuple[str, str]]:
    """The name of the new index, and how it was written. The next number is as the old one was, with its date math."""
    written = request.parts.get("new_index")
    if written is None:
        math = provided.startswith("<") and provided.endswith(">")
        found = NUMBERED.fullmatch(provided[1:-1] if math else old)
        if found is None:
            raise Refusal(f"index name [{old}] does not match pattern '^.*-\\d+$'")
        written = f"{found[1]}-{int(found[2]) + 1:06d}"
        written = f"<{written}>" if math else written
    return (yield from request.dated(written, single=True)), written


# --- conditions ---------------------------------------------------------------------------------------


def judged(conditions: dict[str, Any], age: int, docs: list[int]) -> dict[str, tuple[str, bool]]:
    """Condition → how a node writes it, and whether it is met. ``age``: in milliseconds; ``docs``: of each shard."""
    out: dict[str, tuple[str, bool]] = {}
    for name, value in conditions.items():
        what = name.partition("_")[2]
        if what == "age":
            wanted = amount(value, MILLIS)
            out[name] = (_time(wanted), age >= wanted)
        elif what.endswith("size"):
            measured = DOCUMENT * (max(docs) if what == "primary_shard_size" else sum(docs))
            wanted = amount(value, BYTES)
            out[name] = (cat.size(wanted, None), measured >= wanted)
        else:
            wanted = int(value)
            out[name] = (str(wanted), (max(docs) if what == "primary_shard_docs" else sum(docs)) >= wanted)
    return out


def rolls_over(conditions: dict[str, tuple[str, bool]]) -> bool:
    """One of the upper bounds, where there are any, and all of the lower ones."""
    upper = [met for name, (_, met) in conditions.items() if not name.startswith("min_")]
    lower = [met for name, (_, met) in conditions.items() if name.startswith("min_")]
    return (not upper or any(upper)) and all(lower)


def amount(value: Any, units: dict[str, int]) -> int:
    found = AMOUNT.fullmatch(str(value).lower())
    if found is None:
        raise Refusal(f"[{value}] cannot be read as an amount")
    return int(float(found[1]) * units.get(found[2], 1))


def _time(millis: int) -> str:
    for name in ("d", "h", "m", "s"):
        if millis >= MILLIS[name]:
            return f"{millis / MILLIS[name]:.1f}".removesuffix(".0") + name
    return f"{millis}ms" if millis else "0s"
