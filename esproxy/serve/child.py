"""Worker processes as the supervisor sees them: one child, one slot that always has a child, a generation of slots.

    Child        STARTING ── "ready" ──▶ READY ── drain ──▶ DRAINING ──▶ ENDED         any state ── crash, kill ──▶ ENDED
    Slot         starts a child, and another one when it ends unasked, later and later
    Generation   as many slots as workers are configured, all with the same settings; a reload makes a new one

A child that says nothing for SILENCE seconds is killed: its loop hangs, and so do its clients.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from esproxy.config import Settings, dump_for_worker
from esproxy.serve.control import Line, pack_settings

logger = logging.getLogger("esproxy.serve")
SILENCE = 30.0  # seconds
GRACE = 3.0  # seconds above the drain timeout before a worker is killed
FIRST_DELAY, LAST_DELAY = 0.1, 10.0  # seconds before a crashed worker is started again
HEALTHY_AFTER = 30.0  # seconds after which a crash is not held to be the last one's
TRIES = 3  # crashes before it was ever ready, after which a slot gives up

Heard = Callable[["Child", dict[str, Any]], None]


class Child:
    """One worker process."""

    def __init__(self, process: subprocess.Popen[bytes], line: Line, patience: float, heard: Heard) -> None:
        self.process = process
        self.patience = patience
        self.line = line
        self.heard = heard
        self.ready = asyncio.Event()
        self.draining = False
        self.last_heard = time.monotonic()
        self.report: dict[str, Any] = {}
        self.ended = asyncio.create_task(self.listen())

    @classmethod
    async def start(cls, settings: Settings, listening: socket.socket, heard: Heard) -> Child:
        ours, theirs = socket.socketpair()
        fds = (listening.fileno(), theirs.fileno())
        # -P: not what lies where it is started, a checkout without its compiled core for one
        command = [sys.executable, "-P", "-m", "esproxy.serve.worker", *map(str, fds)]
        try:
            # A process group of its own: Ctrl-C in a terminal is for the supervisor.
            process = subprocess.Popen(command, pass_fds=fds, stdin=subprocess.DEVNULL, process_group=0)
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        line = await Line.on(ours)
        line.writer.write(pack_settings(dump_for_worker(settings)))
        return cls(process, line, settings.listen.drain_timeout + GRACE, heard)

    @property
    def pid(self) -> int:
        return self.process.pid

    async def listen(self) -> int:
        """Until the process has ended; its exit status."""
        while (message := await self.line.hear()) is not None:
            self.last_heard = time.monotonic()
            if message["is"] == "ready":
                self.ready.set()
            else:
                self.report = message
            self.heard(self, message)
        await self.line.close()
        deadline = time.monotonic() + self.patience
        while (status := self.process.poll()) is None:
            await asyncio.sleep(0.01)
            if time.monotonic() > deadline:
                self.kill()
        self.report = {}
        return status

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()

    async def drain(self) -> None:
        """Let it finish what is in flight; kill it when that takes too long."""
        self.draining = True
        self.line.say(do="drain")
        try:
            await asyncio.wait_for(asyncio.shield(self.ended), self.patience)
        except TimeoutError:
            logger.error("worker %d did not end in %g seconds and is killed", self.pid, self.patience)
            self.kill()
            await self.ended


class Slot:
    """A place for a worker, filled again whenever its worker ends unasked."""

    def __init__(self, generation: Generation) -> None:
        self.generation = generation
        self.child: Child | None = None
        self.ready = asyncio.Event()
        self.stopping = False
        self.task = asyncio.create_task(self.keep())

    async def keep(self) -> None:
        """Returns when it is told to stop, or gives up."""
        crashes = 0
        while not self.stopping:
            generation = self.generation
            born = time.monotonic()
            try:
                self.child = child = await Child.start(generation.settings, generation.listening, self.heard)
            except OSError as error:
                logger.error("a worker cannot be started: %s", error)
            else:
                watch = asyncio.create_task(self.watch(child))
                status = await child.ended
                watch.cancel()
                if self.stopping:
                    break
                logger.error("worker %d ended with status %d", child.pid, status)
                generation.restarts += 1
            crashes = 1 if time.monotonic() - born > HEALTHY_AFTER else crashes + 1
            if not self.ready.is_set() and crashes >= TRIES:
                logger.error("a worker failed %d times before it was ready", crashes)
                return
            await asyncio.sleep(min(FIRST_DELAY * 2 ** (crashes - 1), LAST_DELAY))

    def heard(self, child: Child, message: dict[str, Any]) -> None:
        if message["is"] == "ready":
            logger.info("worker %d is ready", child.pid)
            self.ready.set()
        self.generation.heard(child, message)

    async def watch(self, child: Child) -> None:
        while True:
            await asyncio.sleep(1)
            if time.monotonic() - child.last_heard > SILENCE:
                logger.error("worker %d has said nothing for %g seconds and is killed", child.pid, SILENCE)
                child.kill()
                return

    async def stop(self) -> None:
        self.stopping = True
        child = self.child
        if child is not None and not child.ended.done():
            await child.drain()
        elif not self.task.done():
            self.task.cancel()  # it waits to start another one
        await asyncio.gather(self.task, return_exceptions=True)
        if self.child is not child and self.child is not None:  # started between two of our steps
            await self.child.drain()


class Generation:
    """All workers with the same settings."""

    def __init__(self, settings: Settings, listening: socket.socket, heard: Heard) -> None:
        self.settings = settings
        self.listening = listening
        self.heard = heard
        self.restarts = 0
        self.slots = [Slot(self) for _ in range(settings.listen.workers)]

    async def is_ready(self) -> bool:
        """Wait until all workers have been ready once. False: one of them gave up."""
        ready = [asyncio.create_task(slot.ready.wait()) for slot in self.slots]
        over = [slot.task for slot in self.slots]
        try:
            while not all(slot.ready.is_set() for slot in self.slots):
                await asyncio.wait([task for task in (*ready, *over) if not task.done()], return_when=asyncio.FIRST_COMPLETED)
                if any(slot.task.done() for slot in self.slots):
                    return False
            return True
        finally:
            for task in ready:
                task.cancel()

    def children(self) -> list[Child]:
        """Those that take requests."""
        children = [slot.child for slot in self.slots if slot.child is not None]
        return [child for child in children if child.ready.is_set() and not child.draining and not child.ended.done()]

    async def stop(self) -> None:
        await asyncio.gather(*(slot.stop() for slot in self.slots))

    def kill(self) -> None:
        for slot in self.slots:
            slot.stopping = True
            if slot.child is not None:
                slot.child.kill()


def bind(host: str, port: int) -> socket.socket:
    """A listening socket. Raises OSError."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0 if host == "::" else 1)
        listening.bind(address)
        listening.listen(2048)
        os.set_inheritable(listening.fileno(), False)
    except BaseException:
        listening.close()
        raise
    return listening
