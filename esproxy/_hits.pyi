from typing import Any

class Hits:
    """What of a resolver of hits is answered without Python; see _hits.pyx."""

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
    before_id: bytes
    behind_id: bytes
    most: int
    ids: int
