"""One node of an embedded cluster: its files, its keeper, its end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import deque
from pathlib import Path

from esproxy.embedded.errors import NodeFailed
from esproxy.embedded.identity import Identity
from esproxy.embedded.launch import Plan, Seat, launch_of, write_files

_KEEPER = Path(__file__).with_name("keeper.py")
_LOG_LINES = 25
GRACE = 30.0  # seconds between asking a node to end and killing it


class Node:
    """A node; ``start`` again after ``stop`` or ``kill`` finds its data and keeps its address."""

    def __init__(self, plan: Plan, seat: Seat, identity: Identity | None, *, remove: bool) -> None:
        self._plan = plan
        self._seat = seat
        self._identity = identity
        self._remove = remove
        self._keeper: subprocess.Popen[bytes] | None = None
        self.pid = 0  # of the launcher, which is also the number of the node's process group

    @property
    def name(self) -> str:
        return self._seat.name

    @property
    def url(self) -> str:
        return self._seat.url

    @property
    def folder(self) -> Path:
        """Holds config, data, logs and console.log."""
        return self._seat.folder

    @property
    def running(self) -> bool:
        return self._keeper is not None and self._keeper.poll() is None

    def start(self) -> None:
        """Write the configuration and start the process; it is not ready when this returns."""
        if self.running:
            raise RuntimeError(f"node [{self.name}] runs already")
        write_files(self._plan, self._seat)
        if self._identity is not None:
            self._identity.own(self.folder)
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_KEEPER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        assert self._keeper.stdin is not None and self._keeper.stdout is not None
        self._say(json.dumps(self._order()))
        answer = self._keeper.stdout.readline().decode()
        if not answer.strip().isdigit():
            self._close()
            raise NodeFailed(f"node [{self.name}] could not be started: {answer.strip() or 'its keeper ended'}")
        self.pid = int(answer)

    def stop(self) -> None:
        """Ask the node to end, wait until it has, kill it if it does not. Nothing happens when it does not run."""
        self._end("stop")

    def kill(self) -> None:
        """Kill the node as it stands (SIGKILL to all its processes) and wait until it is gone."""
        self._end("kill")

    def pause(self) -> None:
        """Freeze the node (SIGSTOP): it keeps its connections and answers nothing until ``resume``."""
        os.killpg(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.killpg(self.pid, signal.SIGCONT)

    def log_tail(self) -> str:
        try:
            with open(self._seat.log, encoding="utf-8", errors="replace") as log:
                return "".join(deque(log, _LOG_LINES)).rstrip()
        except FileNotFoundError:
            return "(it has written no log)"

    def __repr__(self) -> str:
        return f"Node({self.name!r}, {self.url!r}, pid={self.pid}, running={self.running})"

    def _order(self) -> dict[str, object]:
        launch = launch_of(self._plan, self._seat)
        return {
            "owner": os.getpid(),
            "command": launch.command,
            "environ": launch.environ,
            "cwd": str(launch.cwd),
            "log": str(self._seat.log),
            "user": None if self._identity is None else [self._identity.uid, self._identity.gid],
            "grace": GRACE,
            "remove": str(self.folder) if self._remove else None,
        }

    def _end(self, word: str) -> None:
        if self._keeper is None:
            return
        self._say(word)
        self._keeper.wait()
        self._close()

    def _say(self, word: str) -> None:
        assert self._keeper is not None and self._keeper.stdin is not None
        try:
            self._keeper.stdin.write(word.encode() + b"\n")
            self._keeper.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended already, which is what we are about to find out

    def _close(self) -> None:
        keeper, self._keeper = self._keeper, None
        assert keeper is not None and keeper.stdin is not None and keeper.stdout is not None
        keeper.wait()
        keeper.stdout.close()
        try:
            keeper.stdin.close()
        except BrokenPipeError:
            pass  # what was said last had no reader
