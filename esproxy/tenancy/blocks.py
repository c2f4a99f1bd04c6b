"""Blocks of indices in pools: a node would block the whole physical index, so the proxy refuses what they block, in its words.

A block is of some **levels**, and so is what an endpoint does with an index. Endpoints that are not listed here go through all
blocks on nodes as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from esproxy.errors import Refusal

SETTING = "index.blocks."


class Block(NamedTuple):
    number: int
    status: int
    words: str
    levels: frozenset[str]

    @property
    def kind(self) -> str:
        return "FORBIDDEN" if self.status == 403 else "TOO_MANY_REQUESTS"


FLOOD = "disk usage exceeded flood-stage watermark, index has read-only-allow-delete block"
BLOCKS = {
    "read_only": Block(5, 403, "index read-only (api)", frozenset(("write", "change"))),
    "read": Block(7, 403, "index read (api)", frozenset(("read",))),
    "write": Block(8, 403, "index write (api)", frozenset(("write",))),
    "metadata": Block(9, 403, "index metadata (api)", frozenset(("change", "look"))),
    "read_only_allow_delete": Block(12, 429, FLOOD, frozenset(("write", "change"))),
}
INTERNAL = "read_only_allow_delete"  # which no request puts on an index but by settings
LIFTED = ("index.blocks.metadata", "index.blocks.read_only", f"index.blocks.{INTERNAL}")  # one of them can always be set alone
LEVELS = {
    **dict.fromkeys(("index", "create", "update", "delete", "bulk"), ("write",)),
    **dict.fromkeys(("delete_by_query", "update_by_query"), ("read", "write")),
    **dict.fromkeys(
        ("get", "exists", "get_source", "exists_source", "mget", "search", "search_shards", "msearch", "count", "cat.count",
         "explain", "indices.validate_query", "termvectors", "mtermvectors", "rank_eval",
         "terms_enum", "open_point_in_time", "create_pit"),
        ("read",),
    ),
    **dict.fromkeys(
        ("indices.get", "indices.exists", "indices.get_mapping", "indices.get_settings", "indices.get_field_mapping",
         "indices.get_alias", "indices.exists_alias", "indices.stats", "indices.segments", "indices.recovery",
         "indices.shard_stores", "indices.clone", "indices.shrink", "indices.split", "cat.indices", "cat.segments", "cat.shards",
         "cat.recovery"),
        ("look",),
    ),
    **dict.fromkeys(
        ("indices.put_mapping", "indices.put_settings", "indices.put_alias", "indices.delete_alias", "indices.update_aliases",
         "indices.open", "indices.close", "indices.delete", "indices.add_block", "indices.remove_block",
         "indices.rollover"),
        ("change",),
    ),
}  # fmt: skip


def check_blocks(endpoint: str, indices: Iterable[tuple[str, Collection[str]]], version: str, product: bool) -> None:
    """Raises Refusal where one of the indices, each with its blocks, has one of a level of this endpoint."""
    wanted = frozenset(LEVELS.get(endpoint, ()))
    told, status = "", 429
    for name, blocks in indices if wanted else ():
        met = [BLOCKS[block] for block in sorted(blocks) if _levels(block, endpoint, version, product) & wanted]
        if met:
            told += f"index [{name}] blocked by: " + "".join(f"[{_said(block, version, product)}];" for block in met)
            status = max((status, *(block.status for block in met)), key=lambda one: one == 403)
    if told:
        raise Refusal(told, status=status, type="cluster_block_exception")


def _levels(block: str, endpoint: str, version: str, product: bool) -> frozenset[str]:
    levels = BLOCKS[block].levels
    if block == INTERNAL and (endpoint == "indices.delete" or (product and _major(version) >= 9)):
        return levels - {"change"}
    return levels


def _said(block: Block, version: str, product: bool) -> str:
    words = block.words
    if block.status == 429 and product:
        minor = ".".join(version.split(".")[:2])
        page = f"docs/troubleshoot/elasticsearch/fix-watermark-errors?version={minor}"
        if _major(version) < 9:
            page = f"guide/en/elasticsearch/reference/{minor}/fix-watermark-errors.html"
        words += f"; for more information, see https://www.elastic.co/{page}"
    return f"{block.kind}/{block.number}/{words}"


def _major(version: str) -> int:
    return int(version.partition(".")[0])
