"""``_cluster/state`` for a tenant in pools: its indices as a state tells of indices, under their own names.

Settings, mappings, aliases and blocks are those that the directory and the pool have for each index, as everywhere; of the state
of the physical indices the rest is taken: how their shards are placed. How often a pool was changed would tell of what others
do, and so no index has been changed more than once.
"""

from __future__ import annotations

from typing import Any

import orjson

from esproxy.catalogue.documents import CLOSED
from esproxy.catalogue.store import Steps
from esproxy.errors import Failed
from esproxy.exchange import Reply
from esproxy.metadata import virtual as made
from esproxy.metadata.figures import digest
from esproxy.metadata.nodes import VirtualNode
from esproxy.pools import wide
from esproxy.pools.aliases import aliases_of
from esproxy.pools.cat_figures import stamp
from esproxy.pools.declared import answer, known_parameters
from esproxy.pools.pooled import Pooled
from esproxy.pools.reply import reply as node_reply
from esproxy.pools.settings import flat_all, logical_settings, own_settings
from esproxy.pools.targets import some
from esproxy.procedures.virtual import check_state, metrics_of, templates, uuid_of
from esproxy.tenancy.blocks import BLOCKS, SETTING
from esproxy.tenancy.expressions import Options
from esproxy.tenancy.target import Target

Tree = dict[str, Any]
VERSIONS = ("version", "mapping_version", "settings_version", "aliases_version")
CLOSED_BLOCK = {"4": {"description": "index closed", "retryable": False, "levels": ["read", "write"]}}
LEVELS = {
    "read_only": ["write", "metadata_write"],
    "read": ["read"],
    "write": ["write"],
    "metadata": ["metadata_read", "metadata_write"],
    "read_only_allow_delete": ["write", "metadata_write"],
}


def cluster_state(request: Pooled) -> Steps[Reply]:
    plan = request.plan
    known_parameters(request)
    check_state(plan)
    metrics = metrics_of(plan)
    every = made.ASKED.keys() if "_all" in metrics else metrics & made.ASKED.keys()
    told: Tree = {"metadata": {}, "routing_table": {}, "blocks": {}}
    if every:
        options = Options.of({"ignore_unavailable": "true"} | plan.query, expand="all", closed=True)
        targets = yield from some(request, request.parts.get("index", "_all"), options)
        targets = yield from request.freshest(targets)
        physical = [target.physical for target in targets]
        flat = {"flat_settings": plan.query["flat_settings"]} if "flat_settings" in plan.query else {}
        path = ["_cluster", "state", "metadata,routing_table", wide.INDEX]
        state = yield from wide.ask(request, "GET", path, physical, {})
        parts = yield from wide.ask(request, "GET", [wide.INDEX], physical, flat)
        for one in (state, parts):
            if one.status != 200:
                return node_reply(request, one)
        told = _logical(request, targets, orjson.loads(state.body), orjson.loads(parts.body))
        if "metadata" in every and "index" not in request.parts:
            told["metadata"]["templates"] = yield from templates(plan)
    node = VirtualNode.of(plan.cluster, request.tenant, plan.head.get(b"host"))
    own = made.Own("", node, str, lambda endpoint, tree: tree)  # everything has its own name by now
    return answer(request, made.state(node, uuid_of(plan), metrics, told, own))


def _logical(request: Pooled, targets: list[Target], state: Tree, parts: Tree) -> Tree:
    indices: Tree = {}
    shards: Tree = {}
    blocks: Tree = {}
    for target in targets:
        metadata = state["metadata"]["indices"].get(target.physical)
        if metadata is None:
            raise Failed("the index was changed while the request was under way")
        described = parts[target.physical]
        indices[target.name] = _index(request, target, metadata, described)
        table = state["routing_table"]["indices"][target.physical]["shards"]
        shards[target.name] = {"shards": {number: [_copy(target, copy) for copy in copies] for number, copies in table.items()}}
        found = _blocks(target, described["settings"])
        if found:
            blocks[target.name] = found
    return {"metadata": {"indices": indices}, "routing_table": {"indices": shards}, "blocks": {"indices": blocks}}


def _index(request: Pooled, target: Target, metadata: Tree, described: Tree) -> Tree:
    out = {key: metadata[key] for key in made.PLAIN if key in metadata}
    if not target.dedicated:
        out |= dict.fromkeys((name for name in VERSIONS if name in out), 1)
        out["state"] = "close" if target.entry.state == CLOSED else "open"
        out |= {key: {"unknown": True} for key in ("timestamp_range", "event_ingested_range") if key in out}
        copies = metadata.get("in_sync_allocations", {})
        out["in_sync_allocations"] = {number: [digest(target.uuid, one) for one in ids] for number, ids in copies.items()}
    settings = described["settings"]
    mapping = target.naming.mapping(described["mappings"])
    out["settings"] = own_settings(request, settings) if target.dedicated else logical_settings(target, settings, "settings")
    out["mappings"] = {"_doc": mapping} if mapping else {}
    out["aliases"] = sorted(aliases_of(request.seen, target.name))
    return out


def _copy(target: Target, copy: Tree) -> Tree:
    out = copy | {"index": target.name}
    if target.dedicated:
        return out
    if "allocation_id" in copy:
        out["allocation_id"] = {"id": digest(target.uuid, copy["allocation_id"].get("id"))}
    if "unassigned_info" in copy:  # since there is a pool, or it was moved: the index has been there since it was made
        out["unassigned_info"] = copy["unassigned_info"] | {"at": stamp(target.index.created)}
    return out


def _blocks(target: Target, physical: Tree) -> Tree:
    """As a state tells them. Those of an index in a pool are the proxy's to apply."""
    shown = flat_all(physical if target.dedicated else logical_settings(target, physical, "settings"))
    closed = target.entry.state == CLOSED or shown.get("index.verified_before_close") == "true"
    out: Tree = dict(CLOSED_BLOCK) if closed else {}
    for name, block in BLOCKS.items():
        if str(shown.get(SETTING + name)).lower() == "true":
            out[str(block.number)] = {"description": block.words, "retryable": False, "levels": LEVELS[name]}
    return out
