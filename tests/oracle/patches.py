"""What mutants are made of: parts of the running code replaced while a context lasts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from esproxy.catalogue.cache import Cache

Patch = Callable[[], AbstractContextManager[Any]]


def replaced(where: Any, attribute: str, what: Any) -> Patch:
    return lambda: patch.object(where, attribute, what)


def instead(module: Any, name: str, what: Any) -> Patch:
    """A function or value of a module replaced there and wherever it was imported."""
    return lambda: _everywhere(module, name, what)


def _everywhere(module: Any, name: str, what: Any) -> AbstractContextManager[Any]:
    stack, original = ExitStack(), getattr(module, name)
    for one in [one for key, one in sys.modules.items() if key.startswith("esproxy.") and getattr(one, name, None) is original]:
        stack.enter_context(patch.object(one, name, what))
    return stack


@contextmanager
def all_of(*patches: Patch) -> Iterator[None]:
    with ExitStack() as stack:
        for one in patches:
            stack.enter_context(one())
        yield


# --- in the place of functions ----------------------------------------------------------------------------------


def unchanged(_self: Any, value: Any, *_rest: Any, **_named: Any) -> Any:
    return value


def nothing(*_args: Any, **_named: Any) -> None:
    return None


# A new proxy believes nothing that it remembers, and deletes and makes nothing in pools, before it has followed the catalogue for
# a lease, which is seconds. One that nobody works beside may do so at once.
BELIEVED = replaced(Cache, "held", lambda cache: True)
