from collections.abc import Callable, Iterable

from esproxy._hits import Hits
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
    def __init__(
        self,
        table: Table,
        state: int,
        bindings: Bindings,
        *,
        max_depth: int = 100,
        marks: int = 0,
        fields: dict[bytes, bytes] | None = None,
        sources: dict[bytes, bytes] | None = None,
        hits: Hits | None = None,
        reader: Callable[[Hits], Hits] | None = None,
    ) -> None: ...
    def rewritten(self, body: bytes, at: int = 0, front: bytes | None = None, most: int = ...) -> bytes | None: ...

def rewrite(
    table: Table,
    state: int,
    bindings: Bindings,
    body: bytes,
    resolver: Callable[[Kind, bytes], bytes | None] | None = None,
) -> bytes: ...
