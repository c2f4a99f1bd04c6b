"""What the admin port shows of the process and its nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from esproxy.admin.probe import NodeState


@dataclass(slots=True)
class Status:
    """What the supervisor knows at this moment."""

    stopping: bool = False
    workers_ready: int = 0
    workers_wanted: int = 1
    restarts: int = 0
    last_reload_good: bool = True
    last_good_reload: float = 0.0
    reports: list[dict[str, Any]] = field(default_factory=list)
    nodes: list[NodeState] = field(default_factory=list)

    def reasons(self) -> Iterator[str]:
        """Why no requests can be served."""
        if self.stopping:
            yield "the proxy is stopping"
        if not self.workers_ready:
            yield "no worker is ready"
        for cluster in dict.fromkeys(node.cluster for node in self.nodes):
            nodes = [node for node in self.nodes if node.cluster == cluster]
            if not any(node.up for node in nodes):
                yield f"no node of cluster {cluster} is up: " + ", ".join(f"{node.url} ({node.why})" for node in nodes)
