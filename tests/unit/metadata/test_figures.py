"""Figures of one index in a pool: the shape is the node's, and none of its numbers comes through."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from esproxy.metadata import figures
from esproxy.metadata.figures import DOCUMENT, EMPTY_SHARD, Own

NODE: dict[str, Any] = {
    "docs": {"count": 7777, "deleted": 7777},
    "store": {"size": "7.7mb", "size_in_bytes": 7777777, "reserved_in_bytes": 7777},
    "indexing": {"index_total": 7777, "index_time": "7.7s", "index_time_in_millis": 7777, "is_throttled": True},
    "search": {"query_total": 7777, "groups": {"secret": {"query_total": 7777}}},
    "fielddata": {"memory_size_in_bytes": 7777, "fields": {"secret": {"memory_size_in_bytes": 7777}}},
    "completion": {"size_in_bytes": 7777, "fields": {}},
    "segments": {"count": 77, "max_unsafe_auto_id_timestamp": 7777, "file_sizes": {"vec": {"size_in_bytes": 7777}}},
    "translog": {"size_in_bytes": 7777, "remote_store": {"upload": {"failed": 7777}}},
}


@pytest.mark.parametrize("docs", [0, 3])
def test_figures_of_a_neighbour_show_nothing(docs: int) -> None:
    told = figures.told(NODE, Own(docs), (["c"], ["t"]), files=True)
    assert told.keys() == NODE.keys()
    shown = orjson.dumps(told)
    assert b"777" not in shown and b"secret" not in shown and b"vec" not in shown


def test_figures_follow_from_own_documents() -> None:
    own = Own(3, 2, {"c": 2, "d": 1}, {"t": 3})
    told = figures.told(NODE, own, (["c"], ["t"]), files=True)
    assert told["docs"] == {"count": 3, "deleted": 0}
    size = 2 * EMPTY_SHARD + 3 * DOCUMENT
    assert told["store"] == {"size": "1.9kb", "size_in_bytes": size, "reserved_in_bytes": 0}
    assert told["indexing"]["index_total"] == 3 and told["indexing"]["is_throttled"] is False
    assert told["completion"]["size_in_bytes"] == 3 * figures.VALUE
    assert told["completion"]["fields"] == {"c": {"size_in_bytes": 2 * figures.VALUE}}
    assert told["fielddata"]["fields"] == {"t": {"memory_size_in_bytes": 3 * figures.VALUE}}
    assert told["segments"]["count"] == 2 and told["segments"]["max_unsafe_auto_id_timestamp"] == -1
    assert told["segments"]["file_sizes"].keys() == {"cfs", "cfe", "si"}


def test_figures_of_fields_that_were_not_asked_for_are_left_out() -> None:
    shape = {"completion": {"size_in_bytes": 9}, "fielddata": {"memory_size_in_bytes": 9}}
    told = figures.told(shape, Own(1, 1, {"c": 1}, {"t": 1}), ([], []))
    assert told == {"completion": {"size_in_bytes": 64}, "fielddata": {"memory_size_in_bytes": 64}}


@pytest.mark.parametrize(
    ("cell", "zero"),
    [
        ("5.8kb", "0b"),
        ("12ms", "0s"),
        ("17", "0"),
        ("0.25", "0.00"),
        ("99.1%", "0.0%"),
        ("-1", "0"),
        ("a name", None),
        (None, None),
    ],
)
def test_zero_of_a_cell_looks_like_it(cell: str | None, zero: str | None) -> None:
    assert figures.zero(cell) == zero


def test_sum_of_indices_words_sizes_anew() -> None:
    one = {"store": {"size": "600b", "size_in_bytes": 600}, "segments": {"count": 1, "max_unsafe_auto_id_timestamp": -1}}
    assert figures.summed([one, one]) == {
        "store": {"size": "1.1kb", "size_in_bytes": 1200},
        "segments": {"count": 2, "max_unsafe_auto_id_timestamp": -1},
    }
    assert figures.summed([]) == {}


def test_shard_of_a_pool_is_named_by_its_own() -> None:
    shape = {
        "routing": {"state": "STARTED", "primary": True, "node": "theirs", "relocating_node": None},
        "commit": {"id": "theirs", "generation": 77, "user_data": {"translog_uuid": "theirs", "es_version": "9"}, "num_docs": 77},
        "seq_no": {"max_seq_no": 77, "local_checkpoint": 77, "global_checkpoint": 77},
        "retention_leases": {"primary_term": 1, "version": 77, "leases": [{"id": "peer_recovery/theirs"}]},
        "shard_path": {"data_path": "/theirs", "is_custom_data_path": False},
        "search_idle": True,
        "search_idle_time": 77,
    }
    made = figures.shard(shape, Own(2), "uuid/0", "mine", 5, {"docs": {"count": 2}})
    assert made.keys() == shape.keys() | {"docs"}
    assert b"theirs" not in orjson.dumps(made) and b"77" not in orjson.dumps(made).replace(made["commit"]["id"].encode(), b"")
    assert made["seq_no"]["max_seq_no"] == 1 and made["routing"]["node"] == "mine"
    assert figures.shard(shape, Own(2), "other/0", "mine", 5, {})["commit"]["id"] != made["commit"]["id"]


def test_segments_of_a_shard_are_one_or_none() -> None:
    copy = {"routing": {"state": "STARTED", "primary": True, "node": "n"}, "segments": {"_7": {"num_docs": 77, "version": "10"}}}
    assert figures.segments(copy, Own(2), "m")["segments"] == {"_0": {"num_docs": 2, "version": "10"}}
    assert figures.segments(copy, Own(0), "m")["segments"] == {}
