"""What can go wrong with an embedded node.

EmbeddedError
├── MissingTools   a JDK or Maven is not there; names the command that installs it
├── FetchFailed    Maven could not get the engine; carries the end of what it said
└── NodeFailed     a node ended, or was not ready in time; carries the end of its log
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Missing(NamedTuple):
    """Something that is not on this machine, and the command that puts it there."""

    what: str
    command: str


class EmbeddedError(Exception):
    """An embedded node could not be had; the text says why and what to do next."""


class MissingTools(EmbeddedError):
    def __init__(self, purpose: str, missing: Sequence[Missing]) -> None:
        self.missing = list(missing)
        lines = [f"  {tool.what}; install it with: {tool.command}" for tool in missing]
        super().__init__("\n".join([f"{purpose} needs what is not on this machine:", *lines]))


class FetchFailed(EmbeddedError):
    pass


class NodeFailed(EmbeddedError):
    pass
