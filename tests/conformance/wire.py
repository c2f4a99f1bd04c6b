"""One target over plain HTTP, and its answers as the suite looks at them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from tests.conformance.conditions import About
from tests.conformance.reading import documents
from tests.conformance.values import Failed


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: httpx.Headers
    raw: bytes
    body: Any  # what assertions are about: parsed JSON or YAML, else text; of a HEAD whether it is there

    @property
    def text(self) -> str:
        return self.raw.decode("utf-8", "replace")

    @property
    def error(self) -> bool:
        return self.status >= 400

    def holds(self, mark: bytes) -> bool:
        """Whether the mark stands anywhere a client could see it."""
        return mark in self.raw or any(mark in name + b"\n" + value for name, value in self.headers.raw)


class Target:
    """A node, or the proxy with the headers that name a tenant."""

    def __init__(self, url: str, headers: Mapping[str, str] | None = None, timeout: float = 60.0) -> None:
        self.client = httpx.Client(base_url=url, headers=dict(headers or {}), timeout=timeout, trust_env=False)
        self.calls = 0

    def send(self, method: str, target: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> Answer:
        self.calls += 1
        try:
            raw = self.client.request(method, target, content=body, headers=dict(headers or {}))
        except httpx.HTTPError as error:
            raise Failed(f"{method} {target}: no answer: {type(error).__name__} {error}") from error
        return Answer(raw.status_code, raw.headers, raw.content, _body(method, raw))

    def json(self, method: str, target: str, body: Any = None) -> Answer:
        if body is None:
            return self.send(method, target)
        return self.send(method, target, json.dumps(body).encode(), {"content-type": "application/json"})

    def about(self) -> About:
        version = self.send("GET", "/").body["version"]
        return About(version.get("distribution", "elasticsearch"), version["number"])

    def close(self) -> None:
        self.client.close()


def _body(method: str, raw: httpx.Response) -> Any:
    if method == "HEAD":
        return raw.status_code < 400
    kind = raw.headers.get("content-type", "")
    if "json" in kind and raw.content:
        try:
            return json.loads(raw.content)
        except ValueError:
            return raw.text
    if "yaml" in kind:
        return next(iter(documents(raw.text)), "")
    return raw.text
