"""A worker process: uvicorn around the data app, on a socket that the supervisor has bound.

    python -m esproxy.serve.worker LISTEN_FD CONTROL_FD

Started by the supervisor alone. Settings come over the control socket (``control.py``), so that all workers and the
supervisor have the same, secrets included. SIGTERM, the word "drain" and the end of the supervisor mean the same: stop
accepting, tell clients to close their connections with their next answer, finish what is in flight up to
``listen.drain_timeout``, end.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from esproxy.config import Listen, read_from_supervisor
from esproxy.serve.asgi import DataApp
from esproxy.serve.control import Line, read_settings
from esproxy.serve.driver import Proxy
from esproxy.serve.logs import configure
from esproxy.serve.protocol import protocol

logger = logging.getLogger("esproxy.serve")
REPORT_EVERY = 1.0  # seconds
LINGER = 0.5  # seconds that idle clients have to come once more and be told that the connection ends


class WorkerServer(uvicorn.Server):
    """Takes its orders from the control socket instead of signals."""

    def __init__(self, config: uvicorn.Config, app: DataApp, control: socket.socket) -> None:
        super().__init__(config)
        self.app = app
        self.control = control
        self.line: Line | None = None
        self.proxy: Proxy | None = None
        self.tasks: list[asyncio.Task[None]] = []
        self.drains = False

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.proxy = self.app.proxy
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.drain)
        self.line = await Line.on(self.control)
        self.line.say(**{"is": "ready"})
        self.tasks = [asyncio.create_task(self.follow()), asyncio.create_task(self.report_on())]

    async def follow(self) -> None:
        while (message := await self.line.hear()) is not None:
            if message["do"] == "drain":
                self.drain()
        if not self.drains:
            logger.warning("the supervisor is gone")
            self.drain()

    async def report_on(self) -> None:
        while True:
            await asyncio.sleep(REPORT_EVERY)
            self.report()

    def report(self) -> None:
        self.line.say(**{"is": "report"}, **self.proxy.report())

    def drain(self) -> None:
        if not self.drains:
            self.drains = True
            self.tasks.append(asyncio.create_task(self.stop_accepting()))

    async def stop_accepting(self) -> None:
        self.app.draining = True
        for server in self.servers:
            server.close()
        deadline = time.monotonic() + LINGER
        while self.server_state.connections and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.report()
        await self.line.close()


def server_config(app: DataApp, listen: Listen) -> uvicorn.Config:
    """How data is served. ``proxy_headers`` is off: who the peer is decides whose tenant header is believed."""
    return uvicorn.Config(
        app,
        loop="uvloop",
        http=protocol if listen.shell == "protocol" else "httptools",  # type: ignore[arg-type]  # any callable will do
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=listen.keep_alive,  # type: ignore[arg-type]
        timeout_graceful_shutdown=listen.drain_timeout,  # type: ignore[arg-type]
    )


def main(arguments: list[str]) -> None:
    listening = socket.socket(fileno=int(arguments[0]))
    control = socket.socket(fileno=int(arguments[1]))
    for number in (signal.SIGINT, signal.SIGHUP):  # the terminal's are for the supervisor
        signal.signal(number, signal.SIG_IGN)
    settings = read_from_supervisor(read_settings(control))
    configure(settings.log)
    app = DataApp(settings=settings)
    WorkerServer(server_config(app, settings.listen), app, control).run(sockets=[listening])


if __name__ == "__main__":
    main(sys.argv[1:])
