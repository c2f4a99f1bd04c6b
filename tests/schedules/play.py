"""One schedule: proxies that follow and tend, clients that play, then quiet until everything is swept; and its judgement."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import Any

from esproxy.catalogue.context import Caps
from esproxy.errors import EsproxyError, Failed
from esproxy.exchange import Wait
from esproxy.procedures import audit as auditing
from esproxy.procedures import follow, tend
from tests.schedules.checker import Watcher, disagreements, violations
from tests.schedules.clients import (
    History,
    close_index,
    create_index,
    delete_index,
    record,
    reopen_index,
    search,
    set_alias,
    write,
)
from tests.schedules.world import CALM, TIMES, Chances, Proxy, Task, World

Script = list[tuple[Any, ...]]


class Stage:
    def __init__(self, seed: int, chances: Chances | None = None, proxies: int = 2, caps: Caps | None = None) -> None:
        self.world = World(seed, chances, caps)
        self.history = History()
        self.watcher = Watcher(self.world)
        self.world.node.applied.append(self.watcher)
        self.values = 0
        self.pool_drops = 0.3
        self.warm = self.world.random.random() < 0.8
        self.world.on_death = lambda proxy: self.enter()
        for _ in range(proxies):
            self.enter()
        self.late_comers = 0  # proxies that join while the clients play

    def enter(self) -> Proxy:
        proxy = self.world.proxy()
        self.world.start(proxy, "follow", self.follow(proxy))
        self.world.start(proxy, "tend", self.tend(proxy))
        return proxy

    # --- what a worker does by itself --------------------------------------------------------------------

    def follow(self, proxy: Proxy) -> Generator[Any, Any, Any]:
        while True:
            try:
                yield from follow.poll(proxy.cat)
            except Failed:
                pass  # the lease runs out meanwhile
            yield Wait(TIMES.poll)

    def tend(self, proxy: Proxy) -> Generator[Any, Any, Any]:
        while True:
            yield Wait(TIMES.lease)
            try:
                for directory in (yield from tend.busy(proxy.cat)):
                    yield from tend.tend(proxy.cat, directory)
                if self.world.random.random() < self.pool_drops:
                    yield from tend.tend_pools(proxy.cat)
            except Failed:
                pass

    # --- what clients do -----------------------------------------------------------------------------------

    def live(self) -> Proxy:
        return self.world.random.choice([p for p in self.world.proxies if p.alive])

    def op(self, kind: str, name: str, proxy: Proxy, arg: Any = None) -> Generator[Any, Any, Any]:
        cat = proxy.cat
        match kind:
            case "wait":
                return _wait(arg)
            case "write":
                self.values += 1
                arg = f"v{self.values}"
                steps = write(cat, name, arg)
            case "search":
                steps = search(cat, name)
            case "create":
                steps = create_index(cat, name)
            case "delete":
                steps = delete_index(cat, name)
            case "close":
                steps = close_index(cat, name)
            case "reopen":
                steps = reopen_index(cat, name)
            case "alias":
                steps = set_alias(cat, name, arg)
            case _:
                raise AssertionError(kind)
        return record(self.world, self.history, kind, name, steps, arg, proxy.name)

    def play(self, scripts: list[Script], limit: int = 60_000) -> list[str]:
        """Each script is a client: (kind, name[, arg[, proxy]]) one after another. Returns what is wrong."""
        if self.warm:
            self.warm_up(limit)
        running: list[tuple[Script, Task | None]] = [(list(s), None) for s in scripts]

        def finished() -> bool:
            for at, (script, task) in enumerate(running):
                if task is not None and not task.done:
                    continue
                if script:
                    kind, name, arg, which = (*script.pop(0), None, None)[:4]
                    alive = [p for p in self.world.proxies if p.alive]
                    proxy = alive[which % len(alive)] if which is not None else self.live()
                    task = self.world.start(proxy, f"{kind} {name}", self.op(kind, name, proxy, arg))
                    running[at] = (script, task)
                else:
                    running[at] = (script, None)
            return all(task is None for _, task in running)

        for _ in range(self.late_comers):
            self.world.run(partial(self.reached, self.world.step + self.world.random.randrange(300), finished), limit)
            self.enter()
        self.world.run(finished, limit)
        self.quieten(limit)
        return violations(self.history, self.watcher) + disagreements(self.world.node, self.history, self.watcher)

    def reached(self, step: int, finished: Callable[[], bool]) -> bool:
        return self.world.step >= step or finished()

    def warm_up(self, limit: int) -> None:
        """Begin when all have settled; the schedules that do not are about joining."""
        chances, self.world.chances = self.world.chances, CALM
        self.world.run(lambda: all(p.cat.cache.held() for p in self.world.proxies), limit)
        self.world.chances = chances

    def quieten(self, limit: int) -> None:
        """No more trouble; let late calls land, then sweep and audit until nothing is left."""
        world = self.world
        world.chances = CALM
        for flight in world.flights:
            flight.not_before = 0.0
        for proxy in world.proxies:
            proxy.stopped_until = None
        for proxy in world.proxies:
            if proxy.alive:
                for task in proxy.tasks:
                    if task.name == "tend":
                        task.done = True
                        task.steps.close()
        world.tasks = [t for t in world.tasks if not t.done]
        for flight in world.flights:
            if flight.task is not None and flight.task.done:
                flight.task = None
        proxy = self.live()
        end = world.start(proxy, "last", self.last(proxy))
        world.run(lambda: end.done, limit)

    def last(self, proxy: Proxy) -> Generator[Any, Any, Any]:
        yield Wait(TIMES.lease * 2.5)
        for _ in range(6):
            try:
                found = yield from tend.busy(proxy.cat)
                for directory in found:
                    yield from tend.tend(proxy.cat, directory)
                yield from auditing.audit(proxy.cat)
                if not found:
                    return
            except EsproxyError:
                pass
            yield Wait(TIMES.lease)


def _wait(seconds: float) -> Generator[Any, Any, Any]:
    yield Wait(seconds)
