from collections.abc import Callable

from esproxy._documents import Documents
from esproxy._pass import Body
from esproxy._table import Bindings, Table
from esproxy.api.kinds import Kind
from esproxy.core import BodyError

_Target = tuple[Bindings, int | None] | tuple[Bindings, int | None, Documents | None]

class BulkPass(Body):
    records: int
    line: int
    broken: list[tuple[int, BodyError]]
    def __init__(
        self,
        table: Table,
        action_state: int,
        update_state: int,
        doc_state: int | None,
        bindings: Bindings,
        resolver: Callable[[Kind, bytes], bytes | None] | None = None,
        *,
        max_depth: int = 100,
        max_record: int = ...,
        target: Callable[[bytes | None], _Target | None] | None = None,
        flow: int = 0,
    ) -> None: ...
    @property
    def between(self) -> bool: ...
    @property
    def ops(self) -> dict[str, int]: ...
