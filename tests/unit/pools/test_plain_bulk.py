"""Bulks of plain records are sent and answered as they are when each record is read."""

from __future__ import annotations

import itertools
import json
from typing import Any

import orjson
import pytest

from esproxy.catalogue.documents import Alias, Field
from esproxy.exchange import Send
from esproxy.pools import bulk as bulks
from tests.oracle.scenario import load
from tests.unit.pools.pool_gate import LONG, TEXT, Gate, gate

FIELDS = {**{name: Field(TEXT, name) for name in ("w", "t", "k", "msg")}, **{name: Field(LONG, name) for name in ("n", "o.n")}}
FIELDS |= {"o": Field({"type": "object"}, "o")}
PLACEMENTS: dict[str, dict[str, Any]] = {
    "shared": {"fields": FIELDS},
    "renamed": {"fields": {**FIELDS, "n": Field(LONG, "n~2")}},
    "shards": {"fields": FIELDS, "settings": {"index.number_of_shards": 3}},
    "routed": {"fields": FIELDS, "mapping": {"_routing": {"required": True}}},
    "pipeline": {"fields": FIELDS, "settings": {"index.default_pipeline": "p"}},
    "alias": {"fields": FIELDS, "aliases": {"al": Alias({"logs": {"index_routing": "r"}})}},
    "per-tenant": {"layout": "per-tenant", "fields": FIELDS},
}
ACTIONS = [
    '{"index":{"_index":"logs","_id":"1"}}',
    '{ "create" : { "_id" : "a b" , "_index" : "books" } }',
    '{"index":{"_id":"2"}}',
    '{"index":{"_index":"logs"}}',
    '{"index":{"_index":"logs","_id":null}}',
    '{"index":{"_index":"logs","_id":""}}',
    '{"index":{"_index":"logs","_id":7}}',
    '{"index":{"_index":"logs","_id":"\\u0041\\/"}}',
    '{"index":{"_index":"logs","_id":"\\ud800"}}',
    '{"index":{"_index":"l\\u006fgs","_id":"1"}}',
    '{"index":{"_index":null,"_id":"1"}}',
    '{"index":{"_index":7,"_id":"1"}}',
    '{"index":{"_index":true,"_id":"1"}}',
    '{"index":{"_index":"logs","_id":true}}',
    '{"index":{"_index":"logs","_id":"1","pipeline":null}}',
    '{"index":{"_index":"al","_id":"1"}}',
    '{"index":{"_index":"nope","_id":"1"}}',
    '{"index":{"_index":"<logs-{now}>","_id":"1"}}',
    '{"index":{"_index":"logs","_id":"%s"}}' % ("x" * 505),
    '{"index":{"_index":"logs","_id":"%s"}}' % ("x" * 506),
    '{"index":{"_index":"logs","_id":"1","routing":"r"}}',
    '{"index":{"_index":"logs","_id":"1","routing":null}}',
    '{"index":{"_index":"logs","_id":"1","version":3,"version_type":"external"}}',
    '{"index":{"_index":"logs","_id":"1","if_seq_no":3,"if_primary_term":1}}',
    '{"index":{"_index":"logs","_id":"1","require_alias":true}}',
    '{"index":{"_index":"logs","_id":"1","require\\u005falias":true}}',
    '{"index":{"_index":"logs","_id":"1","pipeline":"p"}}',
    '{"index":{"_index":"logs","_id":"1","dynamic_templates":{}}}',
    '{"index":{"_index":"logs","_id":"1","_source":"w"}}',
    '{"index":{"_index":"logs","_id":"1","_id":"2"}}',
    '{"index":{"_index":"logs","_id":"1","nope":"2"}}',
    '{"index":{"_index":"logs","_id":"1"},"create":{}}',
    '{"update":{"_index":"logs","_id":"1"}}',
    '{"delete":{"_index":"logs","_id":"1"}}',
    '{"delete":{"_index":"logs"}}',
    "",
    "nonsense",
]
SOURCES = [
    '{"w":"x","n":1,"o":{"n":2}}', '{"new":1}', '{"o":{"new":1}}', '{"w":"~"}', '{"w":"\\u0000"}', '{"n~2":1}', "[1]", "5", '"x"',
    "", '{"w":1,"w":2}', '{"w":', ' {"n" : 1 } ', '{"_id":"x"}', '{"doc":{"w":"x"}}', '{"w":"\\ud800"}', "{}", '{"w":"é"}',
]  # fmt: skip
GOOD = '{"index":{"_index":"logs","_id":"good"}}\n{"w":"x"}\n'


def scenario_bulks() -> list[bytes]:
    """The bulks of the scenarios, over indices that are there."""
    found = []
    for scenario in load():
        for call in scenario.calls:
            if call.target.partition("?")[0].endswith("_bulk") and call.body:
                names, lines = itertools.cycle(["logs", "books"]), []
                for line in call.body.split(b"\n"):
                    try:
                        tree = orjson.loads(line)
                        meta = next(iter(tree.values()))
                        if isinstance(meta, dict) and isinstance(meta.get("_index"), str):
                            line = orjson.dumps({**tree, next(iter(tree)): {**meta, "_index": next(names)}})
                    except (ValueError, StopIteration, AttributeError):
                        pass  # a document, or what is none
                    lines.append(line)
                found.append(b"\n".join(lines))
    return found


MADE = [f"{action}\n{source}\n".encode() for action in ACTIONS for source in SOURCES[:2]]
MADE += [f"{ACTIONS[0]}\n{source}\n".encode() for source in SOURCES]
MADE += [GOOD.encode() + one + GOOD.encode() for one in MADE]
MADE += [b"", b"\n", GOOD.encode()[:-1], ACTIONS[0].encode() + b"\n"]
MADE += [GOOD.encode() * 3 + ACTIONS[2].encode() + b"\n{}\n" + GOOD.encode()]
TARGETS = ["/_bulk", "/books/_bulk", "/logs/_bulk?refresh=true", "/_bulk?routing=r", "/_bulk?pipeline=p"]
TARGETS += ["/_bulk?require_alias=true"]


def node(send: Send) -> Any:
    """An item for each record."""
    if not send.target.endswith(b"_bulk") and b"_bulk?" not in send.target:
        return {}
    items, lines = [], send.body.split(b"\n")  # type: ignore[union-attr]
    while lines:
        line = lines.pop(0)
        if line.strip():
            ((verb, meta),) = orjson.loads(line).items()
            lines = lines if verb == "delete" else lines[1:]
            items.append({verb: {"_index": meta["_index"], "_id": meta.get("_id"), "status": 201}})
    return {"took": 1, "errors": False, "items": items}


def outcome(it: Gate, target: str, body: bytes) -> Any:
    it.sends.clear()
    try:
        told: Any = it.ask("POST", target, body, node)
    except Exception as error:
        told = repr(error)
    return [(send.method, send.target, send.headers, _read(send.body)) for send in it.sends], told  # type: ignore[arg-type]


def _read(body: bytes) -> list[Any]:
    """Actions as trees, documents as they are."""
    out: list[Any] = []
    for line in filter(bytes.strip, body.split(b"\n")):
        is_action = line.startswith((b'{"index"', b'{"create"', b'{"delete"', b'{"update"', b"{ "))
        out.append(json.loads(line, object_pairs_hook=_once) if is_action else line)
    return out


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Nodes take no key twice."""
    assert len({key for key, _ in pairs}) == len(pairs), pairs
    return dict(pairs)


@pytest.fixture
def same_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulks, "new_id", lambda: "made")


@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch"])
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_bulk_is_sent_and_answered_as_record_by_record(
    engine: str, placement: str, monkeypatch: pytest.MonkeyPatch, same_ids: None
) -> None:
    plain = bulks.plain_bulk
    one, other = (gate(engine, **PLACEMENTS[placement]) for _ in range(2))
    went = 0

    def counted(request: Any) -> Any:
        nonlocal went
        found = plain(request)
        went += found is not None
        return found

    cases = [(target, body) for body in scenario_bulks() for target in TARGETS[:2]]
    cases += [(TARGETS[number % len(TARGETS)], body) for number, body in enumerate(MADE)] + [("/_bulk", body) for body in MADE]
    cases += [("/books/_bulk", f"{action}\n{SOURCES[0]}\n".encode()) for action in ACTIONS]
    for target, body in cases:
        monkeypatch.setattr(bulks, "plain_bulk", counted)
        own = outcome(one, target, body)
        monkeypatch.setattr(bulks, "plain_bulk", lambda request: None)
        assert own == outcome(other, target, body), (target, body)
    assert went > 20 or placement in ("shards", "routed", "pipeline"), went


def test_plain_records_of_several_indices_go_together() -> None:
    it = gate(fields=FIELDS)
    body = b'{"index":{"_index":"logs","_id":"1"}}\n{"n":1}\n{"create":{"_id":"2","_index":"books"}}\n{"w":"y"}\n'
    status, answer = it.ask("POST", "/_bulk", body + b'{"delete":{"_index":"logs","_id":"3"}}\n', node)
    assert status == 200 and [next(iter(item.values()))["_index"] for item in answer["items"]] == ["logs", "books", "logs"]
    assert it.sent.body == (
        b'{"index":{"_index":"pool~logs-1","_id":"acme.17:1","routing":"acme.17:"}}\n{"n":1}\n'
        b'{"create":{"_id":"acme.18:2","routing":"acme.18:","_index":"pool~books-1"}}\n{"w":"y"}\n'
        b'{"delete":{"_index":"pool~logs-1","_id":"acme.17:3","routing":"acme.17:"}}\n'
    )


def test_plain_records_without_an_index_are_for_that_of_the_path() -> None:
    it = gate(fields=FIELDS)
    it.ask("POST", "/logs/_bulk", b'{"index":{"_id":"1"}}\n{"n":1}\n{"delete":{"_id":"3"}}\n', node)
    assert it.sent.body == (
        b'{"index":{"_id":"acme.17:1","_index":"pool~logs-1","routing":"acme.17:"}}\n{"n":1}\n'
        b'{"delete":{"_id":"acme.17:3","_index":"pool~logs-1","routing":"acme.17:"}}\n'
    )


def test_update_is_read_record_by_record(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Any] = []
    plain = bulks.plain_bulk
    monkeypatch.setattr(bulks, "plain_bulk", lambda request: found.append(plain(request)) or found[-1])
    it = gate(fields=FIELDS)
    for verb, source in (("index", b'{"w":"x"}'), ("update", b'{"doc":{"w":"x"}}')):
        it.ask("POST", "/_bulk", b'{"%b":{"_index":"logs","_id":"1"}}\n%b\n' % (verb.encode(), source), node)
    assert found[0] is not None and found[1] is None
