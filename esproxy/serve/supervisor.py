"""``esproxy serve``: the process that owns the sockets, the workers and the admin port.

    start     bind both ports, start a generation of workers, wait until all are ready
    SIGHUP    read the configuration again; if it is good, start a new generation, then drain the old one; if not, say why and
    go on SIGTERM   (SIGINT) fail /-/ready, wait ``listen.drain_delay``, stop accepting, drain the workers, end; a second one
    kills them SIGKILL   workers see the end of their control socket, and drain and end by themselves

Requests are never handed over: old and new workers accept from the same socket, so nothing is refused in between.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import uvicorn

from esproxy.admin.app import admin_app
from esproxy.admin.metrics import Totals
from esproxy.admin.probe import Probe
from esproxy.admin.status import Status
from esproxy.config import ConfigError, Settings, warnings, with_keys
from esproxy.serve.child import Child, Generation, bind

logger = logging.getLogger("esproxy.serve")
FAILED_TO_START = 3  # exit status


class AdminServer(uvicorn.Server):
    """Leaves signals to the supervisor."""

    def capture_signals(self) -> Any:
        return nullcontext()


class Supervisor:
    """``read`` makes settings from file, environment and flags; it is called at each reload and raises ConfigError."""

    def __init__(self, settings: Settings, read: Callable[[], Settings]) -> None:
        self.warnings = warnings(settings)
        self.settings = with_keys(settings)
        self.read = read
        self.totals = Totals()
        self.probe = Probe()
        self.listening: socket.socket | None = None
        self.generation: Generation | None = None
        self.draining: list[asyncio.Task[None]] = []  # old generations on their way out
        self.stop = asyncio.Event()
        self.stopping = False
        self.reloading: asyncio.Task[None] | None = None
        self.reload_again = False
        self.restarts = 0  # of generations that are gone
        self.last_reload_good = True
        self.last_good_reload = time.time()

    async def run(self) -> int:
        """Until a signal ends it. Returns the exit status."""
        listen = self.settings.listen
        try:
            self.listening = bind(listen.host, listen.port)
            admin_socket = bind(listen.admin_host, listen.admin_port) if listen.admin_port else None
        except OSError as error:
            logger.error("cannot listen on %s:%d or the admin port: %s", listen.host, listen.port, error.strerror or error)
            return FAILED_TO_START
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.told_to_stop)
        loop.add_signal_handler(signal.SIGHUP, self.told_to_reload)
        for warning in self.warnings:
            logger.warning("%s", warning)
        self.probe.follow(self.settings)
        admin = AdminServer(admin_config(self))
        serving = asyncio.create_task(admin.serve([admin_socket])) if admin_socket is not None else None
        try:
            return await self.serve()
        finally:
            admin.should_exit = True
            if serving is not None:
                await serving
            await self.probe.aclose()

    async def serve(self) -> int:
        self.generation = Generation(self.settings, self.listening, self.heard)
        started = asyncio.create_task(self.generation.is_ready())
        stopped = asyncio.create_task(self.stop.wait())
        await asyncio.wait([started, stopped], return_when=asyncio.FIRST_COMPLETED)
        if started.done() and not started.result():
            stopped.cancel()
            await self.end()
            return FAILED_TO_START
        if started.done():
            host, port = self.listening.getsockname()[:2]
            logger.info("serving on http://%s:%d", f"[{host}]" if ":" in host else host, port)
        else:
            started.cancel()
        await stopped
        self.stopping = True
        logger.info("stopping: requests in flight have %g seconds", self.settings.listen.drain_timeout)
        await asyncio.sleep(self.settings.listen.drain_delay)
        await self.end()
        return 0

    async def end(self) -> None:
        self.listening.close()
        if self.reloading is not None:
            await self.reloading
        await asyncio.gather(self.generation.stop(), *self.draining)

    # --- signals -----------------------------------------------------------------------------------

    def told_to_stop(self) -> None:
        if self.stop.is_set():
            logger.warning("told to stop again: workers are killed")
            self.generation.kill()
        self.stop.set()

    def told_to_reload(self) -> None:
        if self.stopping or self.generation is None:
            return
        if self.reloading is not None:
            self.reload_again = True
        else:
            self.reloading = asyncio.create_task(self.reload())

    async def reload(self) -> None:
        try:
            self.reload_again = True
            while self.reload_again and not self.stopping:
                self.reload_again = False
                self.last_reload_good = await self.reload_once()
                if self.last_reload_good:
                    self.last_good_reload = time.time()
        finally:
            self.reloading = None

    async def reload_once(self) -> bool:
        """True when new workers with the new settings have taken over."""
        try:
            settings = self.read()
        except ConfigError as error:
            logger.error("the configuration is not reloaded: %s", "; ".join(map(str, error.problems)))
            return False
        if not settings.secrets.keys:
            settings = settings.model_copy(update={"secrets": self.settings.secrets})
        for name in ("host", "port", "admin_host", "admin_port"):
            if getattr(settings.listen, name) != getattr(self.settings.listen, name):
                logger.error("the configuration is not reloaded: listen.%s has changed, which needs a restart", name)
                return False
        generation = Generation(settings, self.listening, self.heard)
        if not await generation.is_ready():
            logger.error("the configuration is not reloaded: its workers do not start; the old ones go on")
            await generation.stop()
            return False
        old, self.generation, self.settings = self.generation, generation, settings
        self.restarts += old.restarts
        self.probe.follow(settings)
        retiring = asyncio.create_task(old.stop())
        self.draining.append(retiring)
        retiring.add_done_callback(self.draining.remove)
        logger.info("the configuration is reloaded")
        return True

    # --- what the admin port shows --------------------------------------------------------------------

    def heard(self, child: Child, message: dict[str, Any]) -> None:
        if message["is"] == "report":
            self.totals.add(message)

    def status(self) -> Status:
        generation = self.generation
        children = [] if generation is None else generation.children()
        return Status(
            stopping=self.stopping or self.stop.is_set(),
            workers_ready=len(children),
            workers_wanted=self.settings.listen.workers,
            restarts=self.restarts + (0 if generation is None else generation.restarts),
            last_reload_good=self.last_reload_good,
            last_good_reload=self.last_good_reload,
            reports=[child.report for child in children if child.report],
            nodes=self.probe.nodes(),
        )


def admin_config(supervisor: Supervisor) -> uvicorn.Config:
    app = admin_app(supervisor.status, supervisor.totals)
    return uvicorn.Config(
        app, http="httptools", ws="none", lifespan="off", log_config=None, access_log=False, server_header=False
    )
