from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from esproxy.embedded import ENGINES
from esproxy.embedded.java import Jdk
from esproxy.embedded.launch import Plan, Seat, launch_of, settings_of, write_files

JDK = Jdk(Path("/jdk"), 25)


def plan_of(engine: str, folder: Path, nodes: int = 1, **more: object) -> Plan:
    seats = [Seat(f"node-{i}", folder / "nodes" / f"node-{i}", 9000 + i, 9100 + i) for i in range(1, nodes + 1)]
    home = folder / "home"
    (home / "config").mkdir(parents=True, exist_ok=True)
    (home / "config" / "log4j2.properties").write_text("status = error\n")
    (home / "config" / "jvm.options").write_text("## -Xms4g\n-Xms4g\n-XX:+UseG1GC\n-Xlog:gc*:file=logs/gc.log\n-Xss1m\n")
    return Plan(ENGINES[engine], JDK, home, seats, folder / "repo", **more)


@pytest.mark.parametrize("engine", list(ENGINES))
def test_settings_of_a_node_keep_it_on_this_machine(engine: str, tmp_path: Path) -> None:
    plan = plan_of(engine, tmp_path)
    settings = settings_of(plan, plan.seats[0])

    assert settings["network.host"] == "127.0.0.1"
    assert (settings["http.port"], settings["transport.port"]) == ("9001", "9101")
    assert settings["discovery.type"] == "single-node"
    assert settings["path.data"].startswith(str(tmp_path))


@pytest.mark.parametrize(
    ("engine", "first"),
    [
        ("es9", "cluster.initial_master_nodes"),
        ("es8", "cluster.initial_master_nodes"),
        ("os3", "cluster.initial_cluster_manager_nodes"),
        ("os3d", "cluster.initial_cluster_manager_nodes"),
    ],
)
def test_settings_of_three_nodes_let_them_find_each_other(engine: str, first: str, tmp_path: Path) -> None:
    plan = plan_of(engine, tmp_path, 3)
    all_settings = [settings_of(plan, seat) for seat in plan.seats]

    assert {settings["cluster.name"] for settings in all_settings} == {"esproxy-embedded-9101"}
    assert {settings["node.name"] for settings in all_settings} == {"node-1", "node-2", "node-3"}
    for settings in all_settings:
        assert settings["discovery.seed_hosts"] == "127.0.0.1:9101,127.0.0.1:9102,127.0.0.1:9103"
        assert settings[first] == "node-1,node-2,node-3"
        assert settings.get("discovery.type") != "single-node"
        assert settings["path.repo"] == str(tmp_path / "repo")


def test_settings_of_the_caller_win(tmp_path: Path) -> None:
    plan = plan_of("es9", tmp_path, settings={"xpack.security.enabled": "true", "node.attr.rack": "r1"})
    settings = settings_of(plan, plan.seats[0])

    assert settings["xpack.security.enabled"] == "true"
    assert settings["node.attr.rack"] == "r1"


@pytest.mark.parametrize("engine", ["es9", "os3d"])
def test_written_configuration_says_what_the_settings_say(engine: str, tmp_path: Path) -> None:
    plan = plan_of(engine, tmp_path, settings={"node.attr.note": "it's: {odd} #1"}, heap="300m", jvm_flags=["-XX:+UseZGC"])
    seat = plan.seats[0]

    write_files(plan, seat)

    config = seat.folder / "config"
    assert yaml.safe_load((config / f"{plan.engine.family}.yml").read_text()) == settings_of(plan, seat)
    assert (config / "jvm.options").read_text().splitlines() == ["## -Xms4g", "-Xss1m"]
    ours = (config / "jvm.options.d" / "esproxy.options").read_text().splitlines()
    assert {"-Xmx300m", "-XX:+UseZGC"} <= set(ours)
    assert not any("SerialGC" in flag for flag in ours)


def test_configuration_is_written_anew(tmp_path: Path) -> None:
    plan = plan_of("es9", tmp_path, settings={"node.attr.old": "1"})
    write_files(plan, plan.seats[0])
    write_files(replace(plan, settings={}), plan.seats[0])

    assert "node.attr.old" not in (plan.seats[0].folder / "config" / "elasticsearch.yml").read_text()


def test_runner_gets_its_settings_on_the_command_line(tmp_path: Path) -> None:
    plan = plan_of("os3", tmp_path)
    seat = plan.seats[0]
    write_files(plan, seat)

    command = launch_of(plan, seat).command

    assert command[0] == "/jdk/bin/java"
    main = command.index(str(seat.folder / "config" / "Node.java"))
    assert command[main + 1] == str(seat.folder)
    assert dict(argument.split("=", 1) for argument in command[main + 2 :]) == settings_of(plan, seat)
    assert "class Node" in Path(command[main]).read_text()


@pytest.mark.parametrize("engine", list(ENGINES))
def test_node_gets_nothing_of_our_environment_but_the_path(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Dodd=1")
    monkeypatch.setenv("ES_JAVA_OPTS", "-Dodd=1")
    plan = plan_of(engine, tmp_path)

    environ = launch_of(plan, plan.seats[0]).environ

    assert "JAVA_TOOL_OPTIONS" not in environ and "ES_JAVA_OPTS" not in environ and "PATH" in environ


def test_elasticsearch_before_9_4_starts_by_its_script(tmp_path: Path) -> None:
    plan = plan_of("es9", tmp_path)
    assert launch_of(plan, plan.seats[0]).command == ["bash", str(plan.home / "bin" / "elasticsearch-cli")]

    (plan.home / "lib" / "tools" / "server-launcher").mkdir(parents=True)

    assert launch_of(plan, plan.seats[0]).command[-1] == "org.elasticsearch.server.launcher.ServerLauncher"
