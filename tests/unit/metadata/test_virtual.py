"""What a tenant's cluster of one node says of itself."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from esproxy.cluster import Cluster
from esproxy.errors import Refusal, Violation
from esproxy.metadata import virtual
from esproxy.metadata.nodes import VirtualNode, masked_node, masked_text
from esproxy.procedures.virtual_cat import zero

INFO = {"name": "es-7", "cluster_name": "c", "cluster_uuid": "u" * 22, "version": {"number": "3.8.0", "build_type": "zip"}}
CLUSTER = Cluster("main", "opensearch", INFO)
NODE = VirtualNode.of(CLUSTER, "acme", b"proxy.example:9200")
REAL = "p-kdu1bnRN-hU9Adot1ozQ"


def test_all_nodes_are_one() -> None:
    assert {masked_node(CLUSTER, "acme", name) for name in ("es-7", REAL, "x")} == {NODE.id}
    assert VirtualNode.of(CLUSTER, "zenith", None).id != NODE.id


@pytest.mark.parametrize(
    ("host", "seen"),
    [
        (b"proxy.example:9200", "proxy.example:9200"), (b"[::1]:19200", "[::1]:19200"),
        (b"proxy.example", "127.0.0.1:9200"), (None, "127.0.0.1:9200"), (b"a b:1", "127.0.0.1:9200"), (b'x":1', "127.0.0.1:9200"),
    ],
)  # fmt: skip
def test_node_listens_where_its_client_found_it(host: bytes | None, seen: str) -> None:
    told = virtual.info(VirtualNode.of(CLUSTER, "acme", host), {"http"}, {}, (), flat=False, human=False)
    assert told["http"]["publish_address"] == seen


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (None, True), ("", True), ("_all", True), ("_local", True), ("_master", True), ("*", True), ("nobody", False),
        ("data:true", True), ("data:false", False), ("nobody,data:true", True), ("_all,master:false", False),
        ("ml:true", False), ("ml:false", False), ("127.0.*", True), ("rack:x", False),
    ],
)  # fmt: skip
def test_node_is_selected_as_nodes_are(wanted: str | None, found: bool) -> None:
    assert NODE.selected(wanted) is found
    assert NODE.counted(wanted, {})["_nodes"]["total"] == int(found)
    assert NODE.selected(NODE.id) and not NODE.selected(REAL)


def test_figures_of_a_machine_keep_their_shape_alone() -> None:
    http = {"current_open": 9, "routes": {"/x": {"n": 1}}}
    told = {"os": {"cpu": {"percent": 85, "load": {"1m": 2.5}}, "name": "host7"}, "http": http}
    seen = virtual.figures(NODE, {"os", "http"}, told, None, 5)
    assert seen["os"] == {"cpu": {"percent": 0, "load": {"1m": 0}}} and seen["http"] == {"current_open": 0}
    assert seen["timestamp"] == 5 and seen["ip"] == "127.0.0.1:9300"


def test_metric_that_is_none_is_refused_as_nodes_do() -> None:
    with pytest.raises(Refusal, match=r"unrecognized metrics: \[a\], \[b\]"):
        virtual.check_metrics({"os", "b", "a"}, virtual.STATS_METRICS, "/_nodes/stats/a,os,b")


def _state(told: dict[str, Any], metrics: set[str]) -> dict[str, Any]:
    def name(physical: str) -> str:
        if not physical.startswith("acme."):
            raise Violation("an index name")
        return physical.removeprefix("acme.")

    def under(endpoint: str, tree: dict[str, Any]) -> dict[str, Any]:
        return {name(key): value for key, value in tree.items()}

    return virtual.state(NODE, "uuid", metrics, told, virtual.Own("acme.", NODE, name, under))


COPY = {"state": "STARTED", "primary": True, "node": REAL, "relocating_node": REAL, "shard": 0, "index": "acme.a", "new": REAL}
TOLD = {
    "metadata": {"indices": {"acme.a": {"version": 3, "mappings": {}, "aliases": ["acme.x"], "state": "open", "custom": REAL}}},
    "routing_table": {"indices": {"acme.a": {"shards": {"0": [COPY]}}}},
    "blocks": {"indices": {"acme.a": {"8": {}}, "zenith.a": {"5": {}}}, "global": {"1": {}}},
    "nodes": {REAL: {}},
}


def test_state_holds_what_is_the_tenants_and_known() -> None:
    state = _state(TOLD, {"_all"})
    assert state["metadata"]["indices"]["a"]["aliases"] == ["x"] and state["blocks"] == {"indices": {"a": {"8": {}}}}
    assert state["routing_nodes"]["nodes"] == {NODE.id: state["routing_table"]["indices"]["a"]["shards"]["0"]}
    said = orjson.dumps(state)
    assert REAL.encode() not in said and b"zenith" not in said and b"acme" not in said
    assert "metadata" not in _state(TOLD, {"blocks"})


def test_state_with_anothers_index_is_withheld() -> None:
    for part in ("metadata", "routing_table"):
        with pytest.raises(Violation):
            _state({part: {"indices": {"zenith.a": {"shards": {}}}}}, {"_all"})


def test_state_changes_its_version_with_the_tenants_indices() -> None:
    before = _state(TOLD, {"version", "metadata"})
    TOLD["metadata"]["indices"]["acme.a"]["version"] = 4
    after = _state(TOLD, {"version", "metadata"})
    assert after["version"] == before["version"] + 1 and after["state_uuid"] != before["state_uuid"]


@pytest.mark.parametrize(
    ("cell", "seen"),
    [
        ("91.8mb", "0b"), ("18.6m", "0s"), ("85", "0"), ("70.62", "0.00"), ("-1", "0"),
        ("es-7", None), ("10.1.2.3", None), (None, None),
    ],
)  # fmt: skip
def test_cell_of_a_machine_says_nothing(cell: str | None, seen: str | None) -> None:
    assert zero(cell) == seen


def test_texts_name_no_node() -> None:
    assert masked_text(CLUSTER, "acme", f"[{REAL}][logs][0]") == f"[{NODE.id}][logs][0]"
    told = masked_text(CLUSTER, "acme", "[es-7][10.1.2.3:9300][indices:data/read/search[phase/query]]")
    assert told == f"[{NODE.id}][127.0.0.1:9300][indices:data/read/search[phase/query]]"
    assert masked_text(CLUSTER, "acme", "failed to parse [a][b]") == "failed to parse [a][b]"
