"""What blocks of an index in a pool keep from being done, and how a node says so."""

from __future__ import annotations

import pytest

from esproxy.errors import Refusal
from esproxy.tenancy.blocks import BLOCKS, LEVELS, check_blocks

ENDPOINTS = {"index": "write", "search": "read", "indices.get_mapping": "look", "indices.put_mapping": "change"}


@pytest.mark.parametrize("endpoint", ENDPOINTS)
@pytest.mark.parametrize("block", BLOCKS)
def test_block_refuses_what_is_of_its_levels(block: str, endpoint: str) -> None:
    if ENDPOINTS[endpoint] not in BLOCKS[block].levels:
        check_blocks(endpoint, [("a", (block,))], "3.8.0", False)
        return
    with pytest.raises(Refusal) as raised:
        check_blocks(endpoint, [("a", (block,))], "3.8.0", False)
    assert raised.value.status == BLOCKS[block].status
    assert raised.value.reason.startswith("index [a] blocked by: [") and f"/{BLOCKS[block].number}/" in raised.value.reason


def test_blocks_of_several_indices_are_told_together() -> None:
    with pytest.raises(Refusal) as raised:
        check_blocks("index", [("a", ("write", "read_only")), ("b", ("read",)), ("c", ("write",))], "3.8.0", False)
    read_only, write = "[FORBIDDEN/5/index read-only (api)];", "[FORBIDDEN/8/index write (api)];"
    assert raised.value.reason == f"index [a] blocked by: {read_only}{write}index [c] blocked by: {write}"
    assert raised.value.status == 403


@pytest.mark.parametrize(
    ("version", "product", "page", "changes"),
    [
        ("3.8.0", False, None, False),
        ("8.19.1", True, "guide/en/elasticsearch/reference/8.19/fix-watermark-errors.html", False),
        ("9.4.3", True, "docs/troubleshoot/elasticsearch/fix-watermark-errors?version=9.4", True),
    ],
)
def test_block_that_allows_deletion_is_the_versions(version: str, product: bool, page: str | None, changes: bool) -> None:
    blocked = [("a", ("read_only_allow_delete",))]
    check_blocks("indices.delete", blocked, version, product)
    with pytest.raises(Refusal) as raised:
        check_blocks("index", blocked, version, product)
    assert raised.value.status == 429
    assert raised.value.reason.endswith(
        "block];" if page is None else f"for more information, see https://www.elastic.co/{page}];"
    )
    if changes:
        check_blocks("indices.put_mapping", blocked, version, product)
    else:
        with pytest.raises(Refusal):
            check_blocks("indices.put_mapping", blocked, version, product)


def test_endpoint_without_a_level_goes_through_blocks() -> None:
    assert "indices.refresh" not in LEVELS
    check_blocks("indices.refresh", [("a", tuple(BLOCKS))], "3.8.0", False)
