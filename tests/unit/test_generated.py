"""Calls made by chance: the same seed makes the same, they are made of what scenarios have, and shrink to what matters."""

from __future__ import annotations

import json
from functools import cache
from random import Random

import pytest

from tests.oracle.coverage import match
from tests.oracle.generated.calls import LENGTH, WRITES, Generator, sequences
from tests.oracle.generated.grow import DEEPEST, Grower
from tests.oracle.generated.material import WORLD, Material, material
from tests.oracle.generated.shrink import scenario, smallest
from tests.oracle.scenario import Call, Engine, shared

ENGINES = {"es": Engine("es", (9, 4, 3)), "os": Engine("os", (3, 8, 0), frozenset({"processors"}))}


@cache
def learnt(kind: str) -> Material:
    return material(ENGINES[kind])


@pytest.mark.parametrize("kind", ENGINES)
def test_generated_calls_are_the_same_for_the_same_seed(kind):
    first, again, other = (list(sequences(learnt(kind), seed, LENGTH + 20)) for seed in (5, 5, 6))
    assert first == again
    assert first != other
    assert [len(one.counted) for one in first] == [LENGTH, 20]


@pytest.mark.parametrize("kind", ENGINES)
def test_generated_calls_are_of_many_endpoints_and_mostly_reads(kind):
    found = learnt(kind)
    calls = [sequence.calls[place] for sequence in sequences(found, 1, 1500) for place in sequence.counted]
    named = [matched[0].name for call in calls if (matched := match(found.tables, call.method, call.target))]
    assert len(named) == len(calls)
    assert len(set(named)) > 90
    assert 0.8 < sum(name not in WRITES for name in named) / len(named) < 0.9


@pytest.mark.parametrize("kind", ENGINES)
def test_generated_searches_are_nested_to_the_depth_that_is_meant(kind):
    found = learnt(kind)
    grower = Generator(found, Random(1)).grower
    depths = []
    for sequence in sequences(found, 2, 1500):
        for call in (sequence.calls[place] for place in sequence.counted):
            matched = match(found.tables, call.method, call.target)
            if call.body and matched and matched[0].name == "search":
                depths.append(grower.depth(matched[0].request, json.loads(call.body)))
    assert max(depths) >= DEEPEST
    assert sum(depth >= 3 for depth in depths) > len(depths) / 20


def test_world_is_what_calls_are_about():
    for kind, engine in ENGINES.items():
        names = {call.target[1:] for call in shared(WORLD) if call.method == "PUT" and engine.is_one_of(call.engines)}
        assert names == learnt(kind).documents.keys()


def test_container_holds_others_as_levels_of_depth():
    found = learnt("es")
    grower = Grower(found, Random(1))
    query = {"bool": {"must": [{"term": {"k": "a"}}, {"nested": {"path": "nest", "query": {"match_all": {}}}}]}}
    assert grower.depth(found.tables.endpoints["search"].request, {"query": query}) == 3


def test_call_shrinks_to_what_makes_it_differ():
    body = {"size": 3, "query": {"bool": {"must": [{"term": {"k": "a"}}, {"range": {"n": {"gte": 1, "lte": 3}}}], "boost": 2}}}
    call = Call("POST", "/lib/_search?pretty=true&size=3", {}, json.dumps(body).encode(), "application/json")
    tried = []

    def differs(one: Call) -> bool:
        tried.append(one)
        return b'"lte"' in (one.body or b"") and "size" in one.target

    found = smallest(call, differs)
    assert found.target == "/lib/_search?size=3"
    assert json.loads(found.body) == {"lte": 3}
    assert len(tried) < 100


def test_shrunk_call_is_printed_as_a_scenario():
    world = [Call("PUT", "/lib")]
    text = scenario("s", "a: b", "os", [*world, Call("GET", "/lib/_search", {}, b'{"size": 1}', "application/json")], world)
    assert text.splitlines() == [
        "s:",
        '  about: "a: b"',
        "  engines: os",
        "  calls:",
        "    - {use: world}",
        '    - {"do": "GET /lib/_search", "body": {"size": 1}}',
    ]
