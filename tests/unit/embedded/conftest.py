from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from esproxy.embedded import cache, java

MakeJdk = Callable[..., Path]


@pytest.fixture
def make_jdk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeJdk:
    """Makes fake JDKs below the only folder that is searched: make_jdk("a", "21.0.2") → its home."""
    places = tmp_path / "jvm"
    monkeypatch.setattr(java, "_PLACES", (f"{places}/*",))
    monkeypatch.setattr(java, "_MACOS_JAVA_HOME", tmp_path / "no-such-program")
    for module in (java, cache):
        monkeypatch.setattr(module, "node_identity", lambda: None)

    def make(name: str, version: str, *, folder: Path = places, javac: bool = True, release: bool = True) -> Path:
        home = folder / name
        (home / "bin").mkdir(parents=True)
        for tool in ("java", "javac") if javac else ("java",):
            make_tool(home / "bin", tool)
        if release:
            (home / "release").write_text(f'IMPLEMENTOR="Somebody"\nJAVA_VERSION="{version}"\nOS_NAME="Linux"\n')
        return home

    return make


def make_tool(folder: Path, name: str, script: str = "exit 0") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    tool = folder / name
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    return tool
