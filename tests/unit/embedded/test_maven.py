from __future__ import annotations

import os
from pathlib import Path

import pytest

from esproxy.embedded.maven import Transfers, run_maven
from tests.unit.embedded.conftest import make_tool


def test_transfers_sum_up_what_is_done_and_what_is_under_way() -> None:
    transfers = Transfers()

    assert transfers.feed("Downloading from central: https://somewhere/org/a/1/a-1.zip")
    assert (transfers.file, transfers.bytes) == ("a-1.zip", 0)
    assert transfers.feed("Progress (1): 4.1/18 kB")
    assert transfers.bytes == 4_100
    assert transfers.feed("Downloaded from central: https://somewhere/org/a/1/a-1.zip (18 kB at 103 kB/s)")
    assert transfers.bytes == 18_000
    assert transfers.feed("Progress (2): 1.5/161 MB | 500 B")
    assert transfers.bytes == 1_518_500


def test_transfers_of_a_maven_that_names_files() -> None:
    transfers = Transfers()

    transfers.feed("Progress (2): a-2.1.zip (1.5/161 MB) | b.jar (12 kB)")

    assert transfers.bytes == 1_512_000


@pytest.mark.parametrize("line", ["[INFO] BUILD SUCCESS", "[ERROR] Could not find artifact", "Downloaded: nothing"])
def test_transfers_leave_other_lines_alone(line: str) -> None:
    transfers = Transfers()

    assert not transfers.feed(line)
    assert transfers.bytes == 0


def test_run_maven_reads_progress_that_is_overwritten_and_keeps_what_else_was_said(tmp_path: Path) -> None:
    make_tool(
        tmp_path,
        "mvn",
        r"""
printf 'Downloading from central: https://somewhere/a.zip\n'
printf 'Progress (1): 1.0/3.0 MB\rProgress (1): 3.0 MB    \r                \r'
printf 'Downloaded from central: https://somewhere/a.zip (3.0 MB at 9 MB/s)\n'
printf '\033[1;31m[ERROR]\033[m no such goal: %s\n' "$2"
exit 3
""",
    )
    reports: list[int] = []

    status, said = run_maven(["goal"], {"PATH": f"{tmp_path}:{os.environ['PATH']}"}, lambda so_far: reports.append(so_far.bytes))

    assert (status, said) == (3, "[ERROR] no such goal: goal")
    assert reports[-1] == 3_000_000
