"""What a tenant sees of machines."""

from __future__ import annotations

import pytest

from esproxy.api.kinds import Kind
from esproxy.cluster import Cluster
from esproxy.metadata import cat
from esproxy.metadata.nodes import masked_address, masked_node
from esproxy.metadata.templates import without_foreign

CLUSTER = Cluster("main", "opensearch", {"cluster_uuid": "u" * 22})


def test_node_is_the_same_for_a_tenant_and_another_for_the_next() -> None:
    one = masked_node(CLUSTER, "acme", "p-kdu1bnRN-hU9Adot1ozQ")
    assert one == masked_node(CLUSTER, "acme", "p-kdu1bnRN-hU9Adot1ozQ")
    assert len(one) == 22 and one != masked_node(CLUSTER, "zenith", "p-kdu1bnRN-hU9Adot1ozQ")
    assert masked_node(CLUSTER, "acme", "peer_recovery/p-kdu1bnRN-hU9Adot1ozQ") == f"peer_recovery/{one}"


def test_node_of_an_unknown_uuid_is_masked_all_the_same() -> None:
    assert masked_node(Cluster("main", "opensearch", {}), "acme", "node-1") != "node-1"


@pytest.mark.parametrize("nobody", ["", "-", "n/a", "_na_"])
def test_nobody_stays_nobody(nobody: str) -> None:
    assert masked_node(CLUSTER, "acme", nobody) == nobody == masked_address(nobody)


@pytest.mark.parametrize(
    ("address", "seen"),
    [
        ("10.1.2.3:9300", "127.0.0.1:9300"),
        ("10.1.2.3", "127.0.0.1"),
        ("[fe80::1]:9300", "127.0.0.1:9300"),
        ("fe80::1", "127.0.0.1"),
        ("es-data-7.example", "127.0.0.1"),
    ],
)
def test_addresses_read_alike(address: str, seen: str) -> None:
    assert masked_address(address) == seen


def _rows(table: str, row: dict[str, str | None]) -> cat.Rows | None:
    return cat.restore_rows([row], "acme.", cat.table(table), lambda kind, value: f"<{kind.name}>")


def test_cat_rows_name_no_machine() -> None:
    row = {"index": "acme.a", "ip": "10.1.2.3", "node": "es-7", "path.data": "/var/data", "docs": "1"}
    assert _rows("cat.shards", dict(row)) == [
        {"index": "a", "ip": "<ADDRESS>", "node": "<NODE>", "path.data": None, "docs": "1"},
    ]
    assert _rows("cat.shards", row | {"index": "zenith.a"}) is None


def test_cat_templates_are_the_tenants_with_all_their_patterns() -> None:
    row = {"name": "acme.t", "index_patterns": "[acme.a*, acme.b]", "composed_of": "[]", "order": "1"}
    assert _rows("cat.templates", dict(row)) == [{"name": "t", "index_patterns": "[a*, b]", "composed_of": "[]", "order": "1"}]
    assert _rows("cat.templates", row | {"name": "ops"}) is None
    assert _rows("cat.templates", row | {"index_patterns": "[acme.a*, zenith.b]"}) is None


def test_cat_columns_stand_where_nodes_put_them() -> None:
    rows = [{"index": "a", "docs.count": "1"}, {"index": "long", "docs.count": "100"}]
    drawn = cat.draw(rows, ["docs.count", "index"], header=True, known=cat.table("cat.segments"))
    assert drawn == b"docs.count index\n         1 a\n       100 long\n"
    assert cat.table("cat.aliases").kinds["a"] is Kind.ALIAS


def test_templates_of_the_operator_are_not_told() -> None:
    told = {"template": {}, "overlapping": [{"name": "acme.b"}, {"name": "ops"}, {"name": "acme.a"}, {"name": "acme-eu.a"}]}
    assert without_foreign(told, "acme.")["overlapping"] == [{"name": "acme.a"}, {"name": "acme.b"}]
