"""Plays one test on one target, step by step.

A call that fails fails the test, unless ``catch`` says how it must fail: ``missing`` and its like are statuses, ``request`` any
error, ``param`` one that a client makes itself and never sends (so it is not sent here either), a pattern is found in the answer,
and any other word is the type of an exception, found in it too. ``ignore`` lists statuses that are as good. ``warnings`` must all
be there; others may be. Teardowns are played whatever the test did, and how they end says nothing about it.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.conformance.assertions import ASSERTIONS, pattern
from tests.conformance.calls import Definitions, Request
from tests.conformance.conditions import About, Skipped, check
from tests.conformance.reading import Test
from tests.conformance.values import ABSENT, Failed, Stash, Unplayable, at, listed, shown
from tests.conformance.wire import Answer, Target

STATUSES = {
    "bad_request": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "missing": 404,
    "request_timeout": 408,
    "conflict": 409,
    "unavailable": 503,
}
OPTIONS = {"catch", "headers", "warnings", "warnings_regex", "allowed_warnings", "allowed_warnings_regex", "node_selector"}
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
Watch = Callable[[Request, Answer], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a test ended: ``pass``, ``fail``, ``skip``, or ``unplayable`` where the player is at fault."""

    key: str
    status: str
    reason: str
    seconds: float
    calls: int

    def __str__(self) -> str:
        return f"{self.status:<11}{self.key}  {self.seconds:.2f} s  {self.reason}".rstrip()


class Player:
    """``watch`` sees every request of tests with its answer."""

    def __init__(self, target: Target, definitions: Definitions, about: About, watch: Watch | None = None) -> None:
        self.target, self.definitions, self.about, self.watch = target, definitions, about, watch
        self.stash, self.last = Stash(), None  # type: Stash, Answer | None

    def play(self, test: Test) -> Outcome:
        self.stash, self.last = Stash(), None
        began, before = time.monotonic(), self.target.calls
        status, reason = "pass", ""
        try:
            for step in [*test.setup, *test.steps]:
                self.step(step)
        except Skipped as skipped:
            status, reason = "skip", str(skipped)
        except Failed as failed:
            status, reason = "fail", str(failed)
        except Unplayable as unplayable:
            status, reason = "unplayable", str(unplayable)
        self._tear_down(test)
        return Outcome(test.key, status, reason, round(time.monotonic() - began, 3), self.target.calls - before)

    def _tear_down(self, test: Test) -> None:
        try:
            for step in test.teardown:
                self.step(step)
        except (Skipped, Failed):
            return  # what could not be removed is the business of whoever empties the target

    def step(self, step: dict[str, Any]) -> None:
        for word, argument in step.items():
            if word == "do":
                self.call(dict(argument))
            elif word == "skip":
                check(argument, self.about)
            elif word == "set":
                self._set(argument)
            elif word in ASSERTIONS:
                ASSERTIONS[word](self._answer().body, argument, self.stash)
            else:
                raise Unplayable(f"unknown step {word}")

    def _answer(self) -> Answer:
        if self.last is None:
            raise Unplayable("an assertion before any call")
        return self.last

    def _set(self, argument: dict[str, str]) -> None:
        for path, name in argument.items():
            value = at(self._answer().body, path, self.stash)
            if value is ABSENT:
                raise Failed(f"set {path}: absent")
            self.stash[name] = value

    def call(self, argument: dict[str, Any]) -> None:
        options = {name: argument.pop(name) for name in OPTIONS & argument.keys()}
        if not argument:
            raise Unplayable("do without a call")
        name, arguments = list(argument.items())[-1]  # where several stand by a slip, the suite's own runner takes the last
        arguments = self.stash.fill(arguments or {})
        ignored = {int(status) for status in listed(arguments.pop("ignore", None))}
        headers = {key: str(self.stash.fill(value)) for key, value in (options.get("headers") or {}).items()}
        catch = options.get("catch")
        if catch == "param":
            return
        request = self.definitions.request(name, arguments, headers)
        answer = self.last = self.target.send(request.method, request.target, request.body, request.headers)
        if self.watch is not None:
            self.watch(request, answer)
        if catch is None:
            if answer.error and answer.status not in ignored and request.method != "HEAD":
                raise Failed(f"{name}: {answer.status} {shown(answer.text, 300)}")
        else:
            check_error(name, answer, str(catch))
        check_warnings(answer, self.stash.fill(listed(options.get("warnings"))), listed(options.get("warnings_regex")))


def check_error(name: str, answer: Answer, catch: str) -> None:
    if not answer.error:
        raise Failed(f"{name}: expected an error ({shown(catch)}), got {answer.status}")
    wanted = pattern(catch, comments=False)
    if wanted is not None:
        held = [answer.text, json.dumps(answer.body), *_texts(answer.body)]  # as sent, without white space, unescaped
        if not any(wanted.search(one) for one in held):
            raise Failed(f"{name}: no {shown(catch)} in {shown(answer.text, 300)}")
    elif catch in STATUSES:
        if answer.status != STATUSES[catch]:
            raise Failed(f"{name}: expected {STATUSES[catch]} ({catch}), got {answer.status} {shown(answer.text, 300)}")
    elif catch != "request" and catch not in answer.text:
        raise Failed(f"{name}: no {catch} in {shown(answer.text, 300)}")


def check_warnings(answer: Answer, exact: list[str], patterns: list[str]) -> None:
    headers = answer.headers.get_list("warning")
    found = [one.replace('\\"', '"') for header in headers for one in _WARNING.findall(header)]
    for text in exact:
        if text not in found:
            raise Failed(f"no warning {shown(text)} in {found}")
    for text in patterns:
        if not any(re.search(text, one) for one in found):
            raise Failed(f"no warning like {shown(text)} in {found}")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)
