"""Following the catalogue, once per worker: join, poll each second, tend what is left to be done, leave.

Polls run one after another, each in its turn, and nothing else delays them. Beside them a second task looks once a lease for
what is left to be done; work that is mostly waiting (sweeping tombstones, finishing what a dead worker left) is a job per
tenant, a few at a time, and every few minutes the worker that leads looks after the pools and audits. Whatever fails is logged
and tried again: while polls fail the lease runs out, and requests look for themselves.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from functools import partial

from esproxy.catalogue.cache import Cache
from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.documents import Directory
from esproxy.catalogue.names import CATALOGUE, MEMBERS
from esproxy.catalogue.store import Steps, Store
from esproxy.errors import EsproxyError
from esproxy.pools.pooled import Pools
from esproxy.procedures.follow import leave, poll
from esproxy.procedures.tend import busy, tend, upkeep
from esproxy.serve.procedures import Procedures, carry_out

logger = logging.getLogger("esproxy.serve")
JOBS = 16  # tenants tended at once
FIRST_POLL = 5.0  # seconds that a start waits for it
LEAVING = 2.0


# Seconds that go on while the machine is suspended, where there is such a clock. It is asked several times for each request.
clock = partial(time.clock_gettime, time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic


def new_catalogue(cluster: str) -> Catalogue:
    return Catalogue(Store(cluster, CATALOGUE, MEMBERS), Cache(clock), clock, lambda: int(time.time()), lambda: uuid.uuid4().hex)


class Follower:
    def __init__(self, catalogue: Catalogue, procedures: Procedures) -> None:
        self.catalogue = catalogue
        self.procedures = procedures
        self.joined = asyncio.Event()
        self.jobs: dict[str, asyncio.Task[None]] = {}  # by tenant
        self.keeping: asyncio.Task[None] | None = None  # upkeep under way
        self.kept = clock()  # when it last began, here or, as far as this worker knows, elsewhere
        self.tasks = [asyncio.create_task(self.follow()), asyncio.create_task(self.tend())]

    async def first_poll(self) -> None:
        """Wait for it, but not for long: a cluster that is away must not keep a worker from starting."""
        try:
            await asyncio.wait_for(self.joined.wait(), FIRST_POLL)
        except TimeoutError:
            logger.warning("the catalogue could not be followed yet")

    async def follow(self) -> None:
        while True:
            began = clock()
            if await self.tried("the catalogue could not be followed", poll(self.catalogue)):
                self.joined.set()
            await asyncio.sleep(max(0.05, self.catalogue.times.poll - (clock() - began)))

    async def tend(self) -> None:
        while True:
            await asyncio.sleep(self.catalogue.lease)
            if self.catalogue.cache.held():
                await self.tried("what is left to be done could not be looked up", self.start_jobs())
                self.start_upkeep()

    def start_jobs(self) -> Steps[None]:
        for directory in (yield from busy(self.catalogue)):
            if directory.tenant not in self.jobs and len(self.jobs) < JOBS:
                self.jobs[directory.tenant] = asyncio.create_task(self.tend_one(directory))

    async def tend_one(self, directory: Directory) -> None:
        try:
            await self.tried("tending a directory failed", tend(self.catalogue, directory))
        finally:
            del self.jobs[directory.tenant]

    def start_upkeep(self) -> None:
        """Begin upkeep when it is time and this worker leads. One that does not lead counts from when it last did not."""
        if not self.catalogue.members.leads():
            self.kept = clock()
        elif clock() - self.kept >= self.catalogue.times.upkeep and (self.keeping is None or self.keeping.done()):
            self.kept = clock()
            self.keeping = asyncio.create_task(self.keep())

    async def keep(self) -> None:
        await self.tried("the pools could not be looked after", upkeep(self.catalogue))

    async def tried(self, otherwise: str, steps: Steps[None]) -> bool:
        """Run these steps. A failure is logged, and the task that wanted them goes on: it will want them again."""
        try:
            await carry_out(self.procedures, steps)
        except EsproxyError as error:
            logger.warning("%s: %s", otherwise, error)
        except Exception:
            logger.exception("%s, for a reason that is a defect", otherwise)
        else:
            return True
        return False

    async def stop(self) -> None:
        """Stop following, and say so."""
        tasks = [*self.tasks, *self.jobs.values(), *([self.keeping] if self.keeping is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        try:
            await asyncio.wait_for(carry_out(self.procedures, leave(self.catalogue)), LEAVING)
        except (EsproxyError, TimeoutError) as error:  # a Conflict among them: a renewal was under way
            logger.warning("others will only notice after a while that this worker has left: %r", error)


def follow(pools: Pools | None, procedures: Procedures) -> Follower | None:
    """Begin, where the configuration can give pools."""
    return Follower(pools.catalogue, procedures) if pools is not None else None
