"""``_cluster/state`` of indices in a pool: of the pool's own state only what no other tenant moves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from esproxy.catalogue import names
from esproxy.catalogue.documents import CLOSED, Alias
from esproxy.exchange import Send
from tests.unit.pools.pool_gate import Gate, directory, gate

COPY = {
    "state": "UNASSIGNED", "primary": False, "node": None, "relocating_node": None, "shard": 0, "index": "pool~logs-1",
    "allocation_id": {"id": "physical-copy"},
    "unassigned_info": {"reason": "INDEX_CREATED", "at": "2001-01-01T00:00:00.000Z", "delayed": False, "details": "node x left"},
}  # fmt: skip
STATE = {
    "metadata": {
        "indices": {
            "pool~logs-1": {
                "version": 77, "mapping_version": 41, "settings_version": 3, "aliases_version": 9, "routing_num_shards": 1024,
                "state": "open", "aliases": ["many~x"], "primary_terms": {"0": 1},
                "in_sync_allocations": {"0": ["physical-copy"]},
                "rollover_info": {"zenith.alias": {}}, "settings": {}, "mappings": {},
            }
        }
    },
    "routing_table": {"indices": {"pool~logs-1": {"shards": {"0": [COPY]}}}},
}  # fmt: skip
DESCRIBED = {
    "pool~logs-1": {
        "aliases": {"many~x": {}},
        "mappings": {"properties": {"w": {"type": "keyword"}, "canary": {"type": "keyword"}}},
        "settings": {"index": {"uuid": "physical", "number_of_shards": "1", "provided_name": "pool~logs-1"}},
    }
}


def node(send: Send) -> Any:
    if send.target.startswith(b"/_template"):
        return {}
    return _of_both(STATE if b"_cluster/state" in send.target else DESCRIBED)


def _of_both(tree: Any) -> Any:
    """The same of the pool of books, beside it."""
    if not isinstance(tree, dict):
        return tree
    both = {key: _of_both(value) for key, value in tree.items()}
    return both | {"pool~books-1": both["pool~logs-1"]} if "pool~logs-1" in both else both


@pytest.fixture(params=["opensearch", "elasticsearch"])
def it(request: pytest.FixtureRequest) -> Gate:
    return gate(request.param)


def test_index_has_its_own_name_and_what_it_declares(it: Gate) -> None:
    status, told = it.ask("GET", "/_cluster/state", b"", node)
    assert status == 200 and sorted(told["metadata"]["indices"]) == ["books", "logs"]
    index = told["metadata"]["indices"]["logs"]
    assert index["settings"]["index"]["provided_name"] == "logs" and index["aliases"] == []
    assert "canary" not in str(told) and "pool~" not in str(told) and "many~" not in str(told) and "zenith" not in str(told)
    (copy,) = told["routing_table"]["indices"]["logs"]["shards"]["0"]
    assert copy["index"] == "logs" and copy in told["routing_nodes"]["unassigned"]


def test_what_others_move_is_not_told(it: Gate) -> None:
    _, told = it.ask("GET", "/_cluster/state", b"", node)
    index = told["metadata"]["indices"]["logs"]
    assert {index[name] for name in ("version", "mapping_version", "settings_version", "aliases_version")} == {1}
    assert "physical-copy" not in str(told) and "2001" not in str(told) and "node x" not in str(told)


def test_aliases_and_blocks_are_those_of_the_directory(it: Gate) -> None:
    known = directory(logs=17, books=18)
    known.aliases.update(al=Alias({"logs": {}}))
    known.indices["logs"] = replace(known.indices["logs"], state=CLOSED)
    it.put(names.directory_id("acme"), known)
    _, told = it.ask("GET", "/_cluster/state/metadata,blocks/l*", b"", node)
    assert told["metadata"]["indices"]["logs"]["state"] == "close" and told["metadata"]["indices"]["logs"]["aliases"] == ["al"]
    assert list(told["blocks"]["indices"]["logs"]) == ["4"]
    assert it.ask("GET", "/_cluster/state/metadata/nope", b"", node)[1]["metadata"]["indices"] == {}


def test_pool_that_is_gone_is_no_state(it: Gate) -> None:
    status, told = it.ask("GET", "/_cluster/state", b"", lambda send: {"metadata": {"indices": {}}, "routing_table": {}})
    assert status == 503 and "changed" in told["error"]["reason"]


def test_version_of_the_cluster_cannot_be_waited_for(it: Gate) -> None:
    status, told = it.ask("GET", "/_cluster/state?wait_for_metadata_version=9", b"", node)
    assert status == 400 and "wait_for_metadata_version" in told["error"]["reason"]
