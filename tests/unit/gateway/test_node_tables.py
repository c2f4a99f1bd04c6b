"""Cat tables about the one node of a tenant's cluster: what of a node's own table is in them."""

from __future__ import annotations

from typing import Any

import pytest

from esproxy.errors import Refusal
from esproxy.metadata import cat
from tests.unit.gateway.test_scripts import Played
from tests.unit.gateway.whole import ask, gateway

HELP = b"node_name | nn | x\nname | n | x\ntype | t | x\nactive | a | x\nqueue | q | x\nrejected | r | x\nlargest | l | x\n"
TASK_HELP = b"action | ac | x\ntask_id | ti | x\ntype | ty | x\nrunning_time | time | x\nx_opaque_id | xoi | x\n"


def task(opaque: str, id: int, **more: Any) -> dict[str, Any]:
    return {
        "node": "aaaaaaaaaaaaaaaaaaaaaa", "id": id, "type": "transport", "action": "indices:data/read/search",
        "start_time_in_millis": 1767225600000, "running_time_in_nanos": 1290000, "cancellable": True,
        "headers": {"X-Opaque-Id": opaque}, **more,
    }  # fmt: skip


@pytest.fixture
def gate():
    return gateway("opensearch")


def text(played: Played) -> str:
    return played.reply.body.decode()


def test_pools_of_threads_are_the_engines_and_their_figures_nobodys(gate):
    figures = [{"name": "search", "active": "7", "node_name": "es-7"}]
    names = [{"name": "search", "type": "fixed"}, {"name": "get", "type": "fixed"}, {"name": "search", "type": "fixed"}]
    played = Played(ask(gate, "GET", "/_cat/thread_pool/search,get?h=name,active,node_name"), HELP, figures, names)
    assert [send.target.decode() for send in played.sends[1:]] == [
        "/_cat/thread_pool?h=name,active,node_name&format=json", "/_cat/thread_pool/search,get?h=name,type&format=json",
    ]  # fmt: skip
    lines = [line.split() for line in text(played).splitlines()]
    assert [line[:2] for line in lines] == [["get", "0"], ["search", "0"]] and "es-7" not in text(played)


def test_tasks_are_the_tenants_with_its_own_ids(gate):
    told = {"tasks": [task("acme/mine", 5), task("zenith/x", 6), task("acme/", 7, parent_task_id="aaaaaaaaaaaaaaaaaaaaaa:5")]}
    shown = [{"action": "a", "task_id": "t", "type": "t", "running_time": "1ms", "x_opaque_id": "zenith/x"}]
    played = Played(ask(gate, "GET", "/_cat/tasks?h=task_id,running_time,xoi&format=json"), TASK_HELP, shown, told)
    rows = played.told
    assert [row["task_id"].rpartition(":")[2] for row in rows] == ["5", "7"]
    assert [row["xoi"] for row in rows] == ["mine", "-"] and {row["running_time"] for row in rows} == {"1.2ms"}
    assert "aaaaaaaa" not in text(played) and "zenith" not in text(played)


def test_list_of_tables_has_what_is_served(gate):
    listed = b"=^.^=\n/_cat/indices/{index}\n/_cat/pit_segments\n/_cat/thread_pool/{thread_pools}\n"
    played = Played(ask(gate, "GET", "/_cat"), listed)
    assert text(played) == "=^.^=\n/_cat/indices/{index}\n/_cat/thread_pool/{thread_pools}\n"


def test_snapshots_are_in_no_repository_and_no_node_is_asked_for_them(gate):
    help = b"id | id | x\nrepository | re | x\n"
    played = Played(ask(gate, "GET", "/_cat/snapshots/_all?v&h=id"), help)
    assert text(played) == "id\n" and [send.target for send in played.sends] == [b"/_cat/snapshots?help=true"]
    with pytest.raises(Refusal, match=r"\[mine\] missing") as raised:
        Played(ask(gate, "GET", "/_cat/snapshots/mine"), help)
    assert (raised.value.status, raised.value.type) == (404, "repository_missing_exception")


@pytest.mark.parametrize(
    ("nanos", "unit", "shown"),
    [(7, None, "7nanos"), (1_290_000, None, "1.2ms"), (61_000_000_000, None, "1m"), (90_061_000_000_000, None, "1d"),
     (1_290_000, "micros", "1290"), (999, "ms", "0")],
)  # fmt: skip
def test_times_are_cut_as_nodes_cut_them(nanos, unit, shown):
    assert cat.duration(nanos, unit) == shown


def test_unit_of_time_that_is_none_is_refused():
    with pytest.raises(Refusal, match="fortnight"):
        cat.duration(1, "fortnight")
