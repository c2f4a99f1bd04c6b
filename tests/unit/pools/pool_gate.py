"""The Gateway with a catalogue in memory, without sockets: a request goes in, its procedure's calls are answered by the test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from esproxy.catalogue import names
from esproxy.catalogue.cache import Cache
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import OPEN, Alias, Directory, Entry, Field, Index
from esproxy.catalogue.store import Store, Stored
from esproxy.cluster import Cluster
from esproxy.config import Settings
from esproxy.exchange import Answer, Call, Calls, Go, Need, Reply, Send, Wait
from esproxy.gateway import Gateway
from esproxy.heads import AnswerHead, Head
from tests.unit.gateway.whole import INFO

JSON = [(b"content-type", b"application/json")]
TEXT = {"type": "text"}
LONG = {"type": "long"}
LAYOUT = {"layout": "shared", "cluster": "main"}


def directory(layout: str = "shared", **indices: int) -> Directory:
    """acme's directory: name → number, each open in the pool of its name."""
    entries = {name: Entry(n, layout, f"pool~{name}", f"pool~{name}-1", OPEN) for name, n in indices.items()}
    return Directory("acme", 100, indices=entries)


@dataclass
class Gate:
    """A Gateway whose tenant acme has indices; ``now`` is its clock."""

    gateway: Gateway
    catalogue: Catalogue
    seq_no: int = 0
    sends: list[Send] = field(default_factory=list)
    now: float = 1000.0

    def put(self, id: str, doc: Any) -> None:
        """As a poll would bring it in."""
        self.seq_no += 1
        self.catalogue.cache.docs[id] = Stored(id, self.seq_no, 1, doc)

    def ask(
        self, method: str, target: str, body: Any = b"", node: Callable[[Send], Any] | None = None, tenant: str = "acme"
    ) -> tuple[int, Any]:
        """Status and body of the client's answer. ``node`` answers what is sent upstream: a tree, (status, tree), an Answer, or
        an error that the procedure hears of."""
        raw = body if isinstance(body, bytes) else orjson.dumps(body)
        headers = [(b"x-tenant", tenant.encode()), *(JSON if raw else [])]
        exchange, step = self.gateway.open(Head(method, target.encode(), headers), raw, True)
        while isinstance(step, Need | Send):
            if isinstance(step, Need):
                step = exchange.resume(self._run(step, node or (lambda send: {})))
            else:
                answer = self._answered(step, node or (lambda send: {}))
                step = exchange.open_answer(AnswerHead(answer.status, answer.headers, None), 1, answer.body, True)
        assert isinstance(step, Reply), step
        return step.status, orjson.loads(step.body) if step.body else None

    def _run(self, need: Need, node: Callable[[Send], Any]) -> Reply | Go | Exception:
        value: Any = None
        while True:
            try:
                wish = need.procedure.throw(value) if isinstance(value, Exception) else need.procedure.send(value)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            except Exception as error:
                return error
            if isinstance(wish, Call):
                value = self._answered(wish.send, node)
            elif isinstance(wish, Calls):
                value = [self._answered(call.send, node) for call in wish.calls]
            else:
                assert isinstance(wish, Wait), wish
                value = None

    def _answered(self, send: Send, node: Callable[[Send], Any]) -> Any:
        if send.target.startswith((b"/esproxy~catalogue", b"/esproxy~members")):
            return self._catalogue(send)
        self.sends.append(send)
        found = node(send)
        if isinstance(found, Answer | Exception):
            return found
        status, tree = found if isinstance(found, tuple) else (200, found)
        return Answer(status, list(JSON), tree if isinstance(tree, bytes) else orjson.dumps(tree))

    def _catalogue(self, send: Send) -> Answer:
        """Realtime gets of what the cache holds: here they are always the same."""
        assert send.method == "GET", send
        from urllib.parse import unquote

        from esproxy.catalogue import codec

        stored = self.catalogue.cache.get(unquote(send.target.decode().rpartition("/")[2]))
        if stored is None:
            return Answer(404, list(JSON), orjson.dumps({"found": False}))
        source = orjson.loads(codec.encode(stored.doc))
        return Answer(
            200, list(JSON), orjson.dumps({"found": True, "_seq_no": stored.seq_no, "_primary_term": 1, "_source": source})
        )

    @property
    def sent(self) -> Send:
        """The one call that went upstream."""
        assert len(self.sends) == 1, self.sends
        return self.sends[0]

    @property
    def body(self) -> Any:
        return orjson.loads(self.sent.body)

    @property
    def lines(self) -> list[Any]:
        return [orjson.loads(line) for line in self.sent.body.splitlines() if line != b"{"]


def gate(
    engine: str = "elasticsearch",
    *,
    fields: dict[str, Field] | None = None,
    aliases: dict[str, Alias] | None = None,
    limits: dict[str, Any] | None = None,
    mapping: dict[str, Any] | None = None,
    settings: dict[str, Any] | None = None,
    **placement: Any,
) -> Gate:
    """acme has ``logs`` (17) and ``books`` (18); the field ``n`` of logs is called ``n~2`` in its pool."""
    layout = placement.get("layout", "shared")
    configured = Settings.model_validate(
        {
            "clusters": {"main": {"nodes": ["http://127.0.0.1:9"]}},
            "tenants": {"ids": ["acme", "zenith"]},
            "placement": {**LAYOUT, **placement},
            "limits": limits or {},
        }
    )
    clock = [1000.0]
    cache = Cache(lambda: clock[0])
    catalogue = Catalogue(Store("main", names.CATALOGUE, names.MEMBERS), cache, lambda: clock[0], lambda: 1, lambda: "u")
    cache.settled_from = float("-inf")
    cache.grant(1000.0, 1e9, True)
    gateway = Gateway(configured, catalogue)
    gateway.clusters["main"] = Cluster("main", engine, INFO)
    made = Gate(gateway, catalogue)
    known = directory(layout, logs=17, books=18)
    known.aliases.update(aliases or {})
    made.put(names.directory_id("acme"), known)
    logs = {"n": Field(LONG, "n~2"), "w": Field(TEXT, "w")} if fields is None else fields
    for name, number, own in (("logs", 17, logs), ("books", 18, {"w": Field(TEXT, "w")})):
        index = Index("acme", name, number, layout, f"pool~{name}", mapping or {}, settings or {}, fields=own)
        made.put(names.index_id("acme", number), index)
    return made


def hit(index: str, id: str, source: Any = None, **more: Any) -> dict[str, Any]:
    return {"_index": index, "_id": id, "_score": 1.0, "_routing": id.partition(":")[0] + ":", "_source": source or {}, **more}


def hits(*found: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "took": 1, "timed_out": False, "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
        "hits": {"total": {"value": len(found), "relation": "eq"}, "max_score": 1.0, "hits": list(found)}, **more,
    }  # fmt: skip
