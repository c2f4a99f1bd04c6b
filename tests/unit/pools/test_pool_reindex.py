"""A reindex from or to pools is made of searches and bulks of the client's own."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from esproxy.errors import UpstreamFailed
from esproxy.exchange import Send
from tests.unit.pools.pool_gate import Gate, gate, hit, hits

NOWHERE = (404, {"error": {"type": "index_not_found_exception", "reason": "no such index [esproxy~none~]"}, "status": 404})
COPY = {"source": {"index": "logs"}, "dest": {"index": "books"}}


class Node:
    """Has so many documents of ``logs``; keeps what it is sent. ``items`` are what a bulk makes of each record."""

    def __init__(self, count: int, page: int = 2, items: list[dict[str, Any]] | None = None, version: int = 1) -> None:
        self.left = [hit("pool~logs-1", f"acme.17:{n}", {"w": str(n)}, _version=version) for n in range(count)]
        self.count = count
        self.page = page
        self.items = items
        self.written: list[tuple[dict[str, Any], Any]] = []
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.closed = 0

    def __call__(self, send: Send) -> Any:
        target = send.target.decode()
        if target.startswith("/_reindex"):
            return NOWHERE
        if send.method == "DELETE":
            self.closed += 1
            return {"succeeded": True, "num_freed": 1}
        if "_search" in target:
            self.asked.append((target, orjson.loads(send.body)))
            part, self.left = self.left[: self.page], self.left[self.page :]
            total = {"value": self.count, "relation": "eq"}
            found = hits(*part, _scroll_id="node-cursor")
            found["hits"]["total"] = total
            return found
        assert "_bulk" in target or "_refresh" in target, target
        if "_refresh" in target:
            return {"_shards": {"total": 1, "successful": 1, "failed": 0}}
        lines = [orjson.loads(line) for line in send.body.splitlines()]
        actions = list(zip(lines[::2], lines[1::2], strict=True))
        self.written += actions
        out = []
        for action, _ in actions:
            verb, meta = next(iter(action.items()))
            item = self.items.pop(0) if self.items else {"result": "created", "status": 201}
            out.append({verb: {"_index": meta["_index"], "_id": meta["_id"], **item}})
        return {"took": 1, "errors": any("error" in next(iter(one.values())) for one in out), "items": out}


def reindexed(body: dict[str, Any], node: Node, query: str = "", made: Gate | None = None) -> tuple[int, Any]:
    return (made or gate("opensearch", fields={})).ask("POST", f"/_reindex{query}", body, node=node)


CONFLICT = {"status": 409, "error": {"type": "version_conflict_engine_exception", "reason": "[acme.18:0]: version conflict"}}


def test_documents_are_read_by_pages_and_written_under_their_ids() -> None:
    node = Node(3)
    status, told = reindexed(COPY, node, "?refresh=true")
    assert status == 200 and told["total"] == 3 and told["created"] == 3 and told["failures"] == [] and told["batches"] == 1
    assert [action["index"]["_id"] for action, _ in node.written] == ["acme.18:0", "acme.18:1", "acme.18:2"]
    assert {action["index"]["_index"] for action, _ in node.written} == {"pool~books-1"}
    assert all(action["index"]["routing"] == "acme.18:" and "version" not in action["index"] for action, _ in node.written)
    assert [target.partition("?")[0] for target, _ in node.asked] == ["/pool~logs-1/_search", "/_search/scroll"]
    assert '{"prefix":{"_routing":"acme.17:"}}' in orjson.dumps(node.asked[0][1]["query"]).decode()
    assert node.closed == 1


@pytest.mark.parametrize(
    ("dest", "expected"),
    [
        ({"routing": "=r"}, {"routing": "acme.18:r"}),
        ({"routing": "discard"}, {"routing": "acme.18:"}),
        ({"version_type": "external"}, {"version": 7, "version_type": "external"}),
    ],
)
def test_destination_decides_routing_and_version(dest: dict[str, str], expected: dict[str, Any]) -> None:
    node = Node(1, version=7)
    status, _ = reindexed({"source": {"index": "logs"}, "dest": {"index": "books", **dest}}, node)
    assert status == 200 and node.written[0][0]["index"].items() >= expected.items()


def test_documents_are_only_created_where_that_is_asked_for() -> None:
    node = Node(1)
    reindexed({"source": {"index": "logs"}, "dest": {"index": "books", "op_type": "create"}}, node)
    assert "create" in node.written[0][0]


def test_conflict_ends_it() -> None:
    node = Node(4, items=[CONFLICT])
    status, told = reindexed(COPY, node)
    assert status == 409 and told["version_conflicts"] == 1 and told["created"] == 1 and len(node.written) == 2
    (failure,) = told["failures"]
    assert failure["index"] == "books" and failure["id"] == "0" and failure["status"] == 409
    assert failure["cause"]["reason"] == "[0]: version conflict" and node.closed == 1


def test_conflict_is_counted_where_it_may_be() -> None:
    status, told = reindexed(COPY | {"conflicts": "proceed"}, Node(4, items=[CONFLICT]))
    assert status == 200 and told["version_conflicts"] == 1 and told["created"] == 3 and told["failures"] == []


def test_no_more_than_asked_for_is_written() -> None:
    node = Node(9)
    status, told = reindexed(COPY | {"max_docs": 3}, node)
    assert status == 200 and told["total"] == 3 and len(node.written) == 3


def test_slices_are_told_one_by_one() -> None:
    status, told = reindexed(COPY, Node(2), "?slices=2")
    assert (
        status == 200 and [one["slice_id"] for one in told["slices"]] == [0, 1] and told["total"] == 4
    )  # the node tells 2 to each


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"source": {"index": "logs"}, "dest": {"index": "logs"}}, 400, "cannot write into an index its reading from [logs]"),
        ({"source": {"index": "nope"}, "dest": {"index": "books"}}, 404, "no such index [nope]"),
        ({"source": {"index": "logs", "remote": {"host": "http://x"}}, "dest": {"index": "books"}}, 400, "remote"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_read(body: dict[str, Any], status: int, words: str) -> None:
    node = Node(1)
    found, told = reindexed(body, node)
    assert found == status and words in orjson.dumps(told["error"]).decode() and not node.asked and not node.written


def test_alias_is_required_where_it_is_asked_for() -> None:
    node = Node(1)
    status, told = reindexed(COPY, node, "?require_alias=true")
    assert status == 404 and "require_alias" in told["error"]["reason"] and not node.written


def test_node_judges_the_body_without_its_names() -> None:
    made = gate("opensearch", fields={})
    said = (400, {"error": {"root_cause": [], "type": "t", "reason": "bad size"}, "status": 400})
    body = {"source": {"index": "logs", "size": -1, "query": {"match_all": {}}}, "dest": {"index": "books"}}
    status, told = made.ask("POST", "/_reindex", body, node=lambda send: said)
    assert status == 400 and told["error"]["reason"] == "bad size"
    sent = orjson.loads(made.sent.body)
    assert sent == {"source": {"index": "esproxy~none~", "size": -1}, "dest": {"index": "acme.books"}}


def test_failed_search_is_the_answer() -> None:
    def node(send: Send) -> Any:
        if send.target.startswith(b"/_reindex"):
            return NOWHERE
        return 400, {"error": {"root_cause": [], "type": "parsing_exception", "reason": "unknown query [x]"}, "status": 400}

    status, told = gate("opensearch", fields={}).ask("POST", "/_reindex", COPY, node=node)
    assert status == 400 and told["error"]["reason"] == "unknown query [x]"


def test_hit_of_another_tenant_ends_it() -> None:
    node = Node(1)
    node.left = [hit("pool~logs-1", "zenith.4:1", {"secret": 1}, _version=1)]
    status, told = reindexed(COPY, node)
    assert status == 500 and "secret" not in orjson.dumps(told).decode() and not node.written


def test_page_that_is_larger_than_memory_is_asked_for_in_parts() -> None:
    sizes: list[int] = []

    def node(send: Send) -> Any:
        if send.target.startswith(b"/_reindex"):
            return NOWHERE
        if b"_search?" not in send.target:
            return {"succeeded": True, "num_freed": 1}
        sizes.append(orjson.loads(send.body)["size"])
        return UpstreamFailed("overflow") if len(sizes) == 1 else hits(_scroll_id="c")

    status, told = gate("opensearch", fields={}).ask("POST", "/_reindex", COPY, node=node)
    assert status == 200 and told["total"] == 0 and sizes == [200, 20]


# --- scripts ---------------------------------------------------------------------------------------------


class Scripted(Node):
    """Its script makes of the documents what it is told to, in their order."""

    def __init__(self, *made: dict[str, Any]) -> None:
        super().__init__(len(made), page=10)
        self.made = made
        self.simulated: dict[str, Any] = {}

    def __call__(self, send: Send) -> Any:
        if b"_simulate" not in send.target:
            return super().__call__(send)
        self.simulated = orjson.loads(send.body)
        out = []
        for doc, made in zip(self.simulated["docs"], self.made, strict=True):
            meta = {key: value for key, value in doc.items() if key != "_source"} | made.get("meta", {})
            out.append({"doc": {**meta, "_source": doc["_source"] | made.get("ctx", {}), "_ingest": {}}})
        return {"docs": out}


SCRIPT = {"script": {"source": "ctx._source.x = 1", "params": {"a": 1}}}


def test_script_runs_over_documents_as_their_client_knows_them() -> None:
    node = Scripted({"ctx": {"_source": {"w": "new"}}})
    status, told = reindexed(COPY | SCRIPT, node)
    (doc,) = node.simulated["docs"]
    assert status == 200 and told["created"] == 1 and doc["_id"] == "0" and doc["_index"] == "logs"
    assert doc["_source"] == {"_source": {"w": "0"}, "op": "index"}
    assert node.written[0][0]["index"]["_id"] == "acme.18:0" and node.written[0][1] == {"w": "new"}


def test_script_decides_where_a_document_goes_by_names_of_its_client() -> None:
    node = Scripted({"meta": {"_index": "books", "_id": "9", "_routing": "r"}})
    status, _ = reindexed({"source": {"index": "logs"}, "dest": {"index": "new"}} | SCRIPT, node)
    ((action, _),) = node.written
    assert (
        status == 200
        and action["index"].items() >= {"_index": "pool~books-1", "_id": "acme.18:9", "routing": "acme.18:r"}.items()
    )


def test_documents_that_a_script_deletes_or_leaves_are_told() -> None:
    node = Scripted({"ctx": {"op": "noop"}}, {"ctx": {"op": "noop"}})
    status, told = reindexed(COPY | SCRIPT, node)
    assert status == 200 and told["noops"] == 2 and told["created"] == 0 and not node.written


@pytest.mark.parametrize(
    ("ctx", "words"),
    [
        ({"op": "create"}, "Operation type [create] not allowed"),
        ({"nope": 1}, "Invalid fields added to context [nope]"),
        ({"_source": None}, "left no [_source]"),
    ],
)
def test_what_a_script_may_not_leave_is_refused(ctx: dict[str, Any], words: str) -> None:
    node = Scripted({"ctx": ctx})
    status, told = reindexed(COPY | SCRIPT, node)
    assert status == 400 and words in told["error"]["reason"] and not node.written


@pytest.mark.parametrize("slices", ["1025", "2000000000", "+2000000000"])
def test_more_slices_than_nodes_take_are_refused_before_any_is_counted(slices: str) -> None:
    node = Node(1)
    status, told = reindexed(COPY, node, f"?slices={slices.replace('+', '%2B')}")
    assert status == 400 and "is too large" in told["error"]["reason"] and not node.asked


def test_page_is_held_in_account_as_a_tree_and_made_smaller_where_there_is_no_room() -> None:
    made = gate("opensearch", fields={})
    assert made.gateway.pools is not None
    answers = made.gateway.pools.answers
    taken: list[int] = []
    for limit, expected in ((1 << 20, 429), (answers.limit, 200)):
        answers.limit = limit
        node = Node(3, page=1)
        node.left[0]["_source"]["w"] = [{}] * 150_000
        first = node.left[0]

        def told(send: Send, node: Node = node, first: Any = first) -> Any:
            if b"_bulk" in send.target:
                taken.append(answers.used)
            if b"_search?" in send.target and first not in node.left:
                node.left.insert(0, first)  # it is read once more
            return node(send)

        status, answer = made.ask("POST", "/_reindex", COPY, node=told)
        assert status == expected and answers.used == 0
        if status == 429:
            assert answer["error"]["type"] == "circuit_breaking_exception" and not node.written
            assert [body["size"] for _, body in node.asked] == [200, 20, 2, 1] and node.closed == 4
    assert taken[0] > 10 << 20 and taken[1:] == [0, 0]
