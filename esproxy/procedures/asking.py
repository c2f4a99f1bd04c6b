"""Asking a node under way to an answer that is made here."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Protocol

import orjson

from esproxy.answer import client_headers, is_error, restore_error
from esproxy.api.target import build
from esproxy.catalogue.store import Steps
from esproxy.errors import Failed
from esproxy.exchange import Answer, Call, Reply, Send
from esproxy.heads import AnswerHead
from esproxy.plan import Plan

JSON = [(b"accept", b"application/json")]
HEALTH = "_cluster/health"
Tree = dict[str, Any]


class Told(Exception):
    """The node refuses what it was asked: so is the client's request."""

    def __init__(self, reply: Reply) -> None:
        super().__init__("a refusal of the node's")
        self.reply = reply


class Own(Protocol):
    """Asks about all of the tenant's indices: for ``_stats`` of a metric or none, ``_mapping``, or HEALTH."""

    def __call__(self, verb: str, metric: str | None, query: dict[str, str] | None = None) -> Generator[Any, Any, Tree]: ...


def asked(plan: Plan, path: list[str], query: dict[str, str] | None = None) -> Steps[Any]:
    """A node's answer, still with physical names. Raises Told."""
    answer = yield Call(Send(plan.cluster.name, "GET", build(path, query or {}), JSON, held=True))
    return understood(plan, answer)


def understood(plan: Plan, answer: Answer) -> Any:
    """What a node has answered with. Raises Told."""
    if is_error(answer.status, answer.body):
        headers = client_headers(plan, AnswerHead(answer.status, answer.headers))
        raise Told(Reply(answer.status, headers, restore_error(plan, answer.body)))
    if answer.status != 200:
        raise Failed("the node's answer could not be understood", status=502)
    return orjson.loads(answer.body)
