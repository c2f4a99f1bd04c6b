"""How each form of node is configured and started: settings, files and command lines, nothing that runs.

The configuration is written anew for each start. What is set here makes a node small, quick to start and closed to all but
this machine; the caller's own settings come last and win.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from esproxy.embedded.engines import Engine
from esproxy.embedded.java import Jdk

# Serial collector and first compiler only: quick to start and small. A benchmark passes flags of its own.
QUICK_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_ADDRESS = "127.0.0.1"
# What the distributions' own jvm.options set and we set otherwise: heap, collector, files written to the engine's folder.
_OWN_JVM_OPTION = re.compile(r"^[^#]*(gc\.log|HeapDump|ErrorFile|UseG1GC|G1Reserve|InitiatingHeap)|^-Xm[sx]")
_FIRST_HEAP = "-Xms128m"  # no node runs with less; from there it grows as it needs
_LAUNCHER_JVM = ("-Xms4m", "-Xmx64m", "-XX:+UseSerialGC")


@dataclass(frozen=True, slots=True)
class Seat:
    """One node's place in its cluster."""

    name: str
    folder: Path
    http_port: int
    transport_port: int

    @property
    def url(self) -> str:
        return f"http://{_ADDRESS}:{self.http_port}"

    @property
    def log(self) -> Path:
        return self.folder / "console.log"


@dataclass(frozen=True, slots=True)
class Launch:
    """A command with all it needs."""

    command: list[str]
    environ: dict[str, str]
    cwd: Path


@dataclass(frozen=True, slots=True)
class Plan:
    """What all nodes of a cluster have in common."""

    engine: Engine
    jdk: Jdk
    home: Path
    seats: Sequence[Seat]
    repository: Path  # of snapshots: one for all nodes, as they demand
    heap: str = "512m"
    settings: Mapping[str, str] = field(default_factory=dict)
    jvm_flags: Sequence[str] = QUICK_JVM


def settings_of(plan: Plan, seat: Seat) -> dict[str, str]:
    """A node's settings, flat."""
    elasticsearch = plan.engine.family == "elasticsearch"
    settings = {
        "cluster.name": f"esproxy-embedded-{plan.seats[0].transport_port}",
        "node.name": seat.name,
        "path.data": str(seat.folder / "data"),
        "path.logs": str(seat.folder / "logs"),
        "path.repo": str(plan.repository),
        "network.host": _ADDRESS,
        "http.port": str(seat.http_port),
        "transport.port": str(seat.transport_port),
        "cluster.routing.allocation.disk.threshold_enabled": "false",
        "action.destructive_requires_name": "false",
        # By default a node refuses requests when 95 % of its heap is in use, garbage included. Only G1 is made to collect then;
        # with our collector a small heap full of garbage would refuse all there is, and so never be collected.
        "indices.breaker.total.use_real_memory": "false",
    }
    if elasticsearch:
        settings["xpack.security.enabled"] = "false"
    if plan.engine.form == "runner":
        settings["node.roles"] = "cluster_manager,data,ingest"
    if len(plan.seats) == 1:
        settings["discovery.type"] = "single-node"
    else:
        if plan.engine.form == "runner":
            settings["discovery.type"] = "zen"
        settings["discovery.seed_hosts"] = ",".join(f"{_ADDRESS}:{other.transport_port}" for other in plan.seats)
        first = "cluster.initial_master_nodes" if elasticsearch else "cluster.initial_cluster_manager_nodes"
        settings[first] = ",".join(other.name for other in plan.seats)
    return settings | dict(plan.settings)


def write_files(plan: Plan, seat: Seat) -> None:
    """Write what the node reads at its start."""
    config = seat.folder / "config"
    for folder in (config, seat.folder / "data", seat.folder / "logs", seat.folder / "tmp", plan.repository):
        folder.mkdir(parents=True, exist_ok=True)
    if plan.engine.form == "runner":
        (config / "Node.java").write_bytes((files("esproxy.embedded") / "resources" / "Node.java").read_bytes())
        return
    shutil.copyfile(plan.home / "config" / "log4j2.properties", config / "log4j2.properties")
    theirs = (plan.home / "config" / "jvm.options").read_text(encoding="utf-8").splitlines()
    kept = [line for line in theirs if not _OWN_JVM_OPTION.search(line)]
    (config / "jvm.options").write_text("\n".join(kept) + "\n", encoding="utf-8")
    ours = config / "jvm.options.d" / "esproxy.options"
    ours.parent.mkdir(exist_ok=True)
    ours.write_text("\n".join(_jvm(plan, seat)) + "\n", encoding="utf-8")
    lines = [f"{key}: {_quoted(value)}" for key, value in settings_of(plan, seat).items()]
    (config / f"{plan.engine.family}.yml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def launch_of(plan: Plan, seat: Seat) -> Launch:
    """The command that starts the node in the foreground."""
    config, tmp, java = seat.folder / "config", str(seat.folder / "tmp"), str(plan.jdk.java)
    # Nothing of our own environment: JAVA_TOOL_OPTIONS and the like would be the node's too.
    environ = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "HOME": tmp, "HOSTNAME": "localhost"}
    if plan.engine.form == "runner":
        command = [
            java,
            *_jvm(plan, seat),
            f"-Djava.io.tmpdir={tmp}",
            "--add-opens=java.base/java.nio=ALL-UNNAMED",
            "-cp",
            f"{plan.home}/lib/*",
            str(config / "Node.java"),
            str(seat.folder),
            *(f"{key}={value}" for key, value in settings_of(plan, seat).items()),
        ]
    elif plan.engine.form == "opensearch":
        environ |= {"OPENSEARCH_JAVA_HOME": str(plan.jdk.home), "OPENSEARCH_PATH_CONF": str(config), "OPENSEARCH_TMPDIR": tmp}
        command = ["bash", str(plan.home / "bin" / "opensearch")]
    else:
        environ |= {"ES_JAVA_HOME": str(plan.jdk.home), "ES_PATH_CONF": str(config), "ES_TMPDIR": tmp}
        launcher = plan.home / "lib" / "tools" / "server-launcher"
        if launcher.is_dir():  # from 9.4 on
            environ |= {
                "JAVA": java,
                "JAVA_TYPE": "ES_JAVA_HOME",
                "ES_HOME": str(plan.home),
                "ES_DISTRIBUTION_TYPE": "zip",
                "CLI_JAVA_OPTS": " ".join(_LAUNCHER_JVM),
            }
            command = [java, *_LAUNCHER_JVM, "-cp", f"{launcher}/*", "org.elasticsearch.server.launcher.ServerLauncher"]
        else:
            environ |= {"CLI_NAME": "server", "CLI_LIBS": "lib/tools/server-cli"}
            command = ["bash", str(plan.home / "bin" / "elasticsearch-cli")]
    return Launch(command, environ, plan.home)


def _jvm(plan: Plan, seat: Seat) -> list[str]:
    return [_FIRST_HEAP, f"-Xmx{plan.heap}", f"-XX:ErrorFile={seat.folder / 'logs' / 'hs_err.log'}", *plan.jvm_flags]


def _quoted(value: str) -> str:
    """A YAML string in single quotes, in which only the quote itself is special."""
    return "'" + value.replace("'", "''") + "'"
