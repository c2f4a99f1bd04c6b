"""A random scheduler for procedures: proxies, their clients, one model node, and time.

Everything that can happen next is an action; the seed picks one at a time. A task's call is *sent*, *begun* at the node,
*ended* there, and *delivered*, each an action of its own, so calls overlap in every way. A call may be lost before the node
or after it, or reach the node long after its sender was told it failed. A proxy may stop (none of its tasks moves, time goes
on) or be killed.

Time stands still except in ticks. When nothing else can happen it jumps to the next wait's end.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

from esproxy.catalogue.cache import Cache
from esproxy.catalogue.context import Caps, Catalogue, Times
from esproxy.catalogue.names import CATALOGUE, MEMBERS
from esproxy.catalogue.store import Store
from esproxy.errors import EsproxyError, Failed
from esproxy.exchange import Answer, Call, Wait
from tests.schedules.model import Locked, Node

TIMES = Times(lease=4.0, poll=1.3, look=0.7, grace=3.0, drift=1.05)


@dataclass(slots=True)
class Chances:
    """Of each kind of trouble, per chance to happen."""

    lost: float = 0.004
    unanswered: float = 0.006
    late: float = 0.006
    stop: float = 0.002
    kill: float = 0.0006
    tick: float = 0.04
    leap: float = 0.004
    slow: float = 0.008  # a call takes up to three leases, before the node, at it or after it
    lag: float = 0.5  # how readily a begun write is left under way
    drag: float = 0.0  # a change of the catalogue stays under way for up to a lease
    data_slow: float = 0.0  # a call of a client's own takes up to ten leases to reach the node
    forget: float = 0.0  # a proxy's cache is emptied


CALM = Chances(lost=0, unanswered=0, late=0, stop=0, kill=0, slow=0)


@dataclass(slots=True, eq=False)
class Flight:
    """A call between its sender and the node."""

    call: Call
    task: Task | None  # None: nobody waits for it any more
    ending: Callable[[], Answer] | None = None
    answer: Answer | None = None
    not_before: float = 0.0
    fresh: bool = True


@dataclass(slots=True, eq=False)
class Task:
    name: str
    proxy: Proxy
    steps: Generator[Any, Any, Any]
    ready: Any = None  # what to send in
    failure: BaseException | None = None
    runnable: bool = True
    due: float | None = None
    done: bool = False


@dataclass(slots=True, eq=False)
class Proxy:
    name: str
    cat: Catalogue
    stopped_until: float | None = None
    alive: bool = True
    tasks: list[Task] = field(default_factory=list)


class World:
    def __init__(self, seed: int, chances: Chances | None = None, caps: Caps | None = None) -> None:
        self.random = random.Random(seed)
        self.chances = chances or Chances()
        self.caps = caps or Caps()
        self.node = Node()
        self.time = 1000.0
        self.step = 0
        self.uuids = 0
        self.proxies: list[Proxy] = []
        self.tasks: list[Task] = []
        self.flights: list[Flight] = []
        self.on_death: Callable[[Proxy], None] = lambda proxy: None
        self.trace: list[str] | None = None

    # --- who there is ------------------------------------------------------------------------------------

    def proxy(self) -> Proxy:
        cat = Catalogue(
            store=Store("main", CATALOGUE, MEMBERS),
            cache=Cache(lambda: self.time),
            clock=lambda: self.time,
            epoch_seconds=lambda: 1_000_000,
            new_id=self.new_id,
            times=TIMES,
            caps=self.caps,
        )
        proxy = Proxy(f"p{len(self.proxies)}", cat)
        self.proxies.append(proxy)
        return proxy

    def new_id(self) -> str:
        self.uuids += 1
        return f"u{self.uuids}"

    def start(self, proxy: Proxy, name: str, steps: Generator[Any, Any, Any]) -> Task:
        task = Task(name, proxy, steps)
        proxy.tasks.append(task)
        self.tasks.append(task)
        return task

    def kill(self, proxy: Proxy) -> None:
        proxy.alive = False
        for task in proxy.tasks:
            if not task.done:
                task.done = True
                task.steps.close()
        for flight in self.flights:
            if flight.task is not None and flight.task.proxy is proxy:
                flight.task = None
        self.tasks = [t for t in self.tasks if t.proxy is not proxy]
        self.on_death(proxy)

    # --- what happens --------------------------------------------------------------------------------------

    def run(self, until: Callable[[], bool], limit: int = 60_000) -> None:
        end = self.step + limit
        while not until():
            if self.step >= end:
                raise AssertionError(f"no end after {limit} steps: {[t.name for t in self.tasks]}")
            self.step += 1
            self.happen()

    def happen(self) -> None:
        roll = self.random.random
        if roll() < self.chances.tick:
            self.time += roll() * 0.5
        if roll() < self.chances.leap:
            self.time += roll() * 2 * TIMES.lease
        self.trouble()
        for task in self.tasks:
            if task.due is not None and task.due <= self.time:
                task.due, task.runnable = None, True
        movable = [t for t in self.tasks if t.runnable and t.proxy.stopped_until is None]
        flying = [f for f in self.flights if f.not_before <= self.time]
        choices = len(movable) + len(flying)
        if choices == 0:
            dues = [t.due for t in self.tasks if t.due is not None]
            dues += [p.stopped_until for p in self.proxies if p.stopped_until is not None]
            dues += [f.not_before for f in self.flights]
            if dues:
                self.time = max(self.time, min(dues))
            return
        pick = self.random.randrange(choices)
        if pick < len(movable):
            self.move(movable[pick])
        else:
            self.fly(flying[pick - len(movable)])

    def trouble(self) -> None:
        roll = self.random.random
        for proxy in self.proxies:
            if not proxy.alive:
                continue
            if proxy.stopped_until is not None:
                if proxy.stopped_until <= self.time:
                    proxy.stopped_until = None
            elif roll() < self.chances.stop:
                proxy.stopped_until = self.time + roll() * 3 * TIMES.lease
            elif roll() < self.chances.kill:
                self.kill(proxy)
            elif self.chances.forget and roll() < self.chances.forget:
                proxy.cat.cache.docs.clear()

    def move(self, task: Task) -> None:
        value, failure = task.ready, task.failure
        task.ready, task.failure, task.runnable = None, None, False
        try:
            step = task.steps.throw(failure) if failure is not None else task.steps.send(value)
        except StopIteration:
            task.done = True
        except EsproxyError as error:
            raise AssertionError(f"{task.name} let an error out: {error!r}") from error
        else:
            self.take(task, step)
        if task.done:
            self.tasks.remove(task)

    def take(self, task: Task, step: Any) -> None:
        if self.trace is not None:
            what = f"{step.send.method} {step.send.target.decode()}" if isinstance(step, Call) else repr(step)
            self.trace.append(f"{self.step} t={self.time:.2f} {task.proxy.name} {task.name}: {what}")
        match step:
            case Wait():
                task.due = self.time + step.seconds
            case Call():
                self.flights.append(Flight(step, task))
            case _:
                raise AssertionError(f"a procedure yielded {step!r}")

    def fly(self, flight: Flight) -> None:
        """Take a call one stage further: to the node, through it, back."""
        roll = self.random.random
        if roll() < self.chances.slow:
            flight.not_before = self.time + roll() * 3 * TIMES.lease
        elif flight.fresh and flight.call.send.target.startswith(b"/pool~") and roll() < self.chances.data_slow:
            flight.fresh = False
            flight.not_before = self.time + roll() * 10 * TIMES.lease
        elif flight.answer is not None:
            self.land(flight, flight.answer)
        elif flight.ending is not None:
            flight.answer = flight.ending()
        elif flight.task is not None and roll() < self.chances.late:
            self.deliver(flight.task, Failed("no answer"))
            flight.task = None
        elif flight.task is not None and roll() < self.chances.lost:
            self.flights.remove(flight)
            self.deliver(flight.task, Failed("no connection"))
        else:
            self.begin(flight)

    def begin(self, flight: Flight) -> None:
        try:
            result = self.node.begin(flight.call.send)
        except Locked:
            return
        if isinstance(result, Answer):
            flight.answer = result
        else:
            flight.ending = result
            if CATALOGUE.encode() in flight.call.send.target and self.random.random() < self.chances.drag:
                flight.not_before = self.time + self.random.random() * TIMES.lease
            elif self.random.random() > self.chances.lag:
                flight.answer = result()

    def land(self, flight: Flight, answer: Answer) -> None:
        self.flights.remove(flight)
        if flight.task is None:
            return
        if self.random.random() < self.chances.unanswered:
            self.deliver(flight.task, Failed("broken"))
        else:
            self.deliver(flight.task, answer)

    def deliver(self, task: Task, what: Answer | BaseException) -> None:
        if isinstance(what, Answer):
            task.ready = what
        else:
            task.failure = what
        task.runnable = True
