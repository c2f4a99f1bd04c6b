"""Fetch an engine into the cache, once.

Several processes may ask at the same time: one fetches under a file lock, the others wait for it. Maven unpacks into a
folder beside the final one, which is renamed when it is whole; a fetch that was cut short leaves nothing that looks done.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path

from esproxy.embedded.cache import cached_home, engine_folder, locked
from esproxy.embedded.engines import Engine
from esproxy.embedded.errors import FetchFailed, MissingTools
from esproxy.embedded.java import find_jdk
from esproxy.embedded.maven import Transfers, run_maven
from esproxy.embedded.progress import OnProgress, Progress, ignore_progress
from esproxy.embedded.tools import missing_tools


def fetch(engine: Engine, on_progress: OnProgress = ignore_progress, environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of the engine's node, fetched if need be. Raises MissingTools or FetchFailed."""
    if (home := cached_home(engine, environ)) is not None:
        return home
    if missing := missing_tools(engine, environ):
        raise MissingTools(engine.title, missing)
    folder, began = engine_folder(engine, environ), time.monotonic()

    def wait() -> None:
        on_progress(Progress("wait", f"waiting: another process fetches {engine.title}", time.monotonic() - began))
        time.sleep(0.25)

    with locked(folder.with_name(folder.name + ".lock"), wait):
        if cached_home(engine, environ) is None:
            _fetch_into(folder, engine, on_progress, environ)
    home = cached_home(engine, environ)
    if home is None:
        raise FetchFailed(f"{engine.coordinates} was fetched into {folder}, but holds no {engine.home}")
    return home


def _fetch_into(folder: Path, engine: Engine, on_progress: OnProgress, environ: Mapping[str, str]) -> None:
    for left in folder.parent.glob(f"{folder.name}.partial-*"):
        shutil.rmtree(left, ignore_errors=True)
    # Not a fixed name: the Maven of a process that was killed may still write into the one it was given.
    partial = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f"{folder.name}.partial-"))
    began, total = time.monotonic(), engine.download_mb * 10**6

    def report(transfers: Transfers) -> None:
        seconds, done = time.monotonic() - began, transfers.bytes
        if 0 < done < total * 0.99:
            text = f"fetching {engine.title}, once: {transfers.file}".rstrip(": ")
            on_progress(Progress("fetch", text, seconds, done, total))
        else:  # all is in Maven's own cache already, or has just come
            on_progress(Progress("unpack", f"unpacking {engine.title}, once", seconds))

    pom = "classpath.xml" if engine.form == "runner" else "unpack.xml"
    group, artifact, version = engine.coordinates.split(":")
    properties = {"group": group, "artifact": artifact, "version": version, "type": "zip"}
    properties |= {"includes": engine.includes, "dir": str(partial)}
    with as_file(files("esproxy.embedded") / "resources" / pom) as path:
        arguments = ["-f", str(path), *(f"-Ddist.{name}={value}" for name, value in properties.items()), "package"]
        status, said = run_maven(arguments, _maven_environ(engine, environ), report)
    if status != 0:
        shutil.rmtree(partial, ignore_errors=True)
        raise FetchFailed(f"Maven could not fetch {engine.coordinates} (status {status}). It said:\n{said}")
    _open_to_all(partial)
    partial.rename(folder)


def _maven_environ(engine: Engine, environ: Mapping[str, str]) -> dict[str, str]:
    """The user's own; Maven also gets the engine's JDK when it would find none itself."""
    variables = dict(environ)
    jdk = find_jdk(engine, environ)
    if jdk is not None and not variables.get("JAVA_HOME") and shutil.which("java", path=variables.get("PATH")) is None:
        variables["JAVA_HOME"] = str(jdk.home)
    return variables


def _open_to_all(folder: Path) -> None:
    """Readable whatever our umask is: a node of root's is another user."""
    for parent, _, names in os.walk(folder):
        os.chmod(parent, stat.S_IMODE(os.stat(parent).st_mode) | 0o055)
        for name in names:
            path = os.path.join(parent, name)
            mode = stat.S_IMODE(os.stat(path).st_mode)
            os.chmod(path, mode | (0o055 if mode & 0o100 else 0o044))
