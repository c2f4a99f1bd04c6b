"""Bodies out of bodies: what stands at a state goes where that state stands elsewhere.

A *container* is an object with one key of many: a query, an aggregation, a suggester. Containers are what is spliced most, and
each that lies in another counts as a level of depth.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from random import Random
from typing import Any

from esproxy.api.kinds import Kind
from tests.oracle.generated.material import FIELDS, Material

DEEPEST = 6  # levels of containers
CONTAINERS = frozenset(("match_all", "avg", "standard", "all_of"))  # one of these keys tells a container's state
INNER = ("aggs", "aggregations")
SPLICED, DEEPENED, REPLACED, VARIED, DROPPED, ADDED, SWAPPED = 0.35, 0.35, 0.1, 0.12, 0.04, 0.06, 0.3  # chances
LONGEST = 6000  # bytes of a body


@dataclass(slots=True)
class Grower:
    material: Material
    random: Random
    deep: dict[str, list[Any]] = field(default_factory=dict)  # by shape: objects that hold a container
    optional: dict[str, set[str]] = field(default_factory=dict)  # by shape: keys that not all objects have

    def __post_init__(self) -> None:
        of = {shape: state for state, shape in enumerate(self.material.shapes)}
        for shape, objects in self.material.whole.items():
            keys = set().union(*objects)
            self.optional[shape] = {key for key in keys if any(key not in one for one in objects)}
            if self.is_container(of[shape]):
                self.deep[shape] = [one for one in objects if self.depth(of[shape], one) > 1]

    def is_container(self, state: int) -> bool:
        return not CONTAINERS.isdisjoint(self.material.tables.states[state].get("keys", {}))

    def depth(self, state: int, value: Any) -> int:
        """How many containers lie in one another."""
        if isinstance(value, list):
            return max((self.depth(state, item) for item in value), default=0)
        if not isinstance(value, dict):
            return 0
        edges = ((self.material.edge(state, key), item) for key, item in value.items())
        inner = max((self.depth(target, item) for target, item in edges if target is not None), default=0)
        return inner + (1 if self.is_container(state) else 0)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def body(self, state: int, value: Any) -> Any:
        """One that has grown out of ``value``, or ``value`` where that would be too long."""
        grown = self.grow(state, copy.deepcopy(value), 0)
        grown = self.material.renamed(state, grown, self.swap)
        return grown if len(json.dumps(grown)) < LONGEST else value

    def swap(self, kind: Kind, name: str) -> str:
        """Another field of the same type."""
        bare, sign, boost = name.partition("^")
        if kind not in FIELDS or bare not in self.material.types or not self.chance(SWAPPED):
            return name
        return self.random.choice(self.material.of_type[self.material.types[bare]]) + sign + boost

    def grow(self, state: int, value: Any, depth: int) -> Any:
        if isinstance(value, list):
            return [self.grow(state, item, depth) for item in value]
        if not isinstance(value, dict):
            return value
        shape, container = self.material.shape(state), self.is_container(state)
        if container:
            if depth < DEEPEST and self.chance(SPLICED):
                value = self.pick(shape, depth)
            depth += 1
        out = {}
        for key, item in value.items():
            if len(value) > 1 and not container and key in self.optional.get(shape, ()) and self.chance(DROPPED):
                continue
            out[key] = self.value(state, key, item, depth)
        if container:
            self.deepen(state, out, depth)
        elif self.chance(ADDED):
            self.add(state, out, depth)
        return out

    def pick(self, shape: str, depth: int) -> Any:
        """A container; small ones more often. Where there is room, one that holds others as often as any."""
        choices = self.material.whole.get(shape, [{}])
        if depth < DEEPEST - 1 and self.deep.get(shape) and self.chance(0.5):
            choices = self.deep[shape]
        two = [self.random.choice(choices) for _ in range(2)]
        return copy.deepcopy(min(two, key=lambda one: len(json.dumps(one))))

    def value(self, state: int, key: str, item: Any, depth: int) -> Any:
        """Of a key: as it is, one that the key has had elsewhere, or one that has grown."""
        here, target = self.material.tables.states[state], self.material.edge(state, key)
        if target is None:
            return item
        known = key in here.get("keys", {})
        others = self.material.values.get((self.material.shape(state), key), []) if known else []
        alike = [one for one in others if type(one) is type(item)]
        plain = not isinstance(item, dict) and not (isinstance(item, list) and any(isinstance(one, dict) for one in item))
        if plain:
            return copy.deepcopy(self.random.choice(alike)) if alike and self.chance(VARIED) else item
        if alike and depth < DEEPEST and not self.is_container(target) and self.chance(REPLACED):
            item = copy.deepcopy(self.random.choice(alike))
        return self.grow(target, item, depth)

    def deepen(self, state: int, out: dict[str, Any], depth: int) -> None:
        """Aggregations in an aggregation, where that has had some."""
        shape = self.material.shape(state)
        takes = any(not self.material.beside.get((shape, key), set()).isdisjoint(INNER) for key in out if key not in INNER)
        if takes and depth < DEEPEST and INNER[0] not in out and INNER[1] not in out and self.chance(DEEPENED):
            out["aggs"] = {"inner": self.grow(state, self.pick(shape, depth), depth)}

    def add(self, state: int, out: dict[str, Any], depth: int) -> None:
        """A key that has stood beside each of these."""
        shape = self.material.shape(state)
        known = self.material.tables.states[state].get("keys", {})
        sets = [self.material.beside.get((shape, key), set()) for key in out if key in known]
        common = sorted((set.intersection(*sets) if sets else set()) - out.keys())
        if common:
            key = self.random.choice(common)
            item = self.random.choice(self.material.values[(shape, key)])
            out[key] = self.value(state, key, copy.deepcopy(item), depth)
