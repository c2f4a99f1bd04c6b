"""A small process between us and one node: it starts the node and sees to it that the node never outlives us.

Run as a script, on the standard library alone. Who asks, the *owner*, holds the other end of standard input:

    owner → keeper   one line of JSON, the order (see `Order` in node.py), then at most one word:
                     ``stop``  ask the node to end (SIGTERM), after ``grace`` seconds kill it
                     ``kill``  kill it now
                     end of input without a word: the owner is gone: kill the node and remove its folder
    keeper → owner   one line: the number of the node's process group, or ``error: …``. The keeper ends with the node,
                     with the node's own status.

Why nothing survives, whoever is killed, and with whatever signal:

* owner → keeper: the pipe ends when the owner does. A process that the owner forked may still hold it open: so the keeper
  also looks, twice a second, whether its parent is still the owner. (PR_SET_PDEATHSIG will not do here: it fires when the
  *thread* that started the keeper ends.)
* keeper → node: the node is a process group of its own, launcher and JVM, and is killed as one. Should the keeper be killed
  itself, the kernel kills the launcher (PR_SET_PDEATHSIG, Linux), and the node's standard input, a pipe that only the keeper
  holds, ends; Elasticsearch's JVM and our own main class take that as the end.
* Orphans of the launcher become children of the keeper (PR_SET_CHILD_SUBREAPER, Linux), which reaps them: "the group is
  empty" is then exact.

Dropping root's rights happens in the keeper, before it starts anything: a change of user would clear the death signal.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

TICK = 0.5
REAP = 0.02
LAST_WAIT = 10.0  # after SIGKILL: a process in the kernel's hands may take a moment

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is for the owner, who then tells us
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):
        return 0  # the owner was gone before it had asked
    order = json.loads(line)
    if order["user"] is not None:
        uid, gid = order["user"]
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    try:
        keeper = Keeper(order)
    except OSError as problem:
        print(f"error: {problem}", flush=True)
        return 1
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, keeper.on_signal)
    print(keeper.group, flush=True)
    return keeper.run()


class Keeper:
    def __init__(self, order: dict[str, Any]) -> None:
        self._owner = order["owner"]
        self._grace = order["grace"]
        self._folder = order["remove"]
        prctl = _prctl()
        prctl(_PR_SET_CHILD_SUBREAPER, 1)
        keeper = os.getpid()

        def in_child() -> None:
            prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != keeper:
                os._exit(1)

        with open(order["log"], "ab") as log:
            self._launcher = subprocess.Popen(
                order["command"],
                env=order["environ"],
                cwd=order["cwd"],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=in_child,
            )
        self.group = self._launcher.pid
        self._status: int | None = None
        self._deadline: float | None = None  # when the group is killed
        self._owner_gone = False
        self._input_open = True

    def on_signal(self, number: int, frame: object) -> None:
        self._end_within(self._grace, ask=True)

    def run(self) -> int:
        killed_at: float | None = None
        while True:
            self._reap()
            if self._status is not None and self._group_is_empty():
                break
            if self._status is not None and self._deadline is None:
                self._end_within(self._grace, ask=False)  # the launcher is gone, the node is about to follow
            now = time.monotonic()
            if self._deadline is not None and now >= self._deadline:
                if killed_at is None:
                    killed_at = now
                    self._signal(signal.SIGKILL)
                elif now - killed_at > LAST_WAIT:
                    return 1
            self._listen(TICK if self._deadline is None else REAP)
        if self._owner_gone and self._folder:
            self._remove()
        return self._status if self._status >= 0 else 128 - self._status

    def _listen(self, timeout: float) -> None:
        if os.getppid() != self._owner:
            self._lose_owner()
        if not self._input_open:
            time.sleep(timeout)
            return
        try:
            ready, _, _ = select.select([0], [], [], timeout)
        except InterruptedError:
            return
        if not ready:
            return
        word = os.read(0, 64).strip()
        if word == b"stop":
            self._end_within(self._grace, ask=True)
        elif word == b"kill":
            self._end_within(0.0, ask=False)
        else:
            self._input_open = False
            self._lose_owner()

    def _lose_owner(self) -> None:
        self._owner_gone = True
        self._end_within(0.0, ask=False)

    def _end_within(self, seconds: float, *, ask: bool) -> None:
        deadline = time.monotonic() + seconds
        if self._deadline is None and ask and self._status is None:
            self._launcher.send_signal(signal.SIGTERM)
        self._deadline = deadline if self._deadline is None else min(self._deadline, deadline)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._launcher.pid:
                self._status = self._launcher.returncode = os.waitstatus_to_exitcode(status)

    def _group_is_empty(self) -> bool:
        try:
            os.killpg(self.group, 0)
        except ProcessLookupError:
            return True
        except PermissionError:  # macOS says so of a group of which only the dead are left
            return True
        return False

    def _signal(self, number: int) -> None:
        try:
            os.killpg(self.group, number)
        except OSError as problem:
            if problem.errno not in (errno.ESRCH, errno.EPERM):
                raise

    def _remove(self) -> None:
        """The node's folder, and with the last node of its cluster the cluster's: <cluster>/nodes/<node>."""
        shutil.rmtree(self._folder, ignore_errors=True)
        nodes = os.path.dirname(self._folder)
        try:
            os.rmdir(nodes)
        except OSError as problem:
            if problem.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
                return
            raise
        shutil.rmtree(os.path.dirname(nodes), ignore_errors=True)


def _prctl() -> Callable[[int, int], None]:
    """The system call, looked up before any fork; elsewhere than on Linux, nothing."""
    if sys.platform != "linux":
        return lambda option, value: None
    libc = ctypes.CDLL(None, use_errno=True)

    def prctl(option: int, value: int) -> None:
        if libc.prctl(option, value, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")

    return prctl


if __name__ == "__main__":
    sys.exit(main())
