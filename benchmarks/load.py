"""Load by wrk, and the CPU that a tree of processes spent on it.

CPU is read from the processes' own clocks (nanoseconds, all threads), which the kernel keeps for every process; /proc tells which
processes belong to a tree. A process that comes or goes during a run would take its share with it, so that fails the run.
Wall time says little on a machine that does other work; CPU per request says what a request costs.

``wire.lua`` reads its requests from a file: for each the number of bytes of request and expected answer on a line, then both. wrk
compares every answer with the expected ones, which is why it, and not the target, may be what limits requests per second.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from cases import HEADER, Call, Case, Wrong

CONNECTIONS = 16  # of the runs that are counted
LUA = Path(__file__).with_name("wire.lua")


@dataclass(frozen=True)
class Sample:
    """One run of wrk. Times in microseconds; ``cpu`` is per request, 0 for a target without processes of its own."""

    requests: int
    per_second: float
    p50: float
    p99: float
    cpu: float
    rss: int  # bytes, of all processes, at the end


def write_requests(path: Path, url: str, cases: list[Case], *, physical: bool) -> None:
    """The file for wire.lua. ``physical``: as the proxy asks the node, else as a client asks the proxy."""
    with path.open("wb") as file:
        for case in cases:
            request = raw(url, case.physical if physical else case.logical, case.tenant)
            answer = case.answer if physical else case.expected
            file.write(b"%d %d\n%b%b" % (len(request), len(answer), request, answer))


def raw(url: str, call: Call, tenant: str) -> bytes:
    head = f"{call.method} {call.target} HTTP/1.1\r\nHost: {urlsplit(url).netloc}\r\n{HEADER}: {tenant}\r\n"
    if call.body:
        head += f"Content-Type: {call.media}\r\nContent-Length: {len(call.body)}\r\n"
    return head.encode() + b"\r\n" + call.body


def run(wrk: str, url: str, requests: Path, *, connections: int, seconds: int, pid: int | None) -> Sample:
    """Load a target for some seconds. Raises Wrong when any answer was not an expected one."""
    command = [wrk, "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "-s", str(LUA), url, "--", str(requests)]
    before = cpu(pid)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    after = cpu(pid)
    if done.returncode != 0:
        raise Wrong(f"wrk failed: {done.stdout[-500:]} {done.stderr[-500:]}")
    count, micros, p50, p99, errors, wrong, *example = done.stdout.rstrip("\n").split("\n")[-1].split(" ", 6)
    if int(errors) or int(wrong) or not int(count):
        raise Wrong(f"of {count} requests to {url}, {errors} failed and {wrong} got a wrong answer, such as: {' '.join(example)}")
    if before.keys() != after.keys():
        raise Wrong(f"processes of the target came or went during a run: {sorted(before)} became {sorted(after)}")
    spent = sum(after.values()) - sum(before.values())
    requested = int(count)
    return Sample(requested, requested * 1e6 / int(micros), float(p50), float(p99), spent * 1e6 / requested, rss(after))


# --- processes ---------------------------------------------------------------------------------------


def cpu(pid: int | None) -> dict[int, float]:
    """Seconds of CPU that each process of a tree has used."""
    return {} if pid is None else {each: time.clock_gettime(~each << 3 | 2) for each in tree(pid)}


def rss(pids: dict[int, float]) -> int:
    """Resident bytes, pages that processes share counted for each."""
    page = os.sysconf("SC_PAGE_SIZE")
    return sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * page for pid in pids)


def tree(root: int) -> Iterator[int]:
    """A process and all its descendants."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has just ended, and so was none of ours or will be missed
            children.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry.name))
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        yield pid
        waiting += children.get(pid, [])
