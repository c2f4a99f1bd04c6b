"""Two ways to send a call: over a socket, and to an ASGI app in this process. Neither touches target or headers.

The usual HTTP libraries tidy URLs up (dot segments, percent signs), which is exactly what must not happen here.
"""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import urlsplit

from tests.oracle.answer import Raw


class Client(Protocol):
    def send(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> Raw: ...

    def close(self) -> None: ...


class WireClient:
    """One keep-alive connection to ``base``; ``fixed`` headers go with every call (the tenant's name)."""

    def __init__(self, base: str, fixed: Mapping[str, str] | None = None, timeout: float = 60) -> None:
        parts = urlsplit(base)
        assert parts.hostname and parts.port, f"{base} needs a host and a port"
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)
        self.host = f"{parts.hostname}:{parts.port}"
        self.fixed = dict(fixed or {})

    def send(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> Raw:
        try:
            return self._once(method, target, headers, body)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            # An idle connection that the server has closed meanwhile. What is sent here is sent once more only
            # when nothing of an answer came back.
            self.connection.close()
            return self._once(method, target, headers, body)

    def _once(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> Raw:
        connection = self.connection
        connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        for name, value in {"host": self.host, **self.fixed, **headers}.items():
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("content-length", str(len(body)))
        connection.endheaders(body)
        response = connection.getresponse()
        content = response.read()
        return Raw(response.status, response.getheaders(), content)

    def close(self) -> None:
        self.connection.close()


class AsgiClient:
    """Calls an ASGI app in this process, on a loop of its own; runs its lifespan."""

    def __init__(self, app: Any, fixed: Mapping[str, str] | None = None) -> None:
        self.app = app
        self.fixed = dict(fixed or {})
        self.loop = asyncio.new_event_loop()
        self.inbox: asyncio.Queue[dict[str, str]] = asyncio.Queue()
        self.outbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        scope = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
        self.lifespan = self.loop.create_task(app(scope, self.inbox.get, self.outbox.put))
        self._lifespan("startup")

    def _lifespan(self, phase: str) -> None:
        async def exchange() -> None:
            await self.inbox.put({"type": f"lifespan.{phase}"})
            reader = asyncio.ensure_future(self.outbox.get())
            await asyncio.wait([reader, self.lifespan], return_when=asyncio.FIRST_COMPLETED)
            if not reader.done():
                reader.cancel()
                self.lifespan.result()  # an app that failed to start says why
                return  # an app without a lifespan just returns
            message = reader.result()
            if message["type"] != f"lifespan.{phase}.complete":
                raise RuntimeError(f"lifespan: {message}")

        self.loop.run_until_complete(exchange())

    def send(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> Raw:
        sent = {"host": "127.0.0.1:9200", **self.fixed, **headers}
        if body is not None:
            sent["content-length"] = str(len(body))
        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode("latin-1"),
            "query_string": query.encode("latin-1"),
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in sent.items()],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 9200),
            "state": {},
        }
        return self.loop.run_until_complete(self._call(scope, body or b""))

    async def _call(self, scope: dict[str, Any], body: bytes) -> Raw:
        pending = [{"type": "http.request", "body": body, "more_body": False}]
        finished = asyncio.Event()
        raw = Raw(0, [], b"")

        async def receive() -> dict[str, Any]:
            if pending:
                return pending.pop()
            await finished.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                raw.status = message["status"]
                raw.headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in message["headers"]]
            elif message["type"] == "http.response.body":
                raw.body += message.get("body", b"")
                if not message.get("more_body"):
                    finished.set()

        await self.app(scope, receive, send)
        if not finished.is_set():
            raise ConnectionError(f"the app ended before its answer to {scope['method']} {scope['path']} did")
        return raw

    def close(self) -> None:
        if not self.lifespan.done():
            self._lifespan("shutdown")
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()
