"""The nodes of one cluster, and which of them takes the next call.

``choose`` looks at live nodes first. When all are dead, the one that is due soonest is tried all the same: one call
that fails costs less than a cluster that is back and not used. A node in ``tried`` is not tried again by that call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Protocol

from esproxy.upstream.node import Node
from esproxy.upstream.spec import ClusterSpec


class NodeSelector(Protocol):
    def select(self, nodes: Sequence[Node]) -> Node: ...


class RoundRobin:
    def __init__(self) -> None:
        self._turns = count()

    def select(self, nodes: Sequence[Node]) -> Node:
        return nodes[next(self._turns) % len(nodes)]


class LeastLoaded:
    """The node with the fewest working connections; in turn among equals, so that an idle cluster is used evenly."""

    def __init__(self) -> None:
        self._turns = count()

    def select(self, nodes: Sequence[Node]) -> Node:
        least = min(node.load for node in nodes)
        equals = [node for node in nodes if node.load == least]
        return equals[next(self._turns) % len(equals)]


SELECTORS: dict[str, Callable[[], NodeSelector]] = {"round_robin": RoundRobin, "least_loaded": LeastLoaded}


class NoNode(Exception):
    """Every node that this call may try has been tried."""


class NodeSet:
    def __init__(self, spec: ClusterSpec, clock: Callable[[], float]) -> None:
        if spec.selector not in SELECTORS:
            raise ValueError(f"selector [{spec.selector}]: expected one of {sorted(SELECTORS)}")
        self.nodes = [Node(address, spec, clock) for address in spec.addresses()]
        self.selector = SELECTORS[spec.selector]()

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def at_hand(self) -> Node | None:
        """The node to use while nothing is the matter with any; else ``choose`` has to."""
        nodes = self.nodes
        if len(nodes) == 1:
            return nodes[0]
        return None if any(node.dead_until for node in nodes) else self.selector.select(nodes)

    def choose(self, now: float, tried: Sequence[Node] = ()) -> Node | None:
        """The node to use; None when those that could be used have no room; NoNode when none is left to try."""
        nodes = self.nodes
        if len(nodes) == 1 and not tried:
            return nodes[0] if nodes[0].idle or nodes[0].has_room else None
        usable = [node for node in nodes if node.dead_until <= now and node not in tried]
        if not usable:
            if tried:
                raise NoNode
            usable = [min(nodes, key=lambda node: node.dead_until)]
        usable = [node for node in usable if node.has_room]
        if not usable:
            return None
        node = self.selector.select(usable)
        if node.dead_until:
            node.begin_trial(now)
        return node
