"""Nodes, their back-off and selection, with a clock of our own; and what a cluster's settings refuse."""

from __future__ import annotations

from collections import Counter

import pytest

from esproxy.upstream.nodes import SELECTORS, NodeSet, NoNode
from esproxy.upstream.spec import Address, ClusterSpec


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def node_set(clock: Clock, count: int = 3, **settings) -> NodeSet:
    urls = [f"http://node-{number}:9200" for number in range(count)]
    return NodeSet(ClusterSpec(urls, **settings), clock)


def test_backoff_doubles_up_to_its_bound_and_ends_with_a_success(clock):
    node = node_set(clock, dead_node_backoff_factor=0.5, max_dead_node_backoff=5).nodes[0]
    waits = []
    for _ in range(6):
        node.mark_dead("down")
        waits.append(node.dead_until - clock.now)
    assert waits == [0.5, 1, 2, 4, 5, 5]
    assert (node.failed_connects, node.last_error) == (6, "down")
    node.mark_live()
    assert node.usable(clock.now)
    node.mark_dead("down")
    assert node.dead_until - clock.now == 0.5


def test_backoff_of_a_node_dead_for_ages_is_a_number(clock):
    node = node_set(clock).nodes[0]
    node.consecutive_failures = 100_000
    assert node.backoff() == 30.0


@pytest.mark.parametrize("selector", SELECTORS)
def test_live_nodes_are_used_evenly(clock, selector):
    nodes = node_set(clock, selector=selector)
    chosen = Counter(nodes.choose(clock.now).address.host for _ in range(30))
    assert set(chosen.values()) == {10}


@pytest.mark.parametrize("selector", SELECTORS)
def test_dead_node_is_not_chosen_until_its_backoff_has_passed(clock, selector):
    nodes = node_set(clock, selector=selector)
    dead = nodes.nodes[1]
    dead.mark_dead("down")
    assert dead not in {nodes.choose(clock.now) for _ in range(9)}
    clock.now += 1.0
    assert dead in {nodes.choose(clock.now) for _ in range(3)}


def test_node_whose_backoff_has_passed_gets_one_trial(clock):
    nodes = node_set(clock)
    dead = nodes.nodes[1]
    dead.mark_dead("down")
    clock.now += 1.0
    chosen = [nodes.choose(clock.now) for _ in range(9)]
    assert chosen.count(dead) == 1
    dead.mark_live()
    assert [nodes.choose(clock.now) for _ in range(9)].count(dead) == 3


def test_all_dead_the_one_due_soonest_is_tried(clock):
    nodes = node_set(clock)
    for node, failures in zip(nodes, (3, 1, 2), strict=True):
        for _ in range(failures):
            node.mark_dead("down")
    assert nodes.choose(clock.now) is nodes.nodes[1]
    with pytest.raises(NoNode):
        nodes.choose(clock.now, (nodes.nodes[1],))


def test_node_tried_is_not_chosen_again_by_the_call(clock):
    nodes = node_set(clock)
    tried = ()
    for _ in range(3):
        tried += (nodes.choose(clock.now, tried),)
    assert set(tried) == set(nodes)
    with pytest.raises(NoNode):
        nodes.choose(clock.now, tried)


def test_single_node_is_always_chosen_but_once_per_call(clock):
    nodes = node_set(clock, 1)
    only = nodes.nodes[0]
    only.mark_dead("down")
    assert nodes.choose(clock.now) is only
    with pytest.raises(NoNode):
        nodes.choose(clock.now, (only,))


@pytest.mark.parametrize("count", [1, 2])
def test_no_room_anywhere_is_none(clock, count):
    nodes = node_set(clock, count, max_connections=2)
    for node in nodes:
        node.opening = 2
    assert nodes.choose(clock.now) is None
    nodes.nodes[0].opening = 1
    assert nodes.choose(clock.now) is nodes.nodes[0]


def test_least_loaded_is_chosen(clock):
    nodes = node_set(clock, selector="least_loaded")
    for node, load in zip(nodes, (2, 1, 3), strict=True):
        node.opening = load
    assert {nodes.choose(clock.now) for _ in range(5)} == {nodes.nodes[1]}


# --- settings


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://es:9200", ("http", "es", 9200, "es:9200", "")),
        ("http://es", ("http", "es", 80, "es", "")),
        ("https://es/", ("https", "es", 443, "es", "")),
        ("https://[::1]:9200/a/b/", ("https", "::1", 9200, "[::1]:9200", "/a/b")),
    ],
)
def test_address_is_taken_apart(url, expected):
    address = Address.parse(url)
    assert (address.scheme, address.host, address.port, address.netloc, address.prefix) == expected


NO_ADDRESS = ["es:9200", "ftp://es", "http://", "http://es:9200?x=1", "http://es:port", "http://u:secret@es:9200", ""]


@pytest.mark.parametrize("url", NO_ADDRESS)
def test_address_that_is_none_is_refused_without_its_secret(url):
    with pytest.raises(ValueError) as caught:
        ClusterSpec([url])
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "settings",
    [
        {"nodes": []},
        {"nodes": ["http://es", "http://es"]},
        {"username": "u"},
        {"password": "p"},
        {"username": "u", "password": "p", "api_key": "k"},
        {"client_key": "k.pem"},
        {"answer_timeout": 0},
        {"max_connections": -1},
    ],
)
def test_settings_that_contradict_are_refused(settings):
    with pytest.raises(ValueError):
        ClusterSpec(**{"nodes": ["http://es"], **settings})


def test_unknown_selector_is_refused_by_name(clock):
    with pytest.raises(ValueError, match=r"selector \[best\].*least_loaded.*round_robin"):
        node_set(clock, selector="best")


def test_line_break_in_a_clusters_header_is_refused(clock):
    with pytest.raises(ValueError, match="line break"):
        node_set(clock, headers={"x": "1\r\ny: 2"})


def test_secrets_are_not_in_the_repr():
    spec = ClusterSpec(["http://es"], username="u", password="hush")
    assert "hush" not in repr(spec)
    assert "hush" not in repr(ClusterSpec(["http://es"], api_key="hush", proxy="http://u:hush@proxy", headers={"x": "hush"}))


def test_missing_certificate_file_is_an_error_at_once():
    with pytest.raises(OSError):
        ClusterSpec(["https://es"], ca="/nowhere/ca.pem").ssl_context()
