"""The catalogue's documents in JSON."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from esproxy.catalogue import codec
from esproxy.catalogue.documents import (
    Alias,
    Claims,
    Directory,
    Document,
    Entry,
    Field,
    Generation,
    Index,
    Lease,
    Member,
    Pool,
    Tombstone,
)

DOCUMENTS: list[Document] = [
    Directory(
        "acme",
        12,
        ["u1"],
        {
            "logs": Entry(10, "shared", "pool~logs-1", "pool~logs-1-4", "open", "gone", "m1", hidden=True),
            "new": Entry(11, "per-tenant", "own~acme-2"),
        },
        {"cur": Alias({"logs": {"is_write_index": True}}, {}, "m1", "b1")},
        True,
        [Tombstone(9, "pool~logs-1-3", "m2")],
    ),
    Index(
        "acme",
        "logs",
        10,
        "shared",
        "pool~logs-1",
        {"dynamic": "strict"},
        {},
        1_700_000_000_000,
        "join",
        {"a": Field({"type": "long"}, "a~2")},
    ),
    Pool("pool~logs-1", {}, {"index.number_of_shards": 1}, 3, 5, [Generation(4, "pool~logs-1-4", "sealed")], ["u2"]),
    Claims("pool~logs-1-4", {"a": {"type": "text"}}),
    Member("m1", 3, 77),
    Lease(5.0),
]


@pytest.mark.parametrize("doc", DOCUMENTS, ids=lambda d: type(d).__name__)
def test_document_written_and_read_is_the_same(doc: Document):
    assert codec.decode(type(doc), orjson.loads(codec.encode(doc))) == doc


def _directory(**changes: Any) -> dict[str, Any]:
    return {**orjson.loads(codec.encode(DOCUMENTS[0])), **changes}


@pytest.mark.parametrize(
    "source",
    [
        _directory(v=2),
        _directory(kind="pool"),
        _directory(colour="red"),
        _directory(next="12"),
        _directory(next=True),
        _directory(indices={"logs": {"n": 1}}),
        _directory(tombstones=[{"n": 1, "physical": None, "by": None}]),
        _directory(aliases={"a": {"now": {"x": 1}, "then": None, "by": None, "batch": None}}),
        {key: value for key, value in _directory().items() if key != "changes"},
        [],
        None,
    ],
    ids=[
        "version",
        "kind",
        "unknown key",
        "text for number",
        "bool for number",
        "short entry",
        "no physical",
        "target no object",
        "missing key",
        "list",
        "null",
    ],
)
def test_document_not_understood_is_refused(source: Any):
    with pytest.raises(codec.Unreadable):
        codec.decode(Directory, source)


@pytest.mark.parametrize(("state", "then"), [("lost", None), ("open", "later")])
def test_entry_of_unknown_state_is_refused(state: str, then: str | None):
    source = _directory()
    source["indices"]["logs"].update(state=state, then=then)
    with pytest.raises(codec.Unreadable):
        codec.decode(Directory, source)


def test_directory_tells_what_it_holds():
    directory = DOCUMENTS[0]
    assert isinstance(directory, Directory)
    written = orjson.loads(codec.encode(directory))
    assert written["names"] == ["own~acme-2", "pool~logs-1-3", "pool~logs-1-4"] and written["busy"] is True
    assert orjson.loads(codec.encode(Directory("acme", 1)))["busy"] is False
    assert directory.knows(9) and directory.knows(10) and not directory.knows(8)
