"""The embedded cluster itself, on real engines."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from esproxy.embedded import EmbeddedCluster, Engine, NodeFailed, ProgressPrinter

# Starts a cluster, prints what it made, and then does nothing until it is killed.
_OWNER = """
import sys, time
from esproxy.embedded import EmbeddedCluster
cluster = EmbeddedCluster(sys.argv[1]).start()
print(cluster.url, cluster.nodes[0].pid, cluster.nodes[0].folder.parent.parent, flush=True)
time.sleep(600)
"""


def test_cluster_started_and_stopped_leaves_nothing(engine_name: str, on_progress: ProgressPrinter) -> None:
    with EmbeddedCluster(engine_name, on_progress=on_progress) as cluster:
        group, folder = cluster.nodes[0].pid, cluster.nodes[0].folder
        stored = httpx.put(f"{cluster.url}/things/_doc/1?refresh=true", json={"a": 1}, timeout=30)
        assert stored.status_code == 201
        assert httpx.get(f"{cluster.url}/things/_count").json()["count"] == 1
        assert _lives(group)

    assert not _lives(group)
    assert not folder.exists()


def test_owner_killed_ends_node_and_removes_folder(engine_name: str) -> None:
    with subprocess.Popen([sys.executable, "-c", _OWNER, engine_name], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        url, group, folder = owner.stdout.readline().split()
        assert httpx.get(url).status_code == 200
        owner.send_signal(signal.SIGKILL)

    _eventually(lambda: not _lives(int(group)), "the node lives on")
    _eventually(lambda: not Path(folder).exists(), f"{folder} is left")
    with pytest.raises(httpx.ConnectError):
        httpx.get(url)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no death signal: only the ends of pipes")
def test_keeper_killed_ends_node(engine_name: str) -> None:
    with subprocess.Popen([sys.executable, "-c", _OWNER, engine_name], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        _, group, folder = owner.stdout.readline().split()
        keeper = int(Path(f"/proc/{group}/stat").read_text().rpartition(")")[2].split()[1])
        assert "keeper.py" in Path(f"/proc/{keeper}/cmdline").read_text()
        os.kill(keeper, signal.SIGKILL)

        _eventually(lambda: not _lives(int(group)), "the node lives on")
        owner.kill()
    shutil.rmtree(folder)


def test_two_nodes_form_one_cluster_and_outlive_a_restart(engine_name: str, on_progress: ProgressPrinter) -> None:
    with EmbeddedCluster(engine_name, nodes=2, on_progress=on_progress) as cluster:
        first, second = cluster.nodes
        assert _node_names(first.url) == _node_names(second.url) == {first.name, second.name}
        httpx.put(f"{first.url}/things", json={"settings": {"number_of_replicas": 1}}, timeout=30).raise_for_status()
        httpx.get(f"{first.url}/_cluster/health?wait_for_status=green&timeout=30s", timeout=60).raise_for_status()
        # With two master-eligible nodes either may be the one whose loss stops elections: let the master go on.
        master = httpx.get(f"{first.url}/_cat/master?h=node").text.strip()
        other = second if master == first.name else first

        other.kill()

        assert not other.running
        other.start()
        cluster.wait_ready()
        assert _node_names(other.url) == {first.name, second.name}
        assert httpx.get(f"{other.url}/things").status_code == 200


def test_node_with_a_setting_it_does_not_know_fails_with_the_end_of_its_log(engine_name: str) -> None:
    cluster = EmbeddedCluster(engine_name, settings={"no.such.setting": "1"})

    with pytest.raises(NodeFailed, match=r"unknown setting \[no\.such\.setting\]"):
        cluster.start()
    assert cluster.nodes == []


def test_users_of_elasticsearch_are_asked_for_their_password(engine: Engine) -> None:
    if engine.family != "elasticsearch":
        with pytest.raises(ValueError, match="has no security of its own"):
            EmbeddedCluster(engine, users={"admin": "changeme"})
        return
    with EmbeddedCluster(engine, users={"admin": "changeme"}) as cluster:
        assert httpx.get(cluster.url).status_code == 401
        assert httpx.get(cluster.url, auth=("admin", "wrong")).status_code == 401
        assert httpx.get(cluster.url, auth=("admin", "changeme")).status_code == 200


def _node_names(url: str) -> set[str]:
    return set(httpx.get(f"{url}/_cat/nodes?h=name", timeout=30).text.split())


def _lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def _eventually(condition: Callable[[], bool], problem: str, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, problem
        time.sleep(0.05)
