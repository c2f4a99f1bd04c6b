"""Following the catalogue, once per worker: join, poll each second, tend what is left to be done, leave.

Polls run one after another, each in its turn, so that a slow one delays the next and nothing else. Work that is mostly waiting
(sweeping tombstones, finishing what a dead worker left) runs beside them, one job per tenant, a few at a time. A poll that
fails is logged and tried again: meanwhile the lease runs out, and requests look for themselves.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from typing import TYPE_CHECKING

from esproxy.catalogue.cache import Cache
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import Directory
from esproxy.catalogue.names import CATALOGUE, MEMBERS
from esproxy.catalogue.store import Conflict, Steps, Store
from esproxy.errors import EsproxyError
from esproxy.exchange import GO, Need, Outcome, Procedure
from esproxy.procedures.follow import leave, poll
from esproxy.procedures.tend import busy, tend
from esproxy.serve.procedures import Procedures

if TYPE_CHECKING:
    from esproxy.serve.driver import Proxy

logger = logging.getLogger("esproxy.serve")
JOBS = 4  # tenants tended at once
FIRST_POLL = 5.0  # seconds that a start waits for it
LEAVING = 2.0


def clock() -> float:
    """Seconds that go on while the machine is suspended, where there is such a clock."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


def new_catalogue(cluster: str) -> Catalogue:
    return Catalogue(Store(cluster, CATALOGUE, MEMBERS), Cache(clock), clock, lambda: int(time.time()), lambda: uuid.uuid4().hex)


class Done:
    """Waits for one run, as a coroutine."""

    def __init__(self) -> None:
        self.future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def resumed(self, outcome: Outcome | BaseException) -> None:
        if self.future.done():
            return
        if isinstance(outcome, BaseException):
            self.future.set_exception(outcome)
        else:
            self.future.set_result(None)


class Follower:
    def __init__(self, catalogue: Catalogue, procedures: Procedures) -> None:
        self.catalogue = catalogue
        self.procedures = procedures
        self.joined = asyncio.Event()
        self.jobs: dict[str, asyncio.Task[None]] = {}
        self.task = asyncio.create_task(self.run())

    async def first_poll(self) -> None:
        """Wait for it, but not for long: a cluster that is away must not keep a worker from starting."""
        try:
            await asyncio.wait_for(self.joined.wait(), FIRST_POLL)
        except TimeoutError:
            logger.warning("the catalogue could not be followed yet")

    async def run(self) -> None:
        tended = clock()
        while True:
            began = clock()
            try:
                await self.carry_out(poll(self.catalogue))
                self.joined.set()
                if clock() - tended >= self.catalogue.lease:
                    tended = clock()
                    await self.tend_all()
            except EsproxyError as error:
                logger.warning("the catalogue could not be followed: %s", error)
            await asyncio.sleep(max(0.05, self.catalogue.times.poll - (clock() - began)))

    async def tend_all(self) -> None:
        found: list[Directory] = []

        def look() -> Steps[None]:
            found.extend((yield from busy(self.catalogue)))

        await self.carry_out(look())
        for directory in found:
            if directory.tenant not in self.jobs and len(self.jobs) < JOBS:
                self.jobs[directory.tenant] = asyncio.create_task(self.tend_one(directory))

    async def tend_one(self, directory: Directory) -> None:
        try:
            await self.carry_out(tend(self.catalogue, directory))
        except EsproxyError as error:
            logger.warning("tending a directory failed, it will be tried again: %s", error)
        finally:
            del self.jobs[directory.tenant]

    async def carry_out(self, steps: Steps[None]) -> None:
        """Run these steps as a procedure of this worker."""
        done = Done()
        run = self.procedures.find(Need(_ended(steps)))
        run.join(done)
        try:
            await done.future
        except asyncio.CancelledError:
            run.leave(done)
            raise

    async def stop(self) -> None:
        """Stop following, and say so."""
        for task in (self.task, *self.jobs.values()):
            task.cancel()
        await asyncio.gather(self.task, *self.jobs.values(), return_exceptions=True)
        try:
            await asyncio.wait_for(self.carry_out(leave(self.catalogue)), LEAVING)
        except (EsproxyError, Conflict, TimeoutError) as error:  # Conflict: a renewal was under way
            logger.warning("others will only notice after a while that this worker has left: %r", error)


def _ended(steps: Steps[None]) -> Procedure:
    yield from steps
    return GO


def follow(proxy: Proxy) -> Follower | None:
    """Begin, where the configuration can give pools."""
    pools = proxy.gateway.pools
    return Follower(pools.catalogue, proxy.procedures) if pools is not None else None
