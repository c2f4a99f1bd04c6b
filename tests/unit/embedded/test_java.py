from __future__ import annotations

from pathlib import Path

import pytest

from esproxy.embedded import ENGINES, java
from esproxy.embedded.identity import Identity
from esproxy.embedded.java import find_jdk, find_jdks, jdk_version
from tests.unit.embedded.conftest import MakeJdk

NOWHERE = {"PATH": "", "HOME": "/nonexistent"}


@pytest.mark.parametrize(("text", "major"), [("21.0.2", 21), ("25", 25), ("1.8.0_402", 8), ("17.0.15+6", 17)])
def test_jdk_version_is_read_from_its_release_file(make_jdk: MakeJdk, text: str, major: int) -> None:
    assert jdk_version(make_jdk("jdk", text)) == major


def test_jdk_version_of_a_jre_is_none(make_jdk: MakeJdk) -> None:
    assert jdk_version(make_jdk("jre", "21.0.2", javac=False)) is None


def test_jdk_version_without_release_file_is_none(make_jdk: MakeJdk) -> None:
    assert jdk_version(make_jdk("jdk", "21", release=False)) is None


def test_find_jdk_takes_the_newest_that_was_tried(make_jdk: MakeJdk) -> None:
    for version in ("17.0.1", "21.0.1", "25.0.1", "27"):
        make_jdk(version, version)

    assert find_jdk(ENGINES["os3"], NOWHERE).major == 25
    assert find_jdk(ENGINES["os2"], NOWHERE).major == 21


def test_find_jdk_takes_an_untried_one_when_there_is_no_other(make_jdk: MakeJdk) -> None:
    make_jdk("17", "17.0.1")
    make_jdk("27", "27")

    assert find_jdk(ENGINES["os3"], NOWHERE).major == 27


def test_find_jdk_finds_none_in_range(make_jdk: MakeJdk) -> None:
    make_jdk("17", "17.0.1")

    assert find_jdk(ENGINES["os3"], NOWHERE) is None


@pytest.mark.parametrize("variable", ["ESPROXY_JAVA_HOME", "JAVA_HOME"])
def test_find_jdk_prefers_the_one_the_environment_names(make_jdk: MakeJdk, tmp_path: Path, variable: str) -> None:
    make_jdk("25", "25")
    named = make_jdk("mine", "21.0.4", folder=tmp_path / "elsewhere")

    assert find_jdk(ENGINES["os3"], NOWHERE | {variable: str(named)}).home == named


def test_find_jdk_prefers_esproxy_java_home_to_java_home(make_jdk: MakeJdk, tmp_path: Path) -> None:
    ours, theirs = (make_jdk(name, "21", folder=tmp_path / "elsewhere") for name in ("ours", "theirs"))

    assert find_jdk(ENGINES["os3"], NOWHERE | {"ESPROXY_JAVA_HOME": str(ours), "JAVA_HOME": str(theirs)}).home == ours


def test_find_jdk_passes_over_a_named_one_out_of_range(make_jdk: MakeJdk) -> None:
    old = make_jdk("17", "17")
    make_jdk("25", "25")

    assert find_jdk(ENGINES["os3"], NOWHERE | {"JAVA_HOME": str(old)}).major == 25


def test_find_jdks_follows_java_on_the_path_to_its_home(make_jdk: MakeJdk, tmp_path: Path) -> None:
    home = make_jdk("jdk", "21", folder=tmp_path / "elsewhere")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")

    assert [jdk.home for jdk in find_jdks(NOWHERE | {"PATH": str(tmp_path / "bin")})] == [home]


def test_find_jdks_names_a_jdk_with_two_names_once(make_jdk: MakeJdk, tmp_path: Path) -> None:
    home = make_jdk("jdk-21.0.2", "21.0.2")
    (tmp_path / "jvm" / "default").symlink_to(home)

    assert [jdk.home for jdk in find_jdks(NOWHERE)] == [home]


def test_find_jdks_leaves_out_one_that_nodes_of_root_cannot_read(
    make_jdk: MakeJdk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_jdk("21", "21")
    (tmp_path / "jvm").chmod(0o700)
    monkeypatch.setattr(java, "node_identity", lambda: Identity(65534, 65534))

    assert find_jdks(NOWHERE) == []


def test_find_jdks_asks_macos(make_jdk: MakeJdk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = make_jdk("Home", "21", folder=tmp_path / "Library Java" / "Contents")
    program = tmp_path / "java_home"
    program.write_text(
        "#!/bin/sh\n"
        'echo "Matching Java Virtual Machines (1):" >&2\n'
        f'echo \'    21.0.2 (arm64) "Somebody" - "OpenJDK 21" {home}\' >&2\n'
    )
    program.chmod(0o755)
    monkeypatch.setattr(java, "_MACOS_JAVA_HOME", program)

    assert [jdk.home for jdk in find_jdks(NOWHERE)] == [home]
