"""Figures of one index in a pool: what a node measures of a physical index, told of one of the indices that lie in it.

The node's own figures count everybody's documents and everybody's requests, and a share of them would still move with what
others do. So of the node's answer only the shape is taken, and all figures in it are zero (``emptied``), but those that follow
from the index's own documents and mapping: how many documents there are, and what that many take, by a fixed measure. What an
index reads is the same whatever its neighbours do.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from esproxy.metadata import cat
from esproxy.metadata.nodes import ADDRESS, TRANSPORT

Tree = dict[str, Any]

EMPTY_SHARD = 230  # bytes of a shard without documents, as nodes have it
DOCUMENT = 512  # bytes, roughly: of a small one with its id, its terms and its source
VALUE = 64  # bytes of memory for the value of one document in one field that lies in memory
TRANSLOG = 55  # bytes of an empty one

SIZED = re.compile(r"-?[\d.]+(b|kb|mb|gb|tb|pb)")
TIMED = re.compile(r"-?[\d.]+(nanos|micros|ms|s|m|h|d)")
NUMBER = re.compile(r"-?\d+(\.(\d+))?")
PERCENT = re.compile(r"[\d.]+%")
UNSET = ("max_unsafe_auto_id_timestamp",)  # -1 stands for none


@dataclass(frozen=True, slots=True)
class Own:
    """What is known of an index, or of a shard of it. ``shards``: the copies of them that are meant. ``completion``,
    ``fielddata``: fields that lie in memory, with how many documents have each. ``searches``: the figures of those that are known
    to be the index's own, because they named a group."""

    docs: int
    shards: int = 1
    completion: dict[str, int] = field(default_factory=dict)
    fielddata: dict[str, int] = field(default_factory=dict)
    searches: Tree = field(default_factory=dict)

    @property
    def size(self) -> int:
        return EMPTY_SHARD * self.shards + DOCUMENT * self.docs

    @property
    def segments(self) -> int:
        return min(self.docs, self.shards)


def zero(cell: str | None) -> str | None:
    """Nothing, in a cell that looks like this one."""
    if cell is None:
        return None
    if SIZED.fullmatch(cell):
        return "0b"
    if TIMED.fullmatch(cell):
        return "0s"
    if PERCENT.fullmatch(cell):
        return "0.0%"
    number = NUMBER.fullmatch(cell)
    return None if number is None else "0." + "0" * len(number[2]) if number[1] else "0"


def emptied(value: Any, name: str = "") -> Any:
    """The shape of figures without the figures. Texts that are none, and what lists hold, are left out."""
    if isinstance(value, dict):
        shapes = {key: emptied(inner, key) for key, inner in value.items()}
        return {key: shape for key, shape in shapes.items() if shape is not None}
    if isinstance(value, list):
        return []
    if isinstance(value, bool):
        return False
    if isinstance(value, int | float):
        return -1 if name in UNSET else type(value)(0)
    return zero(value)


def told(
    shape: Tree, own: Own, fields: tuple[list[str], list[str]], *, files: bool = False, groups: Mapping[str, Tree] | None = None
) -> Tree:
    """The figures of ``_stats``. ``shape``: the node's; ``fields``: of ``completion`` and of ``fielddata``, that are told one by
    one, where the client asked for that; ``files``: it asked for the sizes of files; ``groups``: what the node counted of the
    index's own searches that named one, None: it was not asked for them."""
    known: Tree = {
        "docs": {"count": own.docs, "total_size_in_bytes": DOCUMENT * own.docs},
        "shard_stats": {"total_count": own.shards},
        "store": {"size_in_bytes": own.size, "total_data_set_size_in_bytes": own.size},
        "indexing": {"index_total": own.docs},
        "segments": {"count": own.segments},
        "translog": dict.fromkeys(("size_in_bytes", "uncommitted_size_in_bytes"), TRANSLOG * own.shards),
        "search": own.searches,
        "completion": {"size_in_bytes": _memory(own.completion)},
        "fielddata": {"memory_size_in_bytes": _memory(own.fielddata)},
    }
    out: Tree = {}
    for metric, figures in shape.items():
        each = figures.get("fields") if metric in ("completion", "fielddata") else None
        sizes = figures.get("file_sizes") if metric == "segments" else None
        plain = {key: value for key, value in figures.items() if key not in ("fields", "file_sizes", "groups")}
        out[metric] = _put(emptied(plain), known.get(metric, {}))
        if each is not None:
            memory, name, asked = (
                (own.completion, "size", fields[0]) if metric == "completion" else (own.fielddata, "memory_size", fields[1])
            )
            human = name in figures
            out[metric]["fields"] = {path: _sized(name, VALUE * memory[path], human) for path in asked if path in memory}
        if metric == "search" and groups:
            out[metric]["groups"] = dict(groups)
        if sizes is not None:
            out[metric]["file_sizes"] = _files(sizes, own) if files else {}
    return out


FILES = {"cfs": "Compound Files", "cfe": "Compound Files Entries", "si": "Segment Info"}


def _files(shape: Tree, own: Own) -> Tree:
    """One segment a shard, in the files that a small one has."""
    if not own.segments:
        return {}
    keys = next(iter(shape.values()), {"size_in_bytes": 0, "description": ""})
    out: Tree = {}
    for extension, description in FILES.items():
        size = DOCUMENT * own.docs if extension == "cfs" else DOCUMENT * own.segments
        average = size // own.segments
        values = {"size_in_bytes": size, "description": description, "count": own.segments}
        values |= dict.fromkeys(("min_size_in_bytes", "max_size_in_bytes", "average_size_in_bytes"), average)
        out[extension] = {key: values[key] for key in keys if key in values}
    return out


def _memory(fields: Mapping[str, int]) -> int:
    return VALUE * sum(fields.values())


def _sized(name: str, bytes: int, human: bool) -> Tree:
    return ({name: cat.size(bytes, None)} if human else {}) | {f"{name}_in_bytes": bytes}


def _put(shape: Tree, known: Tree) -> Tree:
    """What is known, where the shape has a place for it; sizes in words too."""
    for key, value in known.items():
        if key in shape:
            shape[key] = value
            words = key.removesuffix("_in_bytes")
            if words != key and words in shape:
                shape[words] = cat.size(value, None)
    return shape


def largest(trees: Iterable[Tree]) -> Tree:
    """A search that named several groups is counted in each, so of several groups there have been at least as many searches as of
    the largest."""
    out: Tree = {}
    for tree in trees:
        for key, value in tree.items():
            if isinstance(value, int | float):
                out[key] = max(value, out.get(key, value))
    return out


def summed(trees: Iterable[Tree]) -> Tree:
    """The figures of several indices as those of all of them."""
    out: Tree = {}
    for tree in trees:
        _add(out, tree)
    return _worded(out)


def _add(out: Tree, tree: Tree) -> None:
    for key, value in tree.items():
        if isinstance(value, dict):
            _add(out.setdefault(key, {}), value)
        elif isinstance(value, bool) or not isinstance(value, int | float) or key not in out:
            out.setdefault(key, value)
        else:
            out[key] = max(out[key], value) if key.startswith("max_") else out[key] + value


def _worded(tree: Tree) -> Tree:
    for key, value in tree.items():
        if isinstance(value, dict):
            _worded(value)
        words = key.removesuffix("_in_bytes")
        if words != key and isinstance(tree.get(words), str):
            tree[words] = cat.size(value, None)
    return tree


# --- shards ------------------------------------------------------------------------------------------------

KEPT = ("es_version", "opensearch_version")  # of what a commit says of itself


def digest(*parts: object) -> str:
    """22 characters as uuids have, that tell one thing of one index from another's."""
    whole = hashlib.blake2b("/".join(map(str, parts)).encode(), digest_size=16, person=b"esproxy figures").digest()
    return base64.urlsafe_b64encode(whole).rstrip(b"=").decode()


def shard(shape: Tree, own: Own, id: str, node: str, created: int, figures: Tree) -> Tree:
    """One copy of a shard. ``id``: of it, which names are made of that are random on a node; ``figures``: those that all have."""
    last = own.docs - 1
    out: Tree = {"routing": routing(shape["routing"], node), **figures}
    commit, lease, path = shape.get("commit"), shape.get("retention_leases"), shape.get("shard_path")
    if commit is not None:
        user = {key: value for key, value in commit.get("user_data", {}).items() if key in KEPT}
        user |= {name: digest(id, name) for name in ("translog_uuid", "history_uuid")}
        user |= {"local_checkpoint": str(last), "max_seq_no": str(last), "max_unsafe_auto_id_timestamp": "-1"}
        told = {"id": digest(id, "commit") + "==", "generation": 2, "user_data": user, "num_docs": own.docs}
        out["commit"] = {key: told[key] for key in commit if key in told}
    if "seq_no" in shape:
        out["seq_no"] = dict.fromkeys(("max_seq_no", "local_checkpoint", "global_checkpoint"), last)
    if lease is not None:
        kept = {"id": f"peer_recovery/{node}", "retaining_seq_no": last + 1, "timestamp": created, "source": "peer recovery"}
        out["retention_leases"] = {"primary_term": lease.get("primary_term", 1), "version": 1, "leases": [kept]}
    if path is not None:
        out["shard_path"] = {"is_custom_data_path": False}
    for key in shape.keys() - out.keys():
        if isinstance(shape[key], bool | int):  # whether it is searched now, and since when not
            out[key] = emptied(shape[key])
    return out


def routing(shape: Tree, node: str) -> Tree:
    places = {key: None if shape[key] is None else node for key in ("node", "relocating_node") if key in shape}
    return {key: shape[key] for key in ("state", "primary") if key in shape} | places


def segments(shape: Tree, own: Own, node: str) -> Tree:
    """A copy of a shard in ``_segments``: all documents in one segment."""
    out: Tree = {"routing": routing(shape["routing"], node)}
    out |= {"num_committed_segments": 0, "num_search_segments": own.segments, "segments": {}}
    known = next(iter(shape.get("segments", {}).values()), None)
    if known is not None and own.segments:
        size = DOCUMENT * own.docs
        facts = {
            "generation": 0, "num_docs": own.docs, "deleted_docs": 0, "size": cat.size(size, None), "size_in_bytes": size,
            "memory": "0b", "memory_in_bytes": 0, "committed": False, "search": True, "compound": True,
        }  # fmt: skip
        facts |= {key: known[key] for key in ("version", "attributes") if key in known}  # of the engine and the settings
        out["segments"]["_0"] = {key: facts[key] for key in known if key in facts}
    return out


def recovery(shape: Tree, node: str, created: int, stamp: str, closed: bool) -> Tree:
    """A copy of a shard in ``_recovery``: an empty one, done in no time when the index was made."""
    out = {key: shape[key] for key in ("id", "type", "stage", "primary") if key in shape}
    if closed:
        out["type"] = "EXISTING_STORE"
    out |= {key: stamp for key in ("start_time", "stop_time") if key in shape}
    out |= {f"{key}_in_millis": created for key in ("start_time", "stop_time") if f"{key}_in_millis" in shape}
    rest = {key: value for key, value in shape.items() if key not in out}
    for key, value in emptied({key: value for key, value in rest.items() if key not in ("source", "target")}).items():
        out[key] = value
    machine = {"id": node, "name": node, "host": ADDRESS, "transport_address": TRANSPORT, "ip": ADDRESS}
    for key in ("source", "target"):
        if key in shape:
            out[key] = {name: machine[name] for name in shape[key] if name in machine}
    if "percent" in out.get("translog", {}):
        out["translog"]["percent"] = "100.0%"
    return out
