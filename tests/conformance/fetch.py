"""The suite and the definitions of the API, fetched once through Maven into the user's cache, as the nodes are.

The suite is OpenSearch's, for both families. Elasticsearch gets the definitions of its own version first: some paths and
parameters of later versions are not in OpenSearch's.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path

from esproxy.embedded.cache import cache_folder, locked
from esproxy.embedded.errors import FetchFailed, Missing, MissingTools
from esproxy.embedded.maven import Transfers, run_maven
from esproxy.embedded.tools import install_command

SUITE = "org.opensearch:rest-api-spec:3.1.0"
DEFINITIONS = {"opensearch": (SUITE,), "elasticsearch": ("org.elasticsearch:rest-api-spec:9.5.3", SUITE)}


def suite(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of the tests."""
    return _unpacked(SUITE, environ) / "rest-api-spec" / "test"


def definitions(family: str, environ: Mapping[str, str] = os.environ) -> list[Path]:
    """The folders of definitions for a family of engines; the first one that has an API wins."""
    return [_unpacked(one, environ) / "rest-api-spec" / "api" for one in DEFINITIONS[family]]


def _unpacked(coordinates: str, environ: Mapping[str, str]) -> Path:
    group, artifact, version = coordinates.split(":")
    folder = cache_folder(environ) / "suites" / f"{group}-{artifact}-{version}"
    with locked(folder.with_name(folder.name + ".lock"), lambda: time.sleep(0.25)):
        if not folder.is_dir():
            _fetch(coordinates, folder, environ)
    return folder


def _fetch(coordinates: str, folder: Path, environ: Mapping[str, str]) -> None:
    """Into a folder beside the final one, which is renamed when it is whole."""
    if shutil.which("mvn", path=environ.get("PATH")) is None:
        raise MissingTools(coordinates, [Missing("Maven (mvn)", install_command("maven"))])
    partial = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f"{folder.name}.partial-"))
    group, artifact, version = coordinates.split(":")
    properties = {"group": group, "artifact": artifact, "version": version, "type": "jar", "dir": str(partial)}
    properties["includes"] = "rest-api-spec/**"

    def quietly(transfers: Transfers) -> None:
        """Half a megabyte needs no progress."""

    with as_file(files("esproxy.embedded") / "resources" / "unpack.xml") as pom:
        named = [f"-Ddist.{name}={value}" for name, value in properties.items()]
        status, said = run_maven(["-f", str(pom), *named, "package"], environ, quietly)
    if status != 0:
        shutil.rmtree(partial, ignore_errors=True)
        raise FetchFailed(f"Maven could not fetch {coordinates} (status {status}). It said:\n{said}")
    partial.chmod(0o755)
    partial.rename(folder)
