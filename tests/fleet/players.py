"""Clients of a fleet: threads that do what their seed says through any proxy, and note what they were told."""

from __future__ import annotations

import itertools
import random
import threading
import time
from typing import Any

import httpx
import orjson

from tests.fleet.history import EVERYTHING, Op

NAMES = ("a", "b", "c")
ALIAS = "x"
KINDS = {
    "write": 22, "bulk": 8, "get": 18, "search": 14, "search *": 5, "search alias": 6,
    "create": 12, "delete": 9, "alias": 5, "remove": 6,
}  # fmt: skip
TIMEOUT = 25.0  # longer than any stop, so that few requests are given up
NDJSON = {"content-type": "application/x-ndjson"}


class Player(threading.Thread):
    """One client of one tenant, until ``over``. ``known``: values that the tenant's clients have written, to be asked for."""

    def __init__(
        self, seed: int, tenant: str, number: int, urls: list[str], known: list[tuple[str, str]], over: threading.Event
    ) -> None:
        super().__init__(name=f"{tenant} {number}", daemon=True)
        self.random = random.Random(f"player {seed} {tenant} {number}")
        self.tenant = tenant
        self.clients = [client(url, tenant) for url in urls]
        self.known = known
        self.over = over
        self.ops: list[Op] = []
        self.values = (f"{tenant}.{number}.{count}" for count in itertools.count())
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            while not self.over.wait(self.random.uniform(0.0, 0.05)):
                self.play()
        except BaseException as error:
            self.failure = error
        finally:
            for http in self.clients:
                http.close()

    def play(self) -> None:
        """One operation."""
        kind = self.random.choices(list(KINDS), list(KINDS.values()))[0]
        name = self.random.choice(NAMES)
        http = self.random.choice(self.clients)
        url = str(http.base_url)
        match kind.split():
            case ["search", *under]:
                name = {"*": EVERYTHING, "alias": ALIAS}[under[0]] if under else name
                self.record(http, Op("search", self.tenant, name, 0, via=url))
            case ["get" | "remove"]:
                if self.known:
                    name, value = self.random.choice(self.known[-60:])
                    self.record(http, Op(kind, self.tenant, name, 0, values=(value,), via=url))
            case ["alias"]:
                self.record(http, Op("alias", self.tenant, ALIAS, 0, values=(name,), via=url))
            case ["write" | "bulk"]:
                count = 1 if kind == "write" else self.random.randint(2, 6)
                values = tuple(itertools.islice(self.values, count))
                op = Op("write", self.tenant, name, 0, values=values, via=url)
                self.record(http, op)
                self.known += [(name, value) for value in values]
            case _:
                self.record(http, Op(kind, self.tenant, name, 0, via=url))

    def record(self, http: httpx.Client, op: Op) -> None:
        self.ops.append(op)
        op.begin = time.monotonic()
        try:
            carry_out(http, op)
        except httpx.TimeoutException:
            op.status, op.open, op.code = 0, True, "timeout"
        except httpx.TransportError as error:
            op.status, op.code = 0, type(error).__name__
        op.end = time.monotonic()


def client(url: str, tenant: str) -> httpx.Client:
    """With a new connection for each request, so that any worker may take it."""
    limits = httpx.Limits(max_keepalive_connections=0)
    return httpx.Client(base_url=url, headers={"x-tenant": tenant}, timeout=TIMEOUT, limits=limits)


def carry_out(http: httpx.Client, op: Op) -> None:
    """Fill in what the operation was told."""
    match op.kind:
        case "create":
            told(op, http.put(f"/{op.name}"))
        case "delete":
            told(op, http.delete(f"/{op.name}"))
        case "alias":
            (target,) = op.values
            actions = [
                {"remove": {"index": "*", "alias": op.name, "must_exist": False}},
                {"add": {"index": target, "alias": op.name}},
            ]
            body = told(op, http.post("/_aliases", json={"actions": actions}))
            if op.no_index and body["error"].get("index") != target:
                op.code += " of another"  # one under the star was deleted meanwhile: a node refuses the request
        case "write" if len(op.values) == 1:
            told(op, http.put(f"/{op.name}/_doc/{op.values[0]}", json={"value": op.values[0]}))
        case "write":
            lines = [line for v in op.values for line in ({"index": {"_index": op.name, "_id": v}}, {"value": v})]
            body = told(op, http.post("/_bulk", content=b"".join(orjson.dumps(x) + b"\n" for x in lines), headers=NDJSON))
            if op.acknowledged and body["errors"]:  # some of it may be there: nothing is acknowledged
                failed = [item["index"] for item in body["items"] if item["index"]["status"] >= 300]
                op.status, op.code = 500, str(failed[0].get("error", {}).get("type"))
        case "remove":
            told(op, http.delete(f"/{op.name}/_doc/{op.values[0]}"))
        case "get":
            body = told(op, http.get(f"/{op.name}/_doc/{op.values[0]}"))
            if body.get("found") is False:
                op.status, op.code = 200, ""
            elif op.acknowledged:
                op.found = (body["_source"]["value"],)
        case "search":
            told(op, http.post(f"/{op.name}/_refresh"))
            if op.acknowledged:
                query: dict[str, Any] = {"size": 10_000, "query": {"match_all": {}}}
                body = told(op, http.post(f"/{op.name}/_search", json=query))
                if op.acknowledged:
                    op.found = tuple(hit["_source"]["value"] for hit in body["hits"]["hits"])
        case _:
            raise ValueError(op.kind)


def told(op: Op, answer: httpx.Response) -> dict[str, Any]:
    body: dict[str, Any] = orjson.loads(answer.content)
    error = body.get("error") if answer.status_code >= 400 else None
    op.status = answer.status_code
    op.code = str(error.get("type")) if isinstance(error, dict) else ""
    return body
