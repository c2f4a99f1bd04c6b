"""The pinned definitions: fetched once through npm and Maven, kept in the user's cache, checked by sum.

``@elastic/request-converter`` carries the whole ``schema.json`` of Elasticsearch's API specification (Apache-2.0), with types.
The ``rest-api-spec`` of either engine tells which endpoints there are, and where, without types: OpenSearch's own, and those of
Elasticsearch's that the other leaves out. A cache that somebody else filled is as good as ours, since only the sum decides.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

PACKAGE = "@elastic/request-converter"
# Newest first; sha256 of package/dist/schema.json.
VERSIONS = {
    "9.5.0": "aca6be2593f4d23252b40c6d142a11d82d1d13b3c5c2b6d62b50ed50d97a7e03",
    "8.19.1": "9ca2348c6cf815fefab87fd75a4b2d4b1f479bba0ad79e06edf8b38ed6447631",
}
MEMBER = "package/dist/schema.json"
# Newest first; sha256 of the endpoints as ``_unpacked`` writes them.
SPECS = {
    "elasticsearch": {
        "org.elasticsearch:rest-api-spec:9.5.3": "b3312fef2bcb1280ecd81985fb008d82d02a9ceb4d1db84b368360ecdd3f8c4a",
    },
    "opensearch": {
        "org.opensearch:rest-api-spec:3.1.0": "9809e26d48c4344577b37cb446129a92554ff6e1157c4dfb1a24ea949ae03777",
        "org.opensearch:rest-api-spec:2.19.0": "e753966008caa1e5c1247f00cc4b6018454f726b1e9a7b40d0d73e64739bd258",
    },
}
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"


class FetchError(RuntimeError):
    """The definitions could not be had, or are not the pinned ones."""


def default_cache() -> Path:
    """Where definitions are kept: under XDG_CACHE_HOME, or ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "esproxy" / "definitions"


def schemas(cache: Path | None = None) -> dict[str, Path]:
    """Version → checked ``schema.json``, newest first; what is absent is fetched. Raises FetchError."""
    cache = cache or default_cache()
    return {version: _one(cache / f"schema-{version}.json", version, sum_, _pack) for version, sum_ in VERSIONS.items()}


def specs(engine: str, cache: Path | None = None) -> dict[str, Path]:
    """Maven's coordinates → checked file of endpoints (name → definition), newest first; what is absent is fetched. Raises
    FetchError."""
    cache = cache or default_cache()
    return {name: _one(cache / f"{name.replace(':', '-')}.json", name, sum_, _copied) for name, sum_ in SPECS[engine].items()}


def _one(path: Path, name: str, sum_: str, fetch: Callable[[str, Path], Path]) -> Path:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
            fresh = fetch(name, Path(scratch))
            _check(fresh, name, sum_)
            fresh.replace(path)
    _check(path, name, sum_)
    return path


def _pack(version: str, folder: Path) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        raise FetchError(f"npm is needed to fetch {PACKAGE}@{version}: install Node.js (on Debian: apt-get install npm)")
    done = subprocess.run(
        [npm, "pack", "--silent", f"{PACKAGE}@{version}"], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    packed = list(folder.glob("*.tgz"))
    if done.returncode or len(packed) != 1:
        raise FetchError(f"npm pack {PACKAGE}@{version} failed: {done.stderr.strip() or done.stdout.strip()}")
    out = folder / "schema.json"
    with tarfile.open(packed[0]) as archive:
        member = archive.extractfile(MEMBER)
        assert member is not None
        out.write_bytes(member.read())
    return out


def _copied(coordinates: str, folder: Path) -> Path:
    maven = shutil.which("mvn")
    if maven is None:
        raise FetchError(f"Maven is needed to fetch {coordinates}: install it (on Debian: apt-get install maven)")
    wanted = ["-q", "-B", COPY, f"-Dartifact={coordinates}:jar", f"-DoutputDirectory={folder}"]
    done = subprocess.run([maven, *wanted], cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    jars = list(folder.glob("*.jar"))
    if done.returncode or len(jars) != 1:
        raise FetchError(f"mvn could not copy {coordinates}: {done.stderr.strip() or done.stdout.strip()}")
    return _unpacked(jars[0], folder / "endpoints.json")


def _unpacked(jar: Path, out: Path) -> Path:
    """The files of the jar as one, one line per endpoint."""
    found: dict[str, Any] = {}
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            if name.startswith("rest-api-spec/api/") and name.endswith(".json") and not name.endswith("/_common.json"):
                found |= {key: value for key, value in json.loads(archive.read(name)).items() if key[0] != "$"}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(found[name], sort_keys=True)}" for name in sorted(found))
    out.write_text(f"{{\n{lines}\n}}\n")
    return out


def _check(path: Path, name: str, sum_: str) -> None:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != sum_:
        raise FetchError(f"{path} is not what [{name}] defines: its sha256 is {found}, not {sum_}")
