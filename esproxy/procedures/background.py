"""What each worker runs for as long as it lives: ``following`` renews its lease, ``tending`` does what is left to do.

A round that fails is logged and tried again; meanwhile the lease runs out, and requests look everything up or fail. Only one
``following`` may run per worker. ``tending`` may be slow: it waits leases and graces.
"""

from __future__ import annotations

import logging
from collections.abc import Generator
from typing import Any, NoReturn

from esproxy.catalogue.context import Catalogue
from esproxy.catalogue.store import Steps
from esproxy.errors import EsproxyError
from esproxy.exchange import Call, Calls, Wait
from esproxy.procedures import audit, follow, tend

logger = logging.getLogger("esproxy.catalogue")

ROUNDS = 60  # of tending, between two looks at pools and two audits


def following(cat: Catalogue) -> Generator[Call | Calls | Wait, Any, NoReturn]:
    while True:
        try:
            yield from follow.poll(cat)
        except EsproxyError as error:
            logger.warning("the catalogue could not be followed: %s", error.reason)
        yield Wait(cat.times.poll)


def tending(cat: Catalogue) -> Generator[Call | Calls | Wait, Any, NoReturn]:
    done = 0
    while True:
        yield Wait(cat.lease)
        try:
            yield from _tend(cat, full=done % ROUNDS == 0)
        except EsproxyError as error:
            logger.warning("the catalogue could not be tended: %s", error.reason)
        done += 1


def _tend(cat: Catalogue, full: bool) -> Steps[None]:
    if not cat.cache.held():
        return
    for directory in (yield from tend.busy(cat)):
        yield from tend.tend(cat, directory)
    if full:
        yield from tend.tend_pools(cat)
        found = yield from audit.audit(cat)
        for physical, scope in found.strange:
            logger.error("[%s] holds documents of [%s], whose number was never given out", physical, scope)
