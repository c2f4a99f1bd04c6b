from collections.abc import Mapping
from typing import Any, Protocol

from esproxy.api.kinds import Kind, Op

class _Action(Protocol):
    @property
    def op(self) -> Op: ...
    @property
    def a(self) -> bytes: ...
    @property
    def b(self) -> bytes: ...
    @property
    def absent(self) -> bytes: ...

NUMBERS: dict[str, Any]

class Table:
    size: int
    indices: int
    reasons: tuple[str, ...]
    def __init__(self, states: list[dict[str, Any]], reasons: list[str]) -> None: ...

class Bindings:
    def __init__(self, actions: Mapping[Kind, _Action]) -> None: ...
