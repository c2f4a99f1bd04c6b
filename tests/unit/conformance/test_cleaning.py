"""What is removed between tests, and what is seen of others, on nodes that are dictionaries."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.conformance.cleaning import Cleaner
from tests.conformance.others import Others
from tests.conformance.wire import Answer, Target
from tests.oracle.neighbours import Neighbour


class Node:
    """Indices, some of them behind a block, and templates; any other kind is not offered."""

    def __init__(self) -> None:
        self.indices: dict[str, bool] = {}  # name → blocked
        self.stuck: set[str] = set()
        self.templates = {"system": {}}
        self.settings = {"persistent": {}, "transient": {}}

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path, method = request.url.path, request.method
        if path == "/_cat/indices":
            return httpx.Response(200, json=[{"index": name} for name in self.indices])
        if path == "/_template":
            return httpx.Response(200, json=self.templates)
        if path.startswith("/_template/"):
            self.templates.pop(path.removeprefix("/_template/"))
            return httpx.Response(200, json={})
        if path == "/_cluster/settings":
            if method == "PUT":
                for scope, nulls in json.loads(request.content).items():
                    for name in nulls:
                        del self.settings[scope][name]
            return httpx.Response(200, json=self.settings)
        if path.startswith("/_"):
            return httpx.Response(405, json={})
        names = path.removesuffix("/_settings").removeprefix("/").split(",")
        if path.endswith("/_settings"):
            self.indices |= {name: name in self.stuck for name in names}
        elif any(self.indices[name] for name in names):
            return httpx.Response(403, json={})
        else:
            for name in names:
                del self.indices[name]
        return httpx.Response(200, json={})


@pytest.fixture
def node() -> Node:
    return Node()


@pytest.fixture
def cleaner(node: Node) -> Cleaner:
    target = Target("http://nowhere.invalid")
    target.client.close()
    target.client = httpx.Client(transport=httpx.MockTransport(node), base_url="http://nowhere.invalid")
    cleaner = Cleaner(target)
    cleaner.begin()
    return cleaner


def test_cleaning_removes_what_was_made_and_keeps_what_was_there(node: Node, cleaner: Cleaner) -> None:
    node.indices = {"a": False, "b": False}
    node.templates["mine"] = {}
    node.settings["transient"]["x"] = "1"
    assert cleaner.clean() == []
    assert (node.indices, node.templates, node.settings["transient"]) == ({}, {"system": {}}, {})


def test_cleaning_lifts_blocks(node: Node, cleaner: Cleaner) -> None:
    node.indices = {"a": False, "blocked": True}
    assert cleaner.clean() == []
    assert node.indices == {}


def test_cleaning_tells_what_is_left(node: Node, cleaner: Cleaner) -> None:
    node.indices, node.stuck = {"a": False, "stuck": True}, {"stuck"}
    assert cleaner.clean() == ["indices: a", "indices: stuck"]


class FakeNode(Target):
    """What a fingerprint reads, for one index of one tenant, in the cluster's state and in its statistics."""

    def __init__(self) -> None:
        super().__init__("http://nowhere.invalid")
        self.version, self.number = 1, 5
        self.templates: dict[str, Any] = {"a.old": {"order": 1}, "system": {"order": 2}}

    def json(self, method: str, target: str, body: Any = None) -> Answer:
        held: Any = {"metadata": {"indices": {"a.test": {"version": self.version}}, "templates": self.templates}}
        if "_stats" in target:
            held = {"indices": {"a.test": {"shards": {"0": [{"seq_no": {"max_seq_no": self.number}}]}}}}
        return _answer(200, held)

    def send(self, method: str, target: str, body: bytes | None = None, headers: Any = None) -> Answer:
        return _answer(404, None)  # no catalogue


def _answer(status: int, body: Any) -> Answer:
    return Answer(status, httpx.Headers(), json.dumps(body).encode(), body)


def test_others_are_unchanged_until_a_document_metadata_or_a_template_is() -> None:
    node = FakeNode()
    others = Others(node, [Neighbour("a")])
    others.before = others.state()
    assert others.changed() == []
    node.number = 6
    assert others.changed() == ["numbers a.test"]
    assert others.changed() == []  # told once
    node.version = 2
    assert others.changed() == ["index a.test"]
    node.templates = {"a.old": {"order": 9}, "system": {"order": 3}}
    assert others.changed() == ["templates a.old"]
    node.templates = {}
    assert others.changed() == ["templates a.old"]
    node.close()


def test_others_are_seen_in_bodies_and_headers() -> None:
    node = FakeNode()
    neighbour = Neighbour("zenith")
    others = Others(node, [neighbour])
    assert others.seen_in(_answer(200, {"a": "nothing"})) == []
    assert others.seen_in(_answer(200, {"a": neighbour.canary})) == [neighbour.canary]
    assert others.seen_in(_answer(200, "index [zenith.test_1]")) == ["zenith.test"]
    headers = httpx.Headers({"warning": f'299 x "{neighbour.canary}"'})
    assert others.seen_in(Answer(200, headers, b"", "")) == [neighbour.canary]
    node.close()
