"""Which JDKs are on this machine, and which one an engine gets.

An engine wants a full JDK (the embedded form compiles its own main class at start) in a range of versions. A JDK named by
``ESPROXY_JAVA_HOME`` or ``JAVA_HOME`` is taken when it is in the range, in this order; otherwise the newest one that has been
tried, then any newer one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from esproxy.embedded.engines import Engine
from esproxy.embedded.identity import node_identity

NEWEST_TRIED = 25
_PLACES = (
    "/usr/lib/jvm/*",
    "/usr/lib64/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "/opt/jdk*",
    "~/.sdkman/candidates/java/*",
    "~/.jdks/*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "~/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "/usr/local/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
)
_MACOS_JAVA_HOME = Path("/usr/libexec/java_home")
_RELEASE = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Jdk:
    home: Path
    major: int

    @property
    def java(self) -> Path:
        return self.home / "bin" / "java"


def find_jdk(engine: Engine, environ: Mapping[str, str] = os.environ) -> Jdk | None:
    """The JDK that ``engine`` gets, or None."""
    fitting = [jdk for jdk in find_jdks(environ) if engine.runs_on(jdk.major)]
    named = {Path(environ[name]).resolve() for name in ("ESPROXY_JAVA_HOME", "JAVA_HOME") if environ.get(name)}
    for jdk in fitting:
        if jdk.home in named:
            return jdk
    return max(fitting, key=lambda jdk: (jdk.major <= NEWEST_TRIED, jdk.major), default=None)


def find_jdks(environ: Mapping[str, str] = os.environ) -> list[Jdk]:
    """All full JDKs that a node may use, those that the environment names first. A closed one (see identity) is left out."""
    identity = node_identity()
    found: dict[Path, Jdk] = {}
    for home in _candidates(environ):
        real = home.resolve()
        if real in found or (identity is not None and not identity.can_read(real)):
            continue
        if (major := jdk_version(real)) is not None:
            found[real] = Jdk(real, major)
    return list(found.values())


def jdk_version(home: Path) -> int | None:
    """Major version of the full JDK in ``home``; None when there is none."""
    if not all(os.access(home / "bin" / tool, os.X_OK) for tool in ("java", "javac")):
        return None
    try:
        release = _RELEASE.search((home / "release").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None
    return int(release.group(1)) if release else None


def _candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    for name in ("ESPROXY_JAVA_HOME", "JAVA_HOME"):
        if environ.get(name):
            yield Path(environ[name])
    if java := shutil.which("java", path=environ.get("PATH")):
        yield Path(java).resolve().parent.parent
    yield from _macos_homes()
    for place in _PLACES:
        expanded = Path(place.replace("~", environ.get("HOME") or "/nonexistent", 1))
        yield from sorted(Path("/").glob(str(expanded.relative_to("/"))))


def _macos_homes() -> Iterator[Path]:
    """What macOS itself knows; it prints `<version> (<arch>) "<vendor>" - "<name>" <home>` to stderr, one a line."""
    if _MACOS_JAVA_HOME.exists():
        known = subprocess.run([str(_MACOS_JAVA_HOME), "-V"], capture_output=True, text=True, check=False)
        for line in known.stderr.splitlines():
            if home := re.search(r" (/\S.*)$", line):
                yield Path(home.group(1))
