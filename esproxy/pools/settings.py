"""Settings of indices in pools: each is applied by the proxy, kept and shown, the pool's own from its making, or refused.

A pool's settings are those that its indices were made with (they are part of what indices share a pool by), so what an index
is made with is really so. What is changed afterwards for one of several indices in a physical index cannot be told to the node:

* what decides how soon and how safely things are done, and not what an answer holds, is kept and shown (``SHOWN``);
* what the proxy applies for each index (``pools.APPLIED``) is changed there;
* everything else is refused, except for an index that is alone in its pool: there it is the node's to change and to judge.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import orjson

from esproxy.catalogue import names
from esproxy.catalogue.change import NoChange, change, change_directory, followed, present
from esproxy.catalogue.documents import CLOSED, Directory, Index
from esproxy.catalogue.pools import APPLIED, BLOCKS, LIMIT, PARTITION, PIPELINES, RECOVERED_FROM, RESIZE_NAME, blocks_in
from esproxy.catalogue.store import Steps
from esproxy.errors import Refusal
from esproxy.exchange import Large, Reply
from esproxy.metadata.nodes import masked_node
from esproxy.metadata.settings import restore_settings
from esproxy.pools.declared import acknowledged, declaration, known_parameters
from esproxy.pools.pooled import Pooled
from esproxy.pools.reply import reply as node_reply
from esproxy.pools.targets import some
from esproxy.tenancy.blocks import LIFTED
from esproxy.tenancy.expressions import matching
from esproxy.tenancy.target import Target

POOLS_OWN = (LIMIT,)
REFUSED = ("search.default_pipeline", "blocks.search_only", "routing_partition_size")
NEUTRAL = ("_none", False, "false", None)
# Beginnings of names: how soon, how often, how safely; of what is shown by an answer, nothing.
SHOWN = (
    "allocation.max_retries", "auto_expand_replicas", "flush_after_merge", "gc_deletes", "indexing.slowlog.", "merge.",
    "number_of_replicas", "priority", "refresh_interval", "requests.cache.enable", "routing.", "search.idle.", "search.slowlog.",
    "search.throttled", "translog.", "unassigned.", "warmer.enabled", "write.wait_for_active_shards", "max_refresh_listeners",
)  # fmt: skip

# Those that no index changes while it is open, as nodes have it; and of these, those that none ever changes.
FINAL = ("number_of_shards", "mode", "sort.", "soft_deletes.enabled", "routing_partition_size", "routing_path")
STATIC = (
    *FINAL, "analysis.", "codec", "load_fixed_bitset_filters_eagerly", "number_of_routing_shards", "shard.check_on_startup",
    "similarity.", "store.type",
)  # fmt: skip
REOPEN_8 = (
    " unless the `reopen` query parameter is set to true. Alternatively, close the indices, apply the settings changes, and"
    " reopen the indices"
)
SINCE_9 = (
    "The setting(s) [[{}]] cannot be modified on an index once it is created. You will need to",
    "You can either resubmit the update with `?reopen=true`, or",
    " create a new index with the desired setting(s) and reindex your data."
    " See https://www.elastic.co/docs/api/doc/elasticsearch/operation/operation-reindex",
)


def flat_settings(tree: dict[str, Any], path: str = "") -> dict[str, Any]:
    """Settings by their whole dotted names. Raises Refusal for what a pool cannot have for one index."""
    out: dict[str, Any] = {}
    for key, value in tree.items():
        name = f"{path}.{key}" if path else key
        if isinstance(value, dict):
            out |= flat_settings(value, name)
            continue
        full = name if name.startswith("index.") else f"index.{name}"
        if full.removeprefix("index.").startswith(REFUSED) and value not in NEUTRAL:
            raise Refusal(f"the setting [{full}] is not available for an index in a pool")
        out[full] = value
    return out


# --- shown ----------------------------------------------------------------------------------------------


def logical_settings(target: Target, physical: dict[str, Any], part: str) -> dict[str, Any]:
    """Settings as the index's own: the names that it goes by, without what only the pool has."""
    index = target.index
    flat = flat_all(physical)
    if part != "settings":
        for name in index.settings:
            flat.pop(name, None)
        return flat if "index" not in physical else unflat(flat)
    for name in POOLS_OWN:
        flat.pop(name, None)
    for name, value in index.settings.items():
        if value is None and PARTITION in index.settings:
            flat[name] = None  # which was not to be the source's
        elif value is None:
            flat.pop(name, None)  # which was taken back
        else:
            flat[name] = _shown(value)
    own = {
        "index.provided_name": index.settings.get("index.provided_name", target.name),
        "index.uuid": target.uuid,
        "index.creation_date": str(index.created),
        "index.creation_date_string": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(index.created / 1000)) + ".000Z",
    }
    flat |= {name: value for name, value in own.items() if name in flat}
    if RESIZE_NAME in index.settings:
        flat |= _of_resized(flat, index.settings)
    elif PARTITION in index.settings:
        flat.pop("index.number_of_routing_shards", None)  # of which Elasticsearch does not tell then
    if target.entry.state == CLOSED:
        flat["index.verified_before_close"] = "true"
    return flat if "index" not in physical else unflat(flat)


def _of_resized(flat: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """What OpenSearch adds to the settings of an index that it has made of another."""
    created = {} if "index.version.created" not in flat else {"index.version.upgraded": flat["index.version.created"]}
    return {**created, RECOVERED_FROM: settings.get(RECOVERED_FROM)}


def own_settings(request: Pooled, tree: dict[str, Any]) -> dict[str, Any]:
    """Those of an index of its own."""
    prefix = request.plan.owner().names.prefix
    plan = request.plan

    def own(name: str) -> str:
        return name.removeprefix(prefix)

    out: dict[str, Any] = restore_settings(tree, own, own, lambda node: masked_node(plan.cluster, plan.owner().id, node))
    return out


def _shown(value: Any) -> Any:
    """Nodes keep settings as text."""
    if isinstance(value, list):
        return [_shown(item) for item in value]
    return str(value).lower() if isinstance(value, bool) else str(value)


def flat_all(tree: dict[str, Any], path: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in tree.items():
        name = f"{path}.{key}" if path else key
        out |= flat_all(value, name) if isinstance(value, dict) else {name: value}
    return out


def unflat(flat: dict[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for name, value in flat.items():
        at = tree
        *parents, leaf = name.split(".")
        for parent in parents:
            at = at.setdefault(parent, {})
        at[leaf] = value
    return tree


def named_settings(tree: dict[str, Any], name: str | None) -> dict[str, Any]:
    if name is None or name == "_all":
        return tree
    flat = flat_all(tree)
    kept = {key: flat[key] for pattern in name.split(",") for key in matching(pattern, list(flat))}
    return kept if "index" not in tree else unflat(kept)


# --- changed --------------------------------------------------------------------------------------------


def put_settings(request: Pooled) -> Steps[Reply | Large]:
    """All targets or none: what is refused for one is refused before anything is changed."""
    known_parameters(request)
    tree = declaration(request, required=True)
    wanted = flat_settings(tree.get("settings", tree) if isinstance(tree.get("settings", tree), dict) else tree)
    if not wanted:
        raise Refusal("Validation Failed: 1: no settings to update;", type="action_request_validation_exception")
    request.lifts_a_block = len(wanted) == 1 and not wanted.keys().isdisjoint(LIFTED)
    targets = yield from some(request, request.parts.get("index", "_all"))
    keep_known = request.plan.query.get("preserve_existing", "false") == "true"
    _check_static(request, [target for target in targets if target.index.reason is None], wanted)
    for target in targets:
        _check(target, wanted)
    for target in targets:
        own = {name: value for name, value in wanted.items() if not keep_known or target.index.settings.get(name) is None}
        told = {name: value for name, value in own.items() if name not in APPLIED or _nodes(name, target)}
        if target.index.reason is not None and told:
            query = {"preserve_existing": "true"} if keep_known else {}
            body = orjson.dumps(told)
            answer = yield request.send("PUT", [target.physical, "_settings"], query, body, b"application/json")
            if answer.status != 200:
                return node_reply(request, answer)
        if not target.dedicated:
            yield from keep(request, target, own)
    if not BLOCKS.isdisjoint(wanted):
        request.sight.used.clear()  # what this rests on is what it has changed
    return acknowledged(request)


def _nodes(name: str, target: Target) -> bool:
    """Does the node apply a setting that the proxy applies elsewhere? It adds the fields of ``per-tenant``."""
    return target.dedicated or (name == LIMIT and not target.naming.inferred)


def _check_static(request: Pooled, targets: list[Target], wanted: dict[str, Any]) -> None:
    """Raises Refusal, in a node's words, for what is decided once and for all."""
    fixed = [name for name in wanted if name.removeprefix("index.").startswith(STATIC)]
    open = ", ".join(f"[{target.name}/{target.uuid}]" for target in targets if target.entry.state != CLOSED)
    if not fixed or not open:
        return
    told = f"[[{', '.join(fixed)}]] for open indices [{open}]"
    if not request.product or request.plan.cluster.before_9:
        raise Refusal(f"Can't update non dynamic settings {told}{REOPEN_8 if request.product else ''}")
    final = [name for name in fixed if name.removeprefix("index.").startswith(FINAL)]
    never, reopened, rest = SINCE_9
    raise Refusal(f"Can't update non dynamic setting(s) {told}. {never.format(', '.join(final)) if final else reopened}{rest}")


def _check(target: Target, wanted: dict[str, Any]) -> None:
    alone = target.index.reason is not None
    for name in wanted:
        bare = name.removeprefix("index.")
        if not alone and name not in APPLIED and not bare.startswith(SHOWN):
            raise Refusal(f"the setting [{name}] can only be set when the index is created, for an index in a pool")


def keep(request: Pooled, target: Target, own: dict[str, Any]) -> Steps[None]:
    """In the index document; what patterns go by and what is refused, in the directory too."""

    def edit(index: Index) -> None:
        known = index.settings.keys() - APPLIED
        laid = {**index.settings, **own}
        new = {name: value for name, value in laid.items() if value is not None or name in known or name not in own}
        if new == index.settings:
            raise NoChange
        index.settings = new

    changed = yield from change(request.cat, Index, names.index_id(request.tenant, target.entry.n), edit)
    request.fresh.pop(target.entry.n, None)
    if changed is not None and not PIPELINES.isdisjoint(own):
        yield from followed(request.cat, changed.seq_no)  # once it is acknowledged, nothing goes by them
    if own.keys().isdisjoint(BLOCKS | {"index.hidden"}):
        return

    def mark(directory: Directory) -> None:
        entry = directory.indices.get(target.name)
        if entry is None or entry.n != target.entry.n:
            raise NoChange
        hidden = str(own.get("index.hidden", entry.hidden)).lower() == "true"
        left = {block for block in entry.blocks if f"index.blocks.{block}" not in own}
        marked = replace(entry, hidden=hidden, blocks=tuple(sorted({*left, *blocks_in(own)})))
        if marked == entry:
            raise NoChange
        directory.indices[target.name] = marked

    stored = yield from change_directory(request.cat, request.tenant, mark)
    if stored is not None and blocks_in(own):
        yield from followed(request.cat, stored.seq_no)  # once it is acknowledged, nobody goes through a block
    yield from present(request.cat)
