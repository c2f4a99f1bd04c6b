"""Which engines a test session runs on (tests/engines.py)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from esproxy.embedded import Engine, Missing
from tests.engines import ROOM, choose, engines_in, memory_folder


def with_jdks(*versions: int) -> Callable[[Engine], list[Missing]]:
    def missing(engine: Engine) -> list[Missing]:
        return [] if any(engine.runs_on(version) for version in versions) else [Missing("a JDK", f"install {engine.java_min}")]

    return missing


def test_choice_by_default_is_the_newest_of_each_family() -> None:
    choice = choose([], 9, {}, with_jdks(17, 25))

    assert (choice.names, choice.missing, choice.notes) == (["os3", "es9"], {}, [])


def test_choice_by_default_on_an_old_jdk_falls_back_aloud() -> None:
    choice = choose([], 8, {}, with_jdks(17))

    assert (choice.names, choice.missing) == (["os2", "es8"], {})
    assert choice.notes == [
        "os2 runs in place of os3: a JDK is missing, install it with: install 21",
        "es8 runs in place of es9: a JDK is missing, install it with: install 21",
    ]


def test_choice_does_not_fall_back_to_an_elasticsearch_that_the_client_refuses() -> None:
    choice = choose([], 9, {}, with_jdks(17))

    assert choice.names == ["os2", "es9"]
    assert list(choice.missing) == ["es9"] and not choice.none_runs


def test_choice_without_any_jdk_runs_none() -> None:
    choice = choose([], 9, {}, with_jdks())

    assert choice.names == ["os3", "es9"]
    assert choice.none_runs
    assert choice.why_not("os3") == "a JDK is missing, install it with: install 21"


def test_choice_of_what_was_asked_is_not_replaced() -> None:
    choice = choose(["es9", "os2", "es9"], 9, {}, with_jdks(17))

    assert (choice.names, list(choice.missing), choice.notes) == (["es9", "os2"], ["es9"], [])


def test_choice_takes_a_running_node_as_it_is() -> None:
    choice = choose([], 9, {"ESPROXY_TEST_UPSTREAM_OS3": "http://127.0.0.1:1"}, with_jdks())

    assert (choice.names, list(choice.missing)) == (["os3", "es9"], ["es9"])


@pytest.mark.parametrize(
    ("environ", "flags", "room", "available", "found"),
    [
        ({}, 0, ROOM, 8 << 20, True),
        ({"TMPDIR": "/tmp"}, 0, ROOM, 8 << 20, False),
        ({}, os.ST_NOEXEC, ROOM, 8 << 20, False),
        ({}, 0, 64 << 20, 8 << 20, False),
        ({}, 0, ROOM, 1 << 20, False),
    ],
    ids=["room", "told otherwise", "closed to programs", "small", "little memory"],
)
def test_node_lies_in_memory_where_it_can(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    environ: dict[str, str],
    flags: int,
    room: int,
    available: int,
    found: bool,
) -> None:
    told = tmp_path / "meminfo"
    told.write_text(f"MemTotal:       9000000 kB\nMemAvailable:   {available} kB\n")
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=flags, f_bavail=room >> 12, f_frsize=1 << 12))

    assert memory_folder(environ, tmp_path, told) == (tmp_path if found else None)


def test_node_lies_where_it_always_does_without_a_place_in_memory(tmp_path: Path) -> None:
    assert memory_folder({}, tmp_path / "none") is None


def test_engines_in_the_environment() -> None:
    assert engines_in({"ESPROXY_TEST_ENGINES": "es9, os3"}) == ["es9", "os3"]
    assert engines_in({}) == []
    with pytest.raises(ValueError, match="unknown engine"):
        engines_in({"ESPROXY_TEST_ENGINES": "es7"})
