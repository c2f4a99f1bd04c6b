"""Stored scripts in pools: their source is put where they are named, and rewritten there."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from esproxy.exchange import Send
from tests.unit.pools.pool_gate import gate, hits

NAMED = {"script_fields": {"f": {"script": {"id": "s", "params": {"a": 1}}}}}
DONE = {"_index": "pool~logs-1", "_id": "acme.17:1", "_version": 2, "result": "updated", "_shards": {"total": 1}, "_seq_no": 0}


def keeper(lang: str = "painless", source: str = "doc['n'].value", status: int = 200) -> Any:
    """A node that keeps one script."""

    def answered(send: Send) -> Any:
        if send.target == b"/_scripts/acme.s":
            return status, {"_id": "acme.s", "found": status == 200, "script": {"lang": lang, "source": source}}
        return DONE if b"/_update" in send.target else hits()

    return answered


def test_stored_script_is_sent_with_the_names_of_the_pool() -> None:
    it = gate()
    assert it.ask("POST", "/logs/_search", NAMED, keeper())[0] == 200
    script = orjson.loads(it.sends[-1].body)["script_fields"]["f"]["script"]
    assert script == {"params": {"a": 1}, "lang": "painless", "source": "doc['n~2'].value"}


@pytest.mark.parametrize(("node", "lang"), [(keeper(status=404), "painless"), (keeper("mustache"), "mustache")])
def test_script_that_is_none_goes_by_a_name_that_nothing_has(node: Any, lang: str) -> None:
    it = gate()
    it.ask("POST", "/logs/_search", NAMED, node)
    assert orjson.loads(it.sends[-1].body)["script_fields"]["f"]["script"] == {"id": "acme~absent~s", "params": {"a": 1}}


def test_stored_script_of_an_update_and_of_one_in_a_bulk() -> None:
    it = gate()
    it.ask("POST", "/logs/_update/1", {"script": {"id": "s"}}, keeper(source="ctx._source.w = 'y'"))
    assert orjson.loads(it.sends[-1].body)["script"]["source"] == "ctx._source.w = 'y'"
    lines = [{"update": {"_index": "logs", "_id": "1"}}, {"script": {"id": "s"}}]
    body = b"".join(orjson.dumps(line) + b"\n" for line in lines)
    item = {"took": 1, "errors": False, "items": [{"update": {**DONE, "status": 200}}]}
    node = keeper(source="ctx._source.w = 'y'")
    assert it.ask("POST", "/_bulk", body, lambda send: item if send.target == b"/_bulk" else node(send))[0] == 200
    assert orjson.loads(it.sends[-1].body.splitlines()[1])["script"]["source"] == "ctx._source.w = 'y'"


def test_document_that_looks_like_a_script_is_left_alone() -> None:
    it = gate()
    it.ask("POST", "/logs/_update/1", {"doc": {"w": "x", "script": {"id": "s"}}}, keeper())
    assert all(not send.target.startswith(b"/_scripts") for send in it.sends)
