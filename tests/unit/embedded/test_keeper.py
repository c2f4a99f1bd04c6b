"""The keeper with small shell scripts in place of nodes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from esproxy.embedded import keeper as keeper_module

KEEPER = [sys.executable, "-I", "-S", keeper_module.__file__]
# A launcher with a child, as the real ones have; both end at SIGTERM.
WILLING = "sleep 600 & trap 'kill $!; exit 0' TERM; echo up; wait"
# A launcher whose child takes no notice of SIGTERM.
STUBBORN = "trap '' TERM; echo up; sleep 600 & while :; do sleep 600; done"

Order = Callable[..., dict[str, object]]


@pytest.fixture
def order(tmp_path: Path) -> Order:
    def make(script: str, **more: object) -> dict[str, object]:
        folder = tmp_path / "cluster" / "nodes" / "node-1"
        folder.mkdir(parents=True, exist_ok=True)
        return {
            "owner": os.getpid(),
            "command": ["/bin/sh", "-c", script],
            "environ": {"PATH": os.environ["PATH"]},
            "cwd": str(folder),
            "log": str(folder / "console.log"),
            "user": None,
            "grace": 30.0,
            "remove": str(folder),
            **more,
        }

    return make


@pytest.fixture
def start() -> Iterator[Callable[[dict[str, object]], tuple[subprocess.Popen[bytes], int]]]:
    begun: list[subprocess.Popen[bytes]] = []

    def start(order: dict[str, object]) -> tuple[subprocess.Popen[bytes], int]:
        keeper = subprocess.Popen(KEEPER, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        begun.append(keeper)
        say(keeper, json.dumps(order))
        group = int(keeper.stdout.readline())
        eventually(lambda: b"up" in Path(str(order["log"])).read_bytes())
        return keeper, group

    yield start
    for keeper in begun:
        keeper.kill()
        keeper.wait()
        keeper.stdout.close()
        try:
            keeper.stdin.close()
        except BrokenPipeError:
            pass  # what was said last had no reader


def test_stop_asks_the_node_to_end(order: Order, start, tmp_path: Path) -> None:
    keeper, group = start(order(WILLING))
    assert lives(group)

    say(keeper, "stop")

    assert keeper.wait(30) == 0
    assert not lives(group)
    assert (tmp_path / "cluster" / "nodes" / "node-1" / "console.log").exists()


def test_stop_kills_a_node_that_does_not_end(order: Order, start) -> None:
    keeper, group = start(order(STUBBORN, grace=0.1))

    say(keeper, "stop")

    assert keeper.wait(30) == 128 + signal.SIGKILL
    assert not lives(group)


def test_kill_does_not_ask(order: Order, start) -> None:
    keeper, group = start(order(STUBBORN))

    say(keeper, "kill")

    assert keeper.wait(30) == 128 + signal.SIGKILL
    assert not lives(group)


def test_end_of_input_kills_the_node_and_removes_its_folder(order: Order, start, tmp_path: Path) -> None:
    keeper, group = start(order(STUBBORN))

    keeper.stdin.close()

    assert keeper.wait(30) == 128 + signal.SIGKILL
    assert not lives(group)
    assert not (tmp_path / "cluster").exists()


def test_end_of_input_leaves_the_cluster_of_another_node(order: Order, start, tmp_path: Path) -> None:
    other = tmp_path / "cluster" / "nodes" / "node-2"
    other.mkdir(parents=True)
    keeper, _ = start(order(WILLING))

    keeper.stdin.close()
    keeper.wait(30)

    assert other.exists()
    assert not (tmp_path / "cluster" / "nodes" / "node-1").exists()


def test_end_of_input_leaves_a_folder_that_is_to_be_kept(order: Order, start, tmp_path: Path) -> None:
    keeper, _ = start(order(WILLING, remove=None))

    keeper.stdin.close()
    keeper.wait(30)

    assert (tmp_path / "cluster" / "nodes" / "node-1").exists()


def test_owner_that_is_gone_ends_the_node_though_its_pipe_is_held_open(order: Order) -> None:
    """As when the owner had forked: the pipe's end does not come, but the parent is another."""
    reader, writer = os.pipe()
    script = (
        "import json, os, subprocess, sys\n"
        "order = json.loads(sys.argv[1]) | {'owner': os.getpid()}\n"
        "keeper = subprocess.Popen(json.loads(sys.argv[2]), stdin=int(sys.argv[3]), stdout=subprocess.PIPE)\n"
        "os.write(int(sys.argv[4]), json.dumps(order).encode() + b'\\n')\n"
        "print(keeper.stdout.readline().decode(), flush=True)\n"
        "os._exit(0)\n"
    )
    arguments = [json.dumps(order(STUBBORN)), json.dumps(KEEPER), str(reader), str(writer)]
    command = [sys.executable, "-c", script, *arguments]
    owner = subprocess.run(command, pass_fds=(reader, writer), stdout=subprocess.PIPE, check=True)

    group = int(owner.stdout)

    eventually(lambda: not lives(group))
    os.close(reader)
    os.close(writer)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no death signal")
def test_keeper_killed_takes_the_launcher_with_it(order: Order, start) -> None:
    keeper, group = start(order("trap '' TERM; echo up; exec sleep 600"))

    keeper.kill()

    eventually(lambda: not lives(group))


def test_launcher_that_ends_before_its_node_is_waited_for(order: Order, start) -> None:
    keeper, group = start(order("sleep 0.3 & echo up; exit 3"))

    assert keeper.wait(30) == 3
    assert not lives(group)


def test_sigterm_to_the_keeper_stops_the_node(order: Order, start) -> None:
    keeper, group = start(order(WILLING))

    keeper.terminate()

    assert keeper.wait(30) == 0
    assert not lives(group)


def test_sigint_is_left_to_the_owner(order: Order, start) -> None:
    keeper, _ = start(order(WILLING))

    keeper.send_signal(signal.SIGINT)
    say(keeper, "stop")

    assert keeper.wait(30) == 0


def test_command_that_is_not_there_is_reported(order: Order) -> None:
    wrong = order("") | {"command": ["/no/such/java"]}
    done = subprocess.run(KEEPER, input=json.dumps(wrong).encode() + b"\n", stdout=subprocess.PIPE, check=False)

    assert done.returncode == 1
    assert done.stdout.startswith(b"error: ") and b"/no/such/java" in done.stdout


def test_owner_gone_before_it_had_asked_starts_nothing() -> None:
    done = subprocess.run(KEEPER, input=b'{"command": ["/bin/true"', stdout=subprocess.PIPE, check=False)

    assert (done.returncode, done.stdout) == (0, b"")


def say(keeper: subprocess.Popen[bytes], word: str) -> None:
    keeper.stdin.write(word.encode() + b"\n")
    keeper.stdin.flush()


def lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def eventually(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
