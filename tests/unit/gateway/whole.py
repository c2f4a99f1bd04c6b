"""The Gateway without sockets: a request goes in whole, the node's answer is given, the client's answer comes out."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from esproxy.cluster import Cluster
from esproxy.config import Settings
from esproxy.exchange import Abort, Need, Reply, Send, Step, Write
from esproxy.gateway import Exchange, Gateway
from esproxy.heads import AnswerHead, Head

JSON = [(b"content-type", b"application/json")]
INFO = {"name": "n", "cluster_name": "c", "cluster_uuid": "u" * 22, "version": {"number": "9.4.3"}, "tagline": "t"}


def gateway(engine: str = "elasticsearch", **sections) -> Gateway:
    settings = Settings.model_validate(
        {"clusters": {"main": {"nodes": ["http://127.0.0.1:9"]}}, "tenants": {"ids": ["acme", "zenith"]}, **sections}
    )
    made = Gateway(settings)
    made.clusters["main"] = Cluster("main", engine, INFO)
    return made


@dataclass
class Sent:
    """What left for the node, ready to be answered."""

    exchange: Exchange
    send: Send

    @property
    def target(self) -> str:
        return self.send.target.decode()

    @property
    def body(self):
        return orjson.loads(self.send.body)

    def answer(self, body, status: int = 200, headers=JSON) -> Reply:
        raw = body if isinstance(body, bytes) else orjson.dumps(body)
        step = self.exchange.open_answer(AnswerHead(status, list(headers), len(raw)), 1, raw, True)
        assert isinstance(step, Reply), step
        return step

    def pieces(self, *chunks: bytes, status: int = 200, headers=JSON) -> list[Step]:
        steps = [self.exchange.open_answer(AnswerHead(status, list(headers), None), 1)]
        for i, chunk in enumerate(chunks):
            steps.append(self.exchange.feed_answer(chunk, i == len(chunks) - 1))
        return [step for step in steps if step is not None]


def ask(gate: Gateway, method: str, target: str, body=b"", headers=(), tenant: str | None = "acme") -> Step | None:
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    all_headers = [*headers] + ([(b"x-tenant", tenant.encode())] if tenant else [])
    if raw and not any(name == b"content-type" for name, _ in all_headers):
        all_headers += JSON
    exchange, step = gate.open(Head(method, target.encode(), all_headers), raw, True)
    return Sent(exchange, step) if isinstance(step, Send) else step


def sent(gate: Gateway, method: str, target: str, body=b"", headers=(), tenant: str | None = "acme") -> Sent:
    found = ask(gate, method, target, body, headers, tenant)
    assert isinstance(found, Sent), found
    return found


def refused(gate: Gateway, method: str, target: str, body=b"", headers=(), tenant: str | None = "acme") -> tuple[int, dict]:
    step = ask(gate, method, target, body, headers, tenant)
    assert isinstance(step, Reply), step
    return step.status, orjson.loads(step.body) if step.body else {}


__all__ = ["INFO", "JSON", "Abort", "AnswerHead", "Head", "Need", "Reply", "Sent", "Write", "ask", "gateway", "refused", "sent"]
