"""What an engine needs from the machine (a JDK, Maven), and the command that installs what is missing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from esproxy.embedded.cache import cached_home
from esproxy.embedded.engines import ENGINES, Engine, engine_named
from esproxy.embedded.errors import Missing, MissingTools
from esproxy.embedded.java import find_jdk

# Package manager → how it installs, the JDK's package by version, Maven's package.
_MANAGERS: dict[str, tuple[str, str, str]] = {
    "apt-get": ("apt-get update && {sudo}apt-get install -y", "openjdk-{major}-jdk-headless", "maven"),
    "dnf": ("dnf install -y", "java-{major}-openjdk-devel", "maven"),
    "zypper": ("zypper install -y", "java-{major}-openjdk-devel", "maven"),
    "pacman": ("pacman -S --noconfirm", "jdk{major}-openjdk", "maven"),
    "apk": ("apk add", "openjdk{major}-jdk", "maven"),
    "brew": ("brew install", "openjdk@{major}", "maven"),
}
_LTS = (21, 17, 11)  # of those that an engine can run, the first is named: the newest that most systems have


def default_engine() -> Engine:
    """The newest OpenSearch that a JDK found here can run; MissingTools when none can be run."""
    for engine in ENGINES.values():
        if engine.family == "opensearch" and find_jdk(engine) is not None:
            return engine
    newest = next(engine for engine in ENGINES.values() if engine.family == "opensearch")
    raise MissingTools(newest.title, missing_tools(newest))


def missing_tools(engine: Engine | str, environ: Mapping[str, str] = os.environ) -> list[Missing]:
    """What has to be installed before ``engine`` can run here; empty when it can. Maven counts until the engine is fetched."""
    if isinstance(engine, str):
        engine = engine_named(engine)
    missing = []
    if find_jdk(engine, environ) is None:
        missing.append(Missing(f"a full {engine.java}", _jdk_command(engine)))
    if cached_home(engine, environ) is None and shutil.which("mvn", path=environ.get("PATH")) is None:
        missing.append(Missing("Maven (mvn)", install_command("maven")))
    return missing


def install_command(package: str, major: int = 0) -> str:
    """How this machine's package manager installs ``package`` ("jdk" of a major version, or "maven")."""
    manager = next((name for name in _MANAGERS if shutil.which(name)), None)
    if manager is None:
        return f"your system's package manager (none of {', '.join(_MANAGERS)} was found)"
    verb, jdk, maven = _MANAGERS[manager]
    sudo = "" if manager == "brew" or os.geteuid() == 0 else "sudo "
    name = jdk.format(major=major) if package == "jdk" else maven
    return f"{sudo}{verb.format(sudo=sudo)} {name}"


def _jdk_command(engine: Engine) -> str:
    major = next(lts for lts in _LTS if engine.runs_on(lts))
    command = install_command("jdk", major)
    if Path("/etc/debian_version").exists():
        command += f" (where apt has no such package: any other JDK, with ESPROXY_JAVA_HOME set to its folder; {engine.java})"
    return command
