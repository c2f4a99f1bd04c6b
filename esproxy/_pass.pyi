from collections.abc import Callable, Iterable
from typing import Any

from esproxy._table import Bindings, Table
from esproxy.api.kinds import Kind
from esproxy.core import BodyError, Status

WIDE: str

def use(error: type[BodyError], names: Iterable[Status]) -> None: ...

class Body:
    table: Table
    misses: int
    @property
    def status(self) -> Status: ...
    @property
    def offset(self) -> int: ...
    @property
    def key(self) -> bytes: ...
    @property
    def reason(self) -> int: ...
    @property
    def error(self) -> BodyError | None: ...
    @property
    def marks(self) -> int: ...
    @property
    def unknown(self) -> int: ...
    def feed(self, data: bytes, last: bool) -> bytes: ...

class Hits:
    """What of a resolver of hits is answered without Python; see _pass.pyx."""

    here: Any
    last: Any
    before: Any
    only: list[Any]
    token: bytes
    name_token: bytes
    front: bytes
    bare: bytes
    nest: bytes | None
    verified: bool
    waiting: bool

class Pass(Body):
    def __init__(
        self,
        table: Table,
        state: int,
        bindings: Bindings,
        resolver: Callable[[Kind, bytes], bytes | None] | None = None,
        *,
        max_depth: int = 100,
    ) -> None: ...

class Alone:
    def __init__(self, table: Table, state: int, bindings: Bindings, *, max_depth: int = 100, marks: int = 0) -> None: ...
    def rewritten(self, body: bytes) -> bytes | None: ...

def rewrite(
    table: Table,
    state: int,
    bindings: Bindings,
    body: bytes,
    resolver: Callable[[Kind, bytes], bytes | None] | None = None,
) -> bytes: ...
