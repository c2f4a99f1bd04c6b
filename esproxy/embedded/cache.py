"""Where engines are kept once they are fetched: one folder per engine, put in place whole by a rename.

The cache is ``$ESPROXY_CACHE``, else ``$XDG_CACHE_HOME/esproxy``, else ``~/.cache/esproxy``. Root's nodes run as "nobody"
(see identity), for whom root's home is closed on most systems: then it is ``/var/cache/esproxy``.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from esproxy.embedded.engines import Engine
from esproxy.embedded.errors import EmbeddedError
from esproxy.embedded.identity import Identity, node_identity

_SYSTEM_CACHE = Path("/var/cache/esproxy")


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    identity = node_identity()
    if named := environ.get("ESPROXY_CACHE"):
        folder = Path(named).absolute()
        if identity is not None and not _open_to(identity, folder):
            raise EmbeddedError(f"ESPROXY_CACHE={named} is closed to the user that nodes run as: make the way to it o+rx")
        return folder
    base = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME") or os.path.expanduser("~"), ".cache")
    folder = Path(base).absolute() / "esproxy"
    return folder if identity is None or _open_to(identity, folder) else _SYSTEM_CACHE


def engine_folder(engine: Engine, environ: Mapping[str, str] = os.environ) -> Path:
    """What the engine is unpacked into; it exists only when it is whole."""
    artifact, version = engine.coordinates.split(":")[1:]
    return cache_folder(environ) / "engines" / f"{artifact}-{version}"


def cached_home(engine: Engine, environ: Mapping[str, str] = os.environ) -> Path | None:
    """The node's folder in the cache; None when the engine has not been fetched."""
    folder = engine_folder(engine, environ)
    homes = [folder] if engine.home == "." else sorted(folder.glob(engine.home))
    return homes[0] if homes and homes[0].is_dir() else None


@contextmanager
def locked(path: Path, while_waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock file ``path``; ``while_waiting`` is called again and again until it is ours and must take its time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                while_waiting()
        yield  # closing the file releases the lock


def _open_to(identity: Identity, folder: Path) -> bool:
    """Whether ``folder``, which may not exist yet, can be read by ``identity`` once it is made."""
    while not folder.exists():
        folder = folder.parent
    return identity.can_read(folder)
