"""The pinned definitions: fetched once through npm, kept in the user's cache, checked by sum.

``@elastic/request-converter`` carries the whole ``schema.json`` of Elasticsearch's API specification (Apache-2.0). A
cache that somebody else filled is as good as ours, since only the sum decides.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

PACKAGE = "@elastic/request-converter"
# Newest first; sha256 of package/dist/schema.json.
VERSIONS = {
    "9.5.0": "aca6be2593f4d23252b40c6d142a11d82d1d13b3c5c2b6d62b50ed50d97a7e03",
    "8.19.1": "9ca2348c6cf815fefab87fd75a4b2d4b1f479bba0ad79e06edf8b38ed6447631",
}
MEMBER = "package/dist/schema.json"


class FetchError(RuntimeError):
    """The definitions could not be had, or are not the pinned ones."""


def default_cache() -> Path:
    """Where definitions are kept: under XDG_CACHE_HOME, or ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "esproxy" / "definitions"


def schemas(cache: Path | None = None) -> dict[str, Path]:
    """Version → checked ``schema.json``, newest first; what is absent is fetched. Raises FetchError."""
    cache = cache or default_cache()
    return {version: _one(cache / f"schema-{version}.json", version, sum_) for version, sum_ in VERSIONS.items()}


def _one(path: Path, version: str, sum_: str) -> Path:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
            fresh = _pack(version, Path(scratch))
            _check(fresh, version, sum_)
            fresh.replace(path)
    _check(path, version, sum_)
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


def _check(path: Path, version: str, sum_: str) -> None:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != sum_:
        raise FetchError(f"{path} is not the schema.json of {PACKAGE}@{version}: its sha256 is {found}, not {sum_}")
