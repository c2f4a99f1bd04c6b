"""Maven, run once, with what it says turned into progress.

Without ``-B`` Maven tells the size of every transfer as it goes, in lines that end in a carriage return:

    Downloading from central: https://…/opensearch-3.8.0.zip
    Progress (1): 4.1/161 MB            (several at once: `Progress (2): 4.1/161 MB | 12/18 kB`, newer ones with names)
    Downloaded from central: https://…/opensearch-3.8.0.zip (161 MB at 155 MB/s)

A sum of what is done and what is under way is the progress. A Maven told not to show it (``-ntp`` in the user's own settings)
still reports each file as it is done.
"""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import BinaryIO

_UNITS = {"B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9}
_UNDER_WAY = re.compile(r"(\d+(?:\.\d+)?)(?:/\d+(?:\.\d+)?)? ([kKMG]?B)\b")
_DONE = re.compile(r"^Downloaded from [^:]+: (\S+) \((\d+(?:\.\d+)?) ([kKMG]?B)\b")
_BEGUN = re.compile(r"^Downloading from [^:]+: (\S+)")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
TICK = 0.25


class Transfers:
    """What Maven has said so far, summed up."""

    def __init__(self) -> None:
        self.file = ""  # the one that began last
        self._done = 0.0
        self._under_way = 0.0

    @property
    def bytes(self) -> int:
        return int(self._done + self._under_way)

    def feed(self, line: str) -> bool:
        """Take a line; False when it says nothing about transfers."""
        if line.startswith("Progress ("):
            self._under_way = sum(float(n) * _UNITS[unit] for n, unit in _UNDER_WAY.findall(line.partition(":")[2]))
        elif done := _DONE.match(line):
            self._done += float(done.group(2)) * _UNITS[done.group(3)]
            self._under_way = 0.0
        elif begun := _BEGUN.match(line):
            self.file = begun.group(1).rpartition("/")[2]
        else:
            return False
        return True


def run_maven(arguments: Sequence[str], environ: Mapping[str, str], report: Callable[[Transfers], None]) -> tuple[int, str]:
    """Run Maven to its end; ``report`` is called a few times a second. Returns its status and the end of what it said."""
    command = ["mvn", "-Dstyle.color=never", *arguments]
    transfers, said = Transfers(), deque[str](maxlen=40)
    environ = {name: value for name, value in environ.items() if name != "CI"}  # with it Maven 4 shows no progress
    with subprocess.Popen(
        command, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdout is not None
        reader = threading.Thread(target=_read, args=(process.stdout, transfers, said), daemon=True)
        try:
            reader.start()
            done = False
            while not done:
                reader.join(TICK)
                done = not reader.is_alive()
                report(transfers)
        except BaseException:
            process.terminate()
            raise
        finally:
            reader.join()
    return process.returncode, "\n".join(said)


def _read(stream: BinaryIO, transfers: Transfers, said: deque[str]) -> None:
    for line in _lines(stream):
        if line and not transfers.feed(line):
            said.append(line)


def _lines(stream: BinaryIO) -> Iterator[str]:
    """Lines that end in LF or CR, as they come."""
    rest = b""
    while chunk := os.read(stream.fileno(), 65536):
        *lines, rest = re.split(rb"[\r\n]+", rest + chunk)
        for line in lines:
            yield _COLOUR.sub("", line.decode("utf-8", "replace")).strip()
    yield _COLOUR.sub("", rest.decode("utf-8", "replace")).strip()
